//! Names of modules, and names that are looked up in modules.

use super::eval::{Found, Place, Thing, Viewer};
use super::keys::stars_key;
use super::modules::{FileId, ModuleLocation, is_init, stem};
use super::sketch::{Binding, MODULE, Name, ScopeKind};

/// How often a name may be imported on its way.
const MAX_IMPORTS: usize = 8;

impl Viewer<'_> {
    pub(super) fn module_thing(&self, file: FileId, module: Name) -> Found {
        let found = self.module(file, module);
        Found::one(found.map_or(Thing::Outside, Thing::Module))
    }

    /// The module that a name of a file means.
    pub(super) fn module(&self, file: FileId, module: Name) -> Option<ModuleLocation> {
        if let Some(known) = self.modules.borrow().get(&(file, module)) {
            return *known;
        }
        let found = self.find_module(file, self.sketch(file)?.names.get(module));
        self.modules.borrow_mut().insert((file, module), found);
        found
    }

    pub(super) fn find_module(&self, file: FileId, name: &str) -> Option<ModuleLocation> {
        let from = &self.sketched(file)?.path;
        let mut see = |key| self.see(key);
        self.world.modules.find(from, name, &mut see)
    }

    /// A name of a module: one that it binds, or a module below it.
    pub(super) fn of_module(&self, at: ModuleLocation, name: &str, depth: u32) -> Found {
        if self.is_exhausted(depth) {
            return Found::one(Thing::Unknown);
        }
        let below = |folder: &str| {
            let path = match folder {
                "" => name.to_owned(),
                folder => format!("{folder}/{name}"),
            };
            let mut see = |key| self.see(key);
            self.world.modules.at(&path, &mut see)
        };
        let submodule = match at {
            ModuleLocation::Folder(id) => below(self.world.modules.folder(id)),
            ModuleLocation::File(file) => {
                let Some(sketched) = self.sketched(file) else {
                    return Found::one(Thing::Unknown);
                };
                self.see_name((file, MODULE), name);
                let id = sketched.sketch.names.find(name);
                if let Some(id) = id
                    && !sketched.sketch.bound(MODULE, id).is_empty()
                {
                    let found = self.bound((file, MODULE), id, depth + 1);
                    if !found.things.is_empty() {
                        return found;
                    }
                }
                if let Some(found) = self.starred(file, name, depth + 1) {
                    return found;
                }
                match is_init(&sketched.path) {
                    true => below(stem(&sketched.path)),
                    false => None,
                }
            }
        };
        Found::one(submodule.map_or(Thing::Unknown, Thing::Module))
    }

    /// The variable of a module with a name, also if it was imported there.
    pub(super) fn variable(&self, file: FileId, name: &str) -> Option<Place> {
        let (mut file, mut name) = (file, name);
        for _ in 0..MAX_IMPORTS {
            let sketch = self.sketch(file)?;
            self.see_name((file, MODULE), name);
            let Some(id) = sketch.names.find(name) else {
                let starred = self.star_of(file, name)?;
                file = starred;
                continue;
            };
            let scopes = (0..).zip(&sketch.scopes);
            let mut own = scopes.filter(|(_, s)| s.kind == ScopeKind::Variable && s.name == id);
            if let Some((scope, _)) = own.next() {
                return Some((file, scope));
            }
            let mut bound = sketch.bound(MODULE, id).iter();
            let import = bound.find_map(|(_, binding)| match *binding {
                Binding::Import(module, name) => Some((module, name)),
                _ => None,
            });
            let Some((module, taken)) = import else {
                file = self.star_of(file, name)?;
                continue;
            };
            let ModuleLocation::File(next) = self.module(file, module)? else {
                return None;
            };
            (file, name) = (next, sketch.names.get(taken));
        }
        None
    }

    /// The first module that a file takes everything from and that offers a name.
    fn star_of(&self, file: FileId, name: &str) -> Option<FileId> {
        let sketched = self.sketched(file)?;
        if file != self.home {
            self.see(stars_key(sketched.key(MODULE)));
        }
        sketched.sketch.stars.iter().find_map(|star| {
            let ModuleLocation::File(other) = self.module(file, *star)? else {
                return None;
            };
            let offering = self.sketched(other)?;
            self.see(stars_key(offering.key(MODULE)));
            self.see_name((other, MODULE), name);
            let has = offering.sketch.names.find(name).is_some();
            (has && offering.sketch.offers(name)).then_some(other)
        })
    }

    /// A name that a module takes from others with a star.
    pub(super) fn starred(&self, file: FileId, name: &str, depth: u32) -> Option<Found> {
        let sketched = self.sketched(file)?;
        if file != self.home {
            self.see(stars_key(sketched.key(MODULE)));
        }
        if self.is_exhausted(depth) {
            return None;
        }
        for star in &sketched.sketch.stars {
            let Some(at @ ModuleLocation::File(other)) = self.module(file, *star) else {
                continue;
            };
            let offering = self.sketched(other)?;
            self.see(stars_key(offering.key(MODULE)));
            if !offering.sketch.offers(name) {
                continue;
            }
            let found = self.of_module(at, name, depth + 1);
            if found.things.iter().any(|thing| *thing != Thing::Unknown) {
                return Some(found);
            }
        }
        None
    }
}
