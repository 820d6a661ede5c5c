//! Dotted names such as `os.path.join`, and what an `import os.path` makes of their parts.
//!
//! Such an import gives a file the name `os` alone, and `os.path` is what is found on it. An
//! engine may take `os` for the module that the import ends with, and know nothing about the
//! part behind the dot. The import itself spells every part, so it is asked instead.

use pillion_catalogue::Result;
use pillion_engines::engine::LspLocation;
use pillion_index::Import;
use pillion_index::source::{Position, Source, Span};

use crate::ask::EngineView;
use crate::open_files::OpenFiles;
use crate::spotted::Spotted;

/// Where the parts of the dotted name at a place are spelled in an import, if the engine's
/// own `targets` leave the question open.
pub(crate) async fn in_import(
    engine: &EngineView,
    opened: &mut OpenFiles,
    spot: &Spotted,
    targets: &[LspLocation],
) -> Result<Option<Position>> {
    if !targets.iter().all(is_module) {
        return Ok(None);
    }
    let Some((start, parts)) = parts(&spot.source, spot.at) else {
        return Ok(None);
    };
    let file = engine.absolute(&spot.path);
    let place = opened.with_facts(&file, |facts| {
        facts
            .imports
            .iter()
            .find_map(|import| spelled(import, &parts, spot.at))
    });
    let first_is_module = match (place, parts.len()) {
        (None, _) => return Ok(None),
        // It is the first.
        (_, 1) => !targets.is_empty(),
        _ if !targets.is_empty() => return Ok(None),
        _ => {
            let first = engine.definition(&spot.path, start).await?;
            !first.is_empty() && first.iter().all(is_module)
        }
    };
    Ok(place.filter(|_| first_is_module))
}

fn is_module(target: &LspLocation) -> bool {
    crate::ask::span(target.range) == Span::default()
}

/// Where a plain `import a.b.c` spells the last of these parts.
fn spelled(import: &Import, parts: &[&str], at: Position) -> Option<Position> {
    let plain = import.name.is_none() && import.alias.is_none();
    let module: Vec<&str> = import.module.split('.').collect();
    if !plain || module.len() < 2 || !module.starts_with(parts) || import.span.touches(at) {
        return None;
    }
    let before: usize = parts[..parts.len() - 1]
        .iter()
        .map(|part| part.chars().count() + 1)
        .sum();
    Some(Position {
        line: import.span.start.line,
        column: import.span.start.column + u32::try_from(before).ok()?,
    })
}

/// The dotted name up to the word at a place, and where it begins; nothing if it is taken
/// from something else than a name.
fn parts(source: &Source, at: Position) -> Option<(Position, Vec<&str>)> {
    let (word, mut span) = source.word_at(at)?;
    let mut parts = vec![word];
    loop {
        let dot = span.start.column.checked_sub(1);
        let before = dot.map(|column| Position {
            column,
            ..span.start
        });
        let is_dot = |dot: &Position| {
            let end = span.start;
            source.slice(Span { start: *dot, end }) == Some(".")
        };
        let Some(dot) = before.filter(is_dot) else {
            parts.reverse();
            return Some((span.start, parts));
        };
        let (word, place) = source.word_at(dot)?;
        parts.push(word);
        span = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(column: u32) -> Position {
        Position { line: 0, column }
    }

    #[test]
    fn only_names_and_dots_make_a_dotted_name() {
        let source = Source::decode(b"a.bc.d(1); f().g; x");
        assert_eq!(parts(&source, at(0)), Some((at(0), vec!["a"])));
        assert_eq!(parts(&source, at(5)), Some((at(0), vec!["a", "bc", "d"])));
        assert_eq!(parts(&source, at(15)), None);
        assert_eq!(parts(&source, at(18)), Some((at(18), vec!["x"])));
        assert_eq!(parts(&source, at(17)), None);
    }

    #[test]
    fn a_plain_import_spells_every_part() {
        let import = |alias: Option<&str>| Import {
            module: "os.path.more".into(),
            name: None,
            alias: alias.map(Into::into),
            span: Span {
                start: at(7),
                end: at(19),
            },
        };
        let far = Position { line: 9, column: 0 };
        assert_eq!(spelled(&import(None), &["os"], far), Some(at(7)));
        assert_eq!(spelled(&import(None), &["os", "path"], far), Some(at(10)));
        assert_eq!(spelled(&import(None), &["path"], far), None);
        assert_eq!(spelled(&import(None), &["os"], at(8)), None);
        assert_eq!(spelled(&import(Some("p")), &["os"], far), None);
    }
}
