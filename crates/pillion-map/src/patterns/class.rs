//! A class of Python with its methods, as the rules for classes look at it.

use ruff_python_ast::{StmtClassDef, StmtFunctionDef};

use super::ast::{Parts, bases, functions, is_decorated, parameters};

/// A class, as rules look at it.
pub(super) struct Class<'a> {
    pub(super) node: &'a StmtClassDef,
    pub(super) name: &'a str,
    pub(super) methods: Vec<Method<'a>>,
    pub(super) bases: Vec<&'a str>,
}

/// A method, with all that is in it.
pub(super) struct Method<'a> {
    pub(super) node: &'a StmtFunctionDef,
    pub(super) name: &'a str,
    /// What it calls itself: `self` or `cls`.
    pub(super) me: &'a str,
    /// What it is given.
    pub(super) given: Vec<&'a str>,
    pub(super) parts: Parts<'a>,
}

impl<'a> Class<'a> {
    pub(super) fn of(node: &'a StmtClassDef) -> Self {
        let methods = functions(&node.body).map(|function| {
            let all = parameters(function);
            let is_static = is_decorated(&function.decorator_list, &["staticmethod"]);
            let (me, given) = match all.split_first() {
                Some((me, given)) if !is_static => (*me, given.to_vec()),
                _ => ("", all),
            };
            Method {
                node: function,
                name: function.name.as_str(),
                me,
                given,
                parts: Parts::deep(&function.body),
            }
        });
        Self {
            node,
            name: node.name.as_str(),
            methods: methods.collect(),
            bases: bases(node),
        }
    }

    pub(super) fn method(&self, name: &str) -> Option<&Method<'a>> {
        self.methods.iter().find(|method| method.name == name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.method(name).is_some()
    }

    pub(super) fn has_any<T: AsRef<str>>(&self, names: &[T]) -> bool {
        names.iter().any(|name| self.has(name.as_ref()))
    }
}
