//! How a long build tells its caller what it is doing.

use pillion_catalogue::{Context, Part};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;

/// Listens to a build. This library never prints; a command line draws a bar from this.
pub trait Progress: Send + Sync {
    /// A new step begins, such as `making the environment`.
    fn step(&self, message: &str);

    /// A tool that runs in this step wrote a line.
    fn line(&self, _text: &str) {}
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _message: &str) {}
}

/// Tells whoever asked for something that needs the build.
#[derive(Debug, Clone)]
pub struct ToCaller(Option<mpsc::Sender<Part>>);

impl ToCaller {
    /// Tells the caller of this request, if he listens.
    pub fn of<S>(cx: &Context<S>) -> Self {
        Self(cx.request().parts.clone())
    }
}

impl Progress for ToCaller {
    fn step(&self, message: &str) {
        let Some(parts) = &self.0 else {
            return;
        };
        if let Ok(news) = to_raw_value(&json!({ "message": message })) {
            // Who does not keep up with it misses a step; nothing depends on it.
            let _ = parts.try_send(Part::Progress(news));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_reach_a_caller_who_listens_and_wait_for_nobody() {
        let (parts, mut told) = mpsc::channel(1);
        let progress = ToCaller(Some(parts));
        progress.step("one \"step\"");
        progress.step("another, for which there is no room");
        let Some(Part::Progress(news)) = told.blocking_recv() else {
            panic!("nothing was told");
        };
        assert_eq!(news.get(), r#"{"message":"one \"step\""}"#);
        assert!(told.try_recv().is_err());
        ToCaller(None).step("for nobody");
    }
}
