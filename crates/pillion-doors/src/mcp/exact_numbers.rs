//! Arguments to the last digit. The protocol's own types hold numbers as 64 bits, and a call
//! may carry larger ones; such arguments go past them as text, in `_meta`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pillion_catalogue::{Error, Result};
use rmcp::model::JsonObject;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::{RawValue, to_raw_value};

/// The member of `_meta` that holds arguments as text.
const META: &str = "pillion/arguments";
/// A number of so many digits always fits.
const DIGITS: usize = 15;

type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// A message as it may be read by the protocol: one whose arguments it would change has them
/// as text.
pub(crate) fn kept(message: &[u8]) -> Cow<'_, [u8]> {
    let text = || {
        let text = std::str::from_utf8(message).ok()?;
        may_change(text).then(|| rewritten(text)).flatten()
    };
    text().map_or(Cow::Borrowed(message), |text| Cow::Owned(text.into_bytes()))
}

fn rewritten(message: &str) -> Option<String> {
    let mut message: Members<'_> = serde_json::from_str(message).ok()?;
    let method = message.get("method").map(|method| method.get());
    if method != Some("\"tools/call\"") {
        return None;
    }
    let mut params: Members<'_> = serde_json::from_str(message.get("params")?.get()).ok()?;
    let arguments = params.get("arguments")?.get();
    if !may_change(arguments) {
        return None;
    }
    let empty = "{}".to_owned();
    let meta = params
        .get("_meta")
        .map_or(empty.as_str(), |meta| meta.get());
    let mut meta: Members<'_> = serde_json::from_str(meta).ok()?;
    let exact = to_raw_value(arguments).ok()?;
    meta.insert(META.into(), &exact);
    let meta = to_raw_value(&meta).ok()?;
    let none = RawValue::from_string(empty.clone()).ok()?;
    params.insert("_meta".into(), &meta);
    params.insert("arguments".into(), &none);
    let params = to_raw_value(&params).ok()?;
    message.insert("params".into(), &params);
    serde_json::to_string(&message).ok()
}

/// Whether there is a number of many digits, or one with an exponent. Those in strings are text.
fn may_change(json: &str) -> bool {
    let (mut digits, mut was_digit) = (0, false);
    let (mut in_string, mut escaped) = (false, false);
    json.bytes().any(|byte| {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            return false;
        }
        in_string = byte == b'"';
        let exponent = was_digit && matches!(byte, b'e' | b'E');
        was_digit = byte.is_ascii_digit() || (was_digit && byte == b'.');
        digits = if was_digit { digits + 1 } else { 0 };
        exponent || digits > DIGITS
    })
}

/// The arguments of a call, each as the text it was.
pub(super) fn arguments(
    read: &JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<BTreeMap<String, Box<RawValue>>> {
    if let Some(text) = context.meta.0.0.get(META).and_then(|text| text.as_str()) {
        return serde_json::from_str(text).map_err(Error::internal);
    }
    let text = serde_json::to_string(read).map_err(Error::internal)?;
    serde_json::from_str(&text).map_err(Error::internal)
}

/// The same as values, for what is no operation: a number that is no value is left out.
pub(super) fn values(read: &JsonObject, context: &RequestContext<RoleServer>) -> JsonObject {
    let exact = arguments(read, context).unwrap_or_default();
    let value = |(name, json): (String, Box<RawValue>)| {
        let value = serde_json::from_str(json.get()).ok()?;
        Some((name, value))
    };
    exact.into_iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_would_change_are_kept_as_text() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#
            )
        };
        for small in [
            r#"{"x":[1,2.5,-3]}"#,
            "{}",
            r#"{"e":"12e"}"#,
            r#"{"handle":"0123456789012345678901234567e5","q":"\"1e400\\"}"#,
            r#"{"x":123456789012345}"#,
        ] {
            let message = call(small);
            let kept = kept(message.as_bytes());
            assert!(matches!(kept, Cow::Borrowed(_)), "{small}");
        }
        for large in [
            "[123456789012345678901234567890]",
            "1e400",
            "0.1234567890123456789",
        ] {
            let arguments = format!(r#"{{"x":{large}}}"#);
            let message = call(&arguments);
            let kept = kept(message.as_bytes());
            let read: serde_json::Value = serde_json::from_slice(&kept).unwrap();
            assert_eq!(read["params"]["_meta"][META], arguments.as_str());
            assert_eq!(read["params"]["arguments"], serde_json::json!({}));
            assert_eq!(read["id"], 1);
        }
        // What is no call is left to those who say what is wrong with it.
        assert_eq!(*kept(b"[12345678901234567890]"), *b"[12345678901234567890]");
    }
}
