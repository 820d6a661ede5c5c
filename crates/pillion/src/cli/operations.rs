//! Commands that are operations of the catalogue.
//!
//! Every operation is `pillion AREA VERB`; the ones that people type have a short name.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};
use pillion::{Arguments, Caller, Definition, Error, Part, Result, Safety, Scope, definitions};
use pillion_python::operations::SidecarCall;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::caller::here;
use super::{Global, jobs, output, render};

/// Short names of operations.
const SHORT: &[(&str, &str)] = &[
    ("defs", "code.defs"),
    ("refs", "code.refs"),
    ("hover", "code.hover"),
    ("occurrences", "code.occurrences"),
    ("list", "code.list"),
    ("symbols", "code.symbols"),
    ("grep", "code.grep"),
    ("at", "code.at"),
    ("rename", "code.rename"),
    ("move", "code.move"),
    ("change-signature", "code.change_signature"),
    ("extract-method", "code.extract_method"),
    ("extract-var", "code.extract_var"),
    ("inline", "code.inline"),
    ("organize-imports", "code.organize_imports"),
    ("codemod", "code.codemod"),
    ("implementations", "code.implementations"),
    ("callers", "code.callers"),
    ("callees", "code.callees"),
    ("type-hierarchy", "code.type_hierarchy"),
    ("diagnostics", "code.diagnostics"),
    ("read-symbol", "code.read_symbol"),
    ("undo", "code.undo"),
    ("history", "code.history"),
    ("call", "py.call"),
    ("describe", "py.describe"),
    ("job-start", "exec.start"),
    ("jobs", "exec.jobs"),
    ("job", "exec.job"),
    ("job-stream", "exec.stream"),
    ("job-cancel", "exec.cancel"),
    ("runs", "exec.history"),
    ("sessions", "exec.sessions"),
    ("session-clear", "exec.session_clear"),
    ("lanes", "exec.lanes"),
    ("workers", "py.workers"),
    ("status", "system.status"),
    ("stats", "system.stats"),
    ("ping", "system.ping"),
    ("events", "system.subscribe"),
];

/// How the commands are listed: what people type first, then what runs pillion, then the
/// operations by their full names.
const ORDER: &[&str] = &[
    "tour",
    "at",
    "defs",
    "refs",
    "hover",
    "list",
    "symbols",
    "grep",
    "occurrences",
    "callers",
    "callees",
    "implementations",
    "type-hierarchy",
    "read-symbol",
    "diagnostics",
    "map",
    "rename",
    "move",
    "change-signature",
    "extract-method",
    "extract-var",
    "inline",
    "organize-imports",
    "codemod",
    "undo",
    "history",
    "call",
    "describe",
    "expose",
    "exec",
    "job-start",
    "jobs",
    "job",
    "job-stream",
    "job-cancel",
    "runs",
    "sessions",
    "session-clear",
    "lanes",
    "status",
    "watch",
    "workers",
    "stats",
    "events",
    "ping",
    "stop",
    "restart",
    "logs",
    "doctor",
    "trust",
    "env",
    "bench",
    "mcp",
    "serve",
    "stdio",
    "rpc",
    "daemon",
    "socket-path",
    "operations",
    "completions",
];

/// The one area that people type by its own name.
const MAP: &str = "map";
const MAP_ABOUT: &str = "Map a project: who calls whom, what a change reaches, what is never used";

/// The area whose name is a command of its own.
const EXEC: &str = "exec";

/// Verbs of `pillion map` that people type with dashes; the others are typed as they are.
const DASHED: &[(&str, &str)] = &[
    ("call-graph", "map.call_graph"),
    ("change-impact", "map.change_impact"),
    ("cross-project", "map.cross_project"),
    ("dead-code", "map.dead_code"),
    ("live-changes", "map.live_changes"),
];

fn dashed(name: &str) -> Option<&'static str> {
    let found = DASHED.iter().find(|(_, long)| *long == name);
    found.map(|(dashed, _)| *dashed)
}

/// What people type for an operation.
pub(crate) fn typed(name: &str) -> String {
    if let Some(dashed) = dashed(name) {
        return format!("{MAP} {dashed}");
    }
    match SHORT.iter().find(|(_, long)| *long == name) {
        Some((short, _)) => (*short).to_owned(),
        None if name == "exec.run" => EXEC.to_owned(),
        None => name.replace('.', " "),
    }
}

/// After so long a person is told why a question about code may take its time.
const PATIENCE: Duration = Duration::from_secs(3);

/// The flag for text where JSON would be printed.
const TEXT: &str = "text";

/// An operation that the command line asks for.
pub(crate) struct Selected {
    definition: Definition,
    params: Box<RawValue>,
    caller: Caller,
}

/// The commands of all operations.
pub(crate) fn add_to(mut command: clap::Command) -> clap::Command {
    let all = definitions();
    for (short, name) in SHORT {
        if let Some(definition) = all.iter().find(|definition| definition.name == *name) {
            let mut sub = subcommand(definition, short);
            if *short == "call" {
                sub = with_sidecar(sub);
            }
            command = command.subcommand(sub);
        }
    }
    let mut areas: Vec<&str> = all
        .iter()
        .filter_map(|d| d.name.split('.').next())
        .collect();
    areas.dedup();
    // `pillion exec FILE` is what people type; the others of its area have short names.
    areas.retain(|area| *area != EXEC);
    for area in areas {
        let mut sub = clap::Command::new(area)
            .about(match area {
                MAP => MAP_ABOUT.to_owned(),
                _ => format!("All `{area}.*` operations"),
            })
            .subcommand_required(true)
            .arg_required_else_help(true);
        for definition in &all {
            if let Some((_, verb)) = definition.name.split_once('.').filter(|(a, _)| *a == area) {
                let typed = dashed(definition.name).unwrap_or(verb);
                let mut command = subcommand(definition, typed);
                if typed != verb {
                    command = command.alias(verb);
                }
                sub = sub.subcommand(command);
            }
        }
        command = command.subcommand(sub);
    }
    for (place, name) in ORDER.iter().enumerate() {
        command = command.mut_subcommand(name, |sub| sub.display_order(place));
    }
    command
}

/// The command of an operation under one of its names.
fn subcommand(definition: &Definition, name: &'static str) -> clap::Command {
    let command = definition.command().name(name);
    if !is_about_code(definition.name) {
        return command;
    }
    command.arg(
        Arg::new(TEXT)
            .long(TEXT)
            .action(ArgAction::SetTrue)
            .conflicts_with("json")
            .help("Print text, also where no terminal reads it"),
    )
}

fn is_about_code(operation: &str) -> bool {
    operation.starts_with("code.") || operation.starts_with("map.")
}

/// Whether the answer is for a program: `--json` says so, and for questions about code it
/// is also meant where no terminal reads the answer.
pub(crate) fn wants_json(matches: &ArgMatches) -> bool {
    if matches.get_flag("json") {
        return true;
    }
    let asked = match matches.subcommand() {
        // A picture is text for whatever reads it.
        Some(("map", sub)) if sub.subcommand_name() == Some("graph") => None,
        Some(("code" | "map", sub)) => sub.subcommand().map(|(_, sub)| sub),
        Some((name, sub)) => {
            let long = SHORT.iter().find(|(short, _)| *short == name);
            long.filter(|(_, long)| is_about_code(long)).map(|_| sub)
        }
        None => None,
    };
    asked.is_some_and(|asked| !asked.get_flag(TEXT) && !std::io::stdout().is_terminal())
}

/// `pillion call --sidecar NAME COMMAND`: the same words for a foreign sidecar.
fn with_sidecar(command: clap::Command) -> clap::Command {
    command
        .arg(
            Arg::new("sidecar")
                .long("sidecar")
                .value_name("NAME")
                .help("Send FUNCTION as a command to this sidecar of `pillion.toml`"),
        )
        .arg(
            Arg::new("project")
                .long("project")
                .value_name("PROJECT")
                .requires("sidecar")
                .help("What the sidecar's command is about; the workspace root if not given"),
        )
        .arg(
            Arg::new("args")
                .long("args")
                .value_name("JSON")
                .requires("sidecar")
                .help("Arguments of the sidecar's command: a JSON object"),
        )
}

/// The operation that was asked for, if it is one.
pub(crate) fn selected(matches: &ArgMatches) -> Result<Option<Selected>> {
    let Some((name, sub)) = matches.subcommand() else {
        return Ok(None);
    };
    let all = definitions();
    let find = |name: &str| {
        all.iter()
            .find(|definition| definition.name == name)
            .copied()
    };
    if let Some((_, long)) = SHORT.iter().find(|(short, _)| *short == name) {
        if name == "call" && sub.get_one::<String>("sidecar").is_some() {
            return sidecar_call(sub, find("sidecar.call"), find("py.call")).map(Some);
        }
        return find(long)
            .map(|definition| select(definition, sub))
            .transpose();
    }
    match sub.subcommand() {
        Some((verb, sub)) => find(&format!("{name}.{verb}").replace('-', "_"))
            .map(|definition| select(definition, sub))
            .transpose(),
        None => Ok(None),
    }
}

fn select(definition: Definition, matches: &ArgMatches) -> Result<Selected> {
    let Arguments { params, mut caller } = definition.read_arguments(matches)?;
    if definition.scope != Scope::Nothing {
        caller.near = Some(here()?);
    }
    Ok(Selected {
        definition,
        params,
        caller,
    })
}

/// The words of `pillion call` for a foreign sidecar.
fn sidecar_call(
    matches: &ArgMatches,
    definition: Option<Definition>,
    call: Option<Definition>,
) -> Result<Selected> {
    let (Some(definition), Some(call)) = (definition, call) else {
        return Err(Error::internal("no operation `sidecar.call`"));
    };
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let args = text("args").unwrap_or_else(|| "{}".to_owned());
    let args = RawValue::from_string(args).ok();
    let args = args.filter(|args| args.get().starts_with('{'));
    let args = args.ok_or_else(|| {
        Error::new(pillion::Code::InvalidParams, "`--args` is a JSON object")
            .hint("write for example --args '{\"max_results\": 5}'")
    })?;
    let params = SidecarCall {
        sidecar: text("sidecar").unwrap_or_default(),
        command: text("function").unwrap_or_default(),
        project: text("project"),
        args: Some(args),
        idempotent: matches.get_flag("idempotent"),
    };
    Ok(Selected {
        definition,
        params: to_raw_value(&params).map_err(Error::internal)?,
        // They are flags of the same command.
        caller: select(call, matches)?.caller,
    })
}

/// Run an operation and show what it gives.
pub(crate) async fn run(selected: Selected, global: &Global) -> Result<ExitCode> {
    let Selected {
        definition,
        mut params,
        caller,
    } = selected;
    let flat = global.json && definition.name == FLAT && !names_depth(&params);
    if flat {
        params = all_of_the_top_level(&params)?;
    }
    let backend = Backend::open(global).await?;
    let streams = definition.wants_stream(Some(&params));
    let json = global.json;
    let unread = CancellationToken::new();
    let call = backend.call(&caller, definition.name, &params, streams, |part| {
        let read = match definition.name {
            jobs::STREAM if !json => jobs::print(&part),
            _ => show_part(&part, json),
        };
        if !read {
            unread.cancel();
        }
    });
    let outcome = tokio::select! {
        outcome = call => outcome,
        never = explain_waiting(&definition) => match never {},
        // `pillion call --stream ... | head`: it has what it wanted.
        () = unread.cancelled() => Err(Error::new(pillion::Code::Cancelled, "nobody reads on")),
        // Dropping the call cancels it, here and in the daemon.
        _ = tokio::signal::ctrl_c() => {
            Err(Error::new(pillion::Code::Cancelled, "interrupted"))
        }
    };
    let shown = outcome.map(|result| match flat {
        true => render::flat_list(result.get()),
        false => show(&definition, &result, json, streams),
    });
    backend.close().await;
    match shown {
        Err(_) if unread.is_cancelled() => Ok(ExitCode::SUCCESS),
        shown => shown.map(|()| ExitCode::SUCCESS),
    }
}

/// Tell a person why a question about code may take its time. Never ends.
async fn explain_waiting(definition: &Definition) -> std::convert::Infallible {
    if std::io::stderr().is_terminal() && is_about_code(definition.name) {
        tokio::time::sleep(PATIENCE).await;
        output::note("still working: the very first question builds pillion's own tools");
    }
    std::future::pending().await
}

/// The operation whose JSON is a flat list on the command line, as it always was, unless
/// `--depth` asks for more than a flat list can say.
const FLAT: &str = "code.list";

fn names_depth(params: &RawValue) -> bool {
    let params: Option<Map<String, Value>> = serde_json::from_str(params.get()).ok();
    params.is_some_and(|params| params.contains_key("depth"))
}

/// A flat list has no room to say that it was cut off, so it is not, unless asked for.
fn all_of_the_top_level(params: &RawValue) -> Result<Box<RawValue>> {
    let mut params: Map<String, Value> =
        serde_json::from_str(params.get()).map_err(Error::internal)?;
    params.insert("depth".into(), json!(1));
    params.entry("limit").or_insert(json!(usize::MAX));
    to_raw_value(&params).map_err(Error::internal)
}

/// Show a part; says whether anybody reads.
pub(crate) fn show_part(part: &Part, json: bool) -> bool {
    match part {
        Part::Item(item) if json => output::try_say(&format!("{{\"item\":{item}}}")),
        Part::Item(item) => output::try_say(item.get()),
        Part::Progress(news) if json => output::try_say(&format!("{{\"progress\":{news}}}")),
        Part::Progress(news) => {
            output::note(&render::progress(news.get()));
            true
        }
    }
}

fn show(definition: &Definition, result: &RawValue, json: bool, streamed: bool) {
    if json {
        return output::say_json(result.get());
    }
    if definition.name == jobs::STREAM {
        return jobs::end(definition, result.get());
    }
    if let Some(text) = definition.text(result.get()) {
        return match definition.safety {
            // A change: people read it by its colours.
            Safety::Write => output::say_diff(&text),
            _ => output::say(&text),
        };
    }
    match definition.name {
        "py.call" | "py.invoke" | "sidecar.call" => {
            #[derive(serde::Deserialize)]
            struct Called<'a> {
                #[serde(borrow)]
                result: &'a RawValue,
            }
            match serde_json::from_str::<Called<'_>>(result.get()) {
                // The items were the result; a generator's own is mostly null.
                Ok(called) if streamed && called.result.get() == "null" => {}
                Ok(called) => output::say_json(called.result.get()),
                Err(_) => output::say_json(result.get()),
            }
        }
        "system.status" => render::status(result.get()),
        "system.stats" => render::stats(result.get()),
        "py.workers" => render::workers(result.get()),
        "py.describe" => render::module(result.get()),
        "system.subscribe" => {}
        _ => output::say_json(result.get()),
    }
}

/// All operations, for people or programs.
pub(crate) fn list(json: bool) {
    let all = definitions();
    if json {
        let list: Vec<Value> = all
            .iter()
            .map(|d| {
                json!({
                    "name": d.name, "help": d.help(), "safety": d.safety, "streams": d.streams,
                    "params": d.params_schema(), "output": d.output_schema(),
                })
            })
            .collect();
        return output::say_json(&Value::from(list).to_string());
    }
    for definition in all {
        output::say(&format!("{:18} {}", definition.name, definition.help()));
    }
}

/// The folder of a path that may be relative to here.
pub(crate) fn from_here(path: &Path) -> PathBuf {
    // Without the `.` that `--root .` leaves behind.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
