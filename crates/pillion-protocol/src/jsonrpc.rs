//! JSON-RPC 2.0 messages.
//!
//! Parameters and results stay the text they came as ([`RawValue`]): a relay does not
//! look into what it passes on.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Caller, Code, Error};

/// A request's id: a number or a string, or null where it could not be read. It comes back
/// as it came: a number that no type of ours holds stays the text it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// A large or fractional number, or a string that is no text: as it was written.
    Other(Box<str>),
    /// A string.
    String(Box<str>),
    /// Not known.
    Null,
}

impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::String(text) => serializer.serialize_str(text),
            Self::Null => serializer.serialize_unit(),
            Self::Other(json) => RawValue::from_string(json.to_string())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let json = raw.get();
        match json.as_bytes().first() {
            Some(b'n') => Ok(Self::Null),
            Some(b'"') => Ok(match serde_json::from_str(json) {
                Ok(text) => Self::String(text),
                Err(_) => Self::Other(json.into()),
            }),
            Some(b'-' | b'0'..=b'9') => Ok(match json.parse::<i64>() {
                Ok(number) if number.to_string() == json => Self::Number(number),
                _ => Self::Other(json.into()),
            }),
            _ => Err(serde::de::Error::custom("an id is a number or a string")),
        }
    }
}

/// The version marker: only `"2.0"` is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VersionMarker;

impl Serialize for VersionMarker {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("2.0")
    }
}

impl<'de> Deserialize<'de> for VersionMarker {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        if text == "2.0" {
            Ok(Self)
        } else {
            Err(serde::de::Error::custom("`jsonrpc` must be \"2.0\""))
        }
    }
}

/// A request, or a notification when it has no id.
#[derive(Debug, Clone, Deserialize)]
pub struct RpcRequest {
    /// Always `"2.0"`.
    #[serde(rename = "jsonrpc")]
    pub version: VersionMarker,
    /// What is asked for.
    pub method: String,
    /// With what.
    #[serde(default)]
    pub params: Option<Box<RawValue>>,
    /// Who asks.
    #[serde(default)]
    pub caller: Option<Box<Caller>>,
    /// Comes back with the answer; absent in a notification.
    #[serde(default, deserialize_with = "present")]
    pub id: Option<Id>,
}

/// A member that is there counts, even when it is null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Id>, D::Error> {
    Id::deserialize(deserializer).map(Some)
}

/// What a peer sent: one request or several.
#[derive(Debug)]
pub enum Incoming {
    /// One request, or what is wrong with it and the id it had.
    Single(Result<RpcRequest, (Id, Error)>),
    /// A batch, answered as a whole.
    Batch(Vec<Result<RpcRequest, (Id, Error)>>),
}

/// Read what a peer sent. Never fails: what is wrong becomes the answer to send.
pub fn read(frame: &[u8]) -> Incoming {
    // The fast path: one well-formed request.
    if let Ok(request) = serde_json::from_slice::<RpcRequest>(frame) {
        return Incoming::Single(checked(request));
    }
    let value: &RawValue = match serde_json::from_slice(frame) {
        Ok(value) => value,
        Err(error) => {
            let error = Error::new(Code::InvalidJson, format!("the frame is not JSON: {error}"));
            return Incoming::Single(Err((Id::Null, error)));
        }
    };
    if !value.get().starts_with('[') {
        return Incoming::Single(one(value));
    }
    match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
        Ok(items) if !items.is_empty() => Incoming::Batch(items.into_iter().map(one).collect()),
        _ => Incoming::Single(Err((Id::Null, invalid("an empty batch")))),
    }
}

fn one(value: &RawValue) -> Result<RpcRequest, (Id, Error)> {
    match serde_json::from_str::<RpcRequest>(value.get()) {
        Ok(request) => checked(request),
        Err(error) => Err((id_of(value), invalid(error))),
    }
}

/// The id of what is no request, if it has one.
fn id_of(value: &RawValue) -> Id {
    #[derive(Deserialize)]
    struct WithId {
        id: Id,
    }
    serde_json::from_str::<WithId>(value.get()).map_or(Id::Null, |found| found.id)
}

fn checked(request: RpcRequest) -> Result<RpcRequest, (Id, Error)> {
    let fits = match &request.params {
        None => true,
        Some(params) => matches!(params.get().as_bytes().first(), Some(b'{' | b'[' | b'n')),
    };
    if fits {
        return Ok(request);
    }
    let id = request.id.unwrap_or(Id::Null);
    Err((id, invalid("`params` must be an object, an array or null")))
}

fn invalid(what: impl std::fmt::Display) -> Error {
    Error::new(
        Code::InvalidRequest,
        format!("not a JSON-RPC 2.0 request: {what}"),
    )
}

/// The `error` member of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorMember {
    /// JSON-RPC's number.
    pub code: i64,
    /// What happened.
    pub message: String,
    /// pillion's whole error object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl From<&Error> for ErrorMember {
    fn from(error: &Error) -> Self {
        Self {
            code: error.code.jsonrpc(),
            message: error.message.clone(),
            data: serde_json::value::to_raw_value(error).ok(),
        }
    }
}

impl From<ErrorMember> for Error {
    fn from(member: ErrorMember) -> Self {
        let whole = member
            .data
            .as_ref()
            .and_then(|data| serde_json::from_str(data.get()).ok());
        whole.unwrap_or_else(|| {
            let code = Code::ALL.iter().find(|c| c.jsonrpc() == member.code);
            Self::new(code.cloned().unwrap_or(Code::InternalError), member.message)
        })
    }
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct RpcResponse {
    /// Always `"2.0"`.
    #[serde(rename = "jsonrpc")]
    pub version: VersionMarker,
    /// The result, if it went well. A `null` result is a result.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "raw_present"
    )]
    pub result: Option<Box<RawValue>>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorMember>,
    /// Whose answer this is.
    pub id: Id,
}

fn raw_present<'de, D>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl RpcResponse {
    /// The answer to request `id`.
    pub fn new(id: Id, outcome: Result<Box<RawValue>, Error>) -> Self {
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(ErrorMember::from(&error))),
        };
        Self {
            version: VersionMarker,
            result,
            error,
            id,
        }
    }

    /// The outcome it carries.
    pub fn into_outcome(self) -> Result<Box<RawValue>, Error> {
        match (self.result, self.error) {
            (_, Some(error)) => Err(error.into()),
            (Some(result), None) => Ok(result),
            (None, None) => Err(invalid("an answer without result and error")),
        }
    }
}

/// A message of the server's own accord: progress, an item of a stream, an event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Notification {
    /// Always `"2.0"`.
    #[serde(rename = "jsonrpc")]
    pub version: VersionMarker,
    /// Which kind.
    pub method: String,
    /// Its content.
    pub params: Box<RawValue>,
}

/// What a client reads: answers and notifications.
#[derive(Debug)]
pub enum FromServer {
    /// An answer.
    Response(RpcResponse),
    /// A notification.
    Notification(Notification),
}

impl FromServer {
    /// Read a frame from a server.
    pub fn read(frame: &[u8]) -> Result<Self, serde_json::Error> {
        // An answer is the common case, and the only one with an id.
        match serde_json::from_slice(frame) {
            Ok(response) => Ok(Self::Response(response)),
            Err(_) => serde_json::from_slice(frame).map(Self::Notification),
        }
    }
}

/// Names of the messages that both sides may send beside requests.
pub mod method {
    /// Client to server: stop working on request `id`.
    pub const CANCEL: &str = "$/cancelRequest";
    /// Server to client: news about request `id`.
    pub const PROGRESS: &str = "$/progress";
}

/// Parameters of [`method::CANCEL`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RpcCancel {
    /// Which request.
    pub id: Id,
}

/// Parameters of [`method::PROGRESS`]: an item of a stream, or progress of the work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Progress {
    /// Which request.
    pub id: Id,
    /// The next item of a stream.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "raw_present"
    )]
    pub item: Option<Box<RawValue>>,
    /// How far the work is.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "raw_present"
    )]
    pub progress: Option<Box<RawValue>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> (Id, String) {
        match read(text.as_bytes()) {
            Incoming::Single(Err((id, error))) => (id, error.code.to_string()),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn wrong_requests_are_told_apart() {
        assert_eq!(code("{"), (Id::Null, "invalid_json".into()));
        assert_eq!(code("3"), (Id::Null, "invalid_request".into()));
        assert_eq!(code("[]"), (Id::Null, "invalid_request".into()));
        assert_eq!(
            code(r#"{"jsonrpc":"1.0","method":"a","id":7}"#).0,
            Id::Number(7)
        );
        let (id, word) = code(r#"{"jsonrpc":"2.0","method":"a","params":3,"id":"x"}"#);
        assert_eq!((id, &*word), (Id::String("x".into()), "invalid_request"));
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","method":1,"id":1}"#).1,
            "invalid_request"
        );
    }

    #[test]
    fn a_notification_has_no_id_and_a_null_id_is_an_id() {
        let Incoming::Single(Ok(request)) = read(br#"{"jsonrpc":"2.0","method":"a"}"#) else {
            panic!()
        };
        assert_eq!(request.id, None);
        let Incoming::Single(Ok(request)) = read(br#"{"jsonrpc":"2.0","method":"a","id":null}"#)
        else {
            panic!()
        };
        assert_eq!(request.id, Some(Id::Null));
    }

    #[test]
    fn an_id_comes_back_as_it_came() {
        for id in [
            "0",
            "-0",
            "7",
            "-7",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551616",
            "123456789012345678901234567890",
            "1.0",
            "1.10",
            "1e3",
            "1E+3",
            "-0.0",
            "1e400",
            "3.14159265358979323846264338327950288",
            "\"7\"",
            "\"\"",
            r#""\ud800""#,
            "null",
        ] {
            let read: Id = serde_json::from_str(id).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), id);
            let request = format!(r#"{{"jsonrpc":"2.0","method":"a","id": {id} }}"#);
            let Incoming::Single(Ok(request)) = super::read(request.as_bytes()) else {
                panic!("{id}")
            };
            assert_eq!(request.id, Some(read.clone()));
            let wrong = format!(r#"{{"jsonrpc":"1.0","method":"a","id":{id}}}"#);
            assert_eq!(code(&wrong).0, read);
        }
        for wrong in ["true", "[1]", "{}"] {
            assert!(serde_json::from_str::<Id>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn batches_keep_order_and_mistakes() {
        let Incoming::Batch(items) = read(br#"[{"jsonrpc":"2.0","method":"a","id":1}, 1]"#) else {
            panic!()
        };
        assert!(items[0].is_ok() && items[1].is_err());
    }

    #[test]
    fn answers_round_trip() {
        let null = RawValue::from_string("null".into()).unwrap();
        let text = serde_json::to_string(&RpcResponse::new(Id::Number(1), Ok(null))).unwrap();
        assert_eq!(text, r#"{"jsonrpc":"2.0","result":null,"id":1}"#);
        let FromServer::Response(back) = FromServer::read(text.as_bytes()).unwrap() else {
            panic!()
        };
        assert_eq!(back.into_outcome().unwrap().get(), "null");

        let error = Error::new(Code::Crashed, "gone").hint("again");
        let text = serde_json::to_string(&RpcResponse::new(Id::Null, Err(error.clone()))).unwrap();
        let FromServer::Response(back) = FromServer::read(text.as_bytes()).unwrap() else {
            panic!()
        };
        assert_eq!(back.into_outcome().unwrap_err(), error);
    }
}
