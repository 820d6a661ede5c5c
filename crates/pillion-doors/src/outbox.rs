//! What a connection has to say and its peer has not read yet.
//!
//! An answer is always taken, for it cannot be made again, and counted in the connection's
//! [`SendBudget`] until it is written; what has not been begun waits for that room. Refusals are
//! made by the reader itself, which stops reading when too many of them wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pillion_catalogue::{HeldBytes, SendBudget};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Refusals that may wait to be read.
const REFUSALS: usize = 1024;
/// Small ones are written together up to about this size.
const TOGETHER: usize = 64 * 1024;
/// A peer that takes nothing for so many looks is given up; for one, if others need the room.
const STALLED: u32 = 12;
/// Between two looks.
const POLL_EVERY: Duration = Duration::from_secs(5);

/// The way to a peer.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    budget: SendBudget,
    queue: mpsc::UnboundedSender<Entry>,
    refusals: Arc<Semaphore>,
}

#[derive(Debug)]
struct Entry {
    bytes: Bytes,
    held: HeldBytes,
    refusal: Option<OwnedSemaphorePermit>,
}

/// What waits to be written.
#[derive(Debug)]
pub(crate) struct Waiting(mpsc::UnboundedReceiver<Entry>);

impl Outbox {
    pub(crate) fn new() -> (Self, Waiting) {
        let (queue, waiting) = mpsc::unbounded_channel();
        let outbox = Self {
            budget: SendBudget::new(),
            queue,
            refusals: Arc::new(Semaphore::new(REFUSALS)),
        };
        (outbox, Waiting(waiting))
    }

    /// What this connection may have waiting.
    pub(crate) fn budget(&self) -> &SendBudget {
        &self.budget
    }

    /// Send an answer. It counts in the connection's budget until it is read.
    pub(crate) fn send(&self, bytes: Bytes) {
        self.put(bytes, None);
    }

    /// Send a part of an answer when there is room for it; says whether anybody reads.
    pub(crate) async fn send_part(&self, bytes: Bytes) -> bool {
        tokio::select! {
            () = self.budget.free() => self.put(bytes, None),
            () = self.queue.closed() => false,
        }
    }

    /// Send the answer to what was not even begun. Waits where too many of them wait.
    pub(crate) async fn refuse(&self, bytes: Bytes) {
        let place = tokio::select! {
            place = Arc::clone(&self.refusals).acquire_owned() => place.ok(),
            () = self.queue.closed() => return,
        };
        self.put(bytes, place);
    }

    /// Wait until the peer is gone.
    pub(crate) async fn closed(&self) {
        self.queue.closed().await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn put(&self, bytes: Bytes, refusal: Option<OwnedSemaphorePermit>) -> bool {
        let held = self.budget.hold(bytes.len());
        let entry = Entry {
            bytes,
            held,
            refusal,
        };
        self.queue.send(entry).is_ok()
    }
}

/// Write what waits until there will be no more, or the peer is gone. One that takes nothing
/// is given up, if it may be.
pub(crate) async fn write(
    mut writer: impl AsyncWrite + Unpin,
    Waiting(mut waiting): Waiting,
    gives_up: bool,
) {
    while let Some(first) = waiting.recv().await {
        let mut bytes = first.bytes;
        let mut held = vec![(first.held, first.refusal)];
        if bytes.len() < TOGETHER && !waiting.is_empty() {
            // One system call for many answers.
            let mut together = BytesMut::from(bytes);
            while together.len() < TOGETHER
                && let Ok(next) = waiting.try_recv()
            {
                together.extend_from_slice(&next.bytes);
                held.push((next.held, next.refusal));
            }
            bytes = together.freeze();
        }
        if !put_all(&mut writer, &bytes, gives_up).await || writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

async fn put_all(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8], gives_up: bool) -> bool {
    let (mut rest, mut looks) = (bytes, 0);
    while !rest.is_empty() {
        match tokio::time::timeout(POLL_EVERY, writer.write(rest)).await {
            Ok(Ok(written @ 1..)) => (rest, looks) = (&rest[written..], 0),
            Ok(_) => return false,
            Err(_) => looks += 1,
        }
        if gives_up && (looks >= STALLED || (looks > 0 && SendBudget::is_scarce())) {
            return false;
        }
    }
    true
}
