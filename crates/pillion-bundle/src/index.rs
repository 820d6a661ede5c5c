//! `active_index.json`: which version of which bundle is active in a store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::manifest::check_scope;
use crate::paths::excerpt;
use crate::{BundleType, Digest, Version};

/// What is installed, by type and scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActiveIndex(BTreeMap<BundleType, BTreeMap<String, Active>>);

/// The active version of a bundle, and all that are installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub struct Active {
    pub version: Version,
    pub path: String,
    pub sha256: Digest,
    #[serde(rename = "installedAt")]
    pub installed_at: String,
    pub versions: BTreeMap<Version, Installed>,
}

/// An installed version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// Its folder. It is for readers that know only the index; pillion itself knows where a
    /// version is by its type, scope and number, so that a store can be moved.
    pub path: String,
    /// The hash of the archive that it came in.
    pub sha256: Digest,
    /// When it was installed.
    #[serde(rename = "installedAt")]
    pub installed_at: String,
}

impl ActiveIndex {
    /// The name of the file.
    pub const NAME: &str = "active_index.json";

    /// Read the file. Scopes are names of folders, and only such are taken.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let wrong = |error: serde_json::Error| excerpt(&error.to_string());
        let read: Self = serde_json::from_slice(bytes).map_err(wrong)?;
        for (kind, scope, active) in read.iter() {
            check_scope(scope)?;
            // Else the one that is started is one that nobody looks at.
            if !active.versions.contains_key(&active.version) {
                let version = &active.version;
                return Err(format!(
                    "{kind}/{scope} {version} is active, and not installed"
                ));
            }
        }
        Ok(read)
    }

    /// What is active of a type and scope.
    pub fn get(&self, kind: BundleType, scope: &str) -> Option<&Active> {
        self.0.get(&kind)?.get(scope)
    }

    /// Everything, in order.
    pub fn iter(&self) -> impl Iterator<Item = (BundleType, &str, &Active)> {
        self.0.iter().flat_map(|(kind, scopes)| {
            let scopes = scopes.iter();
            scopes.map(|(scope, active)| (*kind, scope.as_str(), active))
        })
    }

    /// Note a version; it becomes the active one.
    pub fn install(&mut self, kind: BundleType, scope: &str, version: &Version, new: Installed) {
        let scopes = self.0.entry(kind).or_default();
        let active = scopes.entry(scope.to_owned()).or_insert_with(|| Active {
            version: version.clone(),
            path: new.path.clone(),
            sha256: new.sha256.clone(),
            installed_at: new.installed_at.clone(),
            versions: BTreeMap::new(),
        });
        active.versions.insert(version.clone(), new);
        self.activate(kind, scope, version);
    }

    /// Make an installed version the active one; says whether it is installed.
    pub fn activate(&mut self, kind: BundleType, scope: &str, version: &Version) -> bool {
        let scopes = self.0.get_mut(&kind);
        let Some(active) = scopes.and_then(|scopes| scopes.get_mut(scope)) else {
            return false;
        };
        let Some(found) = active.versions.get(version) else {
            return false;
        };
        active.version = version.clone();
        active.path.clone_from(&found.path);
        active.sha256 = found.sha256.clone();
        active.installed_at.clone_from(&found.installed_at);
        true
    }

    /// Forget a version that is not active; says whether it was known.
    pub fn forget(&mut self, kind: BundleType, scope: &str, version: &Version) -> bool {
        let scopes = self.0.get_mut(&kind);
        let active = scopes.and_then(|scopes| scopes.get_mut(scope));
        active.is_some_and(|active| {
            active.version != *version && active.versions.remove(version).is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(number: &str) -> Installed {
        Installed {
            path: format!("/store/python_runtime/core/{number}"),
            sha256: Digest::of(number.as_bytes()),
            installed_at: format!("2026-01-0{number}T00:00:00Z"),
        }
    }

    #[test]
    fn the_index_has_the_layout_of_the_contract() {
        let mut index = ActiveIndex::default();
        let [one, two]: [Version; 2] = ["1", "2"].map(|text| text.parse().unwrap());
        index.install(BundleType::PythonRuntime, "core", &one, installed("1"));
        index.install(BundleType::PythonRuntime, "core", &two, installed("2"));
        let value = serde_json::to_value(&index).unwrap();
        let core = &value["python_runtime"]["core"];
        assert_eq!(core["version"], "2");
        assert_eq!(core["path"], "/store/python_runtime/core/2");
        assert_eq!(core["installedAt"], "2026-01-02T00:00:00Z");
        assert_eq!(core["sha256"], core["versions"]["2"]["sha256"]);
        assert_eq!(
            core["versions"]["1"]["path"],
            "/store/python_runtime/core/1"
        );
        assert_eq!(
            ActiveIndex::parse(value.to_string().as_bytes()).unwrap(),
            index
        );
        // Else what is forgotten there would be removed elsewhere.
        let elsewhere = value.to_string().replace("\"core\"", "\"../../home\"");
        let why = ActiveIndex::parse(elsewhere.as_bytes()).unwrap_err();
        assert!(why.contains("../../home"), "{why}");
        let elsewhere = value
            .to_string()
            .replacen("\"version\":\"2\"", "\"version\":\"3\"", 1);
        let why = ActiveIndex::parse(elsewhere.as_bytes()).unwrap_err();
        assert!(why.contains("python_runtime/core 3"), "{why}");

        assert!(
            !index.forget(BundleType::PythonRuntime, "core", &two),
            "it is active"
        );
        assert!(index.activate(BundleType::PythonRuntime, "core", &one));
        let active = index.get(BundleType::PythonRuntime, "core").unwrap();
        assert_eq!(active.sha256, Digest::of(b"1"));
        assert!(index.forget(BundleType::PythonRuntime, "core", &two));
        assert!(!index.activate(BundleType::PythonRuntime, "core", &two));
        assert!(!index.activate(BundleType::Chapter, "core", &one));
    }
}
