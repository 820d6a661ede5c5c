//! The agents of a learning session: what they are told, what they say, and what follows.
//!
//! Three models work on a turn. The *companion* (CA) talks to the learner, the unseen *roadmap
//! manager* (RMA) steers it by an instruction packet and may ask an expert, and the *memo*
//! agent (MA) rewrites the report afterwards. This crate has their types, prompts and rules.
//! It does no IO, knows no clock and starts nothing: what is to be done is given back as data.

mod briefing;
pub mod fuzzing;
mod members;
mod memo;
mod memory;
mod outcome;
mod packet;
mod parse;
mod prompts;
pub mod repair;
mod reply;
mod report;
mod rules;
mod skip;
mod state;
mod steps;
mod stream;
mod turn;
mod words;

pub use memo::{ErrorEntry, ErrorType, MemoDigest, MemoResult, ProgressDelta};
pub use memory::{DEFAULT_BUDGET, MemoryState, MidTurn, RecentTurn, estimate_tokens};
pub use outcome::{BlockerType, Evidence, Sentiment, TeachingMode, TurnOutcome};
pub use packet::{
    ConsultationRequest, HelperScope, InstructionPacket, LockCondition, LockUntil, MAX_NICE,
    MAX_TARGETS, ManagerAnswer, PacketRule, TaskType,
};
pub use parse::{AnswerProblem, Note, read_manager, read_memo, read_outcome};
pub use prompts::{ChapterTexts, ExpertInfo, ModelRequest, PLACEHOLDERS, Prompts, Speaker};
pub use reply::ReplySplitter;
pub use report::final_report;
pub use rules::{
    MAX_EVIDENCE, MAX_EVIDENCE_TEXT, MAX_PACKET_TEXT, RefusedChange, Unlock, apply_binding_rules,
    apply_outcome, apply_state_update, error_summary_due, initial_packet, initial_state,
    is_progress, next_packet, packet_after_skip, unlock_reason,
};
pub use skip::{
    MAX_REASON_TEXT, REASONS, SKIPS_WITHOUT_REASON, SkipError, SkipReply, SkipRequest, skip_task,
};
pub use state::{
    Constraints, ERROR_SUMMARY_EVERY, MAX_ATTEMPTS, MAX_INPUT_LENGTH, SessionState, SkipEntry,
    SubtaskStatus, Task, TaskStatus, Tasks,
};
pub use steps::{
    ConsultationResult, Ending, MemoCommit, TurnAction, TurnCommit, TurnEvent, TurnInput,
};
pub use stream::{Agent, StreamEvent, TokenUsage, UsageByAgent};
pub use turn::Turn;
pub use words::ClosedList;
