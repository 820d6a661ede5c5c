//! The history of a session.

use pillion_store::{MAX_RUN_BYTES, NewRun, Pruned, Retention, Store, StoreError, StoreOptions};

use crate::{json, new_job, open, place, total};

fn run(session: &str, number: usize) -> NewRun {
    NewRun {
        session: session.into(),
        ran: json(&format!("{{\"code\":\"{number}\"}}")),
        outcome: "ok".into(),
        result: Some(json(&number.to_string())),
    }
}

async fn results(store: &Store, session: &str, limit: usize) -> Vec<String> {
    let runs = store.runs(session, limit).await.unwrap();
    runs.iter()
        .map(|run| run.result.as_ref().unwrap().get().to_owned())
        .collect()
}

#[tokio::test]
async fn the_last_ten_runs_of_each_session_are_kept() {
    let (_temp, path) = place();
    let store = open(&path).await;
    store.record_run(run("other", 99)).await.unwrap();
    for number in 0..13 {
        store.record_run(run("one", number)).await.unwrap();
    }
    assert_eq!(results(&store, "one", 100).await.len(), 10);
    assert_eq!(results(&store, "one", 2).await, ["12", "11"]);
    assert_eq!(results(&store, "other", 100).await, ["99"]);
    let last = store.runs("one", 1).await.unwrap().remove(0);
    assert_eq!((last.outcome.as_str(), last.at.len()), ("ok", 24));
    assert_eq!(last.ran.get(), r#"{"code":"12"}"#);
}

#[tokio::test]
async fn all_sessions_together_are_bounded() {
    let (_temp, path) = place();
    let retention = Retention {
        run_bytes: 4 * 1100,
        ..Retention::default()
    };
    let options = StoreOptions {
        retention,
        ..StoreOptions::default()
    };
    let store = Store::open(&path, options).await.unwrap();
    for number in 0..9 {
        let session = number.to_string();
        store.record_run(run(&session, number)).await.unwrap();
    }
    assert!(results(&store, "4", 9).await.is_empty());
    assert_eq!(results(&store, "5", 9).await, ["5"]);
    store.close().await;
    let retention = Retention {
        runs: 1,
        run_bytes: 0,
        ..retention
    };
    let options = StoreOptions {
        retention,
        ..StoreOptions::default()
    };
    let store = Store::open(&path, options).await.unwrap();
    assert_eq!(store.prune().await.unwrap(), Pruned { jobs: 0, runs: 3 });
    assert_eq!(results(&store, "8", 9).await, ["8"], "the last one stays");
}

#[tokio::test]
async fn what_is_too_big_is_refused() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let large = NewRun {
        result: Some(json(&format!("\"{}\"", "x".repeat(MAX_RUN_BYTES)))),
        ..run("one", 1)
    };
    let error = store.record_run(large).await.unwrap_err();
    assert!(matches!(error, StoreError::TooBig { .. }), "{error}");
}

#[tokio::test]
async fn a_session_that_is_forgotten_leaves_only_what_runs() {
    let (_temp, path) = place();
    let store = open(&path).await;
    for session in ["gone", "stays"] {
        store.record_run(run(session, 1)).await.unwrap();
        let job = store.create(new_job(Some(session))).await.unwrap();
        store
            .finish(&job.id, pillion_store::JobEnd::Cancelled, None)
            .await
            .unwrap();
    }
    let running = store.create(new_job(Some("gone"))).await.unwrap();
    let pruned = store.forget("gone").await.unwrap();
    assert_eq!(pruned, Pruned { jobs: 1, runs: 1 });
    assert_eq!(total(&store).await, 2);
    store.get(&running.id).await.unwrap();
    assert_eq!(results(&store, "stays", 9).await, ["1"]);
}
