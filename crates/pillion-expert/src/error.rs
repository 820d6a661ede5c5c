//! Why a consultation came to nothing.

use std::io;

use pillion_catalogue::Code;

/// Why a consultation came to nothing. The turn it belongs to can go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request names another expert.
    #[error("the request is for the expert `{asked}`, but `{found}` was given")]
    WrongExpert {
        /// Who was asked for.
        asked: String,
        /// Who was given.
        found: String,
    },
    /// The expert's folder is not as it should be.
    #[error("the expert `{expert}` cannot be consulted: {why}")]
    BadExpert {
        /// Which one.
        expert: String,
        /// What is wrong.
        why: String,
    },
    /// The expert lane does not run here.
    #[error("the skills of the expert `{expert}` cannot be run: {}", error.message)]
    Lane {
        /// Which expert.
        expert: String,
        /// What the lane said.
        error: pillion_catalogue::Error,
    },
    /// The model failed.
    ///
    /// What it says is pillion's own: nothing of the provider's, and no key.
    #[error("the expert's model gave no answer: {0}")]
    Model(#[source] pillion_model::Error),
    /// The model ended without a report.
    #[error("the expert `{expert}` ended without a report")]
    NoReport {
        /// Which one.
        expert: String,
    },
    /// It took too long.
    #[error("the consultation took longer than {seconds} s and was ended")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// Somebody cancelled it.
    #[error("the consultation was cancelled")]
    Cancelled,
    /// Its files could not be written or read.
    #[error("`{what}` of the consultation cannot be kept: {source}")]
    Files {
        /// Which one.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A fault of pillion's.
    #[error("the consultation failed inside of pillion: {0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn files(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Files { what, source }
    }

    /// The stable word that programs branch on.
    pub fn code(&self) -> Code {
        match self {
            Self::WrongExpert { .. } => Code::InvalidParams,
            Self::BadExpert { .. } => Code::InvalidConfig,
            Self::Lane { error, .. } => error.code.clone(),
            Self::Model(error) => crate::model::code(error.kind),
            Self::NoReport { .. } => Code::InvalidResult,
            Self::Timeout { .. } => Code::Timeout,
            Self::Cancelled => Code::Cancelled,
            Self::Files { .. } => Code::WriteFailed,
            Self::Internal(_) => Code::InternalError,
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Lane { error, .. } => return error.hint.clone(),
            Self::Model(error) => &error.hint,
            Self::WrongExpert { .. } => "ask for an expert that the chapter makes available",
            Self::BadExpert { .. } => "`pillion course check` names the file and the line",
            Self::NoReport { .. } => "the transcript in the consultation's folder says what it did",
            Self::Timeout { .. } => "ask for less, or let the expert use faster skills",
            Self::Cancelled | Self::Internal(_) => return None,
            Self::Files { .. } => "look whether the sessions' folder can be written and has space",
        };
        Some(hint.to_owned())
    }
}

impl From<Error> for pillion_catalogue::Error {
    fn from(error: Error) -> Self {
        let made = Self::new(error.code(), error.to_string());
        match error.hint() {
            Some(hint) => made.hint(hint),
            None => made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_says_what_happened_and_what_to_do_next() {
        let lane = pillion_catalogue::Error::new(Code::StartFailed, "no walls").hint("get some");
        let cases = [
            (
                Error::Lane {
                    expert: "e".to_owned(),
                    error: lane,
                },
                "start_failed",
                "get some",
            ),
            (Error::Timeout { seconds: 3 }, "timeout", "ask for less"),
            (
                Error::files("report.md")(io::ErrorKind::StorageFull.into()),
                "write_failed",
                "space",
            ),
        ];
        for (error, code, hint) in cases {
            let text = error.to_string();
            let made = pillion_catalogue::Error::from(error);
            assert_eq!(made.code.as_str(), code);
            assert_eq!(made.message, text);
            assert!(made.hint.unwrap().contains(hint), "{text}");
        }
    }
}
