//! `pillion exec`: run code of others from the command line, as if it were `python`.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pillion::{Code, Error, Operation, Part, Result};
use pillion_exec::operations::{FileGiven, OutputPiece, RunCode};
use pillion_lanes::{Lane, Reply, RunOutcome};
use serde_json::value::{RawValue, to_raw_value};

use super::backend::Backend;
use super::caller::CallerArgs;
use super::{Global, output};

/// What may come from standard input.
const INPUT: u64 = 16 << 20;

/// Run Python code in a lane: confined, limited, and gone without a trace.
///
/// Output comes as it is written, and the exit code is the program's own; 124 after a timeout,
/// 137 if it used too much memory, 128 and the signal's number if one ended it. `--json` prints
/// the whole reply instead.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The program, `-` for standard input; it is put into the run's folder. With `--function`,
    /// its arguments as JSON.
    #[arg(required_unless_present_any = ["code", "module", "function"])]
    file: Option<PathBuf>,
    /// The program itself.
    #[arg(short = 'c', value_name = "CODE", conflicts_with_all = ["file", "module", "function"])]
    code: Option<String>,
    /// A module, run as `python -m` would.
    #[arg(short = 'm', value_name = "MODULE", conflicts_with_all = ["file", "function"])]
    module: Option<String>,
    /// A function `module:name`, whose return value is in the reply.
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// Arguments of the function as JSON: an object for keywords, an array for positions.
    #[arg(long, value_name = "JSON", requires = "function", value_parser = json)]
    arguments: Option<Box<RawValue>>,
    /// Print text, which is what is printed anyway; questions about code need it.
    #[arg(long, hide = true, conflicts_with = "json")]
    text: bool,
    /// Its rules: `expert` keeps nothing, `user` has a folder that stays.
    #[arg(long, value_enum, default_value_t)]
    lane: Lane,
    /// The session whose folder it has, in the user lane.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Seconds it may take.
    #[arg(long, alias = "timeout-seconds", value_name = "S")]
    timeout: Option<f64>,
    /// Megabytes of memory it may use.
    #[arg(long, alias = "memory-limit-mb", value_name = "MB")]
    memory: Option<u64>,
    /// Put this file into its folder; may be repeated.
    #[arg(long = "with", value_name = "FILE")]
    with: Vec<PathBuf>,
    /// Bring this file back from its folder, by name or pattern; may be repeated.
    #[arg(long = "output", value_name = "NAME")]
    outputs: Vec<String>,
    /// Where files that come back are written.
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    output_dir: PathBuf,
    /// Hand our standard input on to it.
    #[arg(long)]
    stdin: bool,
    /// Start `random` (and `numpy.random`) from this number.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Let the clock stand still at this time, in seconds since 1970.
    #[arg(long, value_name = "TIME")]
    clock: Option<f64>,
    /// Start an interpreter for it instead of taking one that waits.
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    caller: CallerArgs,
    /// Its own arguments.
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

impl Exec {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let output_dir = self.output_dir.clone();
        let caller = self.caller.clone().caller()?;
        let params = self.params(!global.json)?;
        let params = to_raw_value(&params).map_err(Error::internal)?;
        let backend = Backend::open(global).await?;
        let call = backend.call(&caller, RunCode::NAME, &params, !global.json, |part| {
            print(&part);
        });
        let outcome = tokio::select! {
            outcome = call => outcome,
            // Dropping the call cancels it, here and in the daemon.
            _ = tokio::signal::ctrl_c() => Err(Error::new(Code::Cancelled, "interrupted")),
        };
        backend.close().await;
        let result = outcome?;
        let reply: Reply = serde_json::from_str(result.get()).map_err(Error::internal)?;
        if global.json {
            output::say_json(result.get());
        } else {
            tell(&reply, &output_dir)?;
        }
        Ok(exit_code(&reply))
    }

    fn params(self, stream: bool) -> Result<RunCode> {
        let mut files = Vec::new();
        let mut file = None;
        let mut code = self.code;
        let mut arguments = self.arguments;
        match self.file.as_deref() {
            // As `pillion call` takes them.
            Some(given) if self.function.is_some() => {
                let given = json(&given.to_string_lossy());
                let wrong = |what: String| Error::new(Code::InvalidParams, what);
                if arguments.replace(given.map_err(wrong)?).is_some() {
                    return Err(wrong("the function has its arguments twice".into()));
                }
            }
            Some(path) if path == Path::new("-") => code = Some(from_stdin()?),
            Some(path) => {
                let given = read(path)?;
                file = Some(given.name.clone());
                files.push(given);
            }
            None => {}
        }
        for path in &self.with {
            files.push(read(path)?);
        }
        let mut run = RunCode {
            code,
            file,
            module: self.module,
            function: self.function,
            arguments,
            lane: self.lane,
            session: self.session,
            args: self.args,
            stdin: self.stdin.then(from_stdin).transpose()?,
            files,
            outputs: self.outputs,
            timeout_seconds: self.timeout,
            memory_limit_mb: self.memory,
            seed: self.seed,
            clock: self.clock,
            fresh: self.fresh,
            stream,
            ..RunCode::default()
        };
        run.take_along();
        Ok(run)
    }
}

/// The arguments of a function.
fn json(text: &str) -> Result<Box<RawValue>, String> {
    let raw = RawValue::from_string(text.trim().to_owned());
    let raw = raw.ok().filter(|raw| raw.get().starts_with(['[', '{']));
    raw.ok_or_else(|| "arguments are an object or an array, for example '[3, 4]'".into())
}

/// A file of the caller's, under its own name.
fn read(path: &Path) -> Result<FileGiven> {
    let unreadable = |why: String| {
        let code = Code::NotFound;
        Error::new(code, format!("cannot read `{}`: {why}", path.display()))
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| unreadable("it has no name".into()))?;
    let contents = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    Ok(FileGiven::new(name, contents))
}

/// What standard input has, all of it.
pub(crate) fn from_stdin() -> Result<String> {
    let mut text = String::new();
    let stdin = std::io::stdin().lock();
    let read = stdin.take(INPUT + 1).read_to_string(&mut text);
    match read {
        Ok(length) if length as u64 > INPUT => Err(Error::new(
            Code::InvalidParams,
            format!("standard input has more than {INPUT} bytes"),
        )),
        Ok(_) => Ok(text),
        Err(error) => Err(Error::new(
            Code::InvalidParams,
            format!("cannot read standard input: {error}"),
        )),
    }
}

/// Output of the program, where it would have gone.
fn print(part: &Part) {
    let Part::Item(item) = part else {
        return;
    };
    let Ok(printed) = serde_json::from_str::<OutputPiece>(item.get()) else {
        return;
    };
    let bytes = printed.text.as_bytes();
    // Nobody reads it: the program is not to know.
    let _ = match printed.stream.as_str() {
        "stderr" => std::io::stderr().write_all(bytes),
        _ => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        }
    };
}

/// What is left to say after its output.
fn tell(reply: &Reply, output_dir: &Path) -> Result<()> {
    if let Some(value) = reply.returned() {
        output::say(value);
    }
    for file in &reply.outputs {
        let place = output_dir.join(&file.name);
        let written = file.contents().and_then(|contents| {
            place.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&place, contents)
        });
        written.map_err(|error| {
            let message = format!("cannot write `{}`: {error}", place.display());
            Error::new(Code::OutsideRoot, message)
        })?;
        output::note(&format!("{} ({} bytes)", place.display(), file.size_bytes));
    }
    for left in &reply.outputs_left_out {
        output::warn(&format!("`{}` does not come back: {}", left.name, left.why));
    }
    match reply.outcome {
        RunOutcome::Ok | RunOutcome::Error => {}
        RunOutcome::StartFailed => output::warn(reply.stderr.trim_end()),
        outcome => {
            let limit = reply
                .limits
                .iter()
                .find(|limit| Some(limit.what.as_str()) == limit_of(outcome));
            let limit = limit.map(|limit| format!(": the limit is {}", limit.value));
            output::warn(&format!("{}{}", said(outcome), limit.unwrap_or_default()));
        }
    }
    if std::io::stderr().is_terminal() && !reply.artifacts.is_empty() {
        let names: Vec<&str> = reply.artifacts.iter().map(|a| a.name.as_str()).collect();
        output::note(&format!("new in its folder: {}", names.join(", ")));
    }
    Ok(())
}

/// How something ended, in words.
pub(crate) fn said(outcome: RunOutcome) -> String {
    match outcome {
        RunOutcome::Timeout => "it took too long and was stopped".to_owned(),
        RunOutcome::Memory => "it used too much memory and was stopped".to_owned(),
        RunOutcome::OutputLimit => "it wrote too much and was stopped".to_owned(),
        RunOutcome::ProcessLimit => "it started too many processes or threads".to_owned(),
        RunOutcome::DiskLimit => "its folder is full".to_owned(),
        RunOutcome::Cancelled => "it was cancelled".to_owned(),
        RunOutcome::Killed => "a signal ended it".to_owned(),
        RunOutcome::Ok | RunOutcome::Error | RunOutcome::StartFailed => {
            format!("{outcome:?}").to_lowercase()
        }
    }
}

/// The limit behind an outcome.
fn limit_of(outcome: RunOutcome) -> Option<&'static str> {
    match outcome {
        RunOutcome::Timeout => Some("time"),
        RunOutcome::Memory => Some("memory"),
        RunOutcome::OutputLimit => Some("output"),
        RunOutcome::ProcessLimit => Some("processes"),
        RunOutcome::DiskLimit => Some("disk"),
        _ => None,
    }
}

/// As a shell would say it.
fn exit_code(reply: &Reply) -> ExitCode {
    let code = match (reply.outcome, reply.returncode) {
        (RunOutcome::Timeout, _) => 124,
        (RunOutcome::Cancelled, _) => 130,
        (RunOutcome::Memory, _) => 137,
        (RunOutcome::StartFailed, _) => 126,
        (_, code @ 0..=255) => u8::try_from(code).unwrap_or(1),
        (_, signal) if signal < -100 => u8::try_from(128 - 100 - signal).unwrap_or(1),
        _ => 1,
    };
    ExitCode::from(code)
}
