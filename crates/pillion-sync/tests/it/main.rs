//! Deliveries to a real HTTP server.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helper fails its test by a panic"
)]

mod arriving;
mod failing;
mod life;
mod secrecy;
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pillion_process::Secret;
use pillion_store::{StoreHandle, StoreOptions};
use pillion_sync::{Backend, Delivery, DeliveryKind, SessionLink, Sync, Timing};
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use server::Server;

/// Machines are busy: what does not happen within this time does not happen.
const DEADLINE: Duration = Duration::from_secs(60);

/// The text that must be nowhere.
const TOKEN: &str = "tok-5up3r-s3cr3t-0f-th3-l34rn3r";

/// Short waits, so that a test sees several tries.
const QUICK: Timing = Timing {
    first: Duration::from_millis(5),
    longest: Duration::from_millis(50),
    connect: DEADLINE,
    request: DEADLINE,
};

/// A store of its own, and deliveries by way of it.
struct Fixture {
    sync: Sync,
    store: StoreHandle,
    path: PathBuf,
    _temp: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::with_timing(QUICK)
    }

    fn with_timing(timing: Timing) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("store/jobs.sqlite");
        let store = store(&path);
        let sync = Sync::with_timing(store.clone(), &CancellationToken::new(), timing);
        Self {
            sync,
            store,
            path,
            _temp: temp,
        }
    }

    async fn enqueue(&self, session: &str, deliveries: &[(DeliveryKind, u32)]) {
        let deliveries = deliveries.iter().map(|(kind, n)| delivery(*kind, *n));
        self.sync
            .enqueue(session, deliveries.collect())
            .await
            .unwrap();
    }

    fn attach(&self, session: &str, server: &Server) {
        self.sync.attach(session, &backend(&server.url)).unwrap();
    }

    fn link(&self, session: &str) -> Option<SessionLink> {
        let status = self.sync.status();
        let mut sessions = status.sessions.into_iter();
        let found = sessions.find(|found| found.session == session);
        found.map(|found| found.link)
    }

    async fn until_waiting(&self, number: u64) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let counts = self.sync.counts(None).await.unwrap();
            if counts.waiting == number {
                return;
            }
            assert!(Instant::now() < deadline, "{counts:?}, not {number}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn store(path: &Path) -> StoreHandle {
    let path = path.to_owned();
    StoreHandle::new(move || path.clone(), StoreOptions::default())
}

fn backend(url: &str) -> Backend {
    Backend {
        url: url.into(),
        token: Some(Secret::new(TOKEN.into())),
        chapter: "first".into(),
        course_id: Some("rust".into()),
    }
}

fn delivery(kind: DeliveryKind, number: u32) -> Delivery {
    let body = RawValue::from_string(format!("{{\"{kind}\":{number}}}")).unwrap();
    Delivery { kind, number, body }
}

/// Wait until something is so.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
