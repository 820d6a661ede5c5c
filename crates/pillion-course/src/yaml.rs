//! YAML of others: bounded, and wrong lines are named.
//!
//! Metadata stand at the beginning of a Markdown file, between lines of `---` or in a block
//! of code that is marked as `yaml`.

use std::path::Path;

use serde_json::{Map, Value};

use crate::Error;

/// The deepest nesting.
const MOST_DEPTH: usize = 32;
/// Scalars, lists and maps in one document.
const MOST_NODES: usize = 20_000;
/// References to other parts of a document; nobody needs many.
const MOST_ALIASES: usize = 64;
/// Longest part of a parser's message that is repeated.
const MOST_MESSAGE: usize = 300;

/// Parse a document that begins at line `first` (counted from 1) of `path`.
pub(crate) fn parse(path: &Path, text: &str, first: usize) -> Result<Value, Error> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    // All JSON is meant to be YAML, but not every parser of YAML takes all of it.
    if text.starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let budget = serde_saphyr::budget! {
        max_depth: MOST_DEPTH,
        max_nodes: MOST_NODES,
        max_aliases: MOST_ALIASES,
    };
    // A name that is given twice is an error by default. `no` and `y` are words, as in YAML 1.2.
    let options = serde_saphyr::options! { budget: budget, strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet();
        // A place that is not known has line 0.
        let line = error
            .location()
            .map(|place| place.line())
            .filter(|line| *line > 0);
        let line = line.and_then(|line| usize::try_from(line).ok());
        let message = error.to_string();
        let message: String = message.chars().take(MOST_MESSAGE).collect();
        let message = format!("this is no valid YAML: {message}");
        Error::invalid(
            path,
            Some(line.map_or(first, |line| line + first - 1)),
            message,
        )
    })
}

/// A Markdown file in two parts.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Front {
    /// Its metadata; empty if there are none.
    pub(crate) fields: Map<String, Value>,
    /// Whether it has metadata at all.
    pub(crate) present: bool,
    /// The first line of the metadata.
    pub(crate) line: usize,
    /// The text without them.
    pub(crate) body: String,
}

/// Take the metadata from a Markdown file.
pub(crate) fn front(path: &Path, text: &str) -> Result<Front, Error> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(begin) = beginning(&lines) else {
        return Ok(Front {
            line: 1,
            body: text.to_owned(),
            ..Front::default()
        });
    };
    let opening = lines[begin].trim();
    let ends = |line: &str| match opening {
        "---" => ["---", "..."].contains(&line.trim_end()),
        _ => line.trim() == &opening[..3],
    };
    let Some(end) = (begin + 1..lines.len()).find(|at| ends(lines[*at])) else {
        let message = format!("the metadata that begin here with `{opening}` never end");
        return Err(Error::invalid(path, Some(begin + 1), message));
    };
    // Counted from 1, the line behind the opening one.
    let line = begin + 2;
    let fields = match parse(path, &lines[begin + 1..end].join("\n"), line)? {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        _ => {
            let message = "metadata are lines of `name: value`";
            return Err(Error::invalid(path, Some(line), message));
        }
    };
    let kept = lines[..begin].iter().chain(&lines[end + 1..]);
    let body: Vec<&str> = kept.copied().collect();
    Ok(Front {
        fields,
        present: true,
        line,
        body: body.join("\n").trim().to_owned(),
    })
}

/// The line that opens the metadata: the first one, or a block behind no more than a heading.
fn beginning(lines: &[&str]) -> Option<usize> {
    if lines.first()?.trim_end() == "---" {
        return Some(0);
    }
    let skipped = |line: &&str| line.trim().is_empty() || line.starts_with("# ");
    let at = lines.iter().take_while(|line| skipped(line)).count();
    let marked = ["```yaml", "```yml", "~~~yaml", "~~~yml"];
    let line = lines.get(at)?.trim().to_ascii_lowercase();
    marked.contains(&line.as_str()).then_some(at)
}

/// The first of several names of a field that has a value.
pub(crate) fn field<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names
        .iter()
        .find_map(|name| fields.get(*name).filter(|value| !value.is_null()))
}

/// A field that is text; numbers and switches are written as they are.
pub(crate) fn text(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let text = match field(fields, names)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// A field that is a list of texts; a single text is a list of one.
pub(crate) fn texts(fields: &Map<String, Value>, names: &[&str]) -> Vec<String> {
    match field(fields, names) {
        Some(Value::Array(values)) => values
            .iter()
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect(),
        Some(Value::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// The line of `text`, counted from 1, that names something: for what is well-formed YAML and
/// still wrong.
pub(crate) fn line_of(text: &str, name: &str) -> Option<usize> {
    let begins_word = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let names = |line: &str| {
        line.match_indices(name).any(|(at, found)| {
            begins_word(line[..at].chars().next_back())
                && begins_word(line[at + found.len()..].chars().next())
        })
    };
    let code = |line: &str| !line.trim_start().starts_with('#');
    let at = text.lines().position(|line| code(line) && names(line))?;
    Some(at + 1)
}

/// The first line that has `name` as a word of its own among the lines of `text` from line
/// `first` up to `end`, all counted from 1.
pub(crate) fn line_between(text: &str, name: &str, first: usize, end: usize) -> Option<usize> {
    let before = first.saturating_sub(1);
    let lines: Vec<&str> = text.lines().take(end - 1).skip(before).collect();
    Some(before + line_of(&lines.join("\n"), name)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn line(result: Result<impl std::fmt::Debug, Error>) -> usize {
        match result {
            Err(Error::Invalid { line, .. }) => line.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn metadata_stand_between_lines_or_in_a_block() {
        let path = Path::new("p.md");
        let found = front(path, "---\nid: a\ntools: [x, y]\n---\n# Title\ntext\n").unwrap();
        assert_eq!(
            Value::Object(found.fields),
            json!({"id": "a", "tools": ["x", "y"]})
        );
        assert_eq!((found.body.as_str(), found.line), ("# Title\ntext", 2));
        let found = front(path, "# Title\r\n\r\n```yaml\r\nid: b\r\n```\r\ntext").unwrap();
        assert_eq!(text(&found.fields, &["expert_id", "id"]).unwrap(), "b");
        assert_eq!((found.body.as_str(), found.line), ("# Title\n\ntext", 4));
        let found = front(path, "text\n---\nid: c\n---\n").unwrap();
        assert!(!found.present && found.fields.is_empty());
        assert_eq!(found.body, "text\n---\nid: c\n---\n");
        assert!(front(path, "---\n---\nx").unwrap().present);
    }

    #[test]
    fn a_wrong_line_is_named_as_in_the_file() {
        let path = Path::new("p.md");
        assert_eq!(line(front(path, "---\nid: a\nlist: [1, 2\n---\nx")), 3);
        assert_eq!(line(front(path, "\n\n```yaml\nid: 1\nid: 2\n```\n")), 5);
        assert_eq!(line(front(path, "---\nid: a\n")), 1);
        assert_eq!(line(front(path, "---\n- a\n---\n")), 2);
        let file = "# data_inspector\nexperts:\n  - data_inspector_2\n  - data_inspector\n";
        assert_eq!(line_of(file, "data_inspector"), Some(4));
    }

    #[test]
    fn nesting_and_references_have_an_end() {
        let path = Path::new("p.yaml");
        assert!(parse(path, &"[".repeat(10_000), 1).is_err());
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            let list = [before.as_str(); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        assert!(parse(path, &bomb, 1).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "(---\n|```yaml\n|```\n|[a-z:\\[\\]{}&*!|>'\"# \n-]){0,60}") {
            let lines = text.lines().count().max(1);
            if let Err(Error::Invalid { line: Some(line), .. }) = front(Path::new("x"), &text) {
                prop_assert!(line >= 1 && line <= lines + 1, "{} of {}", line, lines);
            }
        }
    }
}
