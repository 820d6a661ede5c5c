//! What an expression of a file is: a module, a class, an instance of one, a function.
//!
//! Everything that is looked up on the way is noted, so that it is known which changes can
//! lead to another result.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::keys::{Key, name_key};
use super::modules::{FileId, ModuleLocation};
use super::sketch::{Binding, Expr, ExprId, MODULE, Name, Nature, ScopeId, Sketch};
use super::world::{Sketched, World};

/// How many steps an answer may be away.
const MAX_DEPTH: u32 = 24;
/// How many steps may be taken for one answer.
const MAX_STEPS: u32 = 1_000;
/// How many things a name may be at once.
const MAX_THINGS: usize = 8;

/// A class or function, by its file and scope.
pub(crate) type Place = (FileId, ScopeId);

/// A class and those above it, in the order in which members are looked for.
#[derive(Debug, Default)]
pub(crate) struct Ancestors {
    pub classes: Vec<Place>,
    /// How many come before the first that is not of the workspace.
    pub(crate) before_outside: Option<usize>,
    /// Whether one that is not of the workspace may call what is below it: Python's own
    /// containers and exceptions do not.
    pub(crate) is_hooked: bool,
}

/// What an expression can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Thing {
    Module(ModuleLocation),
    Class(Place),
    Instance(Place),
    Function(Place),
    /// What `super()` gives in a class.
    Super(Place),
    /// Something that is not of the workspace.
    Outside,
    Unknown,
}

/// Everything that an expression can be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) things: Vec<Thing>,
    /// Something may stand in the way that nobody can see.
    pub(crate) is_unsure: bool,
}

impl Found {
    pub(super) fn one(thing: Thing) -> Self {
        Self {
            things: vec![thing],
            is_unsure: false,
        }
    }

    pub(super) fn add(&mut self, thing: Thing) {
        if !self.things.contains(&thing) && self.things.len() < MAX_THINGS {
            self.things.push(thing);
        }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        other.things.iter().for_each(|thing| self.add(*thing));
        self.is_unsure |= other.is_unsure;
    }

    /// Whether it is one thing and nothing else.
    pub(crate) fn is_sure(&self) -> bool {
        !self.is_unsure && self.things.len() == 1
    }
}

/// Looks at the world from one file.
pub(crate) struct Viewer<'w> {
    pub(super) world: &'w World,
    pub(super) home: FileId,
    pub(super) saw: RefCell<HashSet<Key>>,
    pub(super) ancestors: RefCell<HashMap<Place, Rc<Ancestors>>>,
    pub(super) modules: RefCell<HashMap<(FileId, Name), Option<ModuleLocation>>>,
    /// Names whose value is being looked for: they do not say anything about themselves.
    open: RefCell<Vec<(FileId, ScopeId, Name)>>,
    steps: Cell<u32>,
}

impl<'w> Viewer<'w> {
    pub(crate) fn new(world: &'w World, home: FileId) -> Self {
        Self {
            world,
            home,
            saw: RefCell::default(),
            ancestors: RefCell::default(),
            modules: RefCell::default(),
            open: RefCell::default(),
            steps: Cell::new(0),
        }
    }

    pub(super) fn sketched(&self, file: FileId) -> Option<&'w Sketched> {
        self.world.file(file)
    }

    pub(crate) fn sketch(&self, file: FileId) -> Option<&'w Sketch> {
        self.sketched(file).map(|file| &file.sketch)
    }

    pub(super) fn see(&self, key: Key) {
        self.saw.borrow_mut().insert(key);
    }

    /// Note that a name is looked up in a scope. The file's own names need no note: it is
    /// always resolved anew when it changes itself.
    pub(super) fn see_name(&self, (file, scope): Place, name: &str) {
        if file != self.home
            && let Some(sketched) = self.sketched(file)
        {
            self.see(name_key(sketched.key(scope), name));
        }
    }

    /// The beginning of a question, which may take all the steps there are.
    pub(crate) fn begin(&self) {
        self.steps.set(0);
    }

    /// What an expression is; a question of its own.
    pub(crate) fn ask(&self, place: Place, expr: ExprId) -> Found {
        self.begin();
        self.eval_raw(place, expr, 0)
    }

    pub(super) fn is_exhausted(&self, depth: u32) -> bool {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        depth > MAX_DEPTH || steps > MAX_STEPS
    }

    /// What an expression is, with what a property gives instead of its function.
    pub(super) fn eval(&self, place: Place, expr: ExprId, depth: u32) -> Found {
        let raw = self.eval_raw(place, expr, depth);
        let is_property = |thing: &Thing| match thing {
            Thing::Function(function) => self.nature(*function) == Some(Nature::Property),
            _ => false,
        };
        if !raw.things.iter().any(is_property) {
            return raw;
        }
        let mut found = Found {
            is_unsure: raw.is_unsure,
            things: Vec::new(),
        };
        for thing in raw.things {
            match thing {
                Thing::Function(function) if is_property(&thing) => {
                    found.extend(&self.returned(function, None, depth + 1));
                }
                other => found.add(other),
            }
        }
        found
    }

    /// What an expression is; a property is its function.
    fn eval_raw(&self, place: Place, expr: ExprId, depth: u32) -> Found {
        if self.is_exhausted(depth) {
            return Found::one(Thing::Unknown);
        }
        let Some(sketch) = self.sketch(place.0) else {
            return Found::one(Thing::Unknown);
        };
        match sketch.expr(expr) {
            Expr::Unknown => Found::one(Thing::Unknown),
            Expr::Literal => Found::one(Thing::Outside),
            Expr::Name(name) => self.name(place, name, depth),
            Expr::Attribute(value, name) => {
                let name = sketch.names.get(name);
                let receivers = self.eval(place, value, depth + 1);
                self.attributes(&receivers, name, depth)
            }
            Expr::Call(callee) => self.call(place, callee, depth),
        }
    }

    pub(super) fn nature(&self, (file, scope): Place) -> Option<Nature> {
        self.sketch(file)?.scope(scope).map(|scope| scope.nature)
    }

    fn name(&self, (file, from): Place, name: Name, depth: u32) -> Found {
        let Some(sketch) = self.sketch(file) else {
            return Found::one(Thing::Unknown);
        };
        let text = sketch.names.get(name);
        if file != self.home {
            let mut at = from;
            while let Some(scope) = sketch.scope(at) {
                self.see_name((file, at), text);
                if at == MODULE || !sketch.bound(at, name).is_empty() {
                    break;
                }
                at = scope.parent;
            }
        }
        if let Some(scope) = sketch.lexical(from, name) {
            return self.bound((file, scope), name, depth);
        }
        if text == "Self"
            && let Some(class) = sketch.class_around(from)
        {
            return Found::one(Thing::Class((file, class)));
        }
        let starred = self.starred(file, text, depth);
        starred.unwrap_or_else(|| Found::one(Thing::Outside))
    }

    /// A name of a scope.
    pub(super) fn bound(&self, (file, scope): Place, name: Name, depth: u32) -> Found {
        let Some(sketch) = self.sketch(file) else {
            return Found::one(Thing::Unknown);
        };
        let this = (file, scope, name);
        if self.open.borrow().contains(&this) {
            return Found::default();
        }
        self.open.borrow_mut().push(this);
        let mut found = Found::default();
        for (_, binding) in sketch.bound(scope, name) {
            found.extend(&self.binding(file, *binding, depth + 1));
        }
        self.open.borrow_mut().pop();
        // Of two ways to import the same thing, one mostly leads outside.
        if found.things.len() > 1 {
            found.things.retain(|thing| *thing != Thing::Outside);
            found.things.sort_unstable();
        }
        found
    }

    fn binding(&self, file: FileId, binding: Binding, depth: u32) -> Found {
        let unknown = || Found::one(Thing::Unknown);
        let Some(sketch) = self.sketch(file).filter(|_| !self.is_exhausted(depth)) else {
            return unknown();
        };
        match binding {
            Binding::Opaque | Binding::Parameter => unknown(),
            Binding::Nothing => Found::default(),
            Binding::Definition(scope) => {
                let is_class = sketch
                    .scope(scope)
                    .is_some_and(|s| s.kind == super::sketch::ScopeKind::Class);
                Found::one(match is_class {
                    true => Thing::Class((file, scope)),
                    false => Thing::Function((file, scope)),
                })
            }
            Binding::Module(module) => self.module_thing(file, module),
            Binding::Package(module) => {
                let first = sketch.names.get(module).split('.').next();
                let found = self.find_module(file, first.unwrap_or_default());
                Found::one(found.map_or(Thing::Outside, Thing::Module))
            }
            Binding::Import(module, name) => match self.module(file, module) {
                Some(at) => self.of_module(at, sketch.names.get(name), depth),
                None => Found::one(Thing::Outside),
            },
            Binding::Value(expr, scope) => self.eval((file, scope), expr, depth),
            Binding::Instance(expr, scope) => self.eval((file, scope), expr, depth).instances(),
            Binding::Me(class) => Found::one(Thing::Instance((file, class))),
            Binding::MyClass(class) => Found::one(Thing::Class((file, class))),
        }
    }

    fn attributes(&self, receivers: &Found, name: &str, depth: u32) -> Found {
        let mut found = Found {
            is_unsure: receivers.is_unsure,
            things: Vec::new(),
        };
        for receiver in &receivers.things {
            let one = match *receiver {
                Thing::Module(at) => self.of_module(at, name, depth + 1),
                Thing::Instance(class) if name == "__class__" => Found::one(Thing::Class(class)),
                Thing::Class(class) | Thing::Instance(class) => {
                    self.member(class, name, false, depth + 1)
                }
                Thing::Super(class) => self.member(class, name, true, depth + 1),
                Thing::Function(_) | Thing::Outside => Found::one(Thing::Outside),
                Thing::Unknown => Found::one(Thing::Unknown),
            };
            found.extend(&one);
        }
        found
    }

    /// What a call gives.
    fn call(&self, place: Place, callee: ExprId, depth: u32) -> Found {
        let Some(sketch) = self.sketch(place.0) else {
            return Found::one(Thing::Unknown);
        };
        if let Expr::Name(name) = sketch.expr(callee)
            && sketch.names.get(name) == "super"
            && sketch.lexical(place.1, name).is_none()
        {
            let class = sketch.class_around(place.1);
            return Found::one(class.map_or(Thing::Outside, |c| Thing::Super((place.0, c))));
        }
        let receiver = match sketch.expr(callee) {
            Expr::Attribute(value, _) => self.only_instance(place, value, depth + 1),
            _ => None,
        };
        let callees = self.eval(place, callee, depth + 1);
        let mut found = Found {
            is_unsure: callees.is_unsure,
            things: Vec::new(),
        };
        for callee in callees.things {
            let one = match callee {
                Thing::Class(class) => Found::one(Thing::Instance(class)),
                Thing::Function(function) => self.returned(function, receiver, depth + 1),
                Thing::Instance(class) => {
                    let called = self.member(class, "__call__", false, depth + 1);
                    let mut given = Found::default();
                    for thing in called.things {
                        match thing {
                            Thing::Function(f) => given.extend(&self.returned(f, None, depth + 1)),
                            other => given.add(other),
                        }
                    }
                    given
                }
                Thing::Outside => Found::one(Thing::Outside),
                Thing::Module(_) | Thing::Super(_) | Thing::Unknown => Found::one(Thing::Unknown),
            };
            found.extend(&one);
        }
        found
    }

    fn only_instance(&self, place: Place, value: ExprId, depth: u32) -> Option<Place> {
        match self.eval(place, value, depth).things[..] {
            [Thing::Instance(class) | Thing::Class(class)] => Some(class),
            _ => None,
        }
    }
}
