//! From the name in an import to a module.
//!
//! A name is looked for below the folders that Python would search: the one above the file's
//! outermost package, and those above that; then in `src`; then below those that other files
//! of the workspace are imported from, if only one has a module of that name.
//!
//! A folder without `__init__.py` inside of a package belongs to the package: Python calls it
//! a namespace package. Whether one outside of all packages is such a package, or the folder of
//! a script, its files alone do not tell: see [`super::names`].

use std::collections::{BTreeSet, HashMap, HashSet};

use super::standard::is_standard;
use super::{is_init, join, key, last, parent};

/// Where modules are looked for, whoever imports them.
const SOURCES: &str = "src";
/// The file that makes a folder a package.
const INIT: &str = "__init__";
/// Files that stand in folders from which programs or tests are run.
const AT_ROOTS: &[&str] = &["setup", "conftest"];

/// A file, by its place in the list of files.
pub type FileId = u32;

/// What a module's name can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModuleLocation {
    /// A module or a package with an `__init__.py`.
    File(FileId),
    /// A folder of modules, by its place in [`Lookup::folder`].
    Folder(u32),
}

/// What was asked on the way: if that becomes something else, so may the answer.
#[derive(Debug, Clone, Copy)]
pub enum Looked<'a> {
    /// What is at a path.
    Path(&'a str),
    /// Which folders have something of this name that can be imported from anywhere.
    Top(&'a str),
}

/// A module that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModule {
    pub at: ModuleLocation,
    pub key: String,
    /// The folder that its name was looked up in.
    pub base: String,
}

/// All modules of a workspace, by their keys.
#[derive(Debug, Clone, Default)]
pub struct Lookup {
    at: HashMap<Box<str>, ModuleLocation>,
    folders: Vec<Box<str>>,
    packages: HashSet<Box<str>>,
    /// Folders that are no packages wherever they lie: programs or tests are run from them.
    roots: HashSet<Box<str>>,
    /// Folders from which a first part of a name can be imported.
    tops: HashMap<Box<str>, BTreeSet<Box<str>>>,
    /// The same for folders that may be packages without `__init__.py`.
    spaces: HashMap<Box<str>, BTreeSet<Box<str>>>,
}

impl Lookup {
    /// The modules that files are.
    pub fn of<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut lookup = Self::default();
        let mut ranks: HashMap<&str, u8> = HashMap::new();
        for (id, path) in (0..).zip(paths.clone()) {
            if is_init(path) {
                lookup.packages.insert(parent(path).into());
            }
            if AT_ROOTS.contains(&last(key(path))) {
                lookup.roots.insert(parent(path).into());
            }
            let (key, rank) = (key(path), rank(path));
            let known = ranks.entry(key).or_insert(0);
            if rank > *known {
                *known = rank;
                lookup.at.insert(key.into(), ModuleLocation::File(id));
            }
        }
        for path in paths {
            lookup.add_folders(path);
            let base = lookup.base(path);
            let below = key(path).strip_prefix(base).unwrap_or_default();
            let top = below.trim_start_matches('/').split('/').next();
            let bases = lookup.tops.entry(top.unwrap_or_default().into());
            bases.or_default().insert(base.into());
            // Folders may be packages without `__init__.py`.
            let mut at = base;
            while !at.is_empty() && !lookup.is_root(at) {
                let spaces = lookup.spaces.entry(last(at).into());
                if !spaces.or_default().insert(parent(at).into()) {
                    break;
                }
                at = parent(at);
            }
        }
        lookup
    }

    fn add_folders(&mut self, path: &str) {
        let mut at = parent(path);
        while !at.is_empty() {
            match self.at.get(at) {
                // All above it are known.
                Some(ModuleLocation::Folder(_)) => return,
                Some(ModuleLocation::File(_)) => {}
                None => {
                    let id = u32::try_from(self.folders.len()).unwrap_or(u32::MAX);
                    self.folders.push(at.into());
                    self.at.insert(at.into(), ModuleLocation::Folder(id));
                }
            }
            at = parent(at);
        }
    }

    /// The folder that has to be on Python's path for a file or a key: the one above the
    /// outermost package that it lies in.
    pub fn base<'p>(&self, path: &'p str) -> &'p str {
        self.base_with(path, |_| None)
    }

    /// The same, where more is known of folders without `__init__.py`: whether they are
    /// packages all the same.
    pub(super) fn base_with<'p>(
        &self,
        path: &'p str,
        is_package: impl Fn(&str) -> Option<bool>,
    ) -> &'p str {
        let mut at = parent(path);
        let mut base = at;
        while !at.is_empty() {
            let known = self.is_package(at).then_some(true);
            let known = known.or_else(|| is_package(at));
            match known.or_else(|| self.is_root(at).then_some(false)) {
                Some(true) => base = parent(at),
                Some(false) => break,
                None => {}
            }
            at = parent(at);
        }
        base
    }

    /// Every folder without `__init__.py` that Python files lie in or below.
    pub(super) fn plain_folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(|folder| &**folder)
    }

    /// Whether a folder has an `__init__.py`.
    pub(super) fn is_package(&self, folder: &str) -> bool {
        self.packages.contains(folder)
    }

    /// Whether a folder that is no package is known to be where modules are looked for.
    pub(super) fn is_root(&self, folder: &str) -> bool {
        let is_root = folder.is_empty() || last(folder) == SOURCES || self.roots.contains(folder);
        is_root && !self.is_package(folder)
    }

    /// The path of a folder of modules.
    pub fn folder(&self, id: u32) -> &str {
        self.folders.get(id as usize).map_or("", |path| path)
    }

    /// What is at a path.
    pub fn at(&self, path: &str) -> Option<ModuleLocation> {
        self.at.get(path).copied()
    }

    /// What a name means in a file: `..pkg.mod` or `pkg.mod`; `saw` is told what was looked
    /// for.
    pub fn find(
        &self,
        from: &str,
        name: &str,
        saw: &mut dyn FnMut(Looked<'_>),
    ) -> Option<FoundModule> {
        let below = name.trim_start_matches('.');
        let levels = name.len() - below.len();
        let below = below.replace('.', "/");
        if levels > 0 {
            let mut folder = parent(from);
            for _ in 1..levels {
                if folder.is_empty() {
                    return None;
                }
                folder = parent(folder);
            }
            let found = self.found(folder, &below, saw)?;
            let base = self.base(&found.key).to_owned();
            return Some(FoundModule { base, ..found });
        }
        let mut fallback = None;
        let mut base = self.base(from);
        self.packages_above(from, saw);
        loop {
            match self.found(base, &below, saw) {
                Some(found) if matches!(found.at, ModuleLocation::File(_)) => return Some(found),
                found => fallback = fallback.or(found),
            }
            if base.is_empty() {
                break;
            }
            base = self.base(base);
        }
        fallback = fallback.or_else(|| self.found(SOURCES, &below, saw));
        if fallback.is_some() || is_standard(below.split('/').next().unwrap_or_default()) {
            return fallback;
        }
        self.beside(from, &below, saw)
            .or_else(|| self.elsewhere(&below, saw))
    }

    /// Which packages a file lies in decides where its names are looked for.
    fn packages_above(&self, from: &str, saw: &mut dyn FnMut(Looked<'_>)) {
        let mut at = parent(from);
        while !at.is_empty() {
            saw(Looked::Path(&join(at, INIT)));
            at = parent(at);
        }
    }

    /// The module beside a script that lies in a package, in a folder without `__init__.py`:
    /// the folder of a program that is run is on Python's path.
    fn beside(
        &self,
        from: &str,
        below: &str,
        saw: &mut dyn FnMut(Looked<'_>),
    ) -> Option<FoundModule> {
        let folder = parent(from);
        let is_script = !folder.is_empty() && !self.is_package(folder);
        let found = is_script.then(|| self.found(folder, below, saw))??;
        matches!(found.at, ModuleLocation::File(_)).then_some(found)
    }

    /// The module below the one folder that has its first part.
    fn elsewhere(&self, below: &str, saw: &mut dyn FnMut(Looked<'_>)) -> Option<FoundModule> {
        let top = below.split('/').next().unwrap_or_default();
        saw(Looked::Top(top));
        let bases = self.tops.get(top).or_else(|| self.spaces.get(top));
        let mut bases = bases?.iter();
        match (bases.next(), bases.next()) {
            (Some(base), None) => self.found(base, below, saw),
            _ => None,
        }
    }

    fn found(
        &self,
        base: &str,
        below: &str,
        saw: &mut dyn FnMut(Looked<'_>),
    ) -> Option<FoundModule> {
        let key = join(base, below);
        saw(Looked::Path(&key));
        let at = self.at(&key)?;
        let base = base.to_owned();
        Some(FoundModule { at, key, base })
    }

    /// What is known differently once a file has come or gone.
    pub fn touched(path: &str, saw: &mut dyn FnMut(Looked<'_>)) {
        let own = key(path);
        saw(Looked::Path(own));
        saw(Looked::Top(last(own)));
        if is_init(path) || AT_ROOTS.contains(&last(own)) {
            saw(Looked::Path(&join(parent(path), INIT)));
        }
        let mut at = parent(path);
        while !at.is_empty() {
            saw(Looked::Path(at));
            saw(Looked::Top(last(at)));
            at = parent(at);
        }
    }
}

/// Which of several files of one key counts: a package hides a module of its name, and source
/// hides a stub.
fn rank(path: &str) -> u8 {
    1 + 2 * u8::from(!path.ends_with(".pyi")) + u8::from(is_init(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str], from: &str, name: &str) -> Option<String> {
        let lookup = Lookup::of(paths.iter().copied());
        match lookup.find(from, name, &mut |_| {})?.at {
            ModuleLocation::File(id) => Some(paths[id as usize].to_owned()),
            ModuleLocation::Folder(id) => Some(format!("{}/", lookup.folder(id))),
        }
    }

    #[test]
    fn names_are_found_as_python_finds_them() {
        let paths = [
            "app.py",
            "pkg.py",
            "pkg/__init__.py",
            "pkg/a.py",
            "pkg/a.pyi",
            "pkg/sub/__init__.py",
            "pkg/sub/b.py",
            "space/one.py",
            "src/lib/__init__.py",
            "src/lib/core.py",
            "src/wide/part/__init__.py",
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
        // A package in a folder that is none, and that folder.
        assert_eq!(
            find("tests/test_a.py", "wide.part"),
            is("src/wide/part/__init__.py")
        );
        assert_eq!(find("app.py", "wide"), is("src/wide/"));
        // Two folders have one: nobody knows which is meant.
        assert_eq!(find("app.py", "helper"), None);
        assert_eq!(find("app.py", "os.path"), None);
    }
}
