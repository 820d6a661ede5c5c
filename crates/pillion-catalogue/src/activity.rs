//! Who works right now. Idle means: nobody holds a lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Counts running work and knows when the last of it ended.
#[derive(Debug, Clone)]
pub struct Activity {
    running: Arc<AtomicUsize>,
    last: Arc<watch::Sender<Instant>>,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            running: Arc::default(),
            last: Arc::new(watch::Sender::new(Instant::now())),
        }
    }
}

/// Held while something works.
#[derive(Debug)]
pub struct Lease {
    activity: Activity,
}

impl Activity {
    /// Say that work begins; it lasts until the lease is dropped.
    pub fn lease(&self) -> Lease {
        self.running.fetch_add(1, Ordering::Relaxed);
        Lease {
            activity: self.clone(),
        }
    }

    /// How many leases are held.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// How long nothing has run; `None` while something does.
    pub fn idle_for(&self) -> Option<Duration> {
        (self.running() == 0).then(|| self.last.borrow().elapsed())
    }

    /// Returns once nothing has run for `span`. An exact timer, not a poll.
    pub async fn idle(&self, span: Duration) {
        let mut ended = self.last.subscribe();
        loop {
            let last = *ended.borrow_and_update();
            if self.running() == 0 && last.elapsed() >= span {
                return;
            }
            let due = tokio::time::sleep_until((last + span).into());
            tokio::select! {
                // Work that runs now will move `last` when it ends.
                () = due, if self.running() == 0 => {}
                _ = ended.changed() => {}
            }
        }
    }

    /// Returns once nothing runs.
    pub async fn quiet(&self) {
        let mut ended = self.last.subscribe();
        while self.running() > 0 {
            let _ = ended.changed().await;
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.activity.running.fetch_sub(1, Ordering::Relaxed);
        self.activity.last.send_replace(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_keeps_it_busy_and_its_end_starts_the_clock() {
        let activity = Activity::default();
        let lease = activity.lease();
        assert_eq!(activity.idle_for(), None);
        let waiting = tokio::spawn({
            let activity = activity.clone();
            async move { activity.idle(Duration::from_millis(1)).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "idle while a lease is held");
        drop(lease);
        waiting.await.unwrap();
        assert!(activity.idle_for().is_some());
        activity.quiet().await;
    }
}
