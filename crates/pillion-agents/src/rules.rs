//! What follows from what the agents say: unlocking, the next packet, changes of the state.
//!
//! A model proposes and these rules dispose. They are pure functions, and what they refuse they
//! give back, so that it can be noted.

use serde_json::{Map, Value};

use crate::memo::Digest;
use crate::outcome::{BlockerType, TurnOutcome};
use crate::packet::{
    BindingRule, ConsultationRequest, InstructionPacket, LockCondition, MAX_NICE, MAX_TARGETS,
    ManagerAnswer,
};
use crate::parse::{Note, Problem, is_packet_member, mend_packet};
use crate::state::{Constraints, SessionState, Task, TaskStatus};
use crate::words::{Word, clip, text_of};

/// The newest so many pieces of evidence are kept of a task.
pub const MAX_EVIDENCE: usize = 20;
/// The longest piece of evidence, in characters.
pub const MAX_EVIDENCE_TEXT: usize = 500;
/// The longest text of a packet, in characters.
pub const MAX_PACKET_TEXT: usize = 8_000;

/// The state of a session that begins.
pub fn initial_state(session_id: &str, chapter_id: &str, tasks: &[Task]) -> SessionState {
    let mut state = SessionState {
        session_id: session_id.to_owned(),
        chapter_id: chapter_id.to_owned(),
        constraints: Constraints::default(),
        current_instruction_version: 1,
        ..SessionState::default()
    };
    state.cover(tasks);
    if let Some(first) = tasks.first() {
        state.current_subtask_id = Some(first.id.clone());
        state.subtask_status.entry(&first.id).status = TaskStatus::InProgress;
    }
    state
}

/// The packet of a session that begins: the first task.
pub fn initial_packet(tasks: &[Task]) -> InstructionPacket {
    InstructionPacket {
        instruction_version: 1,
        ..focus_on(tasks.first())
    }
}

fn focus_on(task: Option<&Task>) -> InstructionPacket {
    match task {
        Some(task) => InstructionPacket {
            current_focus: format!("{}: {}", task.id, task.title),
            guidance_for_ca: "Find out what the learner knows about this task already, then \
                lead them to a first small step of their own."
                .to_owned(),
            recommended_targets: vec![task.title.clone()],
            ..InstructionPacket::default()
        },
        None => InstructionPacket {
            current_focus: "Look back on the chapter".to_owned(),
            guidance_for_ca: "No task is open. Answer questions, help the learner to sum up \
                what they learned, and tell them that they can end the session."
                .to_owned(),
            ..InstructionPacket::default()
        },
    }
}

/// The packet after the task it was about was skipped: the next task, or none.
pub fn packet_after_skip(packet: &InstructionPacket, next: Option<&Task>) -> InstructionPacket {
    InstructionPacket {
        instruction_version: packet.instruction_version.saturating_add(1),
        extra: packet.extra.clone(),
        ..focus_on(next)
    }
}

/// Why the manager is asked in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlock {
    /// The companion wants an expert.
    ExpertWanted,
    /// A condition of the packet is met.
    Condition(LockCondition),
}

impl Unlock {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExpertWanted => "expert_consultation_needed",
            Self::Condition(condition) => condition.as_str(),
        }
    }
}

/// Whether this turn gained something.
pub fn is_progress(outcome: &TurnOutcome, state: &SessionState, tasks: &[Task]) -> bool {
    let shown = outcome.evidence_for_subtasks.iter().any(|shown| {
        tasks.iter().any(|task| task.id == shown.subtask_id)
            && state.status(&shown.subtask_id) != TaskStatus::Skipped
            && !shown.evidence.trim().is_empty()
    });
    outcome.checkpoint_reached || shown
}

/// Whether the outcome unlocks the packet, and by what. The state is the one that
/// [`apply_outcome`] left, so its attempts include this turn.
pub fn unlock_reason(
    outcome: &TurnOutcome,
    packet: &InstructionPacket,
    digest: Option<&Digest>,
    state: &SessionState,
    new_uploads: bool,
) -> Option<Unlock> {
    if outcome.expert_consultation_needed {
        return Some(Unlock::ExpertWanted);
    }
    let last = digest.map_or(BlockerType::None, |digest| digest.blocker_type);
    let met = |condition: &LockCondition| match condition {
        LockCondition::CheckpointReached => outcome.checkpoint_reached,
        LockCondition::AttemptsExceeded => {
            state.attempts_since_last_progress >= state.constraints.max_attempts_before_unlock
        }
        LockCondition::NewErrorType => {
            outcome.blocker_type != BlockerType::None && outcome.blocker_type != last
        }
        LockCondition::Upload => new_uploads,
    };
    let mut conditions = packet.lock_until.0.iter().copied();
    conditions.find(met).map(Unlock::Condition)
}

/// What the companion's record changes: counters, evidence, the wish to skip.
pub fn apply_outcome(state: &mut SessionState, outcome: &TurnOutcome, tasks: &[Task]) {
    state.cover(tasks);
    if is_progress(outcome, state, tasks) {
        state.attempts_since_last_progress = 0;
        state.last_progress_turn = state.turn_index;
        state.consecutive_skips = 0;
    } else {
        state.attempts_since_last_progress = state.attempts_since_last_progress.saturating_add(1);
    }
    for shown in &outcome.evidence_for_subtasks {
        let known = tasks.iter().any(|task| task.id == shown.subtask_id);
        if known && state.status(&shown.subtask_id) != TaskStatus::Skipped {
            add_evidence(state, &shown.subtask_id, &shown.evidence);
            let entry = state.subtask_status.entry(&shown.subtask_id);
            if entry.status == TaskStatus::NotStarted {
                entry.status = TaskStatus::InProgress;
            }
        }
    }
    state.awaiting_skip_reason = outcome.student_wants_to_skip;
}

fn add_evidence(state: &mut SessionState, id: &str, text: &str) {
    let text = clip(text.trim(), MAX_EVIDENCE_TEXT);
    let list = &mut state.subtask_status.entry(id).evidence;
    if text.is_empty() || list.contains(&text) {
        return;
    }
    list.push(text);
    let over = list.len().saturating_sub(MAX_EVIDENCE);
    list.drain(..over);
}

/// A change that a model asked for and did not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it wanted to change.
    pub key: String,
    /// Why not.
    pub reason: &'static str,
}

/// Apply what a manager wants to change, key by key.
///
/// It may move open tasks forward, add evidence, choose the current task, suggest the end, and
/// confirm an end that was suggested before. All else is refused: a task that is completed or
/// skipped stays so, only the learner skips, and counters, limits and names are not a model's.
pub fn apply_state_update(
    state: &mut SessionState,
    update: &Map<String, Value>,
    tasks: &[Task],
) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    state.cover(tasks);
    // Tasks come first: which one may be current depends on them.
    if let Some(value) = update.get("subtask_status") {
        for (id, change) in changes(value, &mut refusals) {
            change_task(state, &id, &change, tasks, &mut refusals);
        }
    }
    let suggested = state.end_suggested;
    for (key, value) in update {
        let mut refuse = |reason| {
            refusals.push(Refusal {
                key: clip(key, 80),
                reason,
            });
        };
        match (key.as_str(), value) {
            ("subtask_status", _) | (_, Value::Null) => {}
            ("current_subtask_id", Value::String(id)) => {
                if !tasks.iter().any(|task| task.id == *id) {
                    refuse("the chapter has no such task");
                } else if state.status(id).is_over() {
                    refuse("the task is completed or skipped");
                } else {
                    state.current_subtask_id = Some(id.clone());
                    state.subtask_status.entry(id).status = TaskStatus::InProgress;
                }
            }
            ("end_suggested", Value::Bool(wanted)) => state.end_suggested = *wanted,
            ("end_confirmed", Value::Bool(true)) if !suggested => {
                refuse("the end was not suggested before");
            }
            ("end_confirmed", Value::Bool(true)) => state.end_confirmed = true,
            ("end_confirmed", Value::Bool(false)) if state.end_confirmed => {
                refuse("an end that was confirmed stays so");
            }
            ("end_confirmed", Value::Bool(false)) => {}
            ("current_subtask_id" | "end_suggested" | "end_confirmed", _) => {
                refuse("the value is of the wrong type");
            }
            _ => refuse("a model may not change it"),
        }
    }
    move_on(state, tasks);
    refusals
}

/// The current task is an open one, and a chapter without open tasks may end.
pub(crate) fn move_on(state: &mut SessionState, tasks: &[Task]) {
    if tasks.is_empty() {
        return;
    }
    let current = state.current_subtask_id.clone().unwrap_or_default();
    let known = tasks.iter().any(|task| task.id == current);
    if !known || state.status(&current).is_over() {
        let next = state
            .task_after(&current, tasks)
            .map(|task| task.id.clone());
        if let Some(id) = &next {
            state.subtask_status.entry(id).status = TaskStatus::InProgress;
        }
        state.current_subtask_id = next;
    }
    if state.all_done(tasks) {
        state.end_suggested = true;
    }
}

/// The changes of tasks, written as a map by task or as a list.
fn changes(value: &Value, refusals: &mut Vec<Refusal>) -> Vec<(String, Value)> {
    match value {
        Value::Object(map) => map.clone().into_iter().collect(),
        Value::Array(list) => {
            let named = list.iter().filter_map(|item| {
                let id = item.get("subtask_id").or_else(|| item.get("id"))?;
                Some((id.as_str()?.to_owned(), item.clone()))
            });
            named.collect()
        }
        Value::Null => Vec::new(),
        _ => {
            refusals.push(Refusal {
                key: "subtask_status".to_owned(),
                reason: "the value is of the wrong type",
            });
            Vec::new()
        }
    }
}

fn change_task(
    state: &mut SessionState,
    id: &str,
    change: &Value,
    tasks: &[Task],
    refusals: &mut Vec<Refusal>,
) {
    let key = format!("subtask_status.{}", clip(id, 80));
    let mut refuse = |reason| {
        refusals.push(Refusal {
            key: key.clone(),
            reason,
        });
    };
    if !tasks.iter().any(|task| task.id == id) {
        return refuse("the chapter has no such task");
    }
    let now = state.status(id);
    let word = match change {
        Value::String(word) => Some(word.as_str()),
        Value::Object(members) => members.get("status").and_then(Value::as_str),
        _ => return refuse("the value is of the wrong type"),
    };
    let wanted = word.map(TaskStatus::from_word);
    match wanted {
        Some(None) => return refuse("the status is not one of the known words"),
        Some(Some(wanted)) if wanted == now => {}
        Some(Some(_)) if now == TaskStatus::Skipped => {
            return refuse("a skipped task is not reopened by a model");
        }
        Some(Some(_)) if now == TaskStatus::Completed => {
            return refuse("a completed task is not reopened by a model");
        }
        Some(Some(TaskStatus::Skipped)) => return refuse("only the learner skips a task"),
        Some(Some(TaskStatus::NotStarted)) => return refuse("a task that began stays begun"),
        Some(Some(wanted)) => {
            state.subtask_status.entry(id).status = wanted;
            if wanted == TaskStatus::Completed {
                state.attempts_since_last_progress = 0;
                state.last_progress_turn = state.turn_index;
                state.consecutive_skips = 0;
            }
        }
        None if now == TaskStatus::Skipped => {
            return refuse("a skipped task is not changed by a model");
        }
        None => {}
    }
    match change.get("evidence") {
        Some(Value::Array(items)) if now != TaskStatus::Skipped => {
            let newest = items.len().saturating_sub(MAX_EVIDENCE);
            for text in items[newest..].iter().cloned().filter_map(text_of) {
                add_evidence(state, id, &text);
            }
        }
        Some(Value::String(text)) if now != TaskStatus::Skipped => add_evidence(state, id, text),
        _ => {}
    }
}

/// The packet that follows from a manager's answer. On a problem the previous one stays.
pub fn next_packet(
    previous: &InstructionPacket,
    answer: &ManagerAnswer,
) -> Result<InstructionPacket, Problem> {
    let mut packet = answer.instruction_packet.clone().unwrap_or_else(|| {
        // The second phase may say only how to use what the expert said.
        previous.clone()
    });
    if !answer.guidance_for_ca.trim().is_empty() {
        packet.guidance_for_ca.clone_from(&answer.guidance_for_ca);
    } else if answer.instruction_packet.is_none() {
        return Err(Problem::Missing("instruction_packet"));
    }
    let blank = |text: &String| text.trim().is_empty();
    if blank(&packet.current_focus) && blank(&packet.guidance_for_ca) {
        return Err(Problem::Missing("instruction_packet.current_focus"));
    }
    if blank(&packet.current_focus) {
        packet.current_focus.clone_from(&previous.current_focus);
    }
    if blank(&packet.guidance_for_ca) {
        packet.guidance_for_ca.clone_from(&previous.guidance_for_ca);
    }
    // What others put into the previous packet is not the model's to drop, nor to add to.
    packet.extra = previous.extra.clone();
    packet.instruction_version = previous.instruction_version.saturating_add(1);
    bound(&mut packet);
    Ok(packet)
}

fn bound(packet: &mut InstructionPacket) {
    packet.current_focus = clip(&packet.current_focus, MAX_PACKET_TEXT);
    packet.guidance_for_ca = clip(&packet.guidance_for_ca, MAX_PACKET_TEXT);
    packet
        .recommended_targets
        .retain(|text| !text.trim().is_empty());
    packet.recommended_targets.truncate(MAX_TARGETS);
    packet.nice_check.retain(|text| !text.trim().is_empty());
    packet.nice_check.truncate(MAX_NICE);
    if !packet.allow_setup_helper_code {
        packet.setup_helper_scope = crate::packet::HelperScope::None;
    }
}

/// What the chapter wants of the packet after this consultation.
pub fn apply_binding_rules(
    packet: &mut InstructionPacket,
    rules: &[BindingRule],
    consultation: &ConsultationRequest,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let version = packet.instruction_version;
    for rule in rules {
        let scenario = rule.scenario_id.as_deref();
        if rule.expert_id != consultation.expert_id
            || scenario.is_some() && scenario != consultation.scenario_id.as_deref()
        {
            continue;
        }
        let mut set = rule.set.clone();
        set.retain(|name, _| {
            let known = is_packet_member(name) || name == "must_check";
            let settable = known && name != "instruction_version";
            if !settable {
                notes.push(Note::new(name, "no member of a packet that a rule may set"));
            }
            settable
        });
        match set_members(packet, set) {
            Ok(mended) => notes.extend(mended),
            Err(problem) => notes.push(Note::new("binding_rules", problem.to_string())),
        }
        if let Some(more) = rule.guidance_append.as_deref().map(str::trim)
            && !more.is_empty()
        {
            if !packet.guidance_for_ca.is_empty() {
                packet.guidance_for_ca.push_str("\n\n");
            }
            packet.guidance_for_ca.push_str(more);
        }
    }
    packet.instruction_version = version;
    bound(packet);
    notes
}

fn set_members(
    packet: &mut InstructionPacket,
    mut set: Map<String, Value>,
) -> Result<Vec<Note>, Problem> {
    let notes = mend_packet(&mut set)?;
    let wrong = |error: serde_json::Error| Problem::WrongType {
        place: error.to_string(),
        wanted: "as in a packet",
    };
    let mut members = serde_json::to_value(&*packet).map_err(wrong)?;
    if let Value::Object(members) = &mut members {
        members.extend(set);
    }
    *packet = serde_json::from_value(members).map_err(wrong)?;
    Ok(notes)
}

/// Whether the error summary is to be written after this many turns, when it was written last
/// after that many.
pub fn error_summary_due(turns: u64, last: u64, constraints: &Constraints) -> bool {
    let every = constraints.batch_error_log_every_n_turns.max(1);
    turns / every > last / every
}

#[cfg(test)]
mod tests {
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
            let same = Digest {
                blocker_type: BlockerType::CoreConcept,
                ..Digest::default()
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
        let rule = |expert: &str, scenario: Option<&str>, set: Value| BindingRule {
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
}
