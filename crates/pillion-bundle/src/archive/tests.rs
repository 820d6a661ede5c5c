//! Archives that are as they should be, and all the ways in which they are not.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::sync::LazyLock;

use proptest::prelude::*;
use tar::{Builder, EntryType, Header};

use super::{Compression, NoSink, Sink, read, write};
use crate::entry::{BundleFile, BundleLink};
use crate::manifest::tests::runtime;
use crate::{BundleLimits, Digest, Manifest, Platform, Result, RuntimeManifest};

/// An archive that `write` made.
fn sound(compression: Compression) -> Vec<u8> {
    let (contents, manifest) = runtime(Platform::LinuxX64);
    write(Vec::new(), compression, &manifest, |file| {
        let content = contents.iter().find(|(path, _)| *path == file.path);
        Ok(io::Cursor::new(content.unwrap().1.clone()))
    })
    .unwrap()
}

fn reason(archive: &[u8]) -> &'static str {
    reason_within(archive, &BundleLimits::default())
}

fn reason_within(archive: &[u8], limits: &BundleLimits) -> &'static str {
    read(archive, limits, &mut NoSink).map_or_else(|error| error.reason(), |_| "fine")
}

/// Keeps what it is given.
#[derive(Default)]
struct Kept {
    files: Vec<(String, Vec<u8>)>,
    links: Vec<(String, String)>,
}

impl Sink for Kept {
    fn manifest(&mut self, _: &Manifest, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn file(&mut self, file: &BundleFile, content: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.files.push((file.path.clone(), bytes));
        Ok(())
    }

    fn link(&mut self, link: &BundleLink) -> io::Result<()> {
        self.links.push((link.path.clone(), link.target.clone()));
        Ok(())
    }
}

#[test]
fn what_is_written_is_read_and_the_same_each_time() {
    for compression in [Compression::Zstd, Compression::Gzip] {
        let archive = sound(compression);
        assert_eq!(archive, sound(compression), "the same bytes each time");
        let mut kept = Kept::default();
        let verified = read(archive.as_slice(), &BundleLimits::default(), &mut kept).unwrap();
        let (contents, manifest) = runtime(Platform::LinuxX64);
        assert_eq!(verified.manifest, manifest);
        assert_eq!(verified.compression, compression);
        assert_eq!(verified.size_bytes, archive.len() as u64);
        assert_eq!(verified.sha256, Digest::of(&archive));
        assert_eq!(kept.files, contents, "they were sorted before");
        assert_eq!(kept.links.len(), 1);
    }
}

#[test]
fn a_file_that_changes_while_it_is_packed_is_refused() {
    let (contents, manifest) = runtime(Platform::LinuxX64);
    for (change, expected) in [
        (&b"#!ELG"[..], "file_hash"),
        (b"#!EL", "file_size"),
        (b"#!ELF+", "file_size"),
    ] {
        let made = write(Vec::new(), Compression::Zstd, &manifest, |file| {
            let content = contents.iter().find(|(path, _)| *path == file.path);
            let content = match file.path.ends_with("python3.11") {
                true => change.to_vec(),
                false => content.unwrap().1.clone(),
            };
            Ok(io::Cursor::new(content))
        });
        assert_eq!(made.unwrap_err().reason(), expected);
    }
}

#[test]
fn any_changed_byte_and_any_missing_end_is_noticed() {
    for compression in [Compression::Zstd, Compression::Gzip] {
        let archive = sound(compression);
        let whole = Digest::of(&archive);
        for at in 0..archive.len() {
            let mut changed = archive.clone();
            changed[at] ^= 0x10;
            // A few bits of a compressed archive mean nothing, such as the time in gzip's head.
            // Then the content is sound, and the outer hash is what differs.
            if let Ok(verified) = read(changed.as_slice(), &BundleLimits::default(), &mut NoSink) {
                assert_ne!(verified.sha256, whole);
                assert_eq!(verified.manifest, runtime(Platform::LinuxX64).1);
            }
        }
        for end in 0..archive.len() {
            let reason = reason(&archive[..end]);
            let expected = ["truncated", "unknown_format", "broken_archive"];
            assert!(
                expected.contains(&reason),
                "{compression} up to {end}: {reason}"
            );
        }
        let mut longer = archive.clone();
        longer.extend(b"more");
        assert_eq!(reason(&longer), "trailing_data");
        let mut twice = archive.clone();
        twice.extend(&archive);
        assert_eq!(reason(&twice), "trailing_data");
    }
    assert_eq!(reason(b"PK\x03\x04"), "unknown_format");
    assert_eq!(reason(b""), "truncated");
}

/// A tar archive by hand: what `write` would never make.
struct Hostile {
    builder: Builder<Vec<u8>>,
}

impl Hostile {
    /// One that begins as the sound archive does.
    fn new(manifest: &Manifest) -> Self {
        let mut hostile = Self {
            builder: Builder::new(Vec::new()),
        };
        let bytes = manifest.to_bytes().unwrap();
        hostile.entry(EntryType::Regular, RuntimeManifest::NAME, "", 0o644, &bytes);
        hostile
    }

    /// An entry whose names are taken as they are.
    fn entry(&mut self, kind: EntryType, name: &str, target: &str, mode: u32, content: &[u8]) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        header.set_mtime(0);
        let fields = header.as_gnu_mut().unwrap();
        fields.name[..name.len()].copy_from_slice(name.as_bytes());
        fields.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        self.builder.append(&header, content).unwrap();
    }

    /// The files of the sound archive but for one.
    fn files_without(&mut self, left_out: &str) {
        let (contents, manifest) = runtime(Platform::LinuxX64);
        for file in manifest.files().iter().filter(|file| file.path != left_out) {
            let content = contents
                .iter()
                .find(|(path, _)| *path == file.path)
                .unwrap();
            let mode = file.mode().bits();
            self.entry(EntryType::Regular, &file.path, "", mode, &content.1);
        }
        for link in manifest.links().iter().filter(|link| link.path != left_out) {
            self.entry(EntryType::Symlink, &link.path, &link.target, 0o755, b"");
        }
    }

    fn packed(self) -> Vec<u8> {
        zstd::encode_all(self.builder.into_inner().unwrap().as_slice(), 1).unwrap()
    }
}

#[test]
fn each_kind_of_hostile_entry_is_refused_with_its_own_error() {
    let os = "python/lib/python3.11/os.py";
    let python = "python/bin/python3.11";
    type Hostility<'a> = (&'a str, EntryType, &'a str, &'a str, u32, &'a [u8], &'a str);
    let cases: &[Hostility<'_>] = &[
        (
            "",
            EntryType::Regular,
            "/etc/cron.d/x",
            "",
            0o644,
            b"",
            "absolute_path",
        ),
        (
            "",
            EntryType::Regular,
            "../../x",
            "",
            0o644,
            b"",
            "path_traversal",
        ),
        ("", EntryType::Regular, "a\\b", "", 0o644, b"", "bad_path"),
        (
            "",
            EntryType::Regular,
            "sidecar/more",
            "",
            0o644,
            b"",
            "unlisted_file",
        ),
        (
            "",
            EntryType::Regular,
            os,
            "",
            0o644,
            b"import sys\n",
            "duplicate_path",
        ),
        (
            "",
            EntryType::Regular,
            RuntimeManifest::NAME,
            "",
            0o644,
            b"{}",
            "duplicate_path",
        ),
        (
            "",
            EntryType::Directory,
            "sidecar/bin/",
            "",
            0o755,
            b"",
            "fine",
        ),
        (
            "",
            EntryType::Directory,
            "other/",
            "",
            0o755,
            b"",
            "unlisted_file",
        ),
        (
            "",
            EntryType::Symlink,
            "sidecar/more",
            "..",
            0o755,
            b"",
            "unlisted_file",
        ),
        (
            "",
            EntryType::Link,
            "sidecar/more",
            "/etc/passwd",
            0o644,
            b"",
            "hard_link",
        ),
        (
            "",
            EntryType::Char,
            "sidecar/null",
            "",
            0o644,
            b"",
            "special_file",
        ),
        (
            "",
            EntryType::Block,
            "sidecar/disk",
            "",
            0o644,
            b"",
            "special_file",
        ),
        (
            "",
            EntryType::Fifo,
            "sidecar/pipe",
            "",
            0o644,
            b"",
            "special_file",
        ),
        (
            "",
            EntryType::GNUSparse,
            "sidecar/holes",
            "",
            0o644,
            b"",
            "special_file",
        ),
        (
            "",
            EntryType::XGlobalHeader,
            "x",
            "",
            0o644,
            b"",
            "special_file",
        ),
        (
            os,
            EntryType::Regular,
            os,
            "",
            0o644,
            b"import syz\n",
            "file_hash",
        ),
        (
            os,
            EntryType::Regular,
            os,
            "",
            0o644,
            b"import sys",
            "file_size",
        ),
        (
            os,
            EntryType::Regular,
            os,
            "",
            0o755,
            b"import sys\n",
            "file_mode",
        ),
        (
            os,
            EntryType::Regular,
            os,
            "",
            0o4644,
            b"import sys\n",
            "file_mode",
        ),
        (os, EntryType::Link, os, python, 0o644, b"", "hard_link"),
        (
            os,
            EntryType::Symlink,
            os,
            "/etc/passwd",
            0o644,
            b"",
            "unlisted_file",
        ),
        (
            "python/bin/python3",
            EntryType::Symlink,
            "python/bin/python3",
            "/bin/sh",
            0o755,
            b"",
            "link_target",
        ),
        (
            "python/bin/python3",
            EntryType::Regular,
            "python/bin/python3",
            "",
            0o755,
            b"",
            "unlisted_file",
        ),
        (
            os,
            EntryType::Directory,
            "python/lib/python3.11/",
            "",
            0o755,
            b"",
            "missing_file",
        ),
    ];
    for (left_out, kind, name, target, mode, content, expected) in cases {
        let mut hostile = Hostile::new(&runtime(Platform::LinuxX64).1);
        hostile.files_without(left_out);
        hostile.entry(*kind, name, target, *mode, content);
        assert_eq!(reason(&hostile.packed()), *expected, "{kind:?} {name}");
    }
}

#[test]
fn what_has_no_content_says_so_and_a_record_belongs_to_an_entry() {
    let (_, manifest) = runtime(Platform::LinuxX64);
    for (kind, name, target) in [
        (EntryType::Directory, "sidecar/bin/", ""),
        (EntryType::Symlink, "python/bin/python3", "python3.11"),
    ] {
        let mut hostile = Hostile::new(&manifest);
        hostile.files_without("python/bin/python3");
        hostile.entry(kind, name, target, 0o755, &[0; 512]);
        assert_eq!(reason(&hostile.packed()), "broken_archive", "{kind:?}");
    }
    let mut hostile = Hostile::new(&manifest);
    hostile.files_without("");
    hostile.entry(
        EntryType::GNULongName,
        "././@LongLink",
        "",
        0o644,
        b"more\0",
    );
    assert_eq!(reason(&hostile.packed()), "broken_archive");
}

#[test]
fn a_manifest_that_is_cut_off_is_told_from_one_that_is_wrong() {
    let (_, manifest) = runtime(Platform::LinuxX64);
    let tar = Hostile::new(&manifest).builder.into_inner().unwrap();
    let packed = zstd::encode_all(&tar[..700], 1).unwrap();
    assert_eq!(reason(&packed), "truncated");
    let mut header = Header::from_byte_slice(&tar[..512]).clone();
    header.set_size(1 << 62);
    header.set_cksum();
    let larger = [header.as_bytes(), &tar[512..]].concat();
    assert_eq!(
        reason(&zstd::encode_all(larger.as_slice(), 1).unwrap()),
        "too_large"
    );
}

#[test]
fn the_manifest_comes_first_and_once() {
    let mut without = Hostile {
        builder: Builder::new(Vec::new()),
    };
    without.files_without("");
    assert_eq!(reason(&without.packed()), "no_manifest");
    let empty = zstd::encode_all(&[0; 1024][..], 1).unwrap();
    assert_eq!(reason(&empty), "no_manifest");
    let (_, mut manifest) = runtime(Platform::LinuxX64);
    if let Manifest::Runtime(manifest) = &mut manifest {
        manifest.format_version = "bundle-v1".to_owned();
    }
    assert_eq!(reason(&Hostile::new(&manifest).packed()), "format_version");
}

#[test]
fn long_names_are_read_and_longer_ones_refused() {
    let (_, manifest) = runtime(Platform::LinuxX64);
    for (record, content, expected) in [
        (EntryType::GNULongName, "a/".repeat(600), "long_path"),
        (
            EntryType::GNULongName,
            "/etc/x\0".to_owned(),
            "absolute_path",
        ),
        (EntryType::GNULongName, "x".repeat(100_000), "long_path"),
        (
            EntryType::XHeader,
            "19 path=../escaped\n".to_owned(),
            "path_traversal",
        ),
        (
            EntryType::XHeader,
            "14 size=999999\n".to_owned(),
            "broken_archive",
        ),
    ] {
        let mut hostile = Hostile::new(&manifest);
        hostile.files_without("");
        hostile.entry(record, "././@LongLink", "", 0o644, content.as_bytes());
        hostile.entry(EntryType::Regular, "short", "", 0o644, b"");
        assert_eq!(reason(&hostile.packed()), expected, "{record:?}");
    }
}

#[test]
fn what_is_too_much_is_refused_before_it_is_unpacked() {
    let archive = sound(Compression::Zstd);
    let limits = BundleLimits::default();
    for (limits, expected) in [
        (
            BundleLimits {
                packed: 10,
                ..limits.clone()
            },
            "too_large",
        ),
        (
            BundleLimits {
                unpacked: 10,
                ..limits.clone()
            },
            "too_large",
        ),
        (
            BundleLimits {
                manifest: 10,
                ..limits.clone()
            },
            "too_large",
        ),
        (
            BundleLimits {
                entries: 3,
                ..limits.clone()
            },
            "too_many_entries",
        ),
    ] {
        assert_eq!(reason_within(&archive, &limits), expected);
    }
    for bomb in [
        zstd::encode_all(io::repeat(0).take(64 << 20), 19).unwrap(),
        {
            let best = flate2::Compression::best();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
            for _ in 0..64 {
                encoder.write_all(&vec![b'x'; 1 << 20]).unwrap();
            }
            encoder.finish().unwrap()
        },
    ] {
        // Zeros are the end of a tar archive; what follows it is not believed either.
        let reason = reason(&bomb);
        assert!(
            ["bomb", "no_manifest", "broken_archive"].contains(&reason),
            "{reason}"
        );
    }
    // A bomb in an archive that is otherwise sound: a record of zeros before an entry.
    let (_, manifest) = runtime(Platform::LinuxX64);
    let mut hostile = Hostile::new(&manifest);
    hostile.files_without("");
    let mut tar = hostile.builder.into_inner().unwrap();
    tar.truncate(tar.len() - 1024);
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(1 << 30);
    header.set_mode(0o644);
    header.set_cksum();
    tar.extend(header.as_bytes());
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(&tar).unwrap();
    io::copy(&mut io::repeat(0).take(256 << 20), &mut encoder).unwrap();
    assert_eq!(reason(&encoder.finish().unwrap()), "bad_path");
    let mut deep = Hostile::new(&manifest);
    deep.entry(
        EntryType::GNULongName,
        "x",
        "",
        0o644,
        &vec![b'a'; 80 << 20],
    );
    assert_eq!(reason(&deep.packed()), "long_path");
}

#[test]
fn a_source_that_fails_is_not_blamed_on_the_archive() {
    struct Fails<'a>(&'a [u8], RefCell<usize>);
    impl Read for Fails<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut left = self.1.borrow_mut();
            if *left == 0 {
                return Err(io::Error::from(io::ErrorKind::PermissionDenied));
            }
            let count = self.0.read(&mut buffer[..1])?;
            *left -= 1;
            Ok(count)
        }
    }
    let archive = sound(Compression::Zstd);
    let half = Fails(&archive, RefCell::new(archive.len() / 2));
    let error = read(half, &BundleLimits::default(), &mut NoSink).unwrap_err();
    assert_eq!(error.reason(), "unreadable");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_makes_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2048), packed: bool) {
        let archive = match packed {
            true => zstd::encode_all(bytes.as_slice(), 1).unwrap(),
            false => bytes,
        };
        prop_assert!(read(archive.as_slice(), &BundleLimits::default(), &mut NoSink).is_err());
    }

    #[test]
    fn a_tar_with_changed_bytes_is_never_taken_for_another(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        static TAR: LazyLock<Vec<u8>> =
            LazyLock::new(|| zstd::decode_all(sound(Compression::Zstd).as_slice()).unwrap());
        let mut tar = TAR.clone();
        for (at, byte) in changes {
            let at = at.index(tar.len());
            tar[at] = byte;
        }
        let archive = zstd::encode_all(tar.as_slice(), 1).unwrap();
        let mut kept = Kept::default();
        if let Ok(verified) = read(archive.as_slice(), &BundleLimits::default(), &mut kept) {
            // Only what is not used may differ: times, owners, the manifest's own texts.
            for (path, content) in kept.files {
                let file = verified.manifest.files().iter().find(|file| file.path == path).unwrap();
                prop_assert_eq!(&file.sha256, &Digest::of(&content));
            }
        }
    }
}
