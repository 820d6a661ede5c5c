//! From file to file: imports, packages, modules and headers, each by the rules of its
//! language.

use std::rc::Rc;

use pillion_index::language::Language;

use super::super::modules::folder;
use super::codebase::{FileId, Place};
use super::headers::Included;
use super::outline::{Bound, FILE, OutlineImport};
use super::resolve::{Thing, Viewer};

impl Viewer<'_> {
    /// What a name means beyond the file or namespace that it stands in.
    pub(super) fn wider(&self, at: Place, name: &str, depth: u32) -> Thing {
        let (file, _) = at;
        match self.codebase.language {
            Language::Go => {
                let found = self.of_package(file, name, depth + 1);
                match found {
                    Thing::Outside => self.starred(at, name, depth + 1),
                    found => found,
                }
            }
            Language::Java => {
                let Some(outlined) = self.codebase.file(file) else {
                    return Thing::Unknown;
                };
                match self.java_class(&outlined.outline.package, name) {
                    Some(class) => Thing::Def(class),
                    None => self.starred(at, name, depth + 1),
                }
            }
            Language::C => self.c_function(file, name),
            Language::Rust => match self.starred(at, name, depth + 1) {
                Thing::Outside => self.library(name),
                found => found,
            },
            _ => Thing::Outside,
        }
    }

    /// A name from imports that take everything.
    pub(super) fn starred(&self, (file, def): Place, name: &str, depth: u32) -> Thing {
        let Some(outlined) = self.codebase.file(file) else {
            return Thing::Unknown;
        };
        let stars = outlined.outline.imports.iter();
        let mut stars = stars.filter(|i| i.bound == Bound::All && i.is_local && i.def == def);
        let found = stars.find_map(|star| {
            let found = match self.codebase.language {
                Language::Java => {
                    let class = self.java_class(&star.module, name).map(Thing::Def);
                    // `import static package.Class.*`
                    class.unwrap_or_else(|| match self.java_path(&star.module) {
                        Some(class) => self.class_member(class, name, depth + 1),
                        None => Thing::Outside,
                    })
                }
                _ => {
                    let module = self.imported(file, star, depth + 1);
                    self.member(&module, name, depth + 1)
                }
            };
            (!matches!(found, Thing::Outside | Thing::Unknown)).then_some(found)
        });
        found.unwrap_or(Thing::Outside)
    }

    /// What an import brings.
    pub(super) fn imported(&self, file: FileId, import: &OutlineImport, depth: u32) -> Thing {
        match self.codebase.language {
            Language::Typescript | Language::Javascript => self.ts_import(file, import, depth),
            Language::Go => match self.go_package(import) {
                Some(first) => Thing::Module((first, FILE)),
                None => Thing::Outside,
            },
            Language::Rust => self.rust_import(file, import, depth),
            Language::Java => match &import.bound {
                Bound::Name { name, .. } => match self.java_class(&import.module, name) {
                    Some(class) => Thing::Def(class),
                    None => match self.java_path(&import.module) {
                        Some(class) => self.class_member(class, name, depth + 1),
                        None => Thing::Outside,
                    },
                },
                _ => Thing::Outside,
            },
            _ => Thing::Outside,
        }
    }

    /// A name of a module.
    pub(super) fn of_module(&self, module: Place, name: &str, depth: u32) -> Thing {
        match self.codebase.language {
            Language::Typescript | Language::Javascript if module.1 == FILE => {
                self.ts_export(module.0, name, depth + 1)
            }
            Language::Go => self.of_package(module.0, name, depth + 1),
            Language::Rust => self.rust_item(module, name, depth + 1),
            _ => self
                .bound(module, name, depth + 1)
                .unwrap_or(Thing::Unknown),
        }
    }

    fn go_package(&self, import: &OutlineImport) -> Option<FileId> {
        let place = self.codebase.manifests.go_folder(&import.module)?;
        let is_code = |file: &&FileId| {
            let outlined = self.codebase.file(**file);
            outlined.is_some_and(|outlined| !outlined.path().ends_with("_test.go"))
        };
        self.codebase.package(&place).iter().find(is_code).copied()
    }

    /// The name that an imported package gives itself.
    pub(super) fn go_name(&self, import: &OutlineImport) -> Option<&str> {
        let outlined = self.codebase.file(self.go_package(import)?)?;
        Some(&outlined.outline.package)
    }

    /// The files that make a Go package together with one of them.
    pub(super) fn go_files(&self, of: FileId) -> impl Iterator<Item = FileId> {
        let outlined = self.codebase.file(of);
        let (path, package) = outlined.map_or(("", ""), |p| (p.path(), &*p.outline.package));
        let is_test = path.ends_with("_test.go");
        let all = self.codebase.package(folder(path)).iter().copied();
        all.filter(move |file| {
            let other = self.codebase.file(*file);
            other.is_some_and(|other| {
                &*other.outline.package == package
                    && (is_test || !other.path().ends_with("_test.go"))
            })
        })
    }

    /// A name of the Go package that a file is of.
    fn of_package(&self, of: FileId, name: &str, depth: u32) -> Thing {
        let mut found: Vec<Place> = Vec::new();
        let mut other = None;
        for file in self.go_files(of) {
            let Some(outlined) = self.codebase.file(file) else {
                continue;
            };
            let defs = outlined.named(FILE, name);
            found.extend(defs.first().map(|def| (file, *def)));
            if !outlined.outline.locals_of(FILE, name).is_empty() {
                other = self.bound((file, FILE), name, depth + 1);
            }
        }
        match (&found[..], other) {
            ([one], None) => Thing::Def(*one),
            ([], Some(other)) => other,
            ([], None) => Thing::Outside,
            // Files for one system each.
            _ => Thing::Several(found),
        }
    }

    fn java_class(&self, package: &str, name: &str) -> Option<Place> {
        self.codebase.package(package).iter().find_map(|file| {
            let outlined = self.codebase.file(*file)?;
            let def = outlined.named(FILE, name).first()?;
            Some((*file, *def))
        })
    }

    /// `package.Class` or `package.Class.Inner`.
    pub(super) fn java_path(&self, path: &str) -> Option<Place> {
        let parts: Vec<&str> = path.split('.').collect();
        (1..parts.len().min(20)).rev().find_map(|at| {
            let mut class = self.java_class(&parts[..at].join("."), parts[at])?;
            for inner in &parts[at + 1..] {
                let outlined = self.codebase.file(class.0)?;
                class = (class.0, *outlined.named(class.1, inner).first()?);
            }
            Some(class)
        })
    }

    /// A file with all that it includes.
    fn c_included(&self, file: FileId) -> Rc<Included> {
        let mut known = self.included.borrow_mut();
        let of_file = known.entry(file);
        Rc::clone(of_file.or_insert_with(|| Rc::new(Included::by(self.codebase, file))))
    }

    /// A function of C: of an included file, or the one that all files see if a header that
    /// is included declares it.
    fn c_function(&self, file: FileId, name: &str) -> Thing {
        let seen = self.c_included(file);
        for other in seen.files.iter().filter(|other| **other != file) {
            let outlined = self.codebase.file(*other);
            let def = outlined.and_then(|outlined| outlined.named(FILE, name).first());
            if let Some(def) = def {
                return Thing::Def((*other, *def));
            }
        }
        match self.codebase.global(name) {
            [] => Thing::Outside,
            [one] if seen.declared.contains(name) => Thing::Def(*one),
            several => Thing::Several(several.to_vec()),
        }
    }
}
