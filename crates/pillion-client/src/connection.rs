//! One connection: a task that writes, a task that reads, and the table between them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pillion_protocol::frame::ContentLength;
use pillion_protocol::jsonrpc::{FromServer, Id, RpcResponse, method};
use pillion_protocol::{Code, Error, Result};
use tokio::io::AsyncWriteExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use crate::pending::{Outcome, Pending, Waiter};
use crate::sys::{self, ReadHalf, Stream, WriteHalf};
use crate::wire::{self, WireEvent};

/// How many requests may wait to be written before the next caller has to wait.
const WRITE_QUEUE: usize = 64;
/// How many requests may wait for their answers before the next caller has to wait. The daemon
/// refuses the 257th; some that were cancelled may still be among them.
const IN_FLIGHT: usize = 240;
/// How many events of a stream may wait for its consumer.
const EVENT_QUEUE: usize = 64;
/// Bytes of an event that waits alone.
const LARGE: usize = 256 * 1024;
/// What the reader asks the system for at once.
const READ_BUFFER: usize = 64 * 1024;
/// Small frames are written together up to about this size.
const WRITE_TOGETHER: usize = 64 * 1024;
/// How long a dropped connection may go on to write what is queued, such as cancels.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// A frame to write. A request holds a place in the queue until it is written; a cancel
/// needs none, since there is at most one per request.
struct Outgoing {
    frame: Bytes,
    place: Option<OwnedSemaphorePermit>,
}

/// A live connection. Dropping it writes what is queued and closes it.
pub(crate) struct Connection {
    pending: Arc<Pending>,
    queue: mpsc::UnboundedSender<Outgoing>,
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    dropped: CancellationToken,
    ended: CancellationToken,
    reader: JoinHandle<()>,
    /// The process that listens, where the system tells.
    pub(crate) peer: Option<i32>,
}

impl Connection {
    /// Take over a connected socket.
    pub(crate) fn new(stream: Stream, peer: Option<i32>) -> Self {
        let (read, write) = sys::split(stream);
        let pending = Arc::new(Pending::default());
        let (queue, frames) = mpsc::unbounded_channel();
        let dropped = CancellationToken::new();
        let ended = CancellationToken::new();
        tokio::spawn(write_frames(
            write,
            frames,
            dropped.clone(),
            Arc::clone(&pending),
        ));
        let reader = tokio::spawn(read_frames(read, Arc::clone(&pending), ended.clone()));
        Self {
            pending,
            queue,
            places: Arc::new(Semaphore::new(WRITE_QUEUE)),
            turns: Arc::new(Semaphore::new(IN_FLIGHT)),
            dropped,
            ended,
            reader,
            peer,
        }
    }

    /// Queue a request. An error means that it was not sent.
    pub(crate) async fn send(self: &Arc<Self>, id: u64, frame: Bytes) -> Result<InFlight> {
        self.queue(id, frame, None).await
    }

    /// Queue a request whose events are wanted too.
    pub(crate) async fn open(
        self: &Arc<Self>,
        id: u64,
        frame: Bytes,
    ) -> Result<(InFlight, mpsc::Receiver<WireEvent>)> {
        let (sender, events) = mpsc::channel(EVENT_QUEUE);
        let call = self.queue(id, frame, Some(sender)).await?;
        Ok((call, events))
    }

    async fn queue(
        self: &Arc<Self>,
        id: u64,
        frame: Bytes,
        events: Option<mpsc::Sender<WireEvent>>,
    ) -> Result<InFlight> {
        // Neither semaphore is ever closed.
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (outcome, answer) = oneshot::channel();
        self.pending.insert(id, Waiter { outcome, events })?;
        let call = InFlight {
            connection: Arc::clone(self),
            id,
            answer,
            _turn: turn,
        };
        // If the writer is gone the table is closed or about to be: the outcome comes from there.
        let _ = self.queue.send(Outgoing { frame, place });
        Ok(call)
    }

    /// Whether it can carry no more requests.
    pub(crate) fn is_closed(&self) -> bool {
        self.pending.is_closed()
    }

    /// Wait until the daemon has closed it.
    pub(crate) async fn closed(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
        self.dropped.cancel();
    }
}

/// A request on its way. Dropping it before its outcome is there cancels it.
pub(crate) struct InFlight {
    connection: Arc<Connection>,
    id: u64,
    answer: oneshot::Receiver<Outcome>,
    _turn: Option<OwnedSemaphorePermit>,
}

impl InFlight {
    /// Wait for the outcome. Cancel-safe; to be asked for once.
    pub(crate) async fn outcome(&mut self) -> Outcome {
        match (&mut self.answer).await {
            Ok(outcome) => outcome,
            Err(_) => Err(closed_connection()),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.connection.pending.remove(self.id) {
            let frame = wire::cancel(self.id);
            let _ = self.connection.queue.send(Outgoing { frame, place: None });
        }
    }
}

/// Write what is queued, small frames together, until the connection is dropped.
async fn write_frames(
    mut socket: WriteHalf,
    mut frames: mpsc::UnboundedReceiver<Outgoing>,
    dropped: CancellationToken,
    pending: Arc<Pending>,
) {
    let pump = async {
        while let Some(first) = frames.recv().await {
            let (mut frame, mut places) = (first.frame, vec![first.place]);
            if !frames.is_empty() && frame.len() < WRITE_TOGETHER {
                let mut together = Vec::from(frame);
                while together.len() < WRITE_TOGETHER
                    && let Ok(next) = frames.try_recv()
                {
                    together.extend_from_slice(&next.frame);
                    places.push(next.place);
                }
                frame = together.into();
            }
            socket.write_all(&frame).await?;
        }
        Ok::<(), std::io::Error>(())
    };
    let give_up = async {
        dropped.cancelled().await;
        tokio::time::sleep(FLUSH_TIMEOUT).await;
    };
    tokio::select! {
        written = pump => if written.is_err() {
            // The reader usually knows a better reason: let it be first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            pending.close(&closed_connection());
        },
        () = give_up => {}
    }
}

/// Hand out what the daemon sends, until it closes the connection or talks nonsense.
async fn read_frames(socket: ReadHalf, pending: Arc<Pending>, ended: CancellationToken) {
    let _ended = ended.drop_guard();
    let mut frames = FramedRead::with_capacity(socket, ContentLength::default(), READ_BUFFER);
    let reason = loop {
        let frame = match frames.next().await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                break nonsense(&error);
            }
            // "bytes remaining on stream" is the codec's word for an end within a frame.
            Some(Err(_)) | None => break closed_connection(),
        };
        match FromServer::read(&frame) {
            Ok(FromServer::Response(RpcResponse {
                id: Id::Null,
                error: Some(error),
                ..
            })) => {
                // It could not read a frame of ours, and says so before it hangs up.
                break error.into();
            }
            Ok(FromServer::Response(response)) => {
                if let Some(id) = wire::number(&response.id) {
                    pending.answer(id, response.into_outcome());
                }
            }
            Ok(FromServer::Notification(news)) if news.method == method::PROGRESS => {
                if let Some((id, event)) = wire::progress(news.params)
                    && let Some(events) = pending.events(id)
                {
                    // Waiting here is the backpressure. A stream has its connection to itself.
                    hand_over(&events, event).await;
                }
            }
            Ok(FromServer::Notification(_)) => {}
            Err(error) => break nonsense(&error),
        }
    };
    pending.close(&reason);
}

/// Hand an event to its consumer; a large one waits until the queue is empty, which counts
/// events and not bytes.
async fn hand_over(events: &mpsc::Sender<WireEvent>, event: WireEvent) {
    let (WireEvent::Item(json) | WireEvent::Progress(json)) = &event;
    let places = match json.get().len() > LARGE {
        true => events.max_capacity(),
        false => 1,
    };
    if let Ok(mut permits) = events.reserve_many(places).await
        && let Some(permit) = permits.next()
    {
        permit.send(event);
    }
}

/// The reason that calls see when their connection broke.
pub(crate) fn closed_connection() -> Error {
    Error::new(Code::Unreachable, "the daemon closed the connection").hint(
        "it may have stopped or crashed; `pillion logs` has more, and the next call reconnects",
    )
}

fn nonsense(error: &dyn std::fmt::Display) -> Error {
    Error::new(
        Code::Unreachable,
        format!("what listens on the socket does not speak JSON-RPC 2.0: {error}"),
    )
    .hint("another program may listen there; `pillion socket-path` prints the path")
}
