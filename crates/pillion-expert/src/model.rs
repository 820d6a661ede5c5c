//! The model behind an expert, as far as a consultation needs to know it.

use std::collections::BTreeMap;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An answer on its way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send + 'a>>;

/// Something that answers as an expert. Dropping what it returned ends the call.
pub trait Consultant: std::fmt::Debug + Send + Sync {
    /// Ask.
    fn ask<'a>(&'a self, prompt: &'a Prompt) -> Asking<'a>;
}

/// Why there is no answer: nothing of it is the provider's text, or a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// What a model is asked.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// Who it stands for: `EXPERT`.
    pub agent: String,
    /// What it is told about itself.
    pub system: String,
    /// The talk so far.
    pub messages: Vec<Message>,
    /// What it may call.
    pub tools: Vec<Tool>,
    /// The longest answer.
    pub max_output_tokens: Option<u32>,
    /// What only the scripted model knows.
    pub facts: BTreeMap<String, String>,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// One message of the talk.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// To the model.
    User(String),
    /// Of the model.
    Assistant {
        /// What it said.
        text: String,
        /// What it called.
        tool_calls: Vec<ToolCall>,
    },
    /// What a call gave.
    ToolResult {
        /// Of which call.
        id: String,
        /// What it gave.
        content: String,
        /// It failed.
        is_error: bool,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// By which its result is known.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// With what.
    pub arguments: Value,
}

/// What a model answered.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// What it said.
    pub text: String,
    /// What it calls.
    pub tool_calls: Vec<ToolCall>,
    /// What it cost.
    pub usage: Usage,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of what was asked.
    pub input_tokens: u64,
    /// Of what was answered.
    pub output_tokens: u64,
}

impl Usage {
    /// Both together.
    pub(crate) fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}
