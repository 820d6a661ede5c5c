//! `pillion doctor`.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pillion::{Error, Result};
use pillion_client::Client;
use pillion_process::environment;
use pillion_protocol::vars;
use pillion_runtime::Dirs;
use pillion_runtime::discovery::DiscoveryRequest;
use pillion_runtime::doctor::{self, DoctorReport, Verdict};
use pillion_runtime::trust::{self, TrustRecords};
use pillion_workspace::{Config, config, root};
use serde::Serialize;

use super::caller::from_here;
use super::output::{paint, say};
use super::{Global, output};

/// Say which Python is used and why, what is wrong and what to do.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The project's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// The interpreter, as for `pillion call`.
    #[arg(long, env = vars::PILLION_PYTHON, hide_env_values = true, value_name = "PYTHON")]
    python: Option<PathBuf>,
}

impl Doctor {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let root = root::find(&from_here(&self.root))?;
        let config = Config::read(&root);
        let variable = |name| {
            std::env::var_os(name)
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        };
        let (virtual_env, conda) = (variable(vars::VIRTUAL_ENV), variable(vars::CONDA_PREFIX));
        let configured = config
            .as_ref()
            .ok()
            .and_then(|config| config.python.interpreter.as_deref());
        let dirs = Dirs::from_env();
        let is_trusted = TrustRecords::new(&dirs).holds(&root, &root.join(config::FILE));
        let request = DiscoveryRequest {
            walled: !is_trusted,
            explicit: self.python.as_deref(),
            configured,
            virtual_env: virtual_env.as_deref(),
            conda_prefix: conda.as_deref(),
            ..DiscoveryRequest::new(&root)
        };
        let mut report = doctor::report(request, &dirs).await;
        if let Err(error) = &config {
            report.problems.push(doctor::DoctorProblem {
                what: error.message.clone(),
                hint: error.hint.clone().unwrap_or_default(),
            });
        }
        let demands = config.as_ref().map(Config::demands).unwrap_or_default();
        if !is_trusted && !demands.is_empty() {
            let error = trust::refused(&root, &demands);
            report.problems.push(doctor::DoctorProblem {
                what: error.message,
                hint: error.hint.unwrap_or_default(),
            });
        }
        let daemon = Daemon::ask(global).await.to_string();
        let passed = config
            .as_ref()
            .map(|config| config.python.pass_env.as_slice());
        let held_back = environment::held_back(&environment::own(), passed.unwrap_or_default());
        if global.json {
            let mut value = serde_json::to_value(&report).map_err(Error::internal)?;
            value["root"] = serde_json::json!(root);
            value["daemon"] = daemon.into();
            value["trusted"] = is_trusted.into();
            value["held_back"] = serde_json::json!(held_back);
            output::say_json(&value.to_string());
        } else {
            say(&format!("root      {}", root.display()));
            say(match is_trusted {
                true => "trust     you trust this folder",
                false => "trust     not said; see `pillion trust --help`",
            });
            show(&report);
            say(&format!("daemon    {daemon}"));
            show_held_back(&held_back);
            problems(&report.problems);
        }
        Ok(if report.problems.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(1)
        })
    }
}

fn show(report: &DoctorReport) {
    match (&report.choice, &report.why) {
        (Some(choice), Some(why)) => say(&format!(
            "python    {} ({}), because it is {why}",
            choice.interpreter.executable.display(),
            choice.interpreter.version
        )),
        _ => say("python    none that can be used"),
    }
    for candidate in &report.candidates {
        let verdict = match &candidate.verdict {
            Verdict::Chosen(_) => "chosen".to_owned(),
            Verdict::Usable(interpreter) => format!("usable ({})", interpreter.version),
            Verdict::Unusable { reason } => reason.lines().next().unwrap_or_default().to_owned(),
        };
        say(&format!("          - {}: {verdict}", candidate.why));
    }
    say(&format!("worker    {}", serde_text(&report.worker)));
    say(&format!("managed   {}", serde_text(&report.managed)));
    if let Some(kernel) = &report.kernel {
        let state = kernel.environment.as_ref();
        let state = state.map_or_else(String::new, |state| format!(" ({})", serde_text(state)));
        let path = kernel.path.display();
        say(&format!("ipykernel {path}{state}, because {}", kernel.why));
    }
    say(&format!(
        "uv        {}",
        report.uv.as_ref().map_or_else(
            || "not found; `python -m venv` is used".into(),
            |uv| uv.display().to_string()
        )
    ));
}

/// Names only: a value may be a credential.
fn show_held_back(names: &[String]) {
    if names.is_empty() {
        return;
    }
    say(&format!(
        "variables {} of yours are held back from workers: {}\n          \
         name those that your code needs in `pass_env` of `pillion.toml`",
        names.len(),
        names.join(", ")
    ));
}

/// The end of a report: what to look after, or that there is nothing.
pub(super) fn problems(problems: &[doctor::DoctorProblem]) {
    if problems.is_empty() {
        output::say_as_it_is(&paint("all is well", "32"));
        return;
    }
    for problem in problems {
        say(&format!(
            "\nproblem: {}\nhint: {}",
            problem.what, problem.hint
        ));
    }
}

/// A part of the report as one line.
fn serde_text(part: &impl Serialize) -> String {
    match serde_json::to_value(part) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(serde_json::Value::Object(map)) => {
            let words = map
                .iter()
                .filter(|(_, v)| v.is_string())
                .map(|(k, v)| format!("{k} {}", v.as_str().unwrap_or_default()));
            words.collect::<Vec<_>>().join(", ")
        }
        Ok(serde_json::Value::Null) => "none without a Python".into(),
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// How the daemon is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub(super) enum Daemon {
    /// It answers.
    Running {
        /// The version it is of.
        version: String,
        /// Where it listens.
        socket: PathBuf,
    },
    /// There is none.
    Absent,
    /// Something is there that does not do what a daemon does.
    Silent {
        /// What happened.
        why: String,
    },
}

impl Daemon {
    /// Look; none is started.
    pub(super) async fn ask(global: &Global) -> Self {
        let socket = global.endpoint().socket;
        let client = match Client::connect(&global.endpoint()).await {
            Ok(client) => client,
            Err(error) if error.code == pillion::Code::Unreachable => return Self::Absent,
            Err(error) => {
                let why = error.to_string();
                return Self::Silent { why };
            }
        };
        match client.version().await {
            Ok(version) => Self::Running {
                version: version.version,
                socket,
            },
            Err(error) => Self::Silent {
                why: format!("does not answer at {}: {error}", socket.display()),
            },
        }
    }

    /// What is wrong with it, for a program of this version.
    pub(super) fn problem(&self, ours: &str) -> Option<doctor::DoctorProblem> {
        let what = match self {
            Self::Absent => return None,
            Self::Running { version, .. } if version == ours => return None,
            Self::Running { version, .. } => {
                format!("the daemon is of version {version}, this program of {ours}")
            }
            Self::Silent { why } => format!("the daemon: {why}"),
        };
        Some(doctor::DoctorProblem {
            what,
            hint: "`pillion restart` starts one of this program".into(),
        })
    }
}

impl fmt::Display for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { version, socket } => {
                write!(f, "runs, version {version}, at {}", socket.display())
            }
            Self::Absent => f.write_str("not running; the first call starts it"),
            Self::Silent { why } => f.write_str(why),
        }
    }
}
