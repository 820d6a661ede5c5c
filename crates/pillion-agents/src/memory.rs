//! What the agents remember of a session, in three layers within a budget of tokens.
//!
//! The newest turns are kept word for word. What does not fit becomes a digest of its turn, and
//! the oldest digests become single lines. Each layer has its share of the budget, and the
//! newest of each layer stays.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::memo::{ErrorEntry, MemoDigest};
use crate::words::{clip, or_default, or_ignored};

/// The tokens of all layers together, unless something else is said.
pub const DEFAULT_BUDGET: usize = 6_000;
/// The longest digest of a turn, in characters.
const MAX_DIGEST: usize = 1_200;
/// The longest line of an old turn, in characters.
const MAX_LINE: usize = 200;
/// So many errors are remembered for the summary.
const MAX_ERRORS: usize = 200;
/// So many turns are kept word for word at most.
const MAX_RECENT: usize = 40;

/// About how many tokens a text has: a quarter of its characters, and one for each character
/// of Chinese, Japanese and Korean.
pub fn estimate_tokens(text: &str) -> usize {
    let (mut wide, mut narrow) = (0usize, 0usize);
    for letter in text.chars() {
        match u32::from(letter) {
            0x1100..=0x11FF
            | 0x2E80..=0x9FFF
            | 0xAC00..=0xD7AF
            | 0xF900..=0xFAFF
            | 0xFF00..=0xFFEF
            | 0x20000..=0x3FFFF => wide += 1,
            _ => narrow += 1,
        }
    }
    wide + narrow.div_ceil(4)
}

/// A turn word for word.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecentTurn {
    /// Which one.
    pub turn_index: u64,
    /// What the learner said.
    #[serde(deserialize_with = "or_default")]
    pub user_message: String,
    /// What the companion said.
    #[serde(deserialize_with = "or_default")]
    pub companion_response: String,
    /// What the memo agent made of it.
    #[serde(deserialize_with = "or_default")]
    pub digest: String,
}

impl RecentTurn {
    fn tokens(&self) -> usize {
        estimate_tokens(&self.user_message) + estimate_tokens(&self.companion_response)
    }
}

/// A turn in short.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MidTurn {
    /// Which one.
    pub turn_index: u64,
    /// What it was about.
    pub digest: String,
}

/// What is remembered, `memory_state.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryState {
    /// One line for each old turn, the oldest first.
    #[serde(deserialize_with = "or_ignored")]
    pub long: Vec<String>,
    /// Turns in short.
    #[serde(deserialize_with = "or_ignored")]
    pub mid: Vec<MidTurn>,
    /// The newest turns word for word.
    #[serde(deserialize_with = "or_ignored")]
    pub recent: Vec<RecentTurn>,
    /// Errors of the learner.
    #[serde(deserialize_with = "or_ignored")]
    pub errors: Vec<ErrorEntry>,
    /// The number of turns after which the error summary was written last.
    #[serde(deserialize_with = "or_ignored")]
    pub error_summary_turns: u64,
    /// Members that others wrote: they are kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl MemoryState {
    /// Take in turns that are not remembered, as after a restore that brought none of this.
    pub fn refill(&mut self, turns: &[RecentTurn], budget: usize) {
        let known = |memory: &Self, index| {
            let recent = memory.recent.iter().map(|turn| turn.turn_index);
            let mid = memory.mid.iter().map(|turn| turn.turn_index);
            recent.chain(mid).any(|found| found >= index)
        };
        for turn in turns {
            if !known(self, turn.turn_index) {
                self.recent.push(turn.clone());
            }
        }
        self.fit(budget);
    }

    /// Remember a turn that was just committed.
    pub fn remember(&mut self, turn: RecentTurn, budget: usize) {
        self.recent.retain(|old| old.turn_index < turn.turn_index);
        self.recent.push(turn);
        self.fit(budget);
    }

    /// What the memo agent made of a turn.
    pub fn digest(
        &mut self,
        turn_index: u64,
        digest: &MemoDigest,
        errors: &[ErrorEntry],
        budget: usize,
    ) {
        let text = digest_text(digest);
        let mut turns = self.recent.iter_mut();
        if let Some(turn) = turns.find(|turn| turn.turn_index == turn_index) {
            turn.digest = text;
        }
        self.errors.extend(errors.iter().cloned());
        let over = self.errors.len().saturating_sub(MAX_ERRORS);
        self.errors.drain(..over);
        self.fit(budget);
    }

    /// Move down what does not fit: half of the budget is for the newest turns, three tenths
    /// for digests, and the rest for lines.
    pub fn fit(&mut self, budget: usize) {
        let shares = [budget / 2, budget * 3 / 10, budget / 5];
        let mut kept = tail(&self.recent, shares[0], RecentTurn::tokens);
        // The last turn stays word for word, however long it is: the next one answers it.
        kept = kept.min(self.recent.len().saturating_sub(1));
        kept = kept.max(self.recent.len().saturating_sub(MAX_RECENT));
        let leaving: Vec<RecentTurn> = self.recent.drain(..kept).collect();
        self.mid.extend(leaving.into_iter().map(|turn| MidTurn {
            turn_index: turn.turn_index,
            digest: if turn.digest.is_empty() {
                excerpt(&turn)
            } else {
                turn.digest
            },
        }));
        let kept = tail(&self.mid, shares[1], |turn| {
            estimate_tokens(&turn.digest) + 2
        });
        for turn in self.mid.drain(..kept) {
            let first = turn.digest.lines().next().unwrap_or_default();
            let line = format!("turn {}: {}", turn.turn_index, clip(first, MAX_LINE));
            self.long.push(line);
        }
        let kept = tail(&self.long, shares[2], |line| estimate_tokens(line) + 1);
        self.long.drain(..kept);
    }

    /// The two older layers as text for a prompt. Empty at first.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for line in &self.long {
            text.push_str("- ");
            text.push_str(line);
            text.push('\n');
        }
        for turn in &self.mid {
            text.push_str(&format!("- turn {}: ", turn.turn_index));
            text.push_str(&turn.digest.replace('\n', "\n  "));
            text.push('\n');
        }
        text.trim_end().to_owned()
    }

    /// The errors as the text of `student_error_summary.md`.
    pub fn error_summary(&self) -> String {
        let mut text = "# Errors and what they were about\n".to_owned();
        if self.errors.is_empty() {
            text.push_str("\nNo errors were noted so far.\n");
        }
        let kinds = [
            (crate::memo::ErrorType::Conceptual, "Ideas"),
            (crate::memo::ErrorType::Coding, "Code"),
            (crate::memo::ErrorType::Scaffolding, "Set-up"),
        ];
        for (kind, title) in kinds {
            let mut found = self
                .errors
                .iter()
                .filter(|entry| entry.error_type == kind)
                .peekable();
            if found.peek().is_some() {
                text.push_str(&format!("\n## {title}\n\n"));
            }
            for entry in found {
                text.push_str(&format!(
                    "- turn {}: {}",
                    entry.turn_index,
                    one_line(&entry.description)
                ));
                if !entry.context.trim().is_empty() {
                    text.push_str(&format!(" ({})", one_line(&entry.context)));
                }
                text.push('\n');
            }
        }
        text
    }
}

fn one_line(text: &str) -> String {
    clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), 300)
}

/// From which item on a list fits.
fn tail<T>(items: &[T], tokens: usize, cost: impl Fn(&T) -> usize) -> usize {
    let mut left = tokens;
    for (at, item) in items.iter().enumerate().rev() {
        match left.checked_sub(cost(item)) {
            Some(rest) => left = rest,
            None => return at + 1,
        }
    }
    0
}

fn excerpt(turn: &RecentTurn) -> String {
    let said = one_line(&clip(&turn.user_message, MAX_LINE));
    let answered = one_line(&clip(&turn.companion_response, MAX_LINE));
    format!("the learner: {said} / the companion: {answered}")
}

fn digest_text(digest: &MemoDigest) -> String {
    let mut lines = Vec::new();
    let parts = [
        ("seen", &digest.key_observations),
        ("hard", &digest.student_struggles),
        ("good", &digest.student_strengths),
        ("errors", &digest.diagnostic_log),
        ("achieved", &digest.achievement_log),
    ];
    for (name, list) in parts {
        if !list.is_empty() {
            lines.push(format!("{name}: {}", one_line(&list.join("; "))));
        }
    }
    clip(&lines.join("\n"), MAX_DIGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn turn(index: u64, text: &str) -> RecentTurn {
        RecentTurn {
            turn_index: index,
            user_message: text.to_owned(),
            companion_response: format!("reply to {text}"),
            digest: String::new(),
        }
    }

    #[test]
    fn tokens_are_estimated() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("12345"), 2);
        assert_eq!(estimate_tokens("你好吗"), 3);
    }

    #[test]
    fn turns_move_down_the_layers() {
        let mut memory = MemoryState::default();
        for index in 0..60 {
            memory.remember(turn(index, &"word ".repeat(20)), 400);
            let seen = MemoDigest {
                key_observations: vec![format!("saw {index} {}", "more ".repeat(10))],
                ..MemoDigest::default()
            };
            memory.digest(index, &seen, &[], 400);
        }
        assert_eq!(memory.recent.last().unwrap().turn_index, 59);
        assert!(memory.recent.len() > 1 && !memory.mid.is_empty() && !memory.long.is_empty());
        assert!(memory.mid[0].digest.contains("saw"));
        let text = memory.render();
        assert!(text.contains("seen: saw"), "{text}");
        assert!(estimate_tokens(&text) < 300);
    }

    #[test]
    fn memories_of_other_programs_load_and_are_refilled() {
        let other = json!({"recent": "something", "long": {"a": 1}, "summary": "theirs"});
        let mut memory: MemoryState = serde_json::from_value(other).unwrap();
        memory.refill(&[turn(0, "a"), turn(1, "b")], DEFAULT_BUDGET);
        memory.refill(&[turn(0, "a"), turn(1, "b"), turn(2, "c")], DEFAULT_BUDGET);
        let indices: Vec<u64> = memory.recent.iter().map(|turn| turn.turn_index).collect();
        assert_eq!(indices, [0, 1, 2]);
        let written = serde_json::to_value(&memory).unwrap();
        assert_eq!(written["summary"], "theirs");
        assert_eq!(
            serde_json::from_value::<MemoryState>(written).unwrap(),
            memory
        );
    }

    #[test]
    fn errors_are_summed_up_by_kind() {
        let mut memory = MemoryState::default();
        let entry = ErrorEntry {
            turn_index: 3,
            description: "mixed up = and ==\nagain".into(),
            context: "in the loop".into(),
            ..ErrorEntry::default()
        };
        assert!(memory.error_summary().contains("No errors"));
        memory.digest(3, &MemoDigest::default(), &[entry], DEFAULT_BUDGET);
        let text = memory.error_summary();
        assert!(
            text.contains("## Ideas\n\n- turn 3: mixed up = and == again (in the loop)"),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn the_budget_is_kept(texts in prop::collection::vec("[a-z你 ]{0,200}", 1..40), budget in 100usize..2000) {
            let mut memory = MemoryState::default();
            for (index, text) in texts.iter().enumerate() {
                memory.remember(turn(index as u64, text), budget);
                let recent: usize = memory.recent.iter().map(RecentTurn::tokens).sum();
                prop_assert!(recent <= budget / 2 || memory.recent.len() == 1);
                prop_assert!(estimate_tokens(&memory.render()) <= budget);
                prop_assert_eq!(&memory.recent.last().unwrap().user_message, text);
            }
        }
    }
}
