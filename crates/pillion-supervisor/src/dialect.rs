//! How to say the same things to different kinds of sidecars.

use bytes::BytesMut;
use pillion_protocol::frame::write_line;
use pillion_protocol::worker;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::Ask;

/// The messages a sidecar understands. Both are line JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// pillion's own workers: `method`, `params`, and a control socket of their own.
    Worker,
    /// The old contract: `command`, `project`, `args`.
    Line,
}

#[derive(Serialize)]
struct Command<'a> {
    id: u64,
    command: &'a str,
    project: &'a str,
    args: Option<&'a RawValue>,
}

impl Dialect {
    /// Whether it has a control path beside its input.
    pub(crate) fn has_control(self) -> bool {
        self == Self::Worker
    }

    /// Write a request.
    pub(crate) fn request(self, id: u64, ask: &Ask, progress: bool, out: &mut BytesMut) {
        let params = ask.params.as_deref();
        let json = match self {
            Self::Worker => serde_json::to_vec(&worker::Request {
                id: Some(id),
                method: &ask.method,
                params,
                progress,
            }),
            Self::Line => serde_json::to_vec(&Command {
                id,
                command: &ask.method,
                project: &ask.project,
                args: params,
            }),
        };
        // Text and numbers always become JSON.
        write_line(&json.unwrap_or_default(), out);
    }

    /// Write a request to stop working on `id`.
    pub(crate) fn cancel(id: u64, out: &mut BytesMut) {
        write_line(
            format!(r#"{{"method":"cancel","params":{{"id":{id}}}}}"#).as_bytes(),
            out,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_ask_in_both_dialects() {
        let ask = Ask {
            method: "greet".into(),
            params: RawValue::from_string("{\"a\":\n1}".into()).ok(),
            project: "/p".into(),
        };
        let mut out = BytesMut::new();
        Dialect::Worker.request(7, &ask, true, &mut out);
        assert_eq!(
            out,
            "{\"id\":7,\"method\":\"greet\",\"params\":{\"a\": 1},\"progress\":true}\n"
        );
        out.clear();
        Dialect::Line.request(7, &ask, true, &mut out);
        assert_eq!(
            out,
            "{\"id\":7,\"command\":\"greet\",\"project\":\"/p\",\"args\":{\"a\": 1}}\n"
        );
    }
}
