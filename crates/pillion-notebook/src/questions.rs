//! Questions of cells that somebody has to answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::{Code, Error, Result};
use pillion_kernel::{Heard, KernelClient};

/// The questions, by session.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<HashMap<String, Question>>);

/// A question of a cell.
#[derive(Debug, Clone)]
struct Question {
    client: Arc<KernelClient>,
    heard: Heard,
}

impl Questions {
    /// Note a question that somebody has to answer.
    pub(crate) fn note(&self, session: &str, client: &Arc<KernelClient>, heard: &Heard) {
        let question = Question {
            client: Arc::clone(client),
            heard: heard.clone(),
        };
        self.all().insert(session.to_owned(), question);
    }

    /// Answer the question of a session's cell.
    pub(crate) async fn answer(&self, session: &str, value: &str) -> Result<()> {
        let question = self.all().remove(session).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("no cell of session `{session}` waits for input"),
            )
        })?;
        let sent = question.client.answer(&question.heard.message, value);
        sent.await.map_err(|error| {
            Error::new(Code::Crashed, format!("the kernel is gone: {error}"))
                .hint("run the cell again")
        })
    }

    /// What the cell of a session asks, if it does.
    pub(crate) fn prompt(&self, session: &str) -> Option<String> {
        let questions = self.all();
        let content = questions.get(session)?.heard.content();
        content["prompt"].as_str().map(ToOwned::to_owned)
    }

    /// The cell of a session has ended, and asks nothing any more.
    pub(crate) fn remove(&self, session: &str) {
        self.all().remove(session);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Question>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
