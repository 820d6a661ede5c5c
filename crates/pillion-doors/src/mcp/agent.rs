//! The session of one agent, and what all sessions of a door share.

use std::sync::Arc;

use pillion_catalogue::SendBudget;
use tokio::sync::Semaphore;

use super::McpSettings;
use super::outputs::Outputs;
use super::roots::Roots;
use super::tools::Tools;
use crate::DoorState;

/// Calls that are worked on at once; more are refused.
const MAX_CALLS: usize = 256;

/// What all sessions of a door share.
pub(crate) struct Shared {
    pub(super) state: DoorState,
    pub(super) settings: McpSettings,
    pub(super) tools: Tools,
    pub(super) outputs: Outputs,
    pub(super) calls: Semaphore,
}

impl Shared {
    pub(crate) fn new(state: DoorState, settings: McpSettings) -> Self {
        Self {
            tools: Tools::new(&state.catalogue, settings.profile),
            outputs: Outputs::new(),
            calls: Semaphore::new(MAX_CALLS),
            state,
            settings,
        }
    }

    /// Whether there is nothing but exposed functions.
    pub(super) fn is_only_functions(&self) -> bool {
        self.state.exposed.is_some() && self.state.catalogue.definitions().next().is_none()
    }
}

/// The server of one session.
pub(crate) struct Agent {
    pub(super) shared: Arc<Shared>,
    pub(super) roots: Roots,
    /// Where its answers wait.
    pub(super) budget: SendBudget,
}

impl Agent {
    pub(crate) fn new(shared: Arc<Shared>, budget: SendBudget) -> Self {
        Self {
            shared,
            roots: Roots::default(),
            budget,
        }
    }
}
