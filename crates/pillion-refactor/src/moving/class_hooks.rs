//! What a module changes about how classes are made, once a class of its own has been made.
//!
//! A module may set the hooks of a metaclass or a base below its classes:
//! `NodeType.__new__ = failing`. A class that moves out of it is made when the new module is
//! imported, and that imports the old one first; so it is made in another way than before.

use pillion_index::Kind;
use pillion_index::modules::Modules;
use pillion_index::parsed::parsed;
use pillion_symbols::project::View;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::registering::{RegisteredDefinition, imported};
use super::text::Text;

/// Classes above a class that are looked at.
const MAX_CLASSES: usize = 50;
/// What of a base takes part in making a class below it.
const HOOKS: &[&str] = &["__class__", "__init_subclass__"];

/// Where a module changes how a class in one of these parts of it is made, after it was.
pub(super) fn places(
    (view, modules): (&View, &Modules),
    origin: &Text,
    pieces: &[TextRange],
) -> Vec<TextRange> {
    let of = RegisteredDefinition {
        view,
        modules,
        origin,
    };
    parsed(origin.source.text(), &origin.file, |parsed| {
        let body = parsed.body();
        let moves = |stmt: &Stmt| {
            let mut pieces = pieces.iter();
            pieces.any(|piece| piece.contains_range(stmt.range()))
        };
        let classes = body.iter().filter_map(|stmt| match stmt {
            Stmt::ClassDef(class) if moves(stmt) => Some(class),
            _ => None,
        });
        let mut found = Vec::new();
        for class in classes {
            let above = Above::of(&of, &class.name);
            let mut finder = Stores {
                of: &of,
                above: &above,
                found: &mut found,
            };
            let later = body.iter().filter(|stmt| stmt.start() >= class.end());
            later.for_each(|stmt| finder.visit_stmt(stmt));
        }
        found
    })
}

/// The classes above one, and those that make it; each as its file and name.
#[derive(Default)]
struct Above {
    bases: Vec<(String, String)>,
    makers: Vec<(String, String)>,
}

impl Above {
    fn of(of: &RegisteredDefinition<'_>, class: &str) -> Self {
        let mut above = Self::default();
        let mut open = vec![(of.origin.file.clone(), class.to_owned(), false)];
        while let Some((file, name, makes)) = open.pop() {
            let known = above.bases.len() + above.makers.len();
            let Some((file, name)) = defined(of, &file, &name) else {
                continue;
            };
            let into = match makes {
                true => &mut above.makers,
                false => &mut above.bases,
            };
            let own = (file.clone(), name.clone());
            if known >= MAX_CLASSES || into.contains(&own) {
                continue;
            }
            into.push(own);
            let Some(facts) = of.view.index.get(&file) else {
                continue;
            };
            let is_it = |s: &&pillion_index::Symbol| {
                s.container.is_none() && s.kind == Kind::Class && *s.name == *name
            };
            let Some(symbol) = facts.symbols.iter().find(is_it) else {
                continue;
            };
            let bases = symbol.bases.iter();
            open.extend(bases.map(|base| (file.clone(), base.to_string(), makes)));
            let head = symbol.signature.as_deref().unwrap_or_default();
            let maker = head.split("metaclass=").nth(1).map(first_name);
            open.extend(maker.map(|maker| (file.clone(), maker.to_owned(), true)));
        }
        above
    }
}

/// The name that a text begins with.
fn first_name(text: &str) -> &str {
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

/// The file and name under which a name of a file is a class.
fn defined(of: &RegisteredDefinition<'_>, file: &str, name: &str) -> Option<(String, String)> {
    let (mut file, mut name) = (file.to_owned(), name.to_owned());
    for _ in 0..MAX_CLASSES {
        let facts = of.view.index.get(&file)?;
        let mut symbols = facts.symbols.iter();
        if symbols.any(|s| s.container.is_none() && s.kind == Kind::Class && *s.name == *name) {
            return Some((file, name));
        }
        (file, name) = imported(of, &file, facts, &name)?;
    }
    None
}

struct Stores<'a, 'b> {
    of: &'a RegisteredDefinition<'b>,
    above: &'a Above,
    found: &'a mut Vec<TextRange>,
}

impl Stores<'_, '_> {
    fn store(&mut self, class: &Expr, attribute: &str, range: TextRange) {
        let Expr::Name(class) = class else {
            return;
        };
        let Some(class) = defined(self.of, &self.of.origin.file, &class.id) else {
            return;
        };
        let is_hook = HOOKS.contains(&attribute) && self.above.bases.contains(&class);
        if (is_hook || self.above.makers.contains(&class)) && !self.found.contains(&range) {
            self.found.push(range);
        }
    }
}

impl<'a> Visitor<'a> for Stores<'_, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        // What a function does it does when it is called, and a class has names of its own.
        if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            visitor::walk_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Attribute(attribute) if !attribute.ctx.is_load() => {
                self.store(&attribute.value, &attribute.attr, attribute.range);
            }
            Expr::Call(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => "",
                };
                let args = &*call.arguments.args;
                let sets = matches!(name, "setattr" | "delattr" | "__setattr__" | "__delattr__");
                if let ([class, Expr::StringLiteral(attribute), ..], true) = (args, sets) {
                    self.store(class, attribute.value.to_str(), call.range());
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
