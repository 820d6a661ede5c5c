//! `pillion.toml`: what a project wants from pillion. Every key is in these structs, and
//! the reference page is made from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pillion_protocol::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file's name.
pub const FILE: &str = "pillion.toml";

/// A project's configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Python workers.
    pub python: Python,
    /// Code intelligence.
    pub code: CodeConfig,
    /// Running code of others.
    pub lanes: Lanes,
    /// Notebooks and their kernels, which live behind the walls of the user lane.
    pub notebook: NotebookConfig,
    /// Foreign sidecars by name: programs of yours that speak the line-JSON contract.
    pub sidecar: BTreeMap<String, Foreign>,
}

/// How Python workers of this project run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Python {
    /// The interpreter, relative to this file.
    pub interpreter: Option<PathBuf>,
    /// How many workers may run side by side.
    pub workers: usize,
    /// Folders to import from, relative to this file, beside the root and `src`.
    pub path: Vec<PathBuf>,
    /// Modules that a worker imports before it says that it is ready.
    pub preload: Vec<String>,
    /// Seconds that a call may take unless it says otherwise.
    pub timeout_s: f64,
    /// Resident megabytes at which a worker is asked to drop its caches.
    pub memory_soft_mb: u64,
    /// Resident megabytes at which a worker is restarted.
    pub memory_hard_mb: u64,
    /// Minutes without a call after which workers end.
    pub idle_minutes: f64,
    /// Calls that may wait for a worker before callers get `busy`.
    pub queue: usize,
    /// Variables of the caller's environment that workers get besides the usual ones.
    pub pass_env: Vec<String>,
    /// Variables that workers get with these values.
    pub env: BTreeMap<String, String>,
}

impl Default for Python {
    fn default() -> Self {
        Self {
            interpreter: None,
            workers: 1,
            path: Vec::new(),
            preload: Vec::new(),
            timeout_s: 60.0,
            memory_soft_mb: 1024,
            memory_hard_mb: 4096,
            idle_minutes: 30.0,
            queue: 256,
            pass_env: Vec::new(),
            env: BTreeMap::new(),
        }
    }
}

/// Who answers questions about code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// ty: fast, and right about typed code.
    #[default]
    Ty,
    /// Jedi: slower, and guesses more about untyped code.
    Jedi,
    /// basedpyright, if the project's environment has it.
    Basedpyright,
}

impl EngineChoice {
    /// As it is written in `pillion.toml` and shown in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ty => "ty",
            Self::Jedi => "jedi",
            Self::Basedpyright => "basedpyright",
        }
    }
}

/// How questions about code are answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodeConfig {
    /// Who answers: `ty`, `jedi` or `basedpyright`.
    pub engine: EngineChoice,
    /// An engine that is asked where the first one finds nothing; its answers say so.
    pub fallback: Option<EngineChoice>,
    /// Seconds that a question may take unless it says otherwise.
    pub timeout_s: f64,
    /// Resident megabytes above which an engine is restarted once nobody waits for it.
    pub memory_soft_mb: u64,
    /// Resident megabytes at which an engine is restarted at once.
    pub memory_hard_mb: u64,
    /// Minutes without a question after which engines end.
    pub idle_minutes: f64,
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self {
            engine: EngineChoice::Ty,
            fallback: None,
            timeout_s: 60.0,
            memory_soft_mb: 500,
            memory_hard_mb: 3072,
            idle_minutes: 30.0,
        }
    }
}

/// The lanes that code of others runs in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lanes {
    /// Strict: a folder that is thrown away, no network, only tools that were given.
    pub expert: LaneConfig,
    /// A session's own folder, and the system's programs.
    pub user: LaneConfig,
}

/// The rules of a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LaneConfig {
    /// Modules that are imported ahead, once for all runs.
    pub imports: Vec<String>,
    /// Interpreters that wait for the next run, confined already.
    pub slots: usize,
    /// Minutes without a run after which they end, with all that was imported ahead.
    pub idle_minutes: f64,
    /// Seconds that a run may take unless it says otherwise.
    pub timeout_s: f64,
    /// Megabytes that all processes of a run may use together.
    pub memory_mb: u64,
    /// Processes and threads of a run.
    pub processes: u32,
    /// Files that each of its processes may have open.
    pub open_files: u64,
    /// Megabytes in its folder.
    pub disk_mb: u64,
    /// Files and folders in a folder that is thrown away; ten times as many in one that stays.
    pub disk_files: u64,
    /// Kilobytes that a run may write to its output before it is stopped.
    pub output_kb: u64,
    /// The network can be reached; in the user lane only.
    pub network: bool,
    /// Run also where nothing but limits can be enforced.
    pub allow_weaker: bool,
}

impl Default for LaneConfig {
    fn default() -> Self {
        Self {
            imports: Vec::new(),
            slots: 4,
            idle_minutes: 5.0,
            timeout_s: 20.0,
            memory_mb: 512,
            processes: 64,
            open_files: 256,
            disk_mb: 128,
            disk_files: 10_000,
            output_kb: 16_384,
            network: false,
            allow_weaker: false,
        }
    }
}

/// How notebooks run. What their kernels may use up is said under `[lanes.user]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NotebookConfig {
    /// Seconds that a cell may take unless it says otherwise; without it, as long as it likes.
    pub timeout_s: Option<f64>,
    /// Minutes without a cell after which a kernel ends, and what it knew is lost.
    pub idle_minutes: f64,
    /// Keep a kernel that has started already, for the next session that wants one.
    pub spare: bool,
    /// Let JupyterLab debug cells. Kernels start more slowly with it, and weigh more.
    pub debugger: bool,
}

impl Default for NotebookConfig {
    fn default() -> Self {
        Self {
            timeout_s: None,
            idle_minutes: 60.0,
            spare: true,
            debugger: false,
        }
    }
}

impl LaneConfig {
    /// Settings that open more than a lane has by itself. Less is always fine.
    fn demands(&self, lane: &str) -> Vec<String> {
        let usual = Self::default();
        let wants = [
            ("imports", !self.imports.is_empty()),
            ("slots", self.slots > usual.slots),
            ("idle_minutes", self.idle_minutes > usual.idle_minutes),
            ("timeout_s", self.timeout_s > usual.timeout_s),
            ("memory_mb", self.memory_mb > usual.memory_mb),
            ("processes", self.processes > usual.processes),
            ("open_files", self.open_files > usual.open_files),
            ("disk_mb", self.disk_mb > usual.disk_mb),
            ("disk_files", self.disk_files > usual.disk_files),
            ("output_kb", self.output_kb > usual.output_kb),
            ("network", self.network),
            ("allow_weaker", self.allow_weaker),
        ];
        let wanted = wants.into_iter().filter(|(_, wanted)| *wanted);
        wanted
            .map(|(key, _)| format!("lanes.{lane}.{key}"))
            .collect()
    }

    fn check(&self, name: &str) -> Result<(), String> {
        let ranges = [
            ("slots", self.slots as u64, 0..=64),
            ("memory_mb", self.memory_mb, 64..=16_384),
            ("processes", u64::from(self.processes), 1..=4096),
            ("open_files", self.open_files, 16..=65_536),
            ("disk_mb", self.disk_mb, 1..=65_536),
            ("disk_files", self.disk_files, 16..=10_000_000),
            ("output_kb", self.output_kb, 1..=1_048_576),
        ];
        for (key, value, range) in ranges {
            if !range.contains(&value) {
                let (least, most) = (range.start(), range.end());
                return Err(format!(
                    "`lanes.{name}.{key}` must be from {least} to {most}"
                ));
            }
        }
        Ok(())
    }
}

/// A program of yours that speaks the line-JSON contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder it starts in, relative to this file.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Seconds that a request may take unless it says otherwise.
    #[serde(default = "sixty")]
    pub timeout_s: f64,
    /// Seconds until its ready line must have come.
    #[serde(default = "twenty")]
    pub ready_s: f64,
    /// Commands that may be sent again after a crash.
    #[serde(default)]
    pub safe_commands: Vec<String>,
    /// Resident megabytes at which it is restarted.
    #[serde(default)]
    pub memory_hard_mb: Option<u64>,
    /// Variables of the caller's environment that it gets besides the usual ones.
    #[serde(default)]
    pub pass_env: Vec<String>,
}

fn sixty() -> f64 {
    60.0
}

fn twenty() -> f64 {
    20.0
}

impl Lanes {
    /// Settings that open more than lanes have by themselves.
    pub fn demands(&self) -> Vec<String> {
        let mut all = self.expert.demands("expert");
        all.extend(self.user.demands("user"));
        all
    }
}

impl Python {
    /// Settings by which workers run another program or get what others do not. `named` says
    /// that the caller names the interpreter himself.
    pub fn demands(&self, named: bool) -> Vec<String> {
        let wants = [
            ("interpreter", self.interpreter.is_some() && !named),
            ("pass_env", !self.pass_env.is_empty()),
        ];
        let wanted = wants.into_iter().filter(|(_, wanted)| *wanted);
        wanted.map(|(key, _)| format!("python.{key}")).collect()
    }
}

impl CodeConfig {
    /// Engines that run the project's own Python, or are in its environment.
    pub fn demands(&self) -> Vec<String> {
        let own = |engine: EngineChoice| engine != EngineChoice::Ty;
        let wants = [
            ("engine", own(self.engine)),
            ("fallback", self.fallback.is_some_and(own)),
        ];
        let wanted = wants.into_iter().filter(|(_, wanted)| *wanted);
        wanted.map(|(key, _)| format!("code.{key}")).collect()
    }
}

impl Config {
    /// Everything in it that only a folder gets that its user trusts: what would run programs
    /// of its own, or open walls.
    pub fn demands(&self) -> Vec<String> {
        let mut all = self.python.demands(false);
        all.extend(self.code.demands());
        all.extend(self.lanes.demands());
        all.extend(self.sidecar.keys().map(|name| format!("sidecar.{name}")));
        all
    }

    /// The configuration of the project at `root`; the default where there is no file.
    pub fn read(root: &Path) -> Result<Self> {
        Self::read_text(root).map(|(config, _)| config)
    }

    /// The configuration of the project at `root`, and the text that says so, if there is one.
    pub fn read_text(root: &Path) -> Result<(Self, Option<String>)> {
        let path = root.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((Self::default(), None));
            }
            Err(error) => return Err(invalid(&path, error)),
        };
        let config: Self = toml::from_str(&text).map_err(|error| invalid(&path, error))?;
        let config = config.checked().map_err(|what| invalid(&path, what))?;
        Ok((config, Some(text)))
    }

    fn checked(self) -> Result<Self, String> {
        let python = &self.python;
        if !(1..=64).contains(&python.workers) {
            return Err("`python.workers` must be from 1 to 64".into());
        }
        if !(1..=10_000).contains(&python.queue) {
            return Err("`python.queue` must be from 1 to 10000".into());
        }
        let times = self.sidecar.values().flat_map(|s| [s.timeout_s, s.ready_s]);
        let own = [
            python.timeout_s,
            python.idle_minutes,
            self.code.timeout_s,
            self.code.idle_minutes,
            self.lanes.expert.timeout_s,
            self.lanes.expert.idle_minutes,
            self.lanes.user.idle_minutes,
            self.lanes.user.timeout_s,
        ];
        for seconds in times.chain(own) {
            if !(seconds > 0.0 && seconds <= 604_800.0) {
                return Err(format!("`{seconds}` is no sensible time"));
            }
        }
        self.lanes.expert.check("expert")?;
        self.lanes.user.check("user")?;
        if self.lanes.expert.network {
            return Err("the expert lane has no network: `lanes.expert.network`".into());
        }
        for (name, sidecar) in &self.sidecar {
            if sidecar.command.is_empty() {
                return Err(format!("`sidecar.{name}.command` is empty"));
            }
        }
        Ok(self)
    }
}

fn invalid(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::new(
        Code::InvalidConfig,
        format!("`{}` cannot be used: {what}", path.display()),
    )
    .hint("`pillion reference configuration` lists every key")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config> {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(FILE), text).unwrap();
        Config::read(temp.path())
    }

    #[test]
    fn no_file_is_the_default() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(Config::read(temp.path()).unwrap(), Config::default());
        assert_eq!(read("").unwrap(), Config::default());
    }

    #[test]
    fn keys_are_read() {
        let config = read(
            "[python]\nworkers = 4\npass_env = ['HF_TOKEN']\n[sidecar.map]\ncommand = ['python3', '-u']\n",
        )
        .unwrap();
        assert_eq!(config.python.workers, 4);
        assert_eq!(config.sidecar["map"].command, ["python3", "-u"]);
        assert_eq!(config.sidecar["map"].timeout_s, 60.0);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("[pyton]\n", "pyton"),
            ("[python]\nworkers = 0", "workers"),
            ("[python]\ntimeout_s = -1", "-1"),
            ("[sidecar.x]\ncommand = []", "sidecar.x.command"),
            ("workers", "expected"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code, Code::InvalidConfig);
            assert!(error.message.contains(word), "{}", error.message);
        }
    }
}
