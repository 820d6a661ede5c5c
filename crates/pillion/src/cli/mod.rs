//! The command line: a door like the others, plus what only people need.
//!
//! Commands that are operations come from the catalogue ([`operations`]); what is left
//! here runs doors, looks after the daemon and the environment, and shows things.

mod backend;
mod bundle;
mod caller;
mod chat;
mod completions;
mod daemon;
mod desktop;
mod doctor;
mod doors;
mod env;
mod exec;
mod expose;
mod installation;
mod jobs;
mod logging;
mod logs;
mod mcp;
mod notebooks;
mod operations;
mod progress;
mod prompt;
mod readable;
mod reference;
mod registry;
mod relay;
mod repl;
mod serving;
mod streams;
mod tour;
mod trust;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use pillion::{Error, Result};
use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::vars;
use pillion_terminal::output;

/// Python, already running: warm, supervised and in step with your files.
#[derive(Debug, Parser)]
#[command(
    name = "pillion",
    version,
    propagate_version = true,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct WithoutCommands {
    #[command(flatten)]
    global: Global,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Print JSON: the whole result, or the whole error.
    #[arg(long, global = true)]
    json: bool,
    /// Use the daemon at this socket.
    #[arg(long, global = true, env = vars::PILLION_SOCKET, hide_env_values = true, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Use a daemon of its own, known by this name.
    #[arg(long, global = true, env = vars::PILLION_INSTANCE, hide_env_values = true, value_name = "NAME")]
    instance: Option<String>,
    /// Use the Python of the runtime bundle in this folder, where no other is named.
    #[arg(long, global = true, env = vars::PILLION_RUNTIME, hide_env_values = true, value_name = "DIR")]
    runtime: Option<PathBuf>,
    /// Run on an embedded engine instead of the daemon.
    #[arg(long, global = true, env = vars::PILLION_NO_DAEMON, hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    no_daemon: bool,
    /// Say more about what happens; twice for even more.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Say everything about what happens.
    #[arg(long, global = true)]
    debug: bool,
    /// Write the log to this file.
    #[arg(long, global = true, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Write the log as JSON lines.
    #[arg(long, global = true)]
    log_json: bool,
}

impl Global {
    fn endpoint(&self) -> Endpoint {
        let uid = pillion_process::effective_uid();
        Endpoint::resolve(
            self.socket.as_deref(),
            self.instance.as_deref(),
            pillion_process::private_folder::variable,
            uid,
        )
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Walk through pillion on this terminal, with real calls.
    #[command(display_order = 10)]
    Tour(tour::Tour),
    /// Stop the daemon; running requests finish.
    #[command(display_order = 460)]
    Stop,
    /// Stop the daemon and start it again.
    #[command(display_order = 470)]
    Restart,
    /// Show clocks, engines and questions live.
    #[command(display_order = 410)]
    Watch(watch::Watch),
    /// Show the daemon's log.
    #[command(display_order = 480)]
    Logs(logs::Logs),
    /// Say which Python is used and why, what is wrong and what to do.
    #[command(display_order = 490)]
    Doctor(doctor::Doctor),
    /// Trust a folder: let its `pillion.toml` run programs and open walls.
    #[command(display_order = 500)]
    Trust(trust::Trust),
    /// Show or rebuild the managed Python environment.
    #[command(display_order = 510)]
    Env(env::Env),
    /// Check this installation, or write its completions and manual pages.
    #[command(name = "self", display_order = 515)]
    Installation(installation::Installation),
    /// Make, check, install and repair bundles: runtimes and content.
    #[command(display_order = 512)]
    Bundle(bundle::Bundle),
    /// List artifacts for desktops, and serve them.
    #[command(display_order = 514)]
    Registry(registry::Registry),
    /// Print the path of the daemon's socket.
    #[command(display_order = 580)]
    SocketPath,
    /// List every operation.
    #[command(display_order = 590)]
    Operations,
    /// Measure pillion against its baselines, in one run.
    #[cfg(feature = "bench")]
    #[command(display_order = 520)]
    Bench(pillion_bench::Bench),
    /// Print a completion script for your shell.
    #[command(display_order = 600)]
    Completions(completions::Completions),
    /// Run the daemon in the foreground.
    #[command(display_order = 570)]
    Daemon(daemon::Daemon),
    /// Serve HTTP on this machine, on an engine of its own.
    #[command(display_order = 540)]
    Serve(doors::Serve),
    /// Serve the line-JSON contract on standard input and output, or do one command.
    #[command(display_order = 550)]
    Stdio(doors::Stdio),
    /// Serve JSON-RPC on standard input and output.
    #[command(display_order = 560)]
    Rpc(doors::Rpc),
    /// Serve agents: operations as MCP tools, on standard input and output.
    #[command(display_order = 530)]
    Mcp(mcp::Mcp),
    /// Expose functions of Python modules as tools, methods, routes and commands.
    #[command(display_order = 290)]
    Expose(expose::Expose),
    /// Run Python code in a lane: confined, limited, and gone without a trace.
    #[command(display_order = 300)]
    Exec(Box<exec::Exec>),
    /// Type cells for a kernel behind walls, or pipe them into it.
    #[command(display_order = 305)]
    Repl(repl::Repl),
    /// Talk about a chapter with its companion, in the terminal.
    #[command(display_order = 307)]
    Chat(chat::Chat),
    /// Print a reference page.
    #[command(hide = true)]
    Reference(reference::Reference),
}

/// The whole command line: fixed commands and those of the catalogue.
fn command() -> clap::Command {
    operations::add_to(with_fixed_commands(), None)
}

fn with_fixed_commands() -> clap::Command {
    Command::augment_subcommands(WithoutCommands::command())
}

/// As much of it as is needed to understand these words. To describe a hundred commands of
/// which one is meant would take longer than most of them take.
fn command_for(mut words: impl Iterator<Item = OsString>) -> clap::Command {
    let first = words.next().and_then(|word| word.into_string().ok());
    let first = first.as_deref();
    let is_operation = |word| !Command::has_subcommand(word) && operations::begins_with(word);
    match first.is_some_and(is_operation) {
        true => operations::add_to(WithoutCommands::command(), first),
        false => operations::add_to(with_fixed_commands(), first),
    }
}

/// Parse, run, and turn the outcome into an exit code.
pub(crate) fn main() -> ExitCode {
    let matches = command_for(std::env::args_os().skip(1)).get_matches();
    let json = operations::wants_json(&matches);
    match run(&matches, json) {
        Ok(code) => code,
        Err(error) => {
            output::fail(&error, json);
            ExitCode::from(1)
        }
    }
}

fn run(matches: &clap::ArgMatches, json: bool) -> Result<ExitCode> {
    let mut global = Global::from_arg_matches(matches).map_err(Error::internal)?;
    global.json = json;
    if matches.subcommand_name() == Some(daemon::NAME) {
        // Before anything of our own is opened.
        pillion_process::disown_descriptors();
    }
    if global.log_file.is_none() && desktop::is_meant(matches) {
        global.log_file = desktop::log_file();
    }
    logging::init(&global, matches.subcommand_name());
    caller::use_runtime(global.runtime.as_deref())?;
    // One thread: a relay gains nothing from more, and every hand-over between threads
    // costs more than the work it hands over. Heavy work has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::internal)?;
    if let Some(operation) = operations::selected(matches, json)? {
        return runtime.block_on(operations::run(operation, &global));
    }
    let command = Command::from_arg_matches(matches).map_err(Error::internal)?;
    let code = runtime.block_on(dispatch(command, global))?;
    // Threads that wait for standard input would wait for ever.
    runtime.shutdown_background();
    Ok(code)
}

async fn dispatch(command: Command, global: Global) -> Result<ExitCode> {
    match command {
        Command::Tour(tour) => Box::pin(tour.run(&global)).await,
        Command::Stop => daemon::stop(&global).await,
        Command::Restart => daemon::restart(&global).await,
        Command::Watch(watch) => watch.run(&global).await,
        Command::Logs(logs) => logs.run(&global).await,
        Command::Doctor(doctor) => doctor.run(&global).await,
        Command::Trust(trust) => trust.run(&global),
        Command::Env(env) => env.run(&global).await,
        Command::Installation(installation) => installation.run(&global).await,
        Command::Bundle(bundle) => Box::pin(bundle.run(&global)).await,
        Command::Registry(registry) => registry.run(&global).await,
        Command::SocketPath => {
            output::say(&global.endpoint().socket.display().to_string());
            Ok(ExitCode::SUCCESS)
        }
        Command::Operations => {
            operations::list(global.json);
            Ok(ExitCode::SUCCESS)
        }
        #[cfg(feature = "bench")]
        Command::Bench(bench) => Box::pin(bench.run(global.json)).await,
        Command::Completions(completions) => Ok(completions.run()),
        Command::Daemon(daemon) => daemon.run(&global).await,
        Command::Serve(serve) => serve.run(&global).await,
        Command::Stdio(stdio) => stdio.run(&global).await,
        Command::Rpc(rpc) => rpc.run(&global).await,
        Command::Mcp(mcp) => Box::pin(mcp.run(&global)).await,
        Command::Expose(expose) => Box::pin(expose.run(&global)).await,
        Command::Exec(exec) => Box::pin(exec.run(&global)).await,
        Command::Repl(repl) => Box::pin(repl.run(&global)).await,
        Command::Chat(chat) => Box::pin(chat.run(&global)).await,
        Command::Reference(reference) => Ok(reference.run()),
    }
}
