//! What goes wrong, in the words of `pillion` itself: `error:`, and `hint:` for what to do.

use std::fmt;

/// A result of a task or a step.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Why a task or a step failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Error {
    message: String,
    hint: Option<String>,
    usage: bool,
}

impl Error {
    /// Something went wrong.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            usage: false,
        }
    }

    /// The command line was wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            usage: true,
            ..Self::new(message).hint("`cargo xtask --help` shows what there is")
        }
    }

    /// Something went wrong with a file.
    pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(format!("`{}`: {error}", path.display()))
    }

    /// What to do next.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// What happened, without the hint.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// 2 for a wrong command line, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        if self.usage { 2 } else { 1 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
