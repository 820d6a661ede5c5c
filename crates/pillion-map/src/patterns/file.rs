//! The patterns of one file.

use pillion_index::parsed::parsed;
use pillion_index::source::Source;
use ruff_python_ast::{Expr, ExprList, Stmt};
use ruff_text_size::Ranged;

use super::ast::{Parts, dotted, is_name, last, string};
use super::reader::Reader;
use super::{Found, classes, functions};
use crate::tests_of::{is_conftest, is_test_file};

/// The patterns of a file. Of tests only what they share counts: what they try out is no
/// part of the program.
pub(super) fn patterns(source: &Source, path: &str) -> Vec<Found> {
    if path.ends_with(".pyi") {
        return Vec::new();
    }
    parsed(source.text(), path, |parsed| {
        let body = parsed.body();
        let mut reader = Reader::new(source, body);
        let is_test = is_of_tests(path);
        walk(&mut reader, body, is_test);
        if !is_test {
            module(&mut reader, body);
        }
        reader.finish()
    })
}

/// Whether a file belongs to tests, if only as what they are tried on.
pub(super) fn is_of_tests(path: &str) -> bool {
    let in_tests = || path.split('/').any(|part| part == "tests");
    is_test_file(path) || is_conftest(path) || in_tests()
}

/// Classes, functions and methods; also in `if` and `try` of a module.
fn walk(reader: &mut Reader<'_>, body: &[Stmt], is_test: bool) {
    for stmt in body {
        match stmt {
            Stmt::ClassDef(class) => {
                if !is_test {
                    classes::look(reader, class);
                }
                walk(reader, &class.body, is_test);
            }
            Stmt::FunctionDef(function) => functions::look(reader, function, is_test),
            Stmt::If(part) => {
                walk(reader, &part.body, is_test);
                for clause in &part.elif_else_clauses {
                    walk(reader, &clause.body, is_test);
                }
            }
            Stmt::Try(part) => walk(reader, &part.body, is_test),
            _ => {}
        }
    }
}

/// What the code of the module itself does.
fn module(reader: &mut Reader<'_>, body: &[Stmt]) {
    for stmt in body {
        match stmt {
            Stmt::If(part) if is_main(&part.test) => {
                let what = "runs as a script".to_owned();
                reader.add("cli_entry_point", part.start(), 90, what);
            }
            Stmt::Assign(assign) if assign.targets.iter().any(|t| is_name(t, "urlpatterns")) => {
                let routes = assign.value.as_list_expr().map_or(0, ExprList::len);
                if routes > 0 {
                    let what = format!("`urlpatterns` routes {routes} addresses");
                    reader.add("http_handler", stmt.start(), 95, what);
                }
            }
            _ => {}
        }
    }
    let parts = Parts::deep(body);
    for call in parts.calls() {
        let Some(name) = dotted(&call.func) else {
            continue;
        };
        let is_grouped = call.arguments.find_keyword("group").is_some();
        match last(&name) {
            "entry_points" | "iter_entry_points" if is_grouped || name.contains("iter") => {
                let group = call.arguments.find_keyword("group").map(|k| &k.value);
                let group = group.and_then(string).unwrap_or("a group");
                let what = format!("loads plugins from the entry points `{group}`");
                reader.add("plugin_registry", call.start(), 90, what);
            }
            "PluginManager" if reader.imports.contains(&"pluggy") => {
                let what = "keeps plugins with pluggy".to_owned();
                reader.add("plugin_registry", call.start(), 95, what);
            }
            "ArgumentParser" if reader.imports.contains(&"argparse") => {
                let what = "reads the command line with argparse".to_owned();
                reader.add("cli_entry_point", call.start(), 85, what);
            }
            _ => {}
        }
    }
}

/// `__name__ == "__main__"`.
fn is_main(test: &Expr) -> bool {
    test.as_compare_expr().is_some_and(|compare| {
        let all = std::iter::once(&*compare.left).chain(&compare.comparators);
        let all: Vec<&Expr> = all.collect();
        all.iter().any(|expr| is_name(expr, "__name__"))
            && all.iter().any(|expr| string(expr) == Some("__main__"))
    })
}
