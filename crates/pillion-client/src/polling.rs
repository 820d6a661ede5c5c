//! Waiting for what comes soon.

use std::time::Duration;

use tokio::time::sleep;

/// Short waits that grow from 1 ms to 20 ms.
pub(crate) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(Duration::from_millis(1))
    }
}

impl Pauses {
    pub(crate) async fn next(&mut self) {
        sleep(self.0).await;
        self.0 = (self.0 * 2).min(Duration::from_millis(20));
    }
}
