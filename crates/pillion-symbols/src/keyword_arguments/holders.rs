//! Where a file gives functions to variables, attributes and parameters, or puts them into
//! lists and tables.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Keyword, Parameters, Stmt};
use ruff_text_size::Ranged;

use super::sites::named;

/// Who holds functions.
#[derive(Debug, Default)]
pub(super) struct Holders {
    /// What is given one of them: the last names.
    pub(super) names: BTreeSet<String>,
    /// Where what stands beside one of them is named.
    pub(super) beside: Vec<usize>,
}

/// Who holds the functions whose names end at some places.
pub(super) fn holders(body: &[Stmt], ends: &BTreeSet<usize>) -> Holders {
    let mut finder = Finder {
        ends,
        found: Holders::default(),
    };
    finder.visit_body(body);
    finder.found
}

struct Finder<'e> {
    ends: &'e BTreeSet<usize>,
    found: Holders,
}

impl Finder<'_> {
    fn is_one(&self, expr: &Expr) -> bool {
        let is_name = matches!(expr, Expr::Name(_) | Expr::Attribute(_));
        is_name && self.ends.contains(&expr.range().end().to_usize())
    }

    /// Whether a value holds one of the functions, other than by calling it.
    fn holds(&self, value: &Expr) -> bool {
        struct Find<'f, 'e>(&'f Finder<'e>, bool);
        impl<'a> Visitor<'a> for Find<'_, '_> {
            fn visit_expr(&mut self, expr: &'a Expr) {
                match expr {
                    Expr::Call(ExprCall {
                        func, arguments, ..
                    }) => {
                        if !self.0.is_one(func) {
                            self.visit_expr(func);
                        }
                        self.visit_arguments(arguments);
                    }
                    _ if self.0.is_one(expr) => self.1 = true,
                    _ => visitor::walk_expr(self, expr),
                }
            }
        }
        let mut find = Find(self, false);
        find.visit_expr(value);
        find.1
    }

    fn given(&mut self, target: &Expr, value: &Expr) {
        if self.holds(value) {
            self.found.names.extend(named(target).map(|n| n.name));
        }
    }

    fn table<'a>(&mut self, items: impl Iterator<Item = &'a Expr> + Clone) {
        if items.clone().any(|item| self.is_one(item)) {
            let others = items.filter(|item| !self.is_one(item));
            let others: Vec<usize> = others.filter_map(named).map(|other| other.at).collect();
            self.found.beside.extend(others);
        }
    }
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.given(target, &assign.value);
                }
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.given(&assign.target, value);
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Named(walrus) => self.given(&walrus.target, &walrus.value),
            Expr::List(list) => self.table(list.elts.iter()),
            Expr::Tuple(tuple) => self.table(tuple.elts.iter()),
            Expr::Set(set) => self.table(set.elts.iter()),
            Expr::Dict(dict) => self.table(dict.items.iter().map(|item| &item.value)),
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_keyword(&mut self, keyword: &'a Keyword) {
        if let Some(name) = &keyword.arg
            && self.holds(&keyword.value)
        {
            self.found.names.insert(name.to_string());
        }
        visitor::walk_keyword(self, keyword);
    }

    fn visit_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            let default = parameter.default.as_ref();
            if default.is_some_and(|default| self.holds(default)) {
                let name = parameter.parameter.name.to_string();
                self.found.names.insert(name);
            }
        }
        visitor::walk_parameters(self, parameters);
    }
}
