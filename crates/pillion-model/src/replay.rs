//! Answers from a recorded file: the same prompt gets the same answer, another one the next that
//! its agent was given.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::draft::Hear;
use crate::error::{Error, ModelErrorKind};
use crate::prompt::{Completion, Prompt};
use crate::record::{Exchange, MAX_FILE_BYTES, hash};
use crate::redact::Redactor;

/// A recorded file, and which of its exchanges were used.
#[derive(Debug)]
pub(crate) struct Replay {
    name: String,
    exchanges: Vec<Exchange>,
    used: Mutex<Vec<bool>>,
}

impl Replay {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let wrong = |what: String| {
            Error::new(ModelErrorKind::Script, what)
                .hint("PILLION_MODEL_REPLAY names a file that was recorded")
        };
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text))
            .map_err(|error| wrong(format!("cannot read `{name}`: {error}")))?;
        let mut exchanges = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let exchange = serde_json::from_str(line).map_err(|_| {
                wrong(format!(
                    "line {} of `{name}` is no recorded exchange",
                    at + 1
                ))
            })?;
            exchanges.push(exchange);
        }
        let used = Mutex::new(vec![false; exchanges.len()]);
        Ok(Self {
            name,
            exchanges,
            used,
        })
    }

    pub(crate) fn answer(&self, prompt: &Prompt, hear: &mut Hear<'_>) -> Result<Completion, Error> {
        let exchange = self.next(prompt)?;
        for (_, text) in &exchange.chunks {
            hear(text);
        }
        match (&exchange.answer, &exchange.error) {
            (Some(answer), _) => Ok(answer.clone()),
            (None, Some(error)) => Err(Error::new(error.kind, error.message.clone())),
            (None, None) => Err(Error::new(
                ModelErrorKind::Script,
                format!("an exchange in `{}` has no answer", self.name),
            )),
        }
    }

    fn next(&self, prompt: &Prompt) -> Result<&Exchange, Error> {
        let value = serde_json::to_value(prompt).unwrap_or_default();
        let wanted = hash(&Redactor::default().value(value));
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = |same_prompt: bool| {
            self.exchanges
                .iter()
                .enumerate()
                .position(|(at, exchange)| {
                    !used[at]
                        && exchange.agent == prompt.agent
                        && (!same_prompt || exchange.prompt_hash == wanted)
                })
        };
        let Some(at) = unused(true).or_else(|| unused(false)) else {
            return Err(Error::new(
                ModelErrorKind::Script,
                format!(
                    "`{}` has no further answer for agent `{}`",
                    self.name, prompt.agent
                ),
            )
            .hint("record again, or ask only what was recorded"));
        };
        used[at] = true;
        Ok(&self.exchanges[at])
    }
}
