//! What the unseen agents answer, and what follows for packet, state and memory: the manager, the
//! expert whom it asks, and the memo agent.

use super::{MAX_CONSULTATION, Stage, Turn};
use crate::packet::{ConsultationRequest, InstructionPacket};
use crate::parse::{read_manager, read_memo};
use crate::rules::{apply_binding_rules, error_summary_due, next_packet};
use crate::state::TaskStatus;
use crate::steps::{ConsultationResult, MemoCommit, TurnAction};
use crate::stream::{Agent, StreamEvent};
use crate::words::clip;

/// The longest report, in characters.
const MAX_REPORT: usize = 100_000;

impl Turn {
    /// The manager answered.
    pub(super) fn managed(&mut self, text: &str, actions: &mut Vec<TurnAction>) {
        let consulted = self.stage == Stage::Consulted;
        // Both phases together make one new version.
        let base = InstructionPacket {
            instruction_version: self.input.packet.instruction_version,
            ..self.packet.clone()
        };
        let read = read_manager(text)
            .and_then(|(answer, notes)| Ok((next_packet(&base, &answer)?, answer, notes)));
        let (packet, mut answer, notes) = match read {
            Ok(read) => read,
            Err(problem) => {
                if !self.correct(text, &problem, actions) {
                    self.unmanaged(actions);
                }
                return;
            }
        };
        self.add_notes(notes);
        self.packet = packet;
        self.tell_usage(Agent::Manager, true, actions);
        let request = answer.consultation_request.take();
        if consulted && !answer.expert_consultation_summary.trim().is_empty() {
            self.findings = clip(&answer.expert_consultation_summary, MAX_CONSULTATION);
        }
        self.answers.push(answer);
        self.settle();
        if consulted {
            return self.bind_and_go_on(actions);
        }
        match request {
            Some(request) => self.consult(request, actions),
            None => self.ask_companion(actions),
        }
    }

    /// There is no usable answer: what there was before stays.
    pub(super) fn unmanaged(&mut self, actions: &mut Vec<TurnAction>) {
        self.tell_usage(Agent::Manager, false, actions);
        if self.stage == Stage::Consulted {
            // The first phase was fine, and the expert answered.
            return self.bind_and_go_on(actions);
        }
        self.commit(actions);
    }

    fn consult(&mut self, request: ConsultationRequest, actions: &mut Vec<TurnAction>) {
        let expert = self
            .input
            .experts
            .iter()
            .find(|expert| expert.id == request.expert_id);
        let Some(expert) = expert else {
            let name = clip(&request.expert_id, 80);
            self.note("consultation_request", format!("`{name}` is not available"));
            return self.ask_companion(actions);
        };
        let titles = [&request.consulting_letter_title, &expert.title, &expert.id];
        let title = titles.into_iter().find(|title| !title.trim().is_empty());
        actions.push(TurnAction::Emit(StreamEvent::ConsultationStart {
            expert_id: request.expert_id.clone(),
            title: clip(title.map_or("", String::as_str), 200),
        }));
        actions.push(TurnAction::Consult(request.clone()));
        self.consultation = Some(request);
        self.stage = Stage::Consulting;
    }

    /// An expert answered, or could not.
    pub(super) fn consulted(
        &mut self,
        result: Result<ConsultationResult, String>,
        actions: &mut Vec<TurnAction>,
    ) {
        let request = self.consultation.clone().unwrap_or_default();
        let expert_id = request.expert_id.clone();
        match result {
            Ok(result) => {
                self.count(Agent::Manager, result.usage);
                actions.push(TurnAction::Emit(StreamEvent::ConsultationComplete {
                    expert_id,
                    consultation_id: result.consultation_id,
                }));
                self.findings = format!(
                    "expert: {}\nquestion: {}\nresult:\n{}",
                    request.expert_id,
                    request.question,
                    clip(&result.text, MAX_CONSULTATION)
                );
                self.stage = Stage::Consulted;
                let question = self.briefing().manager(true);
                self.ask(question, actions);
            }
            Err(error) => {
                self.note("consultation", error.clone());
                actions.push(TurnAction::Emit(StreamEvent::ConsultationError {
                    expert_id,
                    error,
                }));
                self.packet.guidance_for_ca.push_str(
                    "\n\nThe expert that was asked could not answer. Say so if it matters, and \
                     go on without.",
                );
                self.ask_companion(actions);
            }
        }
    }

    fn bind_and_go_on(&mut self, actions: &mut Vec<TurnAction>) {
        if let Some(request) = &self.consultation {
            let notes = apply_binding_rules(&mut self.packet, &self.input.binding_rules, request);
            self.add_notes(notes);
        }
        self.ask_companion(actions);
    }

    /// The memo agent answered.
    pub(super) fn remembered(&mut self, text: &str, actions: &mut Vec<TurnAction>) {
        let (memo, notes) = match read_memo(text) {
            Ok(read) => read,
            Err(problem) => {
                if !self.correct(text, &problem, actions) {
                    self.tell_usage(Agent::Memo, false, actions);
                    self.complete(false, actions);
                }
                return;
            }
        };
        self.add_notes(notes);
        self.tell_usage(Agent::Memo, true, actions);
        let turn_index = self.index();
        let mut digest = memo.digest;
        // What others put into the digest stays, and what was skipped is known.
        digest.extra = self
            .input
            .digest
            .take()
            .map(|last| last.extra)
            .unwrap_or_default();
        let skipped = self.state.subtask_status.iter();
        digest.skipped_tasks = skipped
            .filter(|(_, entry)| entry.status == TaskStatus::Skipped)
            .map(|(id, _)| id.to_owned())
            .collect();
        let mut error_entries = memo.error_entries;
        error_entries.retain(|entry| !entry.description.trim().is_empty());
        for entry in &mut error_entries {
            entry.turn_index = turn_index;
        }
        let budget = self.input.memory_budget;
        self.memory
            .digest(turn_index, &digest, &error_entries, budget);
        let turns = self.state.turn_index;
        let last = self.memory.error_summary_turns;
        let error_summary_due = error_summary_due(turns, last, &self.state.constraints);
        if error_summary_due {
            self.memory.error_summary_turns = turns;
        }
        self.stage = Stage::SavingMemo;
        actions.push(TurnAction::SaveMemo(Box::new(MemoCommit {
            turn_index,
            report: clip(&memo.updated_report, MAX_REPORT),
            digest,
            error_entries,
            error_summary_due,
            error_summary: error_summary_due.then(|| self.memory.error_summary()),
            memory: self.memory.clone(),
            token_usage: self.usage.clone(),
        })));
    }
}
