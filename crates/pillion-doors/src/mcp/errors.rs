//! pillion's error object as a tool's error: the words that the contract has for agents,
//! with pillion's own beside them.

use pillion_catalogue::{Code, Error};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

/// What an agent reads when a tool fails.
#[derive(Serialize)]
struct ToolError<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    message: &'a str,
    recoverable: bool,
    code: &'a Code,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

/// A failed call as the agent sees it.
pub(super) fn failed(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text(error))])
}

/// The error as compact JSON.
pub(super) fn text(error: &Error) -> String {
    let shown = ToolError {
        kind: kind(&error.code),
        message: &error.message,
        recoverable: error.recoverable,
        code: &error.code,
        hint: error.hint.as_deref(),
        data: error.data.as_deref(),
    };
    serde_json::to_string(&shown).unwrap_or_default()
}

/// The contract's word for a code.
fn kind(code: &Code) -> &'static str {
    match code {
        Code::NotFound | Code::UnknownOperation | Code::PythonNotFound => "NOT_FOUND",
        Code::Conflict | Code::VersionMismatch => "CONFLICT",
        Code::InvalidJson
        | Code::InvalidRequest
        | Code::InvalidParams
        | Code::ParseError
        | Code::InvalidConfig
        | Code::OutputLimit
        | Code::ResponseTooLarge
        | Code::BundleRefused
        | Code::BundleDamaged
        | Code::Unsupported => "VALIDATION",
        Code::OutsideRoot | Code::Unauthorized | Code::Untrusted | Code::WriteFailed => {
            "PERMISSION"
        }
        Code::Busy
        | Code::Timeout
        | Code::Cancelled
        | Code::Crashed
        | Code::Memory
        | Code::StartFailed
        | Code::ShuttingDown
        | Code::Unreachable => "TRANSIENT",
        Code::InternalError | Code::Exception | Code::InvalidResult => "INTERNAL",
        Code::Other(name) => foreign(name),
    }
}

/// A foreign sidecar may use the contract's words itself, or end in one of them.
fn foreign(name: &str) -> &'static str {
    let name = name.to_ascii_uppercase();
    let known = [
        "NOT_FOUND",
        "CONFLICT",
        "VALIDATION",
        "PERMISSION",
        "TRANSIENT",
        "TIMEOUT",
    ];
    match known.into_iter().find(|word| name.ends_with(word)) {
        Some("TIMEOUT") => "TRANSIENT",
        Some(word) => word,
        None => "INTERNAL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_kept() {
        let error = Error::new(Code::Busy, "full").hint("wait");
        assert_eq!(
            text(&error),
            r#"{"type":"TRANSIENT","message":"full","recoverable":true,"code":"busy","hint":"wait"}"#
        );
        let foreign = Error::new(Code::from("file_not_found"), "gone");
        assert!(text(&foreign).starts_with(r#"{"type":"NOT_FOUND""#));
        let odd = Error::new(Code::from("odd"), "?");
        assert!(text(&odd).starts_with(r#"{"type":"INTERNAL""#));
    }
}
