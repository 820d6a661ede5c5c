//! `__all__`: the names that a module says it offers.

use ruff_python_ast::{Expr, Stmt};

/// The names in `__all__`, if the module has one that can be read without running it.
pub fn all(body: &[Stmt]) -> Option<Box<[Box<str>]>> {
    let mut names: Option<Vec<Box<str>>> = None;
    for stmt in body {
        match stmt {
            Stmt::Assign(assign) if assign.targets.iter().any(is_all) => {
                names = Some(strings(&assign.value));
            }
            Stmt::AnnAssign(assign) if is_all(&assign.target) => {
                names = assign.value.as_deref().map(strings);
            }
            Stmt::AugAssign(assign) if is_all(&assign.target) => {
                names.get_or_insert_default().extend(strings(&assign.value));
            }
            Stmt::Expr(expr) => {
                if let Some(more) = added(&expr.value) {
                    names.get_or_insert_default().extend(more);
                }
            }
            _ => {}
        }
    }
    names.map(Into::into)
}

fn is_all(expr: &Expr) -> bool {
    expr.as_name_expr().is_some_and(|name| name.id == "__all__")
}

/// `__all__.extend([...])` and `__all__.append("name")`.
fn added(expr: &Expr) -> Option<Vec<Box<str>>> {
    let call = expr.as_call_expr()?;
    let method = call.func.as_attribute_expr()?;
    if !is_all(&method.value) {
        return None;
    }
    let argument = call.arguments.args.first()?;
    match method.attr.as_str() {
        "extend" => Some(strings(argument)),
        "append" => Some(string(argument).into_iter().collect()),
        _ => None,
    }
}

/// The strings of a list or tuple, also of several that are added up.
fn strings(expr: &Expr) -> Vec<Box<str>> {
    match expr {
        Expr::List(list) => list.elts.iter().filter_map(string).collect(),
        Expr::Tuple(tuple) => tuple.elts.iter().filter_map(string).collect(),
        Expr::BinOp(sum) => {
            let mut all = strings(&sum.left);
            all.extend(strings(&sum.right));
            all
        }
        _ => Vec::new(),
    }
}

fn string(expr: &Expr) -> Option<Box<str>> {
    expr.as_string_literal_expr()
        .map(|literal| literal.value.to_str().into())
}
