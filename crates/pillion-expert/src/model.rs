//! The model behind an expert, as far as a consultation needs to know it.

use std::pin::Pin;

use pillion_catalogue::Code;
use pillion_model::{Completion, Model, ModelErrorKind, Prompt, Usage};

/// An answer on its way.
pub type PendingCompletion<'a> =
    Pin<Box<dyn Future<Output = Result<Completion, pillion_model::Error>> + Send + 'a>>;

/// Something that answers as an expert. Dropping what it returned ends the call.
pub trait Consultant: std::fmt::Debug + Send + Sync {
    /// Ask the model.
    fn ask<'a>(&'a self, prompt: &'a Prompt) -> PendingCompletion<'a>;
}

impl Consultant for Model {
    fn ask<'a>(&'a self, prompt: &'a Prompt) -> PendingCompletion<'a> {
        // Nobody hears it as it comes: a report is whole or none.
        Box::pin(async move { self.ask(prompt, &mut |_| {}).await })
    }
}

/// Add the usage of one answer to that of others.
pub(crate) fn add(to: &mut Usage, more: Usage) {
    to.input_tokens = to.input_tokens.saturating_add(more.input_tokens);
    to.output_tokens = to.output_tokens.saturating_add(more.output_tokens);
    to.estimated |= more.estimated;
}

/// The word that programs branch on, for why a model gave no answer.
pub(crate) fn code(kind: ModelErrorKind) -> Code {
    match kind {
        ModelErrorKind::Settings | ModelErrorKind::Script => Code::InvalidConfig,
        ModelErrorKind::Unauthorized => Code::Unauthorized,
        ModelErrorKind::RateLimited | ModelErrorKind::Overloaded => Code::Busy,
        ModelErrorKind::Unreachable | ModelErrorKind::Refused => Code::Unreachable,
        ModelErrorKind::Timeout => Code::Timeout,
        ModelErrorKind::BadAnswer => Code::InvalidResult,
        ModelErrorKind::TooLarge => Code::ResponseTooLarge,
        ModelErrorKind::Cancelled => Code::Cancelled,
    }
}
