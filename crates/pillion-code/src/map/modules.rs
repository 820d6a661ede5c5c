//! Which file a module's name means, seen from another file.
//!
//! A name is looked for below the folders that Python would search: those above the file
//! that are no packages, the nearest first; then those that other files of the workspace are
//! imported from, such as `src`, if only one has a module of that name.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::keys::{Key, path_key, top_key};

/// A file, by its place in the sorted list of files.
pub(crate) type FileId = u32;

/// What a module's name can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum At {
    /// A module or a package with an `__init__.py`.
    File(FileId),
    /// A folder of modules, by its place in [`Modules::folder`].
    Folder(u32),
}

/// All modules of a workspace, by their paths without an ending.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    at: HashMap<Box<str>, At>,
    folders: Vec<Box<str>>,
    packages: HashSet<Box<str>>,
    /// Folders from which a first part of a name can be imported.
    tops: HashMap<Box<str>, BTreeSet<Box<str>>>,
}

/// The path that a file has as a module: a package's is its folder.
pub(crate) fn stem(path: &str) -> &str {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    match stem.strip_suffix("__init__") {
        Some("") => "",
        Some(folder) if folder.ends_with('/') => folder.trim_end_matches('/'),
        _ => stem,
    }
}

/// The folder that a path is in; that of the root is empty.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(crate) fn is_init(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("__init__.py")
}

fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}

impl Modules {
    /// The modules that files, sorted by path, are.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut modules = Self::default();
        for (id, path) in (0..).zip(paths.clone()) {
            if is_init(path) {
                modules.packages.insert(folder(path).into());
            }
            let stem = stem(path);
            // A package hides a module of its name, and source hides a stub.
            let hides = is_init(path) || path.ends_with(".py");
            match modules.at.get(stem) {
                Some(At::File(_)) if !hides || path.ends_with(".pyi") => {}
                _ => drop(modules.at.insert(stem.into(), At::File(id))),
            }
        }
        for path in paths {
            modules.add_folders(path);
            let root = modules.root(path);
            let below = stem(path).strip_prefix(root).unwrap_or_default();
            let top = below.trim_start_matches('/').split('/').next();
            let roots = modules.tops.entry(top.unwrap_or_default().into());
            let root = root.into();
            roots.or_default().insert(root);
        }
        modules
    }

    fn add_folders(&mut self, path: &str) {
        let mut at = folder(path);
        while !at.is_empty() && !self.at.contains_key(at) {
            let id = u32::try_from(self.folders.len()).unwrap_or(u32::MAX);
            self.folders.push(at.into());
            self.at.insert(at.into(), At::Folder(id));
            at = folder(at);
        }
    }

    /// The nearest folder above a file that is no package.
    pub(crate) fn root<'p>(&self, path: &'p str) -> &'p str {
        let mut at = folder(path);
        while !at.is_empty() && self.packages.contains(at) {
            at = folder(at);
        }
        at
    }

    /// The path of a folder of modules.
    pub(crate) fn folder(&self, id: u32) -> &str {
        self.folders.get(id as usize).map_or("", |path| path)
    }

    /// What is at a path; `saw` is told what was looked for.
    pub(crate) fn at(&self, path: &str, saw: &mut impl FnMut(Key)) -> Option<At> {
        saw(path_key(path));
        self.at.get(path).copied()
    }

    /// What a name means in a file: `..pkg.mod` or `pkg.mod`.
    pub(crate) fn find(&self, from: &str, name: &str, saw: &mut impl FnMut(Key)) -> Option<At> {
        let below = name.trim_start_matches('.');
        let levels = name.len() - below.len();
        let below = below.replace('.', "/");
        if levels > 0 {
            let mut base = folder(from);
            for _ in 1..levels {
                if base.is_empty() {
                    return None;
                }
                base = folder(base);
            }
            return self.at(&join(base, &below), saw);
        }
        let mut fallback = None;
        let mut root = self.root(from);
        loop {
            match self.at(&join(root, &below), saw) {
                Some(found @ At::File(_)) => return Some(found),
                found => fallback = fallback.or(found),
            }
            if root.is_empty() {
                break;
            }
            root = folder(root);
            while !root.is_empty() && self.packages.contains(root) {
                root = folder(root);
            }
        }
        fallback.or_else(|| self.elsewhere(&below, saw))
    }

    /// The module below the one folder that has its first part.
    fn elsewhere(&self, below: &str, saw: &mut impl FnMut(Key)) -> Option<At> {
        let top = below.split('/').next().unwrap_or_default();
        saw(top_key(top));
        let mut roots = self.tops.get(top)?.iter();
        match (roots.next(), roots.next()) {
            (Some(root), None) => self.at(&join(root, below), saw),
            _ => None,
        }
    }

    /// What is known differently once a file has come or gone.
    pub(crate) fn touched(&self, path: &str, saw: &mut impl FnMut(Key)) {
        saw(path_key(stem(path)));
        let mut at = folder(path);
        while !at.is_empty() {
            saw(path_key(at));
            saw(top_key(at.rsplit('/').next().unwrap_or(at)));
            at = folder(at);
        }
        let name = stem(path).rsplit('/').next().unwrap_or_default();
        saw(top_key(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str], from: &str, name: &str) -> Option<String> {
        let modules = Modules::of(paths.iter().copied());
        match modules.find(from, name, &mut |_| {})? {
            At::File(id) => Some(paths[id as usize].to_owned()),
            At::Folder(id) => Some(format!("{}/", modules.folder(id))),
        }
    }

    #[test]
    fn names_are_found_as_python_finds_them() {
        let paths = [
            "app.py",
            "pkg/__init__.py",
            "pkg/a.py",
            "pkg/sub/__init__.py",
            "pkg/sub/b.py",
            "space/one.py",
            "src/lib/__init__.py",
            "src/lib/core.py",
            "tests/helper.py",
            "tests/test_a.py",
            "tools/helper.py",
        ];
        let find = |from: &str, name: &str| found(&paths, from, name);
        let is = |path: &str| Some(path.to_owned());
        assert_eq!(find("app.py", "pkg.a"), is("pkg/a.py"));
        assert_eq!(find("app.py", "pkg"), is("pkg/__init__.py"));
        assert_eq!(find("pkg/sub/b.py", ".."), is("pkg/__init__.py"));
        assert_eq!(find("pkg/sub/b.py", "..a"), is("pkg/a.py"));
        assert_eq!(find("pkg/sub/__init__.py", ".b"), is("pkg/sub/b.py"));
        assert_eq!(find("pkg/sub/b.py", "....a"), None);
        assert_eq!(find("app.py", "space"), is("space/"));
        assert_eq!(find("app.py", "space.one"), is("space/one.py"));
        // From a folder that only other files are imported from.
        assert_eq!(find("tests/test_a.py", "lib.core"), is("src/lib/core.py"));
        assert_eq!(find("tests/test_a.py", "helper"), is("tests/helper.py"));
        // Two folders have one: nobody knows which is meant.
        assert_eq!(find("app.py", "helper"), None);
        assert_eq!(find("app.py", "os.path"), None);
    }
}
