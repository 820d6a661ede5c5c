//! What a client of the stream is told, and who the agents are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the three agents of a session.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Agent {
    /// The companion, who talks to the learner.
    #[serde(rename = "CA")]
    Companion,
    /// The roadmap manager, who steers it.
    #[serde(rename = "RMA")]
    Manager,
    /// The memo agent, who keeps the report.
    #[serde(rename = "MA")]
    Memo,
}

impl Agent {
    /// Its name in events and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Companion => "CA",
            Self::Manager => "RMA",
            Self::Memo => "MA",
        }
    }
}

/// Tokens that calls of models took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// Tokens of what was asked.
    pub input_tokens: u64,
    /// Tokens of what was answered.
    pub output_tokens: u64,
}

impl TokenUsage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }

    /// Whether nothing was counted.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// Tokens of a turn, by agent.
pub type UsageByAgent = BTreeMap<Agent, TokenUsage>;

/// What the stream of a turn says. It is written as `{"type": ...}` with its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The turn began.
    Start {},
    /// A reply begins. What was shown of one before is to be cleared.
    CompanionStart {},
    /// More of the reply.
    CompanionChunk {
        /// The text.
        content: String,
    },
    /// The reply is whole.
    CompanionComplete {},
    /// What calls of an agent took since its last such event.
    TokenUsage {
        /// Which agent.
        agent: Agent,
        /// The turn.
        turn_index: u64,
        /// Tokens of what was asked.
        input_tokens: u64,
        /// Tokens of what was answered.
        output_tokens: u64,
    },
    /// An expert is asked.
    ConsultationStart {
        /// Whom.
        expert_id: String,
        /// About what.
        title: String,
    },
    /// The expert answered.
    ConsultationComplete {
        /// Who.
        expert_id: String,
        /// Where the answer is.
        consultation_id: String,
    },
    /// The expert did not; the turn goes on.
    ConsultationError {
        /// Who.
        expert_id: String,
        /// Why.
        error: String,
    },
    /// The turn is over.
    Complete {
        /// The index of the next turn.
        turn_index: u64,
    },
    /// Something went wrong.
    Error {
        /// What, and what to do.
        message: String,
    },
    /// The model did not answer.
    LlmError {
        /// Why, in words for the learner.
        error: String,
    },
    /// The turn was cancelled and left nothing behind.
    Cancelled {},
}

impl StreamEvent {
    /// The names of all events.
    pub const NAMES: &'static [&'static str] = &[
        "start",
        "companion_start",
        "companion_chunk",
        "companion_complete",
        "token_usage",
        "consultation_start",
        "consultation_complete",
        "consultation_error",
        "complete",
        "error",
        "llm_error",
        "cancelled",
    ];

    /// Whether a turn's stream ends with it. An error that ends a stream before its turn
    /// began is not among them.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Complete { .. } | Self::Cancelled {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_written_as_the_contract_says() {
        let text = |event: StreamEvent| serde_json::to_string(&event).unwrap();
        let id = || "e".to_owned();
        let all = [
            (StreamEvent::Start {}, r#"{"type":"start"}"#),
            (
                StreamEvent::CompanionStart {},
                r#"{"type":"companion_start"}"#,
            ),
            (
                StreamEvent::CompanionChunk {
                    content: "a\nb".into(),
                },
                r#"{"type":"companion_chunk","content":"a\nb"}"#,
            ),
            (
                StreamEvent::CompanionComplete {},
                r#"{"type":"companion_complete"}"#,
            ),
            (
                StreamEvent::TokenUsage {
                    agent: Agent::Manager,
                    turn_index: 1,
                    input_tokens: 2,
                    output_tokens: 3,
                },
                r#"{"type":"token_usage","agent":"RMA","turn_index":1,"input_tokens":2,"output_tokens":3}"#,
            ),
            (
                StreamEvent::ConsultationStart {
                    expert_id: id(),
                    title: "t".into(),
                },
                r#"{"type":"consultation_start","expert_id":"e","title":"t"}"#,
            ),
            (
                StreamEvent::ConsultationComplete {
                    expert_id: id(),
                    consultation_id: "c".into(),
                },
                r#"{"type":"consultation_complete","expert_id":"e","consultation_id":"c"}"#,
            ),
            (
                StreamEvent::ConsultationError {
                    expert_id: id(),
                    error: "x".into(),
                },
                r#"{"type":"consultation_error","expert_id":"e","error":"x"}"#,
            ),
            (
                StreamEvent::Complete { turn_index: 7 },
                r#"{"type":"complete","turn_index":7}"#,
            ),
            (
                StreamEvent::Error {
                    message: "m".into(),
                },
                r#"{"type":"error","message":"m"}"#,
            ),
            (
                StreamEvent::LlmError { error: "m".into() },
                r#"{"type":"llm_error","error":"m"}"#,
            ),
            (StreamEvent::Cancelled {}, r#"{"type":"cancelled"}"#),
        ];
        let names: Vec<String> = all
            .iter()
            .map(|(event, _)| {
                serde_json::to_value(event).unwrap()["type"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(names, StreamEvent::NAMES);
        for (event, written) in all {
            assert_eq!(serde_json::from_str::<StreamEvent>(written).unwrap(), event);
            assert_eq!(text(event), written);
        }
        let usage = UsageByAgent::from([(Agent::Companion, TokenUsage::default())]);
        assert_eq!(
            serde_json::to_string(&usage).unwrap(),
            r#"{"CA":{"input_tokens":0,"output_tokens":0}}"#
        );
    }
}
