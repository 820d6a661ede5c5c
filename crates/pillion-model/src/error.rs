//! Why a model did not answer, and what to do next.
//!
//! The texts are ours alone: neither what the provider wrote nor a header or key is in them, so
//! they can be shown to a learner.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong, for programs.
    pub kind: ModelErrorKind,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// When the endpoint wants to be asked again, if it said so.
    pub retry_after: Option<Duration>,
}

impl Error {
    pub(crate) fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: kind.usual_hint().to_owned(),
            retry_after: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(crate) fn after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// The stable code: the kind in words.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The settings cannot be used.
    Settings,
    /// The endpoint does not accept the key.
    Unauthorized,
    /// Too many questions, or the account's quota is used up.
    RateLimited,
    /// The endpoint has a problem of its own (5xx).
    Overloaded,
    /// There is no connection, or it broke.
    Unreachable,
    /// The endpoint was silent for too long.
    Timeout,
    /// The endpoint does not accept the request (4xx).
    Refused,
    /// The answer makes no sense.
    BadAnswer,
    /// The answer or the question is longer than allowed.
    TooLarge,
    /// Whoever asked went away. Only in records: a dropped future has no result.
    Cancelled,
    /// The script or the replayed record has no answer, or cannot be read.
    Script,
}

impl ModelErrorKind {
    const ALL: [Self; 11] = [
        Self::Settings,
        Self::Unauthorized,
        Self::RateLimited,
        Self::Overloaded,
        Self::Unreachable,
        Self::Timeout,
        Self::Refused,
        Self::BadAnswer,
        Self::TooLarge,
        Self::Cancelled,
        Self::Script,
    ];

    /// The stable word for it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::BadAnswer => "bad_answer",
            Self::TooLarge => "too_large",
            Self::Cancelled => "cancelled",
            Self::Script => "script",
        }
    }

    /// Whether the same question may be answered a little later.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::Unreachable | Self::Timeout
        )
    }

    fn usual_hint(self) -> &'static str {
        match self {
            Self::Settings => "look at LLM_PROVIDER, LLM_API_KEY, LLM_MODEL and LLM_BASE_URL",
            Self::Unauthorized => "check LLM_API_KEY, and that it may use this model",
            Self::RateLimited => "wait a little, or look at the quota of the account",
            Self::Overloaded => "try again in a little while",
            Self::Unreachable => "check the network, LLM_BASE_URL, and that a local server runs",
            Self::Timeout => "try again, or choose a faster model",
            Self::Refused => "check LLM_MODEL and LLM_BASE_URL",
            Self::BadAnswer => "check that LLM_BASE_URL is what LLM_PROVIDER says",
            Self::TooLarge => "ask for less at once",
            Self::Cancelled => "ask again",
            Self::Script => "look at PILLION_MODEL_SCRIPT or PILLION_MODEL_REPLAY",
        }
    }
}

impl fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for ModelErrorKind {
    type Err = ();

    fn from_str(code: &str) -> Result<Self, ()> {
        let found = Self::ALL.into_iter().find(|kind| kind.code() == code);
        found.ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_serde_are_the_same_words() {
        for kind in ModelErrorKind::ALL {
            assert_eq!(kind.code().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
        }
    }
}
