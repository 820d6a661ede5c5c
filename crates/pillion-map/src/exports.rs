//! Links that no expression says: what files import, and what packages offer.

use std::collections::BTreeSet;

use super::eval::Thing;
use super::keys::Key;
use super::link::{Linker, Way};
use super::modules::{ModuleLocation, folder, is_init};
use super::sketch::{Binding, MODULE, Use};

impl Linker<'_> {
    /// The modules that are imported anywhere in the file; a module imports its package.
    pub(super) fn imports(&self) -> Box<[Key]> {
        let sketch = &self.file.sketch;
        let mut all = BTreeSet::new();
        let mut add = |at: Option<ModuleLocation>| {
            if let Some(ModuleLocation::File(id)) = at
                && id != self.home
                && let Some(file) = self.viewer.sketched(id)
            {
                all.insert(file.key(MODULE));
            }
        };
        for star in &sketch.stars {
            add(self.viewer.module(self.home, *star));
        }
        for (_, binding) in sketch.scopes.iter().flat_map(|scope| &scope.bindings) {
            match *binding {
                Binding::Module(module) | Binding::Package(module) => {
                    add(self.viewer.module(self.home, module));
                }
                Binding::Import(module, name) => {
                    let module = self.viewer.module(self.home, module);
                    add(module);
                    self.viewer.begin();
                    let name = sketch.names.get(name);
                    let found = module.map(|at| self.viewer.of_module(at, name, 0));
                    for thing in found.into_iter().flat_map(|found| found.things) {
                        if let Thing::Module(at) = thing {
                            add(Some(at));
                        }
                    }
                }
                _ => {}
            }
        }
        let path = &self.file.path;
        let package = match is_init(path) {
            true => folder(folder(path)),
            false => folder(path),
        };
        if !(is_init(path) && folder(path).is_empty()) {
            let mut see = |key| self.viewer.see(key);
            add(self.viewer.world.modules.at(package, &mut see));
        }
        all.into_iter().collect()
    }

    /// What a package imports, it offers.
    pub(super) fn offered(&mut self) {
        let sketch = &self.file.sketch;
        let bindings = sketch.scope(MODULE).map_or(&[][..], |s| &s.bindings);
        if !is_init(&self.file.path) {
            return;
        }
        for (_, binding) in bindings {
            let Binding::Import(module, name) = *binding else {
                continue;
            };
            let Some(at) = self.viewer.module(self.home, module) else {
                continue;
            };
            self.viewer.begin();
            let name = sketch.names.get(name);
            let used = Use {
                scope: MODULE,
                of: MODULE,
                expr: 0,
                is_call: false,
                line: 1,
            };
            for thing in self.viewer.of_module(at, name, 0).things {
                if let Thing::Function(place) | Thing::Class(place) = thing {
                    self.link(&used, Way::Reference, place, true);
                }
            }
        }
    }
}
