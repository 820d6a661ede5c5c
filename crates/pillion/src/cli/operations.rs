//! Commands that are operations of the catalogue.
//!
//! Every operation is `pillion AREA VERB`; the ones that people type have a short name.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};
use indicatif::{ProgressBar, ProgressStyle};
use pillion::{
    Arguments, Definition, Error, Operation, Part, Prints, Result, Safety, Scope, definitions,
};
use pillion_catalogue::ReadableAnswer;
use pillion_notebook::operations::RunNotebook;
use pillion_python::operations::{Call, SidecarCall};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::caller::{here, or_runtime};
use super::notebooks::{self, Notebooks};
use super::{Global, jobs, output, progress, readable};

/// The areas that people type by their own names, and their places in the list of commands.
const AREAS: &[(&str, &str, usize)] = &[
    (
        "map",
        "Map a project: who calls whom, what a change reaches, what is never used",
        160,
    ),
    (
        "course",
        "Make a course, check it, list what there is to learn",
        308,
    ),
];
/// Behind everything that people type: the areas, by their names.
const AREA_PLACE: usize = 900;

/// What people type for an operation.
pub(crate) fn typed(definition: &Definition) -> String {
    match definition.offer.command {
        Some(typed) => typed.name.to_owned(),
        None => definition.name.replace('.', " ").replace('_', "-"),
    }
}

/// After so long a person is told why a question about code may take its time.
const EXPLAIN_AFTER: Duration = Duration::from_secs(3);

/// The flag for text where JSON would be printed.
const TEXT: &str = "text";

/// An operation that the command line asks for.
pub(crate) struct Selected {
    definition: Definition,
    arguments: Arguments,
    /// It is about several files, each of which is a request of its own.
    notebooks: Option<Notebooks>,
}

/// All operations, put together once.
fn all() -> &'static [Definition] {
    static ALL: OnceLock<Vec<Definition>> = OnceLock::new();
    ALL.get_or_init(definitions)
}

/// Whether the words that call an operation begin with this one.
pub(crate) fn begins_with(word: &str) -> bool {
    is_first_word(word) || is_first_word(&spelled(word))
}

fn is_first_word(word: &str) -> bool {
    all().iter().flat_map(names).any(|known| known == word)
}

/// The commands of all operations; only the one called `only`, if there is one of that name.
pub(crate) fn add_to(mut command: clap::Command, only: Option<&str>) -> clap::Command {
    let all = all();
    let is_operation = |name: &&str| is_first_word(name);
    // Whatever else it may be, it is none of these, unless operations are some of its verbs.
    let is_area = |name: &str| all.iter().any(|one| area(one) == name);
    let is_fixed = |command: &clap::Command, name: &str| {
        let fixed = command.find_subcommand(name);
        fixed.is_some_and(|fixed| !(fixed.has_subcommands() && is_area(name)))
    };
    if only.is_some_and(|name| is_fixed(&command, name)) {
        return command;
    }
    let one_spelling = only.map(spelled);
    let only = only.filter(is_operation).or_else(|| {
        let only = one_spelling.as_deref();
        only.filter(is_operation)
    });
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    for definition in all {
        let typed = definition.offer.command.filter(|typed| !typed.is_own);
        if let Some(typed) = typed.filter(|typed| is_wanted(typed.name)) {
            let mut sub = subcommand(definition, typed.name).display_order(typed.place);
            if definition.name == Call::NAME {
                sub = with_sidecar(sub);
            }
            // As the operation is spelled, too.
            let spelled = typed.name.replace('-', "_");
            if spelled != typed.name {
                sub = sub.alias(spelled);
            }
            command = command.subcommand(sub);
        }
    }
    let mut areas: Vec<&str> = all.iter().map(area).collect();
    areas.dedup();
    // `pillion exec FILE` is what people type; the others of its area have short names.
    areas.retain(|area| is_wanted(area) && !is_fixed(&command, area));
    for area in areas {
        let (about, place) = match AREAS.iter().find(|(name, ..)| *name == area) {
            Some((_, about, place)) => ((*about).to_owned(), *place),
            None => (format!("All `{area}.*` operations"), AREA_PLACE),
        };
        // Some verbs of an area are no operations, and are there already.
        let has_own = command.find_subcommand(area).is_some();
        let mut sub = clap::Command::new(area)
            .about(about)
            .display_order(place)
            .subcommand_required(true)
            .arg_required_else_help(true);
        for definition in all {
            if let Some((_, verb)) = definition.name.split_once('.').filter(|(a, _)| *a == area) {
                let typed = verb.replace('_', "-");
                let mut command = subcommand(definition, &typed);
                if definition.name == RunNotebook::NAME {
                    command = notebooks::with_files(command);
                }
                if typed != verb {
                    command = command.alias(verb);
                }
                sub = sub.subcommand(command);
            }
        }
        command = match has_own {
            true => {
                command.mut_subcommand(area, |own| {
                    // What is no operation comes first, as one has to make something to use it.
                    let first = own.get_subcommands().count();
                    let verbs = sub.get_subcommands().cloned().enumerate();
                    own.subcommands(verbs.map(|(at, verb)| verb.display_order(first + at)))
                })
            }
            false => command.subcommand(sub),
        };
    }
    command
}

/// The first words by which an operation is called: a name of its own, and its area.
fn names(definition: &Definition) -> impl Iterator<Item = &'static str> {
    let typed = definition.offer.command.filter(|typed| !typed.is_own);
    let typed = typed.map(|typed| typed.name).into_iter();
    typed.chain([area(definition)])
}

/// A first word in the one spelling of commands.
fn spelled(word: &str) -> String {
    word.replace('_', "-")
}

/// What the name of an operation begins with.
fn area(definition: &Definition) -> &'static str {
    let (area, _) = definition
        .name
        .split_once('.')
        .unwrap_or((definition.name, ""));
    area
}

/// The command of an operation under one of its names.
fn subcommand(definition: &Definition, name: &str) -> clap::Command {
    let command = definition.command().name(name.to_owned());
    if command
        .get_arguments()
        .any(|arg| arg.get_long() == Some(TEXT))
    {
        return command;
    }
    // Others print text anyway: whoever says so with every command is right with each.
    command.arg(
        Arg::new(TEXT)
            .long(TEXT)
            .action(ArgAction::SetTrue)
            .conflicts_with("json")
            .hide(!definition.formats)
            .help("Print text, also where no terminal reads it"),
    )
}

/// Whether the answer is for a program: `--json` says so, and for questions about code it
/// is also meant where no terminal reads the answer.
pub(crate) fn wants_json(matches: &ArgMatches) -> bool {
    if matches.get_flag("json") {
        return true;
    }
    let Some((definition, asked)) = chosen(matches) else {
        return false;
    };
    definition.formats && !asked.get_flag(TEXT) && !std::io::stdout().is_terminal()
}

/// The operation that a command line names, and its arguments.
fn chosen(matches: &ArgMatches) -> Option<(Definition, &ArgMatches)> {
    let (name, sub) = matches.subcommand()?;
    let all = all();
    let short = all.iter().find(|definition| {
        let typed = definition.offer.command.filter(|typed| !typed.is_own);
        typed.is_some_and(|typed| typed.name == name)
    });
    if let Some(definition) = short {
        return Some((*definition, sub));
    }
    let (verb, sub) = sub.subcommand()?;
    let long = format!("{name}.{verb}").replace('-', "_");
    let long = all.iter().find(|definition| definition.name == long);
    long.map(|definition| (*definition, sub))
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

/// The operation that was asked for, if it is one; `json` says that a program reads the answer.
pub(crate) fn selected(matches: &ArgMatches, json: bool) -> Result<Option<Selected>> {
    let Some((definition, sub)) = chosen(matches) else {
        return Ok(None);
    };
    let mut selected = select(definition, sub, json)?;
    // The long name of the same operation has no such flag.
    let sidecar = sub.try_get_one::<String>("sidecar").ok().flatten();
    if definition.name == Call::NAME && sidecar.is_some() {
        // The same flags say who asks.
        selected.definition = Definition::of::<SidecarCall>();
        selected.arguments.params = sidecar_call(sub)?;
    }
    Ok(Some(selected))
}

fn select(definition: Definition, matches: &ArgMatches, json: bool) -> Result<Selected> {
    let arguments = definition.read_arguments(matches, json);
    let mut arguments = arguments.unwrap_or_else(|error| error.exit());
    if definition.scope != Scope::Nothing {
        arguments.caller.near = Some(here()?);
    }
    if definition.scope == Scope::Project {
        arguments.caller.python = or_runtime(arguments.caller.python);
    }
    Ok(Selected {
        notebooks: Notebooks::read(&definition, matches),
        definition,
        arguments,
    })
}

/// The words of `pillion call` for a foreign sidecar.
fn sidecar_call(matches: &ArgMatches) -> Result<Box<RawValue>> {
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
    to_raw_value(&params).map_err(Error::internal)
}

/// Run an operation and show what it gives.
pub(crate) async fn run(selected: Selected, global: &Global) -> Result<ExitCode> {
    let Selected {
        definition,
        arguments,
        notebooks,
    } = selected;
    if let Some(notebooks) = notebooks {
        return notebooks.run(arguments, global).await;
    }
    let Arguments {
        params,
        caller,
        printed,
    } = arguments;
    let backend = Backend::open(global).await?;
    let streams = definition.wants_stream(Some(&params));
    let json = global.json;
    let unread = CancellationToken::new();
    let mut bar = Bar::default();
    let call = backend.call(&caller, definition.name, &params, streams, |part| {
        let read = match definition.offer.prints {
            _ if !json && bar.takes(&part) => true,
            Prints::Output if !json => jobs::print(&part),
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
    let shown = outcome.map(|result| {
        match json {
            true => output::say_json(printed.of(result.get()).as_deref().unwrap_or(result.get())),
            false => {
                let result = readable::from_here(&definition, &params, &caller, result.clone());
                show(&definition, &result, streams && sends_items(&params));
            }
        }
        match definition.is_failure(result.get()) {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        }
    });
    backend.close().await;
    match shown {
        Err(_) if unread.is_cancelled() => Ok(ExitCode::SUCCESS),
        Err(error) if !json => Err(readable::error_from_here(
            &definition,
            &params,
            &caller,
            error,
        )),
        shown => shown,
    }
}

/// A bar for how many bytes of a step are done, where a terminal shows it. Steps themselves are lines.
#[derive(Default)]
struct Bar(Option<ProgressBar>);

impl Bar {
    /// Show how much is done, if that is what a part tells.
    fn takes(&mut self, part: &Part) -> bool {
        #[derive(serde::Deserialize)]
        struct Measured {
            value: u64,
            total: u64,
            unit: String,
        }
        let Part::Progress(news) = part else {
            return false;
        };
        let measured = serde_json::from_str::<Measured>(news.get());
        let Some(Measured { value, total, .. }) = measured.ok().filter(|m| m.unit == "bytes")
        else {
            self.clear();
            return false;
        };
        let bar = self.0.get_or_insert_with(|| {
            let bar = ProgressBar::new(total);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes}") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_length(total);
        bar.set_position(value);
        true
    }

    fn clear(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Tell a person why a question about code may take its time. Never ends.
async fn explain_waiting(definition: &Definition) -> std::convert::Infallible {
    if std::io::stderr().is_terminal() && definition.formats {
        tokio::time::sleep(EXPLAIN_AFTER).await;
        output::note("still working: the very first question builds pillion's own tools");
    }
    std::future::pending().await
}

/// Whether a request that streams sends items, and not only what is printed.
fn sends_items(params: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct Asks {
        stream: Option<bool>,
        prints: Option<bool>,
    }
    let asks = serde_json::from_str::<Asks>(params.get());
    asks.map_or(true, |asks| {
        asks.stream == Some(true) || asks.prints != Some(true)
    })
}

/// Show a part; says whether anybody reads.
pub(crate) fn show_part(part: &Part, json: bool) -> bool {
    match part {
        Part::Item(item) if json => output::try_say(&format!("{{\"item\":{item}}}")),
        Part::Item(item) => output::try_say(item.get()),
        Part::Progress(news) if json => output::try_say(&format!("{{\"progress\":{news}}}")),
        Part::Progress(news) => {
            match progress::printed(news.get()) {
                // What a program printed is passed on as it is.
                Some(text) => output::pass_on(&text),
                None => output::note(&progress::line(news.get())),
            }
            true
        }
    }
}

/// Show an answer to people.
fn show(definition: &Definition, result: &RawValue, streamed: bool) {
    match definition.readable(result.get(), streamed) {
        ReadableAnswer::Nothing => {}
        // How it ended, beside what it printed.
        ReadableAnswer::Text(text) if definition.offer.prints == Prints::Output => {
            output::note(&text);
        }
        // A change: people read it by its colours.
        ReadableAnswer::Text(text) if definition.safety == Safety::Write => output::say_diff(&text),
        ReadableAnswer::Text(text)
            if definition.formats && definition.offer.prints == Prints::Answer =>
        {
            readable::say_places(&readable::text(definition, &text));
        }
        ReadableAnswer::Text(text) => output::say(&text),
        ReadableAnswer::Json(json) => output::say_json(&json),
    }
}

/// All operations, for people or programs.
pub(crate) fn list(json: bool) {
    let all = all();
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

#[cfg(test)]
mod tests {
    use super::super::{command, command_for};

    /// The help of a command, with all that is below it.
    fn help(mut of: clap::Command, name: &str) -> String {
        of.build();
        let found = of.find_subcommand_mut(name).unwrap();
        let mut text = found.render_long_help().to_string();
        for below in found.get_subcommands_mut() {
            text += &below.render_long_help().to_string();
        }
        text
    }

    #[test]
    fn a_command_is_the_same_whether_the_others_are_described_or_not() {
        let whole = command();
        let count = whole.get_subcommands().count();
        for sub in whole.get_subcommands() {
            let name = sub.get_name();
            let part = command_for([name.into()].into_iter());
            assert!(part.get_subcommands().count() < count, "{name}");
            assert_eq!(help(part, name), help(whole.clone(), name));
        }
        for other in ["help", "nothing", "--json"] {
            let all = command_for([other.into()].into_iter());
            assert_eq!(all.get_subcommands().count(), count, "{other}");
        }
    }
}
