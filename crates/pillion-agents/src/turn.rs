//! A turn as a pure state machine.
//!
//! [`Turn::step`] takes what happened and gives back what to do. It owns the order of a turn:
//!
//! 1. The companion is asked, and its reply is shown as it comes, without the JSON tail.
//! 2. If its record unlocks the packet, the manager is asked; if that wants an expert who is
//!    available, the expert is consulted and the manager asked again; then the companion is
//!    asked again with the new packet, and its second reply takes the place of the first.
//! 3. Turn, state, packet and memory are committed as one.
//! 4. The memo agent is asked, and the report is saved before the turn is said to be complete.
//!
//! Failures: without a companion there is no turn, and nothing is committed. Without a usable
//! answer of the manager the first reply stands, with the previous packet. A consultation that
//! fails is told, and the turn goes on. Without a memo the turn stays, with the previous report.
//! The manager and the memo agent get one chance to correct an answer; a companion's record that
//! cannot be read is replaced by an empty one, since to ask again would show the reply twice.
//!
//! Cancelling: before the commit was asked for, nothing is saved and the stream ends with
//! `cancelled`. A commit that is under way cannot be taken back: if it succeeds, the turn ends as
//! complete without a memo, else as cancelled. After the commit the learner has the whole reply,
//! so the memo is dropped and the turn ends as complete. While the memo is being saved it is
//! waited for.
//!
//! What the agents behind the companion answer is taken up in [`answers`].

mod answers;

use crate::briefing::Briefing;
use crate::memory::{DEFAULT_BUDGET, MemoryState, RecentTurn};
use crate::outcome::TurnOutcome;
use crate::packet::{ConsultationRequest, InstructionPacket, LockCondition, ManagerAnswer};
use crate::parse::{AnswerProblem, Note, read_outcome};
use crate::prompts::{ModelRequest, Speaker};
use crate::reply::ReplySplitter;
use crate::rules::{Unlock, apply_outcome, apply_state_update, move_on, unlock_reason};
use crate::state::SessionState;
use crate::steps::{Ending, TurnAction, TurnCommit, TurnEvent, TurnInput};
use crate::stream::{Agent, StreamEvent, TokenUsage, UsageByAgent};
use crate::words::clip;

/// The longest answer of the companion, in bytes. The rest of a longer one is not shown.
const MAX_REPLY: usize = 256 * 1024;
/// The longest bad answer that is sent back with its correction, in characters.
const MAX_BAD_ANSWER: usize = 8_000;
/// The longest result of an expert in a prompt, in characters.
const MAX_CONSULTATION: usize = 20_000;
/// So many notes are kept of a turn.
const MAX_NOTES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Companion,
    Manager,
    Consulting,
    Consulted,
    Committing { cancelled: bool },
    Memo,
    SavingMemo,
    Over,
}

/// A turn.
#[derive(Debug)]
pub struct Turn {
    input: TurnInput,
    stage: Stage,
    /// The companion's runs so far.
    run: u8,
    splitter: ReplySplitter,
    /// What the companion said in this run, with the tail.
    heard: String,
    /// It said more than is taken.
    full: bool,
    /// What the learner was shown of it.
    shown: String,
    /// The question that is open, and whether it is a correction already.
    asked: Option<(Box<ModelRequest>, bool)>,
    outcome: TurnOutcome,
    unlock: Option<Unlock>,
    packet: InstructionPacket,
    /// What the manager wants to change, of both phases.
    answers: Vec<ManagerAnswer>,
    consultation: Option<ConsultationRequest>,
    /// What came of it, for prompts.
    findings: String,
    state: SessionState,
    memory: MemoryState,
    usage: UsageByAgent,
    /// What the client was told of it.
    told: UsageByAgent,
    notes: Vec<Note>,
}

impl Turn {
    /// A turn that has not begun.
    pub fn new(mut input: TurnInput) -> Self {
        if input.memory_budget == 0 {
            input.memory_budget = DEFAULT_BUDGET;
        }
        let history = std::mem::take(&mut input.history);
        input.memory.refill(&history, input.memory_budget);
        input.state.cover(&input.chapter.tasks);
        move_on(&mut input.state, &input.chapter.tasks);
        Self {
            stage: Stage::New,
            run: 0,
            splitter: ReplySplitter::new(),
            heard: String::new(),
            full: false,
            shown: String::new(),
            asked: None,
            outcome: TurnOutcome::default(),
            unlock: None,
            packet: input.packet.clone(),
            answers: Vec::new(),
            consultation: None,
            findings: String::new(),
            state: input.state.clone(),
            memory: input.memory.clone(),
            usage: UsageByAgent::new(),
            told: UsageByAgent::new(),
            notes: Vec::new(),
            input,
        }
    }

    /// The index of this turn.
    pub fn index(&self) -> u64 {
        self.input.state.turn_index
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Whether the turn may already be kept, so that a cancel no longer undoes it.
    pub fn is_committed(&self) -> bool {
        matches!(
            self.stage,
            Stage::Committing { .. } | Stage::Memo | Stage::SavingMemo
        )
    }

    /// What was mended, refused or left out, for the log.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What models took so far.
    pub fn usage(&self) -> &UsageByAgent {
        &self.usage
    }

    /// Take in what happened; says what to do. What does not fit the moment changes nothing.
    pub fn step(&mut self, event: TurnEvent) -> Vec<TurnAction> {
        let mut actions = Vec::new();
        match (self.stage, event) {
            (Stage::Over, _) => {}
            (stage, TurnEvent::Cancelled) => self.cancel(stage, &mut actions),
            (Stage::New, TurnEvent::Begin) => {
                actions.push(TurnAction::Emit(StreamEvent::Start {}));
                self.ask_companion(&mut actions);
            }
            (Stage::Companion, TurnEvent::Text(text)) => self.hear(&text, &mut actions),
            (Stage::Companion, TurnEvent::Answered { text, usage }) => {
                self.count(Agent::Companion, usage);
                self.replied(&text, &mut actions);
            }
            (
                Stage::Companion,
                TurnEvent::Failed {
                    message,
                    recoverable,
                },
            ) => {
                self.fail(message, recoverable, &mut actions);
            }
            (Stage::Manager | Stage::Consulted, TurnEvent::Answered { text, usage }) => {
                self.count(Agent::Manager, usage);
                self.managed(&text, &mut actions);
            }
            (Stage::Manager | Stage::Consulted, TurnEvent::Failed { message, .. }) => {
                self.note("manager", message);
                self.unmanaged(&mut actions);
            }
            (Stage::Consulting, TurnEvent::Consulted(result)) => {
                self.consulted(result, &mut actions);
            }
            (Stage::Committing { cancelled: true }, TurnEvent::Committed) => {
                actions.push(TurnAction::Abort);
                self.complete(false, &mut actions);
            }
            // The memo agent has been asked already.
            (Stage::Committing { .. }, TurnEvent::Committed) => self.stage = Stage::Memo,
            (Stage::Committing { cancelled: true }, TurnEvent::CommitFailed { .. }) => {
                actions.push(TurnAction::Abort);
                self.end_cancelled(&mut actions);
            }
            (Stage::Committing { .. }, TurnEvent::CommitFailed { message }) => {
                actions.push(TurnAction::Abort);
                let error = StreamEvent::Error {
                    message: message.clone(),
                };
                self.give_up(error, message, true, &mut actions);
            }
            (Stage::Memo, TurnEvent::Answered { text, usage }) => {
                self.count(Agent::Memo, usage);
                self.remembered(&text, &mut actions);
            }
            (Stage::Memo, TurnEvent::Failed { message, .. }) => {
                self.note("memo", message);
                self.tell_usage(Agent::Memo, false, &mut actions);
                self.complete(false, &mut actions);
            }
            (Stage::SavingMemo, TurnEvent::MemoSaved) => self.complete(true, &mut actions),
            (Stage::SavingMemo, TurnEvent::MemoFailed) => self.complete(false, &mut actions),
            _ => {}
        }
        actions
    }

    // The companion.

    fn ask_companion(&mut self, actions: &mut Vec<TurnAction>) {
        self.stage = Stage::Companion;
        self.run += 1;
        self.splitter = ReplySplitter::new();
        self.heard.clear();
        self.full = false;
        self.shown.clear();
        let question = self.briefing().companion(self.run);
        self.ask(question, actions);
    }

    fn hear(&mut self, text: &str, actions: &mut Vec<TurnAction>) {
        if self.full {
            return;
        }
        let room = MAX_REPLY - self.heard.len();
        let end = (0..=room.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        self.full = end < text.len();
        let text = &text[..end];
        self.heard.push_str(text);
        let content = self.splitter.push(text);
        self.show(content, actions);
    }

    fn show(&mut self, content: String, actions: &mut Vec<TurnAction>) {
        // A reply begins with its first word, not with blanks.
        let content = if self.shown.is_empty() {
            content.trim_start().to_owned()
        } else {
            content
        };
        if content.is_empty() {
            return;
        }
        if self.shown.is_empty() {
            actions.push(TurnAction::Emit(StreamEvent::CompanionStart {}));
        }
        self.shown.push_str(&content);
        actions.push(TurnAction::Emit(StreamEvent::CompanionChunk { content }));
    }

    fn replied(&mut self, text: &str, actions: &mut Vec<TurnAction>) {
        // Models that do not stream say everything here.
        if let Some(rest) = text.strip_prefix(self.heard.as_str()) {
            self.hear(rest, actions);
        }
        let (rest, tail) = std::mem::take(&mut self.splitter).finish();
        self.show(rest, actions);
        if self.shown.trim().is_empty() {
            let message = "the model gave an empty reply; send the message again".to_owned();
            return self.fail(message, true, actions);
        }
        let outcome = self.read_outcome(tail.as_deref());
        if self.run > 1 {
            self.merge(outcome);
            return self.commit(actions);
        }
        self.outcome = outcome;
        self.settle();
        self.unlock = unlock_reason(
            &self.outcome,
            &self.input.packet,
            self.input.digest.as_ref(),
            &self.state,
            !self.input.new_uploads.is_empty(),
        );
        if self.unlock.is_none() {
            return self.commit(actions);
        }
        self.stage = Stage::Manager;
        let question = self.briefing().manager(false);
        self.ask(question, actions);
    }

    fn read_outcome(&mut self, tail: Option<&str>) -> TurnOutcome {
        let read = tail.map(read_outcome);
        match read {
            Some(Ok((outcome, notes))) => {
                self.add_notes(notes);
                return outcome;
            }
            Some(Err(problem)) => self.note("turn_outcome", problem.to_string()),
            None => self.note("turn_outcome", "the reply has none; an empty one is taken"),
        }
        TurnOutcome {
            what_user_attempted: clip(&self.input.message, 200),
            ..TurnOutcome::default()
        }
    }

    /// The second reply answers the same message: what the first record saw happened.
    fn merge(&mut self, second: TurnOutcome) {
        let first = std::mem::replace(&mut self.outcome, second);
        let outcome = &mut self.outcome;
        outcome.checkpoint_reached |= first.checkpoint_reached;
        outcome.student_wants_to_skip |= first.student_wants_to_skip;
        let mut evidence = first.evidence_for_subtasks;
        for shown in std::mem::take(&mut outcome.evidence_for_subtasks) {
            if !evidence.contains(&shown) {
                evidence.push(shown);
            }
        }
        outcome.evidence_for_subtasks = evidence;
    }

    // The end.

    /// The state that follows from the record and from what the manager wants to change.
    fn settle(&mut self) {
        let tasks = &self.input.chapter.tasks;
        let mut state = self.input.state.clone();
        apply_outcome(&mut state, &self.outcome, tasks);
        let mut refused = Vec::new();
        for answer in &self.answers {
            refused.extend(apply_state_update(&mut state, &answer.state_update, tasks));
        }
        let exceeded = Unlock::Condition(LockCondition::AttemptsExceeded);
        if !self.answers.is_empty() && self.unlock == Some(exceeded) {
            // New guidance has its own attempts, else every later turn would unlock.
            state.attempts_since_last_progress = 0;
        }
        state.current_instruction_version = self.packet.instruction_version;
        self.state = state;
        for refusal in refused {
            let message = format!("refused: {}", refusal.reason);
            let known = Note::new(refusal.key, message);
            if !self.notes.contains(&known) {
                self.add_notes(vec![known]);
            }
        }
    }

    fn commit(&mut self, actions: &mut Vec<TurnAction>) {
        self.settle();
        self.tell_usage(Agent::Manager, false, actions);
        self.tell_usage(Agent::Companion, true, actions);
        actions.push(TurnAction::Emit(StreamEvent::CompanionComplete {}));
        let turn_index = self.index();
        self.state.turn_index = turn_index.saturating_add(1);
        let companion_response = self.shown.trim_end().to_owned();
        self.memory.remember(
            RecentTurn {
                turn_index,
                user_message: self.input.message.clone(),
                companion_response: companion_response.clone(),
                digest: String::new(),
            },
            self.input.memory_budget,
        );
        self.stage = Stage::Committing { cancelled: false };
        actions.push(TurnAction::Commit(Box::new(TurnCommit {
            turn_index,
            user_message: self.input.message.clone(),
            companion_response,
            outcome: self.outcome.clone(),
            token_usage: self.usage.clone(),
            state: self.state.clone(),
            packet: self.packet.clone(),
            memory: self.memory.clone(),
        })));
        let question = self.briefing().memo();
        self.ask(question, actions);
    }

    fn complete(&mut self, reported: bool, actions: &mut Vec<TurnAction>) {
        let turn_index = self.state.turn_index;
        self.stage = Stage::Over;
        actions.push(TurnAction::Emit(StreamEvent::Complete { turn_index }));
        actions.push(TurnAction::Finish(Ending::Completed {
            turn_index,
            reported,
        }));
    }

    /// The companion did not answer: there is no turn.
    fn fail(&mut self, message: String, recoverable: bool, actions: &mut Vec<TurnAction>) {
        self.tell_usage(Agent::Companion, false, actions);
        let error = StreamEvent::LlmError {
            error: message.clone(),
        };
        self.give_up(error, message, recoverable, actions);
    }

    fn give_up(
        &mut self,
        error: StreamEvent,
        message: String,
        recoverable: bool,
        actions: &mut Vec<TurnAction>,
    ) {
        self.stage = Stage::Over;
        let turn_index = self.index();
        actions.push(TurnAction::Emit(error));
        actions.push(TurnAction::Emit(StreamEvent::Complete { turn_index }));
        actions.push(TurnAction::Finish(Ending::Failed {
            message,
            recoverable,
        }));
    }

    fn cancel(&mut self, stage: Stage, actions: &mut Vec<TurnAction>) {
        match stage {
            Stage::New => self.end_cancelled(actions),
            Stage::Companion | Stage::Manager | Stage::Consulting | Stage::Consulted => {
                actions.push(TurnAction::Abort);
                self.end_cancelled(actions);
            }
            Stage::Committing { .. } => self.stage = Stage::Committing { cancelled: true },
            Stage::Memo => {
                actions.push(TurnAction::Abort);
                self.complete(false, actions);
            }
            Stage::SavingMemo | Stage::Over => {}
        }
    }

    fn end_cancelled(&mut self, actions: &mut Vec<TurnAction>) {
        self.stage = Stage::Over;
        actions.push(TurnAction::Emit(StreamEvent::Cancelled {}));
        actions.push(TurnAction::Finish(Ending::Cancelled));
    }

    // Questions, counts and notes.

    fn briefing(&self) -> Briefing<'_> {
        let consultation = self.consultation.as_ref();
        Briefing {
            input: &self.input,
            state: &self.state,
            packet: &self.packet,
            unlock: self.unlock,
            // In its second run the companion knows what it has recorded of the same message.
            outcome: (self.run > 1 || !self.shown.is_empty()).then_some(&self.outcome),
            reply: &self.shown,
            consultation: &self.findings,
            expert_id: consultation.map(|request| request.expert_id.as_str()),
        }
    }

    fn ask(&mut self, question: ModelRequest, actions: &mut Vec<TurnAction>) {
        let question = Box::new(question);
        // Only answers that are nothing but JSON are ever corrected.
        self.asked = question.schema.is_some().then(|| (question.clone(), false));
        actions.push(TurnAction::Ask(question));
    }

    /// Ask again, once, with what was wrong.
    fn correct(
        &mut self,
        text: &str,
        problem: &AnswerProblem,
        actions: &mut Vec<TurnAction>,
    ) -> bool {
        self.note("answer", problem.to_string());
        match self.asked.take() {
            Some((mut question, false)) => {
                let bad = clip(text.trim(), MAX_BAD_ANSWER);
                if !bad.is_empty() {
                    question.messages.push((Speaker::Assistant, bad));
                    question
                        .messages
                        .push((Speaker::User, problem.correction()));
                } else if let Some((_, last)) = question.messages.last_mut() {
                    last.push_str("\n\n");
                    last.push_str(&problem.correction());
                }
                self.asked = Some((question.clone(), true));
                actions.push(TurnAction::Ask(question));
                true
            }
            _ => false,
        }
    }

    fn count(&mut self, agent: Agent, usage: TokenUsage) {
        let sum = self.usage.entry(agent).or_default();
        *sum = sum.plus(usage);
    }

    /// Tell what an agent took since it was told last. `always` tells also that it was nothing.
    fn tell_usage(&mut self, agent: Agent, always: bool, actions: &mut Vec<TurnAction>) {
        let all = self.usage.get(&agent).copied().unwrap_or_default();
        let told = self.told.insert(agent, all).unwrap_or_default();
        let more = TokenUsage {
            input_tokens: all.input_tokens - told.input_tokens,
            output_tokens: all.output_tokens - told.output_tokens,
        };
        if always || !more.is_zero() {
            actions.push(TurnAction::Emit(StreamEvent::TokenUsage {
                agent,
                turn_index: self.index(),
                input_tokens: more.input_tokens,
                output_tokens: more.output_tokens,
            }));
        }
    }

    fn note(&mut self, place: &str, message: impl Into<String>) {
        self.add_notes(vec![Note::new(place, message)]);
    }

    fn add_notes(&mut self, notes: Vec<Note>) {
        self.notes.extend(notes);
        self.notes.truncate(MAX_NOTES);
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
