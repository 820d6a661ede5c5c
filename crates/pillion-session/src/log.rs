//! What happened in a turn, for everybody who reads along: from its beginning, or from where
//! somebody stopped reading.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_agents::StreamEvent;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;

/// Bytes of events that are kept; a model's answer is bounded to less than that.
const MOST_BYTES: usize = 16 << 20;

/// The events of one turn. Readers never hold it up: each reads what is there at its own pace.
#[derive(Debug)]
pub(crate) struct TurnLog {
    events: Mutex<Events>,
    /// How many there are, and whether there will be more.
    news: watch::Sender<(usize, bool)>,
}

#[derive(Debug, Default)]
struct Events {
    all: Vec<Arc<RawValue>>,
    bytes: usize,
}

impl TurnLog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::default(),
            news: watch::Sender::new((0, false)),
        })
    }

    /// Something happened. An event that there is no room for is lost, and that is logged: the
    /// end of a turn always has room.
    pub(crate) fn push(&self, event: &StreamEvent) {
        let Ok(text) = to_raw_value(event) else {
            return;
        };
        let mut events = self.events();
        let size = text.get().len();
        let is_chunk = matches!(event, StreamEvent::CompanionChunk { .. });
        if is_chunk && events.bytes + size > MOST_BYTES {
            tracing::warn!("a reply is longer than what is kept of a turn");
            return;
        }
        events.bytes += size;
        events.all.push(text.into());
        let count = events.all.len();
        drop(events);
        let is_last = event.is_terminal();
        self.news.send_modify(|(known, over)| {
            *known = count;
            *over |= is_last;
        });
    }

    /// Nothing more will happen, also if no event said so.
    pub(crate) fn close(&self) {
        self.news.send_modify(|news| news.1 = true);
    }

    /// Whether the turn is over.
    pub(crate) fn is_over(&self) -> bool {
        self.news.borrow().1
    }

    /// The event after the first `read` ones, when it is there; `None` at the end.
    pub(crate) async fn next(&self, read: usize) -> Option<Arc<RawValue>> {
        let mut news = self.news.subscribe();
        let _ = news.wait_for(|news| news.0 > read || news.1).await;
        self.events().all.get(read).cloned()
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_comes_back_reads_on_and_everybody_reads_the_end() {
        let log = TurnLog::new();
        log.push(&StreamEvent::Start {});
        let early = tokio::spawn({
            let log = Arc::clone(&log);
            async move {
                let mut read = Vec::new();
                while let Some(event) = log.next(read.len()).await {
                    read.push(event.get().to_owned());
                }
                read
            }
        });
        tokio::task::yield_now().await;
        let chunk = StreamEvent::CompanionChunk {
            content: "a".to_owned(),
        };
        log.push(&chunk);
        log.push(&StreamEvent::Complete { turn_index: 1 });
        assert!(log.is_over(), "that was the end");
        log.close();
        let read = early.await.unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(
            read.last().unwrap(),
            r#"{"type":"complete","turn_index":1}"#
        );
        let late = log.next(2).await.unwrap();
        assert_eq!(late.get(), read[2]);
        assert!(log.next(3).await.is_none());
    }

    #[test]
    fn a_reply_without_end_is_cut_and_the_end_is_told() {
        let log = TurnLog::new();
        let chunk = StreamEvent::CompanionChunk {
            content: "x".repeat(MOST_BYTES / 3),
        };
        for _ in 0..5 {
            log.push(&chunk);
        }
        log.push(&StreamEvent::Complete { turn_index: 1 });
        let events = log.events();
        assert!(events.bytes < MOST_BYTES + 100 && events.all.len() == 3);
    }
}
