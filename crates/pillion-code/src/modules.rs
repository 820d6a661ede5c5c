//! Which file a module is, and which module an import means, by the files alone.
//!
//! A module is known by its *key*: its path from the root without what follows the name, so
//! `src/shop/cart.py` is `src/shop/cart` and `src/shop/__init__.py` is `src/shop`. A folder
//! without `__init__.py` is a module too. Its *base* is the folder that has to be on Python's
//! path: the first one above it that is no package.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::Index;

/// The modules of a workspace; of its files as they are, or as a change would leave them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modules {
    /// Every module and every folder that leads to one.
    keys: BTreeSet<String>,
    /// Folders with an `__init__.py`.
    packages: BTreeSet<String>,
    /// Folders that are on Python's path for some file, the shortest first.
    bases: Vec<String>,
    /// The file of a module: the source rather than its stub.
    files: BTreeMap<String, String>,
}

/// A module that an import names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) key: String,
    /// The folder that its name was looked up in.
    pub(crate) base: String,
}

impl Modules {
    pub(crate) fn of(index: &Index) -> Self {
        Self::of_paths(index.iter().map(|(path, _)| &**path))
    }

    pub(crate) fn of_paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut modules = Self::default();
        for path in paths {
            let key = key(path);
            if is_init(path) {
                modules.packages.insert(key.clone());
            }
            for (end, _) in key.match_indices('/') {
                modules.keys.insert(key[..end].to_owned());
            }
            let known = modules.files.entry(key.clone());
            let known = known.or_insert_with(|| path.to_owned());
            if known.ends_with(".pyi") {
                path.clone_into(known);
            }
            modules.keys.insert(key);
        }
        let bases: BTreeSet<String> = modules.files.keys().map(|key| modules.base(key)).collect();
        modules.bases = bases.into_iter().collect();
        modules.bases.sort_by_key(String::len);
        modules
    }

    /// Whether there is such a module.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// The file of a module, unless it is a folder without one.
    pub(crate) fn file(&self, key: &str) -> Option<&str> {
        self.files.get(key).map(String::as_str)
    }

    /// The folder that has to be on Python's path for a module.
    pub(crate) fn base(&self, key: &str) -> String {
        let mut folder = parent(key);
        while !folder.is_empty() && self.packages.contains(folder) {
            folder = parent(folder);
        }
        folder.to_owned()
    }

    /// The name that a module is imported by from anywhere.
    pub(crate) fn dotted(&self, key: &str) -> String {
        dotted(&self.base(key), key)
    }

    /// The module that an import in a file names; `module` has a dot for each level up.
    pub(crate) fn find(&self, file: &str, module: &str) -> Option<Target> {
        let name = module.trim_start_matches('.');
        let level = module.len() - name.len();
        let below = name.replace('.', "/");
        if level > 0 {
            let mut folder = package(file);
            for _ in 1..level {
                if folder.is_empty() {
                    return None;
                }
                folder = parent(folder);
            }
            let key = join(folder, &below);
            let base = self.base(&key);
            return self.has(&key).then_some(Target { key, base });
        }
        let own = self.base(&key(file));
        let above = std::iter::successors(Some(own.as_str()), |base| {
            (!base.is_empty()).then(|| parent(base))
        });
        let others = ["src"].into_iter().chain(self.bases.iter().map(|b| &**b));
        let mut bases = above.chain(others);
        bases.find_map(|base| {
            let key = join(base, &below);
            let base = base.to_owned();
            self.has(&key).then_some(Target { key, base })
        })
    }

    /// How a file says the name of a module: relative to itself if that is how it speaks and
    /// both lie in one package, else from a base.
    pub(crate) fn spell(&self, file: &str, key: &str, is_relative: bool, base: &str) -> String {
        let own = self.base(&self::key(file));
        let package = package(file);
        let together = self.base(key) == own && top(&own, key) == top(&own, package);
        if is_relative && together && !package.is_empty() && package != own {
            return relative(package, key);
        }
        let reaches = |base: &str| {
            base.is_empty() || key.strip_prefix(base).is_some_and(|r| r.starts_with('/'))
        };
        if reaches(base) {
            dotted(base, key)
        } else {
            self.dotted(key)
        }
    }
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

/// The key of the module that a file is.
pub(crate) fn key(path: &str) -> String {
    let stem = [".py", ".pyi", ".pyw"]
        .iter()
        .find_map(|end| path.strip_suffix(end))
        .unwrap_or(path);
    match stem.strip_suffix("__init__") {
        Some("") => String::new(),
        Some(folder) if folder.ends_with('/') => folder.trim_end_matches('/').to_owned(),
        _ => stem.to_owned(),
    }
}

/// Whether a file makes its folder a package.
pub(crate) fn is_init(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "__init__.py" | "__init__.pyi")
}

/// The folder that relative imports of a file begin in.
pub(crate) fn package(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(crate) fn parent(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a key: the module's own name.
pub(crate) fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

pub(crate) fn join(folder: &str, below: &str) -> String {
    match (folder, below) {
        ("", below) => below.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, below) => format!("{folder}/{below}"),
    }
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
        assert_eq!(modules.spell("main.py", "tests/cart", false, "src"), "cart");
    }
}
