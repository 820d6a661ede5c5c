//! Rules for functions and methods.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

use super::ast::{Parts, decorator, functions, is_decorated, is_name, last_of, parameters, string};
use super::frameworks::frameworks;
use super::reader::Reader;

/// How functions that make things are called.
pub(super) const MAKERS: &[&str] = &["create_", "make_", "build_", "new_"];
/// What those who keep others for later are called.
pub(super) const REGISTERS: &[&str] = &["register", "registry", "plugin", "hook"];
pub(super) const REGISTRIES: &[&str] = &[
    "registr", "plugin", "handler", "command", "backend", "hook", "provider", "factor",
];

pub(super) fn look(reader: &mut Reader<'_>, function: &StmtFunctionDef, is_test: bool) {
    let at = function.name.start();
    let name = function.name.as_str();
    let decorators = &function.decorator_list;
    if is_decorated(decorators, &["fixture"]) {
        reader.add(
            "test_fixture",
            at,
            98,
            format!("`{name}` is given to tests"),
        );
    }
    if is_test {
        return;
    }
    for one in decorators {
        let (named, call) = decorator(one);
        if let Some((confidence, what)) = served(named, call) {
            reader.add("http_handler", at, confidence, format!("`{name}` {what}"));
        }
        let last = last_of(named).unwrap_or_default();
        let is_attribute = named.is_attribute_expr();
        match last {
            "command" | "group" if is_attribute && commands(reader) => {
                let what = format!("`{name}` is a command");
                reader.add("cli_entry_point", at, 95, what);
            }
            "tool" if is_attribute && is_served(reader) => {
                reader.add("mcp_tool", at, 95, format!("`{name}` is a tool for agents"));
            }
            "middleware" if is_attribute && call.is_some() => {
                let what = format!("`{name}` stands between requests and answers");
                reader.add("middleware", at, 95, what);
            }
            "contextmanager" | "asynccontextmanager" => {
                let what = format!("`{name}` is used in `with`");
                reader.add("context_manager", at, 98, what);
            }
            "inject" => {
                let what = format!("`{name}` is given what it needs by `@inject`");
                reader.add("dependency_injection", at, 90, what);
            }
            _ => {}
        }
    }
    injected(reader, function);
    if parameters(function).first() == Some(&"get_response") && returns_inner(function).is_some() {
        let what = format!("`{name}` wraps what answers a request");
        reader.add("middleware", at, 90, what);
    } else if let Some((confidence, what)) = decorates(function) {
        reader.add("decorator", at, confidence, format!("`{name}` {what}"));
    }
    made(reader, function);
    registered(reader, function);
}

/// Whether a file has to do with the protocol that agents call tools by.
fn is_served(reader: &Reader<'_>) -> bool {
    let mut names = reader.imports.iter();
    names.any(|name| name.contains("mcp"))
}

fn commands(reader: &Reader<'_>) -> bool {
    let known = &frameworks().python.commands;
    reader.imports.iter().any(|name| known.has(name))
}

/// What a decorator says about requests.
fn served(named: &Expr, call: Option<&ExprCall>) -> Option<(u8, String)> {
    let last = last_of(named)?;
    let call = call?;
    if last == "api_view" {
        return Some((90, "answers requests".to_owned()));
    }
    let path = call.arguments.args.first().and_then(string)?;
    if !named.is_attribute_expr() || !frameworks().python.routes.has(last) || !path.starts_with('/')
    {
        return None;
    }
    Some(match last {
        "route" => (95, format!("answers {path}")),
        verb => (95, format!("answers {} {path}", verb.to_uppercase())),
    })
}

/// Parameters whose values are asked for by `Depends(...)` and its like.
fn injected(reader: &mut Reader<'_>, function: &StmtFunctionDef) {
    let is_known = |name: &str| frameworks().python.injected.has(name);
    let asks = |expr: &Expr| match expr {
        Expr::Call(call) => last_of(&call.func).is_some_and(is_known),
        Expr::Subscript(part) => last_of(&part.value).is_some_and(is_known),
        _ => false,
    };
    let annotated = |expr: &Expr| {
        let inside = expr.as_subscript_expr();
        let inside = inside.filter(|part| last_of(&part.value) == Some("Annotated"));
        let inside = inside.and_then(|part| part.slice.as_tuple_expr());
        inside.is_some_and(|tuple| tuple.elts.iter().any(asks))
    };
    let all = function.parameters.iter_non_variadic_params();
    let names: Vec<String> = all
        .filter(|one| {
            one.default.as_deref().is_some_and(asks)
                || one.parameter.annotation.as_deref().is_some_and(annotated)
        })
        .map(|one| format!("`{}`", one.parameter.name))
        .collect();
    if !names.is_empty() {
        let what = format!("`{}` is given {}", function.name, names.join(", "));
        reader.add("dependency_injection", function.name.start(), 95, what);
    }
}

/// The function in it that it returns.
fn returns_inner(function: &StmtFunctionDef) -> Option<&StmtFunctionDef> {
    let parts = Parts::of(&function.body);
    let inner = |name: &str| {
        let all = parts
            .stmts
            .iter()
            .filter_map(|stmt| stmt.as_function_def_stmt());
        all.into_iter().find(|inner| inner.name == *name)
    };
    let mut returned = parts.returned().flatten();
    returned.find_map(|value| match value {
        Expr::Name(name) => inner(&name.id),
        // `functools.update_wrapper(inner, function)`
        Expr::Call(call) if last_of(&call.func) == Some("update_wrapper") => {
            inner(&call.arguments.args.first()?.as_name_expr()?.id)
        }
        _ => None,
    })
}

/// Whether a function takes a function and gives another one in its place, or makes such
/// functions; and how sure that is.
fn decorates(function: &StmtFunctionDef) -> Option<(u8, String)> {
    let inner = returns_inner(function)?;
    if let Some((confidence, _)) = decorates(inner) {
        return Some((confidence, "makes decorators".to_owned()));
    }
    let given = parameters(function);
    let wrapped = |call: &ExprCall| {
        let first = call.arguments.args.first();
        first.is_some_and(|arg| given.iter().any(|name| is_name(arg, name)))
    };
    let wraps = inner.decorator_list.iter().any(|one| {
        let (named, call) = decorator(one);
        last_of(named) == Some("wraps") && call.is_some_and(wrapped)
    });
    let calls = || {
        let first = given
            .iter()
            .find(|name| **name != "self" && **name != "cls");
        let parts = Parts::deep(&inner.body);
        first.is_some_and(|first| parts.calls().any(|call| is_name(&call.func, first)))
    };
    let what = "wraps functions".to_owned();
    match (wraps, wraps || calls()) {
        (true, _) => Some((95, what)),
        (_, true) => Some((80, what)),
        _ => None,
    }
}

/// A function that makes things of several classes.
fn made(reader: &mut Reader<'_>, function: &StmtFunctionDef) {
    let name = function.name.as_str();
    let bare = name.trim_start_matches('_');
    if !MAKERS.iter().any(|maker| bare.starts_with(maker)) && !bare.ends_with("factory") {
        return;
    }
    let parts = Parts::of(&function.body);
    let is_class = |name: &&str| name.starts_with(|c: char| c.is_uppercase());
    let classes: BTreeSet<&str> = parts
        .returned()
        .flatten()
        .filter_map(|value| last_of(&value.as_call_expr()?.func))
        .filter(is_class)
        .collect();
    if classes.len() > 1 {
        let names: Vec<String> = classes.iter().map(|name| format!("`{name}`")).collect();
        let what = format!("`{name}` makes one of {}", names.join(", "));
        reader.add("factory", function.name.start(), 85, what);
    }
}

/// A function that keeps what it is given in a container of the module.
fn registered(reader: &mut Reader<'_>, function: &StmtFunctionDef) {
    let mut given = parameters(function);
    for inner in functions(&function.body) {
        given.extend(parameters(inner));
    }
    let is_given = |expr: &Expr| given.iter().any(|name| is_name(expr, name));
    let parts = Parts::deep(&function.body);
    let by_key = parts.stmts.iter().filter_map(|stmt| match stmt {
        Stmt::Assign(assign) if is_given(&assign.value) => {
            let target = assign.targets.first()?.as_subscript_expr()?;
            Some(target.value.as_name_expr()?.id.as_str())
        }
        _ => None,
    });
    let by_call = parts.calls().filter_map(|call| {
        let callee = call.func.as_attribute_expr()?;
        let is_kept = matches!(callee.attr.as_str(), "append" | "add");
        let first = call.arguments.args.first().filter(|_| is_kept)?;
        is_given(first).then_some(())?;
        Some(callee.value.as_name_expr()?.id.as_str())
    });
    let name = function.name.as_str();
    let says = |text: &str, words: &[&str]| {
        let text = text.to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    let is_registry = |kept: &&str| {
        reader.containers.contains(kept) && (says(name, REGISTERS) || says(kept, REGISTRIES))
    };
    let kept = by_key
        .chain(by_call)
        .find(is_registry)
        .map(ToOwned::to_owned);
    if let Some(kept) = kept {
        let what = format!("`{name}` keeps what it is given in `{kept}`");
        reader.add("plugin_registry", function.name.start(), 90, what);
    }
}
