//! Where a file passes something by name, by the text alone.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Decorator, Expr, ExprCall, Keyword, Parameters, Stmt, StmtClassDef, StmtFunctionDef,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::literals::words;

/// A keyword of the name that is looked for.
#[derive(Debug)]
pub(super) struct Site {
    /// Where the keyword stands.
    pub(super) at: TextRange,
    pub(super) to: To,
}

/// Who is given it.
#[derive(Debug)]
pub(super) enum To {
    Call {
        callee: Option<Named>,
        arguments: Vec<Argument>,
        /// The function around, by the place of its name.
        around: Option<usize>,
        /// The function that it decorates, by the place of its name.
        decorates: Option<usize>,
    },
    /// The head of a class: where its bases and its metaclass are named.
    Class {
        bases: Vec<usize>,
        metaclass: Option<usize>,
    },
}

/// The last name of an expression.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) at: usize,
    /// Whether something stands before a dot.
    pub(super) is_attribute: bool,
}

/// An argument of a call.
#[derive(Debug, Clone)]
pub(super) enum Argument {
    /// A name, or the last one of a dotted one.
    Named(Named),
    /// What a call makes, by the name of what is called.
    Made(Named),
    Other,
}

pub(super) fn start(range: TextRange) -> usize {
    range.start().to_usize()
}

/// The name that an expression ends with.
pub(super) fn named(expr: &Expr) -> Option<Named> {
    match expr {
        Expr::Name(name) => Some(Named {
            name: name.id.to_string(),
            at: start(name.range),
            is_attribute: false,
        }),
        Expr::Attribute(attribute) => Some(Named {
            name: attribute.attr.to_string(),
            at: start(attribute.attr.range),
            is_attribute: true,
        }),
        Expr::Subscript(subscript) => named(&subscript.value),
        _ => None,
    }
}

/// The name of what a call calls, if it has one.
pub(super) fn callee(call: &ExprCall) -> Option<Named> {
    match &*call.func {
        Expr::Subscript(_) => None,
        function => named(function),
    }
}

pub(super) fn argument(expr: &Expr) -> Argument {
    match expr {
        Expr::Call(call) => named(&call.func).map_or(Argument::Other, Argument::Made),
        other => named(other).map_or(Argument::Other, Argument::Named),
    }
}

/// Where a file passes something by a name.
pub(super) fn keywords(body: &[Stmt], name: &str) -> Vec<Site> {
    let mut finder = Keywords {
        name,
        decorated: None,
        functions: Vec::new(),
        found: Vec::new(),
    };
    finder.visit_body(body);
    finder.found
}

struct Keywords<'n> {
    name: &'n str,
    decorated: Option<usize>,
    functions: Vec<usize>,
    found: Vec<Site>,
}

impl Keywords<'_> {
    fn of(&self, keywords: &[Keyword]) -> Option<TextRange> {
        let mut named = keywords.iter().filter_map(|keyword| keyword.arg.as_ref());
        let found = named.find(|arg| *arg == self.name);
        found.map(Ranged::range)
    }

    fn call(&mut self, call: &ExprCall) {
        if let Some(at) = self.of(&call.arguments.keywords) {
            let values = call.arguments.keywords.iter().map(|k| argument(&k.value));
            let arguments = call.arguments.args.iter().map(argument).chain(values);
            self.found.push(Site {
                at,
                to: To::Call {
                    callee: callee(call),
                    arguments: arguments.collect(),
                    around: self.functions.last().copied(),
                    decorates: self.decorated,
                },
            });
        }
    }

    fn class(&mut self, class: &StmtClassDef) {
        if let Some(at) = self.of(class.keywords()) {
            let bases = class.bases().iter().filter_map(named).map(|base| base.at);
            self.found.push(Site {
                at,
                to: To::Class {
                    bases: bases.collect(),
                    metaclass: metaclass(class),
                },
            });
        }
    }
}

/// The bases and the metaclass of the class whose name stands at a place.
pub(super) fn head(body: &[Stmt], at: usize) -> Option<(Vec<usize>, Option<usize>)> {
    struct Find {
        at: usize,
        found: Option<(Vec<usize>, Option<usize>)>,
    }
    impl<'a> Visitor<'a> for Find {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::ClassDef(class) if start(class.name.range) == self.at => {
                    let bases = class.bases().iter().filter_map(named).map(|base| base.at);
                    self.found = Some((bases.collect(), metaclass(class)));
                }
                _ => visitor::walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find { at, found: None };
    find.visit_body(body);
    find.found
}

/// Where the head of a class names its metaclass.
pub(super) fn metaclass(class: &StmtClassDef) -> Option<usize> {
    let mut keywords = class.keywords().iter();
    let found = keywords.find(|k| k.arg.as_ref().is_some_and(|arg| arg == "metaclass"))?;
    named(&found.value).map(|named| named.at)
}

impl<'a> Visitor<'a> for Keywords<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.decorated = Some(start(function.name.range));
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.decorated = None;
                self.visit_parameters(&function.parameters);
                self.functions.push(start(function.name.range));
                self.visit_body(&function.body);
                self.functions.pop();
            }
            Stmt::ClassDef(class) => {
                self.class(class);
                visitor::walk_stmt(self, stmt);
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            self.call(call);
        }
        visitor::walk_expr(self, expr);
    }
}

/// A function or lambda.
#[derive(Debug, Clone, Default)]
pub(super) struct Taking {
    /// Where its name stands; for a lambda that is given a name, where that stands.
    pub(super) name: Option<TextRange>,
    /// Its own name.
    pub(super) called: String,
    /// The parameter that is looked for, if it has it.
    pub(super) parameter: Option<TextRange>,
    /// The parameter that takes any keyword.
    pub(super) any: Option<String>,
    /// Its decorators by their last names.
    pub(super) decorators: Vec<String>,
    /// Where the function is named that it is one case of: `@function.register`.
    pub(super) case_of: Option<usize>,
    /// Strings in its decorators that spell the parameter as a word of its own.
    pub(super) strings: Vec<TextRange>,
}

/// What is looked for among the functions of a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    /// The one whose name stands here.
    Named(usize),
    /// The one with a parameter that stands here.
    Taking(usize),
}

/// A function of a file.
pub(super) fn function(body: &[Stmt], text: &str, which: Which, parameter: &str) -> Option<Taking> {
    let mut finder = Functions {
        which,
        parameter,
        text,
        found: None,
    };
    finder.visit_body(body);
    finder.found
}

struct Functions<'n> {
    which: Which,
    parameter: &'n str,
    text: &'n str,
    found: Option<Taking>,
}

impl Functions<'_> {
    fn taking(&self, parameters: &Parameters) -> (Option<TextRange>, Option<String>) {
        let mut all = parameters.iter_non_variadic_params();
        let found = all.find(|p| p.parameter.name == *self.parameter);
        let any = parameters.kwarg.as_ref().map(|any| any.name.to_string());
        (found.map(|p| p.parameter.name.range), any)
    }

    fn fits(&self, name: Option<TextRange>, parameter: Option<TextRange>) -> bool {
        match self.which {
            Which::Named(at) => name.is_some_and(|name| start(name) == at),
            Which::Taking(at) => parameter.is_some_and(|parameter| start(parameter) == at),
        }
    }

    fn def(&mut self, function: &StmtFunctionDef) {
        let (parameter, any) = self.taking(&function.parameters);
        if !self.fits(Some(function.name.range), parameter) {
            return;
        }
        let decorators = function.decorator_list.iter();
        let called = decorators.clone().filter_map(|d| match &d.expression {
            Expr::Call(call) => named(&call.func),
            other => named(other),
        });
        let mut strings = Strings {
            name: self.parameter,
            text: self.text,
            found: Vec::new(),
        };
        decorators.for_each(|d| strings.visit_decorator(d));
        self.found = Some(Taking {
            name: Some(function.name.range),
            called: function.name.to_string(),
            parameter,
            any,
            decorators: called.map(|named| named.name).collect(),
            case_of: function.decorator_list.iter().find_map(case_of),
            strings: strings.found,
        });
    }

    fn lambda(&mut self, name: Option<TextRange>, value: &Expr) {
        let Expr::Lambda(lambda) = value else { return };
        let Some(parameters) = &lambda.parameters else {
            return;
        };
        let (parameter, any) = self.taking(parameters);
        if self.fits(name, parameter) && self.found.is_none() {
            let called = name.map_or("", |name| &self.text[name]);
            self.found = Some(Taking {
                name,
                called: called.to_owned(),
                parameter,
                any,
                ..Taking::default()
            });
        }
    }
}

impl<'a> Visitor<'a> for Functions<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.def(function),
            Stmt::Assign(assign) => {
                if let [Expr::Name(name)] = assign.targets.as_slice() {
                    self.lambda(Some(name.range), &assign.value);
                }
            }
            Stmt::AnnAssign(assign) => {
                if let (Expr::Name(name), Some(value)) = (&*assign.target, &assign.value) {
                    self.lambda(Some(name.range), value);
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.lambda(None, expr);
        visitor::walk_expr(self, expr);
    }
}

/// Where the function is named that a decorator adds a case to: `@function.register`.
fn case_of(decorator: &Decorator) -> Option<usize> {
    let function = match &decorator.expression {
        Expr::Call(call) => &*call.func,
        other => other,
    };
    match function {
        Expr::Attribute(method) if &*method.attr == "register" => {
            named(&method.value).map(|named| named.at)
        }
        _ => None,
    }
}

/// The names of all functions that are cases of another, and where that is named.
pub(super) fn cases(body: &[Stmt]) -> Vec<(TextRange, usize)> {
    struct Find(Vec<(TextRange, usize)>);
    impl<'a> Visitor<'a> for Find {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::FunctionDef(function) = stmt {
                let of = function.decorator_list.iter().find_map(case_of);
                self.0.extend(of.map(|of| (function.name.range, of)));
            }
            visitor::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find(Vec::new());
    find.visit_body(body);
    find.0
}

/// Strings that spell a name as a word of their own.
struct Strings<'n> {
    name: &'n str,
    text: &'n str,
    found: Vec<TextRange>,
}

impl<'a> Visitor<'a> for Strings<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::StringLiteral(literal) = expr {
            for part in &literal.value {
                let text = &self.text[part.range];
                for at in words(text, self.name) {
                    let from = part.range.start() + TextSize::try_from(at).unwrap_or_default();
                    self.found
                        .push(TextRange::at(from, TextSize::of(self.name)));
                }
            }
        }
        visitor::walk_expr(self, expr);
    }
}

/// What an assignment gives a name: its arguments, if it is a call, or what it names.
pub(super) fn given(body: &[Stmt], at: usize) -> Vec<Argument> {
    struct Find {
        at: usize,
        found: Vec<Argument>,
    }
    impl<'a> Visitor<'a> for Find {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let here = |expr: &Expr| named(expr).is_some_and(|n| n.at == self.at);
            let value = match stmt {
                Stmt::Assign(assign) if assign.targets.iter().any(here) => Some(&assign.value),
                Stmt::AnnAssign(assign) if here(&assign.target) => assign.value.as_ref(),
                _ => None,
            };
            match value.map(|value| &**value) {
                Some(Expr::Call(call)) => {
                    let values = call.arguments.keywords.iter().map(|k| argument(&k.value));
                    self.found
                        .extend(call.arguments.args.iter().map(argument).chain(values));
                }
                Some(other) => self.found.extend(named(other).map(Argument::Named)),
                None => visitor::walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find {
        at,
        found: Vec::new(),
    };
    find.visit_body(body);
    find.found
}
