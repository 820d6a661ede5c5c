//! `py.call`: a Python function as a fast, supervised call.

use std::path::PathBuf;

use pillion_catalogue::{Context, Offer, Operation, Prints, Result, Safety, Scope, Streams};
use pillion_protocol::worker;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::question::Question;
use super::worker::WorkerRef;
use crate::PythonService;

/// Call a Python function in a warm worker.
///
/// The function is named `module:name`; an object gives keyword arguments, an array
/// positional ones. The worker keeps its imports and caches from call to call, and is
/// replaced when a source file that it imported changes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// What to call: `module:name`.
    pub function: String,
    /// Its arguments as JSON: an object for keywords, an array for positions.
    #[arg(value_parser = json)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// It has no effects that matter, so it may be repeated once after a crash.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// Send the values of a generator one by one, and progress.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Tell what the function prints while it runs, as progress `{"printed": text}`.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prints: bool,
    /// More folders to import from.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathBuf>,
}

/// What a function gave back, and who ran it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Called {
    /// What the function returned.
    pub result: Box<RawValue>,
    /// The worker that ran it.
    pub worker: WorkerRef,
    /// Milliseconds that the worker took.
    pub elapsed_ms: f64,
}

impl Operation for Call {
    const NAME: &'static str = "py.call";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const STREAMS: Streams = Streams::OnRequest;
    const OFFER: Offer = Offer::PLAIN
        .typed("call", 270)
        .everyday()
        .prints(Prints::Result);
    type Service = PythonService;
    type Output = Called;

    /// Whoever reads the answer reads what is printed, too.
    fn typed(mut self, json: bool) -> Self {
        self.prints = !json;
        self
    }

    async fn run(self, cx: Context<PythonService>) -> Result<Called> {
        let question = Question {
            modules: vec![self.function.clone()],
            path: self.path,
            is_safe: self.idempotent,
            streams: self.stream || self.prints,
        };
        let params = worker::WorkerCall {
            function: self.function,
            params: self.params,
            stream: self.stream,
            prints: self.prints,
        };
        let (_, answer) = question.ask(&cx, "call", &params).await?;
        Ok(Called {
            worker: WorkerRef::of(&answer),
            elapsed_ms: answer.took.as_secs_f64() * 1000.0,
            result: answer.result,
        })
    }
}

pub(super) fn json(text: &str) -> Result<Box<RawValue>, String> {
    let raw: Box<RawValue> = serde_json::from_str(text).map_err(|error| {
        format!("not JSON: {error}; write for example '[3, 4]' or '{{\"x\": 1}}'")
    })?;
    match raw.get().as_bytes().first() {
        Some(b'{' | b'[' | b'n') => Ok(raw),
        _ => Err("arguments are an object or an array, for example '[3, 4]'".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stay_as_they_are_written() {
        for text in [
            "[3, 4]",
            "{}",
            "null",
            r#"{"x": 123456789012345678901234567890, "y": 1e400, "z": 1.10}"#,
        ] {
            assert_eq!(json(text).unwrap().get(), text);
            assert_eq!(json(&format!("  {text}\n")).unwrap().get(), text);
        }
    }

    #[test]
    fn what_gives_no_arguments_is_refused_with_an_example() {
        for text in [
            "", "x", "[1", "[1] 2", "{'x': 1}", "3", "\"x\"", "true", "nan",
        ] {
            let why = json(text).unwrap_err();
            assert!(why.contains("'[3, 4]'"), "{text}: {why}");
        }
    }

    #[test]
    fn a_worker_is_told_only_what_was_said() {
        let call = |params: Option<&str>, stream| worker::WorkerCall {
            function: "m:f".to_owned(),
            params: params.map(|text| json(text).unwrap()),
            stream,
            prints: false,
        };
        for (call, expected) in [
            (call(None, false), r#"{"function":"m:f"}"#),
            (
                call(Some("null"), false),
                r#"{"function":"m:f","params":null}"#,
            ),
            (
                call(Some("[1.10]"), true),
                r#"{"function":"m:f","params":[1.10],"stream":true}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&call).unwrap(), expected);
        }
    }
}
