//! Whatever is read, there is an answer to it, and that answer can be read again.

use bytes::BytesMut;
use pillion_protocol::Error;
use pillion_protocol::frame::{Lines, write_line};
use pillion_protocol::jsonrpc::{self, FromServer, Id, Incoming, RpcResponse};
use pillion_protocol::line::{self, FromSidecar, LineError, Ready, ReplyBody, ReplyLine};
use serde::Serialize;
use serde_json::value::RawValue;

/// JSON-RPC, read by a server and by a client.
pub fn jsonrpc_read(data: &[u8]) {
    let items = match jsonrpc::read(data) {
        Incoming::Single(item) => vec![item],
        Incoming::Batch(items) => {
            assert!(
                !items.is_empty(),
                "an empty batch is a mistake, not a batch"
            );
            items
        }
    };
    for item in items {
        match item {
            Ok(request) => check_answer(request.id.unwrap_or(Id::Null), Ok(null())),
            Err((id, error)) => check_answer(id, Err(error)),
        }
    }
    if let Ok(FromServer::Response(response)) = FromServer::read(data) {
        let id = response.id.clone();
        check_answer(id, response.into_outcome());
    }
}

/// A request line of the stdio door.
pub fn line_read(data: &[u8]) {
    match line::read(data) {
        Ok(request) => {
            let result = null();
            check_line(&ReplyLine {
                id: request.id.as_deref(),
                body: ReplyBody::Result(&result),
            });
        }
        Err((id, error)) => check_line(&ReplyLine {
            id: id.as_deref(),
            body: ReplyBody::Error(error.into()),
        }),
    }
}

/// A line of a sidecar: its first, or an answer.
pub fn sidecar_line(data: &[u8]) {
    if let Ok(ready) = serde_json::from_slice::<Ready>(data) {
        check_line(&ready);
    }
    let Ok(said) = serde_json::from_slice::<FromSidecar>(data) else {
        return;
    };
    for value in [said.result, said.item, said.progress]
        .into_iter()
        .flatten()
    {
        check_line(&ReplyLine {
            id: None,
            body: ReplyBody::Item(value),
        });
    }
    if let Some(member) = said.error {
        let error = Error::from(member);
        check_same(&Error::from(LineError::from(error.clone())), &error);
        check_answer(Id::Null, Err(error));
    }
}

/// A client reads the same outcome from an answer that a server put into it.
fn check_answer(id: Id, outcome: Result<Box<RawValue>, Error>) {
    let sent = RpcResponse::new(id.clone(), outcome.clone());
    let text = serde_json::to_vec(&sent).expect("an answer is JSON");
    let Ok(FromServer::Response(back)) = FromServer::read(&text) else {
        panic!("not read as an answer: {}", String::from_utf8_lossy(&text));
    };
    assert_eq!(back.id, id);
    match (back.into_outcome(), outcome) {
        (Ok(back), Ok(result)) => assert_eq!(back.get(), result.get()),
        (Err(back), Err(error)) => check_same(&back, &error),
        (back, outcome) => panic!("{outcome:?} became {back:?}"),
    }
}

/// All but `data`, which may hold fractions.
fn check_same(back: &Error, error: &Error) {
    assert_eq!(back.code, error.code);
    assert_eq!(back.kind, error.kind);
    assert_eq!(back.message, error.message);
    assert_eq!(back.hint, error.hint);
    assert_eq!(back.recoverable, error.recoverable);
}

/// What is written as a line is one line of JSON.
fn check_line(message: &impl Serialize) {
    let text = serde_json::to_vec(message).expect("a message is JSON");
    let mut wire = BytesMut::new();
    write_line(&text, &mut wire);
    let line = Lines::default().next(&mut wire).expect("within the limit");
    let line = line.expect("a whole line");
    assert!(wire.is_empty(), "more than one line");
    serde_json::from_slice::<&RawValue>(&line).expect("still JSON");
}

fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}
