//! What follows from what the agents say: unlocking, the next packet, changes of the state.
//!
//! A model proposes and these rules dispose. They are pure functions, and what they refuse they
//! give back, so that it can be noted.

use serde_json::{Map, Value};

use crate::memo::MemoDigest;
use crate::outcome::{BlockerType, TurnOutcome};
use crate::packet::{
    ConsultationRequest, InstructionPacket, LockCondition, MAX_NICE, MAX_TARGETS, ManagerAnswer,
    PacketRule,
};
use crate::parse::{AnswerProblem, Note, is_packet_member, mend_packet};
use crate::state::{Constraints, SessionState, Task, TaskStatus};
use crate::words::{ClosedList, clip, text_of};

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
    digest: Option<&MemoDigest>,
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
pub struct RefusedChange {
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
) -> Vec<RefusedChange> {
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
            refusals.push(RefusedChange {
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
fn changes(value: &Value, refusals: &mut Vec<RefusedChange>) -> Vec<(String, Value)> {
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
            refusals.push(RefusedChange {
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
    refusals: &mut Vec<RefusedChange>,
) {
    let key = format!("subtask_status.{}", clip(id, 80));
    let mut refuse = |reason| {
        refusals.push(RefusedChange {
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
) -> Result<InstructionPacket, AnswerProblem> {
    let mut packet = answer.instruction_packet.clone().unwrap_or_else(|| {
        // The second phase may say only how to use what the expert said.
        previous.clone()
    });
    if !answer.guidance_for_ca.trim().is_empty() {
        packet.guidance_for_ca.clone_from(&answer.guidance_for_ca);
    } else if answer.instruction_packet.is_none() {
        return Err(AnswerProblem::Missing("instruction_packet"));
    }
    let blank = |text: &String| text.trim().is_empty();
    if blank(&packet.current_focus) && blank(&packet.guidance_for_ca) {
        return Err(AnswerProblem::Missing("instruction_packet.current_focus"));
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
    rules: &[PacketRule],
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
) -> Result<Vec<Note>, AnswerProblem> {
    let notes = mend_packet(&mut set)?;
    let wrong = |error: serde_json::Error| AnswerProblem::WrongType {
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
#[path = "rules_tests.rs"]
mod tests;
