//! What pytest gives tests: the fixtures that they ask for by name, and those that nobody has
//! to ask for.

use super::eval::{Place, Thing};
use super::keys::autouse_key;
use super::link::{Linker, Way};
use super::modules::{FileId, ModuleLocation, folder};
use super::sketch::{Fixture, MODULE, ScopeId, ScopeKind, Use};
use super::tests_of::{is_conftest, is_test_file, is_test_name};

impl Linker<'_> {
    /// pytest calls the fixtures of a test, and of a fixture.
    pub(super) fn fixtures(&mut self) {
        let path = &self.file.path;
        let sketch = &self.file.sketch;
        let has_tests = is_test_file(path) || is_conftest(path);
        if !has_tests && sketch.fixtures.is_empty() {
            return;
        }
        for (id, name) in &sketch.asked {
            let name = sketch.names.get(*name);
            for fixture in self.fixture(*id, name) {
                self.given(*id, fixture);
            }
        }
        let autouse = self.autouse();
        for (id, scope) in (0..).zip(&sketch.scopes) {
            if !has_tests
                || scope.kind != ScopeKind::Function
                || !is_test_name(sketch.names.get(scope.name))
            {
                continue;
            }
            for (file, fixture) in &autouse {
                // One of a class is for its own tests.
                let class = self.class_of(*file, *fixture);
                if class.is_none_or(|class| *file == self.home && scope.parent == class) {
                    self.given(id, (*file, *fixture));
                }
            }
            // What a class asks for, its tests get.
            let class = sketch.scope(scope.parent);
            if class.is_some_and(|class| class.kind == ScopeKind::Class) {
                for (_, name) in sketch.asked.iter().filter(|(of, _)| *of == scope.parent) {
                    for fixture in self.fixture(id, sketch.names.get(*name)) {
                        self.given(id, fixture);
                    }
                }
            }
        }
    }

    fn given(&mut self, to: ScopeId, fixture: Place) {
        let line = self.file.sketch.scope(to).map_or(1, |scope| scope.line);
        let used = Use {
            scope: to,
            of: to,
            expr: 0,
            is_call: true,
            line,
        };
        self.link(&used, Way::Call, fixture, true);
    }

    /// The class that a fixture is of.
    fn class_of(&self, file: FileId, fixture: ScopeId) -> Option<ScopeId> {
        let sketch = &self.viewer.sketched(file)?.sketch;
        let parent = sketch.scope(fixture)?.parent;
        let is_class = sketch.scope(parent)?.kind == ScopeKind::Class;
        is_class.then_some(parent)
    }

    /// Fixtures that the tests of the file get unasked.
    fn autouse(&self) -> Vec<Place> {
        let mut all = Vec::new();
        for file in std::iter::once(self.home).chain(self.conftests()) {
            if let Some(sketched) = self.viewer.sketched(file) {
                self.viewer.see(autouse_key(sketched.key(MODULE)));
                let autouse = sketched.sketch.fixtures.iter().filter(|f| f.autouse);
                all.extend(autouse.map(|fixture| (file, fixture.scope)));
            }
        }
        all
    }

    /// The `conftest.py` of the file's folder and of those above, the nearest first.
    fn conftests(&self) -> Vec<FileId> {
        let mut found = Vec::new();
        let mut at = folder(&self.file.path);
        loop {
            let path = match at {
                "" => "conftest".to_owned(),
                at => format!("{at}/conftest"),
            };
            let mut see = |key| self.viewer.see(key);
            if let Some(ModuleLocation::File(file)) = self.viewer.world.modules.at(&path, &mut see)
                && file != self.home
            {
                found.push(file);
            }
            if at.is_empty() {
                return found;
            }
            at = folder(at);
        }
    }

    /// The fixtures that a name means in a function: of its class, of the file itself, or of
    /// the nearest `conftest.py`. A fixture that asks for its own name means the next one.
    fn fixture(&self, asking: ScopeId, name: &str) -> Vec<Place> {
        for file in std::iter::once(self.home).chain(self.conftests()) {
            let found: Vec<Place> = self
                .fixtures_in(file, name)
                .into_iter()
                .filter(|place| *place != (self.home, asking))
                .collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn fixtures_in(&self, file: FileId, name: &str) -> Vec<Place> {
        self.viewer.see_name((file, MODULE), name);
        let Some(sketch) = self.viewer.sketched(file).map(|file| &file.sketch) else {
            return Vec::new();
        };
        let is_meant = |fixture: &&Fixture| sketch.names.get(fixture.name) == name;
        let own = sketch.fixtures.iter().filter(is_meant);
        let mut found: Vec<Place> = own.map(|fixture| (file, fixture.scope)).collect();
        if found.is_empty()
            && let Some(id) = sketch.names.find(name)
        {
            // One that is imported from where it is written.
            self.viewer.begin();
            let things = self.viewer.bound((file, MODULE), id, 0).things;
            found.extend(things.into_iter().filter_map(|thing| match thing {
                Thing::Function(place) if self.is_fixture(place) => Some(place),
                _ => None,
            }));
        }
        found
    }

    fn is_fixture(&self, (file, scope): Place) -> bool {
        let sketched = self.viewer.sketched(file);
        sketched.is_some_and(|file| {
            let mut all = file.sketch.fixtures.iter();
            all.any(|fixture| fixture.scope == scope)
        })
    }
}
