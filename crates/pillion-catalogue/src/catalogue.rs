//! The registry: names to operations bound to their services.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use serde_json::value::{RawValue, to_raw_value};

use crate::{Activity, Code, Context, Definition, Error, Operation, Request, Result, Stats};

type Answer = Pin<Box<dyn Future<Output = Result<Box<RawValue>>> + Send>>;
type Handler<S> = fn(Arc<S>, Option<&RawValue>, Request) -> Answer;
type Bound = Box<dyn Fn(Option<&RawValue>, Request) -> Answer + Send + Sync>;

/// The operations of one kind of service.
pub struct Operations<S> {
    list: Vec<(Definition, Handler<S>)>,
}

impl<S: Send + Sync + 'static> Default for Operations<S> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<S: Send + Sync + 'static> Operations<S> {
    /// And `O`.
    #[must_use]
    pub fn with<O: Operation<Service = S>>(mut self) -> Self {
        self.list.push((Definition::of::<O>(), handle::<O>));
        self
    }

    /// What can be known about them without a service.
    pub fn definitions(&self) -> impl Iterator<Item = Definition> {
        self.list.iter().map(|(definition, _)| *definition)
    }
}

/// Decode, run, encode: what every operation needs around it.
fn handle<O: Operation>(
    service: Arc<O::Service>,
    params: Option<&RawValue>,
    request: Request,
) -> Answer {
    let operation = match decode::<O>(params) {
        Ok(operation) => operation,
        Err(error) => return Box::pin(async { Err(error) }),
    };
    Box::pin(async move {
        let output = operation.run(Context::new(service, request)).await?;
        to_raw_value(&output).map_err(Error::internal)
    })
}

fn decode<O: Operation>(params: Option<&RawValue>) -> Result<O> {
    let text = match params.map(RawValue::get) {
        None | Some("null") => "{}",
        Some(text) => text,
    };
    serde_json::from_str(text).map_err(|error| {
        Error::new(
            Code::InvalidParams,
            format!("parameters of `{}`: {error}", O::NAME),
        )
        .hint(format!(
            "`pillion {} --help` shows them",
            O::NAME.replace('.', " ")
        ))
    })
}

/// Every operation of a running pillion.
#[derive(Default)]
pub struct Catalogue {
    entries: BTreeMap<&'static str, (Definition, Bound)>,
    stats: Arc<Stats>,
    activity: Activity,
}

impl Catalogue {
    /// Bind a list of operations to the service that answers them.
    pub fn add<S: Send + Sync + 'static>(&mut self, operations: Operations<S>, service: &Arc<S>) {
        for (definition, handler) in operations.list {
            let service = Arc::clone(service);
            let bound: Bound =
                Box::new(move |params, request| handler(Arc::clone(&service), params, request));
            self.entries.insert(definition.name, (definition, bound));
        }
    }

    /// Bind operations that somebody else answers, such as a daemon on behalf of this process.
    pub fn relay<F, A>(&mut self, definitions: impl IntoIterator<Item = Definition>, relay: &Arc<F>)
    where
        F: Fn(Definition, Box<RawValue>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Box<RawValue>>> + Send + 'static,
    {
        for definition in definitions {
            let relay = Arc::clone(relay);
            let bound: Bound = Box::new(move |params, request| {
                let params = params.map_or_else(Box::default, ToOwned::to_owned);
                Box::pin(relay(definition, params, request))
            });
            self.entries.insert(definition.name, (definition, bound));
        }
    }

    /// All definitions, sorted by name.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.entries.values().map(|(definition, _)| definition)
    }

    /// The definition of one operation.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.entries.get(name).map(|(definition, _)| definition)
    }

    /// Numbers about past requests. Shared, so that the services can show them too.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.stats
    }

    /// Who works right now.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Answer a request: exactly one outcome, also after cancel and deadline.
    pub async fn call(
        &self,
        name: &str,
        params: Option<&RawValue>,
        request: Request,
    ) -> Result<Box<RawValue>> {
        let Some((definition, bound)) = self.entries.get(name) else {
            return Err(self.unknown(name));
        };
        let _lease = self.activity.lease();
        let started = Instant::now();
        let cancel = request.cancel.clone();
        let deadline = request.deadline;
        let answer = bound(params, request);
        let outcome = tokio::select! {
            outcome = answer => outcome,
            () = cancel.cancelled() => Err(Error::new(Code::Cancelled, "the request was cancelled")),
            () = passed(deadline) => Err(Error::new(Code::Timeout, "the deadline of the request passed")),
        };
        let took = started.elapsed();
        self.stats.record(definition.name, took, outcome.is_err());
        tracing::debug!(
            operation = name,
            took_us = took.as_micros() as u64,
            code = outcome.as_ref().err().map(|e| e.code.as_str().to_owned()),
            "answered"
        );
        outcome
    }

    fn unknown(&self, name: &str) -> Error {
        let error = Error::new(
            Code::UnknownOperation,
            format!("there is no operation `{name}`"),
        );
        let near = self
            .entries
            .keys()
            .map(|known| (strsim::osa_distance(name, known), known))
            .min()
            .filter(|(distance, _)| *distance <= 3);
        match near {
            Some((_, known)) => error.hint(format!("did you mean `{known}`?")),
            None => error.hint("`pillion operations` lists them all"),
        }
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.entries.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Door, Safety};

    /// Add two numbers.
    #[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
    #[serde(deny_unknown_fields)]
    struct Add {
        /// One.
        a: i64,
        /// The other.
        b: i64,
    }

    impl Operation for Add {
        const NAME: &'static str = "test.add";
        const SAFETY: Safety = Safety::Read;
        type Service = i64;
        type Output = i64;

        async fn run(self, cx: Context<i64>) -> Result<i64> {
            if self.a < 0 {
                std::future::pending::<()>().await;
            }
            Ok(self.a + self.b + **cx.service())
        }
    }

    fn catalogue() -> Catalogue {
        let mut catalogue = Catalogue::default();
        catalogue.add(Operations::default().with::<Add>(), &Arc::new(100));
        catalogue
    }

    async fn call(params: &str, request: Request) -> Result<String> {
        let params = RawValue::from_string(params.into()).unwrap();
        let result = catalogue().call("test.add", Some(&params), request).await;
        result.map(|raw| raw.get().to_owned())
    }

    #[tokio::test]
    async fn what_is_relayed_is_answered_elsewhere_and_cancelled_here() {
        let mut here = Catalogue::default();
        let elsewhere = Arc::new(catalogue());
        let relay = move |definition: Definition, params: Box<RawValue>, request| {
            let elsewhere = Arc::clone(&elsewhere);
            async move {
                elsewhere
                    .call(definition.name, Some(&params), request)
                    .await
            }
        };
        here.relay([Definition::of::<Add>()], &Arc::new(relay));
        let params = RawValue::from_string(r#"{"a":1,"b":2}"#.into()).unwrap();
        let request = Request::new(Door::Embedded);
        let answer = here.call("test.add", Some(&params), request.clone()).await;
        assert_eq!(answer.unwrap().get(), "103");
        let nothing = here.call("test.add", None, request.clone()).await;
        assert_eq!(nothing.unwrap_err().code, Code::InvalidParams);
        request.cancel.cancel();
        let endless = RawValue::from_string("[-1, 2]".into()).unwrap();
        let cancelled = here.call("test.add", Some(&endless), request).await;
        assert_eq!(cancelled.unwrap_err().code, Code::Cancelled);
    }

    #[tokio::test]
    async fn parameters_come_by_name_or_by_place() {
        let request = || Request::new(Door::Embedded);
        assert_eq!(call(r#"{"a":1,"b":2}"#, request()).await.unwrap(), "103");
        assert_eq!(call("[1,2]", request()).await.unwrap(), "103");
        for wrong in ["{}", "[1]", r#"{"a":1,"b":2,"c":3}"#, r#"{"a":"x","b":2}"#] {
            let error = call(wrong, request()).await.unwrap_err();
            assert_eq!(error.code, Code::InvalidParams, "{wrong}");
        }
    }

    #[tokio::test]
    async fn cancel_and_deadline_end_a_call_that_hangs() {
        let request = Request::new(Door::Embedded);
        request.cancel.cancel();
        let error = call(r#"{"a":-1,"b":0}"#, request).await.unwrap_err();
        assert_eq!(error.code, Code::Cancelled);
        let mut request = Request::new(Door::Embedded);
        request.deadline = Some(Instant::now());
        let error = call(r#"{"a":-1,"b":0}"#, request).await.unwrap_err();
        assert_eq!(error.code, Code::Timeout);
    }

    #[tokio::test]
    async fn an_unknown_name_gets_a_suggestion() {
        let error = catalogue()
            .call("test.ad", None, Request::new(Door::Cli))
            .await
            .unwrap_err();
        assert_eq!(error.code, Code::UnknownOperation);
        assert_eq!(error.hint.as_deref(), Some("did you mean `test.add`?"));
    }

    #[test]
    fn a_definition_has_help_and_a_command_line() {
        let definition = *catalogue().get("test.add").unwrap();
        assert_eq!(definition.help(), "Add two numbers.");
        let matches = definition
            .command()
            .try_get_matches_from(["x", "1", "2"])
            .unwrap();
        assert_eq!(
            definition.read_arguments(&matches).unwrap().get(),
            r#"{"a":1,"b":2}"#
        );
    }
}
