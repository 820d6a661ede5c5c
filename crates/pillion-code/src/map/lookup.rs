//! Names of modules, and names that are looked up in modules.

use super::eval::{Found, Thing, Viewer};
use super::keys::stars_key;
use super::modules::{At, FileId, is_init, stem};
use super::sketch::{MODULE, Name};

impl Viewer<'_> {
    pub(super) fn module_thing(&self, file: FileId, module: Name) -> Found {
        let found = self.module(file, module);
        Found::one(found.map_or(Thing::Outside, Thing::Module))
    }

    /// The module that a name of a file means.
    pub(super) fn module(&self, file: FileId, module: Name) -> Option<At> {
        if let Some(known) = self.modules.borrow().get(&(file, module)) {
            return *known;
        }
        let found = self.find_module(file, self.sketch(file)?.names.get(module));
        self.modules.borrow_mut().insert((file, module), found);
        found
    }

    pub(super) fn find_module(&self, file: FileId, name: &str) -> Option<At> {
        let from = &self.sketched(file)?.path;
        let mut see = |key| self.see(key);
        self.world.modules.find(from, name, &mut see)
    }

    /// A name of a module: one that it binds, or a module below it.
    pub(super) fn of_module(&self, at: At, name: &str, depth: u32) -> Found {
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
            At::Folder(id) => below(self.world.modules.folder(id)),
            At::File(file) => {
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
            let Some(at @ At::File(other)) = self.module(file, *star) else {
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
