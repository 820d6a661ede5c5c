//! Parameters and local names of a function by their names: `function.parameter`.

use pillion_catalogue::Result;
use pillion_index::Kind;
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};
use ruff_python_ast::Stmt;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_text_size::TextRange;

use super::find::Finder;
use super::grammar::Name;
use crate::project::View;

/// A parameter that a name can mean.
pub(super) struct FoundParameter {
    pub(super) file: String,
    pub(super) span: Span,
    /// The name path of its function.
    pub(super) function: String,
}

/// The parameters that a name can mean: its last part is one of the function before it. A
/// class has the parameters of its `__init__`.
pub(super) fn parameters(
    view: &View,
    finder: &Finder<'_>,
    name: &Name,
    scope: Option<&str>,
) -> Result<Vec<FoundParameter>> {
    let Some((last, above)) = name
        .parts
        .split_last()
        .filter(|(_, above)| !above.is_empty())
    else {
        return Ok(Vec::new());
    };
    let function = Name {
        parts: above.to_vec(),
        ..name.clone()
    };
    let mut found = finder.find(&function, scope)?;
    let is_class = |kind| kind == Kind::Class;
    if found
        .iter()
        .all(|one| finder.symbol(one).is_some_and(|s| is_class(s.kind)))
    {
        let mut parts = above.to_vec();
        parts.push("__init__".into());
        let init = Name { parts, ..function };
        found = finder.find(&init, scope)?;
    }
    let groups = finder.groups(&found);
    let parameters = groups.iter().filter_map(|group| {
        let one = finder.leading(view, group);
        let at = finder.name_span(&one)?;
        let source = view.source(one.file.as_ref().as_ref())?;
        let span = parameter_of(&source, &one.file, at, last)?;
        Some(FoundParameter {
            file: one.file.to_string(),
            span,
            function: finder.name_path(&one),
        })
    });
    Ok(parameters.collect())
}

/// Where the function whose name stands at a place has a parameter of this name.
fn parameter_of(source: &Source, path: &str, function: Span, name: &str) -> Option<Span> {
    let offset = source.offset(function.start)?;
    let mut search = Search {
        offset,
        name,
        found: None,
    };
    parsed(source.text(), path, |parsed| {
        search.visit_body(parsed.body());
    });
    let range = search.found?;
    Some(Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    })
}

struct Search<'n> {
    offset: usize,
    name: &'n str,
    found: Option<TextRange>,
}

impl<'a> Visitor<'a> for Search<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(function) = stmt
            && function.name.range.start().to_usize() == self.offset
        {
            let all = function.parameters.iter();
            let mut named = all.filter(|one| one.name().as_str() == self.name);
            self.found = named.next().map(|one| one.as_parameter().name.range);
            return;
        }
        if self.found.is_none() {
            visitor::walk_stmt(self, stmt);
        }
    }
}
