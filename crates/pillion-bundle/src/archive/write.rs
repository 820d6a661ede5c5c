//! Writing an archive, so that the same content gives the same bytes.

use std::io::{self, BufWriter, Read, Write};

use flate2::GzBuilder;
use tar::{Builder, EntryType, Header};

use super::Compression;
use crate::digest::Hashing;
use crate::entry::{BundleFile, FileMode};
use crate::manifest::Manifest;
use crate::{BundleLimits, Error, Result};

/// How hard zstd tries. Higher levels take many times as long for a few per cent.
const ZSTD_LEVEL: i32 = 12;
/// How hard gzip tries.
const GZIP_LEVEL: u32 = 6;
/// What gzip calls an unknown operating system.
const ANY_SYSTEM: u8 = 255;

/// Write the archive of a manifest. `open` gives the content of each file; what is not as the
/// manifest says is refused.
pub fn write<W: Write, R: Read>(
    to: W,
    compression: Compression,
    manifest: &Manifest,
    open: impl FnMut(&BundleFile) -> io::Result<R>,
) -> Result<W> {
    manifest.check(&BundleLimits::default())?;
    match compression {
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(to, ZSTD_LEVEL).map_err(Error::Write)?;
            encoder.include_checksum(true).map_err(Error::Write)?;
            tar(encoder, manifest, open)?.finish().map_err(Error::Write)
        }
        Compression::Gzip => {
            let level = flate2::Compression::new(GZIP_LEVEL);
            let plain = GzBuilder::new().mtime(0).operating_system(ANY_SYSTEM);
            let encoder = plain.write(to, level);
            tar(encoder, manifest, open)?.finish().map_err(Error::Write)
        }
    }
}

fn tar<W: Write, R: Read>(
    to: W,
    manifest: &Manifest,
    mut open: impl FnMut(&BundleFile) -> io::Result<R>,
) -> Result<W> {
    let mtime = manifest.created_seconds()?;
    let mut builder = Builder::new(BufWriter::with_capacity(1 << 16, to));
    let bytes = manifest.to_bytes()?;
    let mut head = header(
        EntryType::Regular,
        bytes.len() as u64,
        FileMode::Plain,
        mtime,
    );
    builder
        .append_data(&mut head, manifest.name(), bytes.as_slice())
        .map_err(Error::Write)?;
    enum Entry<'a> {
        File(&'a BundleFile),
        Link(&'a str),
    }
    let files = manifest.files().iter();
    let files = files.map(|file| (file.path.as_str(), Entry::File(file)));
    let links = manifest.links().iter();
    let links = links.map(|link| (link.path.as_str(), Entry::Link(&link.target)));
    let mut entries: Vec<(&str, Entry<'_>)> = files.chain(links).collect();
    entries.sort_by_key(|(path, _)| *path);
    for (path, entry) in entries {
        match entry {
            Entry::File(file) => {
                let source = open(file).map_err(Error::Read)?;
                // One byte more shows that the file has grown.
                let mut source = Hashing::new(source.take(file.size_bytes + 1));
                let mut head = header(EntryType::Regular, file.size_bytes, file.mode(), mtime);
                let mut exactly = Exactly {
                    inner: &mut source,
                    left: file.size_bytes,
                };
                builder
                    .append_data(&mut head, path, &mut exactly)
                    .map_err(Error::Write)?;
                io::copy(&mut source, &mut io::sink()).map_err(Error::Read)?;
                let (size, sha256) = source.finish();
                if size != file.size_bytes {
                    return Err(Error::FileSize {
                        path: path.to_owned(),
                        expected: file.size_bytes,
                        found: size,
                    });
                }
                if sha256 != file.sha256 {
                    return Err(Error::FileHash {
                        path: path.to_owned(),
                    });
                }
            }
            Entry::Link(target) => {
                let mut head = header(EntryType::Symlink, 0, FileMode::Executable, mtime);
                builder
                    .append_link(&mut head, path, target)
                    .map_err(Error::Write)?;
            }
        }
    }
    let buffer = builder.into_inner().map_err(Error::Write)?;
    buffer
        .into_inner()
        .map_err(|error| Error::Write(error.into_error()))
}

fn header(kind: EntryType, size: u64, mode: FileMode, mtime: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode.bits());
    header.set_mtime(mtime);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// A reader of exactly so many bytes: a tar entry must have the size of its header, whatever
/// becomes of the file meanwhile. What is missing is made up, and the hash will tell.
struct Exactly<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        let part = &mut buffer[..most];
        let count = match self.inner.read(part)? {
            0 => {
                part.fill(0);
                most
            }
            count => count,
        };
        self.left -= count as u64;
        Ok(count)
    }
}
