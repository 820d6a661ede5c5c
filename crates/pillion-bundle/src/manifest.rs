//! Manifests: what a bundle is, and what is in it.

use serde::{Deserialize, Serialize};

use crate::entry::{BundleFile, BundleLink, BundleType};
use crate::paths::{self, Names, PathTree};
use crate::{BundleLimits, Digest, Error, Platform, Result, Version};

/// The format that this crate reads and writes.
pub const FORMAT_VERSION: &str = "bundle-v2";

/// The longest id of a scope: it is the name of a folder.
const MAX_SCOPE: usize = 128;
/// The longest name of a release.
const MAX_RELEASE: usize = 64;

/// `runtime.manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub struct RuntimeManifest {
    pub format_version: String,
    pub bundle_type: BundleType,
    pub scope_id: String,
    pub version: Version,
    pub created_at: String,
    pub platform: Platform,
    pub python_version: String,
    pub sidecar_version: String,
    pub desktop_min_version: Version,
    /// The program to start.
    pub entrypoint: String,
    pub python_executable_relpath: String,
    /// The hash of the content tree: [`Digest::of_tree`].
    pub sha256: Digest,
    pub files: Vec<BundleFile>,
    /// Symbolic links, which have no content that could be hashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<BundleLink>,
    pub python: PythonPart,
    pub sidecar: SidecarPart,
}

/// The interpreter, as older desktops look for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonPart {
    /// The same as `python_executable_relpath`.
    pub executable_relpath: String,
}

/// The sidecar, as older desktops look for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SidecarPart {
    /// Its folder.
    pub root_relpath: String,
}

impl RuntimeManifest {
    /// The name of the file.
    pub const NAME: &str = "runtime.manifest.json";
}

/// `bundle.manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub struct ContentManifest {
    pub format_version: String,
    pub bundle_type: BundleType,
    pub scope_id: String,
    pub version: Version,
    pub created_at: String,
    pub files: Vec<BundleFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chapter: Option<ChapterManifest>,
}

impl ContentManifest {
    /// The name of the file.
    pub const NAME: &str = "bundle.manifest.json";
}

/// What a bundle of a chapter says about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub struct ChapterManifest {
    pub course_id: String,
    pub chapter_code: String,
    pub title: String,
    pub has_scripts: bool,
    pub has_datasets: bool,
    pub required_experts: Vec<String>,
}

impl BundleType {
    /// The name of its manifest.
    pub fn manifest_name(self) -> &'static str {
        match self {
            Self::PythonRuntime => RuntimeManifest::NAME,
            _ => ContentManifest::NAME,
        }
    }
}

/// The manifest of any bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manifest {
    /// Of a runtime.
    Runtime(Box<RuntimeManifest>),
    /// Of content.
    Content(Box<ContentManifest>),
}

macro_rules! shared {
    ($self:ident, $field:ident) => {
        match $self {
            Self::Runtime(manifest) => &manifest.$field,
            Self::Content(manifest) => &manifest.$field,
        }
    };
}

impl Manifest {
    /// Read and check the manifest called `name`.
    pub fn parse(name: &str, bytes: &[u8], limits: &BundleLimits) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format_version: String,
            bundle_type: String,
        }
        let told = |text: String| Error::InvalidManifest(paths::excerpt(&text));
        let wrong = |error: serde_json::Error| told(error.to_string());
        if bytes.len() as u64 > limits.manifest {
            return Err(Error::TooLarge {
                what: "the manifest".to_owned(),
                limit: limits.manifest,
            });
        }
        let head: Head = serde_json::from_slice(bytes).map_err(wrong)?;
        if head.format_version != FORMAT_VERSION {
            return Err(Error::FormatVersion {
                found: paths::shown(&head.format_version),
                expected: FORMAT_VERSION,
            });
        }
        let kind: BundleType = head.bundle_type.parse().map_err(told)?;
        if kind.manifest_name() != name {
            let message = format!("a bundle of type `{kind}` has a `{}`", kind.manifest_name());
            return Err(Error::InvalidManifest(message));
        }
        let manifest = match kind {
            BundleType::PythonRuntime => {
                Self::Runtime(serde_json::from_slice(bytes).map_err(wrong)?)
            }
            _ => Self::Content(serde_json::from_slice(bytes).map_err(wrong)?),
        };
        manifest.check(limits)?;
        Ok(manifest)
    }

    /// Whether a name is one of a manifest.
    pub fn is_name(name: &str) -> bool {
        name == RuntimeManifest::NAME || name == ContentManifest::NAME
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = match self {
            Self::Runtime(manifest) => serde_json::to_vec_pretty(manifest),
            Self::Content(manifest) => serde_json::to_vec_pretty(manifest),
        };
        let mut bytes = bytes.map_err(|error| Error::InvalidManifest(error.to_string()))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Check everything that can be known without the content.
    pub fn check(&self, limits: &BundleLimits) -> Result<()> {
        let wrong = |message: String| Err(Error::InvalidManifest(message));
        check_scope(self.scope_id()).map_err(Error::InvalidManifest)?;
        self.created_seconds()?;
        let (files, links) = (self.files(), self.links());
        if files.len().saturating_add(links.len()) > limits.entries {
            return Err(Error::TooMany {
                limit: limits.entries,
            });
        }
        let mut total: u64 = 0;
        for file in files {
            total = total.saturating_add(file.size_bytes);
            if total > limits.unpacked {
                return Err(Error::TooLarge {
                    what: "all files together".to_owned(),
                    limit: limits.unpacked,
                });
            }
        }
        let all = files.iter().map(|file| &file.path);
        for path in all.chain(links.iter().map(|link| &link.path)) {
            beside_manifests(path)?;
        }
        if let Some(link) = links.first().filter(|_| !self.may_link()) {
            return Err(Error::LinkNotAllowed {
                path: paths::shown(&link.path),
            });
        }
        let tree = self.tree()?;
        match self {
            Self::Runtime(manifest) => {
                for text in [&manifest.python_version, &manifest.sidecar_version] {
                    check_release(text).map_err(Error::InvalidManifest)?;
                }
                let python = &manifest.python_executable_relpath;
                if manifest.python.executable_relpath != *python {
                    return wrong("the two paths of the Python are not the same".to_owned());
                }
                for path in [python, &manifest.entrypoint] {
                    if !tree.leads_to_file(path) {
                        return wrong(format!("there is no file `{}`", paths::shown(path)));
                    }
                }
                let sidecar = &manifest.sidecar.root_relpath;
                if !tree.has_folder(sidecar) {
                    return wrong(format!("there is no folder `{}`", paths::shown(sidecar)));
                }
                if let Some(file) = manifest.files.iter().find(|file| file.mode.is_none()) {
                    return wrong(format!("`{}` has no mode", paths::shown(&file.path)));
                }
                if Digest::of_tree(&manifest.files, &manifest.links) != manifest.sha256 {
                    return Err(Error::TreeHash);
                }
            }
            Self::Content(manifest) => {
                let is_chapter = manifest.bundle_type == BundleType::Chapter;
                if is_chapter != manifest.chapter.is_some() {
                    return wrong("`chapter` belongs to bundles of chapters".to_owned());
                }
                if let Some(file) = manifest.files.iter().find(|file| file.mode.is_some()) {
                    let path = paths::shown(&file.path);
                    return wrong(format!("`{path}` has a mode, which content has not"));
                }
            }
        }
        Ok(())
    }

    /// All paths, checked.
    pub fn tree(&self) -> Result<PathTree<'_>> {
        let files = self.files().iter().map(|file| file.path.as_str());
        let links = self.links().iter();
        let links = links.map(|link| (link.path.as_str(), link.target.as_str()));
        PathTree::of(files, links, self.names())
    }

    /// Its type.
    pub fn bundle_type(&self) -> BundleType {
        *shared!(self, bundle_type)
    }

    /// What it is for, such as `core`.
    pub fn scope_id(&self) -> &str {
        shared!(self, scope_id)
    }

    /// Its version.
    pub fn version(&self) -> &Version {
        shared!(self, version)
    }

    /// When it was made, as it was written.
    pub fn created_at(&self) -> &str {
        shared!(self, created_at)
    }

    /// The same, in seconds since 1970: the time of all its files.
    pub fn created_seconds(&self) -> Result<u64> {
        let parsed: Option<jiff::Timestamp> = self.created_at().parse().ok();
        let seconds = parsed.and_then(|time| u64::try_from(time.as_second()).ok());
        seconds.ok_or_else(|| {
            Error::InvalidManifest("`created_at` is no time such as 2026-01-31T12:00:00Z".into())
        })
    }

    /// Its files.
    pub fn files(&self) -> &[BundleFile] {
        shared!(self, files)
    }

    /// Its links.
    pub fn links(&self) -> &[BundleLink] {
        match self {
            Self::Runtime(manifest) => &manifest.links,
            Self::Content(_) => &[],
        }
    }

    /// The platform that it is for, if not for all.
    pub fn platform(&self) -> Option<Platform> {
        match self {
            Self::Runtime(manifest) => Some(manifest.platform),
            Self::Content(_) => None,
        }
    }

    /// The manifest of a runtime, if it is one.
    pub fn runtime(&self) -> Option<&RuntimeManifest> {
        match self {
            Self::Runtime(manifest) => Some(manifest),
            Self::Content(_) => None,
        }
    }

    /// The name of its file.
    pub fn name(&self) -> &'static str {
        self.bundle_type().manifest_name()
    }

    /// The size of all files.
    pub fn size(&self) -> u64 {
        self.files().iter().map(|file| file.size_bytes).sum()
    }

    /// What people call it.
    pub fn title(&self) -> String {
        let (kind, scope, version) = (self.bundle_type(), self.scope_id(), self.version());
        match self.platform() {
            Some(platform) => format!("{kind}/{scope} {version} for {platform}"),
            None => format!("{kind}/{scope} {version}"),
        }
    }

    fn may_link(&self) -> bool {
        self.platform()
            .is_some_and(|platform| !platform.is_windows())
    }

    fn names(&self) -> Names {
        match self.may_link() {
            true => Names::Unix,
            false => Names::Portable,
        }
    }
}

/// Check that nothing lies where a manifest does, on any file system.
fn beside_manifests(path: &str) -> Result<()> {
    let top = path.split('/').next().unwrap_or_default();
    let names = [RuntimeManifest::NAME, ContentManifest::NAME];
    match names.into_iter().find(|name| paths::is_same(top, name)) {
        None => Ok(()),
        Some(name) if name == top => Err(Error::Duplicate {
            path: name.to_owned(),
        }),
        Some(name) => Err(Error::CaseCollision {
            path: paths::shown(path),
            other: name.to_owned(),
        }),
    }
}

/// The release of an interpreter or of a program, such as `3.13.0rc1+`. It is only shown.
fn check_release(text: &str) -> Result<(), String> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte);
    match !text.is_empty() && text.len() <= MAX_RELEASE && text.bytes().all(is_known) {
        true => Ok(()),
        false => Err(format!(
            "`{}` is no release such as `3.13.0`",
            paths::shown(text)
        )),
    }
}

/// Check the id of a scope, which is the name of a folder.
pub(crate) fn check_scope(scope: &str) -> Result<(), String> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_fine = !scope.is_empty()
        && scope.len() <= MAX_SCOPE
        && scope.bytes().all(is_known)
        && !scope.starts_with('.')
        && paths::check(scope, Names::Portable).is_ok();
    match is_fine {
        true => Ok(()),
        false => Err(format!(
            "`{}` is no id of a scope: letters, digits, `.`, `_` and `-`, and no `.` at its ends",
            paths::shown(scope)
        )),
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
pub(crate) mod tests;
