//! All files of one language at one moment, with the tables that lead from one to another.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pillion_index::language::Language;

use super::super::modules::folder;
use super::manifests::Manifests;
use super::outline::{Bound, DefId, DefKind, FILE};
use super::outlined_file::OutlinedFile;

/// A file, by its place in [`Codebase::files`].
pub(crate) type FileId = u32;
/// A definition in a file.
pub(crate) type Place = (FileId, DefId);

/// All files of one language at one moment.
#[derive(Debug)]
pub(crate) struct Codebase {
    pub language: Language,
    /// Sorted by path.
    pub files: Vec<Arc<OutlinedFile>>,
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
    /// Known once names can be resolved.
    pub(super) members: Members,
}

/// What belongs to types though it does not stand in them.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Methods that stand beside their types, by type and name.
    pub(super) methods: HashMap<Place, BTreeMap<Box<str>, Vec<Place>>>,
    /// Interfaces that types fulfil, besides those they are below of.
    pub(super) fulfils: HashMap<Place, Vec<Place>>,
}

impl Members {
    /// The methods that stand beside a type.
    pub(super) fn named(&self, class: Place, name: &str) -> &[Place] {
        let all = self.methods.get(&class).and_then(|all| all.get(name));
        all.map_or(&[], |all| all)
    }
}

impl Codebase {
    /// The files, and which of them others mean; members are not known yet: see
    /// [`members`](super::members).
    pub(super) fn new(
        language: Language,
        files: Vec<Arc<OutlinedFile>>,
        manifests: Arc<Manifests>,
    ) -> Self {
        let mut codebase = Self {
            language,
            by_path: HashMap::new(),
            by_name: HashMap::new(),
            packages: HashMap::new(),
            manifests,
            modules: HashMap::new(),
            parents: HashMap::new(),
            globals: HashMap::new(),
            members: Members::default(),
            files,
        };
        for (id, outlined) in (0..).zip(&codebase.files) {
            let path = &outlined.sketched.path;
            codebase.by_path.insert(Arc::clone(path), id);
            let name = path.rsplit('/').next().unwrap_or(path);
            codebase.by_name.entry(name.into()).or_default().push(id);
            let package = match language {
                Language::Java => &*outlined.outline.package,
                _ => folder(path),
            };
            codebase
                .packages
                .entry(package.into())
                .or_default()
                .push(id);
        }
        match language {
            Language::Rust => codebase.find_modules(),
            Language::C => codebase.find_globals(),
            _ => {}
        }
        codebase
    }

    pub(crate) fn file(&self, file: FileId) -> Option<&OutlinedFile> {
        self.files.get(file as usize).map(|outlined| &**outlined)
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
        self.members.named(class, name)
    }

    pub(super) fn fulfilled(&self, class: Place) -> &[Place] {
        self.members.fulfils.get(&class).map_or(&[], |all| all)
    }

    /// `mod name;` and the file that it means.
    fn find_modules(&mut self) {
        let mut found = Vec::new();
        for (id, outlined) in (0..).zip(&self.files) {
            for import in &outlined.outline.imports {
                let Bound::Module(name) = &import.bound else {
                    continue;
                };
                let paths = module_paths(outlined, import.def, name);
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
        for (id, outlined) in (0..).zip(&self.files) {
            for (def_id, def) in outlined.outline.children(FILE) {
                if def.kind == DefKind::Function && !def.is_private {
                    let all = self.globals.entry(def.name.clone()).or_default();
                    all.push((id, def_id));
                }
            }
        }
    }
}

/// Where the file of a module may be that another file declares.
pub(super) fn module_paths(outlined: &OutlinedFile, def: DefId, name: &str) -> [String; 2] {
    let path = outlined.path();
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let last = stem.rsplit('/').next().unwrap_or(stem);
    let parent = folder(path);
    let is_root = matches!(last, "mod" | "lib" | "main" | "build")
        || ["tests", "examples", "benches"].contains(&parent.rsplit('/').next().unwrap_or(""))
        || parent.ends_with("src/bin");
    let mut base = if is_root { parent } else { stem }.to_owned();
    let inside = outlined.outline.qualified(def).replace('.', "/");
    for part in [&*inside, name].into_iter().filter(|part| !part.is_empty()) {
        if !base.is_empty() {
            base.push('/');
        }
        base.push_str(part);
    }
    [format!("{base}.rs"), format!("{base}/mod.rs")]
}
