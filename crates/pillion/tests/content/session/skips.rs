//! Skipping tasks.

use serde_json::{Value, json};

use super::client::{detail, good, refused};
use super::model_server::{Act, Agent, manager_answer, reply};
use super::turns::unlocks_once;
use super::world::{CHAPTER, World};

/// The status of each task.
fn statuses(state: &Value) -> Vec<&str> {
    let of = |task: &str| state["subtask_status"][task]["status"].as_str().unwrap();
    vec![of("t1"), of("t2"), of("t3")]
}

#[test]
fn tasks_are_skipped_one_after_the_other() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let first = good(&client.skip(&session, json!({ "reason": "已掌握" })));
    assert_eq!(first["skipped_task_id"], "t1", "{first}");
    assert_eq!(first["skipped_task_title"], "Make a list", "{first}");
    assert_eq!(first["next_task_id"], "t2");
    assert!(first["next_task_focus"].is_string(), "{first}");
    assert_eq!(first["needs_reason"], false);
    assert_eq!(first["consecutive_skips"], 1);
    assert_eq!(first["all_tasks_done"], false);
    assert_eq!(first["subtask_status"]["t1"]["status"], "skipped");
    assert!(first["subtask_status"]["t1"]["evidence"].is_array());
    assert_eq!(statuses(&client.state(&session))[0], "skipped");
    // One that is named; a reason is not needed yet.
    let third = good(&client.skip(&session, json!({ "subtask_id": "t3" })));
    assert_eq!(third["skipped_task_id"], "t3", "{third}");
    assert_eq!(third["consecutive_skips"], 2);
    let before = client.state(&session);
    let asked = good(&client.skip(&session, json!({})));
    assert_eq!(asked["needs_reason"], true, "{asked}");
    let after = client.state(&session);
    assert_eq!(statuses(&after), statuses(&before), "nothing changed");
    assert_eq!(after["consecutive_skips"], 2);
    let last = good(&client.skip(
        &session,
        json!({ "reason": "other", "reason_text": "no time" }),
    ));
    assert_eq!(last["skipped_task_id"], "t2", "{last}");
    assert_eq!(last["all_tasks_done"], true);
    assert_eq!(last["next_task_id"], Value::Null);
    let state = client.state(&session);
    assert_eq!(statuses(&state), ["skipped"; 3]);
    assert_eq!(state["skip_log"].as_array().unwrap().len(), 3, "{state}");
    detail(&client.skip(&session, json!({ "reason": "mastered" })), 409);
}

#[test]
fn reasons_have_names_in_two_languages_and_no_others() {
    let world = World::new();
    let client = world.serve();
    for (chinese, english) in [
        ("已掌握", "mastered"),
        ("不感兴趣", "not_interested"),
        ("太难了", "too_hard"),
        ("太啰嗦", "too_wordy"),
        ("其他", "other"),
    ] {
        for reason in [chinese, english] {
            let session = client.create("alone");
            let body = json!({ "reason": reason, "reason_text": "因为" });
            let skipped = good(&client.skip(&session, body));
            assert_eq!(skipped["skipped_task_id"], "only", "{reason}: {skipped}");
        }
    }
    let session = client.create(CHAPTER);
    let place = |name: &str| [json!(["body", name])];
    let wrong = |body: Value| refused(&client.skip(&session, body));
    assert_eq!(wrong(json!({ "reason": "bored" })), place("reason"));
    assert_eq!(wrong(json!({ "reason": 3 })), place("reason"));
    let told = client.skip(&session, json!({ "reason": "bored" })).json();
    assert_eq!(told["detail"][0]["input"], "bored", "{told}");
    let long = "因".repeat(201);
    let body = json!({ "reason": "other", "reason_text": long });
    assert_eq!(wrong(body), place("reason_text"));
    for body in [
        json!({ "reason": "other" }),
        json!({ "reason": "其他", "reason_text": " " }),
    ] {
        assert_eq!(client.skip(&session, body).status, 422);
    }
    detail(&client.skip(&session, json!({ "subtask_id": "t9" })), 404);
    assert!(!statuses(&client.state(&session)).contains(&"skipped"));
    let most = json!({ "reason": "other", "reason_text": "因".repeat(200), "subtask_id": "t2" });
    good(&client.skip(&session, most));
    detail(
        &client.skip(
            &session,
            json!({ "subtask_id": "t2", "reason": "mastered" }),
        ),
        409,
    );
}

#[test]
fn progress_between_two_skips_begins_the_count_anew() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    good(&client.skip(&session, json!({})));
    good(&client.skip(&session, json!({})));
    let shown = json!({ "evidence_for_subtasks":
        [{ "subtask_id": "t3", "evidence": "explained half of it" }] });
    world.model.on(Agent::Companion, move |_| {
        Act::say(reply("Good.", shown.clone()))
    });
    client.turn(&session, "I will try the last one");
    let skipped = good(&client.skip(&session, json!({})));
    assert_eq!(skipped["needs_reason"], false, "{skipped}");
    assert_eq!(skipped["skipped_task_id"], "t3");
}

#[test]
fn what_is_skipped_or_done_is_not_opened_again_by_a_model() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    unlocks_once(&world);
    let update = |update: Value| {
        let answer = manager_answer(1, json!({ "state_update": update }));
        world.model.in_turn(Agent::Manager, vec![Act::say(answer)]);
        client.turn(&session, "next");
        client.state(&session)
    };
    let state = update(json!({ "subtask_status": {
        "t1": { "status": "completed", "evidence": ["a list of prices"] },
        "t2": { "status": "in_progress", "evidence": [] },
    }, "current_subtask_id": "t2" }));
    assert_eq!(
        statuses(&state),
        ["completed", "in_progress", "not_started"],
        "{state}"
    );
    let evidence = &state["subtask_status"]["t1"]["evidence"];
    assert!(
        evidence
            .as_array()
            .unwrap()
            .contains(&json!("a list of prices")),
        "{state}"
    );
    good(&client.skip(
        &session,
        json!({ "subtask_id": "t2", "reason": "too_hard" }),
    ));
    let before = client.state(&session);
    let state = update(json!({
        "subtask_status": {
            "t1": { "status": "not_started", "evidence": [] },
            "t2": { "status": "in_progress", "evidence": [] },
            "t3": { "status": "in_progress", "evidence": [] },
            "t9": { "status": "completed", "evidence": [] },
        },
        "turn_index": 77,
        "session_id": "another",
        "consecutive_skips": 9,
        "skip_log": [],
        "constraints": { "max_input_length": 1 },
        "current_instruction_version": 500,
        "invented": true,
    }));
    assert_eq!(
        statuses(&state),
        ["completed", "skipped", "in_progress"],
        "{state}"
    );
    assert_eq!(
        state["subtask_status"].as_object().unwrap().len(),
        3,
        "{state}"
    );
    for member in ["session_id", "skip_log", "constraints", "chapter_id"] {
        assert_eq!(state[member], before[member], "{member}");
    }
    assert_eq!(state["turn_index"], 2);
    let version = |state: &Value| state["current_instruction_version"].as_u64().unwrap();
    assert_eq!(version(&state), version(&before) + 1);
    assert_eq!(state.get("invented"), None, "{state}");
    // Nonsense changes nothing either.
    for nonsense in [
        json!(3),
        json!({ "subtask_status": "all" }),
        json!({ "subtask_status": { "t3": { "status": "flying" } } }),
    ] {
        let state = update(nonsense.clone());
        assert_eq!(
            statuses(&state),
            ["completed", "skipped", "in_progress"],
            "{nonsense}"
        );
    }
}
