//! Registries: the list of artifacts that a host offers, and the choice among them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{BundleType, Compression, Digest, Manifest, Platform, Verified, Version};

/// The name of a registry's list, in the folder of its artifacts.
pub const NAME: &str = "index.json";
/// The format of that list.
pub const FORMAT_VERSION: &str = "registry-v1";
/// The largest list that is read.
pub const MAX_SIZE: u64 = 64 << 20;

/// What stands in an address as something else than itself.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'+');

/// All artifacts of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registry {
    /// The format of the list.
    pub format_version: String,
    /// The artifacts, sorted. Those of types and for platforms that are not known here are left
    /// out when a list is read: nobody here can ask for them.
    #[serde(deserialize_with = "known")]
    pub bundles: Vec<Artifact>,
}

/// The artifacts of types and for platforms that are known.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Artifact>, D::Error> {
    #[derive(Deserialize)]
    struct ArtifactHead {
        bundle_type: String,
        #[serde(default)]
        platform: Option<String>,
    }
    let mut all = Vec::new();
    for raw in Vec::<Box<RawValue>>::deserialize(deserializer)? {
        let head: ArtifactHead = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        let is_known = head.bundle_type.parse::<BundleType>().is_ok();
        if is_known
            && head
                .platform
                .is_none_or(|name| name.parse::<Platform>().is_ok())
        {
            all.push(serde_json::from_str(raw.get()).map_err(D::Error::custom)?);
        }
    }
    Ok(all)
}

/// An artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its type.
    pub bundle_type: BundleType,
    /// Its scope.
    pub scope_id: String,
    /// Its version.
    pub version: Version,
    /// The platform that it is for, if not for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// The oldest desktop that it works with, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop_min_version: Option<Version>,
    /// When it was made.
    pub created_at: String,
    /// Its address, from that of the folder of the list.
    pub artifact_url: String,
    /// The hash of the archive.
    pub sha256: Digest,
    /// The size of the archive.
    pub size_bytes: u64,
    /// Whether desktops must take it.
    pub mandatory: bool,
    /// The content of its signature file, if it is signed.
    pub signature: Option<String>,
}

/// What a desktop asks for.
#[derive(Debug, Clone)]
pub struct ArtifactQuery<'a> {
    /// The type.
    pub bundle_type: BundleType,
    /// The scope, if it matters.
    pub scope_id: Option<&'a str>,
    /// The platform of the desktop.
    pub platform: Option<Platform>,
    /// The version of the desktop.
    pub desktop_version: Option<&'a Version>,
    /// Whether versions before a release will do. They also do for a desktop that is one.
    pub pre_releases: bool,
    /// How the archive is to be compressed, if it matters.
    pub compression: Option<Compression>,
}

/// The answer to a desktop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub struct Offered {
    pub bundle_type: BundleType,
    pub scope_id: String,
    pub version: Version,
    pub artifact_url: String,
    pub sha256: Digest,
    pub size_bytes: u64,
    pub mandatory: bool,
    pub signature: Option<String>,
}

impl Artifact {
    /// An archive that was checked, under the name that it has beside the list.
    pub fn of(verified: &Verified, name: &str, signature: Option<String>) -> Self {
        let manifest: &Manifest = &verified.manifest;
        let runtime = manifest.runtime();
        Self {
            bundle_type: manifest.bundle_type(),
            scope_id: manifest.scope_id().to_owned(),
            version: manifest.version().clone(),
            platform: manifest.platform(),
            desktop_min_version: runtime.map(|runtime| runtime.desktop_min_version.clone()),
            created_at: manifest.created_at().to_owned(),
            artifact_url: utf8_percent_encode(name, ENCODED).to_string(),
            sha256: verified.sha256.clone(),
            size_bytes: verified.size_bytes,
            mandatory: false,
            signature,
        }
    }

    /// The name of its file, in the folder of the list.
    pub fn file_name(&self) -> String {
        percent_decode_str(&self.artifact_url)
            .decode_utf8_lossy()
            .into_owned()
    }

    fn compression(&self) -> Option<Compression> {
        Compression::of_name(&self.artifact_url)
    }

    /// Whether it is what was asked for.
    fn fits(&self, question: &ArtifactQuery<'_>) -> bool {
        let desktop = question.desktop_version;
        let pre_releases = question.pre_releases || desktop.is_some_and(Version::is_pre_release);
        self.bundle_type == question.bundle_type
            && question.scope_id.is_none_or(|scope| scope == self.scope_id)
            && self
                .platform
                .is_none_or(|mine| question.platform == Some(mine))
            && (pre_releases || !self.version.is_pre_release())
            && question
                .compression
                .is_none_or(|asked| self.compression() == Some(asked))
            && match (&self.desktop_min_version, desktop) {
                (Some(oldest), Some(desktop)) => desktop.precedence(oldest).is_ge(),
                _ => true,
            }
    }
}

impl Registry {
    /// A list of these.
    pub fn of(mut bundles: Vec<Artifact>) -> Self {
        let key = |artifact: &Artifact| {
            let scope = artifact.scope_id.clone();
            let (version, name) = (artifact.version.clone(), artifact.artifact_url.clone());
            (
                artifact.bundle_type,
                scope,
                artifact.platform,
                version,
                name,
            )
        };
        bundles.sort_by_key(key);
        Self {
            format_version: FORMAT_VERSION.to_owned(),
            bundles,
        }
    }

    /// The newest that fits.
    ///
    /// Of two that differ in nothing that counts for their versions, the one that was made
    /// later is taken, then `.tar.zst` before `.tar.gz`, then the first by name: the answer does
    /// not depend on the order of the list.
    pub fn choose(&self, question: &ArtifactQuery<'_>) -> Option<&Artifact> {
        let fitting = self.bundles.iter().filter(|one| one.fits(question));
        fitting.max_by(|one, other| {
            let made = |artifact: &Artifact| artifact.created_at.parse::<jiff::Timestamp>().ok();
            let newer = one.version.precedence(&other.version);
            newer
                .then_with(|| made(one).cmp(&made(other)))
                .then_with(|| other.compression().cmp(&one.compression()))
                .then_with(|| other.artifact_url.cmp(&one.artifact_url))
        })
    }
}

impl Offered {
    /// An artifact as a desktop gets it; `base` is the address of the list's folder.
    pub fn of(artifact: &Artifact, base: &str) -> Self {
        let base = base.trim_end_matches('/');
        Self {
            bundle_type: artifact.bundle_type,
            scope_id: artifact.scope_id.clone(),
            version: artifact.version.clone(),
            artifact_url: format!("{base}/{}", artifact.artifact_url),
            sha256: artifact.sha256.clone(),
            size_bytes: artifact.size_bytes,
            mandatory: artifact.mandatory,
            signature: artifact.signature.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(version: &str, platform: Platform, oldest: &str, name: &str) -> Artifact {
        Artifact {
            bundle_type: BundleType::PythonRuntime,
            scope_id: "core".to_owned(),
            version: version.parse().unwrap(),
            platform: Some(platform),
            desktop_min_version: Some(oldest.parse().unwrap()),
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            artifact_url: name.to_owned(),
            sha256: Digest::of(name.as_bytes()),
            size_bytes: 1,
            mandatory: false,
            signature: None,
        }
    }

    fn chosen<'a>(
        registry: &'a Registry,
        platform: Platform,
        desktop: &str,
        pre_releases: bool,
    ) -> Option<&'a str> {
        let desktop: Version = desktop.parse().unwrap();
        let question = ArtifactQuery {
            bundle_type: BundleType::PythonRuntime,
            scope_id: None,
            platform: Some(platform),
            desktop_version: Some(&desktop),
            pre_releases,
            compression: None,
        };
        let chosen = registry.choose(&question);
        chosen.map(|artifact| artifact.artifact_url.as_str())
    }

    #[test]
    fn the_newest_that_fits_is_chosen() {
        use Platform::{LinuxX64, MacosArm64, WindowsX64};
        let registry = Registry::of(vec![
            artifact("1.9.0", LinuxX64, "1.0", "old"),
            artifact("1.10.0", LinuxX64, "1.0", "new"),
            artifact("2.0.0", LinuxX64, "3.0", "for-new-desktops"),
            artifact("2.0.0", MacosArm64, "1.0", "mac"),
            artifact("2.1.0-rc.1", LinuxX64, "1.0", "candidate"),
        ]);
        assert_eq!(chosen(&registry, LinuxX64, "1.0", false), Some("new"));
        assert_eq!(chosen(&registry, LinuxX64, "2.9", false), Some("new"));
        assert_eq!(
            chosen(&registry, LinuxX64, "3.0.0", false),
            Some("for-new-desktops")
        );
        assert_eq!(chosen(&registry, LinuxX64, "0.9", false), None);
        assert_eq!(chosen(&registry, MacosArm64, "9", false), Some("mac"));
        assert_eq!(chosen(&registry, WindowsX64, "9", false), None);
        // Before a release: only who asks for it, or is one.
        assert_eq!(chosen(&registry, LinuxX64, "3.0", true), Some("candidate"));
        assert_eq!(
            chosen(&registry, LinuxX64, "3.1-beta", false),
            Some("candidate")
        );
        // A desktop before 3.0 is older than 3.0.
        let strict = Registry::of(vec![artifact("2.0.0", LinuxX64, "3.0", "strict")]);
        assert_eq!(chosen(&strict, LinuxX64, "3.0.0-rc.9", false), None);
    }

    #[test]
    fn ties_do_not_depend_on_the_order() {
        let mut later = artifact("1.0.0", Platform::LinuxX64, "0", "c.tar.gz");
        later.created_at = "2026-01-01T01:00:00Z".to_owned();
        let all = [
            artifact("1.0.0", Platform::LinuxX64, "0", "b.tar.gz"),
            artifact("1.0.0", Platform::LinuxX64, "0", "b.tar.zst"),
            artifact("1.0.0+x", Platform::LinuxX64, "0", "a.tar.zst"),
            later,
        ];
        let choose = |from: &[Artifact]| {
            for turn in 0..from.len() {
                let mut turned = from.to_vec();
                turned.rotate_left(turn);
                let first = Registry::of(from.to_vec());
                let registry = Registry {
                    bundles: turned,
                    ..first.clone()
                };
                assert_eq!(
                    chosen(&registry, Platform::LinuxX64, "1", false),
                    chosen(&first, Platform::LinuxX64, "1", false)
                );
            }
            let registry = Registry::of(from.to_vec());
            chosen(&registry, Platform::LinuxX64, "1", false)
                .unwrap()
                .to_owned()
        };
        assert_eq!(choose(&all), "c.tar.gz");
        assert_eq!(choose(&all[..3]), "a.tar.zst");
        assert_eq!(choose(&all[..2]), "b.tar.zst");
        assert_eq!(choose(&all[..1]), "b.tar.gz");
    }

    #[test]
    fn an_answer_has_the_members_of_the_contract() {
        let artifact = artifact("1.0.0", Platform::LinuxX64, "0", "a.tar.zst");
        let offered = Offered::of(&artifact, "http://127.0.0.1:1/artifacts/");
        let value = serde_json::to_value(&offered).unwrap();
        let names: Vec<&str> = value
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            names,
            [
                "bundle_type",
                "scope_id",
                "version",
                "artifact_url",
                "sha256",
                "size_bytes",
                "mandatory",
                "signature"
            ]
        );
        assert_eq!(
            value["artifact_url"],
            "http://127.0.0.1:1/artifacts/a.tar.zst"
        );
    }
    #[test]
    fn what_only_a_newer_one_knows_of_is_no_reason_to_know_nothing() {
        let registry = Registry::of(vec![artifact("1.0.0", Platform::LinuxX64, "0", "known")]);
        let mut list = serde_json::to_value(&registry).unwrap();
        let sound = list["bundles"][0].clone();
        for (name, value) in [("bundle_type", "themes"), ("platform", "linux-riscv64")] {
            let mut theirs = sound.clone();
            theirs[name] = value.into();
            theirs["version"] = "the next one".into();
            list["bundles"].as_array_mut().unwrap().push(theirs);
        }
        let read: Registry = serde_json::from_str(&list.to_string()).unwrap();
        assert_eq!(read, registry);
        // What is known has to make sense all the same.
        list["bundles"][0]["version"] = "the next one".into();
        assert!(serde_json::from_str::<Registry>(&list.to_string()).is_err());
    }
}
