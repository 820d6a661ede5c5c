//! The questions of a turn: what each agent is told at its moment.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use crate::members::{manager_schema, memo_schema};
use crate::memory::RecentTurn;
use crate::outcome::TurnOutcome;
use crate::packet::InstructionPacket;
use crate::prompts::{ModelRequest, Speaker, Values, append_section};
use crate::rules::Unlock;
use crate::state::SessionState;
use crate::steps::TurnInput;
use crate::stream::Agent;
use crate::words::clip;

/// So many turns are shown to the manager as history.
const HISTORY_TURNS: usize = 6;
/// The longest message in that history, in characters.
const HISTORY_TEXT: usize = 1_500;

/// What the companion's system text has, if its prompt does not mention it.
const COMPANION: &[&str] = &[
    "chapter_context",
    "task_list",
    "task_completion_principles",
    "interaction_protocol",
    "socratic_vs_direct",
    "memory",
    "state",
    "digest",
    "new_uploads",
    "consultation",
    "turn_outcome",
    "packet",
    "language",
];
/// The same for the manager,
const MANAGER: &[&str] = &[
    "chapter_context",
    "task_list",
    "task_completion_principles",
    "consultation_guide",
    "available_experts",
];
/// and for the memo agent.
const MEMO: &[&str] = &["chapter_context", "task_list", "language"];

/// What the manager and the memo agent are asked about, in this order.
const QUESTION: &[&str] = &[
    "unlock_reason",
    "memory",
    "history",
    "report",
    "digest",
    "state",
    "packet",
    "new_uploads",
    "consultation",
    "learner_message",
    "companion_reply",
    "turn_outcome",
];

/// What there is to tell at a moment of a turn.
pub(crate) struct Briefing<'a> {
    pub(crate) input: &'a TurnInput,
    pub(crate) state: &'a SessionState,
    pub(crate) packet: &'a InstructionPacket,
    pub(crate) unlock: Option<Unlock>,
    pub(crate) outcome: Option<&'a TurnOutcome>,
    pub(crate) reply: &'a str,
    pub(crate) consultation: &'a str,
    pub(crate) expert_id: Option<&'a str>,
}

impl Briefing<'_> {
    /// The question to the companion, in its first or second run.
    pub(crate) fn companion(&self, run: u8) -> ModelRequest {
        let values = self.values();
        let (system, _) = self.input.prompts.system("companion", &values, COMPANION);
        let mut messages = Vec::new();
        for turn in &self.input.memory.recent {
            if turn.user_message.trim().is_empty() || turn.companion_response.trim().is_empty() {
                continue;
            }
            messages.push((Speaker::User, turn.user_message.clone()));
            messages.push((Speaker::Assistant, turn.companion_response.clone()));
        }
        messages.push((Speaker::User, self.input.message.clone()));
        ModelRequest {
            agent: Agent::Companion,
            system,
            messages,
            schema: None,
            facts: self.facts(run),
        }
    }

    /// The question to the manager, before or after a consultation.
    pub(crate) fn manager(&self, consulted: bool) -> ModelRequest {
        let name = if consulted {
            "manager_consulted"
        } else {
            "manager"
        };
        let schema = manager_schema(consulted);
        let phase = if consulted { 2 } else { 1 };
        self.question(Agent::Manager, name, MANAGER, schema, phase)
    }

    /// The question to the memo agent.
    pub(crate) fn memo(&self) -> ModelRequest {
        self.question(Agent::Memo, "memo", MEMO, memo_schema(), 1)
    }

    fn question(
        &self,
        agent: Agent,
        name: &str,
        sections: &[&'static str],
        schema: serde_json::Value,
        phase: u8,
    ) -> ModelRequest {
        let mut values = self.values();
        if agent == Agent::Manager {
            // It steers by the digest; the report is the learner's.
            values.remove("report");
        }
        let (system, used) = self.input.prompts.system(name, &values, sections);
        let mut message = String::new();
        for section in QUESTION.iter().filter(|section| !used.contains(*section)) {
            append_section(&mut message, section, &values);
        }
        message.push_str("\n\nAnswer with the JSON object that was specified.");
        ModelRequest {
            agent,
            system,
            messages: vec![(Speaker::User, message)],
            schema: Some(schema),
            facts: self.facts(phase),
        }
    }

    fn values(&self) -> Values {
        let input = self.input;
        let mut values = input.chapter.values_for(&input.experts, &input.message);
        let state = json!({
            "turn_index": input.state.turn_index,
            "current_subtask_id": self.state.current_subtask_id,
            "subtask_status": self.state.subtask_status,
            "attempts_since_last_progress": self.state.attempts_since_last_progress,
            "consecutive_skips": self.state.consecutive_skips,
            "end_suggested": self.state.end_suggested,
        });
        values.insert("state", text(&state));
        values.insert("packet", text(self.packet));
        let digest = input.digest.as_ref().map(text).unwrap_or_default();
        values.insert("digest", digest);
        values.insert("report", input.report.clone());
        values.insert("memory", input.memory.render());
        values.insert("history", history(&input.memory.recent));
        values.insert("turn_outcome", self.outcome.map(text).unwrap_or_default());
        values.insert("consultation", self.consultation.to_owned());
        values.insert("learner_message", input.message.clone());
        let errors = if input.memory.errors.is_empty() {
            String::new()
        } else {
            input.memory.error_summary()
        };
        values.insert("error_summary", errors);
        values.insert("companion_reply", self.reply.to_owned());
        values.insert("new_uploads", input.new_uploads.join("\n"));
        let unlock = self.unlock.map(Unlock::as_str).unwrap_or_default();
        values.insert("unlock_reason", unlock.to_owned());
        values
    }

    fn facts(&self, phase: u8) -> BTreeMap<String, String> {
        let input = self.input;
        let tasks = &input.chapter.tasks;
        let task = self.state.current_task(tasks);
        let next = task.and_then(|task| self.state.task_after(&task.id, tasks));
        // The manager may have moved on since; what the learner said was about this one.
        let begun = input.state.current_task(tasks);
        let expert = self
            .expert_id
            .or_else(|| input.experts.first().map(|expert| expert.id.as_str()));
        let id = |task: Option<&crate::state::Task>| task.map(|task| task.id.clone());
        let title = |task: Option<&crate::state::Task>| task.map(|task| task.title.clone());
        let facts = [
            ("learner_message", Some(input.message.clone())),
            ("turn_index", Some(input.state.turn_index.to_string())),
            ("chapter_title", Some(input.chapter.title.clone())),
            ("task_id", id(task)),
            ("task_title", title(task)),
            ("begun_task_id", id(begun)),
            ("begun_task_title", title(begun)),
            ("next_task_id", id(next)),
            ("next_task_title", title(next)),
            (
                "packet_version",
                Some(self.packet.instruction_version.to_string()),
            ),
            ("phase", Some(phase.to_string())),
            ("expert_id", expert.map(str::to_owned)),
            (
                "consultation",
                Some(self.consultation.to_owned()).filter(|found| !found.is_empty()),
            ),
            ("report", Some(input.report.clone())),
            (
                "unlock",
                self.unlock.map(|unlock| unlock.as_str().to_owned()),
            ),
        ];
        let named = facts.into_iter();
        named
            .map(|(name, value)| (name.to_owned(), value.unwrap_or_default()))
            .collect()
    }
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn history(turns: &[RecentTurn]) -> String {
    let from = turns.len().saturating_sub(HISTORY_TURNS);
    let lines: Vec<String> = turns[from..]
        .iter()
        .map(|turn| {
            let said = clip(&turn.user_message, HISTORY_TEXT);
            let answered = clip(&turn.companion_response, HISTORY_TEXT);
            format!(
                "[turn {}]\nlearner: {said}\ncompanion: {answered}",
                turn.turn_index
            )
        })
        .collect();
    lines.join("\n\n")
}
