//! What a model is asked, and what it answers: the same for every provider.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Characters of text that count as one token where the endpoint does not say.
const CHARS_PER_TOKEN: usize = 4;

/// One question to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// Who asks, such as `CA`: scripts and records tell agents apart by it.
    pub agent: String,
    /// The instructions.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<ChatMessage>,
    /// The form that the answer's text should have, if it is JSON.
    pub schema: Option<Schema>,
    /// What the model may call.
    pub tools: Vec<ToolSpec>,
    /// The longest answer.
    pub max_output_tokens: Option<u32>,
    /// How much chance there is in the answer.
    pub temperature: Option<f32>,
    /// What the scripted model knows about the moment. Not sent, not recorded.
    #[serde(skip)]
    pub facts: BTreeMap<String, String>,
}

impl Prompt {
    /// An estimate of how many tokens are sent.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        let messages = self.messages.iter().map(|message| match message {
            ChatMessage::User(text) => text.chars().count(),
            ChatMessage::Assistant { text, tool_calls } => {
                let calls = tool_calls
                    .iter()
                    .map(|call| call.arguments.to_string().len());
                text.chars().count() + calls.sum::<usize>()
            }
            ChatMessage::ToolResult { content, .. } => content.chars().count(),
        });
        tokens(self.system.chars().count() + messages.sum::<usize>())
    }
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatMessage {
    /// What the person, or the program in their place, says.
    User(String),
    /// What the model said before.
    Assistant {
        /// Its text, which may be empty.
        text: String,
        /// What it called.
        tool_calls: Vec<ToolCall>,
    },
    /// What a called tool gave.
    ToolResult {
        /// The call's [`ToolCall::id`].
        id: String,
        /// What the model is told.
        content: String,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// The form of an answer's text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// A name: letters, digits, `_` and `-`.
    pub name: String,
    /// A JSON schema of an object.
    pub schema: Value,
}

/// A function that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// When and what for.
    pub description: String,
    /// A JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// A call that the model wants made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// By which the result names the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments; a string with what the model wrote if that is not JSON.
    pub arguments: Value,
}

/// What a model answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The whole text, as it was heard.
    pub text: String,
    /// What it wants called.
    pub tool_calls: Vec<ToolCall>,
    /// What it took.
    pub usage: Usage,
    /// Why it ended.
    pub stop: Stop,
}

/// How many tokens an answer took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones too.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Whether at least one of the numbers is a guess, since the endpoint gave none.
    pub estimated: bool,
}

impl Usage {
    /// What the endpoint said, with estimates for what it did not say: `written` counts the
    /// characters of its answer.
    pub(crate) fn of(
        input: Option<u64>,
        output: Option<u64>,
        prompt: &Prompt,
        written: usize,
    ) -> Self {
        Self {
            input_tokens: input.unwrap_or_else(|| prompt.estimated_tokens()),
            output_tokens: output.unwrap_or_else(|| tokens(written)),
            estimated: input.is_none() || output.is_none(),
        }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model was done.
    #[default]
    End,
    /// It reached the limit on its length.
    Length,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// It, or a filter in front of it, declined to go on.
    Declined,
    /// Another reason.
    Other,
}

fn tokens(chars: usize) -> u64 {
    u64::try_from(chars.div_ceil(CHARS_PER_TOKEN)).unwrap_or(u64::MAX)
}
