//! The outbox: order, keys, what supersedes what, and its limits.

use std::path::Path;
use std::time::Duration;

use pillion_store::{
    Delivery, DeliveryKind, Enqueued, MAX_BODY_BYTES, MAX_DELAY, MAX_ENQUEUED, OutboxLimits, Store,
    StoreError, StoreOptions,
};
use rusqlite::Connection;

use crate::{json, new_job, open, place, total};

const HOUR: Duration = Duration::from_secs(60 * 60);

pub(crate) fn delivery(kind: DeliveryKind, number: u32) -> Delivery {
    let body = json(&format!("{{\"{kind}\":{number}}}"));
    Delivery { kind, number, body }
}

fn turns(numbers: std::ops::Range<u32>) -> Vec<Delivery> {
    numbers.map(|n| delivery(DeliveryKind::Turn, n)).collect()
}

/// The kind and number of the delivery whose turn it is.
async fn next(store: &Store, session: &str) -> Option<(DeliveryKind, u32)> {
    let found = store.next_delivery(session).await.unwrap();
    found.map(|found| (found.kind, found.number))
}

/// Settle all that waits, and say what it was.
async fn drain(store: &Store, session: &str) -> Vec<(DeliveryKind, u32)> {
    let mut all = Vec::new();
    while let Some(found) = store.next_delivery(session).await.unwrap() {
        assert_eq!(
            found.body.get(),
            delivery(found.kind, found.number).body.get()
        );
        assert!(store.settle_delivery(found.id).await.unwrap());
        all.push((found.kind, found.number));
    }
    all
}

#[tokio::test]
async fn deliveries_leave_in_the_order_in_which_they_came() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let mixed = vec![
        delivery(DeliveryKind::Turn, 7),
        delivery(DeliveryKind::Memory, 7),
        delivery(DeliveryKind::Turn, 3),
        delivery(DeliveryKind::Report, 7),
    ];
    let told = store.enqueue("a", mixed).await.unwrap();
    assert_eq!((told.added, told.known, told.superseded), (4, 0, 0));
    store.enqueue("b", turns(0..2)).await.unwrap();
    let expected = [
        (DeliveryKind::Turn, 7),
        (DeliveryKind::Memory, 7),
        (DeliveryKind::Turn, 3),
        (DeliveryKind::Report, 7),
    ];
    assert_eq!(drain(&store, "a").await, expected);
    assert_eq!(
        drain(&store, "b").await,
        [(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)]
    );
    assert_eq!(next(&store, "nobody").await, None);
}

#[tokio::test]
async fn one_that_is_put_off_holds_up_its_own_session_only_and_is_remembered() {
    let (_temp, path) = place();
    let store = open(&path).await;
    store.enqueue("a", turns(0..2)).await.unwrap();
    store.enqueue("b", turns(0..1)).await.unwrap();
    let first = store.next_delivery("a").await.unwrap().unwrap();
    assert_eq!((first.attempts, first.wait), (0, Duration::ZERO));
    for attempts in 1..=3 {
        let told = store.put_off_delivery(first.id, HOUR, "it is down").await;
        assert_eq!(told.unwrap(), Some(attempts));
    }
    store.close().await;

    let store = open(&path).await;
    let held = store.next_delivery("a").await.unwrap().unwrap();
    assert_eq!((held.id, held.number, held.attempts), (first.id, 0, 3));
    assert!(held.wait > Duration::ZERO && held.wait <= HOUR, "{held:?}");
    assert_eq!(held.reason.as_deref(), Some("it is down"));
    let other = store.next_delivery("b").await.unwrap().unwrap();
    assert_eq!(other.wait, Duration::ZERO);
    let counts = store.outbox_counts(None).await.unwrap();
    assert_eq!((counts.waiting, counts.put_off), (3, 1));
    assert_eq!(store.outbox_counts(Some("b")).await.unwrap().put_off, 0);
    assert_eq!(drain(&store, "a").await.len(), 2);
}

#[tokio::test]
async fn nobody_is_put_off_for_ever() {
    let (_temp, path) = place();
    let store = open(&path).await;
    store.enqueue("a", turns(0..1)).await.unwrap();
    let id = store.next_delivery("a").await.unwrap().unwrap().id;
    store
        .put_off_delivery(id, Duration::MAX, "?")
        .await
        .unwrap();
    let held = store.next_delivery("a").await.unwrap().unwrap();
    assert!(held.wait > HOUR && held.wait <= MAX_DELAY, "{held:?}");

    // The clock was years ahead when it was put off, and was set right since.
    edit(
        &path,
        "UPDATE outbox SET put_off_at = '2399-01-01T00:00:00.000Z',
             due_at = '2399-01-01T00:01:00.000Z'",
    );
    let held = store.next_delivery("a").await.unwrap().unwrap();
    assert_eq!(held.wait, Duration::ZERO);
}

fn edit(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn the_same_delivery_is_sent_once_also_after_it_was_settled() {
    let (_temp, path) = place();
    let store = open(&path).await;
    store.enqueue("a", turns(0..2)).await.unwrap();
    let again = store.enqueue("a", turns(0..3)).await.unwrap();
    let expected = Enqueued {
        added: 1,
        known: 2,
        superseded: 0,
    };
    assert_eq!(again, expected);
    assert_eq!(drain(&store, "a").await.len(), 3);
    store.close().await;

    let store = open(&path).await;
    let twice = [turns(0..4), turns(3..4)].concat();
    let told = store.enqueue("a", twice).await.unwrap();
    assert_eq!((told.added, told.known), (1, 4));
    assert_eq!(store.enqueue("b", turns(0..1)).await.unwrap().added, 1);
    assert_eq!(drain(&store, "a").await, [(DeliveryKind::Turn, 3)]);
}

#[tokio::test]
async fn only_the_newest_memory_and_report_wait() {
    let (_temp, path) = place();
    let store = open(&path).await;
    for number in 1..=3 {
        let of_turn = DeliveryKind::ALL
            .map(|kind| delivery(kind, number))
            .to_vec();
        store.enqueue("a", of_turn).await.unwrap();
    }
    // Late ones change nothing, whether a newer one waits or has arrived.
    let late = || {
        vec![
            delivery(DeliveryKind::Memory, 2),
            delivery(DeliveryKind::Report, 0),
        ]
    };
    assert_eq!(store.enqueue("a", late()).await.unwrap().known, 2);
    let expected = [
        (DeliveryKind::Turn, 1),
        (DeliveryKind::Turn, 2),
        (DeliveryKind::Turn, 3),
        (DeliveryKind::Memory, 3),
        (DeliveryKind::Report, 3),
    ];
    assert_eq!(drain(&store, "a").await, expected);
    assert_eq!(store.enqueue("a", late()).await.unwrap().known, 2);
    assert_eq!(next(&store, "a").await, None);
}

#[tokio::test]
async fn one_that_is_superseded_on_its_way_can_no_longer_be_put_off_or_given_up() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let memory = |number| vec![delivery(DeliveryKind::Memory, number)];
    store.enqueue("a", memory(1)).await.unwrap();
    let sent = store.next_delivery("a").await.unwrap().unwrap();
    assert_eq!(store.enqueue("a", memory(2)).await.unwrap().superseded, 1);
    let put_off = store.put_off_delivery(sent.id, HOUR, "late").await;
    assert_eq!(put_off.unwrap(), None);
    assert!(!store.give_up_delivery(sent.id, "late").await.unwrap());
    assert!(!store.settle_delivery(sent.id).await.unwrap());
    assert_eq!(drain(&store, "a").await, [(DeliveryKind::Memory, 2)]);
}

#[tokio::test]
async fn one_that_is_given_up_is_listed_and_lets_the_others_pass() {
    let (_temp, path) = place();
    let store = open(&path).await;
    store.enqueue("a", turns(0..2)).await.unwrap();
    let first = store.next_delivery("a").await.unwrap().unwrap();
    store
        .put_off_delivery(first.id, Duration::ZERO, "down")
        .await
        .unwrap();
    let why = "the backend answered 422";
    assert!(store.give_up_delivery(first.id, why).await.unwrap());
    assert_eq!(next(&store, "a").await, Some((DeliveryKind::Turn, 1)));
    assert_eq!(store.enqueue("a", turns(0..1)).await.unwrap().known, 1);
    let listed = store.given_up_deliveries(None, 10).await.unwrap();
    let [only] = &listed[..] else {
        panic!("{listed:?}")
    };
    assert_eq!(
        (only.session.as_str(), only.kind),
        ("a", DeliveryKind::Turn)
    );
    assert_eq!((only.number, only.attempts), (0, 2));
    assert_eq!(only.reason, why);
    let of_another = store.given_up_deliveries(Some("b"), 10).await.unwrap();
    assert_eq!(of_another, []);
    assert_eq!(store.outbox_counts(None).await.unwrap().given_up, 1);
}

#[tokio::test]
async fn what_is_too_much_is_refused_whole() {
    let (_temp, path) = place();
    let limits = OutboxLimits {
        waiting: 3,
        bytes: 1000,
        ..OutboxLimits::default()
    };
    let options = StoreOptions {
        outbox: limits,
        ..StoreOptions::default()
    };
    let store = Store::open(&path, options).await.unwrap();
    store.enqueue("a", turns(0..2)).await.unwrap();
    let error = store.enqueue("b", turns(0..2)).await.unwrap_err();
    assert!(matches!(error, StoreError::OutboxFull { .. }), "{error}");
    assert!(error.hint().contains("backend"));
    assert_eq!(next(&store, "b").await, None);
    // What is known takes no room, and what takes another's place neither.
    store.enqueue("a", turns(0..2)).await.unwrap();
    let memory = |number| vec![delivery(DeliveryKind::Memory, number)];
    store.enqueue("b", memory(1)).await.unwrap();
    store.enqueue("b", memory(2)).await.unwrap();
    assert!(store.enqueue("b", turns(0..1)).await.is_err());

    drain(&store, "a").await;
    let long = Delivery {
        body: json(&format!("\"{}\"", "x".repeat(1000))),
        ..delivery(DeliveryKind::Turn, 9)
    };
    let error = store.enqueue("a", vec![long]).await.unwrap_err();
    assert!(matches!(error, StoreError::OutboxFull { .. }), "{error}");
    store.enqueue("a", turns(9..10)).await.unwrap();
}

#[tokio::test]
async fn bodies_names_and_batches_are_bounded() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let huge = Delivery {
        body: json(&format!("\"{}\"", "x".repeat(MAX_BODY_BYTES))),
        ..delivery(DeliveryKind::Turn, 1)
    };
    let batch = vec![delivery(DeliveryKind::Turn, 0), huge];
    let error = store.enqueue("a", batch).await.unwrap_err();
    assert!(matches!(error, StoreError::TooBig { .. }), "{error}");
    assert_eq!(next(&store, "a").await, None, "all or nothing");
    let error = store.enqueue(&"x".repeat(1000), turns(0..1)).await;
    assert!(matches!(error, Err(StoreError::TooBig { .. })));
    let many = u32::try_from(MAX_ENQUEUED).unwrap() + 1;
    assert!(store.enqueue("a", turns(0..many)).await.is_err());
    assert_eq!(store.enqueue("a", vec![]).await.unwrap().added, 0);
}

#[tokio::test]
async fn a_forgotten_session_begins_anew() {
    let (_temp, path) = place();
    let store = open(&path).await;
    store.enqueue("a", turns(0..3)).await.unwrap();
    store.enqueue("b", turns(0..1)).await.unwrap();
    let sent = store.next_delivery("a").await.unwrap().unwrap();
    assert!(store.settle_delivery(sent.id).await.unwrap());
    assert_eq!(store.forget_deliveries("a").await.unwrap(), 2);
    assert_eq!(next(&store, "a").await, None);
    assert_eq!(next(&store, "b").await, Some((DeliveryKind::Turn, 0)));
    store.enqueue("a", turns(0..1)).await.unwrap();
    // What was on its way when the session was forgotten is not the new one.
    assert!(!store.settle_delivery(sent.id).await.unwrap());
    assert_eq!(next(&store, "a").await, Some((DeliveryKind::Turn, 0)));
}

#[tokio::test]
async fn a_store_without_an_outbox_gets_one_and_keeps_its_jobs() {
    let (_temp, path) = place();
    let store = open(&path).await;
    store.create(new_job(None)).await.unwrap();
    store.close().await;
    edit(&path, "DROP TABLE outbox; PRAGMA user_version = 1");

    let store = open(&path).await;
    assert_eq!(store.set_aside(), None);
    assert_eq!(total(&store).await, 1);
    store.enqueue("a", turns(0..1)).await.unwrap();
    assert_eq!(drain(&store, "a").await.len(), 1);
}
