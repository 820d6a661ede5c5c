//! A process that enqueues and settles is killed: what it was answered is so, and a batch is
//! there whole or not at all.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, Stdio};

use pillion_store::{DeliveryKind, Store, StoreOptions};

use crate::outbox::delivery;
use crate::{open, place};

/// Tells the child where the store is, and the number of its first turn.
const PATH: &str = "PILLION_STORE_TEST_OUTBOX";
const FIRST: &str = "PILLION_STORE_TEST_OUTBOX_FIRST";

/// This many turns are enqueued at once.
const BATCH: u32 = 3;

struct Sender {
    child: Child,
    lines: Lines<BufReader<std::process::ChildStdout>>,
}

impl Sender {
    fn start(path: &Path, first: u32) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test kills this process without its knowledge"
        )]
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "outbox_faults::send_if_told", "--nocapture"])
            .env(PATH, path)
            .env(FIRST, first.to_string())
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next thing that it was answered: a word and the number of a turn.
    fn answer(&mut self) -> Option<(String, u32)> {
        loop {
            let line = self.lines.next()?.unwrap();
            let Some(said) = line.split("answered ").nth(1) else {
                continue;
            };
            // The last line may have been cut by the kill.
            let words: Vec<&str> = said.split(' ').collect();
            if let [word, number, "."] = words[..] {
                return Some((word.to_owned(), number.parse().unwrap()));
            }
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn what_was_enqueued_or_settled_survives_a_kill() {
    let (_temp, path) = place();
    let (mut first, mut settled_last) = (0, None);
    for answers in [1, 2, 5, 9, 20, 41, 63] {
        let mut sender = Sender::start(&path, first);
        let mut enqueued_last = None;
        let mut heard = 0;
        while let Some((word, number)) = sender.answer() {
            match word.as_str() {
                "enqueued" => enqueued_last = Some(number),
                _ => settled_last = Some(number),
            }
            heard += 1;
            if heard == answers {
                sender.child.kill().unwrap();
            }
        }
        assert!(heard >= answers, "the sender goes on until it is killed");

        let store = open(&path).await;
        assert_eq!(store.set_aside(), None);
        let counts = store.outbox_counts(None).await.unwrap();
        let known = u32::try_from(counts.waiting + counts.settled).unwrap();
        assert_eq!(known % BATCH, 0, "a batch is there whole or not at all");
        assert!(enqueued_last.is_none_or(|last| last < known));
        let next = store.next_delivery("s").await.unwrap();
        // They are settled in order, so all before the next one are.
        let next = next.map_or(known, |next| next.number);
        assert_eq!(u64::from(next), counts.settled);
        assert!(settled_last.is_none_or(|last| last < next));
        first = known;
        store.close().await;
    }
    assert!(first > 30, "{first}");
}

/// What the child runs; of itself the test has nothing to do.
#[tokio::test]
async fn send_if_told() {
    let Ok(path) = std::env::var(PATH) else {
        return;
    };
    let mut number: u32 = std::env::var(FIRST).unwrap().parse().unwrap();
    let store = Store::open(Path::new(&path), StoreOptions::default()).await;
    let store = store.unwrap();
    loop {
        let batch = (number..number + BATCH).map(|n| delivery(DeliveryKind::Turn, n));
        store.enqueue("s", batch.collect()).await.unwrap();
        number += BATCH;
        println!("answered enqueued {} .", number - 1);
        // One fewer than came, so that something always waits.
        for _ in 1..BATCH {
            let next = store.next_delivery("s").await.unwrap().unwrap();
            assert!(store.settle_delivery(next.id).await.unwrap());
            println!("answered settled {} .", next.number);
        }
    }
}
