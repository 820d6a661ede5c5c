//! Connections that break, and servers that talk nonsense.

use pillion_client::{Client, Code};
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn all_pending_calls_fail_when_the_connection_breaks() {
    let (server, client, mut peer) = Server::with_client().await;
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call("a.write", ()).await })
        })
        .collect();
    for _ in 0..5 {
        peer.request().await;
    }
    drop(peer);
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.code, Code::Unreachable);
        assert_eq!(error.message, "the daemon closed the connection");
        assert!(error.hint.is_some());
    }
    // Nothing was sent again; the next call connects anew.
    let next = tokio::spawn(async move { client.call("a.write", ()).await });
    let mut peer = server.accept().await;
    let request = peer.request().await;
    assert_eq!(request["id"], 6);
    peer.answer(&request, json!(1)).await;
    next.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_safe_request_is_repeated_once() {
    let (server, client, mut peer) = Server::with_client().await;
    let ping = {
        let client = client.clone();
        tokio::spawn(async move { client.call("system.ping", ()).await })
    };
    let first = peer.request().await;
    drop(peer);
    let mut peer = server.accept().await;
    assert_eq!(peer.request().await, first);
    peer.answer(&first, json!({"pong": true})).await;
    ping.await.unwrap().unwrap();

    let read = tokio::spawn(async move {
        let request = client.request("code.defs", ()).safe_to_repeat(true);
        request.send().await
    });
    peer.request().await;
    drop(peer);
    let mut peer = server.accept().await;
    peer.request().await;
    drop(peer);
    // Twice is enough.
    let error = read.await.unwrap().unwrap_err();
    assert_eq!(error.code, Code::Unreachable);
}

#[tokio::test]
async fn without_a_daemon_a_repetition_says_that_nobody_listens() {
    let (server, client, mut peer) = Server::with_client().await;
    let ping = tokio::spawn(async move { client.call("system.ping", ()).await });
    peer.request().await;
    drop(server);
    drop(peer);
    let error = ping.await.unwrap().unwrap_err();
    assert_eq!(error.code, Code::Unreachable);
    assert!(error.message.starts_with("no daemon listens on"), "{error}");
}

#[tokio::test]
async fn an_end_within_a_frame_is_an_end() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.call("a.write", ()).await });
    peer.request().await;
    peer.raw(b"Content-Length: 100\r\n\r\n{\"jsonrpc\":").await;
    drop(peer);
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.message, "the daemon closed the connection");
}

#[tokio::test]
async fn nonsense_is_called_nonsense() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"[..],
        b"Content-Length: 5\r\n\r\nhello",
        b"Content-Length: 999999999999\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
    ] {
        let (_server, client, mut peer) = Server::with_client().await;
        let call = {
            let client = client.clone();
            tokio::spawn(async move { client.call("a.write", ()).await })
        };
        peer.request().await;
        peer.raw(bytes).await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.code, Code::Unreachable);
        assert!(error.message.contains("does not speak"), "{error}");
        assert!(error.hint.is_some());
    }
}

#[tokio::test]
async fn a_refused_frame_is_reported_with_the_servers_words() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.call("a.write", ()).await });
    peer.request().await;
    let error = json!({"code": -32600, "message": "the frame is too large"});
    peer.send(&json!({"jsonrpc": "2.0", "error": error, "id": null}))
        .await;
    drop(peer);
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code, Code::InvalidRequest);
    assert_eq!(error.message, "the frame is too large");
}

#[tokio::test]
async fn concurrent_callers_make_one_new_connection() {
    let (server, client, peer) = Server::with_client().await;
    drop(peer);
    let calls: Vec<_> = (0..8)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move {
                let request = client.request("echo", [n]).safe_to_repeat(true);
                request.send_as::<Vec<i32>>().await.unwrap()
            })
        })
        .collect();
    let mut peer = server.accept().await;
    for _ in 0..8 {
        let request = peer.request().await;
        peer.answer(&request, request["params"].clone()).await;
    }
    for (n, call) in (0..).zip(calls) {
        assert_eq!(call.await.unwrap(), [n]);
    }
}

#[tokio::test]
async fn a_lazy_client_connects_with_its_first_request() {
    let server = Server::new();
    let client = Client::lazy(server.options());
    let call = tokio::spawn(async move { client.call("a", ()).await });
    let mut peer = server.accept().await;
    let request = peer.request().await;
    peer.answer(&request, json!(1)).await;
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_a_daemon_on_its_way_out_refuses_goes_to_the_next_one() {
    let server = Server::new();
    let options = server.options().start(true);
    let (client, mut old) = tokio::join!(Client::connect_or_start(&options), server.accept());
    let client = client.unwrap();
    let call = tokio::spawn(async move { client.call("a.write", ()).await });
    let request = old.request().await;
    let error = json!({"code": -32018, "message": "shutting down"});
    old.send(&json!({"jsonrpc": "2.0", "error": error, "id": request["id"]}))
        .await;
    drop(old);
    let mut new = server.accept().await;
    assert_eq!(new.request().await, request);
    new.answer(&request, json!(1)).await;
    call.await.unwrap().unwrap();
}
