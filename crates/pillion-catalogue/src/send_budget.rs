//! What a reader has not taken yet, and how much of that there may be: of one connection, and of all together.
//!
//! An answer cannot be refused once it is made, so it is the making that waits: a call of a
//! connection whose answers pile up is not begun. What waits is counted in bytes, from the
//! moment an answer is encoded until its last byte is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// Bytes that may wait for one reader; then nothing more is begun for it.
const OWN: usize = 16 << 20;
/// Bytes that may wait for all readers. Above it, only a reader that has taken everything is
/// served; above twice as much nobody is, until one reads or is given up.
const ALL: usize = 512 << 20;
/// Calls of one reader that somebody else works on at the same time, who does not know how much
/// waits here.
const TURNS: usize = 16;
/// What an entry costs besides its bytes.
const ENTRY: usize = 512;

static WAITING: AtomicUsize = AtomicUsize::new(0);
static TAKEN: Notify = Notify::const_new();

/// What one connection may have waiting. The default is for callers that are no connection, and
/// have room always.
#[derive(Debug, Clone, Default)]
pub struct SendBudget(Option<Arc<Own>>);

#[derive(Debug)]
struct Own {
    bytes: AtomicUsize,
    turns: Semaphore,
}

/// Bytes that wait for their reader. Dropping it says that they were taken.
#[derive(Debug)]
pub struct HeldBytes {
    own: Option<Arc<Own>>,
    bytes: usize,
}

impl SendBudget {
    /// What a connection may have waiting.
    pub fn new() -> Self {
        Self(Some(Arc::new(Own {
            bytes: AtomicUsize::new(0),
            turns: Semaphore::new(TURNS),
        })))
    }

    /// So many bytes wait from now on.
    pub fn hold(&self, bytes: usize) -> HeldBytes {
        let held = HeldBytes {
            own: self.0.clone(),
            bytes: bytes.saturating_add(ENTRY),
        };
        if let Some(own) = &held.own {
            own.bytes.fetch_add(held.bytes, Ordering::Relaxed);
            WAITING.fetch_add(held.bytes, Ordering::Relaxed);
        }
        held
    }

    /// Whether something may be begun whose answer will have to wait.
    pub fn is_free(&self) -> bool {
        let Some(own) = &self.0 else { return true };
        let own = own.bytes.load(Ordering::Relaxed);
        let all = WAITING.load(Ordering::Relaxed);
        own < OWN && (all < ALL || (own == 0 && all < 2 * ALL))
    }

    /// Wait until there is room.
    pub async fn free(&self) {
        loop {
            let taken = TAKEN.notified();
            tokio::pin!(taken);
            // From here on nothing is missed.
            taken.as_mut().enable();
            if self.is_free() {
                return;
            }
            taken.await;
        }
    }

    /// Wait for a turn with somebody else, and for room then.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let turn = self.0.as_ref()?.turns.acquire().await.ok();
        self.free().await;
        turn
    }

    /// Whether readers that take nothing cost others their room.
    pub fn is_scarce() -> bool {
        WAITING.load(Ordering::Relaxed) >= ALL
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            let own = own.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
            let all = WAITING.fetch_sub(self.bytes, Ordering::Relaxed);
            if own >= OWN || all >= ALL {
                TAKEN.notify_waiters();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_waits_for_one_reader_stops_its_calls_and_no_others() {
        let (slow, quick) = (SendBudget::new(), SendBudget::new());
        let first = slow.hold(OWN - ENTRY - 1);
        assert!(slow.is_free(), "up to the limit");
        let second = slow.hold(1);
        assert!(!slow.is_free() && quick.is_free() && SendBudget::default().is_free());
        let waiting = tokio::spawn({
            let slow = slow.clone();
            async move { slow.free().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap();
        drop(second);
        assert_eq!(slow.0.unwrap().bytes.load(Ordering::Relaxed), 0);
    }
}
