//! How long work tells its caller how far it is.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use pillion_catalogue::{Context, Part};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;

/// So many bytes pass between two pieces of news.
const STEP: u64 = 1 << 20;

/// Listens to long work. This library never prints; a command line draws a bar from this.
pub trait Progress: Send + Sync {
    /// A new step begins, such as `unpacking`.
    fn step(&self, message: &str);

    /// So much of the step is done; of how much, if that is known.
    fn bytes(&self, _done: u64, _total: Option<u64>) {}

    /// A tool that runs in this step wrote a line.
    fn line(&self, _text: &str) {}
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _message: &str) {}
}

/// Tells whoever asked: each step, and each hundredth part of it.
#[derive(Debug, Clone)]
pub struct ToCaller {
    parts: Option<mpsc::Sender<Part>>,
    /// The step, and how many hundredths of it were told.
    told: Arc<Mutex<(String, u64)>>,
}

impl ToCaller {
    /// Tells the caller of this request, if he listens.
    pub fn of<S>(cx: &Context<S>) -> Self {
        Self {
            parts: cx.request().parts.clone(),
            told: Arc::default(),
        }
    }

    fn tell(&self, news: &serde_json::Value) {
        let Some(parts) = &self.parts else {
            return;
        };
        if let Ok(news) = to_raw_value(news) {
            // Who does not keep up with it misses a piece; nothing depends on it.
            let _ = parts.try_send(Part::Progress(news));
        }
    }
}

impl Progress for ToCaller {
    fn step(&self, message: &str) {
        if let Ok(mut told) = self.told.lock() {
            *told = (message.to_owned(), 0);
        }
        self.tell(&json!({ "message": message }));
    }

    fn bytes(&self, done: u64, total: Option<u64>) {
        let (Ok(mut told), Some(total)) = (self.told.lock(), total) else {
            return;
        };
        let part = done.saturating_mul(100) / total.max(1);
        if part > told.1 {
            told.1 = part;
            let news = json!({
                "message": told.0, "value": done, "total": total, "unit": "bytes",
            });
            self.tell(&news);
        }
    }
}

/// A reader that tells how much went through it.
pub struct Counting<'a, R> {
    inner: R,
    progress: &'a dyn Progress,
    done: u64,
    told: u64,
    total: Option<u64>,
}

impl<'a, R> Counting<'a, R> {
    /// Tell of what is read from `inner`.
    pub fn new(inner: R, total: Option<u64>, progress: &'a dyn Progress) -> Self {
        Self {
            inner,
            progress,
            done: 0,
            told: 0,
            total,
        }
    }
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done += count as u64;
        if self.done - self.told >= STEP {
            self.told = self.done;
            self.progress.bytes(self.done, self.total);
        }
        Ok(count)
    }
}

impl<R> std::fmt::Debug for Counting<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Counting({} of {:?})", self.done, self.total)
    }
}
