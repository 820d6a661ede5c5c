//! What functions return.

use super::eval::{Found, Place, Thing, Viewer};
use super::sketch::{Binding, Expr, Head, Nature};

impl Viewer<'_> {
    /// What a function returns; a method that returns itself returns its receiver.
    pub(super) fn returned(&self, function: Place, receiver: Option<Place>, depth: u32) -> Found {
        let unknown = || Found::one(Thing::Unknown);
        let (file, scope) = function;
        let Some(sketch) = self.sketch(file).filter(|_| !self.is_exhausted(depth)) else {
            return unknown();
        };
        let Some(definition) = sketch.scope(scope) else {
            return unknown();
        };
        if definition.nature == Nature::Decorated || definition.heads.is_empty() {
            return unknown();
        }
        let mut found = Found::default();
        for head in &definition.heads {
            let (place, expr) = match *head {
                Head::Annotated(expr) | Head::Base(expr) => ((file, definition.parent), expr),
                Head::Returned(expr) => ((file, scope), expr),
            };
            let is_self = match sketch.expr(expr) {
                Expr::Name(name) => {
                    let bound = sketch.bound(scope, name);
                    let is_me = matches!(bound, [(_, Binding::Me(_))]);
                    sketch.names.get(name) == "Self" || is_me && matches!(head, Head::Returned(_))
                }
                _ => false,
            };
            let one = match (receiver, head) {
                (Some(class), _) if is_self => Found::one(Thing::Instance(class)),
                (_, Head::Returned(_)) => self.eval(place, expr, depth),
                _ => self.eval(place, expr, depth).instances(),
            };
            found.extend(&one);
        }
        found
    }
}

impl Found {
    /// Instances of the classes that were found.
    pub(super) fn instances(mut self) -> Self {
        for thing in &mut self.things {
            *thing = match *thing {
                Thing::Class(class) => Thing::Instance(class),
                Thing::Outside => Thing::Outside,
                _ => Thing::Unknown,
            };
        }
        self
    }
}
