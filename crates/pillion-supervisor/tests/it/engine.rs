//! A conversation with a language server that behaves.

use std::sync::atomic::Ordering;

use pillion_protocol::Code;
use pillion_supervisor::Event;
use serde_json::{Value, json};

use crate::support::{DEADLINE, World, methods};

#[tokio::test]
async fn it_is_opened_told_the_state_and_then_asked() {
    let world = World::new();
    world.documents.open("one");
    let log = world.ask("log", json!({})).await.unwrap();
    assert_eq!(
        log,
        json!([
            ["initialize", { "rootUri": "file:///r" }],
            ["initialized", {}],
            ["open", "one"],
            ["log", {}],
        ])
    );
    assert_eq!(world.documents.opened.load(Ordering::SeqCst), 1);
    let status = &world.pool.status()[0];
    assert!(status.pid.is_some() && status.memory_bytes.is_some());
}

#[tokio::test]
async fn answers_out_of_order_find_their_callers() {
    let world = World::new();
    let held = (0..10).map(|n| world.ask("hold", json!(n)));
    let (held, released) = tokio::join!(futures::future::join_all(held), async {
        // Asked after the ten, so the server has them all.
        world.ask("release", Value::Null).await
    });
    assert_eq!(released.unwrap(), 10);
    for (n, answer) in held.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), n);
    }
}

#[tokio::test]
async fn its_own_requests_are_answered() {
    let world = World::new();
    let asked = world.ask("ask", json!({"method": "workspace/configuration"}));
    assert_eq!(asked.await.unwrap(), json!({ "asked": [1] }));
    let other = world.ask("ask", json!({"method": "client/registerCapability"}));
    assert_eq!(other.await.unwrap(), Value::Null);
}

#[tokio::test]
async fn its_chatter_and_empty_answers_disturb_nobody() {
    let world = World::new();
    assert_eq!(world.ask("chatter", Value::Null).await.unwrap(), "done");
    assert_eq!(
        world.ask("nothing", Value::Null).await.unwrap(),
        Value::Null
    );
}

#[tokio::test]
async fn a_notice_is_written_before_the_next_call() {
    let world = World::new();
    for round in 0..200 {
        world.notify("changed", json!(round));
        let log = world.ask("log", json!({})).await.unwrap();
        let log = log.as_array().unwrap();
        if round == 0 {
            // Nobody was there to hear the first.
            assert_eq!(log.len(), 3);
        } else {
            assert_eq!(log[log.len() - 2], json!(["changed", round]));
        }
    }
}

#[tokio::test]
async fn what_comes_during_the_start_follows_the_replay_and_is_not_told_twice() {
    let world = World::with(&["slow"], |_| {});
    let asking = world.ask("log", json!({}));
    tokio::pin!(asking);
    // The first poll starts it; it is not ready before the file `go` is there.
    assert!(futures::poll!(&mut asking).is_pending());
    while world.pool.status()[0].generation == 0 {
        tokio::task::yield_now().await;
    }
    world.notify("changed", json!(1));
    let late = world.documents.open("late");
    world.pool.notify(&late);
    world.notify("changed", json!(2));
    std::fs::write(world.folder.path().join("go"), "").unwrap();
    let log = asking.await.unwrap();
    assert_eq!(
        methods(&log),
        [
            "initialize",
            "initialized",
            "open",
            "changed",
            "changed",
            "log"
        ]
    );
    let next = world.documents.open("next");
    world.pool.notify(&next);
    let log = world.ask("log", json!({})).await.unwrap();
    assert_eq!(log[6], json!(["open", "next"]));
}

#[tokio::test]
async fn too_many_notices_during_the_start_make_a_fresh_start() {
    let world = World::with(&["slow"], |limits| limits.close = std::time::Duration::ZERO);
    let asking = world.ask("log", json!({}));
    tokio::pin!(asking);
    assert!(futures::poll!(&mut asking).is_pending());
    while world.generation() == 0 {
        tokio::task::yield_now().await;
    }
    for n in 0..2000 {
        world.notify("changed", json!(n));
    }
    std::fs::write(world.folder.path().join("go"), "").unwrap();
    let log = asking.await.unwrap();
    assert_eq!(methods(&log)[..2], ["initialize", "initialized"]);
    assert!(methods(&log).len() < 1000, "what the first had to be told");
    assert_eq!(world.generation(), 2);
}

#[tokio::test]
async fn its_errors_are_told_apart() {
    let world = World::new();
    for (number, code) in [
        (-32603, Code::InternalError),
        (-32601, Code::Unsupported),
        (-32800, Code::Cancelled),
        (-32801, Code::Conflict),
        (-32802, Code::Cancelled),
    ] {
        let error = world.ask("fail", json!({ "code": number })).await;
        let error = error.unwrap_err();
        assert_eq!(error.code, code, "{error:?}");
        assert_eq!(error.data.as_ref().unwrap()["lsp_code"], number);
        assert_eq!(error.message, "`fake`: as you wish");
        assert_eq!(error.kind, pillion_protocol::ErrorKind::Worker);
    }
}

#[tokio::test]
async fn a_read_that_files_changed_under_is_asked_again_but_not_for_ever() {
    let world = World::new();
    let patient = world.ask("modified", json!({ "times": 16 })).await;
    assert_eq!(patient.unwrap(), "fresh");
    let world = World::new();
    let error = world.ask("modified", json!({ "times": 100 })).await;
    assert_eq!(error.unwrap_err().code, Code::Conflict);
    let asked = |world: &World| world.told().iter().filter(|m| *m == "modified").count();
    assert_eq!(asked(&world), 17);
    let error = world
        .call("modified", json!({ "times": 100 }), false, DEADLINE)
        .await;
    assert_eq!(error.unwrap_err().code, Code::Conflict);
    assert_eq!(asked(&world), 18, "what may have effects is asked once");
}

#[tokio::test]
async fn it_is_stopped_politely() {
    let world = World::with(&[], |limits| limits.close = DEADLINE);
    let mut news = world.supervisor.events().listen();
    world.ask("echo", json!(1)).await.unwrap();
    world.pool.stop().await;
    assert_eq!(
        world.told(),
        ["initialize", "initialized", "echo", "shutdown", "exit"]
    );
    let exit = loop {
        if let Some(Event::SidecarEnded { exit, .. }) = news.next().await {
            break exit;
        }
    };
    assert_eq!(exit, "exited with code 0");
}
