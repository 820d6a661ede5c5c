//! The thread and its queue: what callers get when it is full, fails or ends.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use super::*;

async fn thread(path: &Path, queue: usize) -> ConnectionThread {
    let (thread, aside) = ConnectionThread::start(path, Use::Writing, queue, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(aside, None);
    thread
}

/// Keep a thread busy until the sender is dropped.
fn keep_busy(
    thread: &ConnectionThread,
) -> (impl Future<Output = ()>, std::sync::mpsc::SyncSender<()>) {
    let (go_on, wait) = sync_channel::<()>(0);
    let (begin, begun) = oneshot::channel();
    let busy = thread.ask(move |_| {
        let _ = begin.send(());
        let _ = wait.recv();
        Ok(())
    });
    // The queue gets it at the first poll.
    let mut busy = Box::pin(busy);
    assert!(poll_once(busy.as_mut()).is_none());
    let wait = async move {
        begun.await.unwrap();
    };
    (wait, go_on)
}

fn poll_once<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

fn insert(word: &'static str) -> impl FnOnce(&Transaction) -> Result<(), StoreError> + Send {
    move |transaction| {
        transaction
            .sql(|c| {
                c.execute(
                    "INSERT INTO runs VALUES (NULL, ?1, '', '', 0, '', '')",
                    [word],
                )
            })
            .map(drop)
    }
}

fn words(transaction: &Transaction<'_>) -> Result<Vec<String>, StoreError> {
    transaction.sql(|connection| {
        connection
            .prepare("SELECT session FROM runs ORDER BY seq")?
            .query_map([], |row| row.get(0))?
            .collect()
    })
}

#[tokio::test]
async fn a_full_queue_is_told_and_what_is_in_it_is_done() {
    let temp = tempfile::tempdir().unwrap();
    let thread = thread(&temp.path().join("s/db"), 2).await;
    let (begun, go_on) = keep_busy(&thread);
    begun.await;
    let mut first = Box::pin(thread.ask(insert("first")));
    let mut second = Box::pin(thread.ask(insert("second")));
    assert!(poll_once(first.as_mut()).is_none());
    assert!(poll_once(second.as_mut()).is_none());
    let refused = thread.ask(insert("third")).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Busy { waiting: 2 }),
        "{refused}"
    );
    drop(go_on);
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(thread.ask(words).await.unwrap(), ["first", "second"]);
}

#[tokio::test]
async fn a_caller_that_went_away_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("s/db");
    let thread = thread(&path, 4).await;
    let (begun, go_on) = keep_busy(&thread);
    begun.await;
    let mut gone = Box::pin(thread.ask(insert("gone")));
    assert!(poll_once(gone.as_mut()).is_none());
    drop(gone);
    drop(go_on);
    // What is queued is done even if the store is dropped at once.
    drop(thread);
    let thread = self::thread(&path, 4).await;
    assert_eq!(thread.ask(words).await.unwrap(), ["gone"]);
}

#[tokio::test]
async fn one_that_fails_leaves_the_others_of_its_transaction() {
    let temp = tempfile::tempdir().unwrap();
    let thread = thread(&temp.path().join("s/db"), 8).await;
    let (begun, go_on) = keep_busy(&thread);
    begun.await;
    let before = thread.ask(insert("before"));
    let failing = thread.ask(|transaction| {
        insert("never")(transaction)?;
        Err::<(), _>(StoreError::NoJob { id: "x".into() })
    });
    let wrong = thread
        .ask(|transaction| transaction.sql(|c| c.execute("INSERT INTO nowhere VALUES (1)", [])));
    let after = thread.ask(insert("after"));
    let (before, failing, wrong, after, ()) = tokio::join!(before, failing, wrong, after, async {
        drop(go_on);
    });
    before.unwrap();
    after.unwrap();
    assert!(matches!(failing, Err(StoreError::NoJob { .. })));
    assert!(matches!(wrong, Err(StoreError::Sqlite { .. })));
    assert_eq!(thread.ask(words).await.unwrap(), ["before", "after"]);
}

#[tokio::test]
async fn when_a_transaction_is_gone_nobody_is_told_that_it_was_kept() {
    let temp = tempfile::tempdir().unwrap();
    let thread = thread(&temp.path().join("s/db"), 8).await;
    let (begun, go_on) = keep_busy(&thread);
    begun.await;
    let before = thread.ask(insert("before"));
    // As SQLite does by itself after an error of the disk.
    let broken = thread.ask(|transaction| {
        transaction.sql(|c| c.execute_batch("ROLLBACK"))?;
        Err::<(), _>(StoreError::DiskFull { path: "db".into() })
    });
    let after = thread.ask(insert("after"));
    let (before, broken, after, ()) = tokio::join!(before, broken, after, async {
        drop(go_on);
    });
    assert!(matches!(before, Err(StoreError::DiskFull { .. })));
    assert!(matches!(broken, Err(StoreError::DiskFull { .. })));
    after.unwrap();
    assert_eq!(thread.ask(words).await.unwrap(), ["after"]);
}

#[tokio::test]
async fn a_full_disk_is_told_apart_and_passes() {
    let temp = tempfile::tempdir().unwrap();
    let thread = thread(&temp.path().join("s/db"), 8).await;
    let pages = |number: u32| {
        move |transaction: &Transaction| {
            transaction
                .sql(|c| c.query_row(&format!("PRAGMA max_page_count = {number}"), [], |_| Ok(())))
        }
    };
    let large = || {
        thread.ask(|transaction| {
            let text = "x".repeat(1 << 20);
            transaction.sql(|c| {
                c.execute(
                    "INSERT INTO runs VALUES (NULL, 's', '', '', 0, '', ?1)",
                    [text],
                )
            })
        })
    };
    thread.ask(pages(20)).await.unwrap();
    let error = large().await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert!(error.hint().contains("make room"), "{}", error.hint());
    thread.ask(insert("small")).await.unwrap();
    thread.ask(pages(100_000)).await.unwrap();
    large().await.unwrap();
    assert_eq!(thread.ask(words).await.unwrap(), ["small", "s"]);
}

#[tokio::test]
async fn a_thread_that_died_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let thread = thread(&temp.path().join("s/db"), 8).await;
    let died = thread.ask(|_| -> Result<(), _> { panic!("as a bug would") });
    assert!(matches!(died.await, Err(StoreError::Closed)));
    assert!(matches!(thread.ask(words).await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn every_commit_is_synced_to_the_disk() {
    let temp = tempfile::tempdir().unwrap();
    let thread = thread(&temp.path().join("s/db"), 8).await;
    let pragma = |name: &'static str| {
        thread.ask(move |transaction| {
            let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
            transaction.sql(|c| c.query_row(&sql, [], |row| row.get::<_, String>(0)))
        })
    };
    assert_eq!(pragma("journal_mode").await.unwrap(), "wal");
    assert_eq!(pragma("synchronous").await.unwrap(), "2", "FULL");
    assert_eq!(pragma("fullfsync").await.unwrap(), "1");
    assert_eq!(pragma("auto_vacuum").await.unwrap(), "2", "INCREMENTAL");
}
