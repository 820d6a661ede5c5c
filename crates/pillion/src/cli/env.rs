//! `pillion env`: the managed environment that pillion's own tools live in.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use pillion::Result;
use pillion_runtime::Managed;
use pillion_runtime::managed::EnvironmentState;
use pillion_terminal::{Spinner, tools};

use super::caller::from_here;
use super::{Global, output};

/// Show or rebuild the managed Python environment.
#[derive(Debug, Args)]
pub(crate) struct Env {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Where it is and in what state.
    Show,
    /// Build it if it is not there.
    Ensure,
    /// Build it anew.
    Rebuild,
    /// Fetch all wheels that pillion may install on this Python, for machines without a
    /// network: PILLION_WHEELS names the folder there.
    Vendor {
        /// The folder that they are put into.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

impl Env {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let managed = tools::managed().await?;
        match self.action.unwrap_or(Action::Show) {
            Action::Show => show(&managed, global.json),
            Action::Ensure => {
                tools::ensure(&managed).await?;
                show(&managed, global.json);
            }
            Action::Rebuild => {
                let spinner = Spinner::start();
                let built = managed.rebuild(&spinner).await;
                spinner.0.finish_and_clear();
                built.map_err(|error| tools::failed(&error))?;
                show(&managed, global.json);
            }
            Action::Vendor { out } => vendor(&managed, &from_here(&out), global.json).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn vendor(managed: &Managed, out: &Path, json: bool) -> Result<()> {
    let spinner = Spinner::start();
    let fetched = managed.vendor(out, &spinner).await;
    spinner.0.finish_and_clear();
    fetched.map_err(|error| tools::failed(&error))?;
    let wheels = out.read_dir().into_iter().flatten().flatten().count();
    if json {
        let value = serde_json::json!({ "path": out, "wheels": wheels });
        output::say_json(&value.to_string());
    } else {
        let out = out.display();
        output::say(&format!(
            "{wheels} wheels are in {out}\nwith `PILLION_WHEELS={out}` no network is needed"
        ));
    }
    Ok(())
}

fn show(managed: &Managed, json: bool) {
    let state = managed.state();
    if json {
        let value = serde_json::json!({ "path": managed.path(), "state": state });
        return output::say_json(&value.to_string());
    }
    let words = match state {
        EnvironmentState::Absent => "not built yet; `pillion env ensure` builds it".to_owned(),
        EnvironmentState::Incomplete => {
            "half built; `pillion env rebuild` builds it anew".to_owned()
        }
        EnvironmentState::Ready {
            interpreter,
            built_with,
        } => {
            format!(
                "ready: Python {}, built with {built_with}",
                interpreter.version
            )
        }
        EnvironmentState::Broken { reason } => {
            format!("broken: {reason}; `pillion env rebuild` builds it anew")
        }
    };
    output::say(&format!("{}\n{words}", managed.path().display()));
}
