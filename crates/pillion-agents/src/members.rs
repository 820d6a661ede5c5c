//! The members of what agents say: what each of them holds. Answers are checked by these tables
//! and models are told them as schemas.

use serde_json::{Map, Value, json};

use crate::memo::{ErrorType, ProgressDelta};
use crate::outcome::{BlockerType, Sentiment, TeachingMode};
use crate::packet::{HelperScope, LockCondition, MAX_NICE, MAX_TARGETS, TaskType};
use crate::words::Word;

/// What a member holds.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
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

pub(crate) type Member = (&'static str, Kind);

/// The most items of a list that has no other limit.
const ANY: usize = 50;

/// The companion's record of a turn.
pub(crate) const OUTCOME: &[Member] = &[
    ("what_user_attempted", Kind::Text),
    ("what_user_observed", Kind::Text),
    ("ca_teaching_mode", Kind::Word(TeachingMode::WORDS)),
    ("ca_next_suggestion", Kind::Text),
    ("checkpoint_reached", Kind::Flag),
    ("blocker_type", Kind::Word(BlockerType::WORDS)),
    ("student_sentiment", Kind::Word(Sentiment::WORDS)),
    ("progress_record", Kind::Text),
    ("evidence_for_subtasks", Kind::Many(EVIDENCE, ANY)),
    ("expert_consultation_needed", Kind::Flag),
    ("expert_consultation_reason", Kind::Text),
    ("student_wants_to_skip", Kind::Flag),
];

const EVIDENCE: &[Member] = &[("subtask_id", Kind::Text), ("evidence", Kind::Text)];

/// An instruction packet.
pub(crate) const PACKET: &[Member] = &[
    ("current_focus", Kind::Text),
    ("guidance_for_ca", Kind::Text),
    ("recommended_targets", Kind::Texts(MAX_TARGETS)),
    ("nice_check", Kind::Texts(MAX_NICE)),
    ("instruction_version", Kind::Count),
    ("lock_until", Kind::Locks),
    ("allow_setup_helper_code", Kind::Flag),
    ("setup_helper_scope", Kind::Word(HelperScope::WORDS)),
    ("task_type", Kind::Word(TaskType::WORDS)),
    ("suggest_checkpoint_confirmation", Kind::Flag),
];

const REQUEST: &[Member] = &[
    ("expert_id", Kind::Text),
    ("question", Kind::Text),
    ("context", Kind::Text),
    ("expected_output_type", Kind::Text),
    ("scenario_id", Kind::Maybe),
    ("reasoning", Kind::Text),
    ("consulting_letter_title", Kind::Text),
];

/// The manager's answer before a consultation,
pub(crate) const MANAGER: &[Member] = &[
    ("instruction_packet", Kind::One(PACKET)),
    ("state_update", Kind::Update),
    ("consultation_request", Kind::Optional(REQUEST)),
];

/// and after one.
pub(crate) const CONSULTED: &[Member] = &[
    ("instruction_packet", Kind::One(PACKET)),
    ("state_update", Kind::Update),
    ("expert_consultation_summary", Kind::Text),
    ("guidance_for_ca", Kind::Text),
];

const DIGEST: &[Member] = &[
    ("key_observations", Kind::Texts(ANY)),
    ("student_struggles", Kind::Texts(ANY)),
    ("student_strengths", Kind::Texts(ANY)),
    ("student_sentiment", Kind::Word(Sentiment::WORDS)),
    ("blocker_type", Kind::Word(BlockerType::WORDS)),
    ("progress_delta", Kind::Word(ProgressDelta::WORDS)),
    ("diagnostic_log", Kind::Texts(ANY)),
    ("achievement_log", Kind::Texts(ANY)),
    ("skipped_tasks", Kind::Texts(ANY)),
];

const ERRORS: &[Member] = &[
    ("turn_index", Kind::Count),
    ("error_type", Kind::Word(ErrorType::WORDS)),
    ("description", Kind::Text),
    ("context", Kind::Text),
];

/// The memo agent's answer.
pub(crate) const MEMO: &[Member] = &[
    ("updated_report", Kind::Text),
    ("digest", Kind::One(DIGEST)),
    ("error_entries", Kind::Many(ERRORS, ANY)),
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

fn schema_of(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Maybe => json!({ "type": ["string", "null"] }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count => json!({ "type": "integer" }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Locks => json!({
            "type": "array",
            "items": { "type": "string", "enum": LockCondition::WORDS },
        }),
        Kind::Texts(_) => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::One(members) => schema(members),
        Kind::Optional(members) => json!({ "anyOf": [schema(members), { "type": "null" }] }),
        Kind::Many(members, _) => json!({ "type": "array", "items": schema(members) }),
        Kind::Update => schema(UPDATE),
    }
}

/// What a manager may ask to be changed. Maps by task are read as well.
const UPDATE: &[Member] = &[
    ("subtask_status", Kind::Many(STATUS, ANY)),
    ("current_subtask_id", Kind::Maybe),
    ("end_suggested", Kind::Flag),
];

/// What a model may make of an open task.
const FORWARD: &[&str] = &["in_progress", "completed"];

const STATUS: &[Member] = &[
    ("subtask_id", Kind::Text),
    ("status", Kind::Word(FORWARD)),
    ("evidence", Kind::Texts(ANY)),
];
