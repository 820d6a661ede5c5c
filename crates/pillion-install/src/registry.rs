//! Folders of artifacts, and the list that any static host can serve beside them.

use std::io::Read;
use std::path::{Path, PathBuf};

use pillion_bundle::paths::excerpt;
use pillion_bundle::registry::{Artifact, ArtifactQuery, FORMAT_VERSION, MAX_SIZE, NAME, Registry};
use pillion_bundle::{BundleType, Compression, Platform, Version};
use pillion_runtime::managed::ProgressListener;

use crate::error::{Error, Result};
use crate::store::{self, ArchiveFile, Expected, VersionFilter};
use crate::trust::TrustPolicy;

/// Check every artifact of a folder and write the list of them.
///
/// What is not signed by a trusted key is refused as when it is installed: a list is a promise.
pub fn build(
    folder: &Path,
    trust: &TrustPolicy,
    mandatory: &[Version],
    preview: bool,
    progress: &dyn ProgressListener,
) -> Result<Registry> {
    let mut bundles = Vec::new();
    for path in artifacts(folder)? {
        let source = ArchiveFile::beside(&path)?;
        let checked = store::check(&source, trust, &Expected::default(), progress)?;
        let mut artifact = Artifact::of(&checked.verified, &source.name, source.signature);
        artifact.mandatory = mandatory.contains(&artifact.version);
        bundles.push(artifact);
    }
    if bundles.is_empty() {
        return Err(Error::NotFound {
            what: format!("there are no artifacts in `{}`", folder.display()),
            hint: "`pillion bundle build --out FOLDER/NAME.tar.zst` makes one".to_owned(),
        });
    }
    let is_there = |version: &&Version| bundles.iter().any(|one| one.version == **version);
    if let Some(version) = mandatory.iter().find(|version| !is_there(version)) {
        return Err(Error::NotFound {
            what: format!("no artifact has the version {version}, which is to be mandatory"),
            hint: "name a version that is in the folder with `--mandatory`".to_owned(),
        });
    }
    let registry = Registry::of(bundles);
    if !preview {
        let path = folder.join(NAME);
        let mut bytes = serde_json::to_vec_pretty(&registry)
            .map_err(std::io::Error::other)
            .map_err(Error::io("write", &path))?;
        bytes.push(b'\n');
        pillion_runtime::write_atomically(&path, &bytes).map_err(Error::io("write", &path))?;
    }
    Ok(registry)
}

/// The list of a folder.
pub fn read(folder: &Path) -> Result<Registry> {
    read_file(&folder.join(NAME))
}

/// The list in a file.
pub(crate) fn read_file(path: &Path) -> Result<Registry> {
    let mut bytes = Vec::new();
    store::open(path)
        .and_then(|file| file.take(MAX_SIZE).read_to_end(&mut bytes))
        .map_err(Error::io("read", path))?;
    parse(&bytes, &path.display().to_string())
}

/// A list that came from somewhere.
pub(crate) fn parse(bytes: &[u8], name: &str) -> Result<Registry> {
    let wrong = |why: String| Error::Input {
        what: format!("`{name}` is no list of artifacts: {}", excerpt(&why)),
        hint: "`pillion registry build DIR` makes it".to_owned(),
    };
    let read: Registry = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    match read.format_version == FORMAT_VERSION {
        true => Ok(read),
        false => Err(wrong(format!("its format is not `{FORMAT_VERSION}`"))),
    }
}

/// The newest artifact of a list that this machine can install: a runtime, unless another type is
/// meant.
pub(crate) fn fitting(mut registry: Registry, which: &VersionFilter) -> Result<Artifact> {
    let version = which.version.as_ref();
    let is_meant = |one: &Artifact| version.is_none_or(|version| one.version == *version);
    registry.bundles.retain(is_meant);
    let question = ArtifactQuery {
        bundle_type: which.kind.unwrap_or(BundleType::PythonRuntime),
        scope_id: which.scope.as_deref(),
        platform: Platform::here(),
        desktop_version: None,
        // Whoever names one means it.
        pre_releases: version.is_some(),
        compression: None,
    };
    let kind = question.bundle_type;
    let chosen = registry.choose(&question).cloned();
    let chosen = chosen.ok_or_else(|| Error::NotFound {
        what: format!("the registry has no such {kind} for this machine"),
        hint: "say what is meant with `--type`, `--scope` and `--version`".to_owned(),
    })?;
    // Of two scopes none is the newer one.
    let scope = &chosen.scope_id;
    registry.bundles.retain(|one| one.scope_id != *scope);
    match registry.choose(&question) {
        Some(other) => Err(Error::Input {
            what: format!(
                "the registry has several: {kind}/{scope} and {kind}/{}",
                other.scope_id
            ),
            hint: "say which one with `--scope`".to_owned(),
        }),
        None => Ok(chosen),
    }
}

/// The archives of a folder, sorted.
fn artifacts(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().map_err(Error::io("read", folder))?;
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Who hides a file does not offer it.
            Compression::of_name(&name).is_some() && !name.starts_with('.')
        })
        .collect();
    paths.sort();
    Ok(paths)
}
