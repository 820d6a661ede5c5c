//! Why an answer about a place has nothing: the same words for every question.

use pillion_catalogue::Result;
use pillion_index::answers::{Location, Nothing};
use pillion_index::syntax::WordKind;
use pillion_symbols::ask::EngineView;
use pillion_symbols::definitions;
use pillion_symbols::named::{self, Finder};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::spotted::Spotted;

/// Candidates that are told.
const MOST: usize = 10;

/// Why nothing is known about what stands at a place.
pub(super) fn at(engine: &EngineView, spot: &Spotted) -> Nothing {
    Nothing {
        why: Some(why_nothing(spot)),
        candidates: candidates(engine, spot),
    }
}

/// The same where a name may be known, but be none of what a question is about, such as a
/// function.
pub(super) async fn but(engine: &EngineView, spot: &Spotted, wanted: &str) -> Result<Nothing> {
    let found = definitions::find_or_fall_back(engine, spot).await?;
    let Some(place) = found.locations.first() else {
        return Ok(at(engine, spot));
    };
    let word = spot.word().map(|(word, _)| word);
    let Some(word) = word.or(place.name.as_deref()) else {
        return Ok(at(engine, spot));
    };
    let kind = place.kind.as_deref().unwrap_or("name");
    let why = match place.external {
        true => format!(
            "`{word}` is defined outside of the workspace: {}",
            place.file
        ),
        false => format!("`{word}` is a {kind}, no {wanted}"),
    };
    Ok(Nothing {
        why: Some(why),
        candidates: Vec::new(),
    })
}

/// Why nothing is defined by what stands at a place.
fn why_nothing(spot: &Spotted) -> String {
    let (line, column) = (spot.at.line + 1, spot.at.column + 1);
    let count = spot.source.line_count();
    let Some(text) = spot
        .source
        .line(spot.at.line)
        .filter(|_| line as usize <= count)
    else {
        return format!("line {line} is missing: the file has {count} lines");
    };
    match (spot.kind_of_word(), spot.word()) {
        (WordKind::Keyword, Some((word, _))) => format!("`{word}` is a keyword"),
        (_, Some((word, span))) => {
            let before = text
                .chars()
                .nth((span.start.column as usize).wrapping_sub(1));
            match before {
                Some('.') => {
                    format!("the type of what stands before `.{word}` is not known")
                }
                _ => format!("nobody knows what `{word}` is here"),
            }
        }
        _ if text.trim().is_empty() => format!("line {line} is blank"),
        _ if text.chars().count() < spot.at.column as usize => {
            let width = text.chars().count();
            format!("line {line} has only {width} columns: `{}`", text.trim())
        }
        _ => format!(
            "no name is at column {column} of line {line}: `{}`",
            text.trim()
        ),
    }
}

/// Definitions of the workspace that have the name at a place.
fn candidates(engine: &EngineView, spot: &Spotted) -> Vec<Location> {
    let is_name = spot.kind_of_word() == WordKind::Name;
    let Some((word, _)) = spot.word().filter(|_| is_name) else {
        return Vec::new();
    };
    let Ok(found) = named::definitions(&engine.view, word, None) else {
        return Vec::new();
    };
    let mut opened = OpenFiles::new(&engine.view);
    let finder = Finder::new(&engine.view);
    let places = found.iter().filter_map(|one| {
        let span = finder.name_span(one)?;
        Some(opened.definition(&engine.absolute(&one.file), span))
    });
    places.take(MOST).collect()
}
