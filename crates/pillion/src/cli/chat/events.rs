//! What a turn says while it goes on: the events of the session's stream, as far as a terminal
//! has something to show for them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// An event. What is not known here is left out, so that an engine may say more than this
/// program understands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    Start,
    CompanionStart,
    CompanionChunk {
        content: String,
    },
    CompanionComplete,
    TokenUsage {
        agent: String,
        #[serde(default)]
        input_tokens: u64,
        #[serde(default)]
        output_tokens: u64,
    },
    ConsultationStart {
        expert_id: String,
        #[serde(default)]
        title: Option<String>,
    },
    ConsultationComplete {
        expert_id: String,
    },
    ConsultationError {
        expert_id: String,
        #[serde(default)]
        error: String,
    },
    Complete,
    Error {
        message: String,
    },
    LlmError {
        error: String,
    },
    Cancelled,
    #[serde(other)]
    Other,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is kept.
    #[default]
    Kept,
    /// Something went wrong, and it was said what.
    Failed,
    /// It was cancelled, and nothing of it is kept.
    Cancelled,
}

/// Tokens, by the agent that used them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Usage(BTreeMap<String, (u64, u64)>);

impl Usage {
    pub(super) fn add(&mut self, agent: &str, input: u64, output: u64) {
        let (all_input, all_output) = self.0.entry(agent.to_owned()).or_default();
        *all_input = all_input.saturating_add(input);
        *all_output = all_output.saturating_add(output);
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (agent, (input, output)) in &other.0 {
            self.add(agent, *input, *output);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In one line, such as `1,204 tokens read, 96 written`.
    pub(super) fn line(&self) -> String {
        let input = self.0.values().map(|(input, _)| input).sum();
        let output = self.0.values().map(|(_, output)| output).sum();
        format!(
            "{} tokens read, {} written",
            grouped(input),
            grouped(output)
        )
    }

    /// A row of a markdown table for each agent.
    pub(super) fn table(&self) -> String {
        let mut table = "| who | tokens read | written |\n|---|---|---|\n".to_owned();
        for (agent, (input, output)) in &self.0 {
            let who = match agent.as_str() {
                "CA" => "companion",
                "RMA" => "roadmap manager",
                "MA" => "memo",
                other => other,
            };
            table += &format!("| {who} | {} | {} |\n", grouped(*input), grouped(*output));
        }
        table
    }
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_whatever_else_is_in_them() {
        for (json, expected) in [
            (r#"{"type":"start","more":1}"#, Event::Start),
            (
                r#"{"type":"companion_chunk","content":"é"}"#,
                Event::CompanionChunk {
                    content: "é".to_owned(),
                },
            ),
            (
                r#"{"type":"token_usage","agent":"CA","turn_index":0,"input_tokens":3,"output_tokens":4}"#,
                Event::TokenUsage {
                    agent: "CA".to_owned(),
                    input_tokens: 3,
                    output_tokens: 4,
                },
            ),
            (r#"{"type":"complete","turn_index":3}"#, Event::Complete),
            (r#"{"type":"made_up","x":[]}"#, Event::Other),
        ] {
            let event: Event = serde_json::from_str(json).unwrap();
            assert_eq!(event, expected, "{json}");
        }
    }

    #[test]
    fn usage_is_summed() {
        let mut turn = Usage::default();
        assert!(turn.is_empty());
        turn.add("CA", 1_000, 90);
        turn.add("MA", 204, 6);
        let mut all = turn.clone();
        all.add_all(&turn);
        assert_eq!(turn.line(), "1,204 tokens read, 96 written");
        assert!(all.table().contains("| companion | 2,000 | 180 |"));
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
