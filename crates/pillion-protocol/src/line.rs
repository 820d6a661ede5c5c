//! The line-JSON sidecar contract: one JSON object per line, both ways.
//!
//! pillion is on both sides of it: it serves the contract (`pillion stdio`) and speaks it
//! to foreign sidecars and, with the messages of [`crate::worker`], to its own workers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Caller, Code, Error};

/// The version of the messages beyond the old contract.
pub const PROTOCOL: u32 = 1;

/// A request line. Every member may be missing.
#[derive(Debug, Default, Deserialize)]
pub struct LineRequest {
    /// Comes back with the answer; any JSON.
    #[serde(default)]
    pub id: Option<Box<RawValue>>,
    /// What is asked for, in the old form.
    #[serde(default)]
    pub command: Option<String>,
    /// Where: the workspace root.
    #[serde(default)]
    pub project: Option<String>,
    /// With what.
    #[serde(default)]
    pub args: Option<Box<RawValue>>,
    /// Who asks, beyond the old contract.
    #[serde(default)]
    pub caller: Option<Box<Caller>>,
    /// `ping` or `cancel`, beyond the old contract.
    #[serde(default)]
    pub method: Option<String>,
    /// Parameters of `method`.
    #[serde(default)]
    pub params: Option<Box<RawValue>>,
    /// Whether the caller wants progress lines and the items of a stream.
    #[serde(default)]
    pub progress: bool,
}

/// What is wrong with a request line, and the id to say it under.
pub type RefusedLine = (Option<Box<RawValue>>, Error);

/// Read a request line; what is wrong becomes the answer to send, under the line's own id if
/// it has one: a host waits for it.
pub fn read(line: &[u8]) -> Result<LineRequest, RefusedLine> {
    let nobody = |code, what: String| (None, Error::new(code, what));
    let text = std::str::from_utf8(line)
        .map_err(|error| nobody(Code::InvalidJson, format!("the line is not UTF-8: {error}")))?;
    let value: &RawValue = serde_json::from_str(text)
        .map_err(|error| nobody(Code::InvalidJson, format!("the line is not JSON: {error}")))?;
    if !value.get().starts_with('{') {
        let what = "a request must be a JSON object".into();
        return Err(nobody(Code::InvalidRequest, what));
    }
    serde_json::from_str(value.get()).map_err(|error| {
        let error = Error::new(Code::InvalidRequest, format!("not a request: {error}"));
        (id_of(value), error)
    })
}

fn id_of(object: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct WithId {
        id: Box<RawValue>,
    }
    serde_json::from_str::<WithId>(object.get())
        .ok()
        .map(|found| found.id)
}

/// The `error` member of an answer line: the error object, and `type` for old hosts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LineError {
    /// The class name of an exception.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// The stable word.
    #[serde(default = "internal_code")]
    pub code: Code,
    /// What happened.
    #[serde(default)]
    pub message: String,
    /// Whether the caller can go on.
    #[serde(default)]
    pub recoverable: bool,
    /// Whose fault it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<crate::ErrorKind>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<serde_json::Value>>,
}

fn internal_code() -> Code {
    Code::InternalError
}

impl From<Error> for LineError {
    fn from(error: Error) -> Self {
        let type_name = match &error.code {
            Code::InvalidJson => Some("InvalidJSON".to_owned()),
            _ => error.exception_type().map(str::to_owned),
        };
        Self {
            type_name,
            code: error.code,
            message: error.message,
            recoverable: error.recoverable,
            kind: Some(error.kind),
            hint: error.hint,
            data: error.data,
        }
    }
}

impl From<LineError> for Error {
    fn from(member: LineError) -> Self {
        let kind = member.kind.unwrap_or_else(|| member.code.kind());
        let data = match (member.data, member.type_name) {
            (None, Some(name)) => Some(Box::new(serde_json::json!({ "type": name }))),
            (data, _) => data,
        };
        Self {
            code: member.code,
            kind,
            message: member.message,
            hint: member.hint,
            recoverable: member.recoverable,
            data,
        }
    }
}

/// An answer line.
#[derive(Debug, Serialize)]
pub struct ReplyLine<'a> {
    /// The request's id as it came, or null.
    pub id: Option<&'a RawValue>,
    /// What happened to it.
    #[serde(flatten)]
    pub body: ReplyBody<'a>,
}

/// What an answer line says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyBody<'a> {
    /// It went well.
    Result(&'a RawValue),
    /// The request failed.
    Error(LineError),
    /// How far the work is.
    Progress(&'a RawValue),
    /// The next item of a stream.
    Item(&'a RawValue),
}

/// A line from a sidecar. Exactly one of result, error, item and progress is there.
#[derive(Debug, Deserialize)]
pub struct FromSidecar<'a> {
    /// Whose answer this is; null when the sidecar could not know.
    #[serde(default)]
    pub id: Option<u64>,
    /// It went well.
    #[serde(default, borrow, deserialize_with = "raw_present")]
    pub result: Option<&'a RawValue>,
    /// Why the request failed.
    #[serde(default)]
    pub error: Option<LineError>,
    /// The next item of a stream.
    #[serde(default, borrow, deserialize_with = "raw_present")]
    pub item: Option<&'a RawValue>,
    /// How far the work is.
    #[serde(default, borrow)]
    pub progress: Option<&'a RawValue>,
    /// Source files that a worker imported.
    #[serde(default)]
    pub files: Option<Vec<crate::worker::SourceFile>>,
}

fn raw_present<'de, D>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The first line of a sidecar.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ready {
    /// `ready`.
    pub status: String,
    /// Version of the messages beyond the old contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// The sidecar's own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// Its interpreter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// What it can do beyond the old contract.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Source files that a worker imported before it was ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<crate::worker::SourceFile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_may_be_missing_and_args_null() {
        let request = read(br#"{"command":"structure","args":null}"#).unwrap();
        assert_eq!(request.command.as_deref(), Some("structure"));
        assert!(request.id.is_none() && request.args.is_none() && request.project.is_none());
    }

    #[test]
    fn mistakes_have_their_codes() {
        let wrong = |line: &[u8]| read(line).unwrap_err();
        assert_eq!(wrong(b"{").1.code, Code::InvalidJson);
        assert_eq!(wrong(b"\xff").1.code, Code::InvalidJson);
        assert_eq!(wrong(b"[1]").1.code, Code::InvalidRequest);
        let (id, error) = wrong(b"{\"command\":3, \"id\": [7]}");
        assert_eq!(error.code, Code::InvalidRequest);
        assert_eq!(id.unwrap().get(), "[7]");
    }

    #[test]
    fn an_answer_has_its_id_first_and_the_old_shape() {
        let result = RawValue::from_string("{\"a\":1}".into()).unwrap();
        let id = RawValue::from_string("\"x\"".into()).unwrap();
        let reply = ReplyLine {
            id: Some(&id),
            body: ReplyBody::Result(&result),
        };
        assert_eq!(
            serde_json::to_string(&reply).unwrap(),
            r#"{"id":"x","result":{"a":1}}"#
        );
        let error = Error::new(Code::InvalidJson, "no");
        let reply = ReplyLine {
            id: None,
            body: ReplyBody::Error(error.into()),
        };
        let text = serde_json::to_string(&reply).unwrap();
        assert!(text.starts_with(r#"{"id":null,"error":{"type":"InvalidJSON","code":"invalid_json","message":"no","recoverable":true"#), "{text}");
    }

    #[test]
    fn a_null_result_is_a_result() {
        let line: FromSidecar = serde_json::from_str(r#"{"id":1,"result":null}"#).unwrap();
        assert_eq!(line.result.unwrap().get(), "null");
        assert!(line.error.is_none());
    }
}
