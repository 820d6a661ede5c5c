//! What happens in a turn and what is to be done about it, as data.

use crate::memo::{ErrorEntry, MemoDigest};
use crate::memory::{MemoryState, RecentTurn};
use crate::outcome::TurnOutcome;
use crate::packet::{ConsultationRequest, InstructionPacket, PacketRule};
use crate::prompts::{ChapterTexts, ExpertInfo, ModelRequest, Prompts};
use crate::state::SessionState;
use crate::stream::{StreamEvent, TokenUsage, UsageByAgent};

/// What a turn begins with: a snapshot of the session, and the learner's message.
#[derive(Debug, Clone, Default)]
pub struct TurnInput {
    /// The state as it was committed last.
    pub state: SessionState,
    /// The packet in force.
    pub packet: InstructionPacket,
    /// The digest of the turn before, if there is one.
    pub digest: Option<MemoDigest>,
    /// The report, or nothing.
    pub report: String,
    /// What is remembered.
    pub memory: MemoryState,
    /// Turns that may be missing in the memory, the oldest first; the last few are enough.
    pub history: Vec<RecentTurn>,
    /// The tokens that memory may take; zero is [`crate::DEFAULT_BUDGET`].
    pub memory_budget: usize,
    /// The chapter.
    pub chapter: ChapterTexts,
    /// The prompts.
    pub prompts: Prompts,
    /// The experts that may be asked.
    pub experts: Vec<ExpertInfo>,
    /// What the chapter wants of packets after consultations.
    pub binding_rules: Vec<PacketRule>,
    /// Names of files that were uploaded since the last turn.
    pub new_uploads: Vec<String>,
    /// What the learner says.
    pub message: String,
}

/// What an expert answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConsultationResult {
    /// Where it is kept.
    pub consultation_id: String,
    /// What was found.
    pub text: String,
    /// What models took for it. It is counted as the manager's, who asked.
    pub usage: TokenUsage,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The turn may begin.
    Begin,
    /// More text of the companion that is being asked.
    Text(String),
    /// The model that was asked answered; the text is the whole one.
    Answered {
        /// What it said, with what was streamed of it.
        text: String,
        /// What it took.
        usage: TokenUsage,
    },
    /// The model that was asked did not answer.
    Failed {
        /// Why, in words that a learner may read.
        message: String,
        /// Whether trying again may help.
        recoverable: bool,
    },
    /// The expert that was consulted answered, or why it did not.
    Consulted(Result<ConsultationResult, String>),
    /// The turn was committed.
    Committed,
    /// The turn could not be committed.
    CommitFailed {
        /// Why, in words that a learner may read.
        message: String,
    },
    /// The memo was saved.
    MemoSaved,
    /// The memo could not be saved: the report is the previous one.
    MemoFailed,
    /// Somebody wants the turn to end.
    Cancelled,
}

/// A turn as it is to be kept, all of it or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnCommit {
    /// The turn's own index. The state has the next one.
    pub turn_index: u64,
    /// What the learner said.
    pub user_message: String,
    /// What the companion said.
    pub companion_response: String,
    /// What it says about the turn.
    pub outcome: TurnOutcome,
    /// What models took so far.
    pub token_usage: UsageByAgent,
    /// The state after the turn.
    pub state: SessionState,
    /// The packet after the turn.
    pub packet: InstructionPacket,
    /// What is remembered after the turn.
    pub memory: MemoryState,
}

/// What the memo agent made of a turn, as it is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoCommit {
    /// The turn.
    pub turn_index: u64,
    /// The whole report.
    pub report: String,
    /// The turn in short.
    pub digest: MemoDigest,
    /// Errors of this turn.
    pub error_entries: Vec<ErrorEntry>,
    /// The error summary is due after this turn.
    pub error_summary_due: bool,
    /// Its whole text, if it is due.
    pub error_summary: Option<String>,
    /// What is remembered.
    pub memory: MemoryState,
    /// What models took for the turn, the memo agent's calls included.
    pub token_usage: UsageByAgent,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It was committed.
    Completed {
        /// The index of the next turn.
        turn_index: u64,
        /// The report is a new one.
        reported: bool,
    },
    /// Nothing was committed.
    Failed {
        /// Why.
        message: String,
        /// Whether trying again may help.
        recoverable: bool,
    },
    /// Nothing was committed, as somebody wished.
    Cancelled,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnAction {
    /// Tell the client.
    Emit(StreamEvent),
    /// Ask a model. There is never more than one question open.
    Ask(Box<ModelRequest>),
    /// Ask an expert.
    Consult(ConsultationRequest),
    /// Keep the turn. The memo agent is asked in the same step, so that nobody waits for the disk
    /// while a model could think; its answer is told after what came of the commit.
    Commit(Box<TurnCommit>),
    /// Keep the memo.
    SaveMemo(Box<MemoCommit>),
    /// Drop the question or consultation that is open; its answer is not wanted.
    Abort,
    /// The turn is over.
    Finish(Ending),
}
