//! Turns: what is streamed in which order, what unlocks, who is asked, and what is kept.

use std::fs;

use serde_json::{Value, json};

use super::model_server::{Act, Agent, Gate, manager_answer, memo_answer, merged, outcome, reply};
use super::world::{CHAPTER, TABLE, World, eventually, write_all};

/// The packet that steers a session.
pub(super) fn packet(world: &World, session: &str) -> Value {
    world.file(session, "instruction_packet.json")
}

/// A manager's packet with these members of its own.
pub(super) fn with_packet(number: usize, more: Value) -> String {
    let mut answer: Value = serde_json::from_str(&manager_answer(number, json!({}))).unwrap();
    answer["instruction_packet"] = merged(answer["instruction_packet"].take(), more);
    answer.to_string()
}

/// A companion that reaches a checkpoint in its first reply to a message, and not in its second.
pub(super) fn unlocks_once(world: &World) {
    world.model.on(Agent::Companion, |asked| {
        let first = asked.number % 2 == 1;
        let text = format!("Reply {}.", asked.number);
        Act::split(&reply(&text, json!({ "checkpoint_reached": first })), 9)
    });
}

#[test]
fn a_plain_turn_comes_in_order() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let turn = client.turn(&session, "hello");
    let before = [
        "token_usage",
        "companion_start",
        "companion_chunk",
        "companion_complete",
    ];
    let among = [
        "companion_start",
        "companion_chunk",
        "token_usage",
        "companion_complete",
    ];
    let after = [
        "companion_start",
        "companion_chunk",
        "companion_complete",
        "token_usage",
    ];
    let types = turn.types();
    let middle = &types[1..types.len() - 2];
    assert!(
        [before, among, after].iter().any(|order| order == middle),
        "{types:?}"
    );
    assert_eq!(types[types.len() - 2..], ["token_usage", "complete"]);
    assert_eq!(turn.shown().trim(), "Reply 1 of the companion.");
    assert_eq!(turn.index(), 1);
    assert_eq!(turn.usage("CA"), Agent::Companion.usage());
    assert_eq!(turn.usage("MA"), Agent::Memo.usage());
    assert_eq!(turn.usage("RMA"), (0, 0));
    for event in turn.of("token_usage") {
        assert_eq!(event["turn_index"], 0, "{event}");
    }
    assert_eq!(client.turn(&session, "more").index(), 2);
}

#[test]
fn text_is_shown_while_the_model_speaks() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let (first, second) = (Gate::default(), Gate::default());
    let (at_first, at_second) = (first.clone(), second.clone());
    world.model.on(Agent::Companion, move |_| {
        use super::model_server::Piece::{Hold, Text};
        Act::Say(vec![
            Text("One is here. ".into()),
            Hold(at_first.clone()),
            Text("Two too. ".into()),
            Hold(at_second.clone()),
            Text(reply("Three.", json!({}))),
        ])
    });
    let mut stream = client.say(&session, "count");
    // A blank may be the beginning of something that is not to be seen.
    let heard = |stream: &mut super::client::Stream, text: &str| {
        while super::events::shown(&stream.events).trim_end() != text {
            assert_eq!(stream.next().unwrap()["type"], "companion_chunk");
        }
    };
    stream.until("companion_start");
    heard(&mut stream, "One is here.");
    first.open();
    heard(&mut stream, "One is here. Two too.");
    second.open();
    let turn = stream.finish();
    assert_eq!(turn.shown().trim(), "One is here. Two too. Three.");
}

#[test]
fn the_outcome_is_never_shown_however_it_is_split() {
    let world = World::new();
    let client = world.serve();
    let code = "```python\nprices = {\"pear\": 2}\n```";
    let example = "```json\n{\"pear\": 2}\n```";
    let tail = outcome(json!({ "progress_record": "HIDDEN }``` \\\" words" }));
    let text = format!("Try `x`, then ``y``:\n\n{code}\n\nor\n\n{example}\n\nWhat do you see?");
    for (size, open, close) in [
        (1, "```json\n", "\n```"),
        (2, "```json\n", "\n```\n"),
        (3, "```JSON\n", "\n```\n\n"),
        (7, "```\n", "\n```"),
        (10_000, "```json\n", "\n```"),
    ] {
        // Several turns without progress would unlock.
        let session = client.create(CHAPTER);
        let said = format!("{text}\n\n{open}{tail:#}{close}");
        world
            .model
            .in_turn(Agent::Companion, vec![Act::split(&said, size)]);
        let turn = client.turn(&session, &format!("split by {size}"));
        assert_eq!(turn.shown().trim(), text, "by {size}");
        for at in 0..turn.events.len() {
            let shown = super::events::shown(&turn.events[..at]);
            assert!(text.starts_with(shown.trim_end()), "by {size}: {shown}");
        }
        let history = client.history(&session);
        let last = history.last().unwrap();
        assert_eq!(last["companion_response"].as_str().unwrap().trim(), text);
        assert_eq!(
            last["turn_outcome"]["progress_record"],
            tail["progress_record"]
        );
    }
    assert_eq!(world.model.asked(Agent::Manager).len(), 0);
}

/// Local servers leave it in the text what a model thinks aloud.
#[test]
fn what_a_model_thinks_aloud_is_no_answer() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let thinks = |draft: &str, answer: &str| format!("<think>DRAFT {draft}\n</think>\n\n{answer}");
    let reached = json!({ "checkpoint_reached": true });
    let first = thinks(&reply("No.", reached.clone()), &reply("Hi.", reached));
    let second = thinks("{}", &reply("Hi again.", json!({})));
    world.model.in_turn(
        Agent::Companion,
        vec![Act::split(&first, 3), Act::split(&second, 5)],
    );
    let long = "DRAFT ".repeat(50);
    let draft = with_packet(1, json!({ "current_focus": long }));
    let packeted = with_packet(1, json!({ "current_focus": "FINAL" }));
    let answer = thinks(&draft, &packeted);
    world.model.in_turn(Agent::Manager, vec![Act::say(answer)]);
    let answer = thinks(&memo_answer(&long), &memo_answer("# FINAL"));
    world.model.in_turn(Agent::Memo, vec![Act::say(answer)]);
    let turn = client.turn(&session, "hello");
    assert_eq!(turn.shown().trim(), "Hi again.");
    for chunk in turn.of("companion_chunk") {
        assert!(!chunk.to_string().contains("DRAFT"), "{turn:?}");
    }
    assert_eq!(packet(&world, &session)["current_focus"], "FINAL");
    assert_eq!(client.report(&session), "# FINAL");
}

/// An answer that was cut off is asked for again, and does not take the place of a whole one.
#[test]
fn half_an_answer_replaces_nothing() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    let (before, report) = (packet(&world, &session), client.report(&session));
    assert!(!report.is_empty());
    world.model.on(Agent::Companion, |_| {
        Act::say(reply("Reached.", json!({ "checkpoint_reached": true })))
    });
    let half = |text: String| {
        let at = text.find("HALF").unwrap() + "HALF".len();
        vec![Act::say(&text[..at]), Act::say(&text[..at])]
    };
    let guidance = json!({ "guidance_for_ca": "HALF of it" });
    let answers = half(with_packet(1, guidance));
    world.model.in_turn(Agent::Manager, answers);
    let answers = half(memo_answer("# HALF of it"));
    world.model.in_turn(Agent::Memo, answers);
    assert_eq!(client.turn(&session, "again").index(), 2);
    assert_eq!(packet(&world, &session), before);
    assert_eq!(client.report(&session), report);
    assert_eq!(
        world.model.asked(Agent::Manager).len(),
        2,
        "asked once more"
    );
}

#[test]
fn a_reply_without_an_outcome_is_a_reply() {
    let world = World::new();
    let client = world.serve();
    let code = "Look:\n\n```python\nprint(1)\n```";
    for said in [
        "No outcome at all.",
        code,
        "Broken.\n\n```json\n{\"checkpoint_reached\": tr",
    ] {
        world
            .model
            .in_turn(Agent::Companion, vec![Act::split(said, 4)]);
        let session = client.create(CHAPTER);
        let turn = client.turn(&session, "hello");
        assert_eq!(turn.index(), 1);
        let shown = turn.shown();
        let expected = said.split("\n\n```json").next().unwrap();
        assert_eq!(shown.trim(), expected);
        let starts = turn.of("companion_start").len();
        assert_eq!(starts, 1, "it is not said a second time: {turn:?}");
    }
    assert_eq!(
        world.model.asked(Agent::Manager).len(),
        0,
        "nothing was reached"
    );
}

#[test]
fn a_checkpoint_asks_the_manager_and_the_companion_again() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let before = packet(&world, &session);
    unlocks_once(&world);
    let turn = client.turn(&session, "I have made a list");
    assert_eq!(turn.shown().trim(), "Reply 2.");
    assert_eq!(turn.index(), 1);
    assert_eq!(turn.usage("RMA"), Agent::Manager.usage());
    let (input, output) = Agent::Companion.usage();
    assert_eq!(
        turn.usage("CA"),
        (2 * input, 2 * output),
        "both calls are counted"
    );
    let manager = turn
        .events
        .iter()
        .position(|event| event["type"] == "token_usage" && event["agent"] == "RMA");
    let again = turn
        .all_types()
        .iter()
        .rposition(|kind| *kind == "companion_start");
    assert!(manager < again, "{turn:?}");
    let said = client.said(&session);
    assert_eq!(said.len(), 1);
    assert_eq!(
        (said[0].0.as_str(), said[0].1.trim()),
        ("I have made a list", "Reply 2.")
    );
    let after = packet(&world, &session);
    let version = |packet: &Value| packet["instruction_version"].as_u64().unwrap();
    assert_eq!(
        version(&after),
        version(&before) + 1,
        "ours, not the model's"
    );
    assert_eq!(after["guidance_for_ca"], "guidance 1");
    assert_eq!(
        client.state(&session)["current_instruction_version"],
        version(&after)
    );
    let second = world.model.wait_for(Agent::Companion, 2).text();
    assert!(second.contains("guidance 1"), "{second}");
    let manager = world.model.wait_for(Agent::Manager, 1).text();
    assert!(
        manager.contains("Make a list"),
        "it knows the tasks: {manager}"
    );
    let usage = &client.history(&session)[0]["token_usage"];
    assert!(
        usage["RMA"].is_object() && usage["CA"].is_object(),
        "{usage}"
    );
}

/// Whether the manager is asked in a turn whose outcome has these members.
fn unlocks(world: &World, turn: impl FnOnce(), more: Value) -> bool {
    world.model.on(Agent::Companion, move |_| {
        Act::say(reply("Reply.", more.clone()))
    });
    let before = world.model.asked(Agent::Manager).len();
    turn();
    world.model.asked(Agent::Manager).len() > before
}

#[test]
fn each_lock_has_its_key() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let say = || {
        client.turn(&session, "next");
    };
    let lock = |until: &str| {
        let answer = with_packet(1, json!({ "lock_until": until }));
        world.model.in_turn(Agent::Manager, vec![Act::say(answer)]);
        // The companion's wish for an expert opens every lock.
        let wish = json!({ "expert_consultation_needed": true,
            "expert_consultation_reason": "a table" });
        assert!(unlocks(&world, say, wish), "{until}");
        assert_eq!(packet(&world, &session)["lock_until"], until);
    };
    lock("attempts_exceeded");
    let checkpoint = json!({ "checkpoint_reached": true });
    assert!(
        !unlocks(&world, say, checkpoint.clone()),
        "another lock's key"
    );
    let stuck = || unlocks(&world, say, json!({ "blocker_type": "none" }));
    let tries: Vec<bool> = (0..4).map(|_| stuck()).collect();
    assert!(
        tries.iter().filter(|unlocked| **unlocked).count() >= 1,
        "{tries:?}"
    );
    assert!(!tries[0], "one attempt is not many: {tries:?}");

    lock("user_uploads_suitable_dataset_or_uses_example");
    assert!(!unlocks(&world, say, json!({})));
    let sent = client.upload(&session, &[("mine.csv", TABLE)]);
    assert!([200, 201].contains(&sent.status), "{sent:?}");
    assert!(unlocks(&world, say, json!({})), "a new upload");
    lock("user_uploads_suitable_dataset_or_uses_example");
    assert!(!unlocks(&world, say, json!({})));
    let again = client.upload(&session, &[("mine.csv", "item,price\npear,2\n")]);
    assert!([200, 201].contains(&again.status), "{again:?}");
    assert!(unlocks(&world, say, json!({})), "the file, mended");

    lock("new_error_type");
    assert!(
        !unlocks(&world, say, json!({ "blocker_type": "none" })),
        "as in the digest"
    );
    assert!(unlocks(
        &world,
        say,
        json!({ "blocker_type": "core_concept" })
    ));

    lock("checkpoint_reached");
    assert!(!unlocks(&world, say, json!({})));
    assert!(unlocks(&world, say, checkpoint));
}

/// A manager's answer that asks this expert.
pub(super) fn consultation(expert: &str) -> String {
    let request = json!({
        "expert_id": expert,
        "question": "How many rows are there?",
        "context": "The learner has uploaded a table.",
        "expected_output_type": "summary",
        "scenario_id": null,
        "reasoning": "It must be counted.",
        "consulting_letter_title": "Counting rows",
    });
    manager_answer(1, json!({ "consultation_request": request }))
}

/// A manager that asks this expert, and is told what it said.
pub(super) fn consults(world: &World, expert: &'static str) {
    world.model.on(Agent::Manager, move |asked| {
        if asked.number % 2 == 1 {
            Act::say(consultation(expert))
        } else {
            let more = json!({ "expert_consultation_summary": "There are 3007 rows.",
                "guidance_for_ca": "tell of 3007 rows" });
            let answer: Value = serde_json::from_str(&with_packet(
                2,
                json!({ "guidance_for_ca": "tell of 3007 rows" }),
            ))
            .unwrap();
            Act::say(merged(answer, more).to_string())
        }
    });
}

#[test]
fn an_expert_is_consulted_and_its_skill_runs() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    unlocks_once(&world);
    consults(&world, "table_expert");
    world.model.in_turn(
        Agent::Expert,
        vec![
            Act::Call {
                name: "count_rows".into(),
                arguments: json!({ "rows": 3 }),
            },
            Act::say("I have counted 3007 rows."),
        ],
    );
    let turn = client.turn(&session, "I have uploaded a table");
    assert_eq!(turn.index(), 1);
    let started = turn.of("consultation_start");
    assert_eq!(started.len(), 1, "{turn:?}");
    assert_eq!(started[0]["expert_id"], "table_expert");
    assert!(!started[0]["title"].as_str().unwrap().is_empty());
    let done = turn.of("consultation_complete");
    assert_eq!(done.len(), 1, "{turn:?}");
    let id = done[0]["consultation_id"].as_str().unwrap();
    assert_eq!(id, "consult_0001");
    let asked = world.model.asked(Agent::Expert);
    assert_eq!(asked.len(), 2);
    assert!(asked[0].text().contains("How many rows are there?"));
    assert!(
        asked[1].body.to_string().contains("3007"),
        "what the skill gave: {asked:?}"
    );
    let manager = world.model.wait_for(Agent::Manager, 2).text();
    assert!(manager.contains("I have counted 3007 rows."), "{manager}");
    let companion = world.model.wait_for(Agent::Companion, 2).text();
    assert!(companion.contains("tell of 3007 rows"), "{companion}");
    let folder = world
        .folder(&session)
        .join("expert_workspace/consultations")
        .join(id);
    assert!(folder.is_dir(), "{}", folder.display());
    assert!(folder.read_dir().unwrap().count() > 0);
    assert_eq!(turn.shown().trim(), "Reply 2.");
}

#[test]
fn what_a_chapter_binds_to_a_consultation_holds_whatever_the_manager_says() {
    let world = World::new();
    let chapter = "curriculum/courses/basics/chapters/lists";
    write_all(
        &world.context.base.join(chapter),
        &[(
            "consultation_config.yaml",
            "available_experts: [table_expert]\nbinding_rules:\n  - expert_id: table_expert\n    \
             set:\n      task_type: scaffolding\n      allow_setup_helper_code: true\n    \
             guidance_append: Praise the table.\n  - expert_id: another\n    \
             guidance_append: Never said.\n",
        )],
    );
    let client = world.serve();
    let session = client.create(CHAPTER);
    unlocks_once(&world);
    consults(&world, "table_expert");
    let turn = client.turn(&session, "I have uploaded a table");
    assert_eq!(turn.index(), 1);
    let packet = packet(&world, &session);
    assert_eq!(
        (&packet["task_type"], &packet["allow_setup_helper_code"]),
        (&json!("scaffolding"), &json!(true)),
        "{packet}"
    );
    let guidance = packet["guidance_for_ca"].as_str().unwrap();
    assert!(guidance.contains("tell of 3007 rows"), "{guidance}");
    assert!(guidance.contains("Praise the table."), "{guidance}");
    assert!(!guidance.contains("Never said."), "{guidance}");
    let companion = world.model.wait_for(Agent::Companion, 2).text();
    assert!(companion.contains("Praise the table."), "{companion}");
}

#[test]
fn prompts_are_the_chapters_then_the_apps_then_the_machines_then_ours() {
    let mut world = World::new();
    let base = world.context.base.clone();
    let said = |name: &str, who: &str| {
        let agent = name.replace("manager", "roadmap manager");
        format!("You are the {agent}. PROMPT OF {who}.\n")
    };
    for (folder, who, names) in [
        (
            "machine",
            "MACHINE",
            ["companion", "manager", "memo"].as_slice(),
        ),
        ("app/prompts", "APP", &["companion", "manager"]),
        ("bundle/prompts", "CHAPTER", &["companion"]),
    ] {
        for name in names {
            let file = format!("{name}.md");
            write_all(&base.join(folder), &[(&file, &said(name, who))]);
        }
    }
    write_all(
        &base.join("bundle"),
        &[
            ("chapter_context.md", "# Bundled\n"),
            ("task_list.md", "- **b1** One task\n"),
            ("task_completion_principles.md", "Done is done.\n"),
        ],
    );
    world
        .context
        .set_env("MAIN_AGENTS_DIR", base.join("machine"));
    // Texts for chapters that have none of their own.
    let templates = [("socratic_vs_direct.md", "TEMPLATE: ask first, then tell.\n")];
    write_all(&base.join("templates"), &templates);
    world
        .context
        .set_env("CURRICULUM_TEMPLATES_DIR", base.join("templates"));
    let client = world.serve();
    let context = json!({ "bundle_paths": {
        "chapter_bundle_path": base.join("bundle"),
        "app_agents_path": base.join("app"),
    } });
    let bundled =
        client.create_with(json!({ "chapter_id": "bundled", "desktop_context": context }));
    unlocks_once(&world);
    assert_eq!(client.turn(&bundled, "hello").index(), 1);
    for (agent, name, who) in [
        (Agent::Companion, "companion", "CHAPTER"),
        (Agent::Manager, "manager", "APP"),
        (Agent::Memo, "memo", "MACHINE"),
    ] {
        let text = world.model.wait_for(agent, 1).text();
        assert!(text.contains(said(name, who).trim()), "{name}: {text}");
        assert_eq!(text.matches("PROMPT OF").count(), 1, "{name}: {text}");
    }
    // Of a session without bundles the machine's folder is asked, and what nobody overrides is ours.
    let asked = world.model.asked(Agent::Companion).len();
    let plain = client.create(CHAPTER);
    client.turn(&plain, "hello");
    let text = world.model.wait_for(Agent::Companion, asked + 1).text();
    assert!(text.contains(said("companion", "MACHINE").trim()), "{text}");
    // A prompt of its own may leave them out; ours does not.
    world.context.set_env("MAIN_AGENTS_DIR", "");
    drop(client);
    let client = world.serve();
    let asked = world.model.asked(Agent::Companion).len();
    client.turn(&client.create(CHAPTER), "hello");
    let text = world.model.wait_for(Agent::Companion, asked + 1).text();
    assert!(text.contains("TEMPLATE: ask first"), "{text}");
}

#[test]
fn an_expert_that_fails_or_may_not_be_asked_lets_the_turn_go_on() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    unlocks_once(&world);
    consults(&world, "table_expert");
    world.model.on(Agent::Expert, |_| Act::refuse(401, "no"));
    let turn = client.turn(&session, "look at it");
    assert_eq!(turn.of("consultation_error").len(), 1, "{turn:?}");
    assert_eq!(turn.index(), 1);
    assert!(!turn.shown().trim().is_empty());
    // One that the chapter does not offer is not even asked.
    let before = world.model.asked(Agent::Expert).len();
    consults(&world, "stranger");
    let turn = client.turn(&session, "ask a stranger");
    assert_eq!(turn.of("consultation_complete").len(), 0, "{turn:?}");
    assert_eq!(turn.index(), 2);
    assert_eq!(world.model.asked(Agent::Expert).len(), before);
}

#[test]
fn a_memo_agent_that_fails_costs_no_turn() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    let report = client.report(&session);
    let digest = world.file(&session, "memo_digest.json");
    for act in [
        Act::refuse(401, "no"),
        Act::say("I would rather not."),
        Act::say("{\"digest\":"),
    ] {
        world.model.on(Agent::Memo, move |_| act.clone());
        let before = client.history(&session).len() as u64;
        let turn = client.turn(&session, "again");
        assert_eq!(turn.index(), before + 1);
        assert_eq!(client.report(&session), report);
        assert_eq!(world.file(&session, "memo_digest.json"), digest);
    }
    world
        .model
        .on(Agent::Memo, |_| Act::say(memo_answer("# Better")));
    client.turn(&session, "and again");
    assert_eq!(client.report(&session), "# Better");
}

#[test]
fn a_companion_that_fails_leaves_the_session_as_it_was() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    let (turns, state) = (world.turns(&session), client.state(&session));
    let half = vec![super::model_server::Piece::Text("Half of a rep".into())];
    for act in [
        Act::refuse(401, "no"),
        Act::refuse(400, "bad"),
        Act::Break(half),
    ] {
        world.model.on(Agent::Companion, move |_| act.clone());
        let turn = client.turn(&session, "will you answer?");
        assert_eq!(turn.of("llm_error").len(), 1, "{turn:?}");
        assert_eq!(turn.types().last(), Some(&"complete"));
        assert_eq!(turn.index(), 1, "the index did not change");
        assert_eq!(world.turns(&session), turns);
        assert_eq!(client.state(&session), state);
    }
    world.model.on(Agent::Companion, |_| {
        Act::say(reply("Here again.", json!({})))
    });
    assert_eq!(client.turn(&session, "now?").index(), 2);
    let third = world.model.asked(Agent::Companion);
    let text = third.last().unwrap().text();
    assert!(
        !text.contains("will you answer?"),
        "what failed was not said: {text}"
    );
}

#[test]
fn an_answer_with_broken_json_is_asked_for_once_more() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    unlocks_once(&world);
    world.model.in_turn(
        Agent::Manager,
        vec![
            Act::say("Let me think."),
            Act::say(manager_answer(9, json!({}))),
        ],
    );
    let turn = client.turn(&session, "done");
    assert_eq!(packet(&world, &session)["guidance_for_ca"], "guidance 9");
    let (input, output) = Agent::Manager.usage();
    assert_eq!(
        turn.usage("RMA"),
        (2 * input, 2 * output),
        "both calls are counted"
    );
    // What is only a little wrong is understood at once.
    let loose = format!(
        "Sure!\n```json\n{}\n```\nGood luck",
        manager_answer(5, json!({}))
    )
    .replace("\"nice_check\":[],", "\"nice_check\":[],\n// nothing\n");
    world.model.in_turn(Agent::Manager, vec![Act::say(loose)]);
    let before = world.model.asked(Agent::Manager).len();
    client.turn(&session, "done again");
    assert_eq!(packet(&world, &session)["guidance_for_ca"], "guidance 5");
    assert_eq!(world.model.asked(Agent::Manager).len(), before + 1);
}

#[test]
fn what_was_said_before_is_remembered() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    world.model.on(Agent::Companion, |asked| {
        Act::say(reply(&format!("ANSWER-{}", asked.number), json!({})))
    });
    client.turn(&session, "FIRST-QUESTION");
    client.turn(&session, "SECOND-QUESTION");
    let text = world.model.wait_for(Agent::Companion, 2).text();
    for part in ["FIRST-QUESTION", "ANSWER-1", "SECOND-QUESTION"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let memo = world.model.wait_for(Agent::Memo, 2).text();
    assert!(memo.contains("ANSWER-2"), "{memo}");
    let text = world.model.wait_for(Agent::Companion, 1).text();
    assert!(
        text.contains("adds them up"),
        "the chapter's context: {text}"
    );
}

#[test]
fn every_fifth_turn_the_errors_are_summed_up() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    world.model.on(Agent::Memo, |asked| {
        let mut answer: Value = serde_json::from_str(&memo_answer("# Report")).unwrap();
        answer["error_entries"] = json!([{ "turn_index": asked.number - 1,
            "error_type": "coding", "description": format!("SLIP-{}", asked.number),
            "context": "a list" }]);
        Act::say(answer.to_string())
    });
    for turn in 1..=5 {
        assert_eq!(client.turn(&session, "next").index(), turn);
    }
    let summary = world.folder(&session).join("student_error_summary.md");
    let text = eventually("the summary", || fs::read_to_string(&summary).ok());
    for slip in 1..=5 {
        assert!(text.contains(&format!("SLIP-{slip}")), "{text}");
    }
}

#[test]
fn a_session_is_on_disk_as_the_contract_says() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    client.end(&session);
    let folder = world.folder(&session);
    for name in [
        "session_state.json",
        "instruction_packet.json",
        "memo_digest.json",
        "memory_state.json",
        "session_paths.json",
        "workspace_sources.json",
    ] {
        assert!(world.file(&session, name).is_object(), "{name}");
    }
    for name in ["dynamic_report.md", "final_learning_report.md"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    for name in ["user_workspace", "working_files"] {
        assert!(folder.join(name).is_dir(), "{name}");
    }
    let events = fs::read_to_string(folder.join("system_events.jsonl")).unwrap();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["at"].is_string() && event["event"].is_string());
    }
    assert!(events.contains("\"session_ended\""), "{events}");
    let turns = world.turns(&session);
    let names: Vec<&str> = turns.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "000_companion.txt",
        "000_token_usage.json",
        "000_turn_outcome.json",
        "000_user.txt",
    ];
    assert_eq!(names, expected);
    assert_eq!(turns[0].1.trim(), "Reply 1 of the companion.");
    assert_eq!(turns[3].1, "hello");
    let state = world.file(&session, "session_state.json");
    assert_eq!(
        (&state["turn_index"], &state["session_id"]),
        (&json!(1), &json!(session))
    );
    // What is said to a model is for nobody else on this machine: others pass through the folder
    // to where code runs, and find nothing on their way.
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&folder) & 0o066, 0, "{:o}", mode(&folder));
    for name in [
        "session_state.json",
        "turns/000_user.txt",
        "dynamic_report.md",
    ] {
        let path = folder.join(name);
        assert_eq!(mode(&path) & 0o077, 0, "{name}: {:o}", mode(&path));
    }
}
