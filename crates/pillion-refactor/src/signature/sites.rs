//! What a file does with a function: where it is called, and where it is something else.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Decorator, Expr, ExprCall, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::TextRange;

use super::function::{Function, Sort, last_name, start};

/// What stands before the dot of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiver {
    /// Nothing.
    None,
    /// An object.
    Object,
    /// A class.
    Class,
    /// The engine knows what the name here is.
    Ask(usize),
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    /// Where the name of what is called stands.
    pub(super) at: usize,
    /// The arguments with their brackets.
    pub(super) arguments: TextRange,
    pub(super) receiver: Receiver,
    /// The function around it, if it hands on all that it was given: `f(*args, **kwargs)`.
    pub(super) hands_on: Option<usize>,
}

/// What a file does with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Use {
    Call(Site),
    /// It is handed to someone who may call it.
    Passed(String),
    /// It gets another name, or is given back.
    Assigned,
    Value,
    Decorator,
    /// It is only talked about: an annotation, a base class, what stands before a dot.
    Mention,
}

/// What a file does with the names at these places.
pub(super) fn uses(body: &[Stmt], wanted: &BTreeSet<usize>) -> BTreeMap<usize, Use> {
    let mut finder = Finder {
        wanted,
        found: BTreeMap::new(),
        functions: Vec::new(),
        quiet: false,
    };
    finder.visit_body(body);
    finder.found
}

struct Finder<'a> {
    wanted: &'a BTreeSet<usize>,
    found: BTreeMap<usize, Use>,
    /// The functions around.
    functions: Vec<&'a StmtFunctionDef>,
    /// Whether names are only talked about here.
    quiet: bool,
}

/// Where the name stands that an expression ends with.
fn name_at(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Name(name) => Some(start(name.range)),
        Expr::Attribute(attribute) => Some(start(attribute.attr.range)),
        _ => None,
    }
}

fn receiver(func: &Expr) -> Receiver {
    let Expr::Attribute(attribute) = func else {
        return Receiver::None;
    };
    match &*attribute.value {
        Expr::Call(call) => match last_name(&call.func) {
            Some("type") => Receiver::Class,
            _ => Receiver::Object,
        },
        Expr::Attribute(inner) if &*inner.attr == "__class__" => Receiver::Class,
        other => name_at(other).map_or(Receiver::Object, Receiver::Ask),
    }
}

/// Whether a call hands on everything that a function was given.
fn hands_on(call: &ExprCall, function: &StmtFunctionDef) -> bool {
    let parameters = &function.parameters;
    let (Some(rest), Some(keywords)) = (&parameters.vararg, &parameters.kwarg) else {
        return false;
    };
    let is = |expr: &Expr, name: &str| expr.as_name_expr().is_some_and(|n| n.id == *name);
    let mut starred = call.arguments.args.iter().filter_map(Expr::as_starred_expr);
    let mut mappings = call.arguments.keywords.iter().filter(|k| k.arg.is_none());
    starred.any(|starred| is(&starred.value, &rest.name))
        && mappings.any(|mapping| is(&mapping.value, &keywords.name))
}

impl<'a> Finder<'a> {
    fn note(&mut self, at: usize, what: Use) {
        if self.wanted.contains(&at) {
            let what = if self.quiet && !matches!(what, Use::Call(_)) {
                Use::Mention
            } else {
                what
            };
            self.found.insert(at, what);
        }
    }

    fn talked_about(&mut self, expr: &'a Expr) {
        let before = std::mem::replace(&mut self.quiet, true);
        self.visit_expr(expr);
        self.quiet = before;
    }

    /// Something in a certain role; what is below it is looked at as usual.
    fn in_role(&mut self, expr: &'a Expr, what: Use) {
        match expr {
            Expr::Name(name) => self.note(start(name.range), what),
            Expr::Attribute(attribute) => {
                self.note(start(attribute.attr.range), what);
                self.in_role(&attribute.value, Use::Mention);
            }
            other => self.visit_expr(other),
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        let around = self.functions.last();
        let site = name_at(&call.func).map(|at| Site {
            at,
            arguments: call.arguments.range,
            receiver: receiver(&call.func),
            hands_on: around
                .filter(|function| hands_on(call, function))
                .map(|function| start(function.name.range)),
        });
        match site {
            Some(site) => self.in_role(&call.func, Use::Call(site)),
            None => self.visit_expr(&call.func),
        }
        let callee = last_name(&call.func).unwrap_or_default();
        let asks = ["isinstance", "issubclass", "super", "cast", "type"].contains(&callee);
        let positional = call.arguments.args.iter();
        let named = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        for argument in positional.chain(named) {
            match asks {
                true => self.in_role(argument, Use::Mention),
                false => self.in_role(argument, Use::Passed(callee.to_owned())),
            }
        }
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.functions.push(function);
                visitor::walk_stmt(self, stmt);
                self.functions.pop();
            }
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                for base in class.bases() {
                    self.talked_about(base);
                }
                for keyword in class.keywords() {
                    self.visit_expr(&keyword.value);
                }
                self.visit_body(&class.body);
            }
            Stmt::Assign(assign) => {
                self.in_role(&assign.value, Use::Assigned);
                for target in &assign.targets {
                    self.visit_expr(target);
                }
            }
            Stmt::Return(result) => {
                if let Some(value) = &result.value {
                    self.in_role(value, Use::Assigned);
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, expr: &'a Expr) {
        self.talked_about(expr);
    }

    fn visit_decorator(&mut self, decorator: &'a Decorator) {
        self.in_role(&decorator.expression, Use::Decorator);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.call(call),
            Expr::Name(_) | Expr::Attribute(_) => self.in_role(expr, Use::Value),
            _ => visitor::walk_expr(self, expr),
        }
    }
}

/// Where the methods of a class make objects of it without its name: `cls(...)`,
/// `type(self)(...)`, `self.__class__(...)`.
pub(super) fn own_calls(class: &StmtClassDef) -> Vec<Site> {
    let mut all = Vec::new();
    for stmt in &class.body {
        let Stmt::FunctionDef(method) = stmt else {
            continue;
        };
        let about = Function::of(method, Some(class));
        let Some(first) = about.first else { continue };
        let mut finder = OwnCalls {
            first: &first,
            is_class: about.sort == Sort::Class,
            method,
            found: Vec::new(),
        };
        finder.visit_body(&method.body);
        all.extend(finder.found);
    }
    all
}

struct OwnCalls<'n> {
    first: &'n str,
    is_class: bool,
    method: &'n StmtFunctionDef,
    found: Vec<Site>,
}

impl OwnCalls<'_> {
    fn is_own(&self, func: &Expr) -> bool {
        let is_first = |expr: &Expr| expr.as_name_expr().is_some_and(|n| n.id == *self.first);
        match func {
            Expr::Name(_) => self.is_class && is_first(func),
            Expr::Attribute(attribute) => {
                !self.is_class && &*attribute.attr == "__class__" && is_first(&attribute.value)
            }
            Expr::Call(call) => {
                !self.is_class
                    && last_name(&call.func) == Some("type")
                    && matches!(&*call.arguments.args, [one] if is_first(one))
            }
            _ => false,
        }
    }
}

impl<'a> Visitor<'a> for OwnCalls<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && self.is_own(&call.func)
        {
            let hands_on = hands_on(call, self.method).then(|| start(self.method.name.range));
            self.found.push(Site {
                at: start(call.arguments.range),
                arguments: call.arguments.range,
                receiver: Receiver::None,
                hands_on,
            });
        }
        visitor::walk_expr(self, expr);
    }
}
