//! What a cell that fails does to others. A kernel turns away the cells that wait behind it
//! (`aborted`), and goes on with that for a moment after it has replied. Who asks in that moment
//! has seen the failure and means to go on: such a cell is asked again until it runs, and those
//! that come meanwhile are asked after it, so that they keep their order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::received::{Channel, Heard};

/// How long it is waited before a cell that was turned away is asked again.
pub(crate) const ASK_AGAIN: Duration = Duration::from_millis(5);
/// How long a cell may be turned away before it is given up. A kernel does that for as long as
/// its `stop_on_error_timeout`, which is nothing unless somebody has set it.
pub(crate) const TURNED_AWAY: Duration = Duration::from_secs(30);

/// The failures of a kernel's cells, whoever asked for them.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// How many have been heard of.
    heard: AtomicU64,
    /// How many had been heard of when a cell was asked that did run.
    over: AtomicU64,
    /// Who asks next.
    next: Arc<Mutex<()>>,
}

/// A cell's turn to be asked.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The failures before it.
    before: u64,
    /// Held while the kernel may still turn cells away.
    first: Option<OwnedMutexGuard<()>>,
}

impl Failures {
    /// Take note of what a kernel says.
    pub(crate) fn note(&self, heard: &Heard) {
        let failed = match (heard.channel, heard.kind()) {
            (Channel::Shell, "execute_reply") => heard.content()["status"] == "error",
            // The replies to others do not come to us.
            (Channel::Iopub, "error") => heard.message.parent_type == "execute_request",
            _ => false,
        };
        if failed {
            self.heard.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wait for one's turn, behind those that came before.
    pub(crate) async fn turn(&self) -> Turn {
        let first = Arc::clone(&self.next).lock_owned().await;
        Turn {
            before: self.heard.load(Ordering::Relaxed),
            first: Some(first),
        }
    }

    /// The cell has been asked. The next may be, unless the kernel may still turn this one away.
    pub(crate) fn asked(&self, turn: &mut Turn) {
        if self.over.load(Ordering::Relaxed) >= turn.before {
            turn.first = None;
        }
    }

    /// The cell runs, so the kernel turns nobody away any more.
    pub(crate) fn runs(&self, turn: &mut Turn) {
        if turn.first.take().is_some() {
            self.over.fetch_max(turn.before, Ordering::Relaxed);
        }
    }

    /// Whether no cell has failed since this one was asked.
    pub(crate) fn none_since(&self, turn: &Turn) -> bool {
        self.heard.load(Ordering::Relaxed) == turn.before
    }
}
