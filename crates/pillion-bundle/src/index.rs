//! `active_index.json`: which version of which bundle is active in a store.
//!
//! Other programs of other versions write it, too. Types and members that only they know stay in
//! it, whatever is changed beside them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::manifest::check_scope;
use crate::paths::excerpt;
use crate::{BundleType, ByType, Digest, Version};

/// What is installed, by type and scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActiveIndex(ByType<BTreeMap<String, Active>>);

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
    /// Members that only others know.
    #[serde(flatten)]
    pub others: Map<String, Value>,
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
    /// Members that only others know.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// What is installed of a type that is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownBundle {
    /// Its type.
    pub bundle_type: String,
    /// Its scope, if there are scopes.
    pub scope_id: Option<String>,
    /// Its active version, if it says one.
    pub version: Option<String>,
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

    /// What a file says of types that are not known here, and nothing else: for a list whose other
    /// parts are made anew. Of one that is no JSON that is nothing.
    pub fn only_unknown(bytes: &[u8]) -> Self {
        let read: ByType<serde::de::IgnoredAny> = serde_json::from_slice(bytes).unwrap_or_default();
        Self(read.only_unknown())
    }

    /// What is installed of types that are not known here.
    pub fn unknown(&self) -> Vec<UnknownBundle> {
        let mut all = Vec::new();
        for (kind, value) in self.0.unknown() {
            let one = |scope_id: Option<String>, about: &Value| UnknownBundle {
                bundle_type: kind.to_owned(),
                scope_id,
                version: about["version"].as_str().map(str::to_owned),
            };
            match &value {
                Value::Object(scopes) => {
                    let scopes = scopes.iter();
                    all.extend(scopes.map(|(scope, about)| one(Some(scope.clone()), about)));
                }
                other => all.push(one(None, other)),
            }
        }
        all
    }

    /// What is active of a type and scope.
    pub fn get(&self, kind: BundleType, scope: &str) -> Option<&Active> {
        self.0.known.get(&kind)?.get(scope)
    }

    /// Everything of types that are known, in order.
    pub fn iter(&self) -> impl Iterator<Item = (BundleType, &str, &Active)> {
        self.0.known.iter().flat_map(|(kind, scopes)| {
            let scopes = scopes.iter();
            scopes.map(|(scope, active)| (*kind, scope.as_str(), active))
        })
    }

    /// Note a version; it becomes the active one.
    pub fn install(&mut self, kind: BundleType, scope: &str, version: &Version, new: Installed) {
        let scopes = self.0.known.entry(kind).or_default();
        let active = scopes.entry(scope.to_owned()).or_insert_with(|| Active {
            version: version.clone(),
            path: new.path.clone(),
            sha256: new.sha256.clone(),
            installed_at: new.installed_at.clone(),
            versions: BTreeMap::new(),
            others: Map::new(),
        });
        active.versions.insert(version.clone(), new);
        self.activate(kind, scope, version);
    }

    /// Make an installed version the active one; says whether it is installed.
    pub fn activate(&mut self, kind: BundleType, scope: &str, version: &Version) -> bool {
        let scopes = self.0.known.get_mut(&kind);
        let Some(active) = scopes.and_then(|scopes| scopes.get_mut(scope)) else {
            return false;
        };
        let Some(found) = active.versions.get(version) else {
            return false;
        };
        // What others say of the version goes with it, as its path does; the rest stays.
        if let Some(before) = active.versions.get(&active.version) {
            active
                .others
                .retain(|name, _| !before.others.contains_key(name));
        }
        let theirs = found.others.clone();
        active.others.extend(theirs);
        active.version = version.clone();
        active.path.clone_from(&found.path);
        active.sha256 = found.sha256.clone();
        active.installed_at.clone_from(&found.installed_at);
        true
    }

    /// Forget a version that is not active; says whether it was known.
    pub fn forget(&mut self, kind: BundleType, scope: &str, version: &Version) -> bool {
        let scopes = self.0.known.get_mut(&kind);
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
            others: Map::new(),
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

    #[test]
    fn what_only_others_know_stays_whatever_is_changed_beside_it() {
        let hash = Digest::of(b"1");
        let version = |number: u8, more: &str| {
            format!(
                r#""{number}":{{"path":"p{number}","sha256":"{hash}","installedAt":"t"{more}}}"#
            )
        };
        let text = format!(
            r#"{{"themes":{{"dark":{{"version":"next","weight":1.50}}}},"sounds":["a"],
            "experts":{{"core":{{"version":"2","path":"p2","sha256":"{hash}","installedAt":"t",
            "pinned":true,"by":"two","versions":{{{},{}}}}}}}}}"#,
            version(1, r#","by":"one""#),
            version(2, r#","by":"two""#),
        );
        let mut index = ActiveIndex::parse(text.as_bytes()).unwrap();
        let named = |kind: &str, scope: Option<&str>, version: Option<&str>| UnknownBundle {
            bundle_type: kind.to_owned(),
            scope_id: scope.map(str::to_owned),
            version: version.map(str::to_owned),
        };
        let unknown = [
            named("sounds", None, None),
            named("themes", Some("dark"), Some("next")),
        ];
        assert_eq!(index.unknown(), unknown);
        assert_eq!(index.iter().count(), 1);

        let one: Version = "1".parse().unwrap();
        assert!(index.activate(BundleType::Experts, "core", &one));
        index.install(BundleType::Chapter, "c", &one, installed("1"));
        let written = serde_json::to_string_pretty(&index).unwrap();
        assert!(written.contains(r#""weight":1.50"#), "{written}");
        let value: Value = serde_json::from_str(&written).unwrap();
        let core = &value["experts"]["core"];
        assert_eq!(
            (&core["pinned"], &core["by"]),
            (&true.into(), &"one".into())
        );
        assert_eq!(core["versions"]["2"]["by"], "two");
        assert_eq!(value["sounds"][0], "a");

        // A list that is made anew keeps them, if it can be read at all.
        let damaged = text.replace("\"version\":\"2\"", "\"version\":\"9\"");
        assert!(ActiveIndex::parse(damaged.as_bytes()).is_err());
        let kept = ActiveIndex::only_unknown(damaged.as_bytes());
        assert_eq!((kept.unknown(), kept.iter().count()), (unknown.to_vec(), 0));
        assert_eq!(
            ActiveIndex::only_unknown(b"{ broken"),
            ActiveIndex::default()
        );
    }
}
