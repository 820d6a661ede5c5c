//! What arrives at a backend that takes it.

use pillion_sync::{DeliveryKind, MAX_REQUESTS};

use crate::server::{Reply, Seen, Server};
use crate::{Fixture, TOKEN, until};

fn seen(route: &str, key: &str, body: &str) -> Seen {
    Seen {
        route: route.into(),
        token: Some(format!("Bearer {TOKEN}")),
        key: (!key.is_empty()).then(|| key.into()),
        body: body.into(),
    }
}

#[tokio::test]
async fn each_kind_has_its_route_and_all_arrive_in_order() {
    let (fixture, server) = (Fixture::new(), Server::start().await);
    fixture.attach("s", &server);
    let first = [
        (DeliveryKind::Turn, 0),
        (DeliveryKind::Memory, 1),
        (DeliveryKind::Report, 1),
    ];
    fixture.enqueue("s", &first).await;
    fixture.until_waiting(0).await;
    fixture.enqueue("s", &[(DeliveryKind::Turn, 1)]).await;
    fixture.until_waiting(0).await;
    let expected = [
        seen("POST /v1/sessions/s/turns", "s:turn:0", r#"{"turn":0}"#),
        seen("PUT /v1/sessions/s/memory", "s:memory:1", r#"{"memory":1}"#),
        seen("PUT /v1/sessions/s/report", "s:report:1", r#"{"report":1}"#),
        seen("POST /v1/sessions/s/turns", "s:turn:1", r#"{"turn":1}"#),
    ];
    assert_eq!(server.seen(), expected);
    until("they are counted", || fixture.sync.status().delivered == 4).await;
    let status = fixture.sync.status();
    assert_eq!((status.failed, status.given_up), (0, 0));
}

#[tokio::test]
async fn a_session_that_the_backend_does_not_know_is_made_there() {
    for made in [201, 409] {
        let fixture = Fixture::new();
        let mut is_made = false;
        let server = Server::answering(move |seen| {
            is_made |= seen.route.contains("/chapters/");
            Reply::Status(match seen.route.contains("/chapters/") {
                true => made,
                false if is_made => 200,
                false => 404,
            })
        })
        .await;
        fixture
            .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
            .await;
        fixture.attach("s", &server);
        fixture.until_waiting(0).await;
        let session = r#"{"course_id":"rust","session_id":"s"}"#;
        let expected = [
            seen("POST /v1/sessions/s/turns", "s:turn:0", r#"{"turn":0}"#),
            seen("POST /v1/chapters/first/sessions", "", session),
            seen("POST /v1/sessions/s/turns", "s:turn:0", r#"{"turn":0}"#),
            seen("POST /v1/sessions/s/turns", "s:turn:1", r#"{"turn":1}"#),
        ];
        assert_eq!(server.seen(), expected);
        until("they are counted", || fixture.sync.status().delivered == 2).await;
    }
}

#[tokio::test]
async fn what_the_backend_has_already_counts_as_arrived() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::Status(409)).await;
    fixture.attach("s", &server);
    fixture
        .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
        .await;
    fixture.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:1"]);
    until("they are counted", || fixture.sync.status().delivered == 2).await;
}

#[tokio::test]
async fn what_is_handed_over_twice_is_sent_once() {
    let (fixture, server) = (Fixture::new(), Server::start().await);
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture
        .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 1)])
        .await;
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    fixture
        .enqueue("s", &[(DeliveryKind::Turn, 0), (DeliveryKind::Turn, 2)])
        .await;
    fixture.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:1", "s:turn:2"]);
}

#[tokio::test]
async fn only_the_newest_memory_is_sent_of_those_that_waited() {
    let (fixture, server) = (Fixture::new(), Server::start().await);
    for number in 1..4 {
        let both = [(DeliveryKind::Turn, number), (DeliveryKind::Memory, number)];
        fixture.enqueue("s", &both).await;
    }
    fixture.attach("s", &server);
    fixture.until_waiting(0).await;
    let expected = ["s:turn:1", "s:turn:2", "s:turn:3", "s:memory:3"];
    assert_eq!(server.keys(), expected);
}

#[tokio::test]
async fn several_sessions_are_served_at_once_and_each_in_order() {
    let fixture = Fixture::new();
    let server = Server::answering(|_| Reply::Gate).await;
    let names: Vec<String> = (0..3 * MAX_REQUESTS).map(|n| format!("s{n}")).collect();
    for name in &names {
        let turns: Vec<_> = (0..3).map(|number| (DeliveryKind::Turn, number)).collect();
        fixture.enqueue(name, &turns).await;
        fixture.attach(name, &server);
    }
    until("as many requests as may be", || {
        server.under_way() == MAX_REQUESTS
    })
    .await;
    server.open_gate();
    fixture.until_waiting(0).await;
    assert_eq!(server.most(), (MAX_REQUESTS, 1));
    let keys = server.keys();
    for name in &names {
        let mine = keys
            .iter()
            .filter(|key| key.starts_with(&format!("{name}:")));
        let expected: Vec<_> = (0..3).map(|n| format!("{name}:turn:{n}")).collect();
        assert!(mine.eq(&expected), "{keys:?}");
    }
}
