//! The last words of a stream: bounded, whatever a child writes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{Event, Events};

/// Bytes that are kept.
const KEEP: usize = 64 * 1024;
/// Lines of one piece that are announced to subscribers; a flood is cut.
const ANNOUNCE: usize = 32;

/// A bounded memory of a stream's end. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
}

impl Tail {
    fn push(&self, piece: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend(&piece[piece.len().saturating_sub(KEEP)..]);
        let surplus = bytes.len().saturating_sub(KEEP);
        bytes.drain(..surplus);
    }

    /// The last `lines` lines.
    pub(crate) fn last(&self, lines: usize) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let (front, back) = bytes.as_slices();
        let text = String::from_utf8_lossy(&[front, back].concat()).into_owned();
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// Read a stream to its end, so that its writer never blocks.
    pub(crate) async fn drain(
        self,
        mut stream: impl AsyncRead + Unpin,
        name: String,
        events: Events,
    ) {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut piece).await {
            self.push(&piece[..read]);
            tracing::trace!(sidecar = name, bytes = read, "stderr");
            if events.has_listeners() {
                for line in String::from_utf8_lossy(&piece[..read])
                    .lines()
                    .take(ANNOUNCE)
                {
                    let line = line.chars().take(2_000).collect();
                    events.announce(Event::Log {
                        source: name.clone(),
                        line,
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept() {
        let tail = Tail::default();
        let flood = "x".repeat(KEEP * 3) + "\none\ntwo\n";
        tail.clone()
            .drain(flood.as_bytes(), "t".into(), Events::default())
            .await;
        assert_eq!(tail.last(2), "one\ntwo");
        assert!(tail.last(usize::MAX).len() <= KEEP);
    }
}
