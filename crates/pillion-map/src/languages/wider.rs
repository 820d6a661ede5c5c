//! From file to file: imports, packages, modules and headers, each by the rules of its
//! language.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use pillion_index::language::Language;

use super::super::modules::folder;
use super::atlas::{FileId, Place};
use super::outline::{Bound, FILE, Import};
use super::resolve::{Thing, Viewer};

/// Files that a header may include, through others.
const MAX_INCLUDED: usize = 2_000;

/// What a file of C includes, through others.
#[derive(Debug)]
pub(super) struct Included {
    files: BTreeSet<FileId>,
    /// The functions that are declared there.
    declared: HashSet<Box<str>>,
}

impl Viewer<'_> {
    /// What a name means beyond the file or namespace that it stands in.
    pub(super) fn wider(&self, at: Place, name: &str, depth: u32) -> Thing {
        let (file, _) = at;
        match self.atlas.language {
            Language::Go => {
                let found = self.of_package(file, name, depth + 1);
                match found {
                    Thing::Outside => self.starred(at, name, depth + 1),
                    found => found,
                }
            }
            Language::Java => {
                let Some(page) = self.atlas.page(file) else {
                    return Thing::Unknown;
                };
                match self.java_class(&page.outline.package, name) {
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
        let Some(page) = self.atlas.page(file) else {
            return Thing::Unknown;
        };
        let stars = page.outline.imports.iter();
        let mut stars = stars.filter(|i| i.bound == Bound::All && i.is_local && i.def == def);
        let found = stars.find_map(|star| {
            let found = match self.atlas.language {
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
    pub(super) fn imported(&self, file: FileId, import: &Import, depth: u32) -> Thing {
        match self.atlas.language {
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
        match self.atlas.language {
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

    fn go_package(&self, import: &Import) -> Option<FileId> {
        let place = self.atlas.manifests.go_folder(&import.module)?;
        let is_code = |file: &&FileId| {
            let page = self.atlas.page(**file);
            page.is_some_and(|page| !page.path().ends_with("_test.go"))
        };
        self.atlas.package(&place).iter().find(is_code).copied()
    }

    /// The name that an imported package gives itself.
    pub(super) fn go_name(&self, import: &Import) -> Option<&str> {
        let page = self.atlas.page(self.go_package(import)?)?;
        Some(&page.outline.package)
    }

    /// The files that make a Go package together with one of them.
    pub(super) fn go_files(&self, of: FileId) -> impl Iterator<Item = FileId> {
        let page = self.atlas.page(of);
        let (path, package) = page.map_or(("", ""), |p| (p.path(), &*p.outline.package));
        let is_test = path.ends_with("_test.go");
        let all = self.atlas.package(folder(path)).iter().copied();
        all.filter(move |file| {
            let other = self.atlas.page(*file);
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
            let Some(page) = self.atlas.page(file) else {
                continue;
            };
            let defs = page.named(FILE, name);
            found.extend(defs.first().map(|def| (file, *def)));
            if !page.outline.locals_of(FILE, name).is_empty() {
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
        self.atlas.package(package).iter().find_map(|file| {
            let page = self.atlas.page(*file)?;
            let def = page.named(FILE, name).first()?;
            Some((*file, *def))
        })
    }

    /// `package.Class` or `package.Class.Inner`.
    pub(super) fn java_path(&self, path: &str) -> Option<Place> {
        let parts: Vec<&str> = path.split('.').collect();
        (1..parts.len().min(20)).rev().find_map(|at| {
            let mut class = self.java_class(&parts[..at].join("."), parts[at])?;
            for inner in &parts[at + 1..] {
                let page = self.atlas.page(class.0)?;
                class = (class.0, *page.named(class.1, inner).first()?);
            }
            Some(class)
        })
    }

    /// The file that an include means: beside the one who includes, or the only one whose
    /// path ends so.
    pub(super) fn c_file(&self, file: FileId, module: &str) -> Option<FileId> {
        let module = module.trim_matches(['<', '>']);
        let from = self.atlas.page(file).map_or("", |page| page.path());
        let beside = joined(folder(from), module).and_then(|path| self.atlas.at(&path));
        if beside.is_some() {
            return beside;
        }
        let name = module.rsplit('/').next().unwrap_or(module);
        let ends = |id: &&FileId| {
            let path = self.atlas.page(**id).map_or("", |page| page.path());
            let before = path.strip_suffix(module);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let mut all = self.atlas.called(name).iter().filter(ends);
        match (all.next(), all.next()) {
            (Some(one), None) => Some(*one),
            _ => None,
        }
    }

    /// A file with all that it includes.
    fn c_included(&self, file: FileId) -> Rc<Included> {
        if let Some(known) = self.included.borrow().get(&file) {
            return Rc::clone(known);
        }
        let mut found = Included {
            files: BTreeSet::from([file]),
            declared: HashSet::new(),
        };
        let mut open = vec![file];
        while let Some(next) = open.pop().filter(|_| found.files.len() < MAX_INCLUDED) {
            let Some(page) = self.atlas.page(next) else {
                continue;
            };
            let names = page.outline.exports.iter();
            found
                .declared
                .extend(names.map(|export| export.name.clone()));
            for import in &page.outline.imports {
                let target = self.c_file(next, &import.module);
                open.extend(target.filter(|target| found.files.insert(*target)));
            }
        }
        let found = Rc::new(found);
        self.included.borrow_mut().insert(file, Rc::clone(&found));
        found
    }

    /// A function of C: of an included file, or the one that all files see if a header that
    /// is included declares it.
    fn c_function(&self, file: FileId, name: &str) -> Thing {
        let seen = self.c_included(file);
        for other in seen.files.iter().filter(|other| **other != file) {
            let page = self.atlas.page(*other);
            let def = page.and_then(|page| page.named(FILE, name).first());
            if let Some(def) = def {
                return Thing::Def((*other, *def));
            }
        }
        match self.atlas.global(name) {
            [] => Thing::Outside,
            [one] if seen.declared.contains(name) => Thing::Def(*one),
            several => Thing::Several(several.to_vec()),
        }
    }
}

/// A path relative to a folder; nothing if it leads out of the root.
pub(super) fn joined(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
