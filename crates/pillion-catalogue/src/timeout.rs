//! `timeout_ms`: the one parameter that every operation has, whether it declares it or not.
//!
//! It is kept here, around the operation, so that no operation can forget it. One that keeps
//! the time itself, as those do that wait for a worker, has more to say about what did not
//! answer; it is given a moment for that.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::{Code, Error, Result};

/// Its name.
pub const TIMEOUT: &str = "timeout_ms";
/// Longer than anybody waits; a larger number means this.
const MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long after its time an operation may still say itself what it was that took too long.
pub(crate) const GRACE: Duration = Duration::from_millis(200);
/// The same for who passes a request on, and should hear that.
pub(crate) const RELAYED_GRACE: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct Asks<'a> {
    #[serde(borrow, default)]
    timeout_ms: Option<&'a RawValue>,
}

/// How long the caller waits, if parameters say so.
pub(crate) fn asked(params: Option<&RawValue>) -> Result<Option<Duration>> {
    // Reading all of a large request, only to find nothing, costs as much as passing it on.
    let Some(text) = params.map(RawValue::get).filter(|text| may_name(text)) else {
        return Ok(None);
    };
    // What is no object has no names, and what is wrong with it the operation says.
    let Ok(Asks {
        timeout_ms: Some(raw),
    }) = serde_json::from_str(text)
    else {
        return Ok(None);
    };
    match serde_json::from_str::<Option<u64>>(raw.get()) {
        Ok(None) => Ok(None),
        Ok(Some(ms @ 1..)) => Ok(Some(Duration::from_millis(ms).min(MAX))),
        Ok(Some(0)) | Err(_) => Err(Error::new(
            Code::InvalidParams,
            format!("`{TIMEOUT}` must be at least 1"),
        )
        .hint("it is a whole number of milliseconds")),
    }
}

/// Parameters for an operation that does not declare it.
pub(crate) fn without(params: Option<&RawValue>) -> Option<Cow<'_, RawValue>> {
    let params = params?;
    if !may_name(params.get()) {
        return Some(Cow::Borrowed(params));
    }
    // The values stay text: a number may have more digits than we can count.
    let Ok(mut named) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(params.get())
    else {
        return Some(Cow::Borrowed(params));
    };
    match named.remove(TIMEOUT) {
        None => Some(Cow::Borrowed(params)),
        Some(_) => to_raw_value(&named).ok().map(Cow::Owned),
    }
}

/// Whether it is worth reading. Values in a list have no names, and a name may be spelled
/// with escapes.
fn may_name(params: &str) -> bool {
    let named = || params.contains("\"timeout_ms\"") || params.contains("\\u");
    params.starts_with('{') && named()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.into()).unwrap()
    }

    #[test]
    fn it_is_found_wherever_it_stands() {
        for (params, ms) in [
            (r#"{"timeout_ms":5}"#, Some(5)),
            (r#"{"a":[{"timeout_ms":1}], "timeout_ms" : 5}"#, Some(5)),
            (r#"{"timeout\u005fms":5}"#, Some(5)),
            (r#"{"timeout_ms":null}"#, None),
            (r#"{"a":"timeout_ms"}"#, None),
            (r#"["timeout_ms"]"#, None),
        ] {
            let found = asked(Some(&raw(params)));
            assert_eq!(found.ok(), Some(ms.map(Duration::from_millis)), "{params}");
        }
        assert_eq!(asked(None).unwrap(), None);
        for wrong in ["0", "-1", "1.5", "\"1\"", "99999999999999999999"] {
            let params = raw(&format!(r#"{{"timeout_ms":{wrong}}}"#));
            assert_eq!(asked(Some(&params)).unwrap_err().code, Code::InvalidParams);
        }
        let long = asked(Some(&raw(r#"{"timeout_ms":18446744073709551615}"#)));
        assert_eq!(long.unwrap(), Some(MAX));
    }

    #[test]
    fn the_rest_stays_as_it_is() {
        let params =
            raw(r#"{"a":{"timeout_ms":1},"timeout_ms":5,"b":[123456789012345678901234567890]}"#);
        let rest = without(Some(&params)).unwrap();
        assert_eq!(
            rest.get(),
            r#"{"a":{"timeout_ms":1},"b":[123456789012345678901234567890]}"#
        );
        let params = raw("[1, 2]");
        assert_eq!(without(Some(&params)).unwrap().get(), "[1, 2]");
    }
}
