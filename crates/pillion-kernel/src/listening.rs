//! Somebody who hears everything that a kernel publishes, and the answers to what they asked
//! themselves.
//!
//! Nothing waits for who listens: the kernel's messages are read as they come, for everybody. So
//! what waits for one of them is bounded by bytes. If that is too much, outputs are left out
//! first, and it is said how many; states, replies and what is small still come. Who does not
//! even read those is told that they are too slow, and nothing more is kept for them.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::received::{AROUND, Channel, Heard};

/// Bytes that may wait before outputs are left out.
const FULL: usize = 16 << 20;
/// Bytes and messages that may wait at all.
const TOO_FULL: usize = 32 << 20;
const TOO_MANY: usize = 20_000;
/// What is smaller comes also when outputs are left out.
const SMALL: usize = 4096;
/// Requests whose answers are expected; the oldest are forgotten.
const ASKED: usize = 4096;

/// What somebody hears.
#[derive(Debug, Clone)]
pub enum News {
    /// A message.
    Heard(Heard),
    /// So many outputs were left out.
    LeftOut(u64),
}

/// Why somebody hears nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The kernel is gone.
    Gone,
    /// Too much waited.
    TooSlow,
}

/// Somebody who listens. Dropping it stops that.
#[derive(Debug)]
pub struct Listening(pub(crate) Arc<Queue>);

/// What waits for one who listens.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<News>,
    bytes: usize,
    silence: Option<Silence>,
    asked: HashSet<String>,
    /// The same, by age.
    order: VecDeque<String>,
}

impl Listening {
    /// What comes next. What came before the end is heard first. One asks at a time.
    pub async fn next(&self) -> Result<News, Silence> {
        loop {
            let news = self.0.news.notified();
            if let Some(next) = self.0.take() {
                return next;
            }
            news.await;
        }
    }

    /// Whether there is no reason to listen any longer.
    pub fn is_over(&self) -> bool {
        self.0.state().silence.is_some()
    }

    /// Answers to the request of this id are ours.
    pub(crate) fn asks(&self, id: &str) {
        let mut state = self.0.state();
        if state.asked.insert(id.to_owned()) {
            state.order.push_back(id.to_owned());
        }
        if state.order.len() > ASKED
            && let Some(oldest) = state.order.pop_front()
        {
            state.asked.remove(&oldest);
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next of what waits, or that nothing more comes.
    fn take(&self) -> Option<Result<News, Silence>> {
        let mut state = self.state();
        match state.waiting.pop_front() {
            Some(next) => {
                state.bytes -= size(&next);
                Some(Ok(next))
            }
            None => state.silence.map(Err),
        }
    }

    /// Take in a message, if anybody wants it.
    pub(crate) fn offer(&self, heard: &Heard) {
        let mut state = self.state();
        if state.silence.is_some() || !state.concerns(heard) {
            return;
        }
        let news = News::Heard(heard.clone());
        let size = size(&news);
        let fits = state.bytes + size <= FULL || state.waiting.is_empty();
        let is_output = heard.channel == Channel::Iopub && size >= SMALL + AROUND;
        // What was too large to be read at all cannot be passed on either.
        let is_missing = heard.message.content.is_none();
        if is_missing || (!fits && is_output) {
            match state.waiting.back_mut() {
                Some(News::LeftOut(count)) => *count += 1,
                _ => state.push(News::LeftOut(1)),
            }
        } else {
            state.push(news);
        }
        let alone = state.waiting.len() == 1;
        if (state.bytes > TOO_FULL && !alone) || state.waiting.len() > TOO_MANY {
            state.waiting.clear();
            state.bytes = 0;
            state.silence = Some(Silence::TooSlow);
        }
        drop(state);
        self.news.notify_one();
    }

    /// The kernel is gone.
    pub(crate) fn end(&self) {
        self.state().silence.get_or_insert(Silence::Gone);
        self.news.notify_one();
    }
}

impl State {
    /// Whether it is for this one: everybody hears what is published, and replies and questions
    /// go to who asked.
    fn concerns(&self, heard: &Heard) -> bool {
        let parent = heard.message.parent_id.as_ref();
        heard.channel == Channel::Iopub || parent.is_some_and(|id| self.asked.contains(id))
    }

    fn push(&mut self, news: News) {
        self.bytes += size(&news);
        self.waiting.push_back(news);
    }
}

fn size(news: &News) -> usize {
    match news {
        News::Heard(heard) => heard.size(),
        News::LeftOut(_) => AROUND,
    }
}

#[cfg(test)]
mod tests {
    use pillion_protocol::jupyter::{Header, JupyterMessage};
    use serde_json::value::RawValue;

    use super::*;

    fn heard(channel: Channel, kind: &str, parent: Option<&str>, bytes: usize) -> Heard {
        let raw = |text: String| RawValue::from_string(text).unwrap();
        Heard {
            channel,
            message: Arc::new(JupyterMessage {
                header: Header {
                    msg_type: kind.to_owned(),
                    ..Header::default()
                },
                raw_header: raw("{}".to_owned()),
                parent: raw("{}".to_owned()),
                parent_id: parent.map(ToOwned::to_owned),
                parent_type: String::new(),
                metadata: raw("{}".to_owned()),
                content: Some(raw(format!("\"{}\"", "x".repeat(bytes)))),
                buffers: Vec::new(),
            }),
        }
    }

    fn all(queue: &Queue) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(Ok(news)) = queue.take() {
            all.push(match news {
                News::Heard(heard) => heard.kind().to_owned(),
                News::LeftOut(count) => format!("-{count}"),
            });
        }
        all
    }

    #[test]
    fn replies_go_to_who_asked_and_outputs_to_everybody() {
        let listening = Listening(Arc::default());
        listening.asks("mine");
        for (channel, parent) in [
            (Channel::Shell, "mine"),
            (Channel::Shell, "theirs"),
            (Channel::Stdin, "mine"),
            (Channel::Stdin, "theirs"),
            (Channel::Control, "theirs"),
            (Channel::Iopub, "theirs"),
        ] {
            let kind = format!("{channel:?}");
            listening.0.offer(&heard(channel, &kind, Some(parent), 1));
        }
        assert_eq!(all(&listening.0), ["Shell", "Stdin", "Iopub"]);
    }

    #[test]
    fn outputs_are_left_out_for_who_reads_slowly_and_states_are_not() {
        let queue = Queue::default();
        let large = heard(Channel::Iopub, "stream", None, FULL - 1);
        let state = heard(Channel::Iopub, "status", None, 10);
        for message in [&large, &large, &large, &state, &large] {
            queue.offer(message);
        }
        assert_eq!(all(&queue), ["stream", "-2", "status", "-1"]);
        assert_eq!(queue.state().bytes, 0);
        queue.offer(&large);
        assert_eq!(all(&queue), ["stream"]);
    }

    #[test]
    fn one_large_message_comes_alone() {
        let queue = Queue::default();
        queue.offer(&heard(Channel::Iopub, "stream", None, TOO_FULL * 2));
        assert_eq!(all(&queue), ["stream"]);
    }

    #[tokio::test]
    async fn who_reads_nothing_is_told_and_nothing_is_kept() {
        let listening = Listening(Arc::default());
        for _ in 0..=TOO_MANY {
            listening.0.offer(&heard(Channel::Iopub, "status", None, 1));
        }
        assert!(listening.is_over() && listening.0.state().waiting.is_empty());
        assert_eq!(listening.next().await.unwrap_err(), Silence::TooSlow);
    }

    #[tokio::test]
    async fn what_came_before_the_end_is_heard() {
        let listening = Listening(Arc::default());
        listening.0.offer(&heard(Channel::Iopub, "last", None, 1));
        listening.0.end();
        listening.0.offer(&heard(Channel::Iopub, "late", None, 1));
        assert!(matches!(listening.next().await, Ok(News::Heard(_))));
        assert_eq!(listening.next().await.unwrap_err(), Silence::Gone);
    }
}
