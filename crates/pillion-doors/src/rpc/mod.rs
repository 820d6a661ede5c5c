//! JSON-RPC 2.0 over any pair of streams, in `Content-Length` frames.
//!
//! Three tasks per connection: this one reads and starts a task per request, the
//! requests send their answers to a bounded queue, and a writer empties it. A reader that
//! is slow, or sends more than it reads, slows itself down and nobody else.

mod requests;
mod writer;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pillion_catalogue::{Code, Door, Error};
use pillion_protocol::frame::ContentLength;
use pillion_protocol::jsonrpc::{Id, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::FramedRead;

use crate::House;
use requests::Requests;
use writer::write_frames;

/// Requests of one connection that may be worked on at once; then reading pauses.
const IN_FLIGHT: u32 = 256;
/// Answers that may wait for a slow reader.
const ANSWERS: usize = 64;
/// How often a connection whose peer has stopped sending is asked whether it still reads.
const STILL_THERE: Duration = Duration::from_millis(250);
/// How long requests may go on when pillion ends; then they are cancelled, which leaves time
/// to say so.
const GO_ON: Duration = Duration::from_millis(1000);

/// Serve one connection until its peer is done, or pillion ends.
///
/// `gone` tells whether the peer has left altogether; a peer that only stopped sending
/// still gets its answers.
pub async fn serve(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    house: House,
    door: Door,
    gone: impl Fn() -> bool,
) {
    let (answers, queue) = mpsc::channel(ANSWERS);
    let writing = tokio::spawn(write_frames(writer, queue));
    let slots = Arc::new(Semaphore::new(IN_FLIGHT as usize));
    let requests = Arc::new(Requests::new(house.clone(), door));
    let mut frames = FramedRead::with_capacity(reader, ContentLength::default(), 64 * 1024);
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            break;
        };
        let frame = tokio::select! {
            frame = frames.next() => frame,
            // The writer only ends early when the peer is gone.
            () = answers.closed() => break,
            () = house.shutdown.cancelled() => break,
        };
        match frame {
            Some(Ok(frame)) => {
                let (requests, answers) = (Arc::clone(&requests), answers.clone());
                tokio::spawn(async move {
                    requests.handle(&frame, &answers).await;
                    drop(slot);
                });
            }
            Some(Err(error)) => {
                refuse(&answers, &error).await;
                break;
            }
            None => break,
        }
    }
    // What was asked is still answered, unless nobody is there to read it.
    let all = slots.acquire_many(IN_FLIGHT);
    let overdue = async {
        house.shutdown.cancelled().await;
        tokio::time::sleep(GO_ON).await;
        requests.cancel_all();
        std::future::pending::<()>().await;
    };
    tokio::pin!(all, overdue);
    loop {
        tokio::select! {
            _ = &mut all => break,
            () = &mut overdue => {}
            () = answers.closed() => break,
            () = tokio::time::sleep(STILL_THERE) => if gone() { break },
        }
    }
    requests.cancel_all();
    drop(answers);
    let _ = writing.await;
}

/// A stream that cannot be cut into frames gets one answer and is closed.
async fn refuse(answers: &mpsc::Sender<Bytes>, error: &io::Error) {
    if error.kind() != io::ErrorKind::InvalidData {
        return;
    }
    let error = Error::new(Code::InvalidRequest, error.to_string())
        .hint("a frame is `Content-Length: N`, a blank line and N bytes of JSON; the connection is closed");
    let _ = answers
        .send(encode(&Response::new(Id::Null, Err(error))))
        .await;
}

/// A message as bytes.
fn encode(message: &impl serde::Serialize) -> Bytes {
    serde_json::to_vec(message).unwrap_or_default().into()
}
