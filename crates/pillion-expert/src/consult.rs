//! What is asked for and what is given back, and the bounds of time around it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::CancellationToken;
use pillion_course::Expert;
use pillion_lanes::{Executor, Whereabouts};
use pillion_model::Usage;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error::Error;
use crate::model::Consultant;
use crate::talk::Talk;
use crate::text;

/// The most of a name that is said in an error.
const SHOWN: usize = 200;

/// What an expert is asked, in the contract's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConsultationRequest {
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
pub struct Places {
    /// Where consultations are kept, in `consultations/`.
    pub expert_workspace: PathBuf,
    /// Data and uploads.
    pub working_files: PathBuf,
    /// The learner's own files.
    pub user_workspace: PathBuf,
}

/// What a consultation may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
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

impl Default for Limits {
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
    pub places: Places,
    /// Who is asked.
    pub expert: Expert,
    /// What is asked.
    pub request: ConsultationRequest,
    /// The turn that it is for: what is known by when the turn is not committed ([`crate::sweep`]).
    pub turn_index: Option<u64>,
    /// Which Python runs skills, and whose `pillion.toml` says how.
    pub whereabouts: Whereabouts,
    /// Ends it, and leaves nothing of it.
    pub cancel: CancellationToken,
    /// What it may use up.
    pub limits: Limits,
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

/// Consults experts: their skills run by an executor, their words come from a model.
#[derive(Debug, Clone)]
pub struct Consultations {
    executor: Arc<Executor>,
}

impl Consultations {
    /// Consultations whose skills are run by `executor`.
    pub fn new(executor: Arc<Executor>) -> Self {
        Self { executor }
    }

    /// Consult an expert. `model` speaks for it. Dropping the future cancels.
    ///
    /// # Errors
    /// If there is no report. Except after a cancel, the consultation's folder stays and says
    /// why. None of them need end the turn.
    pub async fn consult(
        &self,
        order: Order,
        model: &dyn Consultant,
    ) -> Result<Consultation, Error> {
        if order.request.expert_id != order.expert.id {
            return Err(Error::WrongExpert {
                asked: text::line(&order.request.expert_id, SHOWN),
                found: order.expert.id,
            });
        }
        let deadline = Instant::now() + order.limits.whole;
        let (cancel, limits) = (order.cancel.clone(), order.limits);
        let bounds = Bounds {
            cancel: &cancel,
            deadline,
            seconds: limits.whole.as_secs(),
        };
        let mut talk = bounds
            .keep(Talk::open(&self.executor, order, deadline))
            .await?;
        let mut outcome = bounds.keep(Box::pin(talk.hold(model))).await;
        if outcome.is_ok() {
            // Once it is being written, no deadline says that it failed: both would be written.
            outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Error::Cancelled),
                done = talk.complete() => done,
            };
        }
        match outcome {
            Ok(()) => Ok(talk.consultation()),
            Err(error) => Err(talk.fail(error).await),
        }
    }
}

/// When a consultation is over, whether or not it is done.
struct Bounds<'a> {
    cancel: &'a CancellationToken,
    deadline: Instant,
    seconds: u64,
}

impl Bounds<'_> {
    /// Do it, unless it is over before. What is too late or unwanted is dropped, and with it
    /// the run and the call of the model.
    async fn keep<T>(&self, part: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let seconds = self.seconds;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Error::Cancelled),
            done = part => done,
            () = tokio::time::sleep_until(self.deadline) => Err(Error::Timeout { seconds }),
        }
    }
}
