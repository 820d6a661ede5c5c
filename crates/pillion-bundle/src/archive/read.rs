//! Reading an archive, and believing nothing in it.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
use tar::{Archive, EntryType, PaxExtensions};

use super::Compression;
use crate::digest::{Digest, Hashing};
use crate::entry::{BundleFile, BundleLink};
use crate::manifest::Manifest;
use crate::paths::{self, MAX_PATH, Names};
use crate::{BundleLimits, Error, Result, strict_json};

/// What an archive's own records about an entry may have, such as its long name.
const MAX_RECORD: u64 = 64 << 10;
/// What may follow the last entry: archives are filled up with zeros.
const MAX_PADDING: u64 = 1 << 20;
/// The largest window of zstd, as a power of two: what decoding may take of memory.
const ZSTD_WINDOW: u32 = 27;

/// Who gets what an archive holds. Each file has been announced by the manifest; its content is
/// checked when it was read to its end, so a sink keeps it apart until [`read`] is done.
pub trait Sink {
    /// The manifest, which comes first. What a sink refuses here is not unpacked.
    fn manifest(&mut self, manifest: &Manifest, bytes: &[u8]) -> Result<()>;

    /// A file. The content has at most the size that was announced.
    fn file(&mut self, file: &BundleFile, content: &mut dyn Read) -> io::Result<()>;

    /// A link.
    fn link(&mut self, link: &BundleLink) -> io::Result<()>;
}

/// Takes nothing: the archive is only checked.
#[derive(Debug, Clone, Copy)]
pub struct NoSink;

impl Sink for NoSink {
    fn manifest(&mut self, _: &Manifest, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn file(&mut self, _: &BundleFile, content: &mut dyn Read) -> io::Result<()> {
        io::copy(content, &mut io::sink()).map(|_| ())
    }

    fn link(&mut self, _: &BundleLink) -> io::Result<()> {
        Ok(())
    }
}

/// An archive whose content is what its manifest says.
#[derive(Debug, Clone)]
pub struct Verified {
    /// The manifest.
    pub manifest: Manifest,
    /// How it was compressed.
    pub compression: Compression,
    /// The size of the archive.
    pub size_bytes: u64,
    /// The hash of the archive.
    pub sha256: Digest,
}

/// Go through an archive, check everything, and hand it over.
pub fn read<R: Read>(archive: R, limits: &BundleLimits, sink: &mut dyn Sink) -> Result<Verified> {
    let mut source = Source {
        inner: Hashing::new(archive),
        start: Vec::new(),
        count: 0,
        limit: limits.packed,
        failed: None,
    };
    source.look().map_err(Error::Read)?;
    let compression = Compression::of_bytes(&source.start).ok_or(match source.start.len() {
        0 => Error::Truncated,
        _ => Error::UnknownFormat,
    })?;
    let source = BufReader::with_capacity(1 << 16, source);
    let (outcome, mut source) = match compression {
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(source)
                .map_err(|error| Error::Broken(error.to_string()))?
                .single_frame();
            decoder
                .window_log_max(ZSTD_WINDOW)
                .map_err(|error| Error::Broken(error.to_string()))?;
            let (outcome, decoder) = unpack(decoder, limits, sink, |decoder| {
                decoder.get_ref().get_ref().count
            });
            (outcome, decoder.finish())
        }
        Compression::Gzip => {
            let decoder = GzDecoder::new(source);
            let (outcome, decoder) = unpack(decoder, limits, sink, |decoder| {
                decoder.get_ref().get_ref().count
            });
            (outcome, decoder.into_inner())
        }
    };
    // What the source itself could not read is no fault of the archive.
    match source.get_mut().failed.take() {
        Some(Failed::TooLarge) => {
            return Err(Error::TooLarge {
                what: "the archive".to_owned(),
                limit: limits.packed,
            });
        }
        Some(Failed::Read(error)) => return Err(Error::Read(error)),
        None => {}
    }
    let manifest = outcome?;
    if !source.fill_buf().map_err(Error::Read)?.is_empty() {
        return Err(Error::TrailingData);
    }
    let (size_bytes, sha256) = source.into_inner().inner.finish();
    Ok(Verified {
        manifest,
        compression,
        size_bytes,
        sha256,
    })
}

fn unpack<D: Read>(
    decoder: D,
    limits: &BundleLimits,
    sink: &mut dyn Sink,
    packed: fn(&D) -> u64,
) -> (Result<Manifest>, D) {
    let unpacked = Unpacked {
        inner: decoder,
        count: 0,
        limits: limits.clone(),
        packed,
        refused: None,
    };
    let mut archive = Archive::new(unpacked);
    let mut outcome = entries(&mut archive, limits, sink);
    let mut unpacked = archive.into_inner();
    if outcome.is_ok() {
        outcome = outcome.and_then(|manifest| padding(&mut unpacked).map(|()| manifest));
    }
    // The reader below tar knows better why it stopped.
    if let Some(refused) = unpacked.refused.take() {
        outcome = Err(refused);
    }
    (outcome, unpacked.inner)
}

/// All entries, against the manifest, which is the first.
fn entries<R: Read>(
    archive: &mut Archive<R>,
    limits: &BundleLimits,
    sink: &mut dyn Sink,
) -> Result<Manifest> {
    let mut known: Option<Known> = None;
    let mut seen: HashSet<String> = HashSet::new();
    let mut count = 0_usize;
    let mut record = Record::default();
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        count += 1;
        // Each may have records of its own before it, and folders may be listed.
        if count > limits.entries.saturating_mul(4) {
            return Err(Error::TooMany {
                limit: limits.entries,
            });
        }
        let kind = entry.header().entry_type();
        if record.take(kind, &mut entry)? {
            continue;
        }
        let name = std::mem::take(&mut record);
        let path = name.path.unwrap_or_else(|| entry.path_bytes().into_owned());
        let path = String::from_utf8(path).map_err(|error| Error::BadPath {
            path: paths::shown(&String::from_utf8_lossy(error.as_bytes())),
            why: "it is not UTF-8",
        })?;
        let Some(known) = &known else {
            let is_manifest = kind.is_file() && Manifest::is_name(&path);
            if !is_manifest {
                return Err(Error::NoManifest);
            }
            let bytes = read_manifest(&mut entry, limits)?;
            strict_json::check(&bytes)
                .map_err(|error| Error::InvalidManifest(paths::excerpt(&error.to_string())))?;
            let found = Manifest::parse(&path, &bytes, limits)?;
            sink.manifest(&found, &bytes)?;
            seen.insert(path);
            known = Some(Known::of(found));
            continue;
        };
        let path = match kind {
            EntryType::Directory => path.strip_suffix('/').unwrap_or(&path).to_owned(),
            _ => path,
        };
        paths::check(&path, Names::Unix)?;
        match kind {
            EntryType::Link => {
                return Err(Error::HardLink {
                    path: paths::shown(&path),
                });
            }
            EntryType::Directory => {
                if !known.folders.contains(&path) {
                    return Err(unlisted(&path));
                }
                has_no_content(&path, &entry)?;
                continue;
            }
            EntryType::Regular | EntryType::Symlink => {}
            _ => {
                return Err(Error::SpecialFile {
                    path: paths::shown(&path),
                });
            }
        }
        if !seen.insert(path.clone()) {
            return Err(Error::Duplicate {
                path: paths::shown(&path),
            });
        }
        match kind {
            EntryType::Symlink => {
                let target = name
                    .target
                    .or_else(|| entry.link_name_bytes().map(Into::into));
                let target = String::from_utf8_lossy(&target.unwrap_or_default()).into_owned();
                let link = known.link(&path)?;
                if link.target != target {
                    return Err(Error::LinkTarget {
                        path: paths::shown(&path),
                        expected: paths::shown(&link.target),
                        found: paths::shown(&target),
                    });
                }
                has_no_content(&path, &entry)?;
                sink.link(link).map_err(Error::Write)?;
            }
            _ => {
                let file = known.file(&path)?;
                check_file(file, &mut entry, sink)?;
            }
        }
    }
    let manifest = known.ok_or(Error::NoManifest)?.manifest;
    if !record.is_empty() {
        let what = "a record belongs to no entry".to_owned();
        return Err(Error::Broken(what));
    }
    let paths = manifest.files().iter().map(|file| &file.path);
    let mut paths = paths.chain(manifest.links().iter().map(|link| &link.path));
    match paths.find(|path| !seen.contains(*path)) {
        Some(path) => Err(Error::Missing { path: path.clone() }),
        None => Ok(manifest),
    }
}

/// The bytes of the manifest. Its own size says how many there should be.
fn read_manifest<R: Read>(entry: &mut tar::Entry<'_, R>, limits: &BundleLimits) -> Result<Vec<u8>> {
    let size = entry.header().entry_size().map_err(broken)?;
    if size > limits.manifest {
        return Err(Error::TooLarge {
            what: "the manifest".to_owned(),
            limit: limits.manifest,
        });
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(broken)?;
    match bytes.len() as u64 == size {
        true => Ok(bytes),
        false => Err(Error::Truncated),
    }
}

/// Programs that unpack archives do not agree on where the next entry begins after a folder or a
/// link that says it has content: what one of them checks another would not see.
fn has_no_content<R: Read>(path: &str, entry: &tar::Entry<'_, R>) -> Result<()> {
    match entry.header().entry_size().map_err(broken)? {
        0 => Ok(()),
        _ => Err(Error::Broken(format!(
            "`{}` is no file, and has content",
            paths::shown(path)
        ))),
    }
}

fn check_file<R: Read>(
    file: &BundleFile,
    entry: &mut tar::Entry<'_, R>,
    sink: &mut dyn Sink,
) -> Result<()> {
    let size = entry.header().entry_size().map_err(broken)?;
    if size != file.size_bytes {
        return Err(Error::FileSize {
            path: file.path.clone(),
            expected: file.size_bytes,
            found: size,
        });
    }
    let mode = entry.header().mode().map_err(broken)?;
    if mode & 0o7777 != file.mode().bits() {
        return Err(Error::FileMode {
            path: file.path.clone(),
            expected: file.mode().to_string(),
            found: format!("{:04o}", mode & 0o7777),
        });
    }
    let mut watched = Watched {
        inner: Hashing::new(entry.take(file.size_bytes)),
        failed: None,
    };
    let taken = sink.file(file, &mut watched);
    // A failure to read is not one to write, whichever the sink hands back.
    if let Some(error) = watched.failed.take() {
        return Err(broken(error));
    }
    taken.map_err(Error::Write)?;
    io::copy(&mut watched, &mut io::sink()).map_err(broken)?;
    let (found, sha256) = watched.inner.finish();
    if found != file.size_bytes {
        return Err(Error::Truncated);
    }
    match sha256 == file.sha256 {
        true => Ok(()),
        false => Err(Error::FileHash {
            path: file.path.clone(),
        }),
    }
}

/// After the last entry come zeros, and nothing else.
fn padding(rest: &mut impl Read) -> Result<()> {
    let mut buffer = [0; 4096];
    let mut count = 0;
    loop {
        let read = rest.read(&mut buffer).map_err(broken)?;
        count += read as u64;
        if buffer[..read].iter().any(|byte| *byte != 0) || count > MAX_PADDING {
            return Err(Error::TrailingData);
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// What an archive says about the next entry, where the entry itself has no room for it.
#[derive(Debug, Default)]
struct Record {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl Record {
    fn is_empty(&self) -> bool {
        self.path.is_none() && self.target.is_none()
    }

    /// Take an entry that is a record; says whether it was one.
    fn take<R: Read>(&mut self, kind: EntryType, entry: &mut tar::Entry<'_, R>) -> Result<bool> {
        let is_record = matches!(
            kind,
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader
        );
        if !is_record {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        let mut content = entry.take(MAX_RECORD + 1);
        content.read_to_end(&mut bytes).map_err(broken)?;
        if bytes.len() as u64 > MAX_RECORD {
            return Err(Error::LongPath {
                path: paths::shown(&String::from_utf8_lossy(&bytes[..200])),
                limit: MAX_PATH,
            });
        }
        match kind {
            EntryType::GNULongName => self.path = Some(without_end(bytes)),
            EntryType::GNULongLink => self.target = Some(without_end(bytes)),
            _ => {
                for extension in PaxExtensions::new(&bytes) {
                    let extension = extension.map_err(broken)?;
                    match extension.key_bytes() {
                        b"path" => self.path = Some(extension.value_bytes().to_vec()),
                        b"linkpath" => self.target = Some(extension.value_bytes().to_vec()),
                        // Times and owners: nothing that is used.
                        b"mtime" | b"atime" | b"ctime" | b"uid" | b"gid" | b"uname" | b"gname" => {}
                        key => {
                            let key = String::from_utf8_lossy(key);
                            let key = paths::shown(&key);
                            return Err(Error::Broken(format!("a record `{key}` is not expected")));
                        }
                    }
                }
            }
        }
        Ok(true)
    }
}

fn without_end(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// A manifest, with its entries by their paths.
struct Known {
    manifest: Manifest,
    /// Where each is among the files.
    files: HashMap<String, usize>,
    /// Where each is among the links.
    links: HashMap<String, usize>,
    folders: HashSet<String>,
}

impl Known {
    fn of(manifest: Manifest) -> Self {
        let files = manifest.files().iter().map(|file| file.path.as_str());
        let links = manifest.links().iter().map(|link| link.path.as_str());
        let mut folders = HashSet::new();
        for path in files.clone().chain(links.clone()) {
            // Those above a folder that is known are known.
            let mut above = path;
            while let Some((folder, _)) = above.rsplit_once('/') {
                if folders.contains(folder) {
                    break;
                }
                folders.insert(folder.to_owned());
                above = folder;
            }
        }
        let numbered = |(at, path): (usize, &str)| (path.to_owned(), at);
        Self {
            folders,
            files: files.enumerate().map(numbered).collect(),
            links: links.enumerate().map(numbered).collect(),
            manifest,
        }
    }

    fn file(&self, path: &str) -> Result<&BundleFile> {
        let at = self.files.get(path);
        let file = at.and_then(|at| self.manifest.files().get(*at));
        file.ok_or_else(|| unlisted(path))
    }

    fn link(&self, path: &str) -> Result<&BundleLink> {
        let at = self.links.get(path);
        let link = at.and_then(|at| self.manifest.links().get(*at));
        link.ok_or_else(|| unlisted(path))
    }
}

fn unlisted(path: &str) -> Error {
    Error::Unlisted {
        path: paths::shown(path),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn broken(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::Truncated,
        _ => Error::Broken(paths::shown(&error.to_string())),
    }
}

/// Why the source stopped.
#[derive(Debug)]
enum Failed {
    TooLarge,
    Read(io::Error),
}

/// The bytes of the archive: hashed, counted and limited.
struct Source<R> {
    inner: Hashing<R>,
    /// Bytes that were looked at, and are still to be read.
    start: Vec<u8>,
    count: u64,
    limit: u64,
    failed: Option<Failed>,
}

impl<R: Read> Source<R> {
    /// Look at how it begins.
    fn look(&mut self) -> io::Result<()> {
        let mut start = Vec::new();
        (&mut self.inner).take(4).read_to_end(&mut start)?;
        self.count = start.len() as u64;
        self.start = start;
        Ok(())
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.start.is_empty() {
            let count = self.start.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.start[..count]);
            self.start.drain(..count);
            return Ok(count);
        }
        match self.inner.read(buffer) {
            Ok(count) => {
                self.count += count as u64;
                if self.count > self.limit {
                    self.failed = Some(Failed::TooLarge);
                    return Err(io::Error::other("the archive is too large"));
                }
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let told = io::Error::new(error.kind(), error.to_string());
                self.failed = Some(Failed::Read(error));
                Err(told)
            }
        }
    }
}

/// The bytes that come out: counted and limited.
struct Unpacked<D> {
    inner: D,
    count: u64,
    limits: BundleLimits,
    packed: fn(&D) -> u64,
    refused: Option<Error>,
}

impl<D: Read> Read for Unpacked<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        let packed = (self.packed)(&self.inner).max(1);
        // Headers and padding come on top of the files.
        let most = self
            .limits
            .unpacked
            .saturating_add(self.limits.unpacked / 8)
            + (64 << 20);
        let refused = if self.count > most {
            Error::TooLarge {
                what: "the unpacked archive".to_owned(),
                limit: self.limits.unpacked,
            }
        } else if self.count > BundleLimits::SMALL && self.count / packed > self.limits.ratio {
            Error::Bomb {
                unpacked: self.count,
                packed,
            }
        } else {
            return Ok(count);
        };
        let told = io::Error::other(refused.to_string());
        self.refused = Some(refused);
        Err(told)
    }
}

/// A reader that remembers its failure.
struct Watched<R> {
    inner: R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            let told = io::Error::new(error.kind(), error.to_string());
            self.failed = Some(error);
            told
        })
    }
}
