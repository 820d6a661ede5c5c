//! All files of one language at one moment, with the tables that lead from one to another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use pillion_index::language::Language;

use super::super::modules::folder;
use super::manifests::Manifests;
use super::outline::{Bound, DefId, DefKind, FILE};
use super::page::Page;
use super::resolve::{Thing, Viewer};

/// A file, by its place in [`Atlas::pages`].
pub(crate) type FileId = u32;
/// A definition in a file.
pub(crate) type Place = (FileId, DefId);

/// All files of one language at one moment.
#[derive(Debug)]
pub(crate) struct Atlas {
    pub language: Language,
    /// Sorted by path.
    pub pages: Vec<Arc<Page>>,
    by_path: HashMap<Arc<str>, FileId>,
    /// Files by their last names.
    by_name: HashMap<Box<str>, Vec<FileId>>,
    /// Files by folder, for Go; by package, for Java.
    packages: HashMap<Box<str>, Vec<FileId>>,
    pub(super) manifests: Arc<Manifests>,
    /// Rust: the file of a module that another declares, and back.
    modules: HashMap<(FileId, DefId, Box<str>), FileId>,
    parents: HashMap<FileId, Place>,
    /// C: functions that every file can see.
    globals: HashMap<Box<str>, Vec<Place>>,
    /// Methods that stand beside their types, by type and name.
    members: HashMap<Place, BTreeMap<Box<str>, Vec<Place>>>,
    /// Interfaces that types fulfil, besides those they are below of.
    fulfils: HashMap<Place, Vec<Place>>,
}

impl Atlas {
    pub(crate) fn new(
        language: Language,
        pages: Vec<Arc<Page>>,
        manifests: Arc<Manifests>,
    ) -> Self {
        let mut atlas = Self {
            language,
            by_path: HashMap::new(),
            by_name: HashMap::new(),
            packages: HashMap::new(),
            manifests,
            modules: HashMap::new(),
            parents: HashMap::new(),
            globals: HashMap::new(),
            members: HashMap::new(),
            fulfils: HashMap::new(),
            pages,
        };
        for (id, page) in (0..).zip(&atlas.pages) {
            let path = &page.sketched.path;
            atlas.by_path.insert(Arc::clone(path), id);
            let name = path.rsplit('/').next().unwrap_or(path);
            atlas.by_name.entry(name.into()).or_default().push(id);
            let package = match language {
                Language::Java => &*page.outline.package,
                _ => folder(path),
            };
            atlas.packages.entry(package.into()).or_default().push(id);
        }
        match language {
            Language::Rust => atlas.find_modules(),
            Language::C => atlas.find_globals(),
            _ => {}
        }
        atlas.find_members();
        atlas
    }

    pub(crate) fn page(&self, file: FileId) -> Option<&Page> {
        self.pages.get(file as usize).map(|page| &**page)
    }

    pub(crate) fn at(&self, path: &str) -> Option<FileId> {
        self.by_path.get(path).copied()
    }

    /// Files with a last name.
    pub(super) fn called(&self, name: &str) -> &[FileId] {
        self.by_name.get(name).map_or(&[], |files| files)
    }

    /// The files of a package.
    pub(super) fn package(&self, name: &str) -> &[FileId] {
        self.packages.get(name).map_or(&[], |files| files)
    }

    pub(super) fn module_below(&self, place: Place, name: &str) -> Option<FileId> {
        self.modules.get(&(place.0, place.1, name.into())).copied()
    }

    /// The module that declares a file as a module.
    pub(super) fn module_above(&self, file: FileId) -> Option<Place> {
        self.parents.get(&file).copied()
    }

    pub(super) fn global(&self, name: &str) -> &[Place] {
        self.globals.get(name).map_or(&[], |all| all)
    }

    /// The methods that stand beside a type.
    pub(super) fn members(&self, class: Place, name: &str) -> &[Place] {
        let all = self.members.get(&class).and_then(|all| all.get(name));
        all.map_or(&[], |all| all)
    }

    pub(super) fn fulfilled(&self, class: Place) -> &[Place] {
        self.fulfils.get(&class).map_or(&[], |all| all)
    }

    /// `mod name;` and the file that it means.
    fn find_modules(&mut self) {
        let mut found = Vec::new();
        for (id, page) in (0..).zip(&self.pages) {
            for import in &page.outline.imports {
                let Bound::Module(name) = &import.bound else {
                    continue;
                };
                let paths = module_paths(page, import.def, name);
                let file = paths.iter().find_map(|path| self.at(path));
                found.extend(file.map(|file| ((id, import.def, name.clone()), file)));
            }
        }
        for ((id, def, name), file) in found {
            // A file that several declare has the first for its parent.
            self.parents.entry(file).or_insert((id, def));
            self.modules.insert((id, def, name), file);
        }
    }

    fn find_globals(&mut self) {
        for (id, page) in (0..).zip(&self.pages) {
            for (def_id, def) in page.outline.children(FILE) {
                if def.kind == DefKind::Function && !def.is_private {
                    let all = self.globals.entry(def.name.clone()).or_default();
                    all.push((id, def_id));
                }
            }
        }
    }

    fn find_members(&mut self) {
        let viewer = Viewer::new(self);
        let mut members: HashMap<Place, BTreeMap<Box<str>, Vec<Place>>> = HashMap::new();
        let mut fulfils: HashMap<Place, Vec<Place>> = HashMap::new();
        for (id, page) in (0..).zip(&self.pages) {
            for (def_id, def) in (0..).zip(&page.outline.defs) {
                let Some(owner) = &def.owner else {
                    continue;
                };
                if let Thing::Def(class) = viewer.path((id, def.parent), owner) {
                    let all = members.entry(class).or_default();
                    all.entry(def.name.clone()).or_default().push((id, def_id));
                }
            }
            for (def, kind, base) in &page.outline.fulfils {
                let [kind, base] = [kind, base].map(|path| viewer.path((id, *def), path));
                if let (Thing::Def(class), Thing::Def(base)) = (kind, base) {
                    fulfils.entry(class).or_default().push(base);
                }
            }
        }
        self.members = members;
        if self.language == Language::Go {
            self.implicit(&mut fulfils);
        }
        self.fulfils = fulfils;
    }

    /// Go: a type fulfils an interface by having methods of all its names.
    fn implicit(&self, fulfils: &mut HashMap<Place, Vec<Place>>) {
        let mut types: HashMap<&str, Vec<Place>> = HashMap::new();
        for (class, methods) in &self.members {
            for name in methods.keys() {
                types.entry(name).or_default().push(*class);
            }
        }
        for (id, page) in (0..).zip(&self.pages) {
            for (def_id, def) in (0..).zip(&page.outline.defs) {
                if def.kind != DefKind::Class {
                    continue;
                }
                let asked: BTreeSet<&str> = page
                    .outline
                    .children(def_id)
                    .filter(|(_, method)| method.kind == DefKind::Function)
                    .map(|(_, method)| &*method.name)
                    .collect();
                let Some(first) = asked.first() else {
                    continue;
                };
                for class in types.get(first).into_iter().flatten() {
                    let has = |name: &&str| !self.members(*class, name).is_empty();
                    if asked.iter().all(has) {
                        fulfils.entry(*class).or_default().push((id, def_id));
                    }
                }
            }
        }
        for all in fulfils.values_mut() {
            all.sort_unstable();
        }
    }
}

/// Where the file of a module may be that another file declares.
pub(super) fn module_paths(page: &Page, def: DefId, name: &str) -> [String; 2] {
    let path = page.path();
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let last = stem.rsplit('/').next().unwrap_or(stem);
    let parent = folder(path);
    let is_root = matches!(last, "mod" | "lib" | "main" | "build")
        || ["tests", "examples", "benches"].contains(&parent.rsplit('/').next().unwrap_or(""))
        || parent.ends_with("src/bin");
    let mut base = if is_root { parent } else { stem }.to_owned();
    let inside = page.outline.qualified(def).replace('.', "/");
    for part in [&*inside, name].into_iter().filter(|part| !part.is_empty()) {
        if !base.is_empty() {
            base.push('/');
        }
        base.push_str(part);
    }
    [format!("{base}.rs"), format!("{base}/mod.rs")]
}
