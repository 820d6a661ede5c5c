//! What is asked for and what is given back.

use std::path::PathBuf;
use std::time::Duration;

use pillion_catalogue::CancellationToken;
use pillion_course::Expert;
use pillion_lanes::Whereabouts;
use pillion_model::Usage;
use serde::{Deserialize, Serialize};

/// What an expert is asked, in the contract's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpertRequest {
    /// Who is asked.
    pub expert_id: String,
    /// What is asked.
    pub question: String,
    /// What is to be known for it.
    pub context: String,
    /// What kind of answer is wanted.
    pub expected_output_type: String,
    /// The expert's scenario that this is.
    pub scenario_id: String,
    /// Why it is asked.
    pub reasoning: String,
    /// The heading of the letter.
    pub consulting_letter_title: String,
}

/// The folders of the session.
#[derive(Debug, Clone, Default)]
pub struct SessionFolders {
    /// Where consultations are kept, in `consultations/`.
    pub expert_workspace: PathBuf,
    /// Data and uploads.
    pub working_files: PathBuf,
    /// The learner's own files.
    pub user_workspace: PathBuf,
}

/// What a consultation may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsultationLimits {
    /// How often the model is asked.
    pub rounds: u32,
    /// How many skills run, with those before the model is asked.
    pub calls: u32,
    /// How long it takes in all.
    pub whole: Duration,
    /// How long one run of a skill takes.
    pub run: Duration,
    /// The longest answer of the model.
    pub output_tokens: u32,
}

impl Default for ConsultationLimits {
    fn default() -> Self {
        Self {
            rounds: 8,
            calls: 16,
            whole: Duration::from_secs(120),
            run: Duration::from_secs(30),
            output_tokens: 4096,
        }
    }
}

/// A consultation that is wanted.
#[derive(Debug, Clone)]
pub struct Order {
    /// The folders of the session.
    pub places: SessionFolders,
    /// Who is asked.
    pub expert: Expert,
    /// What is asked.
    pub request: ExpertRequest,
    /// The turn that it is for: what is known by when the turn is not committed ([`crate::sweep`]).
    pub turn_index: Option<u64>,
    /// Which Python runs skills, and whose `pillion.toml` says how.
    pub whereabouts: Whereabouts,
    /// Ends it, and leaves nothing of it.
    pub cancel: CancellationToken,
    /// What it may use up.
    pub limits: ConsultationLimits,
}

/// A consultation that is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Consultation {
    /// The name of its folder, such as `consult_0001`.
    pub consultation_id: String,
    /// The report in a sentence or two.
    pub summary: String,
    /// The report, in Markdown.
    pub report: String,
    /// Files that skills left in its folder, such as plots.
    pub files: Vec<String>,
    /// What the model cost.
    pub usage: Usage,
}
