//! Which file an import means, by the files alone: the one place that knows it.
//!
//! A module is known by its *key*: its path from the root without what follows the name, so
//! `src/shop/cart.py` is `src/shop/cart` and `src/shop/__init__.py` is `src/shop`. A folder
//! without `__init__.py` is a module too. [`Lookup`] finds modules, for the map and for
//! refactorings alike; [`Modules`] adds what refactorings have to know: how a file says the
//! name of a module, also once a change has moved it.

mod bindings;
mod lookup;
mod names;
mod standard;

pub use bindings::{ModuleBinding, bindings, part_of, submodule};
pub use lookup::{FileId, Looked, Lookup, ModuleLocation};
pub use names::{ImportTarget, Modules};
pub use standard::is_standard;

/// The key of the module that a file is.
pub fn key(path: &str) -> &str {
    let stem = [".py", ".pyi", ".pyw"]
        .iter()
        .find_map(|end| path.strip_suffix(end))
        .unwrap_or(path);
    match stem.strip_suffix("__init__") {
        Some("") => "",
        Some(folder) if folder.ends_with('/') => folder.trim_end_matches('/'),
        _ => stem,
    }
}

/// Whether a file makes its folder a package.
pub fn is_init(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "__init__.py" | "__init__.pyi")
}

/// The folder that a path is in; that of the root is empty.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a key: the module's own name.
pub fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// A key or path below a folder; that of the root is empty.
pub fn join(folder: &str, below: &str) -> String {
    match (folder, below) {
        ("", below) => below.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, below) => format!("{folder}/{below}"),
    }
}
