//! From the outline of a file to its links: who in it calls or names what, here and in other
//! files.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pillion_index::facts::name_hash;
use pillion_index::language::Language;

use super::super::keys::{Key, path_key};
use super::super::link::{FoundLinks, Links, Way, guesses_of, links_of};
use super::super::modules::folder;
use super::codebase::{Codebase, FileId, Place, module_paths};
use super::headers::header;
use super::outline::{Bound, DefKind, FILE, How, Use};
use super::outlined_file::OutlinedFile;
use super::resolve::{Thing, Viewer};
use super::words::is_common;

/// How many definitions there may be for a name that means one of several.
const MAX_SEVERAL: usize = 5;

/// The links of a file.
pub(super) fn links(codebase: &Codebase, home: FileId) -> Links {
    let Some(outlined) = codebase.file(home) else {
        return Links::default();
    };
    let mut linker = Linker {
        viewer: Viewer::new(codebase),
        outlined,
        home,
        found: HashMap::new(),
        guesses: BTreeMap::new(),
        loose: BTreeSet::new(),
        imports: BTreeSet::new(),
    };
    for used in &outlined.outline.uses {
        linker.used(used);
    }
    // What an index or a header names is offered to other projects.
    if matches!(
        codebase.language,
        Language::Typescript | Language::Javascript
    ) {
        let offered = linker.viewer.ts_offered(home).into_iter();
        linker.loose.extend(offered.map(name_hash));
    }
    if outlined.path().ends_with(".h") {
        let declared = outlined.outline.exports.iter();
        linker
            .loose
            .extend(declared.map(|export| name_hash(&export.name)));
    }
    let (overrides, open) = linker.overrides();
    let mut saw = linker.imported();
    saw.sort_unstable();
    saw.dedup();
    let key = |file: &FileId| codebase.file(*file).map(|outlined| outlined.key(FILE));
    Links {
        links: links_of(linker.found),
        guesses: guesses_of(linker.guesses),
        overrides: overrides.into(),
        bases: Box::default(),
        open: open.into(),
        hooked: Box::default(),
        loose: linker.loose.into_iter().collect(),
        lost: Box::default(),
        imports: linker.imports.iter().filter_map(key).collect(),
        saw: saw.into(),
    }
}

struct Linker<'w> {
    viewer: Viewer<'w>,
    outlined: &'w OutlinedFile,
    home: FileId,
    /// What was found, with whether it is sure and its first line.
    found: FoundLinks,
    guesses: BTreeMap<(u32, u32), u32>,
    loose: BTreeSet<u32>,
    imports: BTreeSet<FileId>,
}

impl Linker<'_> {
    fn used(&mut self, used: &Use) {
        let mut thing = self.viewer.path((self.home, used.def), &used.path);
        let language = self.viewer.codebase.language;
        let is_script = matches!(language, Language::Typescript | Language::Javascript);
        if let (Thing::Module((file, FILE)), true) = (&thing, used.how != How::Name && is_script) {
            // `const f = require("./f")` may be the one thing that the module is for.
            thing = self.viewer.ts_export(*file, "default", 0);
        }
        match thing {
            Thing::Def(place) => self.defined(used, place, !used.is_loose),
            Thing::Several(places) => {
                for place in places.into_iter().take(MAX_SEVERAL) {
                    self.defined(used, place, false);
                }
            }
            Thing::Instance(class) => {
                // A field or variable; what it is made of is used where it is declared.
                self.imports.insert(class.0);
            }
            Thing::Module((file, _)) => drop(self.imports.insert(file)),
            Thing::Outside => self.lost(used),
            Thing::Unknown => {
                self.lost(used);
                self.guess(used);
            }
        }
    }

    fn lost(&mut self, used: &Use) {
        self.loose.insert(name_hash(used.path.last()));
    }

    /// A method that is called on something of which nothing is known.
    fn guess(&mut self, used: &Use) {
        let name = used.path.last();
        let is_taken = used.path.parts.len() > 1;
        let language = self.viewer.codebase.language;
        if used.how != How::Call || !is_taken || is_common(language, name) {
            return;
        }
        let Some(name) = self.outlined.sketched.sketch.names.find(name) else {
            return;
        };
        let from = self.outlined.sketched.node(used.def);
        let line = self.guesses.entry((from, name)).or_insert(used.line);
        *line = used.line.min(*line);
    }

    fn defined(&mut self, used: &Use, place: Place, is_sure: bool) {
        let is_class = self.viewer.kind(place) == Some(DefKind::Class);
        if !is_class {
            let way = match used.how {
                How::Name => Way::Reference,
                _ => Way::Call,
            };
            return self.link(used, way, place, is_sure);
        }
        self.link(used, Way::Reference, place, is_sure);
        // In Go, what looks like a call of a type turns a value into it.
        let language = self.viewer.codebase.language;
        if used.how == How::Name || language == Language::Go {
            return;
        }
        let outlined = self.viewer.codebase.file(place.0);
        let name = outlined.and_then(|outlined| outlined.outline.def(place.1));
        let name = match language {
            Language::Java => name.map_or("", |def| &*def.name),
            _ => "constructor",
        };
        match self.viewer.class_member(place, name, 0) {
            Thing::Def(made) => self.link(used, Way::Call, made, is_sure),
            _ => self.link(used, Way::Call, place, is_sure),
        }
    }

    fn link(&mut self, used: &Use, way: Way, (file, def): Place, is_sure: bool) {
        let Some(target) = self.viewer.codebase.file(file) else {
            return;
        };
        if file != self.home {
            self.imports.insert(file);
        }
        let from = self.outlined.sketched.node(used.def);
        let to = target.key(def);
        // The name of a function in its own body says nothing new.
        if way == Way::Reference && file == self.home && self.outlined.sketched.node(def) == from {
            return;
        }
        let (sure, line) = self
            .found
            .entry((from, way, to))
            .or_insert((is_sure, used.line));
        *sure |= is_sure;
        *line = used.line.min(*line);
    }

    /// Methods with what they override, and classes below some from elsewhere.
    fn overrides(&self) -> (Vec<(Key, Key)>, Vec<u32>) {
        let mut overrides = Vec::new();
        let mut open = Vec::new();
        let codebase = self.viewer.codebase;
        for (id, def) in (0..).zip(&self.outlined.outline.defs) {
            let is_class = def.kind == DefKind::Class;
            if !is_class && !self.outlined.outline.is_method(id) {
                continue;
            }
            self.viewer.begin();
            let Some(class) = self.viewer.class_around((self.home, id), 0) else {
                continue;
            };
            let (above, is_open) = self.all_above(class);
            if is_class {
                open.extend(is_open.then(|| self.outlined.sketched.node(id)));
                continue;
            }
            for base in above {
                let Some(outlined) = codebase.file(base.0) else {
                    continue;
                };
                let beside = codebase.members(base, &def.name).iter().copied();
                let inside = outlined.named(base.1, &def.name).iter();
                let all = inside.map(|def| (base.0, *def)).chain(beside);
                for (file, method) in all {
                    let outlined = codebase.file(file);
                    let key =
                        outlined.map(|outlined| (self.outlined.key(id), outlined.key(method)));
                    overrides.extend(key.filter(|(method, above)| method != above));
                }
            }
        }
        overrides.sort_unstable();
        overrides.dedup();
        (overrides, open)
    }

    /// The classes above a class, and whether some of them are not of the workspace.
    fn all_above(&self, class: Place) -> (Vec<Place>, bool) {
        let mut found: Vec<Place> = Vec::new();
        let mut open = vec![class];
        let mut is_open = false;
        while let Some(next) = open.pop().filter(|_| found.len() < 256) {
            self.viewer.begin();
            let mut bases = self.viewer.bases(next, 0);
            let fulfilled = self.viewer.codebase.fulfilled(next).iter();
            bases.extend(fulfilled.map(|base| Thing::Def(*base)));
            for base in bases {
                match base {
                    Thing::Def(base) if base != class && !found.contains(&base) => {
                        found.push(base);
                        open.push(base);
                    }
                    Thing::Def(_) => {}
                    _ => is_open = true,
                }
            }
        }
        (found, is_open)
    }

    /// Take in which files are imported; gives what was looked for on the way.
    fn imported(&mut self) -> Vec<Key> {
        let viewer = &self.viewer;
        let codebase = viewer.codebase;
        let path = self.outlined.path();
        let mut saw: Vec<Key> = Vec::new();
        for import in &self.outlined.outline.imports {
            viewer.begin();
            match codebase.language {
                Language::Typescript | Language::Javascript => {
                    let paths = viewer.ts_paths(self.home, &import.module);
                    saw.extend(paths.iter().map(|path| path_key(path)));
                    self.imports
                        .extend(viewer.ts_file(self.home, &import.module));
                }
                Language::Go => {
                    let place = codebase.manifests.go_folder(&import.module);
                    saw.extend(place.iter().map(|place| path_key(place)));
                    if let Thing::Module((file, _)) = viewer.imported(self.home, import, 0) {
                        self.imports.extend(viewer.go_files(file));
                    }
                }
                Language::Rust => {
                    if let Bound::Module(name) = &import.bound {
                        let paths = module_paths(self.outlined, import.def, name);
                        saw.extend(paths.iter().map(|path| path_key(path)));
                    }
                    let here = (self.home, import.def);
                    let module = viewer.rust_path(here, &import.module, 0);
                    for thing in [module, viewer.imported(self.home, import, 0)] {
                        if let Thing::Module((file, _)) | Thing::Def((file, _)) = thing {
                            self.imports.insert(file);
                        }
                    }
                }
                Language::Java => {
                    if let Bound::Name { name, .. } = &import.bound {
                        saw.push(path_key(&format!("{name}.java")));
                    }
                    if let Thing::Def((file, _)) = viewer.imported(self.home, import, 0) {
                        self.imports.insert(file);
                    }
                    if import.bound == Bound::All {
                        self.imports.extend(codebase.package(&import.module));
                    }
                }
                _ => {
                    let name = import.module.rsplit('/').next().unwrap_or_default();
                    saw.push(path_key(name.trim_matches(['<', '>'])));
                    self.imports
                        .extend(header(codebase, self.home, &import.module));
                }
            }
        }
        // The files of a package see each other without saying so.
        match codebase.language {
            Language::Go => self.imports.extend(viewer.go_files(self.home)),
            Language::Java => {
                let package = codebase.package(&self.outlined.outline.package);
                self.imports.extend(package);
            }
            _ => {}
        }
        if matches!(codebase.language, Language::Go | Language::Java) {
            saw.push(path_key(folder(path)));
        }
        self.imports.remove(&self.home);
        saw
    }
}
