//! `pillion self check`: whether this installation is whole.
//!
//! What is known about Python comes from the doctor, who is asked as if from no project; this
//! adds the program, the tools that the managed environment has, the daemon and completions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use pillion::{Error, Result};
use pillion_process::Launch;
use pillion_runtime::Dirs;
use pillion_runtime::discovery::DiscoveryRequest;
use pillion_runtime::doctor::{self, DoctorProblem, DoctorReport};
use pillion_runtime::managed::EnvironmentState;
use serde::Serialize;

use super::share::COMPLETIONS;
use crate::cli::doctor::{Daemon, problems};
use crate::cli::{Global, output};

/// What pillion asks about code and formats it with; both are in the managed environment.
const TOOLS: [&str; 2] = ["ty", "ruff"];
/// A tool that says its version does so at once, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Where Debian's package has the completions of zsh.
const DEBIAN_ZSH: &str = "zsh/vendor-completions/_pillion";
/// Where systems keep what is shared by all programs, for programs that are elsewhere.
const SYSTEM: [&str; 2] = ["/usr/local/share", "/usr/share"];

/// What was found.
#[derive(Debug, Serialize)]
struct Checked {
    version: &'static str,
    platform: String,
    program: PathBuf,
    /// The `pillion` that a shell would start, if there is one.
    on_path: Option<PathBuf>,
    worker: Option<PathBuf>,
    python: Option<String>,
    /// The managed environment in words.
    tools: String,
    /// What each tool of it says about itself.
    tool_versions: Vec<String>,
    uv: Option<PathBuf>,
    daemon: Daemon,
    /// The completions of the caller's shell.
    completions: Option<PathBuf>,
    problems: Vec<DoctorProblem>,
}

pub(super) async fn run(global: &Global) -> Result<ExitCode> {
    let checked = look(global).await?;
    if global.json {
        let json = serde_json::to_string(&checked).map_err(Error::internal)?;
        output::say_json(&json);
    } else {
        checked.show();
    }
    Ok(ExitCode::from(u8::from(!checked.problems.is_empty())))
}

async fn look(global: &Global) -> Result<Checked> {
    let program = std::env::current_exe().map_err(Error::internal)?;
    let nowhere = std::env::temp_dir();
    let report = doctor::report(DiscoveryRequest::new(&nowhere), &Dirs::from_env()).await;
    let (tools, tool_versions, broken) = tools(&report).await;
    let daemon = Daemon::ask(global).await;
    let version = env!("CARGO_PKG_VERSION");
    let python = python(&report);
    let mut problems = report.problems;
    problems.extend(broken);
    problems.extend(daemon.problem(version));
    Ok(Checked {
        version,
        platform: platform(),
        on_path: on_path(),
        completions: completions(&program),
        program,
        worker: report.worker,
        python,
        tools,
        tool_versions,
        uv: report.uv,
        daemon,
        problems,
    })
}

fn python(report: &DoctorReport) -> Option<String> {
    let interpreter = &report.choice.as_ref()?.interpreter;
    let path = interpreter.executable.display();
    let why = report.why.as_deref().unwrap_or_default();
    Some(format!("{path} ({}), {why}", interpreter.version))
}

/// The managed environment in words, the versions of its tools, and what is wrong with them.
async fn tools(report: &DoctorReport) -> (String, Vec<String>, Vec<DoctorProblem>) {
    let (mut versions, mut problems) = (Vec::new(), Vec::new());
    let Some(managed) = &report.managed else {
        return ("none without a Python".into(), versions, problems);
    };
    let path = managed.path.display();
    match &managed.state {
        EnvironmentState::Ready { interpreter, .. } => {
            let folder = interpreter.executable.parent().unwrap_or(&managed.path);
            for tool in TOOLS {
                match said_version(&folder.join(tool)).await {
                    Ok(version) => versions.push(version),
                    Err(why) => problems.push(DoctorProblem {
                        what: format!("`{tool}` in `{path}` does not work: {why}"),
                        hint: "`pillion env rebuild` builds the environment anew".into(),
                    }),
                }
            }
            (path.to_string(), versions, problems)
        }
        EnvironmentState::Absent => {
            let words = "not built yet; whatever needs it builds it, or `pillion env ensure`";
            (words.into(), versions, problems)
        }
        // The doctor has told that it is a problem.
        EnvironmentState::Incomplete | EnvironmentState::Broken { .. } => {
            (path.to_string(), versions, problems)
        }
    }
}

async fn said_version(tool: &Path) -> Result<String, String> {
    let launch = Launch::new(tool).arg("--version");
    let done = launch
        .output(LIMIT)
        .await
        .map_err(|error| error.to_string())?;
    match done.exit.success() {
        true => Ok(done.stdout.trim().to_owned()),
        false => Err(done.exit.to_string()),
    }
}

/// What this program was built for, such as `x86_64-linux-gnu`.
fn platform() -> String {
    let library = if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "gnu") {
        "-gnu"
    } else {
        ""
    };
    let (machine, system) = (std::env::consts::ARCH, std::env::consts::OS);
    format!("{machine}-{system}{library}")
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("pillion"));
    programs.find(|program| program.is_file())
}

/// Where the shell of whoever asks finds our completions: beside the program, in their home, or
/// where the system keeps them.
fn completions(program: &Path) -> Option<PathBuf> {
    let shell = std::env::var("SHELL").ok()?;
    let shell = Path::new(&shell).file_name()?.to_str()?;
    let (_, place) = COMPLETIONS
        .iter()
        .find(|(known, _)| known.to_string() == shell)?;
    let prefix = program.parent().and_then(Path::parent);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/share"));
    let beside = prefix.map(|prefix| prefix.join("share"));
    let places = beside
        .into_iter()
        .chain(home)
        .chain(SYSTEM.map(PathBuf::from));
    let names = [Some(*place), (shell == "zsh").then_some(DEBIAN_ZSH)];
    let mut files = places.flat_map(|folder| {
        names
            .into_iter()
            .flatten()
            .map(move |name| folder.join(name))
    });
    files.find(|file| file.is_file())
}

impl Checked {
    fn show(&self) {
        let line = |name: &str, said: &str| output::say(&format!("{name:<11} {said}"));
        line("version", &format!("{} ({})", self.version, self.platform));
        line("program", &self.program.display().to_string());
        line("PATH", &self.described_path());
        let worker = self.worker.as_ref();
        let worker = worker.map(|worker| worker.display().to_string());
        line("worker", worker.as_deref().unwrap_or("not there"));
        let python = self.python.as_deref();
        line("python", python.unwrap_or("none that can be used"));
        line("tools", &self.tools);
        for version in &self.tool_versions {
            line("", version);
        }
        let uv = self.uv.as_ref().map(|uv| uv.display().to_string());
        line("uv", uv.as_deref().unwrap_or("fetched when it is needed"));
        line("daemon", &self.daemon.to_string());
        let completions = self.completions.as_ref();
        let completions = completions.map(|file| file.display().to_string());
        line(
            "completions",
            completions
                .as_deref()
                .unwrap_or("none; `pillion self share --out DIR` writes them"),
        );
        problems(&self.problems);
    }

    fn described_path(&self) -> String {
        let Some(found) = &self.on_path else {
            return "has no `pillion`".into();
        };
        // The launcher of the npm package is another file, which starts this one.
        match found.canonicalize().ok() == self.program.canonicalize().ok() {
            true => "leads here".into(),
            false => format!("leads to {}", found.display()),
        }
    }
}
