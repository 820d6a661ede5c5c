//! Past turns, as they lie in the folder of a session.

use pillion_agents::TokenUsage;
use pillion_catalogue::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::{Folder, names};

/// Turns that are read; a session has not so many.
const MOST: usize = 10_000;

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastTurn {
    /// Its number, from 0.
    pub turn_index: u64,
    /// What the learner wrote.
    pub user_message: String,
    /// What the companion answered.
    pub companion_response: String,
    /// What the companion made of it; may be empty.
    pub turn_outcome: Map<String, Value>,
    /// Tokens by agent, if that was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<BTreeMap<String, TokenUsage>>,
}

/// The name of a file of a turn.
pub(crate) fn name(turn: u64, what: &str) -> String {
    format!("{}/{turn:03}_{what}", names::TURNS)
}

/// The turns of a session whose next turn has the number `next`; the last `most` of them, oldest
/// first. What a desktop restored may lack files: an outcome is empty then, and a turn without
/// a message is none.
pub(crate) fn turns(folder: &Folder, next: u64, most: usize) -> Result<Vec<PastTurn>> {
    let most = u64::try_from(most.min(MOST)).unwrap_or(u64::MAX);
    let (first, end) = (offset(folder, next), next + offset(folder, next));
    let mut all = Vec::new();
    for turn_index in end.saturating_sub(most).max(first)..end {
        let Some(user_message) = folder.text(&name(turn_index, "user.txt"))? else {
            continue;
        };
        let companion = folder.text(&name(turn_index, "companion.txt"))?;
        let outcome = folder.json(&name(turn_index, "turn_outcome.json"));
        let usage = folder.json(&name(turn_index, "token_usage.json"));
        all.push(PastTurn {
            turn_index,
            user_message,
            companion_response: companion.unwrap_or_default(),
            turn_outcome: outcome.ok().flatten().unwrap_or_default(),
            token_usage: usage.ok().flatten(),
        });
    }
    Ok(all)
}

/// By how much the numbers of files are ahead of those of turns: older servers began with 1, and
/// desktops restore what those wrote.
pub(crate) fn offset(folder: &Folder, next: u64) -> u64 {
    let has = |turn| folder.path(&name(turn, "user.txt")).is_file();
    u64::from(next > 0 && has(next) && !has(0))
}
