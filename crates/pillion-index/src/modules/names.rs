//! How modules are called, before and after a change.
//!
//! The *base* of a module is the folder that has to be on Python's path for it: the one above
//! the outermost package that it lies in. A folder without `__init__.py` may be a package, too,
//! or the folder of scripts and tests that import each other by their bare names. How the
//! workspace's own imports name what lies in it tells which it is.

use std::collections::{BTreeMap, HashSet};

use super::{Lookup, ModuleLocation, join, key as key_of, last, parent};
use crate::index::Index;

/// The modules of a workspace; of its files as they are, or as a change would leave them.
#[derive(Debug, Clone, Default)]
pub struct Modules {
    lookup: Lookup,
    /// In the order in which the lookup numbers them.
    files: Vec<String>,
    /// Folders without `__init__.py`: whether imports name them as packages.
    known: BTreeMap<String, bool>,
}

/// A module that an import names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportTarget {
    /// Its key.
    pub key: String,
    /// The folder that its name was looked up in.
    pub base: String,
}

impl Modules {
    /// The modules of the files in an index.
    pub fn of(index: &Index) -> Self {
        Self::with(index, &[])
    }

    /// Those of an index, and files that are to come.
    pub fn with(index: &Index, more: &[&str]) -> Self {
        let paths = index.iter().map(|(path, _)| &**path);
        let mut modules = Self::of_paths(paths.chain(more.iter().copied()));
        modules.known = modules.told_by(index);
        modules
    }

    /// Modules of which only the paths are known.
    pub(crate) fn of_paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let files: Vec<String> = paths.into_iter().map(ToOwned::to_owned).collect();
        Self {
            lookup: Lookup::of(files.iter().map(String::as_str)),
            files,
            known: BTreeMap::new(),
        }
    }

    /// The modules once files and folders have other places.
    pub fn moved<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
        moved: impl Fn(&str) -> String,
    ) -> Self {
        let known = self.known.iter();
        Self {
            known: known.map(|(folder, is)| (moved(folder), *is)).collect(),
            ..Self::of_paths(paths)
        }
    }

    /// What the imports of a workspace tell of folders without `__init__.py`: whether more of
    /// them name such a folder, or what lies in it without it.
    fn told_by(&self, index: &Index) -> BTreeMap<String, bool> {
        let folders: HashSet<&str> = self.lookup.plain_folders().collect();
        let mut names: HashSet<&str> = folders.iter().map(|folder| last(folder)).collect();
        let inside = self.files.iter().map(|file| key_of(file));
        names.extend(inside.filter(|k| folders.contains(parent(k))).map(last));
        let mut votes: BTreeMap<String, i32> = BTreeMap::new();
        let mut vote = |folder: &str, by: i32| {
            if folders.contains(folder) {
                *votes.entry(folder.to_owned()).or_default() += by;
            }
        };
        for (file, facts) in index.iter() {
            for import in &facts.imports {
                let below = import.module.trim_start_matches('.');
                let levels = import.module.len() - below.len();
                if levels > 0 {
                    // Only in a package can an import be relative.
                    let mut folder = parent(file);
                    for _ in 0..levels {
                        vote(folder, 1);
                        folder = parent(folder);
                    }
                    continue;
                }
                if !names.contains(below.split('.').next().unwrap_or_default()) {
                    continue;
                }
                let Some(target) = self.find(file, below) else {
                    continue;
                };
                vote(&target.base, -1);
                let inner = import.name.as_ref().map(|name| join(&target.key, name));
                let mut at = match inner.filter(|inner| self.has(inner)) {
                    Some(_) => &*target.key,
                    None => parent(&target.key),
                };
                while at.len() > target.base.len() {
                    vote(at, 1);
                    at = parent(at);
                }
            }
        }
        let told = votes.into_iter().filter(|(_, votes)| *votes != 0);
        told.map(|(folder, votes)| (folder, votes > 0)).collect()
    }

    /// Take the folders of a module that is to come for packages, if nothing is known of them
    /// and they lie below the folder that another module is imported from.
    pub fn assume(&mut self, key: &str, beside: &str) {
        let base = self.base(beside);
        if !self.is_guess(key) || !is_below(&base, key) {
            return;
        }
        let mut at = parent(key).to_owned();
        while at.len() > base.len() {
            let above = parent(&at).to_owned();
            self.known.insert(at, true);
            at = above;
        }
    }

    /// Whether nothing tells how a module is imported: it lies in a folder without
    /// `__init__.py` that no import names, nor anything in it.
    pub fn is_guess(&self, key: &str) -> bool {
        let base = self.base(key);
        !base.is_empty()
            && base == parent(key)
            && !self.lookup.is_root(&base)
            && !self.known.contains_key(&base)
    }

    /// Whether there is such a module.
    pub fn has(&self, key: &str) -> bool {
        self.lookup.at(key).is_some()
    }

    /// The file of a module, unless it is a folder without one: the source rather than its
    /// stub.
    pub fn file(&self, key: &str) -> Option<&str> {
        match self.lookup.at(key)? {
            ModuleLocation::File(id) => self.files.get(id as usize).map(String::as_str),
            ModuleLocation::Folder(_) => None,
        }
    }

    /// The folder that has to be on Python's path for a module.
    pub fn base(&self, key: &str) -> String {
        let known = |folder: &str| self.known.get(folder).copied();
        self.lookup.base_with(key, known).to_owned()
    }

    /// The name that a module is imported by from anywhere.
    pub fn dotted(&self, key: &str) -> String {
        dotted(&self.base(key), key)
    }

    /// The module that an import in a file names; `module` has a dot for each level up.
    pub fn find(&self, file: &str, module: &str) -> Option<ImportTarget> {
        let found = self.lookup.find(file, module, &mut |_| ())?;
        let base = match module.starts_with('.') {
            true => self.base(&found.key),
            false => found.base,
        };
        Some(ImportTarget {
            key: found.key,
            base,
        })
    }

    /// How a file says the name of a module: relative to itself if that is how it speaks and
    /// both lie in one package, else from a base.
    pub fn spell(&self, file: &str, key: &str, is_relative: bool, base: &str) -> String {
        let own = self.base(key_of(file));
        let package = parent(file);
        let together = self.base(key) == own && top(&own, key) == top(&own, package);
        if is_relative && together && !package.is_empty() && package != own {
            return relative(package, key);
        }
        dotted(&self.base_for(file, key, base), key)
    }

    /// The folder from which a file names a module: that of another import of the file if it
    /// fits, else the module's own.
    pub fn base_for(&self, file: &str, key: &str, like: &str) -> String {
        let own = self.base(key);
        if like == own {
            return own;
        }
        // Programs and tests are run from such a folder; packages are not named from above it.
        let is_root = self.lookup.is_root(&own);
        let is_bare = !own.is_empty() && parent(key) == own && !is_sources(&own);
        if is_below(like, key) && is_below(like, &own) && (!is_root || is_bare) {
            return like.to_owned();
        }
        let from = self.base(key_of(file));
        match is_bare && !is_below(&own, file) && is_below(&from, key) {
            true => from,
            false => own,
        }
    }
}

/// Whether a folder is one of sources by its name.
fn is_sources(folder: &str) -> bool {
    last(folder) == "src"
}

/// Whether a key lies below a folder.
fn is_below(base: &str, key: &str) -> bool {
    base.is_empty() || key.strip_prefix(base).is_some_and(|r| r.starts_with('/'))
}

/// The part of a key right below a base.
fn top<'a>(base: &str, key: &'a str) -> &'a str {
    let below = key.strip_prefix(base).unwrap_or(key);
    below
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or("")
}

/// `..x.y` for a module, seen from a package.
fn relative(package: &str, key: &str) -> String {
    let from: Vec<&str> = package.split('/').collect();
    let to: Vec<&str> = key.split('/').collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let dots = ".".repeat(from.len() - common + 1);
    format!("{dots}{}", to[common..].join("."))
}

fn dotted(base: &str, key: &str) -> String {
    let below = key.strip_prefix(base).unwrap_or(key);
    below.trim_start_matches('/').replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules() -> Modules {
        Modules::of_paths([
            "main.py",
            "src/shop/__init__.py",
            "src/shop/cart.py",
            "src/shop/cart.pyi",
            "src/shop/pay/__init__.py",
            "src/shop/pay/card.py",
            "src/space/inner/__init__.py",
            "src/space/inner/deep.py",
            "tests/test_cart.py",
            "tests/cart.py",
        ])
    }

    #[test]
    fn imports_find_the_files_they_mean() {
        let modules = modules();
        let find = |file: &str, module: &str| modules.find(file, module).map(|t| t.key);
        let some = |key: &str| Some(key.to_owned());
        assert_eq!(find("main.py", "shop.cart"), some("src/shop/cart"));
        assert_eq!(
            find("src/shop/pay/card.py", "..cart"),
            some("src/shop/cart")
        );
        assert_eq!(
            find("src/shop/pay/__init__.py", ".card"),
            some("src/shop/pay/card")
        );
        assert_eq!(find("src/shop/pay/card.py", "."), some("src/shop/pay"));
        assert_eq!(find("src/shop/pay/card.py", ".."), some("src/shop"));
        assert_eq!(
            find("main.py", "space.inner.deep"),
            some("src/space/inner/deep")
        );
        assert_eq!(find("main.py", "space"), some("src/space"));
        // A file beside a test is found first; one beside a module of a package is not.
        assert_eq!(find("tests/test_cart.py", "cart"), some("tests/cart"));
        assert_eq!(find("src/shop/pay/card.py", "card"), None);
        assert_eq!(find("main.py", "os.path"), None);
        assert_eq!(modules.file("src/shop/cart"), Some("src/shop/cart.py"));
        assert_eq!(modules.dotted("src/shop/pay/card"), "shop.pay.card");
    }

    #[test]
    fn names_are_spelled_as_the_file_speaks() {
        let modules = modules();
        let spell = |file: &str, key: &str, relative| modules.spell(file, key, relative, "src");
        assert_eq!(
            spell("src/shop/pay/card.py", "src/shop/cart", true),
            "..cart"
        );
        assert_eq!(spell("src/shop/cart.py", "src/shop/pay", true), ".pay");
        assert_eq!(spell("src/shop/cart.py", "src/shop", true), ".");
        assert_eq!(
            spell("src/shop/cart.py", "src/shop/pay/card", false),
            "shop.pay.card"
        );
        let other = spell("src/shop/cart.py", "src/space/inner/deep", true);
        assert_eq!(other, "space.inner.deep");
        assert_eq!(spell("main.py", "src/shop/cart", true), "shop.cart");
        // What is run from the root finds the folder of the tests as a package.
        assert_eq!(
            modules.spell("main.py", "tests/cart", false, "src"),
            "tests.cart"
        );
        assert_eq!(
            modules.spell("tests/test_cart.py", "tests/cart", false, "src"),
            "cart"
        );
    }
}
