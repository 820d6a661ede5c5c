//! `pillion mcp`: the door for agents, as a thin relay to the daemon.
//!
//! What tools there are is known without an engine, so the handshake is answered at once;
//! the daemon is started meanwhile. Many agents share it, and with it every Python.

mod install;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use pillion::Result;
use pillion_doors::mcp::{self, McpSettings, Profile};
use pillion_protocol::vars;

use super::caller::from_here;
use super::caller::surroundings;
use super::relay::{self, Relay};
use super::serving::until_signal;
use super::{Global, expose, output, streams};

/// Serve agents: operations as MCP tools, on standard input and output.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    action: Option<Action>,
    /// The project for calls that name none; without it the agent's root, or this folder.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Which tools are listed: `default`, `code`, `map`, `exec`, `full`, `core` or `minimal`.
    #[arg(long, value_name = "NAME")]
    profile: Option<Profile>,
    /// Bytes that one answer shows, 20000 of text and 60000 of JSON if not given; the rest can be
    /// fetched.
    #[arg(long, value_name = "BYTES", value_parser = budget)]
    max_output: Option<usize>,
    /// And the functions of this Python module as tools.
    #[arg(long, value_name = "MODULE")]
    expose: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print or write the configuration that adds pillion to an agent.
    Install(install::Install),
}

impl Mcp {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        if let Some(Action::Install(install)) = self.action {
            return install.run(global);
        }
        let settings = McpSettings {
            max_output: self.max_output,
            caller: surroundings(),
            ..settings(self.profile)
        };
        let root = self.root.as_deref().map(from_here);
        let relay = Arc::new(Relay::new(global.clone()));
        let state = relay::state(&relay, root);
        let state = expose::beside(state, &self.expose, &settings.caller);
        let shutdown = state.shutdown.clone();
        // The handshake does not wait for it.
        let warming = Arc::clone(&relay);
        tokio::spawn(async move { warming.warm_up().await });
        let (input, output) = streams::standard();
        let serving = mcp::serve(input, output, state, settings, streams::unread);
        until_signal(&shutdown, Box::pin(serving)).await;
        relay.close().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// How agents are served: the profile that was named, else that of the environment.
pub(crate) fn settings(named: Option<Profile>) -> McpSettings {
    McpSettings {
        profile: named.unwrap_or_else(profile_from_env),
        ..McpSettings::default()
    }
}

/// A profile of the environment that does not exist is told, and is no reason to serve nobody:
/// other servers may read the same variable.
fn profile_from_env() -> Profile {
    let of = |name: &'static str| {
        let value = std::env::var(name).ok();
        value.filter(|value| !value.is_empty()).map(|v| (name, v))
    };
    let Some((name, value)) = of(vars::PILLION_TOOL_PROFILE).or_else(|| of(vars::MCP_TOOL_PROFILE))
    else {
        return Profile::default();
    };
    value.parse().unwrap_or_else(|error| {
        output::warn(&format!("{name}: {error}; the usual tools are served"));
        Profile::default()
    })
}

fn budget(text: &str) -> Result<usize, String> {
    const LEAST: usize = 1_000;
    match text.parse() {
        Ok(bytes) if bytes >= LEAST => Ok(bytes),
        _ => Err(format!("`{text}` is no number of bytes from {LEAST} on")),
    }
}
