//! What callers are told when a process does not answer.

use std::time::Duration;

use pillion_process::Exit;
use pillion_protocol::{Code, Error, ErrorKind};
use serde::Deserialize;
use serde_json::json;

use crate::child::Child;
use crate::{Cause, SidecarSpec};

/// Lines of stderr that an error carries.
const TAIL_LINES: usize = 20;

/// An error that a language server answered.
#[derive(Debug, Deserialize)]
pub(crate) struct ServerError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

impl ServerError {
    const METHOD_NOT_FOUND: i64 = -32601;
    const REQUEST_CANCELLED: i64 = -32800;
    const CONTENT_MODIFIED: i64 = -32801;
    const SERVER_CANCELLED: i64 = -32802;

    /// Whether the same question can be answered in a moment: files changed while it was
    /// worked on.
    pub(crate) fn is_passing(&self) -> bool {
        [Self::CONTENT_MODIFIED, Self::SERVER_CANCELLED].contains(&self.code)
    }

    /// What its caller is told; `data.lsp_code` has the server's own number.
    pub(crate) fn into_error(self, spec: &SidecarSpec) -> Error {
        let (code, hint) = match self.code {
            Self::CONTENT_MODIFIED => (Code::Conflict, "files changed meanwhile; ask again"),
            Self::REQUEST_CANCELLED | Self::SERVER_CANCELLED => (Code::Cancelled, "ask again"),
            Self::METHOD_NOT_FOUND => (Code::Unsupported, "this engine cannot do that"),
            _ => (
                Code::InternalError,
                "the fault lies with the engine; `pillion logs` has more",
            ),
        };
        let mut error = Error::new(code, format!("`{}`: {}", spec.name, self.message))
            .hint(hint)
            .data(json!({ "lsp_code": self.code }));
        error.kind = ErrorKind::Worker;
        error
    }
}

pub(crate) fn busy(spec: &SidecarSpec) -> Error {
    Error::new(
        Code::Busy,
        format!(
            "`{}` has {} calls waiting already",
            spec.name, spec.limits.queue
        ),
    )
    .hint("try again later, or allow more workers in `pillion.toml` (`[python] workers = N`)")
}

pub(crate) fn stopped(spec: &SidecarSpec) -> Error {
    Error::new(
        Code::ShuttingDown,
        format!("`{}` is shutting down", spec.name),
    )
    .hint("send the request again: a new one starts by itself")
}

/// The breaker is open, and nobody can be asked instead.
pub(crate) fn broken(spec: &SidecarSpec) -> Error {
    Error::new(
        Code::StartFailed,
        format!("`{}` did not start, or died too often", spec.name),
    )
    .hint("`pillion logs` has more; it is tried again in a while")
}

pub(crate) fn too_slow(spec: &SidecarSpec, timeout: Duration) -> Error {
    Error::new(
        Code::Timeout,
        format!("`{}` gave no answer within {} s", spec.name, timeout.as_secs_f64()),
    )
    .hint("the call was interrupted; give it more time with `timeout_ms` (`--timeout` on the command line, in seconds)")
}

pub(crate) fn too_large(spec: &SidecarSpec) -> Error {
    Error::new(
        Code::ResponseTooLarge,
        format!(
            "the answer of `{}` is larger than {} bytes",
            spec.name, spec.limits.frame
        ),
    )
    .hint("return less, or write it to a file and return its path")
}

pub(crate) fn crashed(spec: &SidecarSpec, child: &Child, exit: Exit, cause: Cause) -> Error {
    let tail = child.stderr.last(TAIL_LINES);
    let data = json!({
        "cause": cause,
        "exit_code": exit.code,
        "signal": exit.signal,
        "generation": child.generation,
        "stderr": tail,
    });
    let error = if cause == Cause::Memory {
        Error::new(
            Code::Memory,
            format!(
                "`{}` used more memory than it may and was stopped",
                spec.name
            ),
        )
        .hint("raise `memory_hard_mb` in `pillion.toml`, or work in smaller pieces")
    } else if child.hello.is_none() {
        let what = if cause == Cause::Hang {
            format!(
                "`{}` did not get ready within {} s",
                spec.name,
                spec.limits.hello.as_secs()
            )
        } else if let Some(reason) = &child.broke {
            format!("`{}` {reason}", spec.name)
        } else {
            format!("`{}` {exit} before it was ready", spec.name)
        };
        Error::new(Code::StartFailed, with_last_line(what, &tail))
            .hint("`pillion doctor` shows what is wrong and what to do")
    } else if cause == Cause::Hang {
        Error::new(
            Code::Crashed,
            format!("`{}` hung and was stopped during the call", spec.name),
        )
        .hint("another call blocked it; the state it held in memory is lost")
    } else {
        Error::new(Code::Crashed, with_last_line(format!("`{}` {exit} during the call", spec.name), &tail))
            .hint("it was not repeated because it may have had effects; a call that is safe to repeat can say `idempotent`")
    };
    error.data(data)
}

/// The most telling line of a dying process is its last.
fn with_last_line(what: String, tail: &str) -> String {
    match tail.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{what}: {}", line.trim()),
        None => what,
    }
}
