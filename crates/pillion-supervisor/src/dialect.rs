//! How to say the same things to different kinds of sidecars.

use bytes::BytesMut;
use pillion_protocol::frame::{write_content_length, write_line};
use pillion_protocol::jsonrpc::{VersionMarker, method};
use pillion_protocol::worker;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Ask;

/// The messages a sidecar understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// pillion's own workers: line JSON with `method`, `params`, and a control socket of
    /// their own.
    Worker,
    /// The old contract: line JSON with `command`, `project`, `args`.
    Line,
    /// Language servers: JSON-RPC 2.0 in `Content-Length` frames.
    Lsp,
    /// Zygotes and kernels: a ready line as workers write it, and nothing more on the standard
    /// streams. A call is a [`Hold`](crate::Hold): who has it speaks on the process's own
    /// socket, where descriptors go along.
    Held,
}

#[derive(Serialize)]
struct Command<'a> {
    id: u64,
    command: &'a str,
    project: &'a str,
    args: Option<&'a RawValue>,
}

/// A request of ours, or a notification when it has no id.
#[derive(Serialize)]
struct Rpc<'a, P> {
    jsonrpc: VersionMarker,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
}

/// The answer to a request of the server's; its id goes back as it came.
#[derive(Serialize)]
struct RpcAnswer<'a> {
    jsonrpc: VersionMarker,
    id: &'a RawValue,
    result: &'a Value,
}

impl Dialect {
    /// Whether it has a control path beside its input.
    pub(crate) fn has_control(self) -> bool {
        self == Self::Worker
    }

    /// Whether its calls are holds: nothing is written for them, and they end when they are
    /// let go of.
    pub(crate) fn is_held(self) -> bool {
        self == Self::Held
    }

    /// Write a request.
    pub(crate) fn request(self, id: u64, ask: &Ask, progress: bool, out: &mut BytesMut) {
        let params = ask.params.as_deref();
        // Text and numbers always become JSON.
        match self {
            Self::Worker => {
                let request = worker::WorkerRequest {
                    id: Some(id),
                    method: &ask.method,
                    params,
                    progress,
                };
                write_line(&serde_json::to_vec(&request).unwrap_or_default(), out);
            }
            Self::Line => {
                let command = Command {
                    id,
                    command: &ask.method,
                    project: &ask.project,
                    args: params,
                };
                write_line(&serde_json::to_vec(&command).unwrap_or_default(), out);
            }
            Self::Lsp => rpc(Some(id), &ask.method, params, out),
            Self::Held => {}
        }
    }

    /// Write a request to stop working on `id`.
    pub(crate) fn cancel(self, id: u64, out: &mut BytesMut) {
        match self {
            Self::Worker | Self::Line => write_line(
                format!(r#"{{"method":"cancel","params":{{"id":{id}}}}}"#).as_bytes(),
                out,
            ),
            Self::Lsp => {
                let params = serde_json::json!({ "id": id });
                rpc(None, method::CANCEL, Some(&params), out);
            }
            Self::Held => {}
        }
    }
}

/// Write a JSON-RPC request, or a notification if it has no id.
pub(crate) fn rpc<P: Serialize>(
    id: Option<u64>,
    method: &str,
    params: Option<P>,
    out: &mut BytesMut,
) {
    let message = Rpc {
        jsonrpc: VersionMarker,
        id,
        method,
        params,
    };
    write_content_length(&serde_json::to_vec(&message).unwrap_or_default(), out);
}

/// Write the answer to a request of the server's.
pub(crate) fn rpc_answer(id: &RawValue, result: &Value, out: &mut BytesMut) {
    let message = RpcAnswer {
        jsonrpc: VersionMarker,
        id,
        result,
    };
    write_content_length(&serde_json::to_vec(&message).unwrap_or_default(), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dialect: Dialect) -> BytesMut {
        let ask = Ask {
            method: "greet".into(),
            params: RawValue::from_string("{\"a\":\n1}".into()).ok(),
            project: "/p".into(),
        };
        let mut out = BytesMut::new();
        dialect.request(7, &ask, true, &mut out);
        out
    }

    #[test]
    fn the_same_ask_in_all_dialects() {
        assert_eq!(
            written(Dialect::Worker),
            "{\"id\":7,\"method\":\"greet\",\"params\":{\"a\": 1},\"progress\":true}\n"
        );
        assert_eq!(
            written(Dialect::Line),
            "{\"id\":7,\"command\":\"greet\",\"project\":\"/p\",\"args\":{\"a\": 1}}\n"
        );
        assert_eq!(
            written(Dialect::Lsp),
            "Content-Length: 59\r\n\r\n\
             {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"greet\",\"params\":{\"a\":\n1}}"
        );
    }

    #[test]
    fn an_answer_to_the_server_keeps_its_id() {
        let id = RawValue::from_string("\"x\"".into()).unwrap();
        let mut out = BytesMut::new();
        rpc_answer(&id, &Value::Null, &mut out);
        let body = "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}";
        assert!(out.ends_with(body.as_bytes()), "{out:?}");
    }
}
