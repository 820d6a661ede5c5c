//! `exec.run`: run code of others, and wait for its end.

use std::path::Path;
use std::time::Duration;

use pillion_catalogue::{
    Code, Context, Error, Method, Offer, Operation, Peer, Result, Safety, Scope, Streams, work,
};
use pillion_lanes::{
    LONGEST, Lane, MOST_MEMORY_MB, OutputListener, OutputStream, Program, Reply, RunRequest, Tools,
    ToolsGiven, Whereabouts, check_name,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::caller_module::{home_of, modules_beside, top_of};
use super::input_files::FileGiven;
use super::{CODE_FIELDS, USER_LANE, in_session};
use crate::ExecService;
use crate::service::Ticket;

/// The most bytes of all files that go along.
const FILE_BYTES: usize = 32 << 20;
const FILES: usize = 256;
/// The longest program text.
const CODE: usize = 1 << 20;

/// Run Python code in a lane: confined, limited, and gone without a trace.
///
/// The expert lane has a folder that is thrown away, no network, and only the tools that it is
/// given. The user lane keeps the folder of its session. What is to be run is given as `code`,
/// as a `file` of the folder, as a `module`, or as a `function` that is called once.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Run")]
#[serde(deny_unknown_fields)]
pub struct RunCode {
    /// Program text.
    #[arg(short = 'c', long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A file of the folder.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A module, run as `python -m` would.
    #[arg(long, value_name = "MODULE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// A function `module:name`, whose return value is in the reply.
    #[arg(long, value_name = "FUNCTION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Arguments of the function: an object for keywords, an array for positions.
    #[arg(long, value_name = "JSON", value_parser = json)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// The rules it runs under.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub lane: Lane,
    /// The session whose folder it has, in the user lane.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its command line, `sys.argv[1:]`.
    #[arg(long, value_name = "ARG")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// What it reads from its standard input.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Files that are put into its folder.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileGiven>,
    /// Files of its folder that come back, by name or pattern such as `*.csv`.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// What the host does for it, in the expert lane: files, tables and functions by name.
    #[arg(long, value_name = "JSON", value_parser = tools)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsGiven>,
    /// Seconds it may take, 20 unless `pillion.toml` says otherwise.
    #[arg(long = "timeout", alias = "timeout-seconds", value_name = "S")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// Megabytes of memory, 512 unless `pillion.toml` says otherwise.
    #[arg(long, value_name = "MB")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_mb: Option<u64>,
    /// Start `random` (and `numpy.random`) from this number.
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Let the clock stand still at this time, in seconds since 1970.
    #[arg(long, value_name = "TIME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<f64>,
    /// Start an interpreter for it instead of taking one that waits.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Send output as it comes.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
}

/// A piece of output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OutputPiece {
    /// `stdout` or `stderr`.
    pub stream: String,
    /// What was written.
    pub text: String,
}

impl Operation for RunCode {
    const NAME: &'static str = "exec.run";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const STREAMS: Streams = Streams::OnRequest;
    const OFFER: Offer = Offer::PLAIN
        .typed_by_hand("exec", 300)
        .everyday()
        .routes(&[
            in_session(Method::Post, "/api/session/{session_id}/code/run")
                .takes(CODE_FIELDS)
                .fixes(USER_LANE),
        ]);
    type Service = ExecService;
    type Output = Reply;

    fn text(result: &str) -> Option<String> {
        let reply: Reply = serde_json::from_str(result).ok()?;
        Some(text(&reply))
    }

    /// A function of the folder one is in goes along.
    fn typed(mut self, _json: bool) -> Self {
        self.take_along();
        self
    }

    async fn run(self, cx: Context<ExecService>) -> Result<Reply> {
        let stream = self.stream;
        let run = self.of_caller(&cx).await?;
        let request = run.request(Whereabouts::of_caller(&cx)?, &cx.request().peer)?;
        let cancel = cx.request().cancel.clone();
        let mut listener = Passing {
            to: cx.request().parts.as_ref().filter(|_| stream).map(|_| &cx),
        };
        cx.service()
            .perform(request, cancel, &mut listener, Ticket::default())
            .await
    }
}

/// What it wrote, what came of it, and how it ended.
fn text(reply: &Reply) -> String {
    let mut lines = Vec::new();
    let mut written = |what: &str, text: &str| {
        if !text.is_empty() {
            lines.extend((!what.is_empty()).then(|| format!("{what}:")));
            lines.push(text.trim_end_matches('\n').to_owned());
        }
    };
    written("", &reply.stdout);
    written("stderr", &reply.stderr);
    if let Some(value) = reply.returned() {
        written("value", value);
    }
    for file in &reply.outputs {
        let what = format!("{} ({} bytes)", file.name, file.size_bytes);
        written(&what, file.text.as_deref().unwrap_or("(no text)"));
    }
    let left_out = reply.outputs_left_out.iter();
    lines.extend(left_out.map(|one| format!("`{}` does not come back: {}", one.name, one.why)));
    if !reply.artifacts.is_empty() {
        let names: Vec<&str> = reply.artifacts.iter().map(|a| a.name.as_str()).collect();
        lines.push(format!("new in its folder: {}", names.join(", ")));
    }
    let outcome = serde_json::to_value(reply.outcome).unwrap_or_default();
    lines.push(format!(
        "[{}, code {}, {:.0} ms]",
        outcome.as_str().unwrap_or_default(),
        reply.returncode,
        reply.execution_time_ms
    ));
    lines.join("\n")
}

/// Passes output on to the caller.
struct Passing<'a> {
    to: Option<&'a Context<ExecService>>,
}

impl OutputListener for Passing<'_> {
    async fn hear(&mut self, which: OutputStream, text: String) {
        if let Some(cx) = self.to {
            let stream = which.name().to_owned();
            // Somebody who went away is cancelled by the door.
            let _ = cx.emit(&OutputPiece { stream, text }).await;
        }
    }
}

impl RunCode {
    /// Let a function of the project that this process is in go along, if that is what is run.
    pub fn take_along(&mut self) {
        if let Ok(here) = std::env::current_dir() {
            self.take_along_from(&here);
        }
    }

    /// The same for a caller of any door that says where it stands. Who has handed over its
    /// module has done so by itself.
    pub(super) async fn of_caller(mut self, cx: &Context<ExecService>) -> Result<Self> {
        let caller = cx.caller();
        let here = caller.root.as_ref().or(caller.near.as_ref()).cloned();
        let top = self.function.as_deref().map(top_of);
        let is_there = |file: &FileGiven| file.name.split(['/', '.']).next() == top;
        let wanted = top.is_some() && !self.files.iter().any(is_there);
        match here.filter(|_| wanted) {
            Some(here) => {
                let taken = work(move |_| {
                    self.take_along_from(&here);
                    self
                });
                taken.await
            }
            None => Ok(self),
        }
    }

    fn take_along_from(&mut self, here: &Path) {
        let function = self.function.as_deref();
        let home = function.and_then(|name| home_of(here, name));
        if let (Some(function), Some(folder)) = (function, home) {
            for file in modules_beside(&folder, function) {
                if self.files.iter().all(|given| given.name != file.name) {
                    self.files.push(file);
                }
            }
        }
    }

    /// What is meant, if it can be meant.
    pub(crate) fn request(self, whereabouts: Whereabouts, peer: &Peer) -> Result<RunRequest> {
        let (program, name) = self.program()?;
        if self.session.is_some() && self.lane == Lane::Expert {
            return Err(wrong("the expert lane keeps nothing, so it has no session"));
        }
        let timeout = self.timeout_seconds.map(timeout).transpose()?;
        if let Some(mb) = self.memory_limit_mb
            && !(64..=MOST_MEMORY_MB).contains(&mb)
        {
            return Err(wrong(&format!(
                "`memory_limit_mb` is from 64 to {MOST_MEMORY_MB}"
            )));
        }
        if self
            .clock
            .is_some_and(|clock| !clock.is_finite() || clock < 0.0)
        {
            return Err(wrong("`clock` is a number of seconds since 1970"));
        }
        for name in &self.outputs {
            check_name(name)?;
        }
        let tools = self.tools.unwrap_or_default();
        let tools = Tools::new(tools, &whereabouts.root)?;
        if !tools.is_empty() && self.lane != Lane::Expert {
            return Err(wrong("only the expert lane has `tools`")
                .hint("code in the user lane has a folder: put its files there"));
        }
        Ok(RunRequest {
            lane: self.lane,
            program,
            name,
            args: self.args,
            stdin: self.stdin.map(String::into_bytes),
            files: contents(self.files)?,
            outputs: self.outputs,
            session: self.session,
            timeout,
            memory_mb: self.memory_limit_mb,
            seed: self.seed,
            clock: self.clock,
            tools,
            fresh: self.fresh,
            whereabouts,
            peer: peer.clone(),
        })
    }

    fn program(&self) -> Result<(Program, String)> {
        let label = format!("<{}>", self.lane.name());
        match (&self.code, &self.file, &self.module, &self.function) {
            (Some(code), None, None, None) if code.len() > CODE => {
                Err(wrong(&format!("`code` is longer than {CODE} bytes")))
            }
            (Some(code), None, None, None) => Ok((Program::Code(code.clone()), label)),
            (None, Some(file), None, None) => {
                check_name(file)?;
                Ok((Program::File(file.clone()), file.clone()))
            }
            (None, None, Some(module), None) => Ok((Program::Module(module.clone()), label)),
            (None, None, None, Some(function)) => {
                if !function.contains(':') {
                    return Err(wrong("`function` is written `module:name`"));
                }
                if let Some(arguments) = &self.arguments {
                    if !arguments.get().starts_with(['{', '[', 'n']) {
                        let why = "`arguments` must be an object (keywords), an array or null";
                        return Err(wrong(why));
                    }
                    pillion_protocol::readable::check(arguments.get())?;
                }
                let program = Program::Function {
                    function: function.clone(),
                    arguments: self.arguments.clone(),
                };
                Ok((program, label))
            }
            _ => Err(wrong("name one of `code`, `file`, `module` and `function`")),
        }
    }
}

fn timeout(seconds: f64) -> Result<Duration> {
    let fits = seconds.is_finite() && seconds > 0.0 && seconds <= LONGEST.as_secs_f64();
    match fits {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(wrong(&format!(
            "`timeout_seconds` is above 0 and at most {}",
            LONGEST.as_secs()
        ))),
    }
}

fn contents(files: Vec<FileGiven>) -> Result<Vec<(String, Vec<u8>)>> {
    use base64::Engine as _;
    if files.len() > FILES {
        return Err(wrong(&format!("at most {FILES} files go along")));
    }
    let mut all: Vec<(String, Vec<u8>)> = Vec::with_capacity(files.len());
    let mut bytes = 0;
    for file in files {
        check_name(&file.name)?;
        // One of them would be written over the other, or into it.
        let name = Path::new(&file.name);
        let same = |other: &Path| name.starts_with(other) || other.starts_with(name);
        if all.iter().any(|(other, _)| same(Path::new(other))) {
            let why = format!("two files are called `{}`", file.name);
            return Err(wrong(&why).hint("each file that goes along has a name of its own"));
        }
        let contents = match (file.text, file.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => base64::prelude::BASE64_STANDARD
                .decode(text)
                .map_err(|_| wrong(&format!("`{}` is not base64", file.name)))?,
            _ => return Err(wrong("a file has either `text` or `base64`")),
        };
        bytes += contents.len();
        if bytes > FILE_BYTES {
            return Err(wrong(&format!(
                "the files have more than {FILE_BYTES} bytes"
            )));
        }
        all.push((file.name, contents));
    }
    Ok(all)
}

fn json(text: &str) -> Result<Box<RawValue>, String> {
    let raw: Box<RawValue> = serde_json::from_str(text)
        .map_err(|error| format!("not JSON: {error}; write for example '[3, 4]'"))?;
    match raw.get().as_bytes().first() {
        Some(b'{' | b'[') => Ok(raw),
        _ => Err("arguments are an object or an array, for example '[3, 4]'".into()),
    }
}

fn tools(text: &str) -> Result<ToolsGiven, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn wrong(why: &str) -> Error {
    Error::new(Code::InvalidParams, why.to_owned())
}
