//! Finding projects: below a folder, and around a path.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use pillion_catalogue::{CancellationToken, Code, Error, Result, wanted};
use pillion_index::language::Language;

use super::branch::branch;

/// How deep below the folder projects are looked for.
const MAX_DEPTH: usize = 6;
/// More folders are not looked at.
const MAX_FOLDERS: usize = 100_000;
/// More projects are not told.
const MAX_PROJECTS: usize = 5_000;

/// Folders that hold no projects of the user's own, whatever lies in them.
const FOREIGN: &[&str] = &[
    "node_modules",
    "site-packages",
    "__pycache__",
    "fixtures",
    "testdata",
];
/// What lies in a folder that holds packages which were installed, or a cache.
const FOREIGN_IF: &[&str] = &["pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"];

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedProject {
    /// Its name.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
    /// The language that its files name, if they name one.
    pub language: Option<Language>,
    /// The folders between where was looked and the project.
    pub group: String,
    /// The branch that it is on, or the short name of a commit; empty outside of a repository.
    pub branch: String,
}

impl DetectedProject {
    fn at(path: &Path, base: &Path, is_alone: bool) -> Self {
        let between = path.parent().and_then(|p| p.strip_prefix(base).ok());
        Self {
            name: last(path),
            path: path.to_owned(),
            language: Language::of_project(path),
            group: match between {
                Some(between) => between.to_string_lossy().into_owned(),
                // Of what lies nowhere else, the folder it is in says what it belongs to.
                None if path != base || is_alone => last(path.parent().unwrap_or(path)),
                None => String::new(),
            },
            branch: branch(path),
        }
    }
}

fn last(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn is_project(folder: &Path) -> bool {
    folder.join(".git").exists() || Language::of_project(folder).is_some()
}

/// The projects at and below a folder, by group and name. What git ignores is left out.
pub fn all(root: &Path, token: &CancellationToken) -> Result<Vec<DetectedProject>> {
    let walk = WalkBuilder::new(root)
        .max_depth(Some(MAX_DEPTH))
        .require_git(false)
        .add_custom_ignore_filename(".pillionignore")
        .filter_entry(is_ours)
        .build();
    let mut found = Vec::new();
    let mut projects: HashSet<PathBuf> = HashSet::new();
    let folders = walk.filter_map(std::result::Result::ok);
    for (count, folder) in folders.enumerate() {
        wanted(token)?;
        if count >= MAX_FOLDERS || found.len() >= MAX_PROJECTS {
            return Err(too_many(root));
        }
        let path = folder.path();
        // A folder of a project is none itself, whatever it is built with, unless it is a
        // repository; the folder that was asked about may hold many.
        let is_inside = || {
            let mut above = path.ancestors().skip(1).take_while(|above| *above != root);
            above.any(|above| projects.contains(above)) && !path.join(".git").exists()
        };
        if is_project(path) && !is_inside() {
            projects.insert(path.to_owned());
            found.push(DetectedProject::at(path, root, false));
        }
    }
    found.sort_by(|a, b| (&a.group, &a.name).cmp(&(&b.group, &b.name)));
    Ok(found)
}

/// A list that was cut off and cannot say so would be a lie.
fn too_many(root: &Path) -> Error {
    Error::new(
        Code::InvalidParams,
        format!(
            "there are too many folders below `{}` to look for projects in all of them",
            root.display()
        ),
    )
    .hint("name a folder further down as `root`")
}

fn is_ours(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_folder
        && (entry.depth() == 0
            || !FOREIGN.iter().any(|name| entry.file_name() == *name)
                && !FOREIGN_IF
                    .iter()
                    .any(|name| entry.path().join(name).exists()))
}

/// The nearest project at or above a path. Its group counts from `base`, or from the
/// outermost project above it.
///
/// The user's home folder and the file system's root never count.
pub fn around(path: &Path, base: Option<&Path>) -> Option<DetectedProject> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let above: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| folder.parent().is_some() && home.as_deref() != Some(*folder))
        .filter(|folder| folder.is_dir() && is_project(folder))
        .collect();
    let base = base.filter(|base| path.starts_with(base));
    let nearest = above.first()?;
    let is_alone = base.is_none() && above.len() == 1;
    Some(DetectedProject::at(
        nearest,
        base.or(above.last().copied())?,
        is_alone,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path) -> Vec<(String, String)> {
        let all = all(root, &CancellationToken::new()).unwrap().into_iter();
        all.map(|project| (project.group, project.name)).collect()
    }

    #[test]
    fn projects_are_found_in_order_and_installed_ones_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let write = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        assert_eq!(names(&root), []);
        for path in [
            "z/go.mod",
            "apps/web/package.json",
            "apps/api/setup.py",
            "apps/api/node_modules/left/package.json",
            "apps/api/env/pyvenv.cfg",
            "apps/api/env/lib/p/setup.py",
            "out/Cargo.toml",
            "z/fixtures/one/go.mod",
            "a/b/c/d/e/f/g/go.mod",
        ] {
            write(path);
        }
        std::fs::write(root.join(".gitignore"), "/out/\n").unwrap();
        let found = [("", "z"), ("apps", "api"), ("apps", "web")];
        let found = found.map(|(group, name)| (group.to_owned(), name.to_owned()));
        assert_eq!(names(&root), found);

        let deep = root.join("apps/api/src");
        std::fs::create_dir(&deep).unwrap();
        let project = around(&deep, Some(&root)).unwrap();
        assert_eq!((&*project.group, &*project.name), ("apps", "api"));
        assert_eq!(project.language, Some(Language::Python));
        // Of a project that lies in no other, it is the folder that it is in.
        assert_eq!(around(&deep, None).unwrap().group, "apps");

        // What is built on its own inside of a project is a part of it.
        write("apps/api/web/package.json");
        write("apps/api/vendored/go.mod");
        std::fs::create_dir_all(root.join("apps/api/vendored/.git")).unwrap();
        let names: Vec<String> = names(&root).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["z", "api", "web", "vendored"]);
        assert_eq!(around(&root.join("apps"), None), None);
    }
}
