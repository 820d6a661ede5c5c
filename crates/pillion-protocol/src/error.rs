//! The one error object that every door shows.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What pillion's fallible functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault it is, which decides what a person should look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub enum ErrorKind {
    /// The request.
    Input,
    /// The machine: no Python, no permission, no space.
    Environment,
    /// The code that was called, or the process it ran in.
    Worker,
    /// pillion.
    Internal,
}

/// The table of codes: spelling, kind, whether repeating can help, JSON-RPC number, HTTP status.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident, $recoverable:literal, $rpc:literal, $http:literal;)*) => {
        /// The stable word that programs branch on.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
            /// A code of a foreign sidecar, passed on as it came.
            Other(Box<str>),
        }

        impl Code {
            /// Every code of pillion's own.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The word on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Code::$variant => $name,)*
                    Code::Other(name) => name,
                }
            }

            /// Whose fault this code means.
            pub fn kind(&self) -> ErrorKind {
                match self {
                    $(Code::$variant => ErrorKind::$kind,)*
                    Code::Other(_) => ErrorKind::Worker,
                }
            }

            /// Whether the caller can go on, or try again.
            pub fn recoverable(&self) -> bool {
                match self {
                    $(Code::$variant => $recoverable,)*
                    Code::Other(_) => true,
                }
            }

            /// The number JSON-RPC wants.
            pub fn jsonrpc(&self) -> i64 {
                match self {
                    $(Code::$variant => $rpc,)*
                    Code::Other(_) => -32099,
                }
            }

            /// The HTTP status.
            pub fn http_status(&self) -> u16 {
                match self {
                    $(Code::$variant => $http,)*
                    Code::Other(_) => 500,
                }
            }
        }

        impl From<&str> for Code {
            fn from(name: &str) -> Self {
                match name {
                    $($name => Code::$variant,)*
                    other => Code::Other(other.into()),
                }
            }
        }
    };
}

codes! {
    /// The bytes are no JSON.
    InvalidJson = "invalid_json", Input, true, -32700, 400;
    /// JSON, but no request.
    InvalidRequest = "invalid_request", Input, true, -32600, 400;
    /// No operation has that name.
    UnknownOperation = "unknown_operation", Input, true, -32601, 404;
    /// The parameters do not fit.
    InvalidParams = "invalid_params", Input, true, -32602, 422;
    /// A fault of pillion's.
    InternalError = "internal_error", Internal, false, -32603, 500;
    /// What the request names does not exist.
    NotFound = "not_found", Input, true, -32001, 404;
    /// A path outside the workspace root.
    OutsideRoot = "outside_root", Input, true, -32002, 403;
    /// A file with a syntax error.
    ParseError = "parse_error", Input, true, -32003, 422;
    /// It clashes with what is there.
    Conflict = "conflict", Input, true, -32004, 409;
    /// A queue is full.
    Busy = "busy", Environment, true, -32005, 503;
    /// The deadline passed.
    Timeout = "timeout", Worker, true, -32006, 504;
    /// The caller asked to stop.
    Cancelled = "cancelled", Input, true, -32007, 499;
    /// The process died during the call.
    Crashed = "crashed", Worker, true, -32008, 502;
    /// A memory limit.
    Memory = "memory", Worker, true, -32009, 507;
    /// More output than allowed.
    OutputLimit = "output_limit", Worker, true, -32010, 507;
    /// The answer is larger than a frame may be.
    ResponseTooLarge = "response_too_large", Worker, true, -32011, 507;
    /// A process could not be started.
    StartFailed = "start_failed", Environment, true, -32012, 503;
    /// No usable Python.
    PythonNotFound = "python_not_found", Environment, true, -32013, 503;
    /// Client and daemon do not fit.
    VersionMismatch = "version_mismatch", Environment, true, -32014, 409;
    /// The caller may not.
    Unauthorized = "unauthorized", Input, true, -32015, 401;
    /// The called Python code raised an exception.
    Exception = "exception", Worker, true, -32016, 500;
    /// The value a function returned cannot be written as JSON.
    InvalidResult = "invalid_result", Worker, true, -32017, 500;
    /// pillion is shutting down.
    ShuttingDown = "shutting_down", Environment, true, -32018, 503;
    /// No daemon could be reached.
    Unreachable = "unreachable", Environment, true, -32019, 503;
    /// This platform cannot do it.
    Unsupported = "unsupported", Environment, false, -32020, 501;
    /// The configuration file is wrong.
    InvalidConfig = "invalid_config", Input, true, -32021, 422;
    /// A file cannot be written: no permission, no space.
    WriteFailed = "write_failed", Environment, true, -32022, 507;
    /// The folder's own configuration asks for something, and its user has not trusted it.
    Untrusted = "untrusted", Input, true, -32023, 403;
    /// A bundle is not taken: something in it is wrong, or nobody trusted signed it. The member
    /// `reason` of its data says which.
    BundleRefused = "bundle_refused", Input, true, -32024, 422;
    /// An installed bundle is not as it was installed.
    BundleDamaged = "bundle_damaged", Environment, true, -32025, 503;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer).map(|name| Code::from(&*name))
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let known: Vec<_> = Self::ALL.iter().map(Code::as_str).collect();
        schemars::json_schema!({
            "type": "string",
            "description": "The stable word that programs branch on; foreign sidecars may add their own.",
            "examples": known,
        })
    }
}

/// What happened, and what to do next. The same object on every door.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// The stable word that programs branch on.
    pub code: Code,
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What happened, in a sentence.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the caller can go on, or try again.
    pub recoverable: bool,
    /// More, for programs: a traceback, an exit code, a list of candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<Value>>,
}

impl Error {
    /// An error with the code's usual kind and recoverability.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            kind: code.kind(),
            recoverable: code.recoverable(),
            code,
            message: message.into(),
            hint: None,
            data: None,
        }
    }

    /// A fault of pillion's own.
    pub fn internal(what: impl fmt::Display) -> Self {
        Self::new(Code::InternalError, what.to_string())
            .hint("this is a bug in pillion; `pillion logs` has more")
    }

    /// What to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// More, for programs.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// The class name of the Python exception behind it, if there is one.
    pub fn exception_type(&self) -> Option<&str> {
        self.data.as_ref()?.get("type")?.as_str()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_survive_the_wire() {
        let mut names = std::collections::HashSet::new();
        let mut numbers = std::collections::HashSet::new();
        for code in Code::ALL {
            assert!(names.insert(code.as_str()), "{code} twice");
            assert!(numbers.insert(code.jsonrpc()), "{} twice", code.jsonrpc());
            let wire = serde_json::to_string(code).unwrap();
            assert_eq!(&serde_json::from_str::<Code>(&wire).unwrap(), code);
            let reserved = (-32768..=-32600).contains(&code.jsonrpc());
            assert!(reserved || (-32099..=-32000).contains(&code.jsonrpc()));
        }
        assert_eq!(
            Code::from("file_not_found"),
            Code::Other("file_not_found".into())
        );
    }

    #[test]
    fn absent_parts_are_left_out() {
        let wire = serde_json::to_string(&Error::new(Code::Busy, "full")).unwrap();
        assert_eq!(
            wire,
            r#"{"code":"busy","kind":"environment","message":"full","recoverable":true}"#
        );
    }
}
