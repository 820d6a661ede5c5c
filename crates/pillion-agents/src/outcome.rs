//! What the companion says about a turn, behind its reply to the learner.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::{or_default, words};

words! {
    /// How the companion taught.
    TeachingMode {
        /// By questions.
        #[default]
        Socratic = "socratic",
        /// By telling.
        Direct = "direct",
    }
}

words! {
    /// What keeps the learner from going on.
    BlockerType {
        /// Nothing.
        #[default]
        None = "none",
        /// Something around the task: files, environment, paths.
        Scaffolding = "scaffolding",
        /// The idea that the task is about.
        CoreConcept = "core_concept",
        /// Turning the idea into code.
        CoreImplementation = "core_implementation",
        /// Something that the session does not have.
        ExternalResourceNeeded = "external_resource_needed",
    }
}

words! {
    /// How the learner seems to feel.
    Sentiment {
        /// With it.
        #[default]
        Engaged = "engaged",
        /// Lost.
        Confused = "confused",
        /// Annoyed.
        Frustrated = "frustrated",
        /// Tired.
        Fatigued = "fatigued",
    }
}

/// The companion's record of a turn. Files may hold `{}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TurnOutcome {
    /// What the learner tried.
    #[serde(deserialize_with = "or_default")]
    pub what_user_attempted: String,
    /// What the learner saw happen.
    #[serde(deserialize_with = "or_default")]
    pub what_user_observed: String,
    /// How the companion taught.
    pub ca_teaching_mode: TeachingMode,
    /// What the companion would do next.
    #[serde(deserialize_with = "or_default")]
    pub ca_next_suggestion: String,
    /// The learner has shown what the current task is about.
    #[serde(deserialize_with = "or_default")]
    pub checkpoint_reached: bool,
    /// What keeps the learner from going on.
    pub blocker_type: BlockerType,
    /// How the learner seems to feel.
    pub student_sentiment: Sentiment,
    /// What was gained, in a sentence.
    #[serde(deserialize_with = "or_default")]
    pub progress_record: String,
    /// What the learner has shown, by task.
    #[serde(deserialize_with = "or_default")]
    pub evidence_for_subtasks: Vec<Evidence>,
    /// The companion wants an expert.
    #[serde(deserialize_with = "or_default")]
    pub expert_consultation_needed: bool,
    /// What for.
    #[serde(deserialize_with = "or_default")]
    pub expert_consultation_reason: String,
    /// The learner would rather skip the task.
    #[serde(deserialize_with = "or_default")]
    pub student_wants_to_skip: bool,
}

/// What a learner has shown about one task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// The task.
    #[serde(deserialize_with = "or_default")]
    pub subtask_id: String,
    /// What shows it.
    #[serde(deserialize_with = "or_default")]
    pub evidence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_an_outcome_and_nulls_are_defaults() {
        let empty: TurnOutcome = serde_json::from_str("{}").unwrap();
        assert_eq!(empty, TurnOutcome::default());
        let nulls = r#"{"blocker_type":null,"progress_record":null,"evidence_for_subtasks":null,
            "student_sentiment":"delighted","ca_teaching_mode":"Direct","unknown":1}"#;
        let read: TurnOutcome = serde_json::from_str(nulls).unwrap();
        assert_eq!(read.student_sentiment, Sentiment::Engaged);
        assert_eq!(read.ca_teaching_mode, TeachingMode::Direct);
        serde_json::from_str::<TurnOutcome>(r#"{"progress_record":[1]}"#).unwrap_err();
    }

    #[test]
    fn it_is_written_with_the_names_of_the_contract() {
        let written = serde_json::to_value(TurnOutcome::default()).unwrap();
        let names: Vec<&String> = written.as_object().unwrap().keys().collect();
        assert_eq!(
            names,
            [
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
            ]
        );
        assert_eq!(written["blocker_type"], "none");
    }
}
