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
pub(crate) mod tests {
    use super::*;
    use crate::entry::FileMode;

    pub(crate) fn file(path: &str, content: &[u8], mode: FileMode) -> BundleFile {
        BundleFile {
            path: path.to_owned(),
            sha256: Digest::of(content),
            size_bytes: content.len() as u64,
            mode: Some(mode),
        }
    }

    /// A small runtime: contents by path, and its manifest.
    pub(crate) fn runtime(platform: Platform) -> (Vec<(String, Vec<u8>)>, Manifest) {
        let contents = [
            ("python/bin/python3.11", &b"#!ELF"[..], FileMode::Executable),
            (
                "python/lib/python3.11/os.py",
                b"import sys\n",
                FileMode::Plain,
            ),
            ("sidecar/bin/pillion", b"binary", FileMode::Executable),
            ("sidecar/empty", b"", FileMode::Plain),
        ];
        let files: Vec<BundleFile> = contents
            .iter()
            .map(|(path, content, mode)| file(path, content, *mode))
            .collect();
        let links = match platform.is_windows() {
            true => Vec::new(),
            false => vec![BundleLink {
                path: "python/bin/python3".to_owned(),
                target: "python3.11".to_owned(),
            }],
        };
        let python = match platform.is_windows() {
            true => "python/bin/python3.11",
            false => "python/bin/python3",
        };
        let manifest = RuntimeManifest {
            format_version: FORMAT_VERSION.to_owned(),
            bundle_type: BundleType::PythonRuntime,
            scope_id: "core".to_owned(),
            version: "1.2.3".parse().unwrap(),
            created_at: "2026-01-31T12:00:00Z".to_owned(),
            platform,
            python_version: "3.11.7".to_owned(),
            sidecar_version: "0.1.0".to_owned(),
            desktop_min_version: "0.0.0".parse().unwrap(),
            entrypoint: "sidecar/bin/pillion".to_owned(),
            python_executable_relpath: python.to_owned(),
            sha256: Digest::of_tree(&files, &links),
            files,
            links,
            python: PythonPart {
                executable_relpath: python.to_owned(),
            },
            sidecar: SidecarPart {
                root_relpath: "sidecar".to_owned(),
            },
        };
        let contents = contents
            .iter()
            .map(|(path, content, _)| ((*path).to_owned(), content.to_vec()))
            .collect();
        (contents, Manifest::Runtime(Box::new(manifest)))
    }

    #[test]
    fn a_manifest_has_the_members_of_the_contract() {
        let (_, manifest) = runtime(Platform::LinuxX64);
        let value: serde_json::Value =
            serde_json::from_slice(&manifest.to_bytes().unwrap()).unwrap();
        let names: Vec<&str> = value
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            names,
            [
                "format_version",
                "bundle_type",
                "scope_id",
                "version",
                "created_at",
                "platform",
                "python_version",
                "sidecar_version",
                "desktop_min_version",
                "entrypoint",
                "python_executable_relpath",
                "sha256",
                "files",
                "links",
                "python",
                "sidecar"
            ]
        );
        assert_eq!(value["format_version"], "bundle-v2");
        assert_eq!(value["files"][0]["mode"], "0755");
        assert_eq!(value["python"]["executable_relpath"], "python/bin/python3");
    }

    #[test]
    fn every_field_that_is_changed_is_refused() {
        let (_, manifest) = runtime(Platform::LinuxX64);
        let limits = BundleLimits::default();
        let bytes = manifest.to_bytes().unwrap();
        Manifest::parse(RuntimeManifest::NAME, &bytes, &limits).unwrap();
        let sound: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        for (at, new, expected) in [
            ("/format_version", "\"bundle-v1\"", "format_version"),
            ("/format_version", "\"bundle-v3\"", "format_version"),
            ("/bundle_type", "\"chapter\"", "invalid_manifest"),
            ("/bundle_type", "\"else\"", "invalid_manifest"),
            ("/scope_id", "\"../core\"", "invalid_manifest"),
            ("/scope_id", "\".core\"", "invalid_manifest"),
            ("/scope_id", "\"con\"", "invalid_manifest"),
            ("/version", "\"../../1\"", "invalid_manifest"),
            ("/created_at", "\"yesterday\"", "invalid_manifest"),
            (
                "/created_at",
                "\"1960-01-01T00:00:00Z\"",
                "invalid_manifest",
            ),
            ("/platform", "\"linux-x86\"", "invalid_manifest"),
            ("/platform", "\"windows-x64\"", "link_not_allowed"),
            ("/python_version", "3", "invalid_manifest"),
            ("/python_version", "\"\"", "invalid_manifest"),
            ("/python_version", "\"\\u001b[2J\"", "invalid_manifest"),
            ("/sidecar_version", "null", "invalid_manifest"),
            ("/sidecar_version", "\"../x\"", "invalid_manifest"),
            ("/desktop_min_version", "\"new\"", "invalid_manifest"),
            ("/entrypoint", "\"/bin/sh\"", "invalid_manifest"),
            ("/entrypoint", "\"python\"", "invalid_manifest"),
            (
                "/python_executable_relpath",
                "\"sidecar/bin/pillion\"",
                "invalid_manifest",
            ),
            (
                "/python/executable_relpath",
                "\"sidecar/bin/pillion\"",
                "invalid_manifest",
            ),
            ("/sidecar/root_relpath", "\"..\"", "invalid_manifest"),
            ("/sha256", "\"00\"", "invalid_manifest"),
            (
                "/files/0/sha256",
                "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
                "tree_hash",
            ),
            ("/files/0/size_bytes", "4", "tree_hash"),
            ("/files/0/size_bytes", "-1", "invalid_manifest"),
            ("/files/0/size_bytes", "999999999999999", "too_large"),
            ("/files/0/mode", "\"0644\"", "tree_hash"),
            ("/files/0/mode", "\"4755\"", "invalid_manifest"),
            ("/files/0/path", "\"/bin/sh\"", "absolute_path"),
            ("/files/0/path", "\"../x\"", "path_traversal"),
            ("/files/0/path", "\"sidecar/empty\"", "duplicate_path"),
            ("/files/0/path", "\"sidecar/EMPTY\"", "case_collision"),
            (
                "/files/0/path",
                "\"runtime.manifest.json\"",
                "duplicate_path",
            ),
            ("/links/0/target", "\"../../../etc/passwd\"", "link_outside"),
            ("/links/0/target", "\"python3.12\"", "dangling_link"),
            ("/links/0/path", "\"sidecar/empty/x\"", "below_file"),
            ("/files", "[]", "dangling_link"),
        ] {
            let mut changed = sound.clone();
            *changed.pointer_mut(at).unwrap() = serde_json::from_str(new).unwrap();
            let bytes = serde_json::to_vec(&changed).unwrap();
            let error = Manifest::parse(RuntimeManifest::NAME, &bytes, &limits).unwrap_err();
            assert_eq!(error.reason(), expected, "{at} = {new}: {error}");
        }
    }

    #[test]
    fn what_a_manifest_says_is_quoted_in_part() {
        let (_, manifest) = runtime(Platform::LinuxX64);
        let bytes = manifest.to_bytes().unwrap();
        let sound: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        for at in [
            "/version",
            "/bundle_type",
            "/platform",
            "/files/0/mode",
            "/scope_id",
        ] {
            let mut changed = sound.clone();
            *changed.pointer_mut(at).unwrap() = "\u{1b}[2J-long".repeat(100_000).into();
            let bytes = serde_json::to_vec(&changed).unwrap();
            let read = Manifest::parse(RuntimeManifest::NAME, &bytes, &BundleLimits::default());
            let told = read.unwrap_err().to_string();
            assert!(
                told.len() < 2000 && !told.contains('\u{1b}'),
                "{at}: {told}"
            );
        }
    }

    #[test]
    fn content_has_chapters_and_no_modes() {
        let chapter = |kind: &str, rest: &str| {
            let text = format!(
                r#"{{"format_version":"bundle-v2","bundle_type":"{kind}","scope_id":"c1-ch01",
                "version":"3","created_at":"2026-01-31T12:00:00Z",
                "files":[{{"path":"prompts/chapter.md","size_bytes":0,
                "sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}]{rest}}}"#
            );
            Manifest::parse(
                ContentManifest::NAME,
                text.as_bytes(),
                &BundleLimits::default(),
            )
            .map_or_else(|error| error.reason(), |_| "fine")
        };
        let about = r#","chapter":{"course_id":"c1","chapter_code":"ch01","title":"One",
            "has_scripts":false,"has_datasets":false,"required_experts":[]}"#;
        let at = |path: &str| {
            let text = format!(
                r#"{{"format_version":"bundle-v2","bundle_type":"experts","scope_id":"s",
                "version":"3","created_at":"2026-01-31T12:00:00Z",
                "files":[{{"path":"{path}","size_bytes":0,
                "sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}]}}"#
            );
            Manifest::parse(
                ContentManifest::NAME,
                text.as_bytes(),
                &BundleLimits::default(),
            )
            .map_or_else(|error| error.reason(), |_| "fine")
        };
        assert_eq!(at("assets/bundle.manifest.json"), "fine");
        assert_eq!(at("bundle.manifest.json"), "duplicate_path");
        assert_eq!(at("runtime.manifest.json"), "duplicate_path");
        assert_eq!(at("bundle.manifest.json/x"), "duplicate_path");
        assert_eq!(at("Bundle.Manifest.JSON"), "case_collision");
        assert_eq!(at("RUNTIME.manifest.json/x"), "case_collision");
        assert_eq!(chapter("chapter", about), "fine");
        assert_eq!(chapter("experts", ""), "fine");
        assert_eq!(chapter("chapter", ""), "invalid_manifest");
        assert_eq!(chapter("experts", about), "invalid_manifest");
        assert_eq!(chapter("python_runtime", ""), "invalid_manifest");
    }
}
