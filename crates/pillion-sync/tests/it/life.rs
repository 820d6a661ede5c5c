//! Attaching, detaching, forgetting, stopping, and the next daemon.

use pillion_store::{Options, StoreHandle};
use pillion_sync::{Kind, Link, Sync, SyncError};
use tokio_util::sync::CancellationToken;

use crate::server::{Reply, Server};
use crate::{DEADLINE, Desk, QUICK, backend, store, until};

#[tokio::test]
async fn nothing_is_opened_before_it_is_needed() {
    let handle = StoreHandle::new(|| panic!("nobody asked"), Options::default());
    let sync = Sync::new(handle, &CancellationToken::new());
    sync.detach("s");
    assert_eq!(sync.status().sessions, []);
    sync.stop().await;
}

#[tokio::test]
async fn what_waits_goes_on_in_the_next_daemon_when_the_session_is_attached_again() {
    let desk = Desk::new();
    let server = Server::answering(|_| Reply::Status(503)).await;
    desk.attach("s", &server);
    desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 1)]).await;
    until("tried", || desk.sync.status().failed >= 1).await;
    desk.sync.stop().await;

    server.answer(|_| Reply::Status(200));
    let next = Sync::with_timing(store(&desk.path), &CancellationToken::new(), QUICK);
    next.attach("s", &backend(&server.url)).unwrap();
    desk.until_waiting(0).await;
    let keys = server.keys();
    assert_eq!(keys.last().unwrap(), "s:turn:1");
    assert_eq!(keys.iter().filter(|key| *key == "s:turn:1").count(), 1);
    next.stop().await;
}

#[tokio::test]
async fn nothing_is_sent_after_the_stop_and_what_comes_then_is_kept() {
    let desk = Desk::new();
    let server = Server::answering(|_| Reply::Gate).await;
    desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 1)]).await;
    desk.attach("s", &server);
    until("it is under way", || server.under_way() == 1).await;
    let stopped = tokio::time::timeout(DEADLINE, desk.sync.stop()).await;
    assert!(stopped.is_ok(), "the stop does not wait for the backend");
    server.open_gate();
    desk.enqueue("s", &[(Kind::Turn, 2)]).await;
    let again = desk.sync.attach("s", &backend(&server.url));
    assert!(matches!(again, Err(SyncError::Stopped)));
    // The next one has all of it; so whatever this one had still sent would be seen by now.
    let next = Sync::with_timing(store(&desk.path), &CancellationToken::new(), QUICK);
    next.attach("s", &backend(&server.url)).unwrap();
    desk.until_waiting(0).await;
    let expected = ["s:turn:0", "s:turn:0", "s:turn:1", "s:turn:2"];
    assert_eq!(server.keys(), expected);
    next.stop().await;
}

#[tokio::test]
async fn the_end_of_the_daemon_ends_the_deliveries() {
    let (desk, server) = (Desk::new(), Server::start().await);
    let ending = CancellationToken::new();
    let sync = Sync::with_timing(desk.store.clone(), &ending, QUICK);
    sync.attach("s", &backend(&server.url)).unwrap();
    ending.cancel();
    let again = sync.attach("s", &backend(&server.url));
    assert!(matches!(again, Err(SyncError::Stopped)));
    sync.stop().await;
    desk.enqueue("s", &[(Kind::Turn, 0)]).await;
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn a_detached_session_waits_until_it_is_attached_again() {
    let desk = Desk::new();
    let server = Server::answering(|_| Reply::Gate).await;
    desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 1)]).await;
    desk.attach("s", &server);
    until("it is under way", || server.under_way() == 1).await;
    desk.sync.detach("s");
    assert_eq!(desk.link("s"), None);
    until("it is broken off", || server.under_way() == 0).await;
    server.open_gate();
    let other = Server::start().await;
    desk.enqueue("t", &[(Kind::Turn, 0)]).await;
    desk.attach("t", &other);
    desk.until_waiting(2).await;
    assert_eq!(server.keys(), ["s:turn:0"]);

    desk.attach("s", &server);
    desk.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:0", "s:turn:1"]);
    assert_eq!(server.most().1, 1, "one request of a session at a time");
}

#[tokio::test]
async fn attaching_and_detaching_in_a_hurry_never_sends_two_at_a_time() {
    let (desk, server) = (Desk::new(), Server::start().await);
    let turns: Vec<_> = (0..40).map(|number| (Kind::Turn, number)).collect();
    desk.enqueue("s", &turns).await;
    for _ in 0..40 {
        desk.attach("s", &server);
        tokio::task::yield_now().await;
        desk.sync.detach("s");
    }
    desk.attach("s", &server);
    desk.until_waiting(0).await;
    let mut keys = server.keys();
    keys.dedup();
    let expected: Vec<_> = (0..40).map(|number| format!("s:turn:{number}")).collect();
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn a_forgotten_session_is_gone_also_if_it_is_under_way() {
    let desk = Desk::new();
    let server = Server::answering(|_| Reply::Gate).await;
    desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 1)]).await;
    desk.attach("s", &server);
    until("it is under way", || server.under_way() == 1).await;
    desk.sync.forget("s").await.unwrap();
    assert_eq!(desk.sync.counts(None).await.unwrap().waiting, 0);
    assert_eq!(desk.link("s"), None);
    server.open_gate();
    // A session of the same name begins anew.
    desk.enqueue("s", &[(Kind::Turn, 0)]).await;
    desk.attach("s", &server);
    desk.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:0"]);
    until("it is idle", || desk.link("s") == Some(Link::Idle)).await;
}

#[tokio::test]
async fn what_cannot_be_delivered_is_refused_at_once() {
    let desk = Desk::new();
    for name in ["", ".", "..", &"x".repeat(513)] {
        let attached = desk.sync.attach(name, &backend("http://127.0.0.1:1"));
        assert!(matches!(attached, Err(SyncError::Name { .. })));
        let enqueued = desk.sync.enqueue(name, vec![]).await;
        assert!(matches!(enqueued, Err(SyncError::Name { .. })));
    }
    let attached = desk.sync.attach("s", &backend("file:///etc"));
    let error = pillion_protocol::Error::from(attached.unwrap_err());
    assert_eq!(error.code.as_str(), "invalid_params");
    assert_eq!(desk.sync.status().sessions, []);
}
