//! A conversation with a language server that does not behave.

use std::time::Duration;

use pillion_protocol::Code;
use serde_json::{Value, json};

use crate::support::{DEADLINE, World, methods};

#[tokio::test]
async fn a_read_survives_a_crash_and_the_next_process_knows_the_state() {
    let world = World::new();
    world.ask("echo", json!(1)).await.unwrap();
    let notice = world.documents.open("one");
    world.pool.notify(&notice);
    let log = world.ask("die", json!({ "times": 1 })).await.unwrap();
    assert_eq!(methods(&log), ["initialize", "initialized", "open", "die"]);
    assert_eq!(world.generation(), 2);
}

#[tokio::test]
async fn all_reads_in_flight_survive_a_crash() {
    let world = World::new();
    let held = (0..5).map(|n| world.ask("hold", json!(n)));
    let (held, _) = tokio::join!(futures::future::join_all(held), async {
        world.ask("die", json!({ "times": 1 })).await.unwrap();
        world.ask("release", Value::Null).await.unwrap()
    });
    let held: Vec<_> = held.into_iter().map(Result::unwrap).collect();
    assert_eq!(held, [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn what_may_have_effects_is_not_repeated() {
    let world = World::new();
    let died = world.call("die", json!({ "times": 1 }), false, DEADLINE);
    let error = died.await.unwrap_err();
    assert_eq!(error.code, Code::Crashed);
    assert!(error.message.ends_with("I die"), "{error}");
    assert_eq!(world.ask("echo", json!(7)).await.unwrap(), 7);
}

#[tokio::test]
async fn one_that_dies_too_often_is_replaced_by_a_process_per_call() {
    let world = World::new();
    for _ in 0..3 {
        let died = world.call("die", json!({ "times": 100 }), false, DEADLINE);
        assert_eq!(died.await.unwrap_err().code, Code::Crashed);
    }
    world.documents.open("one");
    for _ in 0..2 {
        let log = world.ask("log", json!({})).await.unwrap();
        let alone = ["initialize", "initialized", "open", "log"];
        assert_eq!(methods(&log), alone, "each has a process of its own");
    }
}

#[tokio::test]
async fn a_start_that_hangs_is_told() {
    let world = World::with(&["mute"], |limits| {
        limits.hello = Duration::from_millis(300);
    });
    let error = world.ask("echo", json!(1)).await.unwrap_err();
    assert_eq!(error.code, Code::StartFailed);
    assert!(error.message.contains("did not get ready"), "{error}");
    assert_eq!(world.generation(), 1, "it is not tried again");
}

#[tokio::test]
async fn a_refused_start_says_why() {
    let world = World::with(&["refuse"], |_| {});
    let error = world.ask("echo", json!(1)).await.unwrap_err();
    assert_eq!(error.code, Code::StartFailed);
    assert_eq!(error.message, "`fake` refused to begin: no such root");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_and_the_others_go_on() {
    let world = World::with(&[], |limits| limits.grace = Duration::from_secs(2));
    world.ask("echo", json!(1)).await.unwrap();
    let late = world.call("hang", json!({}), true, Duration::from_millis(100));
    assert_eq!(late.await.unwrap_err().code, Code::Timeout);
    let log = world.ask("log", json!({})).await.unwrap();
    assert_eq!(log[4], json!(["$/cancelRequest", { "id": 2 }]));
    // It never ends the cancelled call, but it answers others: it is not stuck.
    while world.pool.status()[0].pending > 0 {
        world.ask("echo", json!(1)).await.unwrap();
    }
    assert_eq!(world.generation(), 1);
}

#[tokio::test]
async fn one_that_is_stuck_is_replaced() {
    let world = World::with(&[], |limits| limits.grace = Duration::from_millis(300));
    world.ask("echo", json!(1)).await.unwrap();
    let frozen = world.call("freeze", json!({}), true, Duration::from_millis(100));
    let (frozen, waiting) = tokio::join!(frozen, world.ask("echo", json!(2)));
    assert_eq!(frozen.unwrap_err().code, Code::Timeout);
    assert_eq!(waiting.unwrap(), 2);
    assert_eq!(world.generation(), 2);
}

#[tokio::test]
async fn notices_do_not_pile_up_for_one_that_does_not_read() {
    let world = World::new();
    world.ask("echo", json!(1)).await.unwrap();
    let frozen = world.call("freeze", json!({}), false, DEADLINE);
    let flood = async {
        let text = "x".repeat(10_000);
        while world.generation() == 1 {
            world.notify("changed", json!(text));
            tokio::task::yield_now().await;
        }
    };
    let (frozen, (), next) = tokio::join!(frozen, flood, world.ask("echo", json!(2)));
    assert_eq!(frozen.unwrap_err().code, Code::Crashed);
    assert_eq!(next.unwrap(), 2);
}

#[tokio::test]
async fn garbage_on_its_output_costs_a_process_and_no_answer() {
    for method in ["garbage", "not json", "half"] {
        let world = World::new();
        let answer = world.ask(method, json!({})).await.unwrap();
        assert!(["sane", "whole"].contains(&answer.as_str().unwrap()));
        assert_eq!(world.generation(), 2, "{method}");
    }
}

#[tokio::test]
async fn an_answer_may_be_large_but_not_too_large() {
    let world = World::new();
    let large = world.ask("large", json!({ "bytes": 1_000_000 })).await;
    assert_eq!(large.unwrap().as_str().unwrap().len(), 1_000_000);
    for (method, params) in [("large", json!({ "bytes": 1 << 20 })), ("huge", json!({}))] {
        let error = world.ask(method, params).await.unwrap_err();
        assert_eq!(error.code, Code::ResponseTooLarge);
    }
    assert_eq!(world.ask("echo", json!(3)).await.unwrap(), 3);
}
