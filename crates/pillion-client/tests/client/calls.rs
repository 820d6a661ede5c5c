//! Calls on a healthy connection.

use std::time::Duration;

use pillion_client::{Code, DaemonVersion};
use serde_json::{Value, json};

use crate::server::Server;

#[tokio::test]
async fn a_request_is_one_frame_and_a_null_result_is_a_result() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.call("a.b", json!({"x": 1})).await });
    let request = peer.request().await;
    assert_eq!(
        request,
        json!({"jsonrpc": "2.0", "id": 1, "method": "a.b", "params": {"x": 1}})
    );
    peer.answer(&request, Value::Null).await;
    assert_eq!(call.await.unwrap().unwrap().get(), "null");
}

#[tokio::test]
async fn answers_come_in_any_order() {
    let (_server, client, mut peer) = Server::with_client().await;
    let (first, second) = (client.clone(), client);
    let first = tokio::spawn(async move { first.call_as::<String>("first", ()).await });
    let one = peer.request().await;
    let second = tokio::spawn(async move { second.call_as::<String>("second", ()).await });
    let two = peer.request().await;
    peer.answer(&two, json!("two")).await;
    assert_eq!(second.await.unwrap().unwrap(), "two");
    peer.answer(&one, json!("one")).await;
    assert_eq!(first.await.unwrap().unwrap(), "one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_callers_get_their_own_answers() {
    let (_server, client, mut peer) = Server::with_client().await;
    let echo = tokio::spawn(async move {
        let mut held: Option<Value> = None;
        let mut count = 0;
        while let Some(request) = peer.next().await {
            count += 1;
            // Answer some the wrong way round, as long as another caller is sure to follow.
            match held.take() {
                None if count % 4 == 1 && count < 700 => held = Some(request),
                other => {
                    peer.answer(&request, request["params"].clone()).await;
                    if let Some(other) = other {
                        peer.answer(&other, other["params"].clone()).await;
                    }
                }
            }
        }
        count
    });
    let callers: Vec<_> = (0..16)
        .map(|caller| {
            let client = client.clone();
            tokio::spawn(async move {
                for turn in 0..50 {
                    let params = json!([caller, turn]);
                    let answer: Value = client.call_as("echo", &params).await.unwrap();
                    assert_eq!(answer, params);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    drop(client);
    assert_eq!(echo.await.unwrap(), 16 * 50);
}

#[tokio::test]
async fn errors_keep_their_code_hint_and_data() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.call("a.b", ()).await });
    let request = peer.request().await;
    let data = json!({"code": "crashed", "kind": "worker", "message": "gone", "hint": "again", "recoverable": true});
    let error = json!({"code": -32008, "message": "gone", "data": data});
    peer.send(&json!({"jsonrpc": "2.0", "error": error, "id": request["id"]}))
        .await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code, Code::Crashed);
    assert_eq!(error.hint.as_deref(), Some("again"));
}

#[tokio::test]
async fn a_timeout_cancels_and_the_late_answer_is_dropped() {
    let (_server, client, mut peer) = Server::with_client().await;
    let request = client.request("slow", ()).timeout(Duration::from_millis(5));
    let error = request.send().await.unwrap_err();
    assert_eq!(error.code, Code::Timeout);
    assert!(error.hint.is_some());
    let slow = peer.request().await;
    peer.cancel_of(&slow).await;
    peer.answer(&slow, json!("late")).await;
    let next = tokio::spawn(async move { client.call_as::<String>("next", ()).await });
    let request = peer.request().await;
    peer.answer(&request, json!("mine")).await;
    assert_eq!(next.await.unwrap().unwrap(), "mine");
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.call("slow", ()).await });
    let request = peer.request().await;
    call.abort();
    peer.cancel_of(&request).await;
    assert!(call.await.unwrap_err().is_cancelled());
    // The last handle went with the task, so the connection is closed too.
    assert!(peer.next().await.is_none());
}

#[tokio::test]
async fn news_for_nobody_are_passed_by() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.call_as::<i32>("a", ()).await });
    let request = peer.request().await;
    peer.progress(&json!({"id": 99}), json!({"item": 1})).await;
    peer.progress(&json!({"id": "text"}), json!({})).await;
    peer.progress(&request, json!({"item": "not asked for"}))
        .await;
    peer.send(&json!({"jsonrpc": "2.0", "method": "window/news", "params": {}}))
        .await;
    peer.answer(&json!({"id": 99}), json!(1)).await;
    peer.answer(&json!({"id": "text"}), json!(1)).await;
    peer.answer(&request, json!(7)).await;
    assert_eq!(call.await.unwrap().unwrap(), 7);
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_callers_back() {
    let (_server, client, mut peer) = Server::with_client().await;
    // More than the system's socket buffer and our queue take together.
    let large = "x".repeat(1 << 20);
    let stuck: Vec<_> = (0..70)
        .map(|_| {
            let (client, large) = (client.clone(), large.clone());
            tokio::spawn(async move {
                let request = client.request("big", [large]);
                request.timeout(Duration::from_millis(200)).send().await
            })
        })
        .collect();
    for call in stuck {
        assert_eq!(call.await.unwrap().unwrap_err().code, Code::Timeout);
    }
    // What was queued is followed by its cancel; what never got a place was never sent.
    let ping = tokio::spawn(async move { client.call("system.ping", ()).await });
    let (mut requests, mut cancels) = (0, 0);
    loop {
        let message = peer.request().await;
        match message["method"].as_str().unwrap() {
            "big" => requests += 1,
            "$/cancelRequest" => cancels += 1,
            _ => {
                peer.answer(&message, json!({"pong": true})).await;
                break;
            }
        }
    }
    assert_eq!(requests, cancels);
    assert!(requests < 70, "{requests} were queued");
    ping.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_here() {
    let (_server, client, _peer) = Server::with_client().await;
    let error = client.call("a", 3).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidParams);
}

#[tokio::test]
async fn an_answer_of_another_form_is_an_error() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.call_as::<i32>("a", ()).await });
    let request = peer.request().await;
    peer.answer(&request, json!("seven")).await;
    assert_eq!(call.await.unwrap().unwrap_err().code, Code::InvalidResult);
}

#[tokio::test]
async fn the_version_is_read() {
    let (_server, client, mut peer) = Server::with_client().await;
    let call = tokio::spawn(async move { client.version().await });
    let request = peer.request().await;
    let says = json!({"version": "0.1.0", "protocol": "json-rpc-2.0", "transport": "unix-socket", "contract": "abc"});
    peer.answer(&request, says.clone()).await;
    let expected: DaemonVersion = serde_json::from_value(says).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), expected);
}

/// The daemon refuses the 257th request of a connection; callers never get to see that.
#[tokio::test]
async fn a_crowd_of_callers_waits_its_turn() {
    let (_server, client, mut peer) = Server::with_client().await;
    let callers: Vec<_> = (0..600)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move { client.call_as::<u32>("echo", [n]).await })
        })
        .collect();
    let mut open = Vec::new();
    let mut answered = 0;
    while answered < 600 {
        open.push(peer.request().await);
        assert!(open.len() <= 256, "more than a daemon takes");
        // None is answered before there are as many as there can be.
        if open.len() >= 240.min(600 - answered) {
            for request in open.drain(..) {
                peer.answer(&request, request["params"][0].clone()).await;
                answered += 1;
            }
        }
    }
    for (n, caller) in callers.into_iter().enumerate() {
        assert_eq!(caller.await.unwrap().unwrap() as usize, n);
    }
}
