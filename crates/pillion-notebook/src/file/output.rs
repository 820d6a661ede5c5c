//! One output of a cell, in the shapes of `nbformat`.

use serde_json::{Map, Value, json};

use super::style::as_lines;

/// Representations of one thing, by media type.
pub type Bundle = Map<String, Value>;

/// One output of a cell. Texts are whole here; files have them as lists of lines.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Text that was printed.
    Stream {
        /// `stdout` or `stderr`.
        name: String,
        /// The text.
        text: String,
    },
    /// Something that was shown.
    Display {
        /// The thing, by media type.
        data: Bundle,
        /// More about it, by media type.
        metadata: Bundle,
    },
    /// The value of the cell's last expression.
    Result {
        /// The number of the run.
        execution_count: Option<u64>,
        /// The value, by media type.
        data: Bundle,
        /// More about it, by media type.
        metadata: Bundle,
    },
    /// An exception.
    Error {
        /// The name of its class.
        ename: String,
        /// What it says.
        evalue: String,
        /// The traceback, with colours.
        traceback: Vec<String>,
    },
    /// A shape that version 4 of the format does not know, or one too large to look into (then
    /// it is `null`).
    Other(Value),
}

impl Output {
    /// The output that a message of a kernel stands for, if it is one.
    pub fn from_message(msg_type: &str, content: &Value) -> Option<Self> {
        matches!(
            msg_type,
            "stream" | "display_data" | "execute_result" | "error"
        )
        .then(|| Self::shaped(msg_type, content))
    }

    /// Read an output of a file.
    pub fn read(value: &Value) -> Self {
        let kind = value.get("output_type").and_then(Value::as_str);
        kind.map_or_else(
            || Self::Other(value.clone()),
            |kind| Self::shaped(kind, value),
        )
    }

    /// Messages and files have the same fields; only files have lists of lines.
    fn shaped(kind: &str, value: &Value) -> Self {
        match kind {
            "stream" => Self::Stream {
                name: value
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or("stdout")
                    .to_owned(),
                text: value.get("text").map(joined).unwrap_or_default(),
            },
            "display_data" => Self::Display {
                data: bundle(value, "data"),
                metadata: object(value, "metadata"),
            },
            "execute_result" => Self::Result {
                execution_count: value.get("execution_count").and_then(Value::as_u64),
                data: bundle(value, "data"),
                metadata: object(value, "metadata"),
            },
            "error" => {
                let traceback = value.get("traceback").and_then(Value::as_array);
                let lines = traceback.into_iter().flatten().filter_map(Value::as_str);
                Self::Error {
                    ename: string(value, "ename"),
                    evalue: string(value, "evalue"),
                    traceback: lines.map(ToOwned::to_owned).collect(),
                }
            }
            _ => Self::Other(value.clone()),
        }
    }

    /// The output as a file has it.
    pub fn to_nbformat(&self) -> Value {
        match self {
            Self::Stream { name, text } => {
                json!({"output_type": "stream", "name": name, "text": as_lines(text)})
            }
            Self::Display { data, metadata } => json!({
                "output_type": "display_data",
                "data": split(data),
                "metadata": metadata,
            }),
            Self::Result {
                execution_count,
                data,
                metadata,
            } => json!({
                "output_type": "execute_result",
                "execution_count": execution_count,
                "data": split(data),
                "metadata": metadata,
            }),
            Self::Error {
                ename,
                evalue,
                traceback,
            } => json!({
                "output_type": "error",
                "ename": ename,
                "evalue": evalue,
                "traceback": traceback,
            }),
            Self::Other(value) => value.clone(),
        }
    }

    /// The thing it shows, by media type.
    pub fn data(&self) -> Option<&Bundle> {
        match self {
            Self::Display { data, .. } | Self::Result { data, .. } => Some(data),
            _ => None,
        }
    }

    /// Whether it is an exception.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error { .. })
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Stream { name, text } => name.len() + text.len(),
            Self::Display { data, metadata } | Self::Result { data, metadata, .. } => {
                bundle_size(data) + bundle_size(metadata)
            }
            Self::Error {
                ename,
                evalue,
                traceback,
            } => ename.len() + evalue.len() + traceback.iter().map(String::len).sum::<usize>(),
            Self::Other(value) => value_size(value),
        }
    }
}

fn bundle_size(bundle: &Bundle) -> usize {
    let sizes = bundle
        .iter()
        .map(|(key, value)| key.len() + value_size(value));
    sizes.sum()
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(list) => list.iter().map(value_size).sum::<usize>() + 2,
        Value::Object(map) => bundle_size(map) + 2,
        _ => 8,
    }
}

fn string(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

fn object(value: &Value, name: &str) -> Bundle {
    let map = value.get(name).and_then(Value::as_object);
    map.cloned().unwrap_or_default()
}

/// A text, or the lines of one.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// A bundle in which texts are whole.
fn bundle(value: &Value, name: &str) -> Bundle {
    let mut bundle = object(value, name);
    for (mime, value) in &mut bundle {
        let lines = value
            .as_array()
            .is_some_and(|list| list.iter().all(Value::is_string));
        if lines && !is_json(mime) {
            *value = Value::String(joined(value));
        }
    }
    bundle
}

/// A bundle in which texts are lists of lines, where `nbformat` has them so. It allows other
/// values than texts only where the media type says JSON: elsewhere they become the text of it.
fn split(bundle: &Bundle) -> Value {
    let split = bundle.iter().map(|(mime, value)| {
        let value = match value {
            value if is_json(mime) => value.clone(),
            Value::String(text) if is_text(mime) => as_lines(text),
            Value::String(_) => value.clone(),
            other => other.to_string().into(),
        };
        (mime.clone(), value)
    });
    Value::Object(split.collect())
}

/// Whether what has this media type is JSON, and so neither split nor joined.
pub(super) fn is_json(mime: &str) -> bool {
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/") || matches!(mime, "application/javascript" | "image/svg+xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_outputs_and_outputs_become_what_nbformat_writes() {
        for (msg_type, content, expected) in [
            (
                "stream",
                json!({"name": "stdout", "text": "a\nb"}),
                json!({"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]}),
            ),
            (
                "display_data",
                json!({
                    "data": {
                        "text/plain": "<Figure>\n",
                        "image/png": "aGk=\n",
                        "image/svg+xml": "<svg>\n</svg>",
                        "application/javascript": "a()\nb()",
                        "application/json": ["x", "y"],
                        "application/vnd.plotly.v1+json": {"data": ["a", "b"]},
                    },
                    "metadata": {"image/png": {"width": 2}},
                    "transient": {"display_id": "one"},
                }),
                json!({
                    "output_type": "display_data",
                    "data": {
                        "text/plain": ["<Figure>\n"],
                        "image/png": "aGk=\n",
                        "image/svg+xml": ["<svg>\n", "</svg>"],
                        "application/javascript": ["a()\n", "b()"],
                        "application/json": ["x", "y"],
                        "application/vnd.plotly.v1+json": {"data": ["a", "b"]},
                    },
                    "metadata": {"image/png": {"width": 2}},
                }),
            ),
            (
                "execute_result",
                json!({"execution_count": 3, "data": {"text/plain": "2"}, "metadata": {}}),
                json!({"output_type": "execute_result", "execution_count": 3,
                    "data": {"text/plain": ["2"]}, "metadata": {}}),
            ),
            (
                "error",
                json!({"ename": "E", "evalue": "v", "traceback": ["a\nb", "c"]}),
                json!({"output_type": "error", "ename": "E", "evalue": "v",
                    "traceback": ["a\nb", "c"]}),
            ),
        ] {
            let output = Output::from_message(msg_type, &content).unwrap();
            assert_eq!(output.to_nbformat(), expected);
            assert_eq!(Output::read(&expected), output);
        }
        assert_eq!(Output::from_message("status", &json!({})), None);
    }

    #[test]
    fn an_unknown_shape_stays_what_it_is() {
        let odd = json!({"output_type": "future", "x": [1]});
        assert_eq!(Output::read(&odd).to_nbformat(), odd);
        assert_eq!(Output::read(&json!(7)).to_nbformat(), json!(7));
    }
}
