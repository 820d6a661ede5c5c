//! Keywords that go along in a mapping: `**kwargs` that a function hands on, dictionaries that a
//! call passes by `**`, and the keys that they are given.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::sites::{Argument, Named, argument, callee, named, start};
use crate::literals::{KEYED, exact};

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
