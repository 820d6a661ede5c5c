//! The store with real files, processes and threads.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's helper fails its test by a panic, and tells its parent by a line"
)]

mod faults;
mod jobs;
mod model;
mod opening;
mod outbox;
mod outbox_faults;
mod outbox_model;
mod runs;
mod two;

use std::path::{Path, PathBuf};

use pillion_store::{JobFilter, NewJob, Store, StoreOptions};
use serde_json::value::RawValue;
use tempfile::TempDir;

/// A folder of its own, and the path of a store in it.
fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("store/pillion.db");
    (temp, path)
}

async fn open(path: &Path) -> Store {
    Store::open(path, StoreOptions::default()).await.unwrap()
}

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn new_job(session: Option<&str>) -> NewJob {
    NewJob {
        session: session.map(str::to_owned),
        lane: "user".into(),
        label: "print(1)".into(),
        request: json(r#"{"code": "print(1)"}"#),
    }
}

async fn total(store: &Store) -> u64 {
    store.list(JobFilter::default()).await.unwrap().total
}
