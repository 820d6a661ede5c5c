//! Consulting an expert, and the bounds of time around it.

use std::sync::Arc;

use pillion_catalogue::CancellationToken;
use pillion_lanes::Executor;
use tokio::time::Instant;

use crate::consultation::{Consultation, Order};
use crate::conversation::Conversation;
use crate::error::Error;
use crate::model::Consultant;
use crate::text;

/// The most of a name that is said in an error.
const SHOWN: usize = 200;

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
        let mut conversation = bounds
            .keep(Conversation::open(&self.executor, order, deadline))
            .await?;
        let mut outcome = bounds.keep(Box::pin(conversation.hold(model))).await;
        if outcome.is_ok() {
            // Once it is being written, no deadline says that it failed: both would be written.
            outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Error::Cancelled),
                done = conversation.complete() => done,
            };
        }
        match outcome {
            Ok(()) => Ok(conversation.consultation()),
            Err(error) => Err(conversation.fail(error).await),
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
