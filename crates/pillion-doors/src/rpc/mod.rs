//! JSON-RPC 2.0 over any pair of streams, in `Content-Length` frames.
//!
//! Three kinds of tasks per connection: this one reads and starts a task per request, the
//! requests leave their answers in the outbox, and a writer empties it. A peer that does not
//! read gets nothing more done, and nobody else notices; what it sends is still read, because
//! a cancel may be among it.

mod requests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use pillion_catalogue::{Code, Door, Error};
use pillion_protocol::frame::ContentLength;
use pillion_protocol::jsonrpc::{Id, RpcResponse};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::FramedRead;

use crate::DoorState;
use crate::intake::{Claimed, too_much};
use crate::outbox::{self, Outbox};
use requests::{Requests, encode};

/// How often a connection whose peer has stopped sending is asked whether it still reads.
const STILL_THERE: Duration = Duration::from_millis(250);
/// How long requests may go on when pillion ends; then they are cancelled, which leaves time
/// to say so.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(1000);

/// Serve one connection until its peer is done, or pillion ends.
///
/// `gone` tells whether the peer has left altogether; a peer that only stopped sending
/// still gets its answers.
pub async fn serve(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    state: DoorState,
    door: Door,
    gone: impl Fn() -> bool,
) {
    let (outbox, waiting) = Outbox::new();
    let writing = tokio::spawn(outbox::write(writer, waiting, true));
    let requests = Arc::new(Requests::new(state.clone(), door, outbox.clone()));
    let decoder = Claimed::new(ContentLength::default());
    let mut frames = FramedRead::with_capacity(reader, decoder, 64 * 1024);
    loop {
        let frame = tokio::select! {
            frame = frames.next() => frame,
            // The writer only ends early when the peer is gone.
            () = outbox.closed() => break,
            () = state.shutdown.cancelled() => break,
        };
        match frame {
            Some(Ok((frame, claim))) => {
                let taken = requests.take(&frame, claim);
                drop(frame);
                taken.await;
            }
            Some(Err(error)) => {
                refuse(&outbox, &error).await;
                break;
            }
            None => break,
        }
    }
    // What was asked is still answered, unless nobody is there to read it.
    finish(&requests, &outbox, &state, gone).await;
    requests.cancel_all();
    drop((requests, outbox));
    let _ = writing.await;
}

/// Wait until all is answered, or nobody reads, or it is too late.
async fn finish(requests: &Requests, outbox: &Outbox, state: &DoorState, gone: impl Fn() -> bool) {
    let all = requests.all_done();
    let overdue = async {
        state.shutdown.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
        requests.cancel_all();
        std::future::pending::<()>().await;
    };
    tokio::pin!(all, overdue);
    loop {
        tokio::select! {
            () = &mut all => break,
            () = &mut overdue => {}
            () = outbox.closed() => break,
            () = tokio::time::sleep(STILL_THERE) => if gone() { break },
        }
    }
}

/// A stream that cannot be cut into frames gets one answer and is closed.
async fn refuse(outbox: &Outbox, error: &io::Error) {
    let error = match error.kind() {
        io::ErrorKind::InvalidData => Error::new(Code::InvalidRequest, error.to_string())
            .hint("a frame is `Content-Length: N`, a blank line and N bytes of JSON; the connection is closed"),
        io::ErrorKind::OutOfMemory => too_much(),
        _ => return,
    };
    let answer = encode(&RpcResponse::new(Id::Null, Err(error)));
    outbox.refuse(answer).await;
}
