//! Sessions that go on: after a restart, and as a desktop has written them down itself.

use serde_json::{Value, json};

use super::client::{detail, good};
use super::model_server::{Act, Agent, reply};
use super::world::{CHAPTER, World, write_all};

#[test]
fn a_session_goes_on_after_a_restart() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.turn(&session, "before");
    let already = good(&client.reattach(&session, json!({})));
    assert_eq!(already["status"], "already_attached", "{already}");
    let (history, state, report) = (
        client.history(&session),
        client.state(&session),
        client.report(&session),
    );
    drop(client);
    let client = world.serve();
    let again = good(&client.reattach(&session, json!({})));
    assert_eq!(again["status"], "reattached", "{again}");
    let again = good(&client.reattach(&session, json!({})));
    assert_eq!(again["status"], "already_attached", "{again}");
    assert_eq!(client.history(&session), history);
    assert_eq!(client.state(&session), state);
    assert_eq!(client.report(&session), report);
    assert_eq!(client.turn(&session, "after").index(), 2);
    let asked = world.model.asked(Agent::Companion);
    assert!(
        asked.last().unwrap().text().contains("before"),
        "it is remembered"
    );
}

#[test]
fn what_a_desktop_has_written_is_a_session() {
    let world = World::new();
    let client = world.serve();
    // While the server runs, as a desktop does it.
    world.write_session(
        "restored",
        &[("one?", "ONE-ANSWER"), ("two?", "TWO-ANSWER")],
    );
    let attached = good(&client.reattach("restored", json!({})));
    assert_eq!(attached["status"], "reattached", "{attached}");
    let history = client.history("restored");
    let expected = [("one?", "ONE-ANSWER"), ("two?", "TWO-ANSWER")];
    assert_eq!(history.len(), 2);
    for (at, (message, answer)) in expected.iter().enumerate() {
        let turn = &history[at];
        assert_eq!(turn["turn_index"], at);
        assert_eq!(
            (&turn["user_message"], &turn["companion_response"]),
            (&json!(message), &json!(answer))
        );
        assert_eq!(turn["turn_outcome"], json!({}));
    }
    assert_eq!(client.report("restored"), "# Restored\n");
    let state = client.state("restored");
    assert_eq!(state["turn_index"], 2);
    assert_eq!(state["subtask_status"]["t1"]["status"], "completed");
    assert!(
        client
            .sessions()
            .iter()
            .any(|one| one["session_id"] == "restored")
    );
    let turn = client.turn("restored", "three?");
    assert_eq!(turn.index(), 3);
    let text = world.model.wait_for(Agent::Companion, 1).text();
    for part in ["TWO-ANSWER", "ask for the sum", "three?"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        world
            .turns("restored")
            .iter()
            .filter(|(name, _)| name.starts_with("002"))
            .count(),
        4
    );
    assert_eq!(
        world.file("restored", "instruction_packet.json")["instruction_version"],
        4
    );
    assert!(
        world.file("restored", "memo_digest.json").is_object(),
        "it was missing before"
    );
}

/// The old server's files begin with 1.
#[test]
fn turns_that_are_counted_from_one_are_read_and_go_on() {
    let world = World::new();
    world.write_session("old", &[("one?", "ONE"), ("two?", "TWO")]);
    let turns = world.folder("old").join("turns");
    for at in [1, 0] {
        for rest in ["user.txt", "companion.txt", "turn_outcome.json"] {
            let (from, to) = (format!("{at:03}_{rest}"), format!("{:03}_{rest}", at + 1));
            std::fs::rename(turns.join(from), turns.join(to)).unwrap();
        }
    }
    let client = world.serve();
    good(&client.reattach("old", json!({})));
    let said = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = texts
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        owned.collect()
    };
    assert_eq!(
        client.said("old"),
        said(&[("one?", "ONE"), ("two?", "TWO")])
    );
    world
        .model
        .on(Agent::Companion, |_| Act::say(reply("THREE", json!({}))));
    assert_eq!(client.turn("old", "three?").index(), 3);
    let expected = said(&[("one?", "ONE"), ("two?", "TWO"), ("three?", "THREE")]);
    assert_eq!(client.said("old"), expected);
}

#[test]
fn what_is_missing_or_unknown_in_a_written_session_does_no_harm() {
    let world = World::new();
    world.write_session("bare", &[("one?", "one")]);
    let folder = world.folder("bare");
    // As little as there may be, and what a newer desktop may add.
    let state = json!({ "session_id": "bare", "chapter_id": CHAPTER, "turn_index": 1,
        "subtask_status": { "t1": { "status": "in_progress" } }, "of_tomorrow": { "kept": 1 } });
    write_all(&folder, &[("session_state.json", &state.to_string())]);
    std::fs::remove_file(folder.join("dynamic_report.md")).unwrap();
    std::fs::remove_file(folder.join("instruction_packet.json")).unwrap();
    let client = world.serve();
    good(&client.reattach("bare", json!({})));
    assert_eq!(client.report("bare"), "");
    assert_eq!(client.turn("bare", "two?").index(), 2);
    let state = world.file("bare", "session_state.json");
    assert_eq!(
        state["of_tomorrow"],
        json!({ "kept": 1 }),
        "what others wrote stays"
    );
    assert_eq!(
        client.said("bare")[0],
        ("one?".to_owned(), "one".to_owned())
    );
}

/// What a desktop does not have it may write as `null`, and its own record of paths means what
/// it means to the desktop.
#[test]
fn what_a_desktop_writes_in_its_own_way_is_read() {
    let world = World::new();
    let client = world.serve();
    let names = [
        "instruction_packet.json",
        "memo_digest.json",
        "memory_state.json",
        "workspace_sources.json",
        "session_paths.json",
        "turns/000_turn_outcome.json",
        "turns/000_token_usage.json",
    ];
    let packet = json!({ "current_focus": "sums", "must_check": ["t1"],
        "recommended_targets": ["t2"], "instruction_version": 4 });
    let packet = packet.to_string();
    let paths = json!({ "created_at": 1_700_000_000, "seen_uploads": null, "overlay": { "a": 1 },
        "desktop_context": "of its own", "turns": "/somewhere" });
    let state = "\u{feff}".to_owned()
        + &json!({ "chapter_id": CHAPTER, "turn_index": 1, "skip_log": null }).to_string();
    let own = [
        ("instruction_packet.json", packet.as_str()),
        ("session_paths.json", &paths.to_string()),
        ("session_state.json", &state),
    ];
    for (session, files) in [
        ("nulls", names.map(|name| (name, "null")).to_vec()),
        ("own", own.to_vec()),
    ] {
        world.write_session(session, &[("one?", "ONE-ANSWER")]);
        write_all(&world.folder(session), &files);
        let attached = good(&client.reattach(session, json!({})));
        assert_eq!(attached["status"], "reattached", "{attached}");
        assert_eq!(client.history(session).len(), 1);
        assert_eq!(client.turn(session, "two?").index(), 2, "{session}");
        good(&client.skip(session, json!({})));
        client.end(session);
    }
    let packet = world.model.wait_for(Agent::Companion, 2).text();
    assert!(packet.contains("sums"), "{packet}");
    assert_eq!(
        world.file("own", "session_paths.json")["turns"],
        "/somewhere"
    );
}

/// A desktop whose page was loaded anew says what it said before, while its turn goes on.
#[test]
fn whoever_comes_back_in_the_middle_of_a_turn_is_let_in() {
    let world = World::new();
    let client = world.serve();
    let gate = world.model.held("Begun. ", &reply("Done.", json!({})));
    let context = json!({ "bundle_paths": {}, "chapter_scope": { "course_id": "basics" } });
    let session = client.create_with(json!({ "chapter_id": CHAPTER, "desktop_context": context }));
    let mut stream = client.say(&session, "hello");
    stream.until("companion_chunk");
    for body in [
        json!({}),
        json!({ "desktop_context": context }),
        json!({ "desktop_context": context, "auth_token": "tok" }),
    ] {
        let attached = good(&client.reattach(&session, body));
        assert_eq!(attached["status"], "already_attached", "{attached}");
    }
    // Something else would change the session under its turn.
    let other = json!({ "desktop_context": { "bundle_paths": {} } });
    detail(&client.reattach(&session, other), 409);
    let mut follower = client.come_back(&session, 0);
    follower.until("companion_chunk");
    gate.open();
    assert_eq!(stream.finish().index(), 1);
    assert_eq!(follower.finish().index(), 1);
}

#[test]
fn a_context_that_does_not_resolve_changes_nothing() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    let paths = world.file(&session, "session_paths.json");
    let wrong = json!({ "desktop_context": { "bundle_paths": {
        "chapter_bundle_path": world.context.path("nowhere"), "expert_bundle_paths": {} } } });
    let reply = client.reattach(&session, wrong.clone());
    assert!((400..500).contains(&reply.status), "{reply:?}");
    assert_eq!(world.file(&session, "session_paths.json"), paths);
    assert_eq!(client.turn(&session, "still there?").index(), 2);
    drop(client);
    let client = world.serve();
    let reply = client.reattach(&session, wrong);
    assert!((400..500).contains(&reply.status), "{reply:?}");
    good(&client.reattach(&session, json!({})));
    assert_eq!(client.turn(&session, "and now?").index(), 3);
    for body in [json!([]), json!(3)] {
        assert_eq!(client.reattach(&session, body).status, 422);
    }
}

#[test]
fn an_unreadable_state_is_told_and_left_alone() {
    let world = World::new();
    world.write_session("broken", &[("one?", "one")]);
    let broken = "{\"session_id\": \"bro";
    write_all(&world.folder("broken"), &[("session_state.json", broken)]);
    let client = world.serve();
    let turn = client.turn("broken", "hello");
    assert_eq!(turn.all_types().last(), Some(&"error"), "{turn:?}");
    let state = client.get("/api/session/broken/state");
    assert!((400..600).contains(&state.status), "{state:?}");
    assert!(state.json()["detail"].is_string(), "{state:?}");
    let text = std::fs::read_to_string(world.folder("broken").join("session_state.json"));
    assert_eq!(text.unwrap(), broken, "left for somebody who can mend it");
    assert_eq!(world.model.all().len(), 0);
    // Others are not touched by it.
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    assert!(!client.sessions().is_empty());
}

#[test]
fn a_session_keeps_the_content_that_it_began_with() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let chapter = world
        .context
        .base
        .join("curriculum/courses/basics/chapters/lists");
    write_all(&chapter, &[("task_list.md", "- **n1** Another task\n")]);
    world
        .model
        .on(Agent::Companion, |_| Act::say(reply("Yes.", json!({}))));
    client.turn(&session, "which tasks are there?");
    let text = world.model.wait_for(Agent::Companion, 1).text();
    assert!(text.contains("Add it up"), "{text}");
    let old: Value = client.state(&session)["subtask_status"].clone();
    assert!(old.get("n1").is_none() && old.get("t1").is_some(), "{old}");
    let newer = client.create(CHAPTER);
    let new = &client.state(&newer)["subtask_status"];
    assert!(new.get("n1").is_some() && new.get("t1").is_none(), "{new}");
    detail(&client.skip(&session, json!({ "subtask_id": "n1" })), 404);
}
