//! The members of what agents say: what each of them holds. Answers are checked by these tables
//! and models are told them as schemas.

use serde_json::{Map, Value, json};

use crate::memo::{ErrorType, ProgressDelta};
use crate::outcome::{BlockerType, Sentiment, TeachingMode};
use crate::packet::{HelperScope, LockCondition, MAX_NICE, MAX_TARGETS, TaskType};
use crate::words::ClosedList;

/// What a member holds.
#[derive(Clone, Copy)]
pub(crate) enum MemberKind {
    Text,
    /// A text or `null`.
    Maybe,
    Flag,
    Count,
    Word(&'static [&'static str]),
    /// One word or several.
    Locks,
    /// At most so many texts.
    Texts(usize),
    /// One object with these members.
    One(&'static [Member]),
    /// The same, or `null`.
    Optional(&'static [Member]),
    /// At most so many objects with these members.
    Many(&'static [Member], usize),
    /// An object that is checked where it is used.
    Update,
}

pub(crate) type Member = (&'static str, MemberKind);

/// The most items of a list that has no other limit.
const ANY: usize = 50;

/// The companion's record of a turn.
pub(crate) const OUTCOME: &[Member] = &[
    ("what_user_attempted", MemberKind::Text),
    ("what_user_observed", MemberKind::Text),
    ("ca_teaching_mode", MemberKind::Word(TeachingMode::WORDS)),
    ("ca_next_suggestion", MemberKind::Text),
    ("checkpoint_reached", MemberKind::Flag),
    ("blocker_type", MemberKind::Word(BlockerType::WORDS)),
    ("student_sentiment", MemberKind::Word(Sentiment::WORDS)),
    ("progress_record", MemberKind::Text),
    ("evidence_for_subtasks", MemberKind::Many(EVIDENCE, ANY)),
    ("expert_consultation_needed", MemberKind::Flag),
    ("expert_consultation_reason", MemberKind::Text),
    ("student_wants_to_skip", MemberKind::Flag),
];

const EVIDENCE: &[Member] = &[
    ("subtask_id", MemberKind::Text),
    ("evidence", MemberKind::Text),
];

/// An instruction packet.
pub(crate) const PACKET: &[Member] = &[
    ("current_focus", MemberKind::Text),
    ("guidance_for_ca", MemberKind::Text),
    ("recommended_targets", MemberKind::Texts(MAX_TARGETS)),
    ("nice_check", MemberKind::Texts(MAX_NICE)),
    ("instruction_version", MemberKind::Count),
    ("lock_until", MemberKind::Locks),
    ("allow_setup_helper_code", MemberKind::Flag),
    ("setup_helper_scope", MemberKind::Word(HelperScope::WORDS)),
    ("task_type", MemberKind::Word(TaskType::WORDS)),
    ("suggest_checkpoint_confirmation", MemberKind::Flag),
];

const REQUEST: &[Member] = &[
    ("expert_id", MemberKind::Text),
    ("question", MemberKind::Text),
    ("context", MemberKind::Text),
    ("expected_output_type", MemberKind::Text),
    ("scenario_id", MemberKind::Maybe),
    ("reasoning", MemberKind::Text),
    ("consulting_letter_title", MemberKind::Text),
];

/// The manager's answer before a consultation,
pub(crate) const MANAGER: &[Member] = &[
    ("instruction_packet", MemberKind::One(PACKET)),
    ("state_update", MemberKind::Update),
    ("consultation_request", MemberKind::Optional(REQUEST)),
];

/// and after one.
pub(crate) const CONSULTED: &[Member] = &[
    ("instruction_packet", MemberKind::One(PACKET)),
    ("state_update", MemberKind::Update),
    ("expert_consultation_summary", MemberKind::Text),
    ("guidance_for_ca", MemberKind::Text),
];

const DIGEST: &[Member] = &[
    ("key_observations", MemberKind::Texts(ANY)),
    ("student_struggles", MemberKind::Texts(ANY)),
    ("student_strengths", MemberKind::Texts(ANY)),
    ("student_sentiment", MemberKind::Word(Sentiment::WORDS)),
    ("blocker_type", MemberKind::Word(BlockerType::WORDS)),
    ("progress_delta", MemberKind::Word(ProgressDelta::WORDS)),
    ("diagnostic_log", MemberKind::Texts(ANY)),
    ("achievement_log", MemberKind::Texts(ANY)),
    ("skipped_tasks", MemberKind::Texts(ANY)),
];

const ERRORS: &[Member] = &[
    ("turn_index", MemberKind::Count),
    ("error_type", MemberKind::Word(ErrorType::WORDS)),
    ("description", MemberKind::Text),
    ("context", MemberKind::Text),
];

/// The memo agent's answer.
pub(crate) const MEMO: &[Member] = &[
    ("updated_report", MemberKind::Text),
    ("digest", MemberKind::One(DIGEST)),
    ("error_entries", MemberKind::Many(ERRORS, ANY)),
];

/// The members of an outcome.
pub(crate) const OUTCOME_KEYS: &[&str] = &[
    "what_user_attempted",
    "what_user_observed",
    "ca_teaching_mode",
    "ca_next_suggestion",
    "checkpoint_reached",
    "blocker_type",
    "student_sentiment",
    "progress_record",
    "evidence_for_subtasks",
    "expert_consultation_needed",
    "expert_consultation_reason",
    "student_wants_to_skip",
];

/// What a model's answer must look like, for endpoints that can be told.
pub(crate) fn manager_schema(consulted: bool) -> Value {
    schema(if consulted { CONSULTED } else { MANAGER })
}

/// The same for the memo agent.
pub(crate) fn memo_schema() -> Value {
    schema(MEMO)
}

fn schema(members: &[Member]) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), schema_of(*kind)))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

fn schema_of(kind: MemberKind) -> Value {
    match kind {
        MemberKind::Text => json!({ "type": "string" }),
        MemberKind::Maybe => json!({ "type": ["string", "null"] }),
        MemberKind::Flag => json!({ "type": "boolean" }),
        MemberKind::Count => json!({ "type": "integer" }),
        MemberKind::Word(words) => json!({ "type": "string", "enum": words }),
        MemberKind::Locks => json!({
            "type": "array",
            "items": { "type": "string", "enum": LockCondition::WORDS },
        }),
        MemberKind::Texts(_) => json!({ "type": "array", "items": { "type": "string" } }),
        MemberKind::One(members) => schema(members),
        MemberKind::Optional(members) => json!({ "anyOf": [schema(members), { "type": "null" }] }),
        MemberKind::Many(members, _) => json!({ "type": "array", "items": schema(members) }),
        MemberKind::Update => schema(UPDATE),
    }
}

/// What a manager may ask to be changed. Maps by task are read as well.
const UPDATE: &[Member] = &[
    ("subtask_status", MemberKind::Many(STATUS, ANY)),
    ("current_subtask_id", MemberKind::Maybe),
    ("end_suggested", MemberKind::Flag),
];

/// What a model may make of an open task.
const FORWARD: &[&str] = &["in_progress", "completed"];

const STATUS: &[Member] = &[
    ("subtask_id", MemberKind::Text),
    ("status", MemberKind::Word(FORWARD)),
    ("evidence", MemberKind::Texts(ANY)),
];
