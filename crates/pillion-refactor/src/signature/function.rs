//! A function as its file has it.

use std::ops::Range;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Parameters, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::parameters::{Kind, Parameter, parameters};

/// How a function gets its first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// No method: all arguments stand in the call.
    Free,
    /// A method: the object, unless the class is asked for it.
    Instance,
    /// A method that always gets the class.
    Class,
    /// A method that gets nothing.
    Static,
}

/// What is known about a function.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) sort: Sort,
    /// The parameter that Python fills.
    pub(super) first: Option<String>,
    /// The others.
    pub(super) parameters: Vec<Parameter>,
    /// Its decorators by their last names.
    pub(super) decorators: Vec<String>,
}

impl Function {
    pub(super) fn of(function: &StmtFunctionDef, class: Option<&StmtClassDef>) -> Self {
        let decorators: Vec<String> = function
            .decorator_list
            .iter()
            .filter_map(|decorator| last_name(&decorator.expression))
            .map(ToOwned::to_owned)
            .collect();
        let has = |name: &str| decorators.iter().any(|decorator| decorator == name);
        let sort = match class {
            None => Sort::Free,
            Some(_) if has("staticmethod") => Sort::Static,
            Some(_) if has("classmethod") => Sort::Class,
            Some(_) => Sort::Instance,
        };
        let mut parameters = parameters(function);
        let takes_first = matches!(sort, Sort::Instance | Sort::Class);
        let has_first = parameters.first().is_some_and(|p| p.kind.is_positional());
        let first = (takes_first && has_first).then(|| parameters.remove(0).name);
        Self {
            sort,
            first,
            parameters,
            decorators,
        }
    }

    /// A method whose `self` comes through `*args`.
    pub(super) fn hides_first(&self) -> bool {
        matches!(self.sort, Sort::Instance | Sort::Class) && self.first.is_none()
    }

    /// The parameters with the first one, for calls that pass it.
    pub(super) fn unbound(&self, parameters: &[Parameter]) -> Vec<Parameter> {
        let first = self.first.iter().map(|name| Parameter {
            name: name.clone(),
            kind: Kind::PositionalOnly,
            has_default: false,
            added: None,
        });
        first.chain(parameters.iter().cloned()).collect()
    }
}

pub(super) fn start(range: TextRange) -> usize {
    range.start().to_usize()
}

pub(super) fn offsets(range: TextRange) -> Range<usize> {
    range.start().to_usize()..range.end().to_usize()
}

/// The last name of a dotted one; of a call, that of what is called.
pub(super) fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        Expr::Call(call) => last_name(&call.func),
        Expr::Subscript(subscript) => last_name(&subscript.value),
        _ => None,
    }
}

/// The function whose name stands at a place, and the class that it is a member of.
pub(super) fn find(body: &[Stmt], at: usize) -> Option<(&StmtFunctionDef, Option<&StmtClassDef>)> {
    let mut finder = Finder {
        at,
        class: None,
        function: None,
        found_class: None,
    };
    finder.visit_body(body);
    finder.function
}

/// The class whose name stands at a place.
pub(super) fn find_class(body: &[Stmt], at: usize) -> Option<&StmtClassDef> {
    let mut finder = Finder {
        at,
        class: None,
        function: None,
        found_class: None,
    };
    finder.visit_body(body);
    finder.found_class
}

struct Finder<'a> {
    at: usize,
    /// The class whose body is looked at, functions in it aside.
    class: Option<&'a StmtClassDef>,
    function: Option<(&'a StmtFunctionDef, Option<&'a StmtClassDef>)>,
    found_class: Option<&'a StmtClassDef>,
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if !offsets(stmt.range()).contains(&self.at) {
            return;
        }
        let around = self.class;
        match stmt {
            Stmt::FunctionDef(function) if start(function.name.range) == self.at => {
                self.function = Some((function, around));
            }
            Stmt::ClassDef(class) if start(class.name.range) == self.at => {
                self.found_class = Some(class);
            }
            Stmt::FunctionDef(function) => {
                self.class = None;
                self.visit_body(&function.body);
            }
            Stmt::ClassDef(class) => {
                self.class = Some(class);
                self.visit_body(&class.body);
            }
            other => visitor::walk_stmt(self, other),
        }
        self.class = around;
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// Where the body of a function spells a name that would mean a parameter of its own.
pub(super) fn uses_of(function: &StmtFunctionDef, name: &str) -> Vec<Range<usize>> {
    let mut finder = Uses {
        name,
        found: Vec::new(),
    };
    finder.visit_body(&function.body);
    finder.found
}

struct Uses<'n> {
    name: &'n str,
    found: Vec<Range<usize>>,
}

impl Uses<'_> {
    fn hides(&self, parameters: &Parameters) -> bool {
        parameters.iter().any(|p| p.name() == self.name)
    }
}

impl<'a> Visitor<'a> for Uses<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(inner) if self.hides(&inner.parameters) => {
                for decorator in &inner.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.visit_parameters(&inner.parameters);
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.id == *self.name => self.found.push(offsets(name.range)),
            Expr::Lambda(lambda) => match &lambda.parameters {
                Some(parameters) if self.hides(parameters) => self.visit_parameters(parameters),
                _ => visitor::walk_expr(self, expr),
            },
            _ => visitor::walk_expr(self, expr),
        }
    }
}

/// Whether computing an expression may do something.
pub(super) fn has_effects(expr: &Expr) -> bool {
    struct Effects(bool);
    impl<'a> Visitor<'a> for Effects {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0 |= matches!(
                expr,
                Expr::Call(_)
                    | Expr::Await(_)
                    | Expr::Yield(_)
                    | Expr::YieldFrom(_)
                    | Expr::Named(_)
            );
            if !matches!(expr, Expr::Lambda(_)) {
                visitor::walk_expr(self, expr);
            }
        }
    }
    let mut effects = Effects(false);
    effects.visit_expr(expr);
    effects.0
}

/// Where a decorator of a function names one of its parameters: `parametrize("a,b", ...)`,
/// `option("--some-name")`.
pub(super) fn named_by_decorator(function: &StmtFunctionDef, name: &str) -> Option<Range<usize>> {
    struct Finder<'n> {
        name: &'n str,
        found: Option<TextRange>,
    }
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::StringLiteral(literal) = expr {
                let text = literal.value.to_str();
                let mut words = text.split([',', '/']).map(|word| {
                    let word = word.trim().trim_start_matches('-');
                    word.replace('-', "_")
                });
                let named = words.any(|word| word == self.name);
                if named {
                    self.found.get_or_insert(literal.range);
                }
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut finder = Finder { name, found: None };
    for decorator in &function.decorator_list {
        // Only what a decorator is called with says how it calls the function.
        if let Expr::Call(call) = &decorator.expression {
            finder.visit_arguments(&call.arguments);
        }
    }
    let found = finder.found?;
    Some(start(found)..found.end().to_usize())
}
