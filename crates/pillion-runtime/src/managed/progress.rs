//! How long work tells its caller how far it is.

use std::sync::{Arc, Mutex};

use pillion_catalogue::{Context, Part};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;

/// Listens to long work. This library never prints; a command line draws a bar from this.
pub trait ProgressListener: Send + Sync {
    /// A new step begins, such as `making the environment`.
    fn step(&self, message: &str);

    /// So much of the step is done; of how much, if that is known.
    fn bytes(&self, _done: u64, _total: Option<u64>) {}

    /// A tool that runs in this step wrote a line.
    fn line(&self, _text: &str) {}
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl ProgressListener for Silent {
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
        Self::new(cx.request().parts.clone())
    }

    fn new(parts: Option<mpsc::Sender<Part>>) -> Self {
        Self {
            parts,
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

impl ProgressListener for ToCaller {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_reach_a_caller_who_listens_and_wait_for_nobody() {
        let (parts, mut told) = mpsc::channel(1);
        let progress = ToCaller::new(Some(parts));
        progress.step("one \"step\"");
        progress.step("another, for which there is no room");
        let Some(Part::Progress(news)) = told.blocking_recv() else {
            panic!("nothing was told");
        };
        assert_eq!(news.get(), r#"{"message":"one \"step\""}"#);
        assert!(told.try_recv().is_err());
        ToCaller::new(None).step("for nobody");
    }

    #[test]
    fn each_hundredth_is_told_once() {
        let (parts, mut told) = mpsc::channel(300);
        let progress = ToCaller::new(Some(parts));
        progress.step("unpacking");
        for done in 0..=1000 {
            progress.bytes(done, Some(1000));
        }
        // What is no part of something known moves no bar.
        progress.bytes(7, None);
        drop(progress);
        let mut count = 0;
        while let Some(Part::Progress(_)) = told.blocking_recv() {
            count += 1;
        }
        assert_eq!(count, 1 + 100);
    }
}
