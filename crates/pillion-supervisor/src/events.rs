//! News about sidecars, for whoever listens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::{Cause, SidecarState};

/// News that a listener may miss before it is told that it did.
const CAPACITY: usize = 512;

/// Something that happened.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A sidecar entered another state.
    SidecarState {
        /// Which one.
        sidecar: String,
        /// Its workspace.
        workspace: String,
        /// Its new state.
        state: SidecarState,
        /// Which process of it.
        generation: u64,
    },
    /// A sidecar's process ended; what it held in memory is lost.
    SidecarEnded {
        /// Which one.
        sidecar: String,
        /// Its workspace.
        workspace: String,
        /// Which process of it.
        generation: u64,
        /// Why.
        cause: Cause,
        /// What the system said.
        exit: String,
    },
    /// Progress of a call.
    Progress {
        /// The sidecar that works on it.
        sidecar: String,
        /// What it said.
        progress: serde_json::Value,
    },
    /// A line of a log, pillion's own or a sidecar's stderr.
    Log {
        /// Who wrote it.
        source: String,
        /// The line.
        line: String,
    },
    /// The listener was too slow; so many events were dropped.
    Missed {
        /// How many.
        count: u64,
    },
}

/// Where news are announced. Clones share it; nobody needs to listen.
#[derive(Debug, Clone)]
pub struct Events {
    sender: broadcast::Sender<Event>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            sender: broadcast::Sender::new(CAPACITY),
        }
    }
}

impl Events {
    /// Tell an event to all who listen.
    pub fn announce(&self, event: Event) {
        // An error only means that nobody listens.
        let _ = self.sender.send(event);
    }

    /// Whether it is worth making an event.
    pub fn has_listeners(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Listen from now on.
    pub fn listen(&self) -> EventListener {
        EventListener {
            receiver: self.sender.subscribe(),
        }
    }
}

/// Someone who listens.
#[derive(Debug)]
pub struct EventListener {
    receiver: broadcast::Receiver<Event>,
}

impl EventListener {
    /// The next event; `None` when there will be no more.
    pub async fn next(&mut self) -> Option<Event> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Event::Missed { count }),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
