//! Who asks: what a request says about its caller, beside its parameters.
//!
//! It is a member `caller` of the envelope on the doors that have one, a header on HTTP, `_meta`
//! of a tool call. Clients that are older than it say the same among the parameters.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The HTTP header that says it, as JSON.
pub const HEADER: &str = "pillion-caller";
/// The member of MCP's `_meta` that says it.
pub const META: &str = "pillion/caller";

/// Where a caller stands, which Python is theirs, how they read, and how long they wait.
/// Everything may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Caller {
    /// The folder of the project; found from where the caller stands if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Where the caller stands: relative paths are meant from here, and the project is the
    /// nearest one at or above if nothing else says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<PathBuf>,
    /// The Python to use: a path, an environment's folder, a name on `PATH`, or a version such
    /// as `3.12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<PathBuf>,
    /// The caller's virtual environment, used where nothing else is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_env: Option<PathBuf>,
    /// The caller's conda environment, used where no other is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conda_prefix: Option<PathBuf>,
    /// `json`, or `text` for models and people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Milliseconds it may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Format {
    /// Structured.
    #[default]
    Json,
    /// Compact text, made for models and people, in a field `text`.
    Text,
}

impl Caller {
    /// Somebody who stands in this folder.
    pub fn near(folder: impl Into<PathBuf>) -> Self {
        Self {
            near: Some(folder.into()),
            ..Self::default()
        }
    }

    /// Whether nothing is said about which Python is meant.
    pub fn names_no_python(&self) -> bool {
        self.python.is_none() && self.virtual_env.is_none() && self.conda_prefix.is_none()
    }

    /// What this says, and where it says nothing, what `other` does.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            root: self.root.or(other.root),
            near: self.near.or(other.near),
            python: self.python.or(other.python),
            virtual_env: self.virtual_env.or(other.virtual_env),
            conda_prefix: self.conda_prefix.or(other.conda_prefix),
            format: self.format.or(other.format),
            timeout_ms: self.timeout_ms.or(other.timeout_ms),
        }
    }

    /// Whether it says nothing.
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }

    /// How the answer is to be written.
    pub fn format(&self) -> Format {
        self.format.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_counts() {
        let said = Caller {
            root: Some("a".into()),
            ..Caller::default()
        };
        let other = Caller {
            root: Some("b".into()),
            timeout_ms: Some(5),
            ..Caller::near("c")
        };
        let both = said.or(other);
        assert_eq!(both.root, Some("a".into()));
        assert_eq!((both.near, both.timeout_ms), (Some("c".into()), Some(5)));
    }

    #[test]
    fn nothing_said_is_an_empty_object_and_mistakes_are_named() {
        let silent = Caller::default();
        assert!(silent.is_silent());
        assert_eq!(serde_json::to_string(&silent).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<Caller>("{}").unwrap(), silent);
        assert!(serde_json::from_str::<Caller>(r#"{"rooot":"/"}"#).is_err());
    }
}
