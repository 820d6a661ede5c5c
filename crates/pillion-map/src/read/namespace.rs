//! Names that are looked up by a text, `getattr(thing, name)` and `globals()[name]`, and what
//! functions put things into, so that others can take them from there.

use pillion_index::facts::name_hash;
use ruff_python_ast as ast;
use ruff_text_size::Ranged;

use super::super::sketch::{Among, Binding, Expr, MODULE, Name, ScopeId, Site};
use super::Reader;
use super::lower::last;

/// Methods that put what they are given into something, sorted.
const FILLING: &[&str] = &[
    "add",
    "append",
    "appendleft",
    "connect",
    "extend",
    "insert",
    "push",
    "put",
    "register",
    "setdefault",
    "subscribe",
    "update",
];

/// A place where a name is looked up that no literal says.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) scope: ScopeId,
    holder: Holder,
    /// From 1.
    pub(super) line: u32,
}

/// In what a name is looked up.
#[derive(Debug, Clone, Copy)]
enum Holder {
    Members,
    Module,
    /// Whatever this is: the whole file says.
    Named(Name),
}

/// Whose names an expression gives as a mapping: those of something, or the module's own.
#[derive(Clone, Copy)]
enum Namespace<'e> {
    Of(&'e ast::Expr),
    Own,
}

/// `globals()`, `vars(thing)` and `thing.__dict__`.
fn namespace(expr: &ast::Expr) -> Option<Namespace<'_>> {
    match expr {
        ast::Expr::Attribute(one) if one.attr.as_str() == "__dict__" => {
            Some(Namespace::Of(&one.value))
        }
        ast::Expr::Call(call) if call.arguments.keywords.is_empty() => {
            match (call.func.as_name_expr()?.id.as_str(), &*call.arguments.args) {
                ("globals" | "locals" | "vars", []) => Some(Namespace::Own),
                ("vars", [one]) => Some(Namespace::Of(one)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `sys.modules[name]` and `importlib.import_module(name)`.
fn is_module(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Subscript(item) => last(&item.value) == Some("modules"),
        ast::Expr::Call(call) => matches!(last(&call.func), Some("import_module" | "__import__")),
        _ => false,
    }
}

impl<'a> Reader<'a> {
    /// A call that looks a name up: `getattr(thing, name)`, `attrgetter("name")`,
    /// `globals().get(name)`.
    pub(super) fn looks_up(&mut self, call: &'a ast::ExprCall) {
        let line = self.line(call);
        match (last(&call.func), &*call.arguments.args) {
            (
                Some("getattr" | "setattr" | "hasattr" | "delattr"),
                [value, ast::Expr::StringLiteral(text), ..],
            ) => self.spelled(value, text, line),
            (Some("getattr" | "hasattr"), [value, ..]) => {
                self.looked_up(Namespace::Of(value), line);
            }
            (Some("methodcaller"), [ast::Expr::StringLiteral(text), ..]) => {
                self.spelled_of_any(text, text.value.to_str());
            }
            (Some("attrgetter"), texts) if !texts.is_empty() => {
                for text in texts {
                    match text {
                        ast::Expr::StringLiteral(text) => {
                            let names = text.value.to_str().split('.');
                            names.for_each(|name| self.spelled_of_any(text, name));
                        }
                        other => self.looked_up(Namespace::Of(other), line),
                    }
                }
            }
            (Some("locals" | "vars"), []) => self.uses_all(self.function_around(self.at), line),
            (Some("items" | "values" | "keys" | "copy"), []) => {
                if let ast::Expr::Attribute(taken) = &*call.func
                    && let Some(Namespace::Own) = namespace(&taken.value)
                {
                    self.uses_all(MODULE, line);
                }
            }
            (Some("methodcaller" | "__getattribute__"), [_, ..]) => self.lookups.push(Lookup {
                scope: self.at,
                holder: Holder::Members,
                line,
            }),
            (Some("get" | "pop" | "__getitem__"), [key, ..]) => {
                if let ast::Expr::Attribute(taken) = &*call.func {
                    self.item(&taken.value, key, line);
                }
            }
            _ => {}
        }
    }

    /// `locals()` gives away everything that a function has defined.
    fn uses_all(&mut self, scope: ScopeId, line: u32) {
        let bound = self.scopes.get(scope as usize).into_iter();
        let bound = bound.flat_map(|scope| &scope.bindings);
        let defined = bound.filter(|(_, binding)| matches!(binding, Binding::Definition(_)));
        let names: Vec<Name> = defined.map(|(name, _)| *name).collect();
        for name in names {
            let expr = self.expr(Expr::Name(name));
            self.use_expr(expr, false, line);
        }
    }

    /// `globals()[key]`, if that is what it is.
    pub(super) fn item(&mut self, value: &'a ast::Expr, key: &'a ast::Expr, line: u32) {
        match (namespace(value), key) {
            (None, _) => {}
            (Some(Namespace::Of(value)), ast::Expr::StringLiteral(text)) => {
                self.spelled(value, text, line);
            }
            (Some(Namespace::Own), ast::Expr::StringLiteral(text)) => {
                let name = self.name(text.value.to_str());
                let expr = self.expr(Expr::Name(name));
                self.use_expr(expr, false, line);
            }
            (Some(namespace), _) => self.looked_up(namespace, line),
        }
    }

    fn looked_up(&mut self, namespace: Namespace<'_>, line: u32) {
        let holder = match namespace {
            Namespace::Own => Holder::Module,
            Namespace::Of(value) if is_module(value) => Holder::Module,
            Namespace::Of(ast::Expr::Name(name)) => Holder::Named(self.name(&name.id)),
            Namespace::Of(_) => Holder::Members,
        };
        self.lookups.push(Lookup {
            scope: self.at,
            holder,
            line,
        });
    }

    /// `getattr(thing, "name")` takes a name from a thing.
    fn spelled(&mut self, value: &'a ast::Expr, text: &'a ast::ExprStringLiteral, line: u32) {
        let (value, name) = (self.lower(value), self.name(text.value.to_str()));
        let expr = self.expr(Expr::Attribute(value, name));
        self.use_expr(expr, false, line);
        self.site(text, name, value);
    }

    /// `attrgetter("name")` takes a name from whatever it is called with.
    fn spelled_of_any(&mut self, text: &'a ast::ExprStringLiteral, name: &str) {
        let (unknown, name) = (self.expr(Expr::Unknown), self.name(name));
        self.site(text, name, unknown);
    }

    fn site(&mut self, text: &'a ast::ExprStringLiteral, name: Name, value: u32) {
        let site = Site {
            scope: self.at,
            name,
            at: self.source.position(text.range().start().to_usize() + 1),
            is_call: false,
        };
        self.sites.push((site, value));
    }

    /// In what a name is looked up, as the whole file says.
    pub(super) fn among(&self, lookup: &Lookup) -> Among {
        match lookup.holder {
            Holder::Members => Among::Members,
            Holder::Module => Among::Module,
            Holder::Named(name) => {
                let module = self.scopes.get(MODULE as usize);
                let mut bound = module.into_iter().flat_map(|scope| &scope.bindings);
                let is_imported = bound.any(|(bound, binding)| {
                    *bound == name
                        && matches!(
                            binding,
                            Binding::Module(_) | Binding::Package(_) | Binding::Import(..)
                        )
                });
                match is_imported {
                    true => Among::Both,
                    false => Among::Members,
                }
            }
        }
    }

    /// `HOOKS.append(hook)` puts something into `HOOKS`.
    pub(super) fn fills_by_call(&mut self, call: &ast::ExprCall) {
        if let ast::Expr::Attribute(method) = &*call.func
            && FILLING.binary_search(&method.attr.as_str()).is_ok()
        {
            self.fills(&method.value);
        }
    }

    /// A function puts something into what an expression names.
    pub(super) fn fills(&mut self, expr: &ast::Expr) {
        let name = match expr {
            ast::Expr::Name(name) => name.id.as_str(),
            ast::Expr::Attribute(one) => one.attr.as_str(),
            ast::Expr::Subscript(item) => return self.fills(&item.value),
            // `HOOKS.setdefault(name, []).append(hook)`: the call inside says it.
            _ => return,
        };
        let scope = self.function_around(self.at);
        if scope != MODULE {
            self.fills.insert((scope, name_hash(name)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_methods_are_found() {
        assert!(FILLING.is_sorted());
    }
}
