//! Backends that are down, overloaded, wrong or silent.

use std::time::Duration;

use pillion_sync::{DeliveryKind, SessionLink, Timing};

use crate::server::{Reply, Server};
use crate::{DEADLINE, Fixture, QUICK, backend, until};

#[tokio::test]
async fn a_backend_that_is_overloaded_gets_it_later_and_other_sessions_do_not_wait() {
    for status in [408, 425, 429, 500, 503] {
        let fixture = Fixture::new();
        let server = Server::answering(move |seen| {
            Reply::Status(if seen.route.contains("/slow/") {
                status
            } else {
                200
            })
        })
        .await;
        fixture
            .enqueue("slow", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
            .await;
        fixture.attach("slow", &server);
        until("some tries in vain", || fixture.sync.status().failed >= 3).await;
        fixture.enqueue("quick", &[(DeliveryKind::Turn, 0)]).await;
        fixture.attach("quick", &server);
        fixture.until_waiting(2).await;
        let keys = server.keys();
        assert!(keys.contains(&"quick:turn:0".to_owned()));
        assert!(!keys.contains(&"slow:turn:1".to_owned()), "{keys:?}");

        server.answer(|_| Reply::Status(200));
        fixture.until_waiting(0).await;
        assert_eq!(server.keys().last().unwrap(), "slow:turn:1");
        assert_eq!(fixture.sync.status().given_up, 0);
        fixture.sync.stop().await;
    }
}

#[tokio::test]
async fn a_backend_that_is_not_there_is_waited_for_and_another_one_is_asked_at_once() {
    // Waits of an hour: only the other backend makes it go on.
    let hour = Duration::from_secs(3600);
    let fixture = Fixture::with_timing(Timing {
        first: hour,
        longest: hour,
        ..QUICK
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.sync.attach("s", &backend(&gone)).unwrap();
    until("it is put off", || {
        fixture.link("s") == Some(SessionLink::PutOff)
    })
    .await;
    let status = fixture.sync.status();
    let problem = status.sessions[0].problem.clone().unwrap();
    assert!(problem.contains("no connection"), "{problem}");

    let server = Server::start().await;
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0"]);
    until("it is idle", || {
        fixture.link("s") == Some(SessionLink::Idle)
    })
    .await;
    assert_eq!(fixture.sync.status().sessions[0].problem, None);
}

#[tokio::test]
async fn connections_that_break_are_tried_again() {
    let fixture = Fixture::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.sync.attach("s", &backend(&url)).unwrap();
    for _ in 0..3 {
        let accepted = tokio::time::timeout(DEADLINE, listener.accept()).await;
        drop(accepted.unwrap().unwrap());
    }
    fixture.until_waiting(1).await;
}

#[tokio::test]
async fn a_backend_that_never_answers_is_left_and_asked_again() {
    let fixture = Fixture::with_timing(Timing {
        request: Duration::from_millis(100),
        ..QUICK
    });
    let server = Server::answering(|_| Reply::Gate).await;
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("s", &server);
    until("two tries in vain", || fixture.sync.status().failed >= 2).await;
    let problem = fixture.sync.status().sessions[0].problem.clone().unwrap();
    assert!(problem.contains("in time"), "{problem}");
    server.open_gate();
    fixture.until_waiting(0).await;
}

#[tokio::test]
async fn a_backend_says_how_long_it_wants_to_be_left_alone() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::With(429, "retry-after", "3000")).await;
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("s", &server);
    until("it is put off", || {
        fixture.link("s") == Some(SessionLink::PutOff)
    })
    .await;
    let store = fixture.store.store().await.unwrap();
    let waits = store.next_delivery("s").await.unwrap().unwrap();
    assert!(waits.wait > Duration::from_secs(2000), "{waits:?}");
    assert_eq!(waits.attempts, 1);
    // What comes after it does not make it go earlier.
    fixture.enqueue("s", &[(DeliveryKind::Turn, 1)]).await;
    let other = Server::start().await;
    fixture.enqueue("t", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("t", &other);
    fixture.until_waiting(2).await;
    assert_eq!(server.keys(), ["s:turn:0"]);
}

#[tokio::test]
async fn a_token_that_is_refused_waits_for_another_one() {
    for status in [401, 403] {
        let fixture = Fixture::new();
        let server = Server::answering(move |seen| {
            let good = seen.token.as_deref() == Some("Bearer another");
            Reply::Status(if good { 200 } else { status })
        })
        .await;
        fixture
            .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
            .await;
        fixture.attach("s", &server);
        until("it is refused", || {
            fixture.link("s") == Some(SessionLink::Refused)
        })
        .await;
        // The task is woken by this, and still asks nobody.
        fixture.enqueue("s", &[(DeliveryKind::Turn, 2)]).await;
        let other = Server::start().await;
        fixture.enqueue("t", &[(DeliveryKind::Turn, 0)]).await;
        fixture.attach("t", &other);
        fixture.until_waiting(3).await;
        assert_eq!(server.keys(), ["s:turn:0"]);

        let mut again = backend(&server.url);
        again.token = Some(pillion_process::Secret::new("another".into()));
        fixture.sync.attach("s", &again).unwrap();
        fixture.until_waiting(0).await;
        let expected = ["s:turn:0", "s:turn:0", "s:turn:1", "s:turn:2"];
        assert_eq!(server.keys(), expected);
        fixture.sync.stop().await;
    }
}

#[tokio::test]
async fn what_the_backend_will_never_take_is_given_up_and_the_others_pass() {
    let fixture = Fixture::new();
    let server = Server::answering(|seen| {
        let bad = seen.key.as_deref() == Some("s:turn:1");
        Reply::Status(if bad { 422 } else { 200 })
    })
    .await;
    let turns: Vec<_> = (0..3).map(|number| (DeliveryKind::Turn, number)).collect();
    fixture.enqueue("s", &turns).await;
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:1", "s:turn:2"]);
    let listed = fixture.sync.given_up(Some("s"), 10).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].kind, listed[0].number), (DeliveryKind::Turn, 1));
    assert!(listed[0].reason.contains("422"), "{listed:?}");
    until("it is counted", || fixture.sync.status().delivered == 2).await;
    assert_eq!(fixture.sync.status().given_up, 1);
}

#[tokio::test]
async fn a_backend_that_knows_no_session_and_no_chapter_ends_the_delivery() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::Status(404)).await;
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    assert_eq!(server.seen().len(), 2);
    let listed = fixture.sync.given_up(None, 10).await.unwrap();
    assert!(listed[0].reason.contains("chapter"), "{listed:?}");

    // One that has made the session, and needs a moment until it knows it.
    let mut asked = 0;
    let server = Server::answering(move |seen| {
        asked += usize::from(seen.key.is_some());
        let known = seen.key.is_none() || asked >= 5;
        Reply::Status(if known { 200 } else { 404 })
    })
    .await;
    fixture.enqueue("late", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("late", &server);
    fixture.until_waiting(0).await;
    let counts = fixture.sync.counts(Some("late")).await.unwrap();
    assert_eq!((counts.settled, counts.given_up), (1, 0));

    // One that never knows it.
    let server =
        Server::answering(|seen| Reply::Status(if seen.key.is_some() { 404 } else { 201 })).await;
    fixture.enqueue("never", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("never", &server);
    fixture.until_waiting(0).await;
    let counts = fixture.sync.counts(Some("never")).await.unwrap();
    assert_eq!((counts.settled, counts.given_up), (0, 1));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (fixture, other) = (Fixture::new(), Server::start().await);
    let location: &'static str = other.url.clone().leak();
    let server = Server::answering(move |_| Reply::With(307, "location", location)).await;
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.attach("s", &server);
    until("two tries in vain", || fixture.sync.status().failed >= 2).await;
    server.answer(|_| Reply::Status(200));
    fixture.until_waiting(0).await;
    assert_eq!(other.seen(), [], "the token went to nobody else");
}

#[tokio::test]
async fn a_backend_that_speaks_no_tls_gets_nothing_by_it() {
    let (fixture, server) = (Fixture::new(), Server::start().await);
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    let secure = server.url.replace("http://", "https://");
    fixture.sync.attach("s", &backend(&secure)).unwrap();
    until("a try in vain", || fixture.sync.status().failed >= 1).await;
    assert_eq!(server.seen(), []);
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0"]);
}
