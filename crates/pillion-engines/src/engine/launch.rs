//! How an engine is started.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_runtime::managed::ProgressListener;
use pillion_runtime::{Interpreter, Managed};
use pillion_supervisor::{Dialect, Opening, SidecarKind, SidecarLimits, SidecarSpec};
use serde_json::{Value, json};

use super::uri;

/// Which language server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// ty, from the managed environment.
    Ty,
    /// basedpyright, from the project's environment or `PATH`.
    Basedpyright,
}

impl ServerKind {
    /// Its name in status and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ty => "ty",
            Self::Basedpyright => "basedpyright",
        }
    }

    /// Whether it answers about files that it was not given as documents. One that does not
    /// says nothing about others, or not all, and does not say that it does not know.
    pub fn reads_files(self) -> bool {
        self == Self::Ty
    }
}

/// What an engine is made of.
#[derive(Debug, Clone)]
pub struct Make {
    /// Which one.
    pub engine: ServerKind,
    /// Its program; see [`ty_program`] and [`basedpyright_program`].
    pub program: PathBuf,
    /// The root folder of what it is asked about.
    pub root: PathBuf,
    /// The project's Python, whose packages it looks into. Configuration of the project's
    /// own that names another one wins.
    pub python: Option<Interpreter>,
    /// Where it may keep what it can make again: ty unpacks the standard library's stubs
    /// below it, and definitions point there. If it cannot be written, ty finds no
    /// definitions of builtins.
    pub cache: PathBuf,
    /// What it may use; see [`limits`].
    pub limits: SidecarLimits,
}

/// What an engine may use.
pub fn limits(
    memory_soft: Option<u64>,
    memory_hard: Option<u64>,
    idle: Option<Duration>,
) -> SidecarLimits {
    SidecarLimits {
        hello: Duration::from_secs(60),
        // Only one that is silent for so long is stuck: it may be at work on others.
        grace: Duration::from_secs(30),
        in_flight: 16,
        memory_soft,
        memory_hard,
        idle,
        ..SidecarLimits::default()
    }
}

/// ty, after building or repairing the managed environment if need be.
pub async fn ty_program(managed: &Managed, progress: &dyn ProgressListener) -> Result<PathBuf> {
    let python = managed
        .ensure(progress)
        .await
        .map_err(|error| Error::new(Code::StartFailed, error.to_string()).hint(error.hint()))?;
    let program = below(&python.prefix, "ty");
    if program.is_file() {
        return Ok(program);
    }
    let what = format!("there is no `{}`", program.display());
    Err(Error::new(Code::StartFailed, what).hint("`pillion env rebuild` builds it anew"))
}

/// basedpyright from the environment of `python`, or from `search_path`.
pub fn basedpyright_program(
    python: Option<&Interpreter>,
    search_path: &std::ffi::OsStr,
) -> Result<PathBuf> {
    const NAME: &str = "basedpyright-langserver";
    let own = python.map(|python| below(&python.prefix, NAME));
    let on_path = std::env::split_paths(search_path).map(|folder| folder.join(NAME));
    let mut all = own.into_iter().chain(on_path);
    all.find(|program| program.is_file()).ok_or_else(|| {
        Error::new(Code::StartFailed, format!("there is no `{NAME}`"))
            .hint("install `basedpyright` into the project's environment")
    })
}

fn below(environment: &Path, program: &str) -> PathBuf {
    environment.join("bin").join(program)
}

impl Make {
    /// What the supervisor needs to know.
    pub fn spec(&self, opening: Arc<dyn Opening>) -> SidecarSpec {
        let make = self.clone();
        SidecarSpec {
            name: self.engine.name().into(),
            kind: SidecarKind::Engine,
            workspace: self.root.clone(),
            dialect: Dialect::Lsp,
            limits: self.limits.clone(),
            launch: Arc::new(move || Ok(make.launch().into())),
            opening: Some(opening),
        }
    }

    fn launch(&self) -> Launch {
        let launch = Launch::new(&self.program).cwd(&self.root);
        match self.engine {
            ServerKind::Ty => launch
                .arg("server")
                .env("XDG_CACHE_HOME", &self.cache)
                .read_only([self.cache.clone()]),
            ServerKind::Basedpyright => launch.arg("--stdio"),
        }
    }

    /// The settings that an editor would have, by section.
    pub fn settings(&self) -> Value {
        let python = self.python.as_ref();
        match self.engine {
            // `pythonExtension` is what ty falls back on where the project does not name a
            // Python itself. `configuration.environment.python` would overrule the project.
            // Diagnostics are pulled, so `workspace` checks nothing by itself; without it
            // files that are not open have none.
            ServerKind::Ty => json!({ "ty": {
                "diagnosticMode": "workspace",
                // What is not imported is no name yet, and to look for it takes seconds.
                "completions": { "autoImport": false },
                "pythonExtension": python.map(|python| json!({ "activeEnvironment": {
                    "executable": {
                        "uri": uri::from_path(&python.executable),
                        "sysPrefix": python.prefix,
                    },
                }})),
            }}),
            ServerKind::Basedpyright => {
                let analysis = json!({ "diagnosticMode": "openFilesOnly" });
                json!({
                    "python": { "pythonPath": python.map(|python| &python.executable) },
                    "basedpyright": { "analysis": analysis },
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_with_what_to_do() {
        let nowhere = tempfile::tempdir().unwrap();
        let error = basedpyright_program(None, nowhere.path().as_os_str()).unwrap_err();
        assert_eq!(error.code, Code::StartFailed);
        assert!(error.hint.unwrap().contains("install"));
    }
}
