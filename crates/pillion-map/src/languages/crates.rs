//! From file to file in Rust: modules, `use`, and the crates of a workspace.

use super::codebase::{FileId, Place};
use super::outline::{Bound, DefKind, FILE, OutlineImport, Path};
use super::resolve::{Thing, Viewer};

impl Viewer<'_> {
    /// The module of Rust that a place is in.
    fn rust_module(&self, (file, def): Place) -> Place {
        let outlined = self.codebase.file(file);
        let mut at = def;
        while at != FILE && self.kind((file, at)) != Some(DefKind::Namespace) {
            let here = outlined.and_then(|outlined| outlined.outline.def(at));
            at = here.map_or(FILE, |here| here.parent);
        }
        (file, at)
    }

    /// `crate`, `self` or `super` at a place.
    pub(super) fn rust_root(&self, at: Place, word: &str) -> Thing {
        let module = self.rust_module(at);
        let above = |(file, def): Place| match def {
            FILE => self
                .codebase
                .module_above(file)
                .map(|place| self.rust_module(place)),
            _ => {
                let here = self
                    .codebase
                    .file(file)
                    .and_then(|outlined| outlined.outline.def(def));
                here.map(|here| self.rust_module((file, here.parent)))
            }
        };
        match word {
            "self" => Thing::Module(module),
            "super" => above(module).map_or(Thing::Unknown, Thing::Module),
            _ => {
                let mut root = (module.0, FILE);
                // Files that declare each other have no root.
                for _ in 0..64 {
                    match self.codebase.module_above(root.0) {
                        Some(next) => root = (next.0, FILE),
                        None => return Thing::Module(root),
                    }
                }
                Thing::Unknown
            }
        }
    }

    /// An item of a module of Rust.
    pub(super) fn rust_item(&self, module: Place, name: &str, depth: u32) -> Thing {
        if self.is_exhausted(depth) {
            return Thing::Unknown;
        }
        if let Some(file) = self.codebase.module_below(module, name) {
            return Thing::Module((file, FILE));
        }
        if let Some(found) = self.bound(module, name, depth + 1) {
            return found;
        }
        match self.starred(module, name, depth + 1) {
            Thing::Outside => Thing::Unknown,
            found => found,
        }
    }

    pub(super) fn rust_import(&self, file: FileId, import: &OutlineImport, depth: u32) -> Thing {
        let here = (file, import.def);
        match &import.bound {
            Bound::Module(name) => match self.codebase.module_below(here, name) {
                Some(file) => Thing::Module((file, FILE)),
                None => Thing::Unknown,
            },
            Bound::Name { name, by } if import.module.is_empty() => match name == by {
                // `use name;` says nothing new.
                true => self.library(name),
                false => self.name(here, name, depth + 1),
            },
            Bound::Name { name, .. } => {
                let module = self.rust_path(here, &import.module, depth + 1);
                self.member(&module, name, depth + 1)
            }
            _ => self.rust_path(here, &import.module, depth + 1),
        }
    }

    pub(super) fn rust_path(&self, at: Place, path: &str, depth: u32) -> Thing {
        let parts = path.split("::").filter(|part| !part.is_empty());
        let mut path = Path {
            parts: parts.map(Into::into).collect(),
            is_member: false,
        };
        if path.parts.len() == 1 && &*path.parts[0] == "self" {
            return self.rust_root(at, "self");
        }
        path.is_member = false;
        self.path_from(at, &path, depth + 1)
    }

    /// The library of another crate of the workspace.
    pub(super) fn library(&self, name: &str) -> Thing {
        let path = self.codebase.manifests.library(name);
        match path.and_then(|path| self.codebase.at(&path)) {
            Some(file) => Thing::Module((file, FILE)),
            None => Thing::Outside,
        }
    }
}
