//! Attaching, detaching, forgetting, stopping, and the next daemon.

use pillion_store::{StoreHandle, StoreOptions};
use pillion_sync::{DeliveryKind, SessionLink, Sync, SyncError};
use tokio_util::sync::CancellationToken;

use crate::server::{Reply, Server};
use crate::{DEADLINE, Fixture, QUICK, backend, store, until};

#[tokio::test]
async fn nothing_is_opened_before_it_is_needed() {
    let handle = StoreHandle::new(|| panic!("nobody asked"), StoreOptions::default());
    let sync = Sync::new(handle, &CancellationToken::new());
    sync.detach("s");
    assert_eq!(sync.status().sessions, []);
    sync.stop().await;
}

#[tokio::test]
async fn what_waits_goes_on_in_the_next_daemon_when_the_session_is_attached_again() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::Status(503)).await;
    fixture.attach("s", &server);
    fixture
        .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
        .await;
    until("tried", || fixture.sync.status().failed >= 1).await;
    fixture.sync.stop().await;

    server.answer(|_| Reply::Status(200));
    let next = Sync::with_timing(store(&fixture.path), &CancellationToken::new(), QUICK);
    next.attach("s", &backend(&server.url)).unwrap();
    fixture.until_waiting(0).await;
    let keys = server.keys();
    assert_eq!(keys.last().unwrap(), "s:turn:1");
    assert_eq!(keys.iter().filter(|key| *key == "s:turn:1").count(), 1);
    next.stop().await;
}

#[tokio::test]
async fn nothing_is_sent_after_the_stop_and_what_comes_then_is_kept() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::Gate).await;
    fixture
        .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
        .await;
    fixture.attach("s", &server);
    until("it is under way", || server.under_way() == 1).await;
    let stopped = tokio::time::timeout(DEADLINE, fixture.sync.stop()).await;
    assert!(stopped.is_ok(), "the stop does not wait for the backend");
    server.open_gate();
    fixture.enqueue("s", &[(DeliveryKind::Turn, 2)]).await;
    let again = fixture.sync.attach("s", &backend(&server.url));
    assert!(matches!(again, Err(SyncError::Stopped)));
    // The next one has all of it; so whatever this one had still sent would be seen by now.
    let next = Sync::with_timing(store(&fixture.path), &CancellationToken::new(), QUICK);
    next.attach("s", &backend(&server.url)).unwrap();
    fixture.until_waiting(0).await;
    let expected = ["s:turn:0", "s:turn:0", "s:turn:1", "s:turn:2"];
    assert_eq!(server.keys(), expected);
    next.stop().await;
}

#[tokio::test]
async fn the_end_of_the_daemon_ends_the_deliveries() {
    let (fixture, server) = (Fixture::new(), Server::start().await);
    let ending = CancellationToken::new();
    let sync = Sync::with_timing(fixture.store.clone(), &ending, QUICK);
    sync.attach("s", &backend(&server.url)).unwrap();
    ending.cancel();
    let again = sync.attach("s", &backend(&server.url));
    assert!(matches!(again, Err(SyncError::Stopped)));
    sync.stop().await;
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn a_detached_session_waits_until_it_is_attached_again() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::Gate).await;
    fixture
        .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
        .await;
    fixture.attach("s", &server);
    until("it is under way", || server.under_way() == 1).await;
    fixture.sync.detach("s");
    assert_eq!(fixture.link("s"), None);
    until("it is broken off", || server.under_way() == 0).await;
    server.open_gate();
    let other = Server::start().await;
    fixture.enqueue("t", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("t", &other);
    fixture.until_waiting(2).await;
    assert_eq!(server.keys(), ["s:turn:0"]);

    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:0", "s:turn:1"]);
    assert_eq!(server.most().1, 1, "one request of a session at a time");
}

#[tokio::test]
async fn attaching_and_detaching_in_a_hurry_never_sends_two_at_a_time() {
    let (fixture, server) = (Fixture::new(), Server::start().await);
    let turns: Vec<_> = (0..40).map(|number| (DeliveryKind::Turn, number)).collect();
    fixture.enqueue("s", &turns).await;
    for _ in 0..40 {
        fixture.attach("s", &server);
        tokio::task::yield_now().await;
        fixture.sync.detach("s");
    }
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    let mut keys = server.keys();
    keys.dedup();
    let expected: Vec<_> = (0..40).map(|number| format!("s:turn:{number}")).collect();
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn a_forgotten_session_is_gone_also_if_it_is_under_way() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::Gate).await;
    fixture
        .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
        .await;
    fixture.attach("s", &server);
    until("it is under way", || server.under_way() == 1).await;
    fixture.sync.forget("s").await.unwrap();
    assert_eq!(fixture.sync.counts(None).await.unwrap().waiting, 0);
    assert_eq!(fixture.link("s"), None);
    server.open_gate();
    // A session of the same name begins anew.
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:0"]);
    until("it is idle", || {
        fixture.link("s") == Some(SessionLink::Idle)
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_delivered_is_refused_at_once() {
    let fixture = Fixture::new();
    for name in ["", ".", "..", &"x".repeat(513)] {
        let attached = fixture.sync.attach(name, &backend("http://127.0.0.1:1"));
        assert!(matches!(attached, Err(SyncError::Name { .. })));
        let enqueued = fixture.sync.enqueue(name, vec![]).await;
        assert!(matches!(enqueued, Err(SyncError::Name { .. })));
    }
    let attached = fixture.sync.attach("s", &backend("file:///etc"));
    let error = pillion_protocol::Error::from(attached.unwrap_err());
    assert_eq!(error.code.as_str(), "invalid_params");
    assert_eq!(fixture.sync.status().sessions, []);
}
