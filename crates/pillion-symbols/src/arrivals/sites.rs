//! Where a file passes something by name, by the text alone.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Decorator, Expr, ExprCall, Keyword, Parameters, Stmt, StmtClassDef, StmtFunctionDef,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::literals::{KEYED, exact, words};

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
fn callee(call: &ExprCall) -> Option<Named> {
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

/// What a function does with the keywords of any name that it gets.
#[derive(Debug, Default)]
pub(super) struct Handed {
    /// The names of what it calls with all of them, and what else that is given.
    pub(super) callees: Vec<(Named, Vec<Argument>)>,
    /// Whether it also calls what has no name.
    pub(super) is_unknown: bool,
    /// Where it takes the one of this name out of them: between the quotes.
    pub(super) taken: Vec<TextRange>,
}

/// What the function whose name stands at a place does with its `**any`.
pub(super) fn handed(body: &[Stmt], text: &str, at: usize, any: &str, name: &str) -> Handed {
    struct Find<'n> {
        at: usize,
        handing: Handing<'n>,
    }
    impl<'a> Visitor<'a> for Find<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::FunctionDef(function) if start(function.name.range) == self.at => {
                    self.handing.visit_body(&function.body);
                }
                _ => visitor::walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find {
        at,
        handing: Handing {
            text,
            any,
            name,
            found: Handed::default(),
        },
    };
    find.visit_body(body);
    find.handing.found
}

/// The names of the functions that take a name out of their `**any`, or put it there.
pub(super) fn takers(body: &[Stmt], text: &str, name: &str) -> Vec<TextRange> {
    struct Find<'n> {
        text: &'n str,
        name: &'n str,
        found: Vec<TextRange>,
    }
    impl<'a> Visitor<'a> for Find<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::FunctionDef(function) = stmt
                && let Some(any) = &function.parameters.kwarg
            {
                let mut handing = Handing {
                    text: self.text,
                    any: &any.name,
                    name: self.name,
                    found: Handed::default(),
                };
                handing.visit_body(&function.body);
                let is_handed = handing.found.is_unknown || !handing.found.callees.is_empty();
                if is_handed && !handing.found.taken.is_empty() {
                    self.found.push(function.name.range);
                }
            }
            visitor::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find {
        text,
        name,
        found: Vec::new(),
    };
    find.visit_body(body);
    find.found
}

struct Handing<'n> {
    text: &'n str,
    any: &'n str,
    name: &'n str,
    found: Handed,
}

impl Handing<'_> {
    fn is_any(&self, expr: &Expr) -> bool {
        expr.as_name_expr().is_some_and(|name| name.id == *self.any)
    }

    /// Whether a mapping is made of them: `{**kwargs, "a": 1}`, `kwargs | {"a": 1}`,
    /// `dict(kwargs, a=1)`.
    fn holds_any(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Dict(dict) => {
                let mut merged = dict.items.iter().filter(|item| item.key.is_none());
                merged.any(|item| self.holds_any(&item.value))
            }
            Expr::BinOp(both) => self.holds_any(&both.left) || self.holds_any(&both.right),
            Expr::Call(call) if named(&call.func).is_some_and(|n| n.name == "dict") => {
                let merged = call.arguments.keywords.iter().filter(|k| k.arg.is_none());
                let mut all = call.arguments.args.iter().chain(merged.map(|k| &k.value));
                all.any(|part| self.holds_any(part))
            }
            _ => self.is_any(expr),
        }
    }

    /// The keys of this name in what is merged with them.
    fn keys(&mut self, expr: &Expr) {
        if let Expr::BinOp(both) = expr {
            self.keys(&both.left);
            self.keys(&both.right);
        }
        self.found.taken.extend(keys(expr, self.text, self.name).0);
    }

    fn key(&mut self, expr: &Expr) {
        self.found.taken.extend(exact(expr, self.text, self.name));
    }
}

impl<'a> Visitor<'a> for Handing<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                let keywords = &call.arguments.keywords;
                let mut mappings = keywords.iter().filter(|k| k.arg.is_none());
                if let Some(handed) = mappings.find(|k| self.holds_any(&k.value)) {
                    self.keys(&handed.value);
                    let callee = callee(call);
                    self.found.is_unknown |= callee.is_none();
                    let arguments = call.arguments.args.iter().map(argument).collect();
                    let callee = callee.map(|callee| (callee, arguments));
                    self.found.callees.extend(callee);
                }
                if let Expr::Attribute(method) = &*call.func
                    && self.is_any(&method.value)
                    && &*method.attr == "update"
                {
                    let named = call.arguments.keywords.iter();
                    let named = named.filter_map(|k| k.arg.as_ref());
                    let own = named.filter(|arg| **arg == *self.name);
                    self.found.taken.extend(own.map(Ranged::range));
                    call.arguments.args.iter().for_each(|arg| self.keys(arg));
                }
                if let Expr::Attribute(method) = &*call.func
                    && self.is_any(&method.value)
                    && KEYED.contains(&method.attr.as_str())
                    && let Some(first) = call.arguments.args.first()
                {
                    self.key(first);
                }
            }
            Expr::Subscript(subscript) if self.is_any(&subscript.value) => {
                self.key(&subscript.slice);
            }
            Expr::Compare(compare) if compare.comparators.iter().any(|c| self.is_any(c)) => {
                self.key(&compare.left);
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::AugAssign(assign) = stmt
            && self.is_any(&assign.target)
        {
            self.keys(&assign.value);
        }
        visitor::walk_stmt(self, stmt);
    }
}

/// What a call passes by `**`.
#[derive(Debug)]
pub(super) struct Mapped {
    /// Where the value of `**` stands.
    pub(super) at: TextRange,
    /// The name, if it is one.
    pub(super) name: Option<String>,
    /// Keys of this name in it, between the quotes, if it is written out.
    pub(super) keys: Vec<TextRange>,
    /// Whether all that it holds is known.
    pub(super) is_known: bool,
    /// The `**any` of the function around, if that is what is passed.
    pub(super) is_handed_on: bool,
}

/// What is passed by `**` where the names at these places are called.
pub(super) fn mapped(body: &[Stmt], text: &str, callees: &[usize], name: &str) -> Vec<Mapped> {
    struct Find<'n> {
        text: &'n str,
        callees: &'n [usize],
        name: &'n str,
        any: Vec<Option<String>>,
        found: Vec<Mapped>,
    }
    impl Find<'_> {
        /// `Thread(target=f, kwargs={"name": 1})`.
        fn with_dictionary(&mut self, call: &ExprCall) {
            let values = || {
                let named = call.arguments.keywords.iter().map(|k| &k.value);
                call.arguments.args.iter().chain(named)
            };
            let is_it = |expr| named(expr).is_some_and(|n| self.callees.contains(&n.at));
            if !values().any(is_it) {
                return;
            }
            for value in values().filter(|value| value.is_dict_expr()) {
                let (keys, _) = keys(value, self.text, self.name);
                self.found.push(Mapped {
                    at: value.range(),
                    name: None,
                    keys,
                    is_known: true,
                    is_handed_on: false,
                });
            }
        }

        fn call(&mut self, call: &ExprCall) {
            let callee = callee(call);
            if !callee.is_some_and(|callee| self.callees.contains(&callee.at)) {
                self.with_dictionary(call);
                return;
            }
            for keyword in call.arguments.keywords.iter().filter(|k| k.arg.is_none()) {
                let name = keyword.value.as_name_expr().map(|n| n.id.to_string());
                let (keys, is_known) = keys(&keyword.value, self.text, self.name);
                let any = self.any.iter().rev().find_map(Option::as_ref);
                self.found.push(Mapped {
                    at: keyword.value.range(),
                    is_handed_on: name.is_some() && any == name.as_ref(),
                    name,
                    keys,
                    is_known,
                });
            }
        }
    }
    impl<'a> Visitor<'a> for Find<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::FunctionDef(function) = stmt {
                let any = function.parameters.kwarg.as_ref();
                self.any.push(any.map(|any| any.name.to_string()));
                visitor::walk_stmt(self, stmt);
                self.any.pop();
            } else {
                visitor::walk_stmt(self, stmt);
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr {
                self.call(call);
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut find = Find {
        text,
        callees,
        name,
        any: Vec::new(),
        found: Vec::new(),
    };
    find.visit_body(body);
    find.found
}

/// The keys of a name in a dictionary that is written out, and whether all of it is.
pub(super) fn keys(expr: &Expr, text: &str, name: &str) -> (Vec<TextRange>, bool) {
    match expr {
        Expr::Dict(dict) => {
            let known = dict.items.iter().filter_map(|item| item.key.as_ref());
            let found = known.filter_map(|key| exact(key, text, name)).collect();
            let all = dict.items.iter().all(|item| {
                let key = item.key.as_ref();
                key.is_some_and(Expr::is_string_literal_expr)
            });
            (found, all)
        }
        Expr::Call(call) if named(&call.func).is_some_and(|n| n.name == "dict") => {
            let arguments = &call.arguments;
            let named = arguments.keywords.iter().filter_map(|k| k.arg.as_ref());
            let found = named.filter(|arg| *arg == name).map(Ranged::range);
            let all =
                arguments.args.is_empty() && arguments.keywords.iter().all(|k| k.arg.is_some());
            (found.collect(), all)
        }
        _ => (Vec::new(), false),
    }
}

/// The keys of a name in the dictionaries that a name is given in a file.
pub(super) fn keys_given(body: &[Stmt], text: &str, to: &str, name: &str) -> Vec<TextRange> {
    struct Find<'n> {
        text: &'n str,
        to: &'n str,
        name: &'n str,
        found: Vec<TextRange>,
    }
    impl<'a> Visitor<'a> for Find<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let is_it = |expr: &Expr| expr.as_name_expr().is_some_and(|n| n.id == *self.to);
            let value = match stmt {
                Stmt::Assign(assign) if assign.targets.iter().any(is_it) => Some(&assign.value),
                Stmt::AnnAssign(assign) if is_it(&assign.target) => assign.value.as_ref(),
                Stmt::Assign(assign) => {
                    // One more key: `options["name"] = 1`.
                    for target in &assign.targets {
                        if let Expr::Subscript(subscript) = target
                            && is_it(&subscript.value)
                        {
                            self.found
                                .extend(exact(&subscript.slice, self.text, self.name));
                        }
                    }
                    None
                }
                _ => None,
            };
            if let Some(value) = value {
                self.found.extend(keys(value, self.text, self.name).0);
            }
            visitor::walk_stmt(self, stmt);
        }
    }
    let mut find = Find {
        text,
        to,
        name,
        found: Vec::new(),
    };
    find.visit_body(body);
    find.found
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
