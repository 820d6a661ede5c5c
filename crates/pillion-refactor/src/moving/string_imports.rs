//! Where a program imports a module by a string: `import_module("a.b")`, `sys.modules["a.b"]`.
//!
//! No import says so, and what is taken from such a module has no type that anybody knows.

use std::path::Path;

use pillion_index::modules::{self, Modules};
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};
use pillion_symbols::project::View;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::span_of;

/// Functions that take the name of a module.
const IMPORT: &[&str] = &[
    "__import__",
    "find_spec",
    "import_module",
    "import_string",
    "importorskip",
    "resolve_name",
    "run_module",
];

/// The strings by which a module is imported.
pub(super) fn places(view: &View, modules: &Modules, key: &str) -> Vec<(String, Span)> {
    let dotted = modules.dotted(key);
    let last = modules::last(key);
    let names = IMPORT.iter().chain(&["modules"]);
    let mut files: Vec<_> = names.flat_map(|n| view.index.files_with(n)).collect();
    files.sort();
    files.dedup();
    let mut found = Vec::new();
    for file in files {
        let Ok(bytes) = std::fs::read(view.root().join(&*file)) else {
            continue;
        };
        if memchr::memmem::find(&bytes, last.as_bytes()).is_none() {
            continue;
        }
        let source = Source::decode(&bytes);
        let ranges = parsed(source.text(), &file, |parsed| {
            let mut finder = Finder {
                dotted: &dotted,
                last,
                found: Vec::new(),
            };
            finder.visit_body(parsed.body());
            finder.found
        });
        let spans = ranges.into_iter().map(|range| span_of(&source, range));
        found.extend(spans.map(|span| (file.to_string(), span)));
    }
    found
}

/// Whether pytest knows a file by its name, and would not know it by another.
pub(crate) fn is_for_pytest(path: &str) -> bool {
    let name = Path::new(path).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    name.starts_with("test_") && name.ends_with(".py") || name.ends_with("_test.py")
}

struct Finder<'n> {
    dotted: &'n str,
    last: &'n str,
    found: Vec<TextRange>,
}

impl Finder<'_> {
    /// Whether a string names the module, in a package if that is written out.
    fn names_it(&self, expr: &Expr, package: Option<&Expr>) -> bool {
        let Some(literal) = expr.as_string_literal_expr() else {
            return false;
        };
        let name = literal.value.to_str();
        let below = name.trim_start_matches('.');
        if below.len() == name.len() {
            let below = |whole: &str, head: &str| {
                let rest = whole.strip_prefix(head);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
            };
            return below(name, self.dotted);
        }
        let package = package.and_then(Expr::as_string_literal_expr);
        match package {
            Some(package) if name.len() - below.len() == 1 => {
                format!("{}.{below}", package.value.to_str()) == self.dotted
            }
            _ => below.rsplit('.').next() == Some(self.last),
        }
    }
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                let called = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => "",
                };
                let arguments = &call.arguments;
                let package = arguments.find_argument_value("package", 1);
                if IMPORT.contains(&called)
                    && let Some(name) = arguments.find_argument_value("name", 0)
                    && self.names_it(name, package)
                {
                    self.found.push(name.range());
                }
            }
            Expr::Subscript(subscript) => {
                let is_modules = match &*subscript.value {
                    Expr::Attribute(attribute) => &*attribute.attr == "modules",
                    _ => false,
                };
                if is_modules && self.names_it(&subscript.slice, None) {
                    self.found.push(subscript.slice.range());
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
