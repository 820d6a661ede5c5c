//! What the memo agent gives back: the report, a digest and the learner's errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::outcome::{BlockerType, Sentiment};
use crate::words::{or_default, texts, words};

words! {
    /// What a turn changed.
    ProgressDelta {
        /// Nothing.
        #[default]
        None = "none",
        /// The learner showed something.
        EvidenceAdded = "evidence_added",
        /// The learner reached the checkpoint.
        CheckpointReached = "checkpoint_reached",
        /// Something that worked does not any more.
        Regressed = "regressed",
    }
}

words! {
    /// What kind of error it was.
    ErrorType {
        /// About the idea.
        #[default]
        Conceptual = "conceptual",
        /// In the code.
        Coding = "coding",
        /// Around the task.
        Scaffolding = "scaffolding",
    }
}

/// A turn in short, for the manager and the next turns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Digest")]
pub struct MemoDigest {
    /// What was seen.
    #[serde(deserialize_with = "texts")]
    pub key_observations: Vec<String>,
    /// What is hard for the learner.
    #[serde(deserialize_with = "texts")]
    pub student_struggles: Vec<String>,
    /// What goes well.
    #[serde(deserialize_with = "texts")]
    pub student_strengths: Vec<String>,
    /// How the learner seems to feel.
    pub student_sentiment: Sentiment,
    /// What keeps the learner from going on.
    pub blocker_type: BlockerType,
    /// What the turn changed.
    pub progress_delta: ProgressDelta,
    /// What was found out about errors.
    #[serde(deserialize_with = "texts")]
    pub diagnostic_log: Vec<String>,
    /// What was achieved.
    #[serde(deserialize_with = "texts")]
    pub achievement_log: Vec<String>,
    /// Tasks that were skipped.
    #[serde(deserialize_with = "texts")]
    pub skipped_tasks: Vec<String>,
    /// Members that others wrote: they are kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An error that the learner made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ErrorEntry {
    /// In which turn.
    #[serde(deserialize_with = "or_default")]
    pub turn_index: u64,
    /// What kind of error it was.
    pub error_type: ErrorType,
    /// What went wrong.
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    /// Where.
    #[serde(deserialize_with = "or_default")]
    pub context: String,
}

/// The memo agent's answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoResult {
    /// The whole report, rewritten.
    #[serde(deserialize_with = "or_default")]
    pub updated_report: String,
    /// The turn in short.
    #[serde(deserialize_with = "or_default")]
    pub digest: MemoDigest,
    /// Errors of this turn.
    #[serde(deserialize_with = "or_default")]
    pub error_entries: Vec<ErrorEntry>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_digest_loads_and_keeps_what_it_had() {
        let old = r#"{"key_observations":"one","diagnostic_log":[{"x":1},null,"y"],"of":"old"}"#;
        let digest: MemoDigest = serde_json::from_str(old).unwrap();
        assert_eq!(digest.key_observations, ["one"]);
        assert_eq!(digest.diagnostic_log, [r#"{"x":1}"#, "y"]);
        assert_eq!(serde_json::to_value(&digest).unwrap()["of"], "old");
        assert_eq!(
            serde_json::from_str::<MemoDigest>("{}").unwrap(),
            MemoDigest::default()
        );
    }
}
