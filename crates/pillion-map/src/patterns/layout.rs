//! How the files of a project are laid out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::Pattern;
use crate::modules::folder;

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

/// The patterns that show in names of files and folders; tests are left out by the caller.
pub(super) fn patterns<'a>(paths: impl Iterator<Item = &'a Arc<str>>) -> Vec<Pattern> {
    let mut folders: Folders<'_> = BTreeMap::new();
    for path in paths {
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

/// The programs that `pyproject.toml` says there are.
pub fn scripts(root: &Path) -> Vec<Pattern> {
    const FILE: &str = "pyproject.toml";
    const TABLES: [&[&str]; 3] = [
        &["project", "scripts"],
        &["project", "gui-scripts"],
        &["tool", "poetry", "scripts"],
    ];
    let text = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    let Ok(table) = text.parse::<toml::Table>() else {
        return Vec::new();
    };
    let line_of = |name: &str| {
        let is_it = |line: &str| {
            let before = line.split('=').next().unwrap_or_default();
            before.trim().trim_matches(['"', '\'']) == name
        };
        let found = text.lines().position(is_it).unwrap_or(0);
        u32::try_from(found + 1).unwrap_or(1)
    };
    let find = |keys: &&[&str]| {
        let (first, rest) = keys.split_first()?;
        let value = rest
            .iter()
            .try_fold(table.get(*first)?, |v, key| v.get(*key));
        value?.as_table().cloned()
    };
    let scripts = TABLES.iter().filter_map(find).flatten();
    let program = |(name, target): (String, toml::Value)| Pattern {
        kind: "cli_entry_point",
        file: FILE.into(),
        line: line_of(&name),
        confidence: 100,
        description: format!(
            "`{name}` runs `{}`",
            target.as_str().unwrap_or("a function")
        ),
    };
    scripts.map(program).collect()
}

fn shown(folder: &str) -> String {
    match folder {
        "" => "the project".to_owned(),
        folder => format!("`{folder}`"),
    }
}
