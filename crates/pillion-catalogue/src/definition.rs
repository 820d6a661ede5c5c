//! What can be known about an operation without running anything.

use schemars::{Schema, SchemaGenerator};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::timeout::TIMEOUT;
use crate::{Error, Local, Operation, Result, Safety, Streams};

const TIMEOUT_HELP: &str = "Milliseconds it may take.";

/// An operation as doors, documentation and the command line see it.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// `area.verb`.
    pub name: &'static str,
    /// What it may do.
    pub safety: Safety,
    /// When it sends items before its result.
    pub streams: Streams,
    /// What the command line fills in where the caller names no `root`.
    pub local: Local,
    params: fn() -> Schema,
    output: fn() -> Schema,
    arguments: fn(clap::Command) -> clap::Command,
    read_arguments: fn(&clap::ArgMatches) -> Result<Box<RawValue>>,
    text: fn(&str) -> Option<String>,
}

impl Definition {
    /// The definition of `O`.
    pub const fn of<O: Operation>() -> Self {
        Self {
            name: O::NAME,
            safety: O::SAFETY,
            streams: O::STREAMS,
            local: O::LOCAL,
            params: || SchemaGenerator::default().into_root_schema_for::<O>(),
            output: || SchemaGenerator::default().into_root_schema_for::<O::Output>(),
            arguments: O::augment_args,
            read_arguments: |matches| {
                let params = O::from_arg_matches(matches)
                    .map_err(|e| Error::new(crate::Code::InvalidParams, e.to_string()))?;
                to_raw_value(&params).map_err(Error::internal)
            },
            text: O::text,
        }
    }

    /// The schema of its parameters.
    pub fn params_schema(&self) -> Schema {
        let mut schema = (self.params)();
        let properties = schema.ensure_object().entry("properties");
        let properties = properties.or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.entry(TIMEOUT).or_insert_with(|| {
                json!({
                    "description": TIMEOUT_HELP,
                    "type": ["integer", "null"],
                    "format": "uint64",
                    "minimum": 0,
                })
            });
        }
        schema
    }

    /// Whether it has a parameter of this name itself.
    pub(crate) fn declares(&self, name: &str) -> bool {
        let schema = (self.params)();
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.is_some_and(|properties| properties.contains_key(name))
    }

    /// The schema of its result.
    pub fn output_schema(&self) -> Schema {
        (self.output)()
    }

    /// One line of help: the first of its documentation.
    pub fn help(&self) -> String {
        let schema = self.params_schema();
        let text = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    }

    /// Its command line.
    pub fn command(&self) -> clap::Command {
        let command = (self.arguments)(clap::Command::new(self.name));
        if command.get_arguments().any(|arg| arg.get_id() == TIMEOUT) {
            return command;
        }
        command.arg(
            clap::Arg::new(TIMEOUT)
                .long("timeout-ms")
                .value_name("MS")
                .value_parser(clap::value_parser!(u64))
                .help(TIMEOUT_HELP.trim_end_matches('.')),
        )
    }

    /// The parameters that a parsed command line means.
    pub fn read_arguments(&self, matches: &clap::ArgMatches) -> Result<Box<RawValue>> {
        let params = (self.read_arguments)(matches)?;
        // One that declares it has read it already.
        let timeout = matches.try_get_one::<u64>(TIMEOUT).ok().flatten();
        let Some(timeout) = timeout.filter(|_| !self.declares(TIMEOUT)) else {
            return Ok(params);
        };
        let mut named: Map<String, Value> =
            serde_json::from_str(params.get()).map_err(Error::internal)?;
        named.insert(TIMEOUT.into(), json!(timeout));
        to_raw_value(&named).map_err(Error::internal)
    }

    /// A result, given as JSON, as people and models read it; `None` if JSON is best.
    pub fn text(&self, result: &str) -> Option<String> {
        (self.text)(result)
    }

    /// Whether a request with these parameters sends items before its result.
    pub fn wants_stream(&self, params: Option<&RawValue>) -> bool {
        #[derive(serde::Deserialize)]
        struct Asks {
            #[serde(default)]
            stream: bool,
        }
        match self.streams {
            Streams::Never => false,
            Streams::Always => true,
            Streams::OnRequest => params
                .filter(|params| may_name_stream(params.get()))
                .and_then(|params| serde_json::from_str::<Asks>(params.get()).ok())
                .is_some_and(|asks| asks.stream),
        }
    }
}

/// Whether it is worth reading: doing that to all of a large request, only to find
/// nothing, costs as much as passing it on.
fn may_name_stream(params: &str) -> bool {
    let named = || params.contains("\"stream\"");
    // By place it has no name, and a name may be spelled with escapes.
    !params.starts_with('{') || named() || params.contains("\\u")
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::Context;

    /// Count.
    #[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
    struct Count {
        /// One by one.
        #[serde(default)]
        stream: bool,
    }

    impl Operation for Count {
        const NAME: &'static str = "test.count";
        const SAFETY: Safety = Safety::Read;
        const STREAMS: Streams = Streams::OnRequest;
        type Service = ();
        type Output = bool;

        async fn run(self, _: Context<()>) -> Result<bool> {
            Ok(self.stream)
        }
    }

    #[test]
    fn a_stream_is_what_asks_for_one() {
        let definition = Definition::of::<Count>();
        for (params, wants) in [
            (r#"{"stream":true}"#, true),
            (r#"{ "stream" : true }"#, true),
            (r#"{"\u0073tream":true}"#, true),
            (r#"{"stream":false}"#, false),
            (r#"{"text":"\"stream\":true"}"#, false),
            (r#"{"text":"no such word"}"#, false),
            ("[true]", true),
            ("[]", false),
        ] {
            let raw = RawValue::from_string(params.into()).unwrap();
            assert_eq!(definition.wants_stream(Some(&raw)), wants, "{params}");
        }
        assert!(!definition.wants_stream(None));
    }
}
