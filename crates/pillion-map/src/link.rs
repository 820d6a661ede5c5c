//! From the sketch of a file to its links: who in it calls or names what, here and in other
//! files.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pillion_index::facts::name_hash;

use super::eval::{Found, Place, Thing, Viewer};
use super::keys::Key;
use super::modules::{FileId, ModuleLocation};
use super::sketch::{Binding, Expr, ExprId, MODULE, Name, Nature, ScopeId, ScopeKind, Sketch, Use};
use super::world::{Sketched, World};

/// How something is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    Call,
    /// It is named: passed on, kept, inherited from.
    Reference,
}

/// Something that a node of a file uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Link {
    /// The node, by its place in its file.
    pub from: u32,
    pub way: Way,
    pub is_sure: bool,
    /// What is used.
    pub to: Key,
    /// The first line on which it is.
    pub line: u32,
}

/// A method that is called on something of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Guess {
    pub from: u32,
    pub name: Name,
    pub line: u32,
}

/// A name that is taken from something of which the words of the code do not say what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lost {
    /// [`name_hash`] of the name.
    pub own: u32,
    pub from: u32,
    pub(crate) is_call: bool,
    pub line: u32,
}

/// What a file has to do with others, and with itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) links: Box<[Link]>,
    pub(crate) guesses: Box<[Guess]>,
    /// Methods, and what they override.
    pub(crate) overrides: Box<[(Key, Key)]>,
    /// Classes, each with one above it, in the order in which members are looked for.
    pub(crate) bases: Box<[(u32, Key)]>,
    /// Nodes of classes below some that are not of the workspace.
    pub(crate) open: Box<[u32]>,
    /// Those of them whose methods may be called from above.
    pub(crate) hooked: Box<[u32]>,
    /// [`name_hash`] of what is taken from something that does not say where it is from.
    pub(crate) loose: Box<[u32]>,
    /// The same by who takes it, where a type checker is not asked; sorted.
    pub(crate) lost: Box<[Lost]>,
    /// The modules it imports.
    pub imports: Box<[Key]>,
    /// What was looked up in other files on the way; sorted.
    pub(crate) saw: Box<[Key]>,
}

impl Links {
    /// Whether a node of the file is known to call something.
    pub(crate) fn calls(&self, from: u32, is_meant: impl Fn(&Key) -> bool) -> bool {
        let start = self.links.partition_point(|link| link.from < from);
        let mut of_node = self.links[start..].iter().take_while(|l| l.from == from);
        of_node.any(|link| link.way == Way::Call && is_meant(&link.to))
    }
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
        loose: BTreeSet::new(),
        lost: BTreeSet::new(),
        variables: variables(&file.sketch),
    };
    for used in &file.sketch.uses {
        linker.used(used);
    }
    linker.fixtures();
    linker.offered();
    let (overrides, bases, (open, hooked)) = linker.overrides();
    let imports = linker.imports();
    let saw: BTreeSet<Key> = linker.viewer.saw.into_inner().into_iter().collect();
    Links {
        links: links_of(linker.found),
        guesses: guesses_of(linker.guesses),
        overrides,
        bases,
        open,
        hooked,
        loose: linker.loose.into_iter().collect(),
        lost: linker.lost.into_iter().collect(),
        imports,
        saw: saw.into_iter().collect(),
    }
}

/// Links as the reader of a file found them: whether each is sure, and its line.
pub(crate) type FoundLinks = HashMap<(u32, Way, Key), (bool, u32)>;

/// The links in order.
pub(crate) fn links_of(found: FoundLinks) -> Box<[Link]> {
    let mut links: Vec<Link> = found
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
    links.into()
}

/// The guesses in order, by who makes them and the name that they are about.
pub(crate) fn guesses_of(found: BTreeMap<(u32, Name), u32>) -> Box<[Guess]> {
    let guesses = found.into_iter();
    guesses
        .map(|((from, name), line)| Guess { from, name, line })
        .collect()
}

pub(super) struct Linker<'w> {
    pub(super) viewer: Viewer<'w>,
    pub(super) file: &'w Sketched,
    pub(super) home: FileId,
    /// What was found, with whether it is sure and its first line.
    found: FoundLinks,
    guesses: BTreeMap<(u32, Name), u32>,
    loose: BTreeSet<u32>,
    lost: BTreeSet<Lost>,
    /// The variables of the module.
    variables: HashMap<Name, ScopeId>,
}

fn variables(sketch: &Sketch) -> HashMap<Name, ScopeId> {
    let scopes = (0..).zip(&sketch.scopes);
    let variables = scopes.filter(|(_, scope)| scope.kind == ScopeKind::Variable);
    variables.map(|(id, scope)| (scope.name, id)).collect()
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
        self.variable(place, expr, used);
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
        let is_lost = |thing: &Thing| matches!(thing, Thing::Unknown | Thing::Outside);
        if let Expr::Attribute(receiver, name) = sketch.expr(expr)
            && (found.things.is_empty() || found.things.iter().any(is_lost))
        {
            let own = name_hash(sketch.names.get(name));
            self.loose.insert(own);
            self.asked_of_module(place, receiver, used);
            // The others are sites.
            if !sketch.is_unclear(place.1, receiver) {
                self.lost.insert(Lost {
                    own,
                    from: self.file.node(used.of),
                    is_call,
                    line: used.line,
                });
            }
        }
        if let Expr::Attribute(_, name) = sketch.expr(expr)
            && is_call
            && !is_known
            && !found.things.is_empty()
            && !super::vocabulary::is_common(sketch.names.get(name))
        {
            let from = self.file.node(used.of);
            let line = self.guesses.entry((from, name)).or_insert(used.line);
            *line = used.line.min(*line);
        }
    }

    /// What a module does not have, its `__getattr__` is asked for.
    fn asked_of_module(&mut self, place: Place, receiver: ExprId, used: &Use) {
        for thing in self.viewer.ask(place, receiver).things {
            let Thing::Module(at @ ModuleLocation::File(_)) = thing else {
                continue;
            };
            for thing in self.viewer.of_module(at, "__getattr__", 0).things {
                if let Thing::Function(function) = thing {
                    self.link(used, Way::Call, function, false);
                }
            }
        }
    }

    /// Who names a variable of a module uses what it was given.
    fn variable(&mut self, (file, scope): Place, expr: ExprId, used: &Use) {
        let sketch = &self.file.sketch;
        let found = match sketch.expr(expr) {
            Expr::Name(name) if sketch.lexical(scope, name) == Some(MODULE) => {
                match self.variables.get(&name) {
                    Some(own) => Some((file, *own)),
                    None => self.imported(name),
                }
            }
            Expr::Attribute(value, name) => {
                let name = sketch.names.get(name);
                let receivers = self.viewer.ask((file, scope), value);
                receivers.things.iter().find_map(|thing| match *thing {
                    Thing::Module(ModuleLocation::File(module)) => {
                        self.viewer.variable(module, name)
                    }
                    _ => None,
                })
            }
            Expr::Name(name) => sketch
                .lexical(scope, name)
                .and_then(|at| self.imported_in(at, name)),
            _ => None,
        };
        let is_itself =
            |place: &Place| place.0 == file && self.file.node(place.1) == self.file.node(used.of);
        if let Some(variable) = found.filter(|place| !is_itself(place)) {
            self.link(used, Way::Reference, variable, true);
        }
    }

    fn imported(&self, name: Name) -> Option<Place> {
        self.imported_in(MODULE, name)
    }

    /// The variable of another module that a name is imported from.
    fn imported_in(&self, scope: ScopeId, name: Name) -> Option<Place> {
        let sketch = &self.file.sketch;
        let mut bound = sketch.bound(scope, name).iter();
        bound.find_map(|(_, binding)| match *binding {
            Binding::Import(module, name) => match self.viewer.module(self.home, module)? {
                ModuleLocation::File(file) => self.viewer.variable(file, sketch.names.get(name)),
                ModuleLocation::Folder(_) => None,
            },
            _ => None,
        })
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

    pub(super) fn link(&mut self, used: &Use, way: Way, (file, scope): Place, is_sure: bool) {
        let Some(target) = self.viewer.sketched(file) else {
            return;
        };
        let from = self.file.node(used.of);
        let known = self.found.entry((from, way, target.key(scope)));
        let (sure, line) = known.or_insert((is_sure, used.line));
        *sure |= is_sure;
        *line = used.line.min(*line);
    }
}
