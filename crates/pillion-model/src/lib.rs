//! Language models for any service: asked with a [`Prompt`], heard as the text comes.
//!
//! # Theory of operation
//!
//! [`ModelSettings`] say which endpoint answers; a [`Model`] is made of them and cloned to whoever
//! asks. Making one opens no connection and reads no certificates: the first question does.
//!
//! [`Model::ask`] is one future. All of a request belongs to it, so dropping it closes the
//! connection, and a wait between two attempts ends with it. An attempt that failed before any
//! text was heard is repeated within bounds; once text was heard, a failure is reported,
//! since the listener cannot unhear it.
//!
//! What an endpoint sends is bytes of unknown cut: [`sse`] makes events of them, a dialect
//! (OpenAI's or Anthropic's) folds the events into an [`Completion`]. Both are pure. Options that a
//! server refuses are left out from then on. What a model thinks aloud is not heard.
//!
//! Without a key there is the scripted model: rules in a small file, an embedded one by default,
//! which answer offline and always the same. What was said can be recorded to a file and
//! answered from it again.
//!
//! The key is a [`Secret`](pillion_process::Secret). It is in no error, log or record; nor is
//! what the provider wrote in an error, which goes redacted and cut to a debug line only.

mod anthropic;
mod draft;
mod error;
mod http;
mod model;
mod openai;
mod options;
mod prompt;
mod record;
mod redact;
mod replay;
mod retry;
mod schema;
mod scripted;
mod settings;
pub mod sse;
mod thoughts;

pub use error::{Error, ModelErrorKind};
pub use model::Model;
pub use prompt::{ChatMessage, Completion, Prompt, Schema, Stop, ToolCall, ToolSpec, Usage};
pub use settings::{ModelLimits, ModelSettings, Provider, VARIABLES};
