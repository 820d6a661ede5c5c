//! What a definition does when its module is imported: a decorator that enters it somewhere, a
//! base that keeps a list of its subclasses.
//!
//! Where the old module does not import the new one, nobody may import that in time, and what
//! was entered before is not there any more. Whoever moves such a definition is told.

use std::path::Path;

use pillion_index::modules::{Modules, join};
use pillion_index::parsed::parsed;
use pillion_index::source::{Position, Source, Span};
use pillion_index::{Facts, Kind};
use pillion_symbols::project::View;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Decorator, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::cycles::Imports;
use super::text::Text;

/// Modules whose decorators only change what they are given.
const QUIET: &[&str] = &[
    "__future__",
    "abc",
    "asyncio",
    "attr",
    "attrs",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "pytest",
    "types",
    "typing",
    "typing_extensions",
    "unittest",
    "warnings",
];
/// Methods that enter something into what others have.
const ENTERS: &[&str] = &[
    "add",
    "append",
    "extend",
    "insert",
    "register",
    "setdefault",
    "update",
];
/// Methods of a property that make another of it.
const ACCESSORS: &[&str] = &["setter", "getter", "deleter"];
/// Classes above a class that are looked at.
const MAX_BASES: usize = 50;

/// A module, and the others around it.
pub(super) struct RegisteredDefinition<'a> {
    pub(super) view: &'a View,
    pub(super) modules: &'a Modules,
    pub(super) origin: &'a Text,
}

/// Where definitions of a module in these parts of it are entered somewhere.
pub(super) fn places(of: &RegisteredDefinition<'_>, pieces: &[TextRange]) -> Vec<TextRange> {
    let text = of.origin.source.text();
    parsed(text, &of.origin.file, |parsed| {
        let moved = parsed.body().iter().filter(|stmt| {
            let mut pieces = pieces.iter();
            pieces.any(|piece| piece.contains_range(stmt.range()))
        });
        moved.flat_map(|stmt| entries(of, stmt)).collect()
    })
}

/// The decorators that make fixtures of definitions in these parts of a module.
pub(super) fn fixtures(of: &RegisteredDefinition<'_>, pieces: &[TextRange]) -> Vec<TextRange> {
    let text = of.origin.source.text();
    parsed(text, &of.origin.file, |parsed| {
        let moved = parsed.body().iter().filter(|stmt| {
            let mut pieces = pieces.iter();
            pieces.any(|piece| piece.contains_range(stmt.range()))
        });
        moved.filter_map(fixture).collect()
    })
}

/// What enters a definition somewhere, with its place, if it is one whose name stands here.
pub fn entered(view: &View, file: &str, source: &Source, name_at: Position) -> Option<Span> {
    struct Finder<'a, 'v> {
        of: &'a RegisteredDefinition<'v>,
        at: usize,
        found: Option<TextRange>,
    }
    impl<'a> Visitor<'a> for Finder<'_, '_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let name = match stmt {
                Stmt::FunctionDef(function) => &function.name,
                Stmt::ClassDef(class) => &class.name,
                _ => return visitor::walk_stmt(self, stmt),
            };
            match name.range.start().to_usize() == self.at {
                true => self.found = entries(self.of, stmt).into_iter().next(),
                false => visitor::walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let modules = Modules::of(&view.index);
    let origin = Text::new(file, Source::from_text(source.text()));
    let of = RegisteredDefinition {
        view,
        modules: &modules,
        origin: &origin,
    };
    let mut finder = Finder {
        at: source.offset(name_at)?,
        of: &of,
        found: None,
    };
    parsed(source.text(), file, |parsed| {
        finder.visit_body(parsed.body());
    });
    finder.found.map(|range| super::span_of(source, range))
}

/// The decorators and bases by which a definition is entered somewhere.
fn entries(of: &RegisteredDefinition<'_>, stmt: &Stmt) -> Vec<TextRange> {
    let (decorators, bases) = match stmt {
        Stmt::FunctionDef(function) => (&function.decorator_list, &[][..]),
        Stmt::ClassDef(class) => (&class.decorator_list, class.bases()),
        _ => return Vec::new(),
    };
    let decorators = decorators.iter().filter(|decorator| enters(of, decorator));
    let bases = bases.iter().filter(|base| knows_subclasses(of, base));
    decorators
        .map(Ranged::range)
        .chain(bases.map(Ranged::range))
        .collect()
}

/// The decorator that makes a function a fixture: pytest looks for those in `conftest.py`, and
/// in what a module of tests has.
fn fixture(stmt: &Stmt) -> Option<TextRange> {
    let Stmt::FunctionDef(function) = stmt else {
        return None;
    };
    let mut decorators = function.decorator_list.iter();
    let found = decorators.find(|decorator| {
        let called = match &decorator.expression {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        match called {
            Expr::Name(name) => name.id == "fixture",
            Expr::Attribute(attribute) => &*attribute.attr == "fixture",
            _ => false,
        }
    });
    found.map(Ranged::range)
}

/// Whether a module imports another one whenever it is imported.
pub(super) fn imports(of: &RegisteredDefinition<'_>, from: &str, to: &str) -> bool {
    let read = |file: &str| Some(of.view.source(Path::new(file))?.text().to_owned());
    let mut graph = Imports::new(of.modules, read);
    let first = graph.of(from).clone();
    graph.way(&first, |key| key == to).is_some()
}

fn name_of(expr: &Expr) -> Option<(&str, bool)> {
    match expr {
        Expr::Name(name) => Some((&name.id, false)),
        Expr::Attribute(attribute) => Some((name_of(&attribute.value)?.0, true)),
        Expr::Call(call) => name_of(&call.func),
        Expr::Subscript(subscript) => name_of(&subscript.value),
        _ => None,
    }
}

/// Whether a decorator may do more than change what it is given.
fn enters(of: &RegisteredDefinition<'_>, decorator: &Decorator) -> bool {
    let called = match &decorator.expression {
        Expr::Call(call) => &*call.func,
        other => other,
    };
    let is_register = |expr: &Expr| {
        let attribute = expr.as_attribute_expr();
        attribute.is_some_and(|attribute| &*attribute.attr == "register")
    };
    if is_register(called) {
        return true;
    }
    let Some((head, is_dotted)) = name_of(called) else {
        return true;
    };
    let Some((statement, imported)) = of.origin.import_of(head) else {
        let is_own = of.origin.scopes.module_bindings().contains_key(head);
        // What is taken from a name of the class may keep what it decorates: `@port.validator`.
        let last = called.as_attribute_expr().map(|a| a.attr.as_str());
        let is_accessor = last.is_some_and(|last| ACCESSORS.contains(&last));
        return match is_dotted {
            true => !is_accessor,
            false => is_own && enters_itself(of.origin, head),
        };
    };
    let module = statement.from.as_ref();
    let module = module.map_or(&*imported.name, |(module, _)| module);
    if QUIET.contains(&module.split('.').next().unwrap_or_default()) {
        // pytest uses such a fixture without being asked.
        let call = decorator.expression.as_call_expr();
        return call.is_some_and(|call| call.arguments.find_keyword("autouse").is_some());
    }
    let Some(target) = of.modules.find(&of.origin.file, module) else {
        return true;
    };
    if statement.from.is_none() || is_dotted {
        return true;
    }
    let text = of.modules.file(&target.key).and_then(|file| {
        let source = of.view.source(Path::new(file))?;
        Some(Text::new(file, source))
    });
    text.is_none_or(|text| enters_itself(&text, &imported.name))
}

/// Whether a function of a module enters something anywhere; one that is not found may.
fn enters_itself(text: &Text, name: &str) -> bool {
    struct Finder(bool);
    impl<'a> Visitor<'a> for Finder {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let stores = |expr: &Expr| expr.is_subscript_expr();
            self.0 |= match stmt {
                Stmt::Global(_) => true,
                Stmt::Assign(assign) => assign.targets.iter().any(stores),
                Stmt::AugAssign(assign) => stores(&assign.target),
                _ => false,
            };
            visitor::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr
                && let Expr::Attribute(method) = &*call.func
            {
                self.0 |= ENTERS.contains(&&*method.attr);
            }
            visitor::walk_expr(self, expr);
        }
    }
    parsed(text.source.text(), &text.file, |parsed| {
        let function = parsed.body().iter().find_map(|stmt| match stmt {
            Stmt::FunctionDef(function) if *function.name == *name => Some(function),
            _ => None,
        });
        function.is_none_or(|function| {
            let mut finder = Finder(false);
            finder.visit_body(&function.body);
            finder.0
        })
    })
}

/// Whether a class of the workspace, or one above it, asks to be told of its subclasses.
fn knows_subclasses(of: &RegisteredDefinition<'_>, base: &Expr) -> bool {
    let Some((head, false)) = name_of(base) else {
        return false;
    };
    let mut open = vec![(of.origin.file.clone(), head.to_owned())];
    let mut seen = 0;
    while let Some((file, name)) = open.pop() {
        seen += 1;
        let Some(facts) = of.view.index.get(&file).filter(|_| seen < MAX_BASES) else {
            continue;
        };
        let is_it = |symbol: &&pillion_index::Symbol| {
            symbol.container.is_none() && symbol.kind == Kind::Class && *symbol.name == *name
        };
        match facts.symbols.iter().position(|symbol| is_it(&symbol)) {
            Some(at) if asks(facts, at) => return true,
            Some(at) => {
                let bases = facts.symbols[at].bases.iter();
                open.extend(bases.map(|base| (file.clone(), base.to_string())));
            }
            None => open.extend(imported(of, &file, facts, &name)),
        }
    }
    false
}

/// The module and the name that an imported name comes from.
pub(super) fn imported(
    of: &RegisteredDefinition<'_>,
    file: &str,
    facts: &Facts,
    name: &str,
) -> Option<(String, String)> {
    facts.imports.iter().find_map(|import| {
        let taken = import.name.as_ref()?;
        let bound = import.alias.as_ref().unwrap_or(taken);
        if **bound != *name {
            return None;
        }
        let target = of.modules.find(file, &import.module)?;
        let inner = join(&target.key, taken);
        let file = of
            .modules
            .file(&target.key)
            .filter(|_| !of.modules.has(&inner))?;
        Some((file.to_owned(), taken.to_string()))
    })
}

fn asks(facts: &Facts, at: usize) -> bool {
    let class = &facts.symbols[at];
    let head = class.signature.as_deref().unwrap_or_default();
    let has_metaclass = head.contains("metaclass=") && !head.contains("ABCMeta");
    let mut inner = facts.symbols.iter().filter(|symbol| {
        let container = facts.container(symbol);
        container == Some(at)
    });
    has_metaclass || inner.any(|symbol| &*symbol.name == "__init_subclass__")
}
