//! Definitions by their names: `Class.method` instead of file, line and column.
//!
//! `grammar` is what callers write, the same for every operation and every door; `find` looks a
//! name up in the index, through imports and base classes (`outside` where the workspace spells
//! a name of others); `refused` says what a name could have meant where it fits nothing, or
//! too much. No engine is asked.

mod find;
mod grammar;
mod local;
mod outside;
mod refused;

use std::sync::Arc;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::place;
use pillion_index::source::{Position, Source, Span};

pub use find::{Finder, IndexedDefinition};
pub use grammar::{FORMS, Name, NameOrPlace};

use crate::project::View;

/// What a caller means by a place or a name.
#[derive(Debug, Clone)]
pub struct Meant {
    /// The file, relative to the root.
    pub file: String,
    /// Where its name stands; nothing for a module.
    pub at: Option<Position>,
    /// The text of the file.
    pub source: Arc<Source>,
}

/// What was written means, in a view; `scope` is a file or folder to look in.
pub fn meant(view: &View, text: &str, scope: Option<&str>) -> Result<Meant> {
    match NameOrPlace::read(text)? {
        NameOrPlace::Place { file, line, col } => at_line(view, &file, line, col),
        NameOrPlace::File(file) => {
            let file = file_of(view, &file)?;
            let source = view.readable(&file)?;
            Ok(Meant {
                file,
                at: None,
                source,
            })
        }
        NameOrPlace::Name(name) => named(view, text, &name, scope),
    }
}

/// All definitions that a name or place means, whole names first.
pub fn definitions(view: &View, text: &str, scope: Option<&str>) -> Result<Vec<IndexedDefinition>> {
    let finder = Finder::new(view);
    let found = match NameOrPlace::read(text)? {
        NameOrPlace::Name(name) => finder.find(&name, scope)?,
        _ => {
            let Meant { file, at, .. } = meant(view, text, scope)?;
            let around = at.and_then(|at| finder.around(&file, at));
            around.into_iter().collect()
        }
    };
    match found.is_empty() {
        true => Err(no_definition(view, &finder, text, scope)?),
        false => Ok(found),
    }
}

/// Why a name is no definition: it may be known, and be a module or a parameter.
fn no_definition(
    view: &View,
    finder: &Finder<'_>,
    text: &str,
    scope: Option<&str>,
) -> Result<Error> {
    let (modules, parameters) = match NameOrPlace::read(text)? {
        NameOrPlace::Name(name) => (
            finder.modules_named(&name, scope),
            local::parameters(view, finder, &name, scope)?,
        ),
        NameOrPlace::File(file) => (file_of(view, &file).into_iter().collect(), Vec::new()),
        NameOrPlace::Place { .. } => (Vec::new(), Vec::new()),
    };
    Ok(match (parameters.first(), modules.first()) {
        (Some(parameter), _) => refused::a_parameter(text, parameter),
        (None, Some(file)) => refused::a_module(text, file),
        (None, None) => refused::unknown(view, text),
    })
}

/// The one definition that a name or place means.
pub fn definition(view: &View, text: &str, scope: Option<&str>) -> Result<IndexedDefinition> {
    let mut found = definitions(view, text, scope)?;
    match (found.len(), found.pop()) {
        (1, Some(one)) => Ok(one),
        (_, last) => {
            found.extend(last);
            Err(refused::ambiguous(view, text, &found))
        }
    }
}

fn named(view: &View, text: &str, name: &Name, scope: Option<&str>) -> Result<Meant> {
    let finder = Finder::new(view);
    let found = finder.find(name, scope)?;
    let groups = finder.groups(&found);
    match &*groups {
        [] => {}
        [group] => {
            let one = finder.leading(view, group);
            return meant_at(view, one.file.to_string(), finder.name_span(&one));
        }
        several => {
            let firsts: Vec<IndexedDefinition> =
                several.iter().map(|g| finder.leading(view, g)).collect();
            return Err(refused::ambiguous(view, text, &firsts));
        }
    }
    match &*local::parameters(view, &finder, name, scope)? {
        [] => {}
        [one] => return meant_at(view, one.file.clone(), Some(one.span)),
        several => return Err(refused::ambiguous_parameters(text, name, several)),
    }
    match &*finder.modules_named(name, scope) {
        [] => match outside::spelled(view, name).filter(|_| scope.is_none()) {
            Some((file, span)) => meant_at(view, file, Some(span)),
            None => Err(refused::unknown(view, text)),
        },
        [file] => meant_at(view, file.clone(), None),
        several => Err(refused::ambiguous_modules(text, several)),
    }
}

fn meant_at(view: &View, file: String, name: Option<Span>) -> Result<Meant> {
    let source = view.readable(&file)?;
    Ok(Meant {
        file,
        at: name.map(|span| span.start),
        source,
    })
}

/// A file that was written: relative to the root, absolute inside of it, or the end of one
/// path of the workspace.
fn file_of(view: &View, written: &str) -> Result<String> {
    let error = match place::inside(view.root(), written.as_ref()) {
        Ok(file) => return Ok(file),
        Err(error) => error,
    };
    let ends = |path: &str| {
        let before = path.strip_suffix(written);
        before.is_some_and(|before| before.ends_with('/'))
    };
    let mut fitting = view.index.iter().filter(|(path, _)| ends(path));
    match (fitting.next(), fitting.next()) {
        (Some((path, _)), None) => Ok(path.to_string()),
        _ => Err(error),
    }
}

fn at_line(view: &View, file: &str, line: u32, col: Option<u32>) -> Result<Meant> {
    let file = file_of(view, file)?;
    let counts = || {
        Error::new(Code::InvalidParams, "lines and columns count from 1")
            .hint("the first character of a file is line 1, column 1")
    };
    let at = Position::from_one(line, col.unwrap_or(1)).ok_or_else(counts)?;
    let source = view.readable(&file)?;
    if col.is_some() {
        return Ok(Meant {
            file,
            at: Some(at),
            source,
        });
    }
    let facts = view.index.get(&file);
    let on_line = facts.and_then(|facts| {
        let mut symbols = facts.symbols.iter();
        symbols.find(|symbol| symbol.name_span.start.line == at.line)
    });
    match on_line {
        Some(symbol) => Ok(Meant {
            file,
            at: Some(symbol.name_span.start),
            source,
        }),
        None => Err(Error::new(
            Code::NotFound,
            format!("line {line} of `{file}` defines nothing"),
        )
        .hint(format!("write the column, too: `{file}:{line}:COL`"))),
    }
}
