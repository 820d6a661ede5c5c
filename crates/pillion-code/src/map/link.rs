//! From the sketch of a file to its links: who in it calls or names what, here and in other
//! files.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::eval::{Found, Place, Thing, Viewer};
use super::keys::Key;
use super::modules::{At, FileId, folder, is_init};
use super::sketch::{Binding, Expr, ExprId, MODULE, Name, Nature, ScopeId, ScopeKind, Use};
use super::tests_of;
use super::world::{Sketched, World};

/// How something is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Way {
    Call,
    /// It is named: passed on, kept, inherited from.
    Reference,
}

/// Something that a node of a file uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Link {
    /// The node, by its place in its file.
    pub(crate) from: u32,
    pub(crate) way: Way,
    pub(crate) is_sure: bool,
    /// What is used.
    pub(crate) to: Key,
    /// The first line on which it is.
    pub(crate) line: u32,
}

/// A method that is called on something of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Guess {
    pub(crate) from: u32,
    pub(crate) name: Name,
    pub(crate) line: u32,
}

/// What a file has to do with others, and with itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) links: Box<[Link]>,
    pub(crate) guesses: Box<[Guess]>,
    /// Methods, and what they override.
    pub(crate) overrides: Box<[(u32, Key)]>,
    /// Nodes of classes below some that are not of the workspace.
    pub(crate) open: Box<[u32]>,
    /// The modules it imports.
    pub(crate) imports: Box<[Key]>,
    /// What was looked up in other files on the way; sorted.
    pub(crate) saw: Box<[Key]>,
}

/// The links of a file.
pub(crate) fn links(world: &World, home: FileId) -> Links {
    let Some(file) = world.file(home) else {
        return Links::default();
    };
    let mut linker = Linker {
        viewer: Viewer::new(world, home),
        file,
        home,
        found: HashMap::new(),
        guesses: BTreeMap::new(),
    };
    for used in &file.sketch.uses {
        linker.used(used);
    }
    linker.fixtures();
    let (overrides, open) = linker.overrides();
    let imports = linker.imports();
    let mut links: Vec<Link> = linker
        .found
        .into_iter()
        .map(|((from, way, to), (is_sure, line))| Link {
            from,
            way,
            is_sure,
            to,
            line,
        })
        .collect();
    links.sort_unstable();
    let guesses = linker.guesses.into_iter();
    let saw: BTreeSet<Key> = linker.viewer.saw.into_inner().into_iter().collect();
    Links {
        links: links.into(),
        guesses: guesses
            .map(|((from, name), line)| Guess { from, name, line })
            .collect(),
        overrides,
        open,
        imports,
        saw: saw.into_iter().collect(),
    }
}

struct Linker<'w> {
    viewer: Viewer<'w>,
    file: &'w Sketched,
    home: FileId,
    /// What was found, with whether it is sure and its first line.
    found: HashMap<(u32, Way, Key), (bool, u32)>,
    guesses: BTreeMap<(u32, Name), u32>,
}

impl Linker<'_> {
    fn used(&mut self, used: &Use) {
        let sketch = &self.file.sketch;
        let place = (self.home, used.scope);
        let mut expr = used.expr;
        while let Expr::Attribute(value, _) = sketch.expr(expr) {
            if matches!(sketch.expr(value), Expr::Name(_) | Expr::Attribute(..)) {
                self.named(place, value, used, false);
            }
            expr = value;
        }
        self.named(place, used.expr, used, used.is_call);
    }

    fn named(&mut self, place: Place, expr: ExprId, used: &Use, is_call: bool) {
        let found = self.viewer.ask(place, expr);
        let is_sure = self.is_sure(&found);
        let way = if is_call { Way::Call } else { Way::Reference };
        let mut is_known = false;
        for thing in &found.things {
            is_known |= *thing != Thing::Unknown;
            match *thing {
                Thing::Function(function) => {
                    let is_property = self.viewer.nature(function) == Some(Nature::Property);
                    let way = if is_property { Way::Call } else { way };
                    self.link(used, way, function, is_sure);
                }
                Thing::Class(class) => {
                    self.link(used, Way::Reference, class, is_sure);
                    if is_call {
                        self.constructed(used, class, is_sure);
                    }
                }
                Thing::Instance(class) if is_call => {
                    self.method(used, class, "__call__", is_sure);
                }
                _ => {}
            }
        }
        let sketch = &self.file.sketch;
        if let Expr::Attribute(_, name) = sketch.expr(expr)
            && is_call
            && !is_known
            && !found.things.is_empty()
            && !super::vocabulary::is_common(sketch.names.get(name))
        {
            let from = self.file.node(used.scope);
            let line = self.guesses.entry((from, name)).or_insert(used.line);
            *line = used.line.min(*line);
        }
    }

    /// Whether there is one thing; definitions of one name in one file count as one.
    fn is_sure(&self, found: &Found) -> bool {
        let key = |thing: &Thing| match *thing {
            Thing::Function((file, scope)) | Thing::Class((file, scope)) => {
                self.viewer.sketched(file).map(|file| file.key(scope))
            }
            _ => None,
        };
        let first = found.things.first().and_then(key);
        let is_one = first.is_some() && found.things.iter().all(|thing| key(thing) == first);
        found.is_sure() || !found.is_unsure && is_one
    }

    /// A call of a class calls what makes its instances, or the class itself.
    fn constructed(&mut self, used: &Use, class: Place, is_sure: bool) {
        let mut is_made = false;
        for method in ["__init__", "__new__"] {
            is_made |= self.method(used, class, method, is_sure);
        }
        if !is_made && !self.method(used, class, "__post_init__", is_sure) {
            self.link(used, Way::Call, class, is_sure);
        }
    }

    fn method(&mut self, used: &Use, class: Place, name: &str, is_sure: bool) -> bool {
        let found = self.viewer.member(class, name, false, 0);
        let mut is_found = false;
        for thing in &found.things {
            if let Thing::Function(function) = *thing {
                is_found = true;
                let is_sure = is_sure && self.is_sure(&found);
                self.link(used, Way::Call, function, is_sure);
            }
        }
        is_found
    }

    fn link(&mut self, used: &Use, way: Way, (file, scope): Place, is_sure: bool) {
        let Some(target) = self.viewer.sketched(file) else {
            return;
        };
        let from = self.file.node(used.scope);
        let known = self.found.entry((from, way, target.key(scope)));
        let (sure, line) = known.or_insert((is_sure, used.line));
        *sure |= is_sure;
        *line = used.line.min(*line);
    }

    /// Methods that override others, and classes below some that are not of the workspace.
    fn overrides(&self) -> (Box<[(u32, Key)]>, Box<[u32]>) {
        let sketch = &self.file.sketch;
        let mut overrides = BTreeSet::new();
        let mut open = BTreeSet::new();
        for (id, scope) in (0..).zip(&sketch.scopes) {
            if scope.kind == ScopeKind::Class {
                self.viewer.begin();
                let ancestors = self.viewer.ancestors((self.home, id));
                if ancestors.before_outside.is_some() {
                    open.insert(self.file.node(id));
                }
            }
            if !sketch.is_method(id) {
                continue;
            }
            self.viewer.begin();
            let class = (self.home, scope.parent);
            let name = sketch.names.get(scope.name);
            let above = self.viewer.member(class, name, true, 0);
            for thing in above.things {
                if let Thing::Function((file, above)) = thing
                    && let Some(file) = self.viewer.sketched(file)
                {
                    overrides.insert((self.file.node(id), file.key(above)));
                }
            }
        }
        (overrides.into_iter().collect(), open.into_iter().collect())
    }

    /// The modules that are imported anywhere in the file; a module imports its package.
    fn imports(&self) -> Box<[Key]> {
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

    /// pytest gives a test the fixtures that its parameters name.
    fn fixtures(&mut self) {
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
