//! All that is read of a file by its text alone, in one call: what fuzzing and tests of hostile
//! files go through.

use pillion_index::extract_facts;
use pillion_index::language::Language;
use pillion_index::parsed;
use pillion_index::scopes::Scopes;
use pillion_index::source::Source;
use pillion_index::syntax::Syntax;
use pillion_map::{outline, patterns};

/// How Python files and those of other languages end.
const ENDINGS: [(&str, Language); 7] = [
    (".ts", Language::Typescript),
    (".tsx", Language::Typescript),
    (".js", Language::Javascript),
    (".go", Language::Go),
    (".rs", Language::Rust),
    (".java", Language::Java),
    (".c", Language::C),
];

/// Read a file as every reader of its language does. What is wrong with it, in a few words.
pub fn read(path: &str, bytes: &[u8]) -> Vec<String> {
    let source = Source::decode(bytes);
    let text = source.text();
    if let Some((_, language)) = ENDINGS.iter().find(|(end, _)| path.ends_with(end)) {
        let _ = outline(*language, path, text);
        return patterns::try_text(*language, path, &source);
    }
    let facts = extract_facts(&source, path);
    let _ = Scopes::of(text, path);
    pillion_map::try_text(&source, path);
    let _ = patterns::try_text(Language::Python, path, &source);
    let middle = source.position(text.floor_char_boundary(text.len() / 2));
    let _ = Syntax::of(&source, path).kind(middle);
    let _ = Syntax::of(&source, path).docstring(Some(middle));
    let _ = pillion_refactor::range::expression(&source, path, 0..0);
    let _ = parsed::expression(text.trim(), |_| ());
    let errors = facts.parse_errors.iter();
    errors.map(|error| error.message.clone()).collect()
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "parsed_tests.rs"]
mod parsed_tests;
