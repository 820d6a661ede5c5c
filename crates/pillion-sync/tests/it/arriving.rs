//! What arrives at a backend that takes it.

use pillion_sync::{Kind, MAX_REQUESTS};

use crate::server::{Reply, Seen, Server};
use crate::{Desk, TOKEN, until};

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
    let (desk, server) = (Desk::new(), Server::start().await);
    desk.attach("s", &server);
    let first = [(Kind::Turn, 0), (Kind::Memory, 1), (Kind::Report, 1)];
    desk.enqueue("s", &first).await;
    desk.until_waiting(0).await;
    desk.enqueue("s", &[(Kind::Turn, 1)]).await;
    desk.until_waiting(0).await;
    let expected = [
        seen("POST /v1/sessions/s/turns", "s:turn:0", r#"{"turn":0}"#),
        seen("PUT /v1/sessions/s/memory", "s:memory:1", r#"{"memory":1}"#),
        seen("PUT /v1/sessions/s/report", "s:report:1", r#"{"report":1}"#),
        seen("POST /v1/sessions/s/turns", "s:turn:1", r#"{"turn":1}"#),
    ];
    assert_eq!(server.seen(), expected);
    until("they are counted", || desk.sync.status().delivered == 4).await;
    let status = desk.sync.status();
    assert_eq!((status.failed, status.given_up), (0, 0));
}

#[tokio::test]
async fn a_session_that_the_backend_does_not_know_is_made_there() {
    for made in [201, 409] {
        let desk = Desk::new();
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
        desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 1)]).await;
        desk.attach("s", &server);
        desk.until_waiting(0).await;
        let session = r#"{"course_id":"rust","session_id":"s"}"#;
        let expected = [
            seen("POST /v1/sessions/s/turns", "s:turn:0", r#"{"turn":0}"#),
            seen("POST /v1/chapters/first/sessions", "", session),
            seen("POST /v1/sessions/s/turns", "s:turn:0", r#"{"turn":0}"#),
            seen("POST /v1/sessions/s/turns", "s:turn:1", r#"{"turn":1}"#),
        ];
        assert_eq!(server.seen(), expected);
        until("they are counted", || desk.sync.status().delivered == 2).await;
    }
}

#[tokio::test]
async fn what_the_backend_has_already_counts_as_arrived() {
    let desk = Desk::new();
    let server = Server::answering(|_| Reply::Status(409)).await;
    desk.attach("s", &server);
    desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 1)]).await;
    desk.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:1"]);
    until("they are counted", || desk.sync.status().delivered == 2).await;
}

#[tokio::test]
async fn what_is_handed_over_twice_is_sent_once() {
    let (desk, server) = (Desk::new(), Server::start().await);
    desk.enqueue("s", &[(Kind::Turn, 0)]).await;
    desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 1)]).await;
    desk.attach("s", &server);
    desk.until_waiting(0).await;
    desk.enqueue("s", &[(Kind::Turn, 0), (Kind::Turn, 2)]).await;
    desk.until_waiting(0).await;
    assert_eq!(server.keys(), ["s:turn:0", "s:turn:1", "s:turn:2"]);
}

#[tokio::test]
async fn only_the_newest_memory_is_sent_of_those_that_waited() {
    let (desk, server) = (Desk::new(), Server::start().await);
    for number in 1..4 {
        let both = [(Kind::Turn, number), (Kind::Memory, number)];
        desk.enqueue("s", &both).await;
    }
    desk.attach("s", &server);
    desk.until_waiting(0).await;
    let expected = ["s:turn:1", "s:turn:2", "s:turn:3", "s:memory:3"];
    assert_eq!(server.keys(), expected);
}

#[tokio::test]
async fn several_sessions_are_served_at_once_and_each_in_order() {
    let desk = Desk::new();
    let server = Server::answering(|_| Reply::Gate).await;
    let names: Vec<String> = (0..3 * MAX_REQUESTS).map(|n| format!("s{n}")).collect();
    for name in &names {
        let turns: Vec<_> = (0..3).map(|number| (Kind::Turn, number)).collect();
        desk.enqueue(name, &turns).await;
        desk.attach(name, &server);
    }
    until("as many requests as may be", || {
        server.under_way() == MAX_REQUESTS
    })
    .await;
    server.open_gate();
    desk.until_waiting(0).await;
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
