//! The state of a session, `session_state.json`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::words::{or_default, texts, words};

/// The longest message of a learner, in characters.
pub const MAX_INPUT_LENGTH: u64 = 10_000;
/// The error summary is written after so many turns.
pub const ERROR_SUMMARY_EVERY: u64 = 5;
/// So many attempts without progress unlock the packet.
pub const MAX_ATTEMPTS: u64 = 3;

words! {
    /// Where a learner is with a task.
    TaskStatus {
        /// Not begun.
        #[default]
        NotStarted = "not_started",
        /// Begun.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Left out by the learner.
        Skipped = "skipped",
    }
}

impl TaskStatus {
    /// Whether nothing is left to do.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }
}

/// A task of a chapter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its name in `task_list.md`.
    pub id: String,
    /// What it says there.
    pub title: String,
}

/// Where a learner is with a task, and what shows it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SubtaskStatus {
    /// Where.
    pub status: TaskStatus,
    /// What shows it, the newest last.
    #[serde(deserialize_with = "texts")]
    pub evidence: Vec<String>,
    /// Members that others wrote: they are kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The limits of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Constraints {
    /// The longest message of a learner, in characters.
    #[serde(deserialize_with = "max_input_length")]
    pub max_input_length: u64,
    /// The error summary is written after so many turns.
    #[serde(deserialize_with = "error_summary_every")]
    pub batch_error_log_every_n_turns: u64,
    /// So many attempts without progress unlock the packet.
    #[serde(deserialize_with = "max_attempts")]
    pub max_attempts_before_unlock: u64,
    /// Members that others wrote: they are kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            max_input_length: MAX_INPUT_LENGTH,
            batch_error_log_every_n_turns: ERROR_SUMMARY_EVERY,
            max_attempts_before_unlock: MAX_ATTEMPTS,
            extra: Map::new(),
        }
    }
}

/// A limit of zero or `null` is no limit that anybody meant.
fn limit<'de, D: Deserializer<'de>>(deserializer: D, default: u64) -> Result<u64, D::Error> {
    let limit = Option::<u64>::deserialize(deserializer)?;
    Ok(limit.filter(|limit| *limit > 0).unwrap_or(default))
}

fn max_input_length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    limit(deserializer, MAX_INPUT_LENGTH)
}

fn error_summary_every<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    limit(deserializer, ERROR_SUMMARY_EVERY)
}

fn max_attempts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    limit(deserializer, MAX_ATTEMPTS)
}

/// A task that was skipped.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkipEntry {
    /// The task.
    #[serde(deserialize_with = "or_default")]
    pub subtask_id: String,
    /// Why, one of the contract's words.
    #[serde(deserialize_with = "or_default")]
    pub reason: Option<String>,
    /// Why, in the learner's words.
    #[serde(deserialize_with = "or_default")]
    pub reason_text: Option<String>,
    /// Before which turn.
    #[serde(deserialize_with = "or_default")]
    pub turn_index: u64,
    /// When.
    #[serde(deserialize_with = "or_default")]
    pub skipped_at: String,
    /// Members that others wrote: they are kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionState {
    /// The session.
    #[serde(deserialize_with = "or_default")]
    pub session_id: String,
    /// Its chapter.
    #[serde(deserialize_with = "or_default")]
    pub chapter_id: String,
    /// The index of the next turn, which is the number of turns that were committed.
    #[serde(deserialize_with = "or_default")]
    pub turn_index: u64,
    /// Where the learner is with each task.
    #[serde(deserialize_with = "or_default")]
    #[schemars(with = "std::collections::BTreeMap<String, SubtaskStatus>")]
    pub subtask_status: Tasks,
    /// Everything is done, and the learner may end the session.
    #[serde(deserialize_with = "or_default")]
    pub end_suggested: bool,
    /// The learner ended it, or said so.
    #[serde(deserialize_with = "or_default")]
    pub end_confirmed: bool,
    /// The limits of the session.
    #[serde(deserialize_with = "or_default")]
    pub constraints: Constraints,
    /// The version of the packet in force.
    #[serde(deserialize_with = "or_default")]
    pub current_instruction_version: u64,
    /// Turns since something was gained.
    #[serde(deserialize_with = "or_default")]
    pub attempts_since_last_progress: u64,
    /// The turn in which something was gained last.
    #[serde(deserialize_with = "or_default")]
    pub last_progress_turn: u64,
    /// The task that the learner works on.
    #[serde(deserialize_with = "or_default")]
    pub current_subtask_id: Option<String>,
    /// Skips without progress between them.
    #[serde(deserialize_with = "or_default")]
    pub consecutive_skips: u64,
    /// What was skipped.
    #[serde(deserialize_with = "skips")]
    pub skip_log: Vec<SkipEntry>,
    /// The learner wants to skip and has not said why.
    #[serde(deserialize_with = "or_default")]
    pub awaiting_skip_reason: bool,
    /// Members that others wrote: they are kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl SessionState {
    /// Where the learner is with this task.
    pub fn status(&self, id: &str) -> TaskStatus {
        self.subtask_status
            .get(id)
            .map(|entry| entry.status)
            .unwrap_or_default()
    }

    /// Whether every task is completed or skipped. A chapter without tasks is never done.
    pub fn all_done(&self, tasks: &[Task]) -> bool {
        !tasks.is_empty() && tasks.iter().all(|task| self.status(&task.id).is_over())
    }

    /// The task that the learner works on: the current one if it is open, else the first open.
    pub fn current_task<'a>(&self, tasks: &'a [Task]) -> Option<&'a Task> {
        let current = self.current_subtask_id.as_deref();
        let open = |task: &&Task| !self.status(&task.id).is_over();
        tasks
            .iter()
            .filter(open)
            .find(|task| Some(task.id.as_str()) == current)
            .or_else(|| tasks.iter().find(open))
    }

    /// The open task behind this one, or the first open one before it.
    pub fn task_after<'a>(&self, id: &str, tasks: &'a [Task]) -> Option<&'a Task> {
        let at = tasks.iter().position(|task| task.id == id);
        let from = at.map_or(0, |at| at + 1);
        let (before, behind) = tasks.split_at(from.min(tasks.len()));
        let open = |task: &&Task| task.id != id && !self.status(&task.id).is_over();
        behind
            .iter()
            .find(open)
            .or_else(|| before.iter().find(open))
    }

    /// Give every task of the chapter an entry. Entries of unknown tasks are kept.
    pub fn cover(&mut self, tasks: &[Task]) {
        let known: BTreeSet<&String> = self.subtask_status.0.iter().map(|(id, _)| id).collect();
        let missing: Vec<String> = tasks
            .iter()
            .filter(|task| !known.contains(&task.id))
            .map(|task| task.id.clone())
            .collect();
        for id in missing {
            self.subtask_status.entry(&id);
        }
    }
}

/// Tasks and where the learner is with each, in the chapter's order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tasks(Vec<(String, SubtaskStatus)>);

impl Tasks {
    /// Where the learner is with this task.
    pub fn get(&self, id: &str) -> Option<&SubtaskStatus> {
        let mut entries = self.0.iter();
        entries
            .find(|(name, _)| name == id)
            .map(|(_, status)| status)
    }

    /// The same, to be changed. A task without an entry gets one.
    pub fn entry(&mut self, id: &str) -> &mut SubtaskStatus {
        let at = match self.0.iter().position(|(name, _)| name == id) {
            Some(at) => at,
            None => {
                self.0.push((id.to_owned(), SubtaskStatus::default()));
                self.0.len() - 1
            }
        };
        &mut self.0[at].1
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SubtaskStatus)> {
        self.0.iter().map(|(id, status)| (id.as_str(), status))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Tasks {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Tasks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Map::<String, Value>::deserialize(deserializer)?;
        let mut tasks = Vec::with_capacity(entries.len());
        for (id, value) in entries {
            // Some wrote the bare word.
            let status = match value {
                Value::String(_) => SubtaskStatus {
                    status: serde_json::from_value(value).map_err(serde::de::Error::custom)?,
                    ..SubtaskStatus::default()
                },
                Value::Null => SubtaskStatus::default(),
                other => serde_json::from_value(other).map_err(serde::de::Error::custom)?,
            };
            tasks.push((id, status));
        }
        Ok(Self(tasks))
    }
}

/// Some wrote only the task's name.
fn skips<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SkipEntry>, D::Error> {
    let list = Option::<Vec<Value>>::deserialize(deserializer)?.unwrap_or_default();
    let read = |value| match value {
        Value::String(subtask_id) => Ok(SkipEntry {
            subtask_id,
            ..SkipEntry::default()
        }),
        other => serde_json::from_value(other).map_err(serde::de::Error::custom),
    };
    list.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_say_what_is_written() {
        let schema = schemars::schema_for!(SessionState).to_value();
        let written = serde_json::to_value(SessionState::default()).unwrap();
        for name in written.as_object().unwrap().keys() {
            assert!(schema["properties"].get(name).is_some(), "{name}");
        }
        assert!(schema["properties"].get("extra").is_none());
        assert_ne!(schema["additionalProperties"], false);
        let packet = schemars::schema_for!(crate::InstructionPacket).to_value();
        assert!(packet["properties"]["lock_until"].is_object());
    }

    #[test]
    fn states_of_older_programs_load_and_keep_what_they_had() {
        let old = r#"{"session_id":"s","turn_index":4,"created_at":"x","current_subtask_id":null,
            "subtask_status":{"b":{"status":"completed","evidence":["e"],"by":"me"},"a":"skipped","c":{"status":"odd"}},
            "constraints":{"max_input_length":null,"theme":"dark"},"skip_log":["a",{"subtask_id":"z","when":1}]}"#;
        let state: SessionState = serde_json::from_str(old).unwrap();
        assert_eq!(state.status("b"), TaskStatus::Completed);
        assert_eq!(state.status("a"), TaskStatus::Skipped);
        assert_eq!(state.status("c"), TaskStatus::NotStarted);
        assert_eq!(state.constraints.max_input_length, MAX_INPUT_LENGTH);
        let written = serde_json::to_value(&state).unwrap();
        assert_eq!(written["created_at"], "x");
        assert_eq!(written["subtask_status"]["b"]["by"], "me");
        assert_eq!(written["constraints"]["theme"], "dark");
        assert_eq!(written["skip_log"][1]["when"], 1);
        let order: Vec<_> = written["subtask_status"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(order, ["b", "a", "c"]);
        serde_json::from_str::<SessionState>(r#"{"turn_index":"four"}"#).unwrap_err();
        serde_json::from_str::<SessionState>("{}").unwrap();
    }
}
