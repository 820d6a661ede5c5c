//! Takes keys out of text that is written down.

use std::borrow::Cow;
use std::sync::OnceLock;

use pillion_process::Secret;
use regex::Regex;
use serde_json::Value;

/// What stands in place of a key.
pub(crate) const REDACTED: &str = "[redacted]";

/// What keys usually look like, whoever's they are.
const USUAL_KEYS: &str =
    r"(?i)\bbearer\s+[\w.~+/=-]{8,}|\bsk-[\w-]{8,}|\bx-api-key\W{1,4}[\w-]{8,}";

/// Takes this key out of texts, and what looks like one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    key: Option<Secret>,
}

impl Redactor {
    pub(crate) fn new(key: Option<Secret>) -> Self {
        Self {
            key: key.filter(|key| !key.expose().is_empty()),
        }
    }

    /// The text without keys.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text: Cow<'a, str> = match &self.key {
            Some(key) if text.contains(key.expose()) => text.replace(key.expose(), REDACTED).into(),
            _ => text.into(),
        };
        match usual_keys() {
            Some(usual) if usual.is_match(&text) => {
                usual.replace_all(&text, REDACTED).into_owned().into()
            }
            _ => text,
        }
    }

    /// Every string in it without keys, names of members too.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let members = members.into_iter();
                let members =
                    members.map(|(name, value)| (self.text(&name).into_owned(), self.value(value)));
                Value::Object(members.collect())
            }
            other => other,
        }
    }
}

fn usual_keys() -> Option<&'static Regex> {
    static USUAL: OnceLock<Option<Regex>> = OnceLock::new();
    USUAL.get_or_init(|| Regex::new(USUAL_KEYS).ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_go_and_the_rest_stays() {
        let redactor = Redactor::new(Some(Secret::new("my \"key\"".to_owned())));
        assert_eq!(redactor.text("a my \"key\" b"), "a [redacted] b");
        assert_eq!(
            redactor.text("Authorization: Bearer abcdefgh.123"),
            "Authorization: [redacted]"
        );
        assert_eq!(
            redactor.text("Incorrect: sk-proj-1234_5678."),
            "Incorrect: [redacted]."
        );
        assert_eq!(
            redactor.text("a task-list, a bearer of news"),
            "a task-list, a bearer of news"
        );
        assert_eq!(
            redactor.value(json!({"my \"key\"": ["x my \"key\"", 1]})),
            json!({"[redacted]": ["x [redacted]", 1]})
        );
        assert!(usual_keys().is_some());
    }
}
