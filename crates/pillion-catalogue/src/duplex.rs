//! A conversation in frames, both ways, beside the one answer of a request.
//!
//! A door that can carry one (a WebSocket) offers it with the request. The operation decides
//! first whether it wants to talk: until it opens the conversation it can still refuse like any
//! other, and the caller gets an ordinary error. Its end is the end of the conversation.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

/// Frames that may wait on their way in or out; then who sends them waits.
const FRAMES: usize = 4;

/// What is said at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Bytes),
}

/// The offer of a conversation, which can be taken once.
#[derive(Debug, Clone)]
pub struct Duplex {
    protocol: Option<&'static str>,
    opened: Arc<Mutex<Option<oneshot::Sender<DuplexEnds>>>>,
}

/// One side's ends of a conversation.
#[derive(Debug)]
pub struct DuplexEnds {
    /// What the other side says; nothing more comes when it is gone.
    pub incoming: mpsc::Receiver<Frame>,
    /// What is said to it.
    pub outgoing: mpsc::Sender<Frame>,
}

impl Duplex {
    /// Offer a conversation in one of the protocols that the operation knows, or in none of
    /// them. The door gets its ends when the operation takes the offer.
    pub fn offer(protocol: Option<&'static str>) -> (Self, oneshot::Receiver<DuplexEnds>) {
        let (opened, opening) = oneshot::channel();
        let duplex = Self {
            protocol,
            opened: Arc::new(Mutex::new(Some(opened))),
        };
        (duplex, opening)
    }

    /// The protocol that was agreed on.
    pub fn protocol(&self) -> Option<&'static str> {
        self.protocol
    }

    /// Take the offer; `None` if it was taken before, or nobody is there any more.
    pub fn open(&self) -> Option<DuplexEnds> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let (to_operation, incoming) = mpsc::channel(FRAMES);
        let (outgoing, from_operation) = mpsc::channel(FRAMES);
        let door = DuplexEnds {
            incoming: from_operation,
            outgoing: to_operation,
        };
        opened.take()?.send(door).ok()?;
        Some(DuplexEnds { incoming, outgoing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_offer_is_taken_once_and_joins_both_sides() {
        let (duplex, opening) = Duplex::offer(Some("v1"));
        assert_eq!(duplex.protocol(), Some("v1"));
        let mut here = duplex.open().unwrap();
        assert!(duplex.clone().open().is_none());
        let mut door = opening.await.unwrap();
        let text = |text: &str| Frame::Text(text.to_owned());
        door.outgoing.send(text("in")).await.unwrap();
        here.outgoing.send(text("out")).await.unwrap();
        assert_eq!(here.incoming.recv().await, Some(text("in")));
        assert_eq!(door.incoming.recv().await, Some(text("out")));
        drop(door);
        assert_eq!(here.incoming.recv().await, None);
    }

    #[test]
    fn who_hung_up_is_not_talked_to() {
        let (duplex, opening) = Duplex::offer(None);
        drop(opening);
        assert!(duplex.open().is_none());
    }
}
