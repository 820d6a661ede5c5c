//! How modules are called, before and after a change.
//!
//! The *base* of a module is the folder that has to be on Python's path for it: the first one
//! above it that is no package.

use super::{At, Lookup, key as key_of, parent};
use crate::index::Index;

/// The modules of a workspace; of its files as they are, or as a change would leave them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modules {
    lookup: Lookup,
    /// In the order in which the lookup numbers them.
    files: Vec<String>,
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
        let files: Vec<String> = paths.into_iter().map(ToOwned::to_owned).collect();
        Self {
            lookup: Lookup::of(files.iter().map(String::as_str)),
            files,
        }
    }

    /// Whether there is such a module.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.lookup.at(key).is_some()
    }

    /// The file of a module, unless it is a folder without one: the source rather than its
    /// stub.
    pub(crate) fn file(&self, key: &str) -> Option<&str> {
        match self.lookup.at(key)? {
            At::File(id) => self.files.get(id as usize).map(String::as_str),
            At::Folder(_) => None,
        }
    }

    /// The folder that has to be on Python's path for a module.
    pub(crate) fn base(&self, key: &str) -> String {
        self.lookup.base(key).to_owned()
    }

    /// The name that a module is imported by from anywhere.
    pub(crate) fn dotted(&self, key: &str) -> String {
        dotted(&self.base(key), key)
    }

    /// The module that an import in a file names; `module` has a dot for each level up.
    pub(crate) fn find(&self, file: &str, module: &str) -> Option<Target> {
        let found = self.lookup.find(file, module, &mut |_| ())?;
        Some(Target {
            key: found.key,
            base: found.base,
        })
    }

    /// How a file says the name of a module: relative to itself if that is how it speaks and
    /// both lie in one package, else from a base.
    pub(crate) fn spell(&self, file: &str, key: &str, is_relative: bool, base: &str) -> String {
        let own = self.base(key_of(file));
        let package = parent(file);
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
