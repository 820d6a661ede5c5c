//! Members of classes, looked for in a class and the classes above it.

use std::rc::Rc;

use super::eval::{Ancestors, Found, Place, Thing, Viewer};
use super::sketch::{Expr, Head, Name};

/// How many classes may be above one.
const MAX_CLASSES: usize = 100;

/// Bases that have no members to speak of.
const EMPTY: &[&str] = &[
    "object",
    "ABC",
    "Generic",
    "Protocol",
    "NamedTuple",
    "TypedDict",
];

/// Whether a base of Python's own does not call what classes below it add.
fn is_passive(base: &str) -> bool {
    let is_exception = ["Error", "Exception", "Warning"];
    PASSIVE.contains(&base) || is_exception.iter().any(|end| base.ends_with(end))
}

/// Python's own types that are only inherited from for what they have.
const PASSIVE: &[&str] = &[
    "dict",
    "list",
    "set",
    "frozenset",
    "tuple",
    "str",
    "bytes",
    "bytearray",
    "int",
    "float",
    "Enum",
    "IntEnum",
    "StrEnum",
    "Flag",
    "IntFlag",
    "OrderedDict",
    "defaultdict",
    "deque",
    "Counter",
];

impl Viewer<'_> {
    /// A class and those above it. A class that is reached in several ways comes after all
    /// that lead to it, as in Python.
    pub(crate) fn ancestors(&self, class: Place) -> Rc<Ancestors> {
        if let Some(known) = self.ancestors.borrow().get(&class) {
            return Rc::clone(known);
        }
        // For a class that is among its own bases.
        self.ancestors.borrow_mut().insert(class, Rc::default());
        let mut path = Vec::new();
        let mut line: Vec<Option<Place>> = Vec::new();
        let mut ancestors = Ancestors::default();
        self.climb(class, &mut line, &mut path, &mut ancestors.is_hooked);
        for (at, place) in line.iter().enumerate() {
            match place {
                None => {
                    let before = ancestors.classes.len();
                    ancestors.before_outside.get_or_insert(before);
                }
                Some(place) if line[at + 1..].contains(&Some(*place)) => {}
                Some(place) => ancestors.classes.push(*place),
            }
        }
        let ancestors = Rc::new(ancestors);
        self.ancestors
            .borrow_mut()
            .insert(class, Rc::clone(&ancestors));
        ancestors
    }

    fn climb(
        &self,
        class: Place,
        line: &mut Vec<Option<Place>>,
        path: &mut Vec<Place>,
        is_hooked: &mut bool,
    ) {
        if path.contains(&class) || line.len() >= MAX_CLASSES {
            return;
        }
        line.push(Some(class));
        let (file, scope) = class;
        let Some(sketch) = self.sketched(file).map(|file| &file.sketch) else {
            return;
        };
        let Some(definition) = sketch.scope(scope) else {
            return;
        };
        path.push(class);
        for head in &definition.heads {
            let Head::Base(base) = *head else {
                continue;
            };
            let last = match sketch.expr(base) {
                Expr::Name(name) | Expr::Attribute(_, name) => sketch.names.get(name),
                _ => "",
            };
            let found = self.eval((file, definition.parent), base, 1);
            let mut is_class = false;
            for thing in found.things {
                if let Thing::Class(above) = thing {
                    is_class = true;
                    self.climb(above, line, path, is_hooked);
                }
            }
            if !is_class && !EMPTY.contains(&last) {
                *is_hooked |= !is_passive(last);
                line.push(None);
            }
        }
        path.pop();
    }

    /// The class that has a member, and its name there; whether another may come first.
    pub(crate) fn holder(
        &self,
        class: Place,
        name: &str,
        above: bool,
    ) -> Option<(Place, Name, bool)> {
        let ancestors = self.ancestors(class);
        let skip = usize::from(above);
        for (at, place) in ancestors.classes.iter().enumerate().skip(skip) {
            self.see_name(*place, name);
            let Some(sketched) = self.sketched(place.0) else {
                continue;
            };
            let Some(id) = sketched.sketch.names.find(name) else {
                continue;
            };
            if !sketched.sketch.bound(place.1, id).is_empty() {
                let is_unsure = ancestors.before_outside.is_some_and(|before| before <= at);
                return Some((*place, id, is_unsure));
            }
        }
        None
    }

    /// A member of a class, or of the classes above it.
    pub(super) fn member(&self, class: Place, name: &str, above: bool, depth: u32) -> Found {
        match self.holder(class, name, above) {
            Some((place, id, is_unsure)) => {
                let mut found = self.bound(place, id, depth + 1);
                found.is_unsure |= is_unsure;
                found
            }
            // The class itself says that it may have anything.
            None if self.holder(class, "__getattr__", false).is_some() => {
                Found::one(Thing::Unknown)
            }
            // Python's own, or one that is made at run time: nobody can tell from here.
            None => Found::one(Thing::Outside),
        }
    }
}
