//! The model that services ask: whoever answers behind it.

use std::sync::Arc;
use std::time::Instant;

use crate::draft::Hear;
use crate::error::{Error, ModelErrorKind};
use crate::http::Endpoint;
use crate::prompt::{Completion, Prompt};
use crate::record::{Exchange, Recorder};
use crate::redact::Redactor;
use crate::replay::Replay;
use crate::scripted::Script;
use crate::settings::{ModelSettings, Provider};

/// A model that can be asked. Clones share connections, scripts and records.
#[derive(Debug, Clone)]
pub struct Model(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    label: String,
    source: Source,
    recorder: Option<Recorder>,
}

/// Who answers.
#[derive(Debug)]
enum Source {
    Endpoint(Box<Endpoint>),
    Script(Script),
    Replay(Replay),
}

impl Model {
    /// A model with these settings. Opens no connection; a script or a recorded file that is
    /// named is read at once, so that a wrong one is told at once.
    pub fn new(settings: ModelSettings) -> Result<Self, Error> {
        let (label, source) = if let Some(path) = &settings.replay {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let label = format!("replay of {}", name.to_string_lossy());
            (label, Source::Replay(Replay::read(path)?))
        } else if settings.provider == Provider::Scripted {
            let script = match &settings.script {
                Some(path) => Script::read(path)?,
                None => Script::embedded(),
            };
            ("scripted (offline)".to_owned(), Source::Script(script))
        } else {
            let label = format!("{} {}", settings.provider.name(), settings.model);
            (label, Source::Endpoint(Box::new(Endpoint::new(&settings)?)))
        };
        let redactor = Redactor::new(settings.key);
        let label = redactor.text(&label).into_owned();
        let recorder = settings.record.map(|path| Recorder::new(path, redactor));
        Ok(Self(Arc::new(Inner {
            label,
            source,
            recorder,
        })))
    }

    /// Who answers, such as `openai gpt-x` or `scripted (offline)`, for people.
    pub fn label(&self) -> String {
        self.0.label.clone()
    }

    /// Whether no network is needed: a script or a recorded file answers.
    pub fn is_offline(&self) -> bool {
        !matches!(self.0.source, Source::Endpoint(_))
    }

    /// Ask. `hear` gets the text as it comes. Dropping the future ends the request at once: its
    /// connection is closed.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        hear: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Completion, Error> {
        let Some(recorder) = &self.0.recorder else {
            return self.0.answer(prompt, hear).await;
        };
        let mut exchange = Pending {
            recorder,
            exchange: Some(Exchange::new(&self.0.label, prompt)),
        };
        let begun = Instant::now();
        let mut noted = |text: &str| {
            if let Some(exchange) = &mut exchange.exchange {
                exchange.heard(begun.elapsed(), text);
            }
            hear(text);
        };
        let result = self.0.answer(prompt, &mut noted).await;
        if let Some(exchange) = exchange.exchange.take() {
            recorder.write(exchange.ended(&result)).await;
        }
        result
    }
}

impl Inner {
    async fn answer(&self, prompt: &Prompt, hear: &mut Hear<'_>) -> Result<Completion, Error> {
        match &self.source {
            Source::Endpoint(endpoint) => endpoint.ask(prompt, hear).await,
            Source::Script(script) => script.answer(prompt, hear).await,
            Source::Replay(replay) => replay.answer(prompt, hear),
        }
    }
}

/// An exchange that is recorded as cancelled if nobody waits for its end.
struct Pending<'a> {
    recorder: &'a Recorder,
    exchange: Option<Exchange>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            let cancelled = Error::new(ModelErrorKind::Cancelled, "whoever asked went away");
            self.recorder.leave(exchange.ended(&Err(cancelled)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_key_the_script_answers_always_the_same() {
        let settings = ModelSettings::from_vars(|_| None).unwrap();
        let model = Model::new(settings).unwrap();
        assert_eq!(model.label(), "scripted (offline)");
        assert!(model.is_offline());
        let mut prompt = Prompt {
            agent: "CA".to_owned(),
            ..Prompt::default()
        };
        let message = ("learner_message".to_owned(), "hello".to_owned());
        prompt.facts.extend([message]);
        let mut heard = String::new();
        let first = model.ask(&prompt, &mut |text| heard.push_str(text)).await;
        let second = model.ask(&prompt, &mut |_| {}).await;
        assert_eq!(first, second);
        assert_eq!(first.unwrap().text, heard);
    }
}
