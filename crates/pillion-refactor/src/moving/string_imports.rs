//! Where a program imports a module by a string: `import_module("a.b")`, `sys.modules["a.b"]`.
//!
//! No import says so, and what is taken from such a module has no type that anybody knows.

use std::path::Path;

use pillion_index::modules::{self, Modules};
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};
use pillion_symbols::project::View;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, InterpolatedStringElement, Operator, Stmt};
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

/// Where a program imports modules by texts.
#[derive(Debug, Default)]
pub(super) struct TextImports {
    /// The texts that name a module, and those that its name may be put together of.
    pub(super) named: Vec<(String, Span)>,
    /// Those that may be any name.
    pub(super) unknown: Vec<(String, Span)>,
}

/// The strings by which a module is imported.
pub(super) fn places(view: &View, modules: &Modules, key: &str) -> Vec<(String, Span)> {
    all(view, modules, key).named
}

/// The texts by which a module is imported, or may be.
pub(super) fn all(view: &View, modules: &Modules, key: &str) -> TextImports {
    let dotted = modules.dotted(key);
    let last = modules::last(key);
    let names = IMPORT.iter().chain(&["modules"]);
    let mut files: Vec<_> = names.flat_map(|n| view.index.files_with(n)).collect();
    files.sort();
    files.dedup();
    let mut found = TextImports::default();
    for file in files {
        let Ok(bytes) = std::fs::read(view.root().join(&*file)) else {
            continue;
        };
        let source = Source::decode(&bytes);
        let (named, unknown) = parsed(source.text(), &file, |parsed| {
            let mut finder = Finder {
                dotted: &dotted,
                last,
                found: Vec::new(),
                unknown: Vec::new(),
            };
            finder.visit_body(parsed.body());
            (finder.found, finder.unknown)
        });
        let place = |range| (file.to_string(), span_of(&source, range));
        found.named.extend(named.into_iter().map(place));
        found.unknown.extend(unknown.into_iter().map(place));
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
    unknown: Vec<TextRange>,
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

impl Finder<'_> {
    /// Take in what imports a module by a text.
    fn imported(&mut self, name: &Expr, package: Option<&Expr>) {
        if self.names_it(name, package) {
            self.found.push(name.range());
        } else if !name.is_string_literal_expr() {
            let (before, after) = ends(name);
            let is_relative = before.starts_with('.');
            let begins = is_relative || self.dotted.starts_with(&*before);
            if before.is_empty() && after.is_empty() {
                self.unknown.push(name.range());
            } else if begins && self.dotted.ends_with(&*after) {
                self.found.push(name.range());
            }
        }
    }
}

/// How a text that is put together begins and ends: empty where nobody knows.
fn ends(expr: &Expr) -> (String, String) {
    match expr {
        Expr::StringLiteral(literal) => {
            let text = literal.value.to_str();
            let hole = text.find(['{', '%']);
            let before = &text[..hole.unwrap_or(text.len())];
            let after = hole.and_then(|_| text.rsplit(['}', 's']).next());
            let after = after.unwrap_or(text);
            (before.to_owned(), after.to_owned())
        }
        Expr::FString(string) => {
            let parts: Vec<_> = string.value.elements().collect();
            let text = |part: Option<&&InterpolatedStringElement>| {
                let literal = part.and_then(|part| part.as_literal());
                literal.map_or_else(String::new, |literal| literal.value.to_string())
            };
            (text(parts.first()), text(parts.last()))
        }
        Expr::BinOp(operation) => match operation.op {
            Operator::Add => (ends(&operation.left).0, ends(&operation.right).1),
            _ => ends(&operation.left),
        },
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if &*method.attr == "format" => ends(&method.value),
            _ => Default::default(),
        },
        _ => Default::default(),
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
                {
                    self.imported(name, package);
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
