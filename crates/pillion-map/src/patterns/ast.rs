//! Small questions to the syntax tree that several rules ask.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Decorator, Expr, ExprCall, Stmt, StmtClassDef, StmtFunctionDef};

/// All statements and expressions of a piece of code.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) stmts: Vec<&'a Stmt>,
    pub(super) exprs: Vec<&'a Expr>,
    /// Whether functions and classes in it are gone into, too.
    is_deep: bool,
}

impl<'a> Parts<'a> {
    /// Of the code itself.
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut parts = Self::default();
        parts.visit_body(body);
        parts
    }

    /// Also of the functions in it.
    pub(super) fn deep(body: &'a [Stmt]) -> Self {
        let mut parts = Self {
            is_deep: true,
            ..Self::default()
        };
        parts.visit_body(body);
        parts
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &'a ExprCall> + '_ {
        self.exprs.iter().filter_map(|expr| expr.as_call_expr())
    }

    /// What is returned.
    pub(super) fn returned(&self) -> impl Iterator<Item = Option<&'a Expr>> + '_ {
        let returns = self.stmts.iter().filter_map(|stmt| stmt.as_return_stmt());
        returns.map(|stmt| stmt.value.as_deref())
    }

    /// Assignments, as target and value.
    pub(super) fn assigned(&self) -> impl Iterator<Item = (&'a Expr, &'a Expr)> + '_ {
        self.stmts.iter().flat_map(|stmt| match stmt {
            Stmt::Assign(assign) => {
                let value = &*assign.value;
                assign.targets.iter().map(|to| (to, value)).collect()
            }
            Stmt::AnnAssign(assign) => {
                let value = assign.value.as_deref();
                value
                    .map(|value| (&*assign.target, value))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        })
    }
}

impl<'a> Visitor<'a> for Parts<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        pillion_index::steps::take(1);
        self.stmts.push(stmt);
        let is_other = matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        if self.is_deep || !is_other {
            walk_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        pillion_index::steps::take(1);
        self.exprs.push(expr);
        walk_expr(self, expr);
    }
}

/// `a.b.c`, if it is nothing but names.
pub(super) fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => {
            let value = dotted(&attribute.value)?;
            Some(format!("{value}.{}", attribute.attr))
        }
        // `Base[T]` is a base all the same.
        Expr::Subscript(subscript) => dotted(&subscript.value),
        _ => None,
    }
}

/// The last part of `a.b.c`.
pub(super) fn last(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or(dotted)
}

/// The last part of what an expression names.
pub(super) fn last_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        Expr::Subscript(subscript) => last_of(&subscript.value),
        _ => None,
    }
}

/// What a decorator names, and how it is called if it is.
pub(super) fn decorator(decorator: &Decorator) -> (&Expr, Option<&ExprCall>) {
    match &decorator.expression {
        Expr::Call(call) => (&call.func, Some(call)),
        other => (other, None),
    }
}

/// Whether one of the decorators has this name, at its end.
pub(super) fn is_decorated(decorators: &[Decorator], names: &[&str]) -> bool {
    let named = |one: &Decorator| last_of(decorator(one).0).is_some_and(|n| names.contains(&n));
    decorators.iter().any(named)
}

pub(super) fn is_name(expr: &Expr, name: &str) -> bool {
    expr.as_name_expr().is_some_and(|expr| expr.id == name)
}

/// The attribute in `owner.attribute`.
pub(super) fn attribute_of<'a>(expr: &'a Expr, owner: &str) -> Option<&'a str> {
    let attribute = expr.as_attribute_expr()?;
    is_name(&attribute.value, owner).then(|| attribute.attr.as_str())
}

/// The text of a string.
pub(super) fn string(expr: &Expr) -> Option<&str> {
    Some(expr.as_string_literal_expr()?.value.to_str())
}

/// The names of parameters, in their order, without stars.
pub(super) fn parameters(function: &StmtFunctionDef) -> Vec<&str> {
    let all = function.parameters.iter_non_variadic_params();
    all.map(|one| one.parameter.name.as_str()).collect()
}

/// The functions right in a body.
pub(super) fn functions(body: &[Stmt]) -> impl Iterator<Item = &StmtFunctionDef> {
    body.iter().filter_map(|stmt| stmt.as_function_def_stmt())
}

/// The bases of a class by their last names.
pub(super) fn bases(class: &StmtClassDef) -> Vec<&str> {
    class.bases().iter().filter_map(last_of).collect()
}

/// The metaclass of a class by its last name.
pub(super) fn metaclass(class: &StmtClassDef) -> Option<&str> {
    let keyword = class.arguments.as_ref()?.find_keyword("metaclass")?;
    last_of(&keyword.value)
}
