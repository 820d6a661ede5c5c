//! From what servers write to what we give out: paths instead of URIs, columns in code
//! points.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::lsp::{Diagnostic, Encoding, Item, LspHover, LspLocation, LspPosition, LspRange};
use super::opening::Session;
use super::uri;

/// One place or several, with or without what surrounds the name.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawLocations {
    Many(Vec<RawLocation>),
    One(RawLocation),
}

impl RawLocations {
    pub(crate) fn into_vec(self) -> Vec<RawLocation> {
        match self {
            Self::Many(places) => places,
            Self::One(place) => vec![place],
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawLocation {
    #[serde(rename_all = "camelCase")]
    Link {
        target_uri: String,
        target_range: LspRange,
        target_selection_range: LspRange,
    },
    Plain {
        uri: String,
        range: LspRange,
    },
}

/// The answer to `textDocument/hover`.
#[derive(Deserialize)]
pub(crate) struct RawHover {
    contents: Value,
    range: Option<LspRange>,
}

/// The answer to `textDocument/completion`.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum RawCompletions {
    All(Vec<RawCompletion>),
    List { items: Vec<RawCompletion> },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawCompletion {
    label: String,
    insert_text: Option<String>,
    sort_text: Option<String>,
    #[serde(default)]
    additional_text_edits: Vec<Value>,
}

impl RawCompletions {
    /// What would be typed, in the order of the server's mind.
    pub(super) fn names(self) -> Vec<String> {
        let (Self::All(mut items) | Self::List { mut items }) = self;
        items.retain(|item| item.additional_text_edits.is_empty());
        items.sort_by(|a, b| a.sort_text.cmp(&b.sort_text));
        let names = items.into_iter();
        names
            .map(|item| item.insert_text.unwrap_or(item.label))
            .collect()
    }
}

/// The answer to `textDocument/diagnostic`.
#[derive(Deserialize)]
pub(crate) struct RawReport {
    #[serde(default)]
    pub items: Vec<RawDiagnostic>,
}

#[derive(Deserialize)]
pub(crate) struct RawDiagnostic {
    range: LspRange,
    severity: Option<u8>,
    code: Option<Value>,
    message: String,
}

/// An item of a hierarchy.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawItem {
    name: String,
    kind: u8,
    detail: Option<String>,
    uri: String,
    range: LspRange,
    selection_range: LspRange,
}

/// Converts one question and its answer. Servers that count in something else than code
/// points need the lines that their columns are in; each file is read once.
pub(crate) struct Converter<'a> {
    session: &'a Session,
    encoding: Encoding,
    lines: HashMap<PathBuf, Vec<String>>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(session: &'a Session, encoding: Encoding) -> Self {
        Self {
            session,
            encoding,
            lines: HashMap::new(),
        }
    }

    /// A position as the server counts.
    pub(super) fn ask(&mut self, path: &Path, at: LspPosition) -> LspPosition {
        let encoding = self.encoding;
        let wanted = at.character as usize;
        self.with_line(path, at, |line| {
            line.chars().take(wanted).map(|c| units(c, encoding)).sum()
        })
    }

    fn position(&mut self, path: &Path, at: LspPosition) -> LspPosition {
        let encoding = self.encoding;
        let mut left = at.character as usize;
        self.with_line(path, at, |line| {
            let before = line.chars().take_while(|c| {
                let fits = left > 0;
                left = left.saturating_sub(units(*c, encoding));
                fits
            });
            before.count()
        })
    }

    fn with_line(
        &mut self,
        path: &Path,
        at: LspPosition,
        column: impl FnOnce(&str) -> usize,
    ) -> LspPosition {
        if self.encoding == Encoding::Utf32 {
            return at;
        }
        let lines = self
            .lines
            .entry(path.to_owned())
            .or_insert_with(|| read_lines(self.session, path));
        let character = lines.get(at.line as usize).map(|line| column(line));
        LspPosition {
            line: at.line,
            character: character
                .and_then(|found| u32::try_from(found).ok())
                .unwrap_or(at.character),
        }
    }

    pub(super) fn range(&mut self, path: &Path, range: LspRange) -> LspRange {
        LspRange {
            start: self.position(path, range.start),
            end: self.position(path, range.end),
        }
    }

    /// A place in a file; none if it is in something else.
    pub(super) fn location(&mut self, place: RawLocation) -> Option<LspLocation> {
        let (uri, range, whole) = match place {
            RawLocation::Link {
                target_uri,
                target_range,
                target_selection_range,
            } => (target_uri, target_selection_range, Some(target_range)),
            RawLocation::Plain { uri, range } => (uri, range, None),
        };
        let path = file(&uri)?;
        Some(LspLocation {
            range: self.range(&path, range),
            whole: whole.map(|whole| self.range(&path, whole)),
            path,
        })
    }

    pub(super) fn item(&mut self, raw: Value) -> Option<Item> {
        let read = RawItem::deserialize(&raw).ok()?;
        let path = file(&read.uri)?;
        Some(Item {
            name: read.name,
            kind: read.kind,
            detail: read.detail,
            whole: self.range(&path, read.range),
            range: self.range(&path, read.selection_range),
            path,
            raw,
        })
    }

    pub(super) fn hover(&mut self, path: &Path, raw: &RawHover) -> Option<LspHover> {
        let markdown = raw.contents["kind"] != "plaintext";
        let text = marked_text(&raw.contents);
        (!text.is_empty()).then(|| LspHover {
            text,
            markdown,
            range: raw.range.map(|range| self.range(path, range)),
        })
    }

    pub(crate) fn diagnostic(&mut self, path: &Path, raw: RawDiagnostic) -> Diagnostic {
        Diagnostic {
            range: self.range(path, raw.range),
            severity: raw.severity.unwrap_or(1),
            code: raw.code.and_then(|code| match code {
                Value::String(code) => Some(code),
                Value::Number(code) => Some(code.to_string()),
                _ => None,
            }),
            message: raw.message,
        }
    }
}

fn file(uri: &str) -> Option<PathBuf> {
    let path = uri::to_path(uri);
    if path.is_none() {
        tracing::debug!(uri, "an answer that is in no file");
    }
    path
}

/// The text of a hover: one object, a string, or a list of both.
fn marked_text(contents: &Value) -> String {
    match contents {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts: Vec<_> = parts.iter().map(marked_text).collect();
            parts.join("\n\n")
        }
        Value::Object(part) => {
            let text = part.get("value").and_then(Value::as_str).unwrap_or("");
            match part.get("language").and_then(Value::as_str) {
                Some(language) => format!("```{language}\n{text}\n```"),
                None => text.to_owned(),
            }
        }
        _ => String::new(),
    }
}

fn units(c: char, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => c.len_utf8(),
        Encoding::Utf16 => c.len_utf16(),
        Encoding::Utf32 => 1,
    }
}

fn read_lines(session: &Session, path: &Path) -> Vec<String> {
    if let Some(text) = session.inner().documents.text(path) {
        return split_lines(text);
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    split_lines(&String::from_utf8_lossy(&bytes))
}

/// Lines as the protocol counts them: `\n`, `\r\n` and `\r` end one.
fn split_lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    text.split(['\n', '\r']).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_converted_both_ways() {
        let session = Session::new("/".into(), Value::Null);
        let path = Path::new("/a.py");
        let text = "x\r\nä😀b = 1\rc\n";
        session.inner().documents.open(path, text);
        for (encoding, column) in [
            (Encoding::Utf8, 6),
            (Encoding::Utf16, 3),
            (Encoding::Utf32, 2),
        ] {
            let mut converter = Converter::new(&session, encoding);
            let ours = LspPosition::new(1, 2);
            let theirs = LspPosition::new(1, column);
            assert_eq!(converter.ask(path, ours), theirs);
            assert_eq!(converter.position(path, theirs), ours);
            let start = LspPosition::new(2, 0);
            assert_eq!(converter.ask(path, start), start);
            let beyond = LspPosition::new(99, 5);
            assert_eq!(converter.position(path, beyond), beyond);
        }
    }

    #[test]
    fn places_come_in_four_shapes() {
        let range =
            json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 3}});
        let plain = json!({"uri": "file:///a.py", "range": range});
        let link = json!({
            "targetUri": "file:///a.py", "targetRange": range, "targetSelectionRange": range,
        });
        let session = Session::new("/".into(), Value::Null);
        let mut converter = Converter::new(&session, Encoding::Utf32);
        for (answer, whole) in [
            (plain.clone(), false),
            (json!([plain]), false),
            (json!([link]), true),
        ] {
            let places: Option<RawLocations> = serde_json::from_value(answer).unwrap();
            let place = places.unwrap().into_vec().remove(0);
            let location = converter.location(place).unwrap();
            assert_eq!(location.path, Path::new("/a.py"));
            assert_eq!(location.whole.is_some(), whole);
        }
        let none: Option<RawLocations> = serde_json::from_value(Value::Null).unwrap();
        assert!(none.is_none());
    }

    #[test]
    fn hovers_come_in_many_shapes() {
        for (contents, text) in [
            (json!({"kind": "markdown", "value": "a"}), "a"),
            (json!("a"), "a"),
            (
                json!([{"language": "python", "value": "x"}, "doc"]),
                "```python\nx\n```\n\ndoc",
            ),
        ] {
            assert_eq!(marked_text(&contents), text);
        }
    }
}
