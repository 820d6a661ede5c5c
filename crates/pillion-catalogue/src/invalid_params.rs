//! What is wrong with parameters, and where: for doors that say so field by field.
//!
//! The words for what is wrong are those that Python's pydantic has, because clients of such
//! doors know them.

use pillion_protocol::{Code, Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_path_to_error::Segment;

/// What of a wrong value is shown: this many characters.
const SHOWN: usize = 100;
/// Faults of one error.
const MOST: usize = 32;
/// The member of an error's data that holds its faults.
const DATA: &str = "invalid";
/// Names with one of these in them may hold a secret, and are not shown.
const SECRET: [&str; 4] = ["token", "key", "secret", "password"];

/// One thing that is wrong with parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// What is wrong, in a word: `missing`, `string_too_long`, `greater_than_equal` and the like.
    #[serde(rename = "type")]
    pub rule: String,
    /// Where: names of members, and places in lists.
    pub loc: Vec<Value>,
    /// What is wrong, in a sentence.
    pub msg: String,
    /// What was given there, if it is short and no secret.
    pub input: Value,
}

impl Fault {
    /// A fault of this field. Fields inside of others are written `outer.inner`.
    pub fn new(field: &str, rule: &str, msg: impl Into<String>) -> Self {
        let parts = field.split('.').filter(|part| !part.is_empty());
        Self {
            rule: rule.to_owned(),
            loc: parts.map(Value::from).collect(),
            msg: msg.into(),
            input: Value::Null,
        }
    }

    /// Say which value was given there.
    #[must_use]
    pub fn given(mut self, value: &Value) -> Self {
        let names = || self.loc.iter().filter_map(Value::as_str);
        let is_secret = names().any(|name| SECRET.iter().any(|word| name.contains(word)));
        self.input = match value {
            _ if is_secret => Value::Null,
            Value::String(text) => text.chars().take(SHOWN).collect::<String>().into(),
            Value::Array(_) | Value::Object(_) => Value::Null,
            other => other.clone(),
        };
        self
    }

    /// The faults that an error tells of.
    pub fn all(error: &Error) -> Vec<Self> {
        let told = error.data.as_deref().and_then(|data| data.get(DATA));
        let told = told.and_then(|faults| Vec::deserialize(faults).ok());
        told.unwrap_or_default()
    }
}

/// The error of an operation that does not take a value: doors that say so field by field name
/// the field. Fields inside of others are written `outer.inner`; `rule` is the word for it, such
/// as `value_error` or `string_too_long`.
pub fn invalid_field(field: &str, rule: &str, message: impl Into<String>) -> Error {
    invalid(vec![Fault::new(field, rule, message)])
}

/// The error of parameters with these faults.
pub fn invalid(mut faults: Vec<Fault>) -> Error {
    faults.truncate(MOST);
    let told = faults.iter().map(|fault| {
        let loc = fault.loc.iter().map(|part| match part {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        });
        match loc.collect::<Vec<_>>().join(".") {
            place if place.is_empty() => fault.msg.clone(),
            place => format!("`{place}`: {}", fault.msg),
        }
    });
    let message = told.collect::<Vec<_>>().join("; ");
    Error::new(Code::InvalidParams, message).data(json!({ DATA: faults }))
}

/// Whether these are parameters of an operation, as its type reads them; if not, what is wrong with them.
pub(crate) fn check<O: DeserializeOwned>(text: &str) -> Result<()> {
    let Err(plain) = serde_json::from_str::<O>(text) else {
        return Ok(());
    };
    // Only now: finding out where takes longer.
    let mut reader = serde_json::Deserializer::from_str(text);
    let (mut loc, why) = match serde_path_to_error::deserialize::<_, O>(&mut reader) {
        Ok(_) => (Vec::new(), plain.to_string()),
        Err(error) => {
            let loc = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(Value::from(*index)),
                Segment::Map { key } => Some(Value::from(key.as_str())),
                Segment::Enum { .. } | Segment::Unknown => None,
            });
            (loc.collect(), error.inner().to_string())
        }
    };
    let (rule, member, msg) = rule(without_place(&why));
    if let Some(member) = member
        && loc.last().and_then(Value::as_str) != Some(member)
    {
        loc.push(member.into());
    }
    let whole = serde_json::from_str::<Value>(text).unwrap_or_default();
    let given = loc.iter().try_fold(&whole, |value, part| match part {
        Value::String(name) => value.get(name),
        place => value.get(usize::try_from(place.as_u64()?).ok()?),
    });
    let fault = Fault {
        loc,
        ..Fault::new("", rule, msg)
    };
    Err(invalid(vec![fault.given(given.unwrap_or(&Value::Null))]))
}

/// The word for what serde says is wrong, the member that it names, and a sentence.
fn rule(why: &str) -> (&'static str, Option<&str>, String) {
    let quoted = why.split('`').nth(1);
    let plain = |rule| (rule, None, why.to_owned());
    if why.starts_with("missing field") {
        return ("missing", quoted, "Field required".to_owned());
    }
    if why.starts_with("unknown field") {
        let msg = "Extra inputs are not permitted".to_owned();
        return ("extra_forbidden", quoted, msg);
    }
    if why.starts_with("unknown variant") {
        return plain("enum");
    }
    let Some((given, expected)) = why.rsplit_once(", expected ") else {
        return plain("value_error");
    };
    let is_whole = |word: &str| word.starts_with(['u', 'i']) && word[1..].parse::<u8>().is_ok();
    let is_whole = is_whole(expected) || ["usize", "isize"].contains(&expected);
    if given.starts_with("invalid value") {
        return match (is_whole, expected.starts_with('u'), given.contains("`-")) {
            (true, true, true) => (
                "greater_than_equal",
                None,
                "Input should be greater than or equal to 0".to_owned(),
            ),
            (true, _, _) => plain("int_parsing_size"),
            _ => plain("value_error"),
        };
    }
    if !given.starts_with("invalid type") {
        return plain("value_error");
    }
    let (rule, what) = match expected {
        "a string" => ("string_type", "a valid string"),
        "a boolean" => ("bool_type", "a valid boolean"),
        "f64" | "f32" => ("float_type", "a valid number"),
        "a sequence" => ("list_type", "a valid list"),
        "a map" => ("dict_type", "a valid dictionary"),
        _ if is_whole => ("int_type", "a valid integer"),
        _ if expected.starts_with("struct ") => ("model_attributes_type", "a valid object"),
        _ => return plain("value_error"),
    };
    (rule, None, format!("Input should be {what}"))
}

/// What is wrong with a text, without the line and column in it: the caller never saw that text.
pub(crate) fn without_place(why: &str) -> &str {
    &why[..why.rfind(" at line ").unwrap_or(why.len())]
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::*;
    use crate::{Context, Operation, Safety};

    #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
    struct Inner {
        #[serde(default)]
        paths: Vec<String>,
    }

    /// Take what there is.
    #[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
    #[serde(deny_unknown_fields)]
    struct Take {
        /// What.
        message: String,
        /// How often.
        #[serde(default)]
        times: u64,
        /// More.
        #[arg(skip)]
        #[serde(default)]
        inner: Option<Inner>,
        /// As it is.
        #[arg(skip)]
        #[serde(default)]
        raw: Option<Box<serde_json::value::RawValue>>,
        /// Not to be shown.
        #[arg(skip)]
        #[serde(default)]
        auth_token: Option<String>,
    }

    impl Operation for Take {
        const NAME: &'static str = "test.take";
        const SAFETY: Safety = Safety::Read;
        type Service = ();
        type Output = bool;

        async fn run(self, _: Context<()>) -> Result<bool> {
            Ok(true)
        }
    }

    #[test]
    fn a_fault_says_where_and_what() {
        check::<Take>(r#"{"message":"a","raw":{"x":[1e400]}}"#).unwrap();
        for (params, rule, loc, input) in [
            ("{}", "missing", json!(["message"]), json!(null)),
            (
                r#"{"message":5}"#,
                "string_type",
                json!(["message"]),
                json!(5),
            ),
            (
                r#"{"message":"a","times":-1}"#,
                "greater_than_equal",
                json!(["times"]),
                json!(-1),
            ),
            (
                r#"{"message":"a","times":"b"}"#,
                "int_type",
                json!(["times"]),
                json!("b"),
            ),
            (
                r#"{"message":"a","more":1}"#,
                "extra_forbidden",
                json!(["more"]),
                json!(1),
            ),
            (
                r#"{"message":"a","raw":[1],"inner":{"paths":["x",null]}}"#,
                "string_type",
                json!(["inner", "paths", 1]),
                json!(null),
            ),
            (
                r#"{"message":"a","auth_token":77}"#,
                "string_type",
                json!(["auth_token"]),
                json!(null),
            ),
        ] {
            let error = check::<Take>(params).unwrap_err();
            assert_eq!(error.code, Code::InvalidParams);
            let faults = Fault::all(&error);
            assert_eq!(faults.len(), 1, "{params}");
            let found = (faults[0].rule.as_str(), json!(faults[0].loc));
            assert_eq!(found, (rule, loc), "{params}: {}", error.message);
            assert_eq!(faults[0].input, input, "{params}");
        }
    }

    #[test]
    fn an_operation_can_name_a_field() {
        let error = invalid_field("context.paths", "value_error", "no such folder");
        assert_eq!(error.message, "`context.paths`: no such folder");
        assert_eq!(
            Fault::all(&error)[0].loc,
            [json!("context"), json!("paths")]
        );
        assert!(Fault::all(&Error::new(Code::InvalidParams, "x")).is_empty());
    }
}
