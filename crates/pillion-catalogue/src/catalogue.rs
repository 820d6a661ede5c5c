//! The registry: names to operations bound to their services.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

use crate::caller;
use crate::invalid_params::without_place;
use crate::work::COMMITTED;
use crate::{Activity, Code, Context, Definition, Error, Operation, Request, Result, Stats};

/// The most that an answer can be: as much as a worker may say in one line, with what is
/// put around it.
pub const MAX_ANSWER: usize = pillion_protocol::frame::MAX_LINE + (1 << 20);

/// How long after its time an operation may still say itself what it was that took too long:
/// one that waits for a worker has more to say about it than we do.
const GRACE: Duration = Duration::from_millis(200);
/// The same for who passes a request on, and should hear that.
const RELAYED_GRACE: Duration = Duration::from_secs(2);

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
    /// Add the operation `O`.
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
        let answer = to_raw_value(&output).map_err(Error::internal)?;
        match answer.get().len() > MAX_ANSWER {
            false => Ok(answer),
            true => Err(too_large(O::NAME, answer.get().len())),
        }
    })
}

fn too_large(name: &str, bytes: usize) -> Error {
    let what =
        format!("the answer of `{name}` has {bytes} bytes, more than the {MAX_ANSWER} that fit");
    Error::new(Code::ResponseTooLarge, what)
        .hint("ask for less: a smaller `limit`, one file or folder, or a part of it")
}

fn decode<O: Operation>(params: Option<&RawValue>) -> Result<O> {
    let text = match params.map(RawValue::get) {
        None | Some("null") => "{}",
        Some(text) => text,
    };
    serde_json::from_str(text).map_err(|error| wrong_params(O::NAME, &error))
}

fn wrong_params(name: &str, why: &impl std::fmt::Display) -> Error {
    let why = why.to_string();
    let what = format!("parameters of `{name}`: {}", without_place(&why));
    Error::new(Code::InvalidParams, what).hint(params_hint(name))
}

/// Where a terminal shows the parameters of an operation. Doors without one say it otherwise.
pub fn params_hint(operation: &str) -> String {
    let command = operation.replace('.', " ");
    format!("`pillion {command} --help` shows them")
}

/// An operation and who answers it.
struct Entry {
    definition: Definition,
    bound: Bound,
    /// How long after a caller's time there may still be an answer.
    grace: Duration,
    /// What may be said about the caller among the parameters.
    caller_names: OnceLock<Vec<&'static str>>,
}

/// Every operation of a running pillion.
#[derive(Default)]
pub struct Catalogue {
    entries: BTreeMap<&'static str, Entry>,
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
            self.insert(definition, bound, GRACE);
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
            self.insert(definition, bound, RELAYED_GRACE);
        }
    }

    fn insert(&mut self, definition: Definition, bound: Bound, grace: Duration) {
        let entry = Entry {
            definition,
            bound,
            grace,
            caller_names: OnceLock::new(),
        };
        self.entries.insert(definition.name, entry);
    }

    /// All definitions, sorted by name.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.entries.values().map(|entry| &entry.definition)
    }

    /// The definition of one operation.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.entries.get(name).map(|entry| &entry.definition)
    }

    /// Numbers about past requests. Shared, so that the services can show them too.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.stats
    }

    /// Who works right now.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Whether parameters can be read, before anything is done with them; if not, the error says
    /// which of them and why ([`Fault`](crate::Fault)), in more detail than [`call`](Self::call).
    pub fn check(&self, name: &str, params: Option<&RawValue>) -> Result<()> {
        let Some(entry) = self.entries.get(name) else {
            return Err(self.unknown(name));
        };
        let names = entry
            .caller_names
            .get_or_init(|| entry.definition.caller_names());
        let (_, params) = caller::apart(params, names).map_err(|why| wrong_params(name, &why))?;
        match params.as_deref().map(RawValue::get) {
            None | Some("null") => entry.definition.check("{}"),
            Some(text) => entry.definition.check(text),
        }
    }

    /// Answer a request: exactly one outcome, also after cancel and deadline.
    pub async fn call(
        &self,
        name: &str,
        params: Option<&RawValue>,
        mut request: Request,
    ) -> Result<Box<RawValue>> {
        let Some(entry) = self.entries.get(name) else {
            return Err(self.unknown(name));
        };
        let definition = &entry.definition;
        let _lease = self.activity.lease();
        let started = Instant::now();
        let cancel = request.cancel.clone();
        let names = entry.caller_names.get_or_init(|| definition.caller_names());
        let (said, params) =
            caller::apart(params, names).map_err(|why| wrong_params(name, &why))?;
        request.told(said)?;
        let asked = request
            .timeout
            .map(|timeout| started + timeout + entry.grace);
        let deadline = request.deadline.into_iter().chain(asked).min();
        let waits = request.timeout;
        let answer = (entry.bound)(params.as_deref(), request);
        let outcome = COMMITTED.scope(Cell::new(false), in_time(answer, &cancel, deadline));
        let outcome = match outcome.await {
            Outcome::Answered(answer) => answer,
            Outcome::Cancelled => Err(Error::new(Code::Cancelled, "the request was cancelled")),
            Outcome::TooLate => Err(too_late(name, waits)),
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

enum Outcome {
    Answered(Result<Box<RawValue>>),
    Cancelled,
    TooLate,
}

/// The answer, unless it comes too late or nobody wants it any more. One that has begun to
/// change something is waited for.
async fn in_time(
    mut answer: Answer,
    cancel: &CancellationToken,
    deadline: Option<Instant>,
) -> Outcome {
    let mut answer = poll_fn(|cx| caught(answer.as_mut(), cx));
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => Outcome::Cancelled,
        outcome = &mut answer => return Outcome::Answered(outcome),
        () = passed(deadline) => Outcome::TooLate,
    };
    match COMMITTED.with(Cell::get) {
        false => ended,
        true => Outcome::Answered(answer.await),
    }
}

/// A panic is the end of one request, not of its connection: somebody waits for an answer.
fn caught(
    answer: Pin<&mut (dyn Future<Output = Result<Box<RawValue>>> + Send)>,
    cx: &mut std::task::Context<'_>,
) -> Poll<Result<Box<RawValue>>> {
    let poll = AssertUnwindSafe(|| answer.poll(cx));
    std::panic::catch_unwind(poll).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("it does not say why");
        Poll::Ready(Err(Error::internal(format!(
            "an operation panicked: {text}"
        ))))
    })
}

fn too_late(name: &str, asked: Option<Duration>) -> Error {
    match asked {
        None => Error::new(Code::Timeout, "the deadline of the request passed"),
        Some(asked) => Error::new(
            Code::Timeout,
            format!("`{name}` gave no answer within {} s", asked.as_secs_f64()),
        )
        .hint("it was stopped; give it more time with `timeout_ms` (`--timeout` on the command line, in seconds)"),
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
    use crate::caller::TIMEOUT;
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
            assert!(self.b < 1_000, "that is too much");
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

    #[tokio::test(start_paused = true)]
    async fn every_operation_keeps_the_time_that_a_caller_names() {
        for params in [
            r#"{"a":-1,"b":0,"timeout_ms":5}"#,
            r#"{"timeout_ms":5,"b":0,"a":-1}"#,
        ] {
            let error = call(params, Request::new(Door::Embedded))
                .await
                .unwrap_err();
            assert_eq!(error.code, Code::Timeout, "{params}");
        }
        let in_time = call(
            r#"{"a":1,"b":2,"timeout_ms":5}"#,
            Request::new(Door::Embedded),
        );
        assert_eq!(in_time.await.unwrap(), "103");
        let never = call(
            r#"{"a":1,"b":2,"timeout_ms":0}"#,
            Request::new(Door::Embedded),
        );
        assert_eq!(never.await.unwrap_err().code, Code::InvalidParams);
    }

    /// Write something that takes its time.
    #[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
    struct Note {}

    impl Operation for Note {
        const NAME: &'static str = "test.note";
        const SAFETY: Safety = Safety::Write;
        type Service = i64;
        type Output = bool;

        async fn run(self, cx: Context<i64>) -> Result<bool> {
            let cancel = cx.request().cancel.clone();
            crate::commit(move || cancel.cancel()).await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(true)
        }
    }

    #[tokio::test]
    async fn what_has_begun_to_change_something_is_answered() {
        let mut catalogue = Catalogue::default();
        catalogue.add(Operations::default().with::<Note>(), &Arc::new(0));
        let mut request = Request::new(Door::Embedded);
        let answer = catalogue.call("test.note", None, request.clone()).await;
        assert_eq!(answer.unwrap().get(), "true");
        // This one was cancelled, and too late, before it began.
        request.deadline = Some(Instant::now());
        let answer = catalogue.call("test.note", None, request).await;
        assert_eq!(answer.unwrap_err().code, Code::Cancelled);
    }

    /// Say much.
    #[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
    struct Say {
        /// How many letters.
        letters: usize,
    }

    impl Operation for Say {
        const NAME: &'static str = "test.say";
        const SAFETY: Safety = Safety::Read;
        type Service = i64;
        type Output = String;

        async fn run(self, _: Context<i64>) -> Result<String> {
            Ok("x".repeat(self.letters))
        }
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_is_an_error() {
        let mut catalogue = Catalogue::default();
        catalogue.add(Operations::default().with::<Say>(), &Arc::new(0));
        let say = async |letters: usize| {
            let params = RawValue::from_string(format!("[{letters}]")).unwrap();
            let request = Request::new(Door::Embedded);
            let answer = catalogue.call("test.say", Some(&params), request).await;
            answer.map(|answer| answer.get().len())
        };
        // With its quotes.
        assert_eq!(say(MAX_ANSWER - 2).await.unwrap(), MAX_ANSWER);
        let error = say(MAX_ANSWER - 1).await.unwrap_err();
        assert_eq!(error.code, Code::ResponseTooLarge);
        assert!(error.hint.unwrap().contains("limit"));
    }

    #[test]
    fn every_operation_shows_that_it_can_be_given_a_time() {
        let definition = *catalogue().get("test.add").unwrap();
        assert!(definition.own_schema().to_value()["properties"][TIMEOUT].is_null());
        let schema = definition.params_schema().to_value();
        assert_eq!(schema["properties"][TIMEOUT]["format"], "uint64");
        let matches = definition
            .command()
            .try_get_matches_from(["x", "1", "2", "--timeout-ms", "5"])
            .unwrap();
        let asked = definition.read_arguments(&matches, false).unwrap();
        assert_eq!(asked.params.get(), r#"{"a":1,"b":2}"#);
        assert_eq!(asked.caller.timeout_ms, Some(5));
    }

    #[tokio::test]
    async fn a_panic_is_answered() {
        let error = call(r#"{"a":1,"b":1000}"#, Request::new(Door::Embedded)).await;
        let error = error.unwrap_err();
        assert_eq!(error.code, Code::InternalError);
        assert!(error.message.contains("too much"), "{}", error.message);
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
        let asked = definition.read_arguments(&matches, false).unwrap();
        assert_eq!(asked.params.get(), r#"{"a":1,"b":2}"#);
        assert!(asked.caller.is_silent());
    }
}
