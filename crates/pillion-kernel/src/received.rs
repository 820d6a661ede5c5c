//! What came from a kernel, and on which of its sockets.

use std::sync::Arc;

use bytes::Bytes;
use pillion_protocol::jupyter::JupyterMessage;
use serde::Serialize;
use serde_json::Value;

/// What a message takes beside its content, about.
pub(crate) const AROUND: usize = 1024;

/// Where a message came from, or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// Requests and replies.
    Shell,
    /// The same, also while a cell runs.
    Control,
    /// Questions to the user, and their answers.
    Stdin,
    /// Outputs and states.
    Iopub,
}

impl Channel {
    /// Its name in Jupyter's protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Control => "control",
            Self::Stdin => "stdin",
            Self::Iopub => "iopub",
        }
    }

    /// The channel of this name that can be spoken on.
    pub fn to_speak_on(name: &str) -> Option<Self> {
        let all = [Self::Shell, Self::Control, Self::Stdin];
        all.into_iter().find(|channel| channel.name() == name)
    }
}

/// Something that came from the kernel.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Where.
    pub channel: Channel,
    /// What.
    pub message: Arc<JupyterMessage>,
}

impl Heard {
    /// What kind of message it is.
    pub fn kind(&self) -> &str {
        &self.message.header.msg_type
    }

    /// Its content, null if it was too large.
    pub fn content(&self) -> Value {
        let content = self.message.content.as_deref();
        content.map_or(Value::Null, |raw| {
            serde_json::from_str(raw.get()).unwrap_or_default()
        })
    }

    /// About how many bytes it takes while it waits.
    pub(crate) fn size(&self) -> usize {
        let content = self.message.content.as_deref();
        let buffers: usize = self.message.buffers.iter().map(Bytes::len).sum();
        content.map_or(0, |raw| raw.get().len()) + buffers + AROUND
    }

    /// Whether it is about a request to a subshell, whose work is beside that of cells.
    pub(crate) fn is_beside(&self) -> bool {
        let parent = serde_json::from_str::<Value>(self.message.parent.get());
        parent.is_ok_and(|parent| parent["subshell_id"].is_string())
    }

    /// Whether a cell's end, or whoever answers its questions, depends on it.
    pub(crate) fn is_needed(&self) -> bool {
        self.channel != Channel::Iopub || matches!(self.kind(), "status" | "execute_input")
    }
}
