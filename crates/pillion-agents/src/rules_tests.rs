//! Rules, tried one by one.

use serde_json::json;

use super::*;
use crate::outcome::Evidence;
use crate::packet::{HelperScope, LockUntil};

fn tasks() -> Vec<Task> {
    let task = |id: &str| Task {
        id: id.to_owned(),
        title: format!("do {id}"),
    };
    vec![task("a"), task("b"), task("c")]
}

fn update(state: &mut SessionState, update: &Value) -> Vec<String> {
    let refusals = apply_state_update(state, update.as_object().unwrap(), &tasks());
    refusals.into_iter().map(|refusal| refusal.key).collect()
}

#[test]
fn a_session_begins_with_its_first_task() {
    let state = initial_state("s", "c", &tasks());
    assert_eq!(state.current_subtask_id.as_deref(), Some("a"));
    assert_eq!(
        (state.turn_index, state.current_instruction_version),
        (0, 1)
    );
    let packet = initial_packet(&tasks());
    assert!(packet.current_focus.contains("do a"));
    assert_eq!(packet.instruction_version, 1);
    assert_eq!(
        packet_after_skip(&packet, Some(&tasks()[1])).instruction_version,
        2
    );
    assert!(!initial_packet(&[]).current_focus.is_empty());
}

#[test]
fn each_condition_unlocks_when_the_packet_names_it() {
    let mut state = initial_state("s", "c", &tasks());
    state.attempts_since_last_progress = 3;
    let outcome = TurnOutcome {
        checkpoint_reached: true,
        blocker_type: BlockerType::CoreConcept,
        ..TurnOutcome::default()
    };
    let all = [
        LockCondition::CheckpointReached,
        LockCondition::AttemptsExceeded,
        LockCondition::NewErrorType,
        LockCondition::Upload,
    ];
    for condition in all {
        let packet = InstructionPacket {
            lock_until: LockUntil(vec![condition]),
            ..InstructionPacket::default()
        };
        let met = unlock_reason(&outcome, &packet, None, &state, true);
        assert_eq!(met, Some(Unlock::Condition(condition)));
        let calm = SessionState {
            attempts_since_last_progress: 2,
            ..state.clone()
        };
        let same = MemoDigest {
            blocker_type: BlockerType::CoreConcept,
            ..MemoDigest::default()
        };
        let quiet = TurnOutcome {
            checkpoint_reached: false,
            ..outcome.clone()
        };
        assert_eq!(
            unlock_reason(&quiet, &packet, Some(&same), &calm, false),
            None
        );
        let wants = TurnOutcome {
            expert_consultation_needed: true,
            ..quiet
        };
        let met = unlock_reason(&wants, &packet, Some(&same), &calm, false);
        assert_eq!(met, Some(Unlock::ExpertWanted));
    }
}

#[test]
fn attempts_are_counted_until_something_is_gained() {
    let mut state = initial_state("s", "c", &tasks());
    state.turn_index = 7;
    state.consecutive_skips = 1;
    for _ in 0..2 {
        apply_outcome(&mut state, &TurnOutcome::default(), &tasks());
    }
    assert_eq!(
        (state.attempts_since_last_progress, state.consecutive_skips),
        (2, 1)
    );
    let evidence = |id: &str| Evidence {
        subtask_id: id.into(),
        evidence: "ran".into(),
    };
    let unknown = TurnOutcome {
        evidence_for_subtasks: vec![evidence("x")],
        ..TurnOutcome::default()
    };
    apply_outcome(&mut state, &unknown, &tasks());
    assert_eq!(state.attempts_since_last_progress, 3);
    assert!(state.subtask_status.get("x").is_none());
    let shown = TurnOutcome {
        evidence_for_subtasks: vec![evidence("b")],
        student_wants_to_skip: true,
        ..TurnOutcome::default()
    };
    apply_outcome(&mut state, &shown, &tasks());
    assert_eq!(
        (state.attempts_since_last_progress, state.consecutive_skips),
        (0, 0)
    );
    assert_eq!(state.last_progress_turn, 7);
    assert_eq!(state.status("b"), TaskStatus::InProgress);
    assert!(state.awaiting_skip_reason);
}

#[test]
fn models_move_open_tasks_forward_and_nothing_else() {
    let mut state = initial_state("s", "c", &tasks());
    state.subtask_status.entry("b").status = TaskStatus::Skipped;
    let refused = update(
        &mut state,
        &json!({"subtask_status": {"a": {"status": "completed", "evidence": ["x", 1]},
            "b": {"status": "in_progress", "evidence": ["y"]}, "zz": "completed", "c": "done"},
            "current_subtask_id": "b", "turn_index": 99, "constraints": {}, "session_id": "q",
            "skip_log": [], "consecutive_skips": 0, "end_confirmed": true, "mood": 1}),
    );
    assert_eq!(
        refused,
        [
            "subtask_status.b",
            "subtask_status.zz",
            "subtask_status.c",
            "current_subtask_id",
            "turn_index",
            "constraints",
            "session_id",
            "skip_log",
            "consecutive_skips",
            "end_confirmed",
            "mood"
        ]
    );
    assert_eq!(state.status("a"), TaskStatus::Completed);
    assert_eq!(state.subtask_status.get("a").unwrap().evidence, ["x", "1"]);
    assert!(state.subtask_status.get("b").unwrap().evidence.is_empty());
    assert_eq!(state.current_subtask_id.as_deref(), Some("c"));
    assert_eq!((state.turn_index, state.session_id.as_str()), (0, "s"));

    let again = json!({"subtask_status": [{"subtask_id": "a", "status": "not_started"},
        {"subtask_id": "c", "status": "skipped"}]});
    assert_eq!(
        update(&mut state, &again),
        ["subtask_status.a", "subtask_status.c"]
    );
    assert!(!state.end_suggested);
    let last = json!({"subtask_status": {"c": "completed"}, "end_confirmed": true});
    // The end follows from the tasks, and whoever did not see it suggested confirms nothing.
    assert_eq!(update(&mut state, &last), ["end_confirmed"]);
    assert!(state.end_suggested && !state.end_confirmed);
    assert_eq!(state.current_subtask_id, None);
    assert!(update(&mut state, &json!({"end_confirmed": true})).is_empty());
    assert!(state.end_confirmed);
}

#[test]
fn evidence_is_bounded() {
    let mut state = initial_state("s", "c", &tasks());
    for at in 0..100 {
        let text = format!("{at} {}", "x".repeat(2000));
        update(
            &mut state,
            &json!({"subtask_status": {"a": {"evidence": [text]}}}),
        );
    }
    let evidence = &state.subtask_status.get("a").unwrap().evidence;
    assert_eq!(evidence.len(), MAX_EVIDENCE);
    assert!(evidence[0].starts_with("80 ") && evidence[0].chars().count() <= 501);
}

#[test]
fn the_next_packet_counts_on_and_a_bad_answer_gives_none() {
    let previous = InstructionPacket {
        current_focus: "old".into(),
        guidance_for_ca: "old way".into(),
        instruction_version: 4,
        extra: json!({"kept": 1}).as_object().unwrap().clone(),
        ..InstructionPacket::default()
    };
    let answer = |packet: InstructionPacket| ManagerAnswer {
        instruction_packet: Some(packet),
        ..ManagerAnswer::default()
    };
    let next = next_packet(
        &previous,
        &answer(InstructionPacket {
            current_focus: "new".into(),
            instruction_version: 77,
            recommended_targets: vec!["1".into(), "2".into(), "3".into()],
            setup_helper_scope: HelperScope::EnvSetup,
            ..InstructionPacket::default()
        }),
    )
    .unwrap();
    assert_eq!(
        (next.instruction_version, next.current_focus.as_str()),
        (5, "new")
    );
    assert_eq!(next.guidance_for_ca, "old way");
    assert_eq!(next.recommended_targets.len(), 2);
    assert_eq!(next.setup_helper_scope, HelperScope::None);
    assert_eq!(next.extra["kept"], 1);
    next_packet(&previous, &answer(InstructionPacket::default())).unwrap_err();
    next_packet(&previous, &ManagerAnswer::default()).unwrap_err();
    let second = ManagerAnswer {
        guidance_for_ca: "as the expert says".into(),
        ..ManagerAnswer::default()
    };
    assert_eq!(
        next_packet(&previous, &second).unwrap().guidance_for_ca,
        "as the expert says"
    );
}

#[test]
fn binding_rules_set_members_of_packets() {
    let rule = |expert: &str, scenario: Option<&str>, set: Value| PacketRule {
        expert_id: expert.into(),
        scenario_id: scenario.map(Into::into),
        set: set.as_object().unwrap().clone(),
        guidance_append: Some("And so.".into()),
    };
    let rules = [
        rule(
            "x",
            None,
            json!({"task_type": "scaffolding", "instruction_version": 9, "bad": 1}),
        ),
        rule("x", Some("s"), json!({"lock_until": "new_error_type"})),
        rule("x", Some("other"), json!({"current_focus": "no"})),
        rule("y", None, json!({"current_focus": "no"})),
        rule("x", None, json!({"nice_check": 3})),
    ];
    let mut packet = initial_packet(&tasks());
    let request = ConsultationRequest {
        expert_id: "x".into(),
        scenario_id: Some("s".into()),
        ..ConsultationRequest::default()
    };
    let notes = apply_binding_rules(&mut packet, &rules, &request);
    assert_eq!(packet.task_type, crate::packet::TaskType::Scaffolding);
    assert_eq!(
        packet.lock_until,
        LockUntil(vec![LockCondition::NewErrorType])
    );
    assert_eq!((packet.instruction_version, notes.len()), (1, 3));
    assert!(packet.current_focus.contains("do a"));
    assert_eq!(packet.guidance_for_ca.matches("And so.").count(), 3);
}

#[test]
fn the_error_summary_is_due_every_fifth_turn_and_made_up_for() {
    let limits = Constraints::default();
    let due: Vec<u64> = (1..=12)
        .filter(|turns| error_summary_due(*turns, turns - 1, &limits))
        .collect();
    assert_eq!(due, [5, 10]);
    assert!(error_summary_due(6, 4, &limits));
    assert!(!error_summary_due(6, 5, &limits));
}
