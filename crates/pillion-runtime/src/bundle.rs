//! Installed bundles: where they are, which is active, and whether one is still what was
//! installed.
//!
//! This is the reading half of a store of bundles. It changes nothing; installing and repairing
//! is the business of a service.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pillion_bundle::{
    ActiveIndex, BundleFile, BundleLimits, BundleType, ContentManifest, Digest, Hashing, Manifest,
    Platform, RuntimeManifest,
};
use serde::Deserialize;

use crate::Dirs;

/// The largest list of what is installed that is read.
const MAX_INDEX: u64 = 16 << 20;
/// So many damages are listed; the rest is counted with the last.
const MAX_DAMAGES: usize = 20;

/// The store that is used unless another is named.
pub fn default_store(dirs: &Dirs) -> PathBuf {
    dirs.usable_data().join("bundles")
}

/// Where a store keeps a version.
pub fn folder_of(store: &Path, kind: BundleType, scope: &str, version: &str) -> PathBuf {
    store.join(kind.as_str()).join(scope).join(version)
}

/// What a store says is installed. A store that is not there has nothing; one that has bundles
/// and no list of them has lost it, because the list is there before the first of them.
pub fn read_index(store: &Path) -> Result<ActiveIndex, BundleError> {
    let path = store.join(ActiveIndex::NAME);
    let bytes = match read_bounded(&path, MAX_INDEX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match has_bundles(store) {
                false => Ok(ActiveIndex::default()),
                true => Err(BundleError::Index {
                    path,
                    why: "it is gone, and bundles are there".to_owned(),
                }),
            };
        }
        Err(source) => return Err(BundleError::Read { path, source }),
    };
    ActiveIndex::parse(&bytes).map_err(|why| BundleError::Index { path, why })
}

/// What a store's list says of types that are not known here, if it can be read that far.
pub fn read_unknown(store: &Path) -> ActiveIndex {
    let bytes = read_bounded(&store.join(ActiveIndex::NAME), MAX_INDEX);
    bytes.map_or_else(
        |_| ActiveIndex::default(),
        |bytes| ActiveIndex::only_unknown(&bytes),
    )
}

/// The folders in a store of bundles whose type is not known here, sorted: what says itself that
/// it is of the type that its folder is called after.
pub fn unknown_folders(store: &Path) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct ManifestHead {
        bundle_type: String,
    }
    let below = |folder: PathBuf| {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let name_of = |path: &Path| {
        path.file_name()
            .and_then(|name| name.to_str().map(str::to_owned))
    };
    let mut all = Vec::new();
    for kind in below(store.to_owned()) {
        let Some(name) = name_of(&kind) else { continue };
        // What begins with a dot is the store's own.
        if name.starts_with('.') || name.parse::<BundleType>().is_ok() {
            continue;
        }
        all.extend(below(kind).flat_map(below).filter(|folder| {
            let manifests = [RuntimeManifest::NAME, ContentManifest::NAME];
            manifests.iter().any(|manifest| {
                let bytes = read_bounded(&folder.join(manifest), BundleLimits::default().manifest);
                let head = bytes.map(|bytes| serde_json::from_slice::<ManifestHead>(&bytes));
                head.is_ok_and(|head| head.is_ok_and(|head| head.bundle_type == name))
            })
        }));
    }
    all.sort();
    all
}

/// Whether a store has folders of bundles, whatever its list says.
fn has_bundles(store: &Path) -> bool {
    let has_known = BundleType::ALL.iter().any(|kind| {
        let scopes = store.join(kind.as_str()).read_dir();
        let versions = scopes.into_iter().flatten().flatten();
        let mut versions = versions.flat_map(|scope| scope.path().read_dir());
        versions.any(|mut versions| {
            versions.any(|version| {
                version.is_ok_and(|version| version.path().join(kind.manifest_name()).is_file())
            })
        })
    });
    has_known || !unknown_folders(store).is_empty()
}

/// A bundle that lies unpacked in a folder.
#[derive(Debug, Clone)]
pub struct Unpacked {
    /// Its folder.
    pub root: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

/// How closely a bundle is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Sizes and times; what has another time is read. Takes a `stat` for each file.
    Cheap,
    /// Every byte, and whether there is more than there should be.
    Full,
}

/// Something that is not as it was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The path in the bundle.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
}

impl Unpacked {
    /// The bundle in this folder. Only its manifest is read.
    pub fn open(root: &Path) -> Result<Self, BundleError> {
        let limits = BundleLimits::default();
        for name in [RuntimeManifest::NAME, ContentManifest::NAME] {
            let path = root.join(name);
            let bytes = match read_bounded(&path, limits.manifest) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(BundleError::Read { path, source }),
            };
            let manifest =
                Manifest::parse(name, &bytes, &limits).map_err(|error| BundleError::Damaged {
                    root: root.to_owned(),
                    damages: vec![Damage {
                        path: name.to_owned(),
                        what: error.to_string(),
                    }],
                    more: 0,
                })?;
            return Ok(Self {
                root: root.to_owned(),
                manifest,
            });
        }
        Err(BundleError::NoBundle {
            root: root.to_owned(),
        })
    }

    /// Whether everything is there as it was installed.
    pub fn check(&self, depth: Depth) -> Result<(), BundleError> {
        let mut damages = Vec::new();
        let mut count = 0_usize;
        let mut found = |path: &str, what: String| {
            count += 1;
            if damages.len() < MAX_DAMAGES {
                let path = path.to_owned();
                damages.push(Damage { path, what });
            }
        };
        let made = self.manifest.created_seconds().unwrap_or_default();
        let made = SystemTime::UNIX_EPOCH + Duration::from_secs(made);
        for file in self.manifest.files() {
            if let Err(what) = self.check_file(file, depth, made) {
                found(&file.path, what);
            }
        }
        for link in self.manifest.links() {
            match fs::read_link(self.root.join(&link.path)) {
                Ok(target) if target == Path::new(&link.target) => {}
                Ok(target) => found(&link.path, format!("leads to `{}`", target.display())),
                Err(error) => found(&link.path, error.to_string()),
            }
        }
        if depth == Depth::Full {
            for path in self.unlisted() {
                found(&path, "is not a part of the bundle".to_owned());
            }
        }
        match count {
            0 => Ok(()),
            _ => Err(BundleError::Damaged {
                root: self.root.clone(),
                more: count - damages.len(),
                damages,
            }),
        }
    }

    fn check_file(&self, file: &BundleFile, depth: Depth, made: SystemTime) -> Result<(), String> {
        let path = self.root.join(&file.path);
        let meta = path.symlink_metadata().map_err(|error| error.to_string())?;
        if !meta.is_file() {
            return Err("is no file".to_owned());
        }
        if meta.len() != file.size_bytes {
            return Err(format!(
                "has {} bytes instead of {}",
                meta.len(),
                file.size_bytes
            ));
        }
        if !has_mode(&meta, file) {
            return Err("has another mode".to_owned());
        }
        let is_same_time = meta.modified().is_ok_and(|time| time == made);
        if depth == Depth::Cheap && is_same_time {
            return Ok(());
        }
        let found = hash(&path).map_err(|error| error.to_string())?;
        match found == file.sha256 {
            true => Ok(()),
            false => Err("has another content".to_owned()),
        }
    }

    /// Files that nobody installed, but for the byte-code that Python keeps beside its modules.
    fn unlisted(&self) -> Vec<String> {
        let files = self.manifest.files().iter().map(|file| file.path.as_str());
        let links = self.manifest.links().iter().map(|link| link.path.as_str());
        let known: std::collections::HashSet<&str> =
            files.chain(links).chain([self.manifest.name()]).collect();
        let mut unlisted = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let entries = self.root.join(&folder).read_dir();
            for entry in entries.into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = match folder.as_str() {
                    "" => name.clone(),
                    folder => format!("{folder}/{name}"),
                };
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                match is_folder {
                    true if name == "__pycache__" => {}
                    true => folders.push(path),
                    false if known.contains(path.as_str()) => {}
                    false => unlisted.push(path),
                }
            }
        }
        unlisted.sort();
        unlisted
    }

    /// The Python of a runtime.
    pub fn python(&self) -> Option<PathBuf> {
        let runtime = self.manifest.runtime()?;
        Some(self.root.join(&runtime.python_executable_relpath))
    }

    /// The program that a runtime is started by.
    pub fn entrypoint(&self) -> Option<PathBuf> {
        let runtime = self.manifest.runtime()?;
        Some(self.root.join(&runtime.entrypoint))
    }
}

/// Whether a folder is that of a runtime bundle.
pub fn is_runtime(folder: &Path) -> bool {
    folder.join(RuntimeManifest::NAME).is_file()
}

/// A runtime that may be used: it is for this platform, and nothing of it is damaged.
pub fn usable_runtime(folder: &Path) -> Result<Unpacked, BundleError> {
    let runtime = Unpacked::open(folder)?;
    let Some(platform) = runtime.manifest.platform() else {
        return Err(BundleError::NoBundle {
            root: folder.to_owned(),
        });
    };
    if Platform::here() != Some(platform) {
        return Err(BundleError::Platform {
            root: folder.to_owned(),
            platform,
        });
    }
    runtime.check(Depth::Cheap)?;
    Ok(runtime)
}

/// The folder of the active runtime of a store, if there is one.
pub fn active_runtime(store: &Path) -> Result<Option<PathBuf>, BundleError> {
    let index = read_index(store)?;
    let kind = BundleType::PythonRuntime;
    let mut runtimes = index.iter().filter(|(found, ..)| *found == kind);
    let core = index.get(kind, "core").map(|active| ("core", active));
    let chosen = core.or_else(|| runtimes.next().map(|(_, scope, active)| (scope, active)));
    Ok(chosen.map(|(scope, active)| folder_of(store, kind, scope, active.version.as_str())))
}

/// The folder of the runtime that this very program is a part of, if it is.
pub fn own_runtime() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    let folder = program
        .ancestors()
        .skip(1)
        .take(4)
        .find(|f| is_runtime(f))?;
    let runtime = Unpacked::open(folder).ok()?;
    let is_ours = runtime.entrypoint()?.canonicalize().ok()? == program;
    is_ours.then(|| folder.to_owned())
}

/// Why a bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// There is none.
    #[error("there is no bundle in `{root}`")]
    NoBundle {
        /// The folder.
        root: PathBuf,
    },
    /// It is not as it was installed.
    #[error("the bundle in `{root}` is damaged{}", listed(damages, *more))]
    Damaged {
        /// Its folder.
        root: PathBuf,
        /// What is wrong.
        damages: Vec<Damage>,
        /// How much more is wrong.
        more: usize,
    },
    /// It is for others.
    #[error("the runtime in `{root}` is for {platform}, which this is not")]
    Platform {
        /// Its folder.
        root: PathBuf,
        /// What it is for.
        platform: Platform,
    },
    /// The list of what is installed makes no sense.
    #[error("`{path}` cannot be understood: {why}")]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Something cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl BundleError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::NoBundle { root } if !is_in_store(root) => {
                "name the folder that `pillion bundle list` shows, or install one".to_owned()
            }
            Self::Damaged { root, .. } | Self::NoBundle { root } => match store_of(root) {
                Some(store) => format!("`pillion bundle repair --store {}`", store.display()),
                None => "install it again: `pillion bundle install FILE`".to_owned(),
            },
            Self::Platform { .. } => "install the bundle for this platform".to_owned(),
            Self::Index { path, .. } => format!(
                "`pillion bundle repair --store {}` makes it anew from what is installed",
                path.parent().unwrap_or(path).display()
            ),
            Self::Read { .. } => "look at its permissions".to_owned(),
        }
    }
}

/// The store that a version lies in: three folders up.
fn store_of(root: &Path) -> Option<&Path> {
    let store = root.ancestors().nth(3);
    store.filter(|store| store.join(ActiveIndex::NAME).is_file())
}

fn is_in_store(root: &Path) -> bool {
    store_of(root).is_some()
}

fn listed(damages: &[Damage], more: usize) -> String {
    let mut text: String = damages
        .iter()
        .map(|damage| format!("\n  `{}` {}", damage.path, damage.what))
        .collect();
    if more > 0 {
        text.push_str(&format!("\n  and {more} more"));
    }
    text
}

/// The hash of a file.
pub fn hash(path: &Path) -> io::Result<Digest> {
    let mut reader = Hashing::new(fs::File::open(path)?);
    let mut buffer = vec![0; 1 << 16];
    while reader.read(&mut buffer)? > 0 {}
    Ok(reader.finish().1)
}

fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // A pipe to which nobody writes would keep us for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(most + 1)
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other("it is too large")),
        false => Ok(bytes),
    }
}

#[cfg(unix)]
fn has_mode(meta: &fs::Metadata, file: &BundleFile) -> bool {
    use std::os::unix::fs::PermissionsExt;
    // Who else may read it is the store's business.
    meta.permissions().mode() & 0o100 == file.mode().bits() & 0o100
}

#[cfg(not(unix))]
fn has_mode(_: &fs::Metadata, _: &BundleFile) -> bool {
    true
}
