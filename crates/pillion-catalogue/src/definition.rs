//! What can be known about an operation without running anything.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::builder::{
    OsStringValueParser, PathBufValueParser, PossibleValuesParser, TypedValueParser,
};
use clap::{Arg, ArgMatches};
use pillion_protocol::vars;
use schemars::{Schema, SchemaGenerator};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::caller::{self, TIMEOUT};
use crate::invalid_params;
use crate::{
    AnswerPicture, Caller, Format, Offer, Operation, Prints, Profile, Result, Safety, Scope, Shown,
    Streams, Tool,
};

/// Reads what is an operation's own from a command line; the second says whether a program reads
/// the answer.
type ReadArguments = fn(&ArgMatches, bool) -> Result<(Box<RawValue>, Printer), clap::Error>;

/// Takes the pictures out of a result.
type TakePictures = fn(&str) -> Option<(String, Vec<AnswerPicture>)>;

/// An operation as doors, documentation and the command line see it.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// `area.verb`.
    pub name: &'static str,
    /// What it may do.
    pub safety: Safety,
    /// When it sends items before its result.
    pub streams: Streams,
    /// What it is about.
    pub scope: Scope,
    /// Whether it can write its answer as text, where the caller's `format` asks for it.
    pub formats: bool,
    /// How doors offer it beside its name.
    pub offer: Offer,
    params: fn() -> Schema,
    output: fn() -> Schema,
    arguments: fn(clap::Command) -> clap::Command,
    read_arguments: ReadArguments,
    text: fn(&str) -> Option<String>,
    pictures: TakePictures,
    is_failure: fn(&str) -> bool,
    check: fn(&str) -> Result<()>,
}

impl Definition {
    /// The definition of `O`.
    pub const fn of<O: Operation>() -> Self {
        Self {
            name: O::NAME,
            safety: O::SAFETY,
            streams: O::STREAMS,
            scope: O::SCOPE,
            formats: O::FORMATS,
            offer: O::OFFER,
            params: || SchemaGenerator::default().into_root_schema_for::<O>(),
            output: || SchemaGenerator::default().into_root_schema_for::<O::Output>(),
            arguments: O::augment_args,
            read_arguments: |matches, json| {
                let operation = O::from_arg_matches(matches)?.typed(json);
                let wrong = |error| clap::Error::raw(clap::error::ErrorKind::Io, error);
                let params = to_raw_value(&operation).map_err(wrong)?;
                Ok((params, Printer(Box::new(move |r| operation.printed(r)))))
            },
            text: O::text,
            pictures: O::pictures,
            is_failure: O::is_failure,
            check: invalid_params::check::<O>,
        }
    }

    /// Whether it is on a table of tools.
    pub fn is_on(&self, profile: Profile) -> bool {
        let offer = &self.offer;
        let area = self.name.split('.').next().unwrap_or_default();
        let is_shown = match profile {
            Profile::Full => true,
            Profile::Core => offer.contract.is_some(),
            Profile::Minimal => offer.contract == Some(Profile::Minimal),
            Profile::Default => offer.shown != Shown::Area,
            _ => profile.areas().contains(&area) || offer.shown == Shown::Always,
        };
        is_shown && offer.tool != Tool::None
    }

    /// The name of its tool, if it is one: its own, with `_` for its dot.
    pub fn tool_name(&self) -> Option<String> {
        let is_tool = self.offer.tool != Tool::None;
        is_tool.then(|| self.name.replace('.', "_"))
    }

    /// The schema of the parameters that are its own.
    pub fn own_schema(&self) -> Schema {
        (self.params)()
    }

    /// The schema of all that is understood as parameters: its own, and what older clients say
    /// there about themselves.
    pub fn params_schema(&self) -> Schema {
        let mut schema = self.own_schema();
        let properties = schema.ensure_object().entry("properties");
        let properties = properties.or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            let mut said = caller::properties();
            for name in self.told() {
                if let Some(property) = said.remove(name) {
                    properties.entry(name).or_insert(property);
                }
            }
        }
        schema
    }

    /// What the operation may be told about its caller among the parameters, if they are no
    /// parameters of its own.
    pub(crate) fn told(&self) -> impl Iterator<Item = &'static str> {
        caller::names(self.scope, self.formats)
    }

    /// What may be said about the caller among its parameters: what is no parameter of its own.
    pub(crate) fn caller_names(&self) -> Vec<&'static str> {
        let schema = self.own_schema();
        let own = schema.get("properties").and_then(Value::as_object);
        let is_own = |name: &str| own.is_some_and(|own| own.contains_key(name));
        self.told().filter(|name| !is_own(name)).collect()
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

    /// Everything that its documentation says.
    pub fn about(&self) -> String {
        let schema = self.own_schema();
        let text = schema.get("description").and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    }

    /// Its command line, with what can be said about the caller.
    pub fn command(&self) -> clap::Command {
        let mut command = (self.arguments)(clap::Command::new(self.name)).mut_args(from_here);
        for name in self.told() {
            let is_own = command.get_arguments().any(|arg| arg.get_id() == name);
            if let Some(flag) = flag(name).filter(|_| !is_own) {
                command = command.arg(flag);
            }
        }
        // Some say `--timeout` for what they do, which then says how long the caller waits, too.
        let has_own = command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(SECONDS));
        let waits = command.get_arguments().any(|arg| arg.get_id() == TIMEOUT);
        match waits && !has_own {
            true => command.arg(seconds()),
            false => command,
        }
    }

    /// The options of its command line: the parameter, and how the option is written.
    pub fn options(&self) -> Vec<(String, String)> {
        let command = self.command();
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let options = shown.filter_map(|arg| {
            let long = arg.get_long()?.to_owned();
            Some((arg.get_id().to_string(), long))
        });
        options.collect()
    }

    /// What a parsed command line means; `json` says that a program reads what is printed. The
    /// error is one of usage.
    pub fn read_arguments(
        &self,
        matches: &ArgMatches,
        json: bool,
    ) -> Result<Arguments, clap::Error> {
        let (params, printed) = (self.read_arguments)(matches, json)?;
        let caller = self.read_caller(matches);
        let params = match &caller.root {
            Some(root) => self.below_root(params, root, matches),
            None => params,
        };
        Ok(Arguments {
            params,
            caller,
            printed,
        })
    }

    /// Paths that do not lead anywhere from here, but do from the root that was named, are
    /// meant there.
    fn below_root(
        &self,
        params: Box<RawValue>,
        root: &Path,
        matches: &ArgMatches,
    ) -> Box<RawValue> {
        let command = (self.arguments)(clap::Command::new(self.name));
        let paths = command.get_arguments().filter(|arg| is_path(arg));
        let meant: Vec<(&str, PathBuf)> = paths
            .filter_map(|arg| {
                let id = arg.get_id().as_str();
                let word = matches.get_raw(id)?.next()?;
                let below = root.join(word);
                let is_meant = !Path::new(word).exists() && below.exists();
                Some((id, std::path::absolute(below).ok()?)).filter(|_| is_meant)
            })
            .collect();
        if meant.is_empty() {
            return params;
        }
        let Ok(mut told) = serde_json::from_str::<Value>(params.get()) else {
            return params;
        };
        for (id, path) in meant {
            if told.get(id).is_some_and(Value::is_string) {
                told[id] = path.display().to_string().into();
            }
        }
        to_raw_value(&told).unwrap_or(params)
    }

    fn read_caller(&self, matches: &ArgMatches) -> Caller {
        // A flag of the same name may be the operation's own.
        let own = (self.arguments)(clap::Command::new(self.name));
        let is_own = |name: &str| own.get_arguments().any(|arg| arg.get_id() == name);
        let said = |name: &str| self.told().any(|told| told == name) && !is_own(name);
        let path = |name: &str| {
            let path = matches.try_get_one::<PathBuf>(name).ok().flatten();
            path.filter(|_| said(name)).cloned()
        };
        let text = |name: &str| {
            let text = matches.try_get_one::<String>(name).ok().flatten();
            text.filter(|_| said(name)).map(String::as_str)
        };
        let number = |name: &str| matches.try_get_one::<u64>(name).ok().flatten().copied();
        Caller {
            root: path("root"),
            near: None,
            python: path("python"),
            virtual_env: path("virtual_env"),
            conda_prefix: path("conda_prefix"),
            format: match text("format") {
                Some("text") => Some(Format::Text),
                Some(_) => Some(Format::Json),
                None => None,
            },
            timeout_ms: number(TIMEOUT)
                .or_else(|| number(SECONDS))
                .filter(|_| said(TIMEOUT)),
        }
    }

    /// A result, given as JSON, as people and models read it; `None` if JSON is best.
    pub fn text(&self, result: &str) -> Option<String> {
        (self.text)(result)
    }

    /// What is shown of a result, given as JSON, to people and models; `streamed` says that they
    /// saw its items already.
    pub fn readable(&self, result: &str, streamed: bool) -> ReadableAnswer {
        #[derive(serde::Deserialize)]
        struct Called<'a> {
            #[serde(borrow)]
            result: &'a RawValue,
        }
        let json = || ReadableAnswer::Json(result.to_owned());
        match self.offer.prints {
            Prints::Items => ReadableAnswer::Nothing,
            Prints::Output => self
                .text(result)
                .map_or(ReadableAnswer::Nothing, ReadableAnswer::Text),
            Prints::Answer => self.text(result).map_or_else(json, ReadableAnswer::Text),
            Prints::Result => match serde_json::from_str::<Called<'_>>(result) {
                // The items were the result; a generator's own is mostly null.
                Ok(called) if streamed && called.result.get() == "null" => ReadableAnswer::Nothing,
                Ok(called) => ReadableAnswer::Json(called.result.get().to_owned()),
                Err(_) => json(),
            },
        }
    }

    /// The pictures of a result, given as JSON, and the result without them; `None` if it never
    /// has any.
    pub fn pictures(&self, result: &str) -> Option<(String, Vec<AnswerPicture>)> {
        (self.pictures)(result)
    }

    /// Whether a result, given as JSON, is a failure to whoever reads the command's exit code.
    pub fn is_failure(&self, result: &str) -> bool {
        (self.is_failure)(result)
    }

    /// Whether parameters, given as JSON, can be read; if not, which of them and why.
    pub(crate) fn check(&self, params: &str) -> Result<()> {
        (self.check)(params)
    }

    /// Whether a request with these parameters sends items before its result.
    pub fn wants_stream(&self, params: Option<&RawValue>) -> bool {
        #[derive(serde::Deserialize)]
        struct Asks {
            #[serde(default)]
            stream: bool,
            /// Progress is sent before the result, too.
            #[serde(default)]
            prints: bool,
        }
        match self.streams {
            Streams::Never => false,
            Streams::Always => true,
            Streams::OnRequest => params
                .filter(|params| may_name_stream(params.get()))
                .and_then(|params| serde_json::from_str::<Asks>(params.get()).ok())
                .is_some_and(|asks| asks.stream || asks.prints),
        }
    }
}

/// A result as people and models read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadableAnswer {
    /// There is nothing to be read beside the items.
    Nothing,
    /// As text.
    Text(String),
    /// As JSON, which is best here.
    Json(String),
}

/// What a command line asks for.
#[derive(Debug)]
pub struct Arguments {
    /// The parameters.
    pub params: Box<RawValue>,
    /// What it says about the caller.
    pub caller: Caller,
    /// What is printed for a program.
    pub printed: Printer,
}

/// Makes of an answer what is printed for a program, if that is something else.
pub struct Printer(Box<Print>);

type Print = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Printer {
    /// What is printed instead of this answer.
    pub fn of(&self, result: &str) -> Option<String> {
        (self.0)(result)
    }
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Printer")
    }
}

/// The flag that says this about the caller, if there is one.
fn flag(name: &'static str) -> Option<Arg> {
    // An empty variable says nothing, and is no mistake.
    let path = || OsStringValueParser::new().map(PathBuf::from);
    let of = |long: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(long).value_name(value).help(help)
    };
    let from_env = |arg: Arg, variable: &'static str| {
        arg.env(variable).hide_env_values(true).value_parser(path())
    };
    Some(match name {
        "root" => of(
            "root",
            "DIR",
            "The project's folder; found from here if not given",
        )
        .value_parser(path()),
        "python" => from_env(
            of(
                "python",
                "PYTHON",
                "The Python to use: a path, an environment's folder, or a version such as `3.12`",
            ),
            vars::PILLION_PYTHON,
        ),
        "virtual_env" => from_env(of("virtual-env", "DIR", ""), vars::VIRTUAL_ENV).hide(true),
        "conda_prefix" => from_env(of("conda-prefix", "DIR", ""), vars::CONDA_PREFIX).hide(true),
        "format" => of("format", "FORMAT", "")
            .value_parser(PossibleValuesParser::new(["json", "text"]))
            .hide(true),
        // The older way to say it.
        TIMEOUT => of("timeout-ms", "MS", "Milliseconds it may take")
            .value_parser(clap::value_parser!(u64))
            .hide(true),
        // Where somebody stands, the command line knows by itself.
        _ => return None,
    })
}

/// How the command line says how long something may take.
const SECONDS: &str = "timeout";

fn seconds() -> Arg {
    let parse = |text: &str| {
        let seconds: f64 = text.parse().map_err(|_| "write a number of seconds")?;
        match seconds > 0.0 && seconds <= 1e6 {
            true => Ok((seconds * 1000.0).ceil() as u64),
            false => Err("it is above 0"),
        }
    };
    Arg::new(SECONDS)
        .long(SECONDS)
        .value_name("S")
        .conflicts_with(TIMEOUT)
        .value_parser(parse)
        .help("Seconds it may take")
}

/// A path of a command line is meant from the folder one is in. On other doors, relative paths
/// are those of the project.
fn from_here(arg: Arg) -> Arg {
    match is_path(&arg) {
        true => arg.value_parser(PathBufValueParser::new().try_map(std::path::absolute)),
        false => arg,
    }
}

fn is_path(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

/// Whether it is worth reading: doing that to all of a large request, only to find
/// nothing, costs as much as passing it on.
fn may_name_stream(params: &str) -> bool {
    let named = || params.contains("\"stream\"") || params.contains("\"prints\"");
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
