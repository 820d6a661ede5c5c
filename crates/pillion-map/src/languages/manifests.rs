//! What the files beside the sources say: how Go modules and Rust crates are called.

use std::path::Path;

use super::super::modules::folder;

/// A manifest that is longer is not read.
const MAX_MANIFEST: u64 = 1 << 20;

/// The modules and crates of a project, each with its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifests {
    /// The longest name first.
    pub modules: Vec<(String, String)>,
    pub(crate) crates: Vec<(String, String)>,
}

/// Whether a file is one that [`Manifests`] are read from.
pub(crate) fn is_manifest(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("go.mod" | "Cargo.toml"))
}

impl Manifests {
    /// Read manifests below a root.
    pub(crate) fn read<'a>(root: &Path, paths: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for path in paths {
            let full = root.join(path);
            if std::fs::metadata(&full).is_ok_and(|meta| meta.len() <= MAX_MANIFEST) {
                all.add(path, &std::fs::read_to_string(full).unwrap_or_default());
            }
        }
        all.sorted()
    }

    pub(crate) fn sorted(mut self) -> Self {
        let by_length = |(name, _): &(String, String)| std::cmp::Reverse(name.len());
        self.modules.sort_by_key(by_length);
        self.crates.sort();
        self
    }

    pub(crate) fn add(&mut self, path: &str, text: &str) {
        let place = folder(path).to_owned();
        let mut lines = text.lines().map(str::trim);
        if path.ends_with("go.mod") {
            let name = lines.find_map(|line| line.strip_prefix("module "));
            let name = name.map(|name| name.trim().trim_matches('"').to_owned());
            self.modules.extend(name.map(|name| (name, place)));
            return;
        }
        // The name of the package, or of its library.
        let mut section = "";
        for line in lines {
            if line.starts_with('[') {
                section = line;
            }
            let is_named = matches!(section, "[package]" | "[lib]");
            let Some((key, value)) = line.split_once('=').filter(|_| is_named) else {
                continue;
            };
            if key.trim() == "name" {
                let name = value.trim().trim_matches('"').replace('-', "_");
                self.crates.push((name, place.clone()));
            }
        }
    }

    /// The folder of a Go package.
    pub(crate) fn go_folder(&self, import: &str) -> Option<String> {
        self.modules.iter().find_map(|(name, place)| {
            let rest = import.strip_prefix(&**name)?;
            let rest = match rest {
                "" => "",
                rest => rest.strip_prefix('/')?,
            };
            Some(match (&**place, rest) {
                ("", rest) => rest.to_owned(),
                (place, "") => place.to_owned(),
                (place, rest) => format!("{place}/{rest}"),
            })
        })
    }

    /// The first file of a crate that is a library.
    pub(crate) fn library(&self, name: &str) -> Option<String> {
        let found = self.crates.iter().find(|(known, _)| known == name);
        found.map(|(_, place)| match &**place {
            "" => "src/lib.rs".to_owned(),
            place => format!("{place}/src/lib.rs"),
        })
    }
}
