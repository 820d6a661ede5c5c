//! Turns that are cancelled, turns at the same time, and readers that go and come back.

use std::path::Path;

use pillion_testing::web::read_head;
use serde_json::json;

use super::client::detail;
use super::model_server::{Act, Agent, Ended, Gate, reply};
use super::turns::{consultation, packet, unlocks_once};
use super::world::{CHAPTER, World, eventually, files_below, write_all};

#[test]
fn a_cancelled_turn_aborts_the_model_and_leaves_nothing() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    let before = (
        world.turns(&session),
        client.state(&session),
        client.report(&session),
    );
    world.model.held("Begun. ", "Never said.");
    let mut stream = client.say(&session, "CANCEL-ME");
    stream.until("companion_chunk");
    client.cancel(&session);
    let turn = stream.finish();
    assert_eq!(turn.types().last(), Some(&"cancelled"), "{turn:?}");
    // The gate stayed shut: the connection was closed from the other side.
    world
        .model
        .wait_for(Agent::Companion, 2)
        .wait_for_end(Ended::Left);
    let after = (
        world.turns(&session),
        client.state(&session),
        client.report(&session),
    );
    assert_eq!(after, before);
    assert_eq!(
        world.places_of("CANCEL-ME"),
        Vec::<std::path::PathBuf>::new()
    );
    world
        .model
        .on(Agent::Companion, |_| Act::say(reply("Fine.", json!({}))));
    let next = client.turn(&session, "and now?");
    assert_eq!(next.index(), 2);
    let text = world.model.wait_for(Agent::Companion, 3).text();
    assert!(!text.contains("CANCEL-ME"), "nobody is told of it: {text}");
    assert_eq!(world.model.asked(Agent::Manager).len(), 0);
}

#[test]
fn a_turn_is_cancelled_wherever_it_is() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    unlocks_once(&world);
    // A model that does not even begin to answer.
    world.model.on(Agent::Companion, |_| Act::Silence);
    let stream = client.say(&session, "nobody answers");
    world.model.wait_for(Agent::Companion, 1);
    client.cancel(&session);
    assert_eq!(stream.finish().types().last(), Some(&"cancelled"));
    world
        .model
        .wait_for(Agent::Companion, 1)
        .wait_for_end(Ended::Left);
    // A model that asks to be left alone for a while.
    world.model.on(Agent::Companion, |_| Act::Refuse {
        status: 429,
        retry_after: Some("30"),
        body: "{}".into(),
    });
    let stream = client.say(&session, "busy");
    world
        .model
        .wait_for(Agent::Companion, 2)
        .wait_for_end(Ended::Answered);
    client.cancel(&session);
    assert_eq!(stream.finish().types().last(), Some(&"cancelled"));
    // The manager, who is unseen.
    world.model.on(Agent::Companion, |_| {
        Act::say(reply("Reached.", json!({ "checkpoint_reached": true })))
    });
    world.model.on(Agent::Manager, |_| Act::Silence);
    let stream = client.say(&session, "unlock");
    let manager = world.model.wait_for(Agent::Manager, 1);
    client.cancel(&session);
    assert_eq!(stream.finish().types().last(), Some(&"cancelled"));
    manager.wait_for_end(Ended::Left);
    assert_eq!(client.history(&session).len(), 0);
    assert_eq!(world.turns(&session), Vec::new());
    let companions = world.model.asked(Agent::Companion).len();
    assert_eq!(companions, 3, "and nothing was tried again");
}

/// A desktop may send `cancel` right behind the message, while the session is still being read.
#[test]
fn a_turn_is_cancelled_before_it_has_begun() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let gate = world.model.held("Begun. ", "On.");
    // Reading the report waits for somebody who writes.
    let report = world.folder(&session).join("dynamic_report.md");
    std::fs::remove_file(&report).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &report, pipe, mode, 0).unwrap();
    let turn = std::thread::scope(|scope| {
        let turn = scope.spawn(|| client.say(&session, "TOO-EARLY").finish());
        let writer = eventually("the turn to read its session", || {
            let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
            rustix::fs::open(&report, flags, rustix::fs::Mode::empty()).ok()
        });
        let path = format!("/api/session/{session}/message/cancel");
        let mut cancelled = client.web.open("POST", &path, &[], "");
        client.sessions();
        drop(writer);
        assert_eq!(read_head(&mut cancelled).0, 200);
        gate.open();
        turn.join().unwrap()
    });
    assert_eq!(turn.types().last(), Some(&"cancelled"), "{turn:?}");
    assert_eq!(world.turns(&session), Vec::new());
    assert_eq!(client.state(&session)["turn_index"], 0);
}

#[test]
fn a_consultation_is_cancelled_with_its_turn() {
    let world = World::new();
    let skill = "def run(**_):\n    while True: pass\n";
    let expert = world.context.base.join("experts/table_expert");
    write_all(&expert, &[("skills/count_rows.py", skill)]);
    let client = world.serve();
    let session = client.create(CHAPTER);
    let before = (client.state(&session), packet(&world, &session));
    let consultations = world.folder(&session).join("expert_workspace");
    world.model.on(Agent::Companion, |_| {
        Act::say(reply("Reached.", json!({ "checkpoint_reached": true })))
    });
    world
        .model
        .on(Agent::Manager, |_| Act::say(consultation("table_expert")));
    let call = Act::Call {
        name: "count_rows".into(),
        arguments: json!({ "rows": 3 }),
    };
    // An expert whose model says nothing, and one whose skill never ends.
    for (at, (act, ended)) in [(Act::Silence, Ended::Left), (call, Ended::Answered)]
        .into_iter()
        .enumerate()
    {
        world.model.on(Agent::Expert, move |_| act.clone());
        let mut stream = client.say(&session, "CANCEL-ME");
        stream.until("consultation_start");
        let asked = world.model.wait_for(Agent::Expert, at + 1);
        if ended == Ended::Answered {
            asked.wait_for_end(ended);
        }
        client.cancel(&session);
        asked.wait_for_end(ended);
        let turn = stream.finish();
        assert_eq!(turn.types().last(), Some(&"cancelled"), "{turn:?}");
        assert_eq!(turn.of("consultation_complete").len(), 0, "{turn:?}");
        let after = (client.state(&session), packet(&world, &session));
        assert_eq!(after, before);
        // Its name is free at once; what was in its folder goes behind the answer.
        let named = |path: &Path| path.to_string_lossy().contains("/consult_");
        let left = files_below(&consultations);
        assert!(!left.iter().any(|path| named(path)), "{left:?}");
        eventually("the consultation to be gone", || {
            files_below(&consultations).is_empty().then_some(())
        });
    }
    assert_eq!(world.turns(&session), Vec::new());
    assert_eq!(
        world.places_of("CANCEL-ME"),
        Vec::<std::path::PathBuf>::new()
    );
    world
        .model
        .on(Agent::Companion, |_| Act::say(reply("Fine.", json!({}))));
    assert_eq!(client.turn(&session, "and now?").index(), 1);
}

#[test]
fn a_second_reply_is_cancelled_with_the_first() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let before = packet(&world, &session);
    world.model.in_turn(
        Agent::Companion,
        vec![
            Act::say(reply("Reached.", json!({ "checkpoint_reached": true }))),
            Act::held("Second. ", &Gate::default(), ""),
        ],
    );
    let mut stream = client.say(&session, "unlock");
    stream.until("companion_start");
    stream.until("companion_start");
    client.cancel(&session);
    world
        .model
        .wait_for(Agent::Companion, 2)
        .wait_for_end(Ended::Left);
    assert_eq!(stream.finish().types().last(), Some(&"cancelled"));
    assert_eq!(client.history(&session).len(), 0);
    assert_eq!(
        packet(&world, &session),
        before,
        "the manager's is not kept"
    );
    assert_eq!(client.state(&session)["turn_index"], 0);
}

#[test]
fn a_silent_model_is_waited_for_with_comments() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    world.model.on(Agent::Companion, |_| Act::Silence);
    let mut stream = client.say(&session, "nobody answers");
    stream.until("start");
    stream.until_comment();
    client.cancel(&session);
    let turn = stream.finish();
    assert_eq!(turn.types(), ["start", "cancelled"], "{turn:?}");
}

#[test]
fn the_memo_does_not_hold_up_a_cancel_nor_cost_the_turn() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    world.model.on(Agent::Memo, |_| Act::Silence);
    let mut stream = client.say(&session, "kept");
    let memo = world.model.wait_for(Agent::Memo, 1);
    stream.until("companion_complete");
    client.cancel(&session);
    memo.wait_for_end(Ended::Left);
    let turn = stream.finish();
    // What was committed stays, and is not called cancelled.
    let kept = client.history(&session).len();
    let expected = if turn.types().last() == Some(&"complete") {
        1
    } else {
        0
    };
    assert_eq!(kept, expected, "{turn:?}");
    let index = client.state(&session)["turn_index"].as_u64().unwrap();
    assert_eq!(index, kept as u64);
    world.model.on(Agent::Memo, |_| Act::refuse(401, ""));
    assert_eq!(client.turn(&session, "next").index(), kept as u64 + 1);
}

#[test]
fn cancel_is_answered_whether_or_not_there_is_a_turn() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.cancel(&session);
    client.cancel(&session);
    assert_eq!(
        client.turn(&session, "hello").index(),
        1,
        "the next turn is not meant"
    );
    client.cancel(&session);
    assert_eq!(client.turn(&session, "again").index(), 2);
}

#[test]
fn one_turn_at_a_time() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let gate = world.model.held("First. ", &reply("Done.", json!({})));
    let mut first = client.say(&session, "first");
    first.until("companion_chunk");
    for _ in 0..3 {
        let refused = client.try_say(&session, "second").err().unwrap();
        detail(&refused, 409);
        assert_eq!(refused.json()["code"], "conflict");
    }
    // Reading is not held up by it.
    assert_eq!(client.history(&session).len(), 0);
    assert_eq!(client.state(&session)["turn_index"], 0);
    gate.open();
    assert_eq!(first.finish().index(), 1);
    assert_eq!(world.model.asked(Agent::Companion).len(), 1);
    assert_eq!(client.turn(&session, "second").index(), 2);
    let said: Vec<String> = client
        .said(&session)
        .into_iter()
        .map(|(said, _)| said)
        .collect();
    assert_eq!(said, ["first", "second"]);
}

#[test]
fn a_reader_that_goes_does_not_take_the_turn_along() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let gate = world.model.held("Begun. ", &reply("And ended.", json!({})));
    let mut stream = client.say(&session, "do not wait for me");
    stream.until("companion_chunk");
    drop(stream);
    gate.open();
    eventually("the turn", || {
        (client.history(&session).len() == 1).then_some(())
    });
    assert_eq!(client.said(&session)[0].1.trim(), "Begun. And ended.");
    world
        .model
        .wait_for(Agent::Companion, 1)
        .wait_for_end(Ended::Answered);
    eventually("the report", || {
        (!client.report(&session).is_empty()).then_some(())
    });
}

#[test]
fn who_comes_back_reads_on_from_where_it_was() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let gate = world.model.held("Begun. ", &reply("And ended.", json!({})));
    let mut stream = client.say(&session, "wait for me");
    stream.until("companion_chunk");
    let seen = std::mem::take(&mut stream.events);
    drop(stream);
    // Twice, and once from the beginning.
    let again = client.come_back(&session, seen.len());
    let other = client.come_back(&session, seen.len());
    let whole = client.come_back(&session, 0);
    gate.open();
    let (again, other, whole) = (again.rest(), other.rest(), whole.finish());
    assert_eq!(again, other);
    let joined: Vec<_> = seen.iter().chain(&again).cloned().collect();
    assert_eq!(joined, whole.events);
    assert_eq!(whole.index(), 1);
    assert_eq!(whole.shown().trim(), "Begun. And ended.");
    assert_eq!(client.said(&session).len(), 1);
    assert_eq!(world.model.asked(Agent::Companion).len(), 1);
    // Also soon after the end.
    let late = client.come_back(&session, seen.len()).rest();
    assert_eq!(late, again);
}

#[test]
fn a_cancel_by_another_client_ends_everybodys_stream() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    world.model.on(Agent::Companion, |_| {
        Act::held("Begun. ", &Gate::default(), "")
    });
    let mut stream = client.say(&session, "hello");
    stream.until("companion_chunk");
    let other = client.come_back(&session, 0);
    client.cancel(&session);
    assert_eq!(stream.finish().types().last(), Some(&"cancelled"));
    assert_eq!(other.finish().types().last(), Some(&"cancelled"));
    let left = files_below(&world.folder(&session).join("turns"));
    assert!(left.is_empty(), "{left:?}");
}
