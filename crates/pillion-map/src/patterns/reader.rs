//! What the rules for Python know of the file at hand, and where they put what they find.

use pillion_index::source::Source;
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextSize;

use super::Found;
use super::ast::{Parts, dotted, last};

/// What rules know about the file they look at, and what they found.
pub(super) struct Reader<'a> {
    source: &'a Source,
    /// Names of the module that begin as an empty list, set or dictionary.
    pub(super) containers: Vec<&'a str>,
    /// The first parts of modules that are imported.
    pub(super) imports: Vec<&'a str>,
    found: Vec<Found>,
}

impl<'a> Reader<'a> {
    /// A reader that has found nothing yet in a module.
    pub(super) fn new(source: &'a Source, body: &'a [Stmt]) -> Self {
        Self {
            source,
            containers: containers(body),
            imports: imports(body),
            found: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, kind: &'static str, at: TextSize, confidence: u8, what: String) {
        self.found.push(Found {
            kind,
            line: self.source.position(at.to_usize()).line + 1,
            confidence,
            description: what,
        });
    }

    /// What was found.
    pub(super) fn finish(self) -> Vec<Found> {
        self.found
    }
}

fn containers(body: &[Stmt]) -> Vec<&str> {
    let parts = Parts::of(body);
    let empty = |value: &Expr| match value {
        Expr::Dict(dict) => dict.items.is_empty(),
        Expr::List(list) => list.is_empty(),
        Expr::Call(call) => dotted(&call.func).is_some_and(|name| {
            matches!(
                last(&name),
                "dict" | "list" | "set" | "defaultdict" | "OrderedDict"
            )
        }),
        _ => false,
    };
    let all = parts.assigned().filter(|(_, value)| empty(value));
    all.filter_map(|(target, _)| Some(target.as_name_expr()?.id.as_str()))
        .collect()
}

fn imports(body: &[Stmt]) -> Vec<&str> {
    let parts = Parts::deep(body);
    let first = |name: &'_ str| name.len() - name.split_once('.').map_or(0, |(_, r)| r.len() + 1);
    let mut all = Vec::new();
    for stmt in parts.stmts {
        match stmt {
            Stmt::Import(import) => all.extend(import.names.iter().map(|alias| {
                let name = alias.name.as_str();
                &name[..first(name)]
            })),
            Stmt::ImportFrom(import) => all.extend(import.module.as_ref().map(|module| {
                let name = module.as_str();
                &name[..first(name)]
            })),
            _ => {}
        }
    }
    all
}
