//! `pillion env`: the managed environment that pillion's own tools live in.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use pillion::{Code, Error, Result};
use pillion_process::Launch;
use pillion_runtime::managed::{ManagedError, Progress, State};
use pillion_runtime::{Dirs, Interpreter, Managed};

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
        let managed = managed().await?;
        match self.action.unwrap_or(Action::Show) {
            Action::Show => show(&managed, global.json),
            Action::Ensure => {
                ensure(&managed).await?;
                show(&managed, global.json);
            }
            Action::Rebuild => {
                let bar = Bar::new();
                let built = managed.rebuild(&bar).await;
                bar.0.finish_and_clear();
                built.map_err(|error| failed(&error))?;
                show(&managed, global.json);
            }
            Action::Vendor { out } => vendor(&managed, &from_here(&out), global.json).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn vendor(managed: &Managed, out: &Path, json: bool) -> Result<()> {
    let bar = Bar::new();
    let fetched = managed.vendor(out, &bar).await;
    bar.0.finish_and_clear();
    fetched.map_err(|error| failed(&error))?;
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

/// The managed environment on the Python that this machine has.
pub(crate) async fn managed() -> Result<Managed> {
    Managed::of_machine(&Dirs::from_env())
        .await
        .map_err(|error| Error::new(Code::PythonNotFound, error.to_string()).hint(error.hint()))
}

/// Build it if need be, with a progress bar.
pub(crate) async fn ensure(managed: &Managed) -> Result<Interpreter> {
    let bar = Bar::new();
    let mut built = managed.ensure(&bar).await;
    if built.as_ref().is_err_and(ManagedError::lacks_venv) && install_venv(&bar).await {
        built = managed.ensure(&bar).await;
    }
    bar.0.finish_and_clear();
    built.map_err(|error| failed(&error))
}

/// Debian packs Python's `venv` apart. Where we may install it, we do.
async fn install_venv(bar: &Bar) -> bool {
    if pillion_process::effective_uid() != 0 {
        return false;
    }
    bar.step("installing python3-venv");
    let apt = |words: &'static [&'static str]| {
        let launch = Launch::new("apt-get")
            .args(words)
            .env("DEBIAN_FRONTEND", "noninteractive");
        launch.output(Duration::from_secs(300))
    };
    let _ = apt(&["update", "-qq"]).await;
    apt(&["install", "-y", "-qq", "python3-venv"])
        .await
        .is_ok_and(|done| done.exit.success())
}

fn failed(error: &ManagedError) -> Error {
    Error::new(Code::StartFailed, error.to_string()).hint(error.hint())
}

fn show(managed: &Managed, json: bool) {
    let state = managed.state();
    if json {
        let value = serde_json::json!({ "path": managed.path(), "state": state });
        return output::say_json(&value.to_string());
    }
    let words = match state {
        State::Absent => "not built yet; `pillion env ensure` builds it".to_owned(),
        State::Incomplete => "half built; `pillion env rebuild` builds it anew".to_owned(),
        State::Ready {
            interpreter,
            built_with,
        } => {
            format!(
                "ready: Python {}, built with {built_with}",
                interpreter.version
            )
        }
        State::Broken { reason } => {
            format!("broken: {reason}; `pillion env rebuild` builds it anew")
        }
    };
    output::say(&format!("{}\n{words}", managed.path().display()));
}

/// What is being done, as a spinner on terminals and as lines elsewhere.
pub(crate) struct Bar(pub(crate) ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }
}

impl Progress for Bar {
    fn step(&self, message: &str) {
        if self.0.is_hidden() {
            output::note(message);
        }
        self.0.set_message(message.to_owned());
    }
}
