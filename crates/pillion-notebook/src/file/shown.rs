//! Outputs as text, with their images beside it: for models and terminals.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ansi::plain;
use super::output::{Bundle, Output, is_json};
use super::outputs::overwrite;

/// Images that models and terminals can show.
pub(crate) const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// What is shown of a thing as text, the best first.
const TEXTS: &[&str] = &["text/plain", "text/markdown", "text/latex", "text/html"];

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// Its media type, such as `image/png`.
    pub mime: String,
    /// Its bytes in base64, without line ends.
    pub base64: String,
}

/// Outputs as text and images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShownOutputs {
    /// The text, without escape sequences.
    pub text: String,
    /// The images, in the order in which the text names them.
    pub images: Vec<Image>,
    /// Whether something did not fit.
    pub cut: bool,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of text.
    pub text: usize,
    /// Bytes of images, in base64.
    pub images: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            text: 16 * 1024,
            images: 4 * 1024 * 1024,
        }
    }
}

/// Show outputs. Each gets what those before it left of the budget, but the last ones are not
/// left out for it: what is cut is the middle of the text.
pub fn show(outputs: &[Output], budget: Budget) -> ShownOutputs {
    let mut shown = ShownOutputs::default();
    let mut room = budget.images;
    for output in outputs {
        let text = match output {
            Output::Stream { text, .. } => {
                let mut seen = String::new();
                overwrite(&mut seen, &plain(text));
                seen
            }
            Output::Error {
                ename,
                evalue,
                traceback,
            } if traceback.is_empty() => format!("{ename}: {evalue}"),
            Output::Error { traceback, .. } => plain(&traceback.join("\n")),
            Output::Display { data, .. } | Output::Result { data, .. } => {
                bundle(data, &mut shown, &mut room)
            }
            Output::Other(Value::Null) => "[an output that is too large to show]".into(),
            Output::Other(value) => value.to_string(),
        };
        // A text of its own begins on a line of its own.
        if !text.is_empty() && !shown.text.is_empty() && !shown.text.ends_with('\n') {
            shown.text.push('\n');
        }
        shown.text.push_str(&text);
    }
    shown.cut |= shown.text.len() > budget.text;
    shown.text = shortened(shown.text, budget.text);
    shown
}

impl Output {
    /// The output as text, with its images beside it.
    pub fn as_text(&self, budget: Budget) -> ShownOutputs {
        show(std::slice::from_ref(self), budget)
    }
}

/// The text for a thing. Its first image goes to the others, or is named if it cannot.
fn bundle(data: &Bundle, shown: &mut ShownOutputs, room: &mut usize) -> String {
    let mut parts: Vec<String> = words(data).into_iter().collect();
    let image = IMAGES
        .iter()
        .find_map(|mime| Some((*mime, data.get(*mime)?.as_str()?)));
    if let Some((mime, base64)) = image {
        let base64: String = base64.split_ascii_whitespace().collect();
        if STANDARD.decode(&base64).is_err() {
            parts.push(format!("[{mime} that is no valid base64]"));
        } else if base64.len() > *room {
            shown.cut = true;
            let bytes = base64.len() / 4 * 3;
            parts.push(format!("[{mime} of {bytes} bytes, left out]"));
        } else {
            *room -= base64.len();
            let mime = mime.to_owned();
            shown.images.push(Image { mime, base64 });
        }
    }
    if parts.is_empty() {
        let mimes: Vec<_> = data.keys().map(String::as_str).collect();
        parts.push(format!("[{}]", mimes.join(", ")));
    }
    parts.join("\n")
}

fn words(data: &Bundle) -> Option<String> {
    let text = TEXTS.iter().find_map(|mime| data.get(*mime)?.as_str());
    if let Some(text) = text {
        return Some(plain(text));
    }
    let json = data.iter().find(|(mime, _)| is_json(mime))?;
    serde_json::to_string_pretty(json.1).ok()
}

/// A text of about `budget` bytes: two thirds of them from its begin, the rest from its end.
fn shortened(text: String, budget: usize) -> String {
    if text.len() <= budget {
        return text;
    }
    let head = text.floor_char_boundary(budget / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - (budget - budget / 3 * 2));
    let dropped = tail - head;
    format!(
        "{}\n[... {dropped} bytes ...]\n{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(data: &Value) -> Output {
        Output::Result {
            execution_count: Some(1),
            data: data.as_object().unwrap().clone(),
            metadata: Bundle::new(),
        }
    }

    fn stream(text: &str) -> Output {
        Output::Stream {
            name: "stdout".into(),
            text: text.into(),
        }
    }

    #[test]
    fn outputs_are_text_with_images_beside() {
        let shown = show(
            &[
                stream("\u{1b}[31m10 %\r20 %\r\n\u{1b}[0mdone"),
                result(&json!({"text/plain": "<Figure>", "image/png": "aGk\n=\n"})),
                result(&json!({"text/html": "<b>x</b>", "text/plain": "x"})),
                result(&json!({"application/json": {"a": 1}})),
                result(&json!({"image/svg+xml": "<svg/>"})),
                Output::Error {
                    ename: "E".into(),
                    evalue: "v".into(),
                    traceback: vec!["\u{1b}[0;31mE\u{1b}[0m: v".into(), "line".into()],
                },
            ],
            Budget::default(),
        );
        let expected = "20 %\r\ndone\n<Figure>\nx\n{\n  \"a\": 1\n}\n[image/svg+xml]\nE: v\nline";
        assert_eq!(shown.text, expected);
        let image = Image {
            mime: "image/png".into(),
            base64: "aGk=".into(),
        };
        assert_eq!((shown.images, shown.cut), (vec![image], false));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let text = format!("begin{}end", "é".repeat(1000));
        let budget = Budget {
            text: 100,
            images: 8,
        };
        let shown = stream(&text).as_text(budget);
        assert!(shown.cut && shown.text.len() < 140);
        assert!(shown.text.starts_with("begin") && shown.text.ends_with("end"));
        let large = result(&json!({"image/png": "aGkhaGkhaGkh"})).as_text(budget);
        assert!(large.cut && large.images.is_empty());
        assert_eq!(large.text, "[image/png of 9 bytes, left out]");
        let broken = result(&json!({"image/png": "<script>"})).as_text(budget);
        assert!(broken.images.is_empty() && broken.text.contains("no valid base64"));
    }
}
