//! Requests as bytes, and the one notification that clients read.

use bytes::Bytes;
use pillion_protocol::frame::{HEADER_ROOM, MAX_BODY, with_header};
use pillion_protocol::jsonrpc::{Id, Progress, method};
use pillion_protocol::{Caller, Code, Error, Result};
use serde::Serialize;
use serde_json::value::RawValue;

/// A part of an answer.
#[derive(Debug, Clone)]
pub enum WireEvent {
    /// The next item of a stream.
    Item(Box<RawValue>),
    /// How far the work is.
    Progress(Box<RawValue>),
}

/// The frame of a request that is about nobody's folder.
pub(crate) fn request(id: u64, method: &str, params: &impl Serialize) -> Result<Bytes> {
    request_for(&Caller::default(), id, method, params)
}

/// The frame of a request, header and body in one buffer: one write sends it.
pub(crate) fn request_for(
    caller: &Caller,
    id: u64,
    method: &str,
    params: &impl Serialize,
) -> Result<Bytes> {
    let bad = |what: String| Error::new(Code::InvalidParams, what);
    let mut frame = Vec::with_capacity(256);
    frame.resize(HEADER_ROOM, b' ');
    frame.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    frame.extend_from_slice(id.to_string().as_bytes());
    frame.extend_from_slice(br#","method":"#);
    serde_json::to_writer(&mut frame, method).map_err(|e| bad(e.to_string()))?;
    frame.extend_from_slice(br#","params":"#);
    let params_at = frame.len();
    serde_json::to_writer(&mut frame, params)
        .map_err(|e| bad(format!("the parameters of `{method}` are no JSON: {e}")))?;
    if !matches!(frame.get(params_at), Some(b'{' | b'[' | b'n')) {
        return Err(bad(format!(
            "the parameters of `{method}` must be an object, an array or null"
        )));
    }
    if !caller.is_silent() {
        frame.extend_from_slice(br#","caller":"#);
        serde_json::to_writer(&mut frame, caller)
            .map_err(|e| bad(format!("the caller's folder is no text: {e}")))?;
    }
    frame.push(b'}');
    let body = frame.len() - HEADER_ROOM;
    if body > MAX_BODY {
        return Err(bad(format!(
            "the request is {body} bytes long, and {MAX_BODY} is the limit"
        ))
        .hint("put large data into a file and send its path"));
    }
    Ok(with_header(frame))
}

/// The frame that asks the daemon to stop working on a request.
pub(crate) fn cancel(id: u64) -> Bytes {
    let mut frame = vec![b' '; HEADER_ROOM];
    let body = format!(
        r#"{{"jsonrpc":"2.0","method":"{}","params":{{"id":{id}}}}}"#,
        method::CANCEL
    );
    frame.extend_from_slice(body.as_bytes());
    with_header(frame)
}

/// Read the parameters of `$/progress`: whose they are, and what.
pub(crate) fn progress(params: Box<RawValue>) -> Option<(u64, WireEvent)> {
    let read: Progress = serde_json::from_str(params.get()).ok()?;
    let id = number(&read.id)?;
    let event = match (read.item, read.progress) {
        (Some(item), _) => WireEvent::Item(item),
        (None, Some(progress)) => WireEvent::Progress(progress),
        (None, None) => WireEvent::Progress(params),
    };
    Some((id, event))
}

/// An id as this client writes them.
pub(crate) fn number(id: &Id) -> Option<u64> {
    match id {
        Id::Number(id) => u64::try_from(*id).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use pillion_protocol::frame::ContentLength;

    fn body(frame: &Bytes) -> String {
        let mut buffer = BytesMut::from(&frame[..]);
        let body = ContentLength::default().next(&mut buffer).unwrap().unwrap();
        assert!(buffer.is_empty(), "one frame and nothing else");
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[test]
    fn frames_are_what_the_decoder_reads() {
        let frame = request(7, "a\"b", &[1, 2]).unwrap();
        let text = body(&frame);
        assert_eq!(
            text,
            r#"{"jsonrpc":"2.0","id":7,"method":"a\"b","params":[1,2]}"#
        );
        assert_eq!(
            body(&cancel(7)),
            r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}"#
        );
        let large = "x".repeat(1 << 20);
        assert!(body(&request(u64::MAX, "m", &[&large]).unwrap()).contains(&large));
    }

    #[test]
    fn parameters_must_be_a_container_or_null() {
        assert!(request(1, "m", &()).is_ok());
        for error in [
            request(1, "m", &3).unwrap_err(),
            request(1, "m", &"text").unwrap_err(),
        ] {
            assert_eq!(error.code, Code::InvalidParams);
        }
    }

    #[test]
    fn an_item_may_be_null() {
        let read = |text: &str| progress(RawValue::from_string(text.into()).unwrap());
        assert!(
            matches!(read(r#"{"id":1,"item":null}"#), Some((1, WireEvent::Item(i))) if i.get() == "null")
        );
        assert!(
            matches!(read(r#"{"id":1,"progress":2}"#), Some((1, WireEvent::Progress(p))) if p.get() == "2")
        );
        assert!(matches!(
            read(r#"{"id":1,"done":2}"#),
            Some((1, WireEvent::Progress(_)))
        ));
        assert!(read(r#"{"id":"other"}"#).is_none());
    }
}
