//! The bridge for UI loops.

use std::time::Duration;

use pillion_client::{Bridge, Code, Options, RequestId, Response, ResponsePart};
use serde_json::json;

use crate::fake_daemon::FakeDaemon;
use crate::server::Server;

async fn next(bridge: &Bridge) -> Response {
    loop {
        if let Some(response) = bridge.poll() {
            return response;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn text(response: Response) -> (RequestId, String) {
    let text = match response.part {
        ResponsePart::Item(item) => format!("item {item}"),
        ResponsePart::Progress(progress) => format!("progress {progress}"),
        ResponsePart::Done(Ok(result)) => format!("done {result}"),
        ResponsePart::Done(Err(error)) => error.code.to_string(),
    };
    (response.id, text)
}

#[tokio::test]
async fn requests_are_answered_through_poll() {
    let server = Server::new();
    let bridge = Bridge::start(server.options());
    assert!(bridge.poll().is_none());
    let id = bridge.request("a", json!({"x": 1})).unwrap();
    let mut peer = server.accept().await;
    let request = peer.request().await;
    assert_eq!(request["params"], json!({"x": 1}));
    assert_eq!(bridge.open_requests(), 1);
    peer.answer(&request, json!(5)).await;
    assert_eq!(text(next(&bridge).await), (id, "done 5".into()));
    assert_eq!(bridge.open_requests(), 0);
}

#[tokio::test]
async fn the_sixty_fifth_open_request_is_refused_at_once() {
    let server = Server::new();
    let bridge = Bridge::start(server.options());
    let ids: Vec<_> = (0..64).map(|n| bridge.request("a", [n]).unwrap()).collect();
    let error = bridge.request("a", ()).unwrap_err();
    assert_eq!(error.code, Code::Busy);
    assert!(error.hint.is_some());
    let mut peer = server.accept().await;
    for _ in 0..64 {
        let request = peer.request().await;
        peer.answer(&request, request["params"].clone()).await;
    }
    // Answered, but nobody has polled: still open.
    assert_eq!(bridge.request("a", ()).unwrap_err().code, Code::Busy);
    let mut answered = Vec::new();
    for _ in 0..64 {
        answered.push(next(&bridge).await.id);
    }
    answered.sort();
    assert_eq!(answered, ids);
    bridge.request("a", ()).unwrap();
}

#[tokio::test]
async fn a_failure_to_connect_is_the_requests_error_and_the_next_one_tries_again() {
    let temp = tempfile::tempdir().unwrap();
    let socket = temp.path().join("daemon.sock");
    let bridge = Bridge::start(Options::new().socket(&socket).start(false));
    let id = bridge.request("a", ()).unwrap();
    assert_eq!(text(next(&bridge).await), (id, "unreachable".into()));
    let _listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let id = bridge.request("a", ()).unwrap();
    bridge.cancel(id);
    assert_eq!(text(next(&bridge).await), (id, "cancelled".into()));
}

#[tokio::test]
async fn cancelling_tells_the_daemon_and_gives_one_outcome() {
    let server = Server::new();
    let bridge = Bridge::start(server.options());
    let id = bridge.request("slow", ()).unwrap();
    let mut peer = server.accept().await;
    let request = peer.request().await;
    bridge.cancel(id);
    peer.cancel_of(&request).await;
    peer.answer(&request, json!("late")).await;
    assert_eq!(text(next(&bridge).await), (id, "cancelled".into()));
    let id = bridge.request("next", ()).unwrap();
    let request = peer.request().await;
    peer.answer(&request, json!(1)).await;
    assert_eq!(text(next(&bridge).await), (id, "done 1".into()));
    bridge.cancel(id);
    assert!(bridge.poll().is_none());
}

#[tokio::test]
async fn streams_come_in_parts() {
    let server = Server::new();
    let bridge = Bridge::start(server.options());
    let id = bridge.request_stream("s", ()).unwrap();
    let mut peer = server.accept_stream().await;
    let request = peer.request().await;
    peer.progress(&request, json!({"progress": "half"})).await;
    // More items than the queue has places: none is lost although nobody polls yet.
    for n in 0..200 {
        peer.progress(&request, json!({"item": n})).await;
    }
    peer.answer(&request, json!(null)).await;
    assert_eq!(
        text(next(&bridge).await),
        (id, "progress \"half\"".to_owned())
    );
    for n in 0..200 {
        assert_eq!(text(next(&bridge).await), (id, format!("item {n}")));
    }
    assert_eq!(text(next(&bridge).await), (id, "done null".into()));
}

#[tokio::test]
async fn dropping_the_bridge_cancels_and_hangs_up() {
    let server = Server::new();
    let bridge = Bridge::start(server.options());
    bridge.request("slow", ()).unwrap();
    let mut peer = server.accept().await;
    let request = peer.request().await;
    drop(bridge);
    peer.cancel_of(&request).await;
    assert!(peer.next().await.is_none());
}

#[tokio::test]
async fn dropping_the_bridge_stops_the_daemon_that_it_started() {
    let fake = FakeDaemon::new(&json!({}));
    let bridge = Bridge::start(fake.options());
    bridge.request("pid", ()).unwrap();
    assert!(next(&bridge).await.is_done());
    assert_eq!(fake.running().len(), 1);
    drop(bridge);
    assert!(fake.running().is_empty());
}

#[tokio::test]
async fn dropping_the_bridge_leaves_a_daemon_of_others_alone() {
    let fake = FakeDaemon::new(&json!({}));
    let owner = pillion_client::Client::connect_or_start(&fake.options())
        .await
        .unwrap();
    let bridge = Bridge::start(fake.options());
    bridge.request("pid", ()).unwrap();
    assert!(next(&bridge).await.is_done());
    drop(bridge);
    owner.call("system.ping", ()).await.unwrap();
    assert_eq!(fake.running().len(), 1);
}

#[tokio::test]
async fn dropping_the_bridge_ends_a_daemon_that_is_still_starting() {
    let fake = FakeDaemon::new(&json!({"hang": true}));
    let bridge = Bridge::start(fake.options());
    bridge.request("pid", ()).unwrap();
    while fake.spawns().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(bridge);
    while !fake.running().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn an_unused_bridge_goes_quietly() {
    drop(Bridge::start(Options::new()));
}
