//! Archives: which one, whose, and unpacking them.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pillion_bundle::{
    BundleFile, BundleLimits, BundleLink, BundleType, Digest, Hashing, Manifest, NoSink, Platform,
    Sink, Verified, Version, parse_checksum, signature,
};
use pillion_runtime::managed::ProgressListener;

use super::files;
use crate::counting_reader::Counting;
use crate::error::{Error, Result};
use crate::trust::TrustPolicy;

/// What follows an archive's name in that of its checksum.
pub(crate) const CHECKSUM: &str = ".sha256";

/// An archive, and what lies beside it.
#[derive(Debug, Clone)]
pub struct ArchiveFile {
    /// The archive.
    pub path: PathBuf,
    /// What people call it.
    pub name: String,
    /// Its signature.
    pub signature: Option<String>,
    /// The hash that it should have.
    pub checksum: Option<Digest>,
}

impl ArchiveFile {
    /// An archive with the signature and the checksum beside it.
    pub fn beside(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let checksum = match read_beside(path, CHECKSUM)? {
            Some(text) => Some(parse_checksum(&text).map_err(Error::refused(name.clone()))?),
            None => None,
        };
        Ok(Self {
            signature: read_beside(path, signature::ENDING)?,
            checksum,
            name: name.into_owned(),
            path: path.to_owned(),
        })
    }
}

/// A small file beside an archive, if there is one.
fn read_beside(path: &Path, ending: &str) -> Result<Option<String>> {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    let path = PathBuf::from(name);
    let mut bytes = Vec::new();
    let opened = match files::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let mut bounded = opened.take(signature::MAX_SIZE);
    bounded
        .read_to_end(&mut bytes)
        .map_err(Error::io("read", &path))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// What a bundle is expected to be.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Its type.
    pub kind: Option<BundleType>,
    /// Its scope.
    pub scope: Option<String>,
    /// Its version.
    pub version: Option<Version>,
    /// The platform that it must be for, if it is for one.
    pub platform: Option<Platform>,
}

impl Expected {
    fn check(&self, manifest: &Manifest) -> pillion_bundle::Result<()> {
        let (kind, scope) = (manifest.bundle_type(), manifest.scope_id());
        let version = manifest.version();
        let is_kind = self.kind.is_none_or(|asked| asked == kind);
        let is_scope = self.scope.as_ref().is_none_or(|asked| asked == scope);
        let is_version = self.version.as_ref().is_none_or(|asked| asked == version);
        if !is_kind || !is_scope || !is_version {
            let asked = self.kind.map_or("any", BundleType::as_str);
            let scope_asked = self.scope.as_deref().unwrap_or("any");
            let version_asked = self.version.as_ref().map(|version| format!(" {version}"));
            return Err(pillion_bundle::Error::Unexpected {
                found: format!("{kind}/{scope} {version}"),
                expected: format!("{asked}/{scope_asked}{}", version_asked.unwrap_or_default()),
            });
        }
        match (manifest.platform(), self.platform) {
            (Some(found), Some(here)) if found != here => Err(pillion_bundle::Error::Platform {
                found: found.to_string(),
                expected: here.to_string(),
            }),
            _ => Ok(()),
        }
    }
}

/// An archive that is what it says.
#[derive(Debug, Clone)]
pub struct Checked {
    /// What was found.
    pub verified: Verified,
    /// The trusted key that signed it, unless unsigned ones are taken.
    pub signed_by: Option<String>,
}

/// Check an archive in all ways, and unpack nothing.
pub fn check(
    source: &ArchiveFile,
    trust: &TrustPolicy,
    expected: &Expected,
    progress: &dyn ProgressListener,
) -> Result<Checked> {
    let mut file = files::open(&source.path).map_err(Error::io("read", &source.path))?;
    let mut sink = Checking {
        expected,
        inner: &mut NoSink,
    };
    check_file(&mut file, source, trust, progress, &mut sink)
}

/// Check an archive, and unpack it into a folder that is not there yet.
pub(crate) fn unpack(
    file: &mut fs::File,
    source: &ArchiveFile,
    trust: &TrustPolicy,
    expected: &Expected,
    to: &Path,
    progress: &dyn ProgressListener,
) -> Result<Checked> {
    let mut unpacker = Unpacker {
        root: to.to_owned(),
        made: SystemTime::UNIX_EPOCH,
    };
    let mut sink = Checking {
        expected,
        inner: &mut unpacker,
    };
    check_file(file, source, trust, progress, &mut sink)
}

fn check_file(
    file: &mut fs::File,
    source: &ArchiveFile,
    trust: &TrustPolicy,
    progress: &dyn ProgressListener,
    sink: &mut dyn Sink,
) -> Result<Checked> {
    let refused = || Error::refused(source.name.clone());
    let failed = || Error::io("read", &source.path);
    let size = file.metadata().map_err(failed())?.len();
    // A signature is of every byte, and whoever sends more than there may be wants them read.
    not_too_large(size, source)?;
    if source.signature.is_some() {
        progress.step(&format!("checking the signature of {}", source.name));
    }
    let reader = Counting::new(&mut *file, Some(size), progress);
    let signed_by = match &source.signature {
        None if trust.allow_unsigned => None,
        None => return Err(refused()(pillion_bundle::Error::Unsigned)),
        Some(signature) => match trust.keys.verify(signature, reader) {
            Ok(key) => Some(key),
            // Whoever takes what nobody signed takes what a stranger signed.
            Err(pillion_bundle::Error::UnknownKey) if trust.allow_unsigned => None,
            Err(error) => return Err(refused_or_failed(error, source)),
        },
    };
    file.rewind().map_err(failed())?;
    progress.step(&format!("checking {}", source.name));
    let reader = Counting::new(&mut *file, Some(size), progress);
    let verified = pillion_bundle::read(reader, &BundleLimits::default(), sink);
    let verified = verified.map_err(|error| refused_or_failed(error, source))?;
    if source
        .checksum
        .as_ref()
        .is_some_and(|sum| *sum != verified.sha256)
    {
        return Err(refused()(pillion_bundle::Error::ArchiveHash));
    }
    Ok(Checked {
        verified,
        signed_by,
    })
}

/// Refuse an archive by its size alone.
pub(super) fn not_too_large(size: u64, source: &ArchiveFile) -> Result<()> {
    let limit = BundleLimits::default().packed;
    match size > limit {
        false => Ok(()),
        true => Err(Error::refused(&source.name)(
            pillion_bundle::Error::TooLarge {
                what: "the archive".to_owned(),
                limit,
            },
        )),
    }
}

/// What a disk does not do is no fault of the archive: it is not refused, and what came of it from
/// elsewhere is kept for another try.
fn refused_or_failed(error: pillion_bundle::Error, source: &ArchiveFile) -> Error {
    match error {
        pillion_bundle::Error::Read(error) => Error::io("read", &source.path)(error),
        pillion_bundle::Error::Write(error) => Error::io("unpack", &source.path)(error),
        refused => Error::refused(source.name.clone())(refused),
    }
}

/// The manifest in an archive, byte for byte, if its hash is this one.
pub(crate) fn manifest_in(path: &Path, sha256: &Digest) -> io::Result<Option<Vec<u8>>> {
    let mut file = fs::File::open(path)?;
    let mut hashing = Hashing::new(&mut file);
    io::copy(&mut hashing, &mut io::sink())?;
    if hashing.finish().1 != *sha256 {
        return Ok(None);
    }
    file.rewind()?;
    let mut first = FirstOnly::default();
    // It ends with the sink's refusal: the rest was checked when the archive came.
    let _ = pillion_bundle::read(file, &BundleLimits::default(), &mut first);
    Ok(first.manifest)
}

/// Takes the manifest, and nothing more.
#[derive(Default)]
struct FirstOnly {
    manifest: Option<Vec<u8>>,
}

impl Sink for FirstOnly {
    fn manifest(&mut self, _: &Manifest, bytes: &[u8]) -> pillion_bundle::Result<()> {
        self.manifest = Some(bytes.to_vec());
        let enough = io::Error::from(io::ErrorKind::Interrupted);
        Err(pillion_bundle::Error::Write(enough))
    }

    fn file(&mut self, _: &BundleFile, _: &mut dyn Read) -> io::Result<()> {
        Ok(())
    }

    fn link(&mut self, _: &BundleLink) -> io::Result<()> {
        Ok(())
    }
}

/// Refuses what is not expected before anything of it is unpacked.
struct Checking<'a> {
    expected: &'a Expected,
    inner: &'a mut dyn Sink,
}

impl Sink for Checking<'_> {
    fn manifest(&mut self, manifest: &Manifest, bytes: &[u8]) -> pillion_bundle::Result<()> {
        self.expected.check(manifest)?;
        self.inner.manifest(manifest, bytes)
    }

    fn file(&mut self, file: &BundleFile, content: &mut dyn Read) -> io::Result<()> {
        self.inner.file(file, content)
    }

    fn link(&mut self, link: &BundleLink) -> io::Result<()> {
        self.inner.link(link)
    }
}

/// Writes files below a folder. Their paths are safe: the manifest was checked.
struct Unpacker {
    root: PathBuf,
    made: SystemTime,
}

impl Unpacker {
    fn write(&self, path: &str, mode: u32, content: &mut dyn Read) -> io::Result<()> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = fs::File::options();
        options.write(true).create_new(true);
        let mut file = options.open(&path)?;
        io::copy(content, &mut file)?;
        set_mode(&file, mode)?;
        // All have the time of the bundle: a later look at a file's time tells whether somebody
        // wrote to it.
        file.set_modified(self.made)
    }
}

impl Sink for Unpacker {
    fn manifest(&mut self, manifest: &Manifest, bytes: &[u8]) -> pillion_bundle::Result<()> {
        self.made += Duration::from_secs(manifest.created_seconds()?);
        let written = fs::create_dir(&self.root)
            .and_then(|()| self.write(manifest.name(), 0o644, &mut &bytes[..]));
        written.map_err(pillion_bundle::Error::Write)
    }

    fn file(&mut self, file: &BundleFile, content: &mut dyn Read) -> io::Result<()> {
        self.write(&file.path, file.mode().bits(), content)
    }

    fn link(&mut self, link: &BundleLink) -> io::Result<()> {
        let path = self.root.join(&link.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        make_link(&link.target, &path)
    }
}

#[cfg(unix)]
fn set_mode(file: &fs::File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &fs::File, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn make_link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn make_link(_: &str, _: &Path) -> io::Result<()> {
    // Bundles for such systems have none, and others are refused before.
    Err(io::ErrorKind::Unsupported.into())
}
