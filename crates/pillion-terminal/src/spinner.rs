//! What is being done, as a spinner on terminals and as lines elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pillion_runtime::managed::ProgressListener;

use crate::output;

/// What is being done, as a spinner on terminals and as lines elsewhere.
#[derive(Debug)]
pub struct Spinner(pub ProgressBar);

impl Spinner {
    /// One that turns already.
    pub fn start() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }
}

impl ProgressListener for Spinner {
    fn step(&self, message: &str) {
        if self.0.is_hidden() {
            output::note(message);
        }
        self.0.set_message(message.to_owned());
    }
}
