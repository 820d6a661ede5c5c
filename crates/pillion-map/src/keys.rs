//! Numbers for what files look up in one another, and for what is found there.
//!
//! A file is resolved anew if one of the keys that it looked at now leads to something else.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use super::sketch::{Binding, Expr, ExprId, Head, Scope, ScopeId, ScopeKind, Sketch};

/// A number for something that can be looked up; for a scope also for what it defines.
pub(crate) type Key = u64;

/// A map from keys, which are numbers that need no more mixing.
pub(crate) type ByKey<T> = HashMap<Key, T, BuildHasherDefault<AsIs>>;

/// Takes a key for its own hash.
#[derive(Debug, Default)]
pub(crate) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

fn number(value: impl Hash) -> Key {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A path at which a module may be.
pub(crate) fn path_key(path: &str) -> Key {
    number((1_u8, path))
}

/// The first part of a module's name.
pub(crate) fn top_key(name: &str) -> Key {
    number((2_u8, name))
}

/// A name in a scope.
pub(crate) fn name_key(scope: Key, name: &str) -> Key {
    number((3_u8, scope, name))
}

/// What a module takes from others with a star, and what it offers itself.
pub(crate) fn stars_key(module: Key) -> Key {
    number((4_u8, module))
}

/// The names that a class has.
pub(crate) fn members_key(class: Key) -> Key {
    number((7_u8, class))
}

/// A definition: the same as long as its file and its name are.
pub(crate) fn scope_key(path: &str, qualified: &str) -> Key {
    number((5_u8, path, qualified))
}

/// A variable of a module: a function of the same name is something else.
pub(crate) fn variable_key(path: &str, name: &str) -> Key {
    number((8_u8, path, name))
}

/// What a module has for tests that do not ask for it.
pub(crate) fn autouse_key(module: Key) -> Key {
    number((9_u8, module))
}

/// The key of each scope of a file.
pub(crate) fn scope_keys(path: &str, sketch: &Sketch) -> Box<[Key]> {
    let key = |(id, scope): (ScopeId, &Scope)| {
        let qualified = sketch.qualified(id);
        match scope.kind {
            ScopeKind::Inner => number((6_u8, path, qualified, id)),
            ScopeKind::Variable => variable_key(path, &qualified),
            _ => scope_key(path, &qualified),
        }
    };
    (0..).zip(&sketch.scopes).map(key).collect()
}

/// What each key of a file leads to.
pub(crate) fn fingerprints(sketch: &Sketch, keys: &[Key]) -> HashMap<Key, u64> {
    let mut all: HashMap<Key, u64> = HashMap::new();
    let print = Prints { sketch, keys };
    for (scope, key) in sketch.scopes.iter().zip(keys) {
        if scope.kind == ScopeKind::Class {
            let names: Vec<&str> = scope
                .bindings
                .iter()
                .map(|(name, _)| sketch.names.get(*name))
                .collect();
            let sum = all.entry(members_key(*key)).or_default();
            *sum = sum.wrapping_add(number(names));
        }
        if scope.kind == ScopeKind::Variable
            && let Some(module) = keys.first()
        {
            let sum = all
                .entry(name_key(*module, sketch.names.get(scope.name)))
                .or_default();
            *sum = sum.wrapping_add(number((11_u8, *key)));
        }
        for (name, binding) in &scope.bindings {
            let key = name_key(*key, sketch.names.get(*name));
            let sum = all.entry(key).or_default();
            *sum = sum.wrapping_add(print.binding(*binding));
        }
    }
    let text = |name: &u32| sketch.names.get(*name);
    let stars: Vec<&str> = sketch.stars.iter().map(text).collect();
    let offered: Option<Vec<&str>> = sketch
        .all
        .as_ref()
        .map(|all| all.iter().map(text).collect());
    if let Some(module) = keys.first() {
        all.insert(stars_key(*module), number((stars, offered)));
        let autouse = sketch.fixtures.iter().filter(|fixture| fixture.autouse);
        let autouse: Vec<Key> = autouse.map(|fixture| print.key(fixture.scope)).collect();
        all.insert(autouse_key(*module), number(autouse));
        for fixture in &sketch.fixtures {
            let sum = all
                .entry(name_key(*module, text(&fixture.name)))
                .or_default();
            *sum = sum.wrapping_add(number((print.key(fixture.scope), fixture.autouse)));
        }
    }
    all
}

struct Prints<'a> {
    sketch: &'a Sketch,
    keys: &'a [Key],
}

impl Prints<'_> {
    fn key(&self, scope: ScopeId) -> Key {
        self.keys.get(scope as usize).copied().unwrap_or_default()
    }

    fn binding(&self, binding: Binding) -> u64 {
        let text = |name| self.sketch.names.get(name);
        match binding {
            Binding::Opaque => 1,
            Binding::Nothing => 2,
            Binding::Parameter => 3,
            Binding::Definition(scope) => self.definition(scope),
            Binding::Module(module) => number((4_u8, text(module))),
            Binding::Package(module) => number((5_u8, text(module))),
            Binding::Import(module, name) => number((6_u8, text(module), text(name))),
            Binding::Value(expr, scope) => number((7_u8, self.expr(expr), self.key(scope))),
            Binding::Instance(expr, scope) => number((8_u8, self.expr(expr), self.key(scope))),
            Binding::Me(class) => number((9_u8, self.key(class))),
            Binding::MyClass(class) => number((10_u8, self.key(class))),
        }
    }

    fn definition(&self, id: ScopeId) -> u64 {
        let Some(scope) = self.sketch.scope(id) else {
            return 0;
        };
        let heads: Vec<(u8, u64)> = scope
            .heads
            .iter()
            .map(|head| match head {
                Head::Base(expr) => (1, self.expr(*expr)),
                Head::Annotated(expr) => (2, self.expr(*expr)),
                Head::Returned(expr) => (3, self.expr(*expr)),
            })
            .collect();
        let decorators: Vec<u64> = scope.decorators.iter().map(|d| self.expr(*d)).collect();
        number((self.key(id), scope.kind, scope.nature, heads, decorators))
    }

    fn expr(&self, id: ExprId) -> u64 {
        let text = |name| self.sketch.names.get(name);
        match self.sketch.expr(id) {
            Expr::Unknown => 1,
            Expr::Literal => 2,
            Expr::Name(name) => number((3_u8, text(name))),
            Expr::Attribute(value, name) => number((4_u8, self.expr(value), text(name))),
            Expr::Call(value) => number((5_u8, self.expr(value))),
        }
    }
}
