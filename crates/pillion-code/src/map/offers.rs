//! Links that no expression says: what files import, what packages offer, what pytest gives.

use std::collections::BTreeSet;

use super::eval::{Place, Thing};
use super::keys::Key;
use super::link::{Linker, Way};
use super::modules::{At, FileId, folder, is_init};
use super::sketch::{Binding, Expr, MODULE, ScopeId, ScopeKind, Use};
use super::tests_of;

impl Linker<'_> {
    /// The modules that are imported anywhere in the file; a module imports its package.
    pub(super) fn imports(&self) -> Box<[Key]> {
        let sketch = &self.file.sketch;
        let mut all = BTreeSet::new();
        let mut add = |at: Option<At>| {
            if let Some(At::File(id)) = at
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

    /// pytest gives a test the fixtures that its parameters name.
    pub(super) fn fixtures(&mut self) {
        let path = &self.file.path;
        if !tests_of::is_test_file(path) && !tests_of::is_conftest(path) {
            return;
        }
        let sketch = &self.file.sketch;
        for (id, scope) in (0..).zip(&sketch.scopes) {
            let is_test = tests_of::is_test_name(sketch.names.get(scope.name));
            if scope.kind != ScopeKind::Function || !(is_test || self.is_fixture((self.home, id))) {
                continue;
            }
            for (name, binding) in &scope.bindings {
                if *binding != Binding::Parameter {
                    continue;
                }
                if let Some(fixture) = self.fixture(sketch.names.get(*name)) {
                    let used = Use {
                        scope: id,
                        expr: 0,
                        is_call: true,
                        line: scope.line,
                    };
                    self.link(&used, Way::Call, fixture, true);
                }
            }
        }
    }

    /// The fixture with a name: of the file itself, or of the nearest `conftest.py`.
    fn fixture(&self, name: &str) -> Option<Place> {
        let here = self.fixture_in(self.home, name);
        let mut at = folder(&self.file.path);
        let mut found = here;
        while found.is_none() {
            let path = match at {
                "" => "conftest".to_owned(),
                at => format!("{at}/conftest"),
            };
            let mut see = |key| self.viewer.see(key);
            if let Some(At::File(file)) = self.viewer.world.modules.at(&path, &mut see) {
                found = self.fixture_in(file, name);
            }
            if at.is_empty() {
                break;
            }
            at = folder(at);
        }
        found
    }

    fn fixture_in(&self, file: FileId, name: &str) -> Option<Place> {
        self.viewer.see_name((file, MODULE), name);
        let sketch = &self.viewer.sketched(file)?.sketch;
        let id = sketch.names.find(name)?;
        let mut bound = sketch.bound(MODULE, id).iter();
        bound.find_map(|(_, binding)| match binding {
            Binding::Definition(scope) if self.is_fixture((file, *scope)) => Some((file, *scope)),
            _ => None,
        })
    }

    fn is_fixture(&self, (file, scope): (FileId, ScopeId)) -> bool {
        let Some(sketch) = self.viewer.sketched(file).map(|file| &file.sketch) else {
            return false;
        };
        let decorators = sketch.scope(scope).map_or(&[][..], |s| &s.decorators);
        decorators.iter().any(|decorator| {
            let mut expr = sketch.expr(*decorator);
            while let Expr::Call(callee) = expr {
                expr = sketch.expr(callee);
            }
            match expr {
                Expr::Name(name) | Expr::Attribute(_, name) => {
                    sketch.names.get(name).ends_with("fixture")
                }
                _ => false,
            }
        })
    }
}
