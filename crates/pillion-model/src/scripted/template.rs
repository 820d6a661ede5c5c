//! `{{fact}}` in a script's reply, filled in one pass: what a fact holds is never filled again.
//!
//! `{{json:fact}}` is for inside of a JSON string: escaped, without quotes. `{{fact|otherwise}}`
//! has what stands for a fact that is missing or empty; without it that is nothing. What is no
//! placeholder stays as it is.

use std::collections::BTreeMap;

/// The reply with its facts.
pub(crate) fn fill(reply: &str, facts: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(reply.len());
    let mut rest = reply;
    while let Some(start) = rest.find("{{") {
        let inside = &rest[start + 2..];
        let placeholder = inside
            .find("}}")
            .and_then(|end| Some((end, value(&inside[..end], facts)?)));
        filled.push_str(&rest[..start]);
        match placeholder {
            Some((end, value)) => {
                filled.push_str(&value);
                rest = &inside[end + 2..];
            }
            None => {
                filled.push('{');
                rest = &rest[start + 1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// What a placeholder stands for; nothing if it is none.
fn value(placeholder: &str, facts: &BTreeMap<String, String>) -> Option<String> {
    let (name, otherwise) = placeholder.split_once('|').unwrap_or((placeholder, ""));
    let (json, name) = match name.strip_prefix("json:") {
        Some(name) => (true, name),
        None => (false, name),
    };
    let is_name = |name: &str| {
        let mut letters = name.bytes();
        !name.is_empty() && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !is_name(name) {
        return None;
    }
    let fact = facts.get(name).map(String::as_str);
    let text = fact.filter(|fact| !fact.is_empty()).unwrap_or(otherwise);
    if !json {
        return Some(text.to_owned());
    }
    let quoted = serde_json::Value::from(text).to_string();
    Some(quoted[1..quoted.len() - 1].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let facts = [("a", "{{b}} \"x\"\n"), ("b", "B"), ("empty", "")];
        let facts = facts
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let filled = |reply| fill(reply, &facts);
        assert_eq!(filled("{{b}}-{{b}}"), "B-B");
        assert_eq!(filled("{{a}}"), "{{b}} \"x\"\n");
        assert_eq!(filled("{\"v\":\"{{json:a}}\"}"), r#"{"v":"{{b}} \"x\"\n"}"#);
        assert_eq!(filled("{{empty|none}} {{gone|1}}{{gone}}"), "none 1");
        for same in [
            "{{",
            "{{ b }}",
            "{{b",
            "{\"a\":{\"b\":{}}}",
            "{{}}",
            "{{é}}",
        ] {
            assert_eq!(filled(same), same);
        }
        assert_eq!(filled("{{{b}}}"), "{B}");
    }
}
