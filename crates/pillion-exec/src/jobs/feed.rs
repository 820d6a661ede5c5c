//! What a job prints, for whoever listens: the last of it is kept, and nobody is waited for.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use pillion_lanes::{OutputListener, OutputStream};

/// Bytes of output that are kept for those who come later or are slow.
const KEPT: usize = 1 << 20;
/// Small pieces are put together up to this size.
const PIECE: usize = 16 << 10;

/// A job's output.
#[derive(Debug)]
pub(crate) struct Feed {
    kept: Mutex<Kept>,
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Kept {
    pieces: VecDeque<Piece>,
    bytes: usize,
    ended: bool,
}

#[derive(Debug)]
struct Piece {
    /// Bytes that were printed before it.
    at: u64,
    which: OutputStream,
    text: String,
}

impl Piece {
    fn end(&self) -> u64 {
        self.at + self.text.len() as u64
    }
}

/// What somebody who listens hears next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Text(OutputStream, String),
    /// So many bytes are gone.
    LeftOut(u64),
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            news: watch::Sender::new(()),
        }
    }
}

impl Feed {
    fn push(&self, which: OutputStream, text: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(which, text);
        drop(kept);
        self.news.send_replace(());
    }

    /// Nothing more comes.
    pub(crate) fn end(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.ended = true;
        drop(kept);
        self.news.send_replace(());
    }

    /// Wait for the end.
    pub(crate) async fn ended(&self) {
        let mut news = self.news.subscribe();
        loop {
            news.borrow_and_update();
            let ended = self
                .kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .ended;
            if ended || news.changed().await.is_err() {
                return;
            }
        }
    }

    /// What comes after `place`, which moves on; `None` at the end.
    pub(crate) async fn next(&self, place: &mut u64) -> Option<Heard> {
        let mut news = self.news.subscribe();
        loop {
            news.borrow_and_update();
            {
                let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(heard) = kept.after(place) {
                    return Some(heard);
                }
                if kept.ended {
                    return None;
                }
            }
            news.changed().await.ok()?;
        }
    }
}

impl Kept {
    fn push(&mut self, which: OutputStream, text: &str) {
        self.bytes += text.len();
        let at = self.pieces.back().map_or(0, Piece::end);
        match self.pieces.back_mut() {
            Some(last) if last.which == which && last.text.len() + text.len() <= PIECE => {
                last.text.push_str(text);
            }
            _ => self.pieces.push_back(Piece {
                at,
                which,
                text: text.to_owned(),
            }),
        }
        // The last piece stays, so that it is known how much there was.
        while self.bytes > KEPT && self.pieces.len() > 1 {
            let gone = self.pieces.pop_front();
            self.bytes -= gone.map_or(0, |piece| piece.text.len());
        }
    }

    fn after(&self, place: &mut u64) -> Option<Heard> {
        let first = self.pieces.front()?.at;
        if *place < first {
            let left_out = first - *place;
            *place = first;
            return Some(Heard::LeftOut(left_out));
        }
        let at = self.pieces.partition_point(|piece| piece.end() <= *place);
        let piece = self.pieces.get(at)?;
        let inside = usize::try_from(*place - piece.at).ok()?;
        *place = piece.end();
        let text = piece.text.get(inside..)?.to_owned();
        Some(Heard::Text(piece.which, text))
    }
}

/// Puts what a run prints into the feed.
pub(crate) struct Into<'a>(pub(crate) &'a Feed);

impl OutputListener for Into<'_> {
    async fn hear(&mut self, which: OutputStream, text: String) {
        self.0.push(which, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_is_heard_in_order_by_everybody() {
        let feed = Feed::default();
        feed.push(OutputStream::Stdout, "ä");
        let (mut early, mut late) = (0, 0);
        let text = |which, text: &str| Some(Heard::Text(which, text.into()));
        assert_eq!(feed.next(&mut early).await, text(OutputStream::Stdout, "ä"));
        feed.push(OutputStream::Stdout, "b");
        feed.push(OutputStream::Stderr, "c");
        feed.end();
        assert_eq!(feed.next(&mut early).await, text(OutputStream::Stdout, "b"));
        assert_eq!(feed.next(&mut early).await, text(OutputStream::Stderr, "c"));
        assert_eq!(feed.next(&mut early).await, None);
        assert_eq!(feed.next(&mut late).await, text(OutputStream::Stdout, "äb"));
    }

    #[tokio::test]
    async fn who_is_slow_is_told_how_much_is_gone() {
        let feed = Feed::default();
        for number in 0..200 {
            feed.push(OutputStream::Stdout, &format!("{number:05}").repeat(2000));
        }
        feed.end();
        let (mut place, mut heard, mut gone) = (0, 0, 0);
        while let Some(next) = feed.next(&mut place).await {
            match next {
                Heard::Text(_, text) => heard += text.len() as u64,
                Heard::LeftOut(bytes) => gone += bytes,
            }
        }
        assert_eq!(heard + gone, 2_000_000);
        assert!(heard <= KEPT as u64 && gone > 0, "{heard} {gone}");
    }
}
