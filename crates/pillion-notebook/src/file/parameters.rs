//! Parameters of a run: a cell with their values behind the one tagged `parameters`.
//!
//! The convention is papermill's, so notebooks made for it work: the new cell is tagged
//! `injected-parameters`, replaces an earlier one, and stands at the top if no cell is tagged
//! `parameters`.

use std::fmt::Write;

use pillion_protocol::error::{Code, Error, Result};
use serde_json::{Map, Value, json};

use super::cell::CellKind;
use super::edit::NewCell;
use super::notebook::Notebook;

const DEFAULTS: &str = "parameters";
const INJECTED: &str = "injected-parameters";

/// Words that cannot be names in Python.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

impl Notebook {
    /// Set the parameters of a run. The number of the cell that sets them, or nothing if there
    /// are none to set.
    ///
    /// # Errors
    ///
    /// `invalid_params` for a name that is none in Python, `unsupported` for a notebook in
    /// another language.
    pub fn set_parameters(&mut self, values: &Map<String, Value>) -> Result<Option<usize>> {
        if values.is_empty() {
            return Ok(None);
        }
        if let Some(language) = self.language().filter(|name| !is_python(name)) {
            let what = format!(
                "parameters can be set in Python only, and the notebook is in `{language}`"
            );
            return Err(Error::new(Code::Unsupported, what)
                .hint("set them in a cell of its own, or by environment variables"));
        }
        let source = assignments(values)?;
        if let Some(at) = self.tagged(INJECTED) {
            self.replace(at, &source, Some(CellKind::Code))?;
            return Ok(Some(at));
        }
        let at = self.tagged(DEFAULTS).map_or(0, |defaults| defaults + 1);
        let cell = NewCell {
            kind: CellKind::Code,
            source,
            metadata: json!({"tags": [INJECTED]}),
        };
        self.insert(at, &cell)?;
        Ok(Some(at))
    }

    /// The first cell with a tag.
    pub fn tagged(&self, tag: &str) -> Option<usize> {
        let has = |tags: Vec<String>| tags.iter().any(|found| found == tag);
        self.cells.iter().position(|cell| has(cell.tags()))
    }
}

/// Whether a language's name means Python.
pub(crate) fn is_python(language: &str) -> bool {
    let name = language.to_ascii_lowercase();
    name == "python" || name == "ipython" || name == "python3"
}

fn assignments(values: &Map<String, Value>) -> Result<String> {
    let mut source = String::from("# Parameters\n");
    for (name, value) in values {
        if !is_name(name) {
            let what = format!("`{name}` cannot be the name of a parameter");
            return Err(Error::new(Code::InvalidParams, what).hint(
                "a name has letters, digits and `_`, begins with no digit, and is no keyword of Python",
            ));
        }
        let _ = write!(source, "{name} = ");
        literal(value, &mut source);
        source.push('\n');
    }
    source.pop();
    Ok(source)
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    let first = letters
        .next()
        .is_some_and(|c| c == '_' || c.is_alphabetic());
    first && letters.all(|c| c == '_' || c.is_alphanumeric()) && !KEYWORDS.contains(&name)
}

/// Write a value as Python does.
fn literal(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => string(text, out),
        Value::Array(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                literal(value, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                string(key, out);
                out.push_str(": ");
                literal(value, out);
            }
            out.push('}');
        }
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Among them are all that some editor takes for a line's end, or does not show.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::notebook::KernelMetadata;
    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn values_are_python() {
        let values = json!({"a": null, "b": [true, false, -1, 2.5e-7], "c": {"k \"": "é\n\u{0}\\"},
            "d": "😀\u{2028}", "_é": []});
        assert_eq!(
            assignments(&map(&values)).unwrap(),
            "# Parameters\na = None\nb = [True, False, -1, 2.5e-7]\nc = {\"k \\\"\": \"é\\n\\u0000\\\\\"}\nd = \"😀\\u2028\"\n_é = []"
        );
    }

    #[test]
    fn a_name_leads_to_no_code() {
        for name in ["", "1a", "a b", "a=1\nb", "import", "a.b", "a;b"] {
            let values = Map::from_iter([(name.to_owned(), json!(1))]);
            let error = Notebook::new(&KernelMetadata::default())
                .set_parameters(&values)
                .unwrap_err();
            assert_eq!(error.code, Code::InvalidParams, "{name}");
        }
    }

    #[test]
    fn parameters_stand_behind_their_defaults_and_replace_earlier_ones() {
        let mut notebook = Notebook::new(&KernelMetadata::default());
        for source in ["import x", "a = 1", "use(a)"] {
            let at = notebook.cells().len();
            notebook
                .insert(at, &NewCell::new(CellKind::Code, source))
                .unwrap();
        }
        assert_eq!(notebook.set_parameters(&Map::new()).unwrap(), None);
        let mut top = notebook.clone();
        assert_eq!(top.set_parameters(&map(&json!({"a": 2}))).unwrap(), Some(0));
        notebook
            .set_cell_metadata(1, "tags", Some(json!(["parameters"])))
            .unwrap();
        assert_eq!(
            notebook.set_parameters(&map(&json!({"a": 2}))).unwrap(),
            Some(2)
        );
        assert_eq!(
            notebook.set_parameters(&map(&json!({"a": 3}))).unwrap(),
            Some(2)
        );
        assert_eq!(notebook.cells().len(), 4);
        assert_eq!(notebook.cells()[2].source(), "# Parameters\na = 3");
        assert_eq!(notebook.cells()[2].tags(), ["injected-parameters"]);
        assert!(notebook.check().is_empty());
    }

    #[test]
    fn another_language_is_refused() {
        let kernel = KernelMetadata {
            name: "ir".into(),
            display_name: "R".into(),
            language: "R".into(),
            language_version: None,
        };
        let error = Notebook::new(&kernel)
            .set_parameters(&map(&json!({"a": 1})))
            .unwrap_err();
        assert_eq!(error.code, Code::Unsupported);
    }
}
