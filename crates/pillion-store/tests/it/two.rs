//! Other processes: this same test program, told to write.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use pillion_store::{JobEnd, Store, StoreOptions};

use crate::{json, new_job};

/// Tells the child where the store is, and how many jobs each of its tasks makes.
const PATH: &str = "PILLION_STORE_TEST_PATH";
const JOBS: &str = "PILLION_STORE_TEST_JOBS";

/// The child writes with this many tasks at a time.
pub(crate) const TASKS: usize = 4;

/// A process that writes jobs, and says each thing that it was answered.
pub(crate) struct Writer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    pub(crate) fn start(path: &Path, jobs: usize) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test kills this process without its knowledge"
        )]
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "two::write_if_told", "--nocapture"])
            .env(PATH, path)
            .env(JOBS, jobs.to_string())
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next thing that it was answered: a status and a job.
    pub(crate) fn answer(&mut self) -> Option<(String, String)> {
        loop {
            let line = self.lines.next()?.unwrap();
            let Some(said) = line.split("answered ").nth(1) else {
                continue;
            };
            // The last line may have been cut by the kill.
            let mut words = said.split(' ');
            if let (Some(status), Some(id), Some(".")) = (words.next(), words.next(), words.next())
            {
                return Some((status.into(), id.into()));
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn wait(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the child runs; of itself the test has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_if_told() {
    let Ok(path) = std::env::var(PATH) else {
        return;
    };
    let jobs: usize = std::env::var(JOBS).unwrap().parse().unwrap();
    let store = Store::open(Path::new(&path), StoreOptions::default()).await;
    let store = std::sync::Arc::new(store.unwrap());
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..jobs {
                    write(&store).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

pub(crate) async fn write(store: &Store) {
    let job = store.create(new_job(Some("child"))).await.unwrap();
    println!("answered queued {} .", job.id);
    store.start(&job.id).await.unwrap();
    println!("answered running {} .", job.id);
    let result = Some(json(&format!("{{\"for\":\"{}\"}}", job.id)));
    store
        .finish(&job.id, JobEnd::Succeeded, result)
        .await
        .unwrap();
    println!("answered succeeded {} .", job.id);
    assert_eq!(store.lose().await.unwrap(), [], "the living lose nothing");
}
