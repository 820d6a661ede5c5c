//! The instruction packet that steers the companion, and the manager's answer around it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::words::{ClosedList, or_default, texts, words};

/// The most targets that a packet recommends.
pub const MAX_TARGETS: usize = 2;
/// The most things that a packet has checked by the way.
pub const MAX_NICE: usize = 1;

words! {
    /// Which code the companion may write for the learner.
    HelperScope {
        /// None.
        #[default]
        None = "none",
        /// Code that makes a file.
        FileCreation = "file_creation",
        /// Code that sets up the environment.
        EnvSetup = "env_setup",
        /// Code that checks paths.
        PathCheck = "path_check",
        /// Code that makes data.
        DataGeneration = "data_generation",
    }
}

words! {
    /// What kind of work the current task is.
    TaskType {
        /// What the chapter is about.
        #[default]
        Core = "core",
        /// What it needs to begin.
        Scaffolding = "scaffolding",
    }
}

words! {
    /// What ends a packet's time.
    LockCondition {
        /// The learner reached the checkpoint.
        #[default]
        CheckpointReached = "checkpoint_reached",
        /// Too many attempts without progress.
        AttemptsExceeded = "attempts_exceeded",
        /// Another blocker than last time.
        NewErrorType = "new_error_type",
        /// A file was uploaded.
        Upload = "user_uploads_suitable_dataset_or_uses_example",
    }
}

/// The conditions of which one ends a packet's time: written as a word, or as a list of words
/// when there are several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockUntil(pub Vec<LockCondition>);

impl Default for LockUntil {
    fn default() -> Self {
        Self(vec![
            LockCondition::CheckpointReached,
            LockCondition::AttemptsExceeded,
        ])
    }
}

impl LockUntil {
    /// Whether this condition is among them.
    pub fn has(&self, condition: LockCondition) -> bool {
        self.0.contains(&condition)
    }

    /// The conditions that a text names, such as `checkpoint_reached or attempts_exceeded`.
    pub(crate) fn named_in(text: &str) -> Vec<LockCondition> {
        let text = text.to_ascii_lowercase();
        let words = LockCondition::WORDS.iter();
        words
            .filter(|word| text.contains(**word))
            .filter_map(|word| LockCondition::from_word(word))
            .collect()
    }

    fn of(named: Vec<LockCondition>) -> Self {
        if named.is_empty() {
            Self::default()
        } else {
            Self(named)
        }
    }
}

impl Serialize for LockUntil {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LockUntil {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::of(Self::named_in(&texts(deserializer)?.join(" "))))
    }
}

impl JsonSchema for LockUntil {
    fn schema_name() -> Cow<'static, str> {
        "LockUntil".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<LockCondition>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

/// What the manager tells the companion to do until something unlocks it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, remote = "Self")]
pub struct InstructionPacket {
    /// What the next turns are about.
    #[serde(deserialize_with = "or_default")]
    pub current_focus: String,
    /// How the companion shall go about it.
    #[serde(deserialize_with = "or_default")]
    pub guidance_for_ca: String,
    /// What the learner should show, at most [`MAX_TARGETS`].
    #[serde(deserialize_with = "targets")]
    pub recommended_targets: Vec<String>,
    /// What would be nice to see too, at most [`MAX_NICE`].
    #[serde(deserialize_with = "nice")]
    pub nice_check: Vec<String>,
    /// Grows by one with each packet.
    #[serde(deserialize_with = "or_default")]
    pub instruction_version: u64,
    /// When the manager looks again.
    pub lock_until: LockUntil,
    /// The companion may write helper code.
    #[serde(deserialize_with = "or_default")]
    pub allow_setup_helper_code: bool,
    /// Which kind of it.
    pub setup_helper_scope: HelperScope,
    /// What kind of work it is.
    pub task_type: TaskType,
    /// The companion may ask whether the learner is done with the task.
    #[serde(deserialize_with = "or_default")]
    pub suggest_checkpoint_confirmation: bool,
    /// Members that others wrote: they are kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Serialize for InstructionPacket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// The targets had another name once, and some write them under both.
impl<'de> Deserialize<'de> for InstructionPacket {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        let old = members.shift_remove("must_check").unwrap_or_default();
        let new = members.entry("recommended_targets").or_insert(Value::Null);
        if new.is_null() {
            *new = old;
        }
        Self::deserialize(Value::Object(members)).map_err(serde::de::Error::custom)
    }
}

fn targets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let mut list = texts(deserializer)?;
    list.truncate(MAX_TARGETS);
    Ok(list)
}

fn nice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let mut list = texts(deserializer)?;
    list.truncate(MAX_NICE);
    Ok(list)
}

/// What the manager asks of an expert.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConsultationRequest {
    /// Whom.
    #[serde(deserialize_with = "or_default")]
    pub expert_id: String,
    /// What.
    #[serde(deserialize_with = "or_default")]
    pub question: String,
    /// What the expert has to know.
    #[serde(deserialize_with = "or_default")]
    pub context: String,
    /// What kind of answer is wanted.
    #[serde(deserialize_with = "or_default")]
    pub expected_output_type: String,
    /// Which of the expert's scenarios it is.
    #[serde(deserialize_with = "or_default")]
    pub scenario_id: Option<String>,
    /// Why an expert.
    #[serde(deserialize_with = "or_default")]
    pub reasoning: String,
    /// What the learner reads about it.
    #[serde(deserialize_with = "or_default")]
    pub consulting_letter_title: String,
}

/// The manager's answer, of either phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ManagerAnswer {
    /// The packet as the model wrote it. Its version is not believed.
    #[serde(deserialize_with = "or_default")]
    pub instruction_packet: Option<InstructionPacket>,
    /// What shall change in the session's state. Each key is checked before it is applied.
    #[serde(deserialize_with = "or_default")]
    pub state_update: Map<String, Value>,
    /// What an expert shall be asked, in the first phase.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub consultation_request: Option<ConsultationRequest>,
    /// What the expert said, in the second phase.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub expert_consultation_summary: String,
    /// How the companion shall use it, in the second phase.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub guidance_for_ca: String,
}

/// What a chapter wants of the packet after a consultation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PacketRule {
    /// After a consultation with this expert,
    pub expert_id: String,
    /// in this scenario, or in any,
    pub scenario_id: Option<String>,
    /// these members of the packet have these values,
    #[serde(deserialize_with = "or_default")]
    pub set: Map<String, Value>,
    /// and this is added to its guidance.
    pub guidance_append: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_packets_load_and_foreign_members_are_kept() {
        let old = r#"{"current_focus":"loops","must_check":["a","b","c"],"nice_check":"x",
            "lock_until":"checkpoint_reached","setup_helper_scope":"rockets","mood":{"a":1}}"#;
        let packet: InstructionPacket = serde_json::from_str(old).unwrap();
        assert_eq!(packet.recommended_targets, ["a", "b"]);
        assert_eq!(packet.nice_check, ["x"]);
        assert_eq!(packet.setup_helper_scope, HelperScope::None);
        let written = serde_json::to_value(&packet).unwrap();
        assert_eq!(written["mood"]["a"], 1);
        assert_eq!(written["lock_until"], "checkpoint_reached");
        assert_eq!(written["recommended_targets"][1], "b");
        assert!(written.get("must_check").is_none() && written.get("extra").is_none());
        let both = r#"{"must_check":["old"],"recommended_targets":["new"]}"#;
        let packet: InstructionPacket = serde_json::from_str(both).unwrap();
        assert_eq!(packet.recommended_targets, ["new"]);
    }

    #[test]
    fn several_conditions_are_a_list_and_none_is_the_default() {
        let both: LockUntil =
            serde_json::from_str(r#""new_error_type OR attempts_exceeded""#).unwrap();
        assert!(both.has(LockCondition::NewErrorType) && both.has(LockCondition::AttemptsExceeded));
        let written = serde_json::to_string(&both).unwrap();
        assert_eq!(serde_json::from_str::<LockUntil>(&written).unwrap(), both);
        let unknown: LockUntil = serde_json::from_str(r#""sunset""#).unwrap();
        assert_eq!(unknown, LockUntil::default());
    }
}
