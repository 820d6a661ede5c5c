//! How the files of a project are laid out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Pattern;
use crate::index::Index;
use crate::map::modules::folder;
use crate::map::tests_of::is_test_file;

/// What folders of a layer are called, from the outside in.
const LAYERS: [(&str, &[&str]); 3] = [
    (
        "outside",
        &[
            "api",
            "routes",
            "routers",
            "controllers",
            "endpoints",
            "handlers",
            "web",
            "views",
        ],
    ),
    (
        "inside",
        &[
            "services",
            "service",
            "usecases",
            "use_cases",
            "application",
            "domain",
            "core",
        ],
    ),
    (
        "storage",
        &[
            "repositories",
            "repository",
            "dao",
            "db",
            "persistence",
            "infrastructure",
            "storage",
        ],
    ),
];

/// A folder, with the names of the modules and folders right in it.
type Folders<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a Arc<str>>>;

/// The patterns that show in names of files and folders.
pub(super) fn patterns(index: &Index) -> Vec<Pattern> {
    let mut folders: Folders<'_> = BTreeMap::new();
    for (path, _) in index.iter().filter(|(path, _)| !is_test_file(path)) {
        let mut below = path.rsplit_once('.').map_or(&**path, |(stem, _)| stem);
        loop {
            let parent = folder(below);
            let name = below.rsplit('/').next().unwrap_or(below);
            folders
                .entry(parent)
                .or_default()
                .entry(name)
                .or_insert(path);
            if parent.is_empty() {
                break;
            }
            below = parent;
        }
    }
    let all = folders.iter();
    all.flat_map(|(folder, names)| [layered(folder, names), mvc(folder, names)])
        .flatten()
        .collect()
}

fn layered(folder: &str, names: &BTreeMap<&str, &Arc<str>>) -> Option<Pattern> {
    let mut found = Vec::new();
    for (_, words) in &LAYERS {
        found.push(names.iter().find(|(name, _)| words.contains(name))?);
    }
    let layers: Vec<String> = found.iter().map(|(name, _)| format!("`{name}`")).collect();
    Some(Pattern {
        kind: "layered",
        file: Arc::clone(found.first()?.1),
        line: 1,
        confidence: 75,
        description: format!("{} is made of layers: {}", shown(folder), layers.join(", ")),
    })
}

fn mvc(folder: &str, names: &BTreeMap<&str, &Arc<str>>) -> Option<Pattern> {
    let has: BTreeSet<&str> = names.keys().copied().collect();
    let models = names.get("models")?;
    let shows = ["views", "controllers"]
        .into_iter()
        .find(|name| has.contains(name))?;
    Some(Pattern {
        kind: "mvc",
        file: Arc::clone(models),
        line: 1,
        confidence: 80,
        description: format!("{} has `models` and `{shows}`", shown(folder)),
    })
}

fn shown(folder: &str) -> String {
    match folder {
        "" => "the project".to_owned(),
        folder => format!("`{folder}`"),
    }
}
