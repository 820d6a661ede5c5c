//! Answers in parts.

use std::time::Duration;

use pillion_client::{CallStream, Code, WireEvent};
use serde_json::{Value, json};

use crate::server::{Peer, Server};

#[expect(clippy::unwrap_used, reason = "test support")]
async fn open(timeout: Duration) -> (Server, CallStream, Peer, Value) {
    let (server, client, _calls) = Server::with_client().await;
    let request = client.request("py.stream", json!({})).timeout(timeout);
    let stream = request.stream().await.unwrap();
    // A stream has a connection of its own.
    let mut peer = server.accept_stream().await;
    let request = peer.request().await;
    (server, stream, peer, request)
}

fn text(event: Option<WireEvent>) -> String {
    match event {
        Some(WireEvent::Item(item)) => format!("item {item}"),
        Some(WireEvent::Progress(progress)) => format!("progress {progress}"),
        None => "end".into(),
    }
}

#[tokio::test]
async fn parts_come_in_order_and_then_the_result() {
    let (_server, mut stream, mut peer, request) = open(crate::server::LONG).await;
    peer.progress(&request, json!({"progress": 0.5})).await;
    peer.progress(&request, json!({"item": null})).await;
    peer.progress(&request, json!({"item": [1]})).await;
    peer.answer(&request, json!("done")).await;
    assert_eq!(text(stream.next().await), "progress 0.5");
    assert_eq!(text(stream.next().await), "item null");
    assert_eq!(text(stream.next().await), "item [1]");
    assert_eq!(text(stream.next().await), "end");
    assert_eq!(text(stream.next().await), "end");
    assert_eq!(stream.finish().await.unwrap().get(), "\"done\"");
}

#[tokio::test]
async fn dropping_a_stream_cancels_it_and_hangs_up() {
    let (_server, stream, mut peer, request) = open(crate::server::LONG).await;
    drop(stream);
    peer.cancel_of(&request).await;
    assert!(peer.next().await.is_none());
}

#[tokio::test]
async fn a_silent_stream_times_out_and_is_cancelled() {
    let (_server, mut stream, mut peer, request) = open(Duration::from_millis(50)).await;
    assert_eq!(text(stream.next().await), "end");
    assert_eq!(stream.finish().await.unwrap_err().code, Code::Timeout);
    peer.cancel_of(&request).await;
}

#[tokio::test]
async fn a_broken_stream_ends_with_an_error_after_its_parts() {
    let (_server, mut stream, mut peer, request) = open(crate::server::LONG).await;
    peer.progress(&request, json!({"item": 1})).await;
    drop(peer);
    assert_eq!(text(stream.next().await), "item 1");
    assert_eq!(stream.finish().await.unwrap_err().code, Code::Unreachable);
}

#[tokio::test]
async fn a_slow_reader_holds_its_own_stream_back_and_loses_nothing() {
    let (server, client, mut calls) = Server::with_client().await;
    let mut stream = client.request("big", ()).stream().await.unwrap();
    let mut peer = server.accept_stream().await;
    let sender = tokio::spawn(async move {
        let request = peer.request().await;
        let payload = "x".repeat(64 * 1024);
        for n in 0..200 {
            peer.progress(&request, json!({"item": [n, payload]})).await;
        }
        peer.answer(&request, json!(200)).await;
    });
    // Far more than all buffers hold, so the sender has to wait while nobody reads.
    let ping = tokio::spawn(async move { client.call("system.ping", ()).await });
    let request = calls.request().await;
    calls.answer(&request, json!({"pong": true})).await;
    ping.await.unwrap().unwrap();
    assert!(!sender.is_finished());
    for n in 0..200 {
        let item = text(stream.next().await);
        assert!(item.starts_with(&format!("item [{n},")));
    }
    assert_eq!(stream.finish().await.unwrap().get(), "200");
    sender.await.unwrap();
}
