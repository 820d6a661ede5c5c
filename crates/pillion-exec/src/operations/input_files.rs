//! Files that go along with a run.

use pillion_lanes::text_or_base64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file that goes along: its text, or its bytes in base64.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileGiven {
    /// Its name in the folder.
    pub name: String,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl FileGiven {
    /// A file with these contents.
    pub fn new(name: &str, contents: Vec<u8>) -> Self {
        let (text, base64) = text_or_base64(contents);
        Self {
            name: name.to_owned(),
            text,
            base64,
        }
    }
}
