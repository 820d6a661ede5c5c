//! What a box is told, and what it says: the same for every system's walls.

use std::os::fd::RawFd;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::Level;
use crate::policy::Policy;

/// What a box is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxRole {
    /// One program, once.
    Program,
    /// A Jupyter kernel, which is asked on sockets of its own.
    Kernel,
    /// A Python that forks programs, each of which it confines itself.
    Zygote,
    /// Nothing: only to see whether it can be done.
    Trial,
}

/// What a box has to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) role: BoxRole,
    pub(crate) level: Level,
    pub(crate) policy: Policy,
    /// Who to become, where we are root.
    pub(crate) run_user: Option<u32>,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Where it starts.
    pub(crate) cwd: PathBuf,
    /// Descriptors of the program.
    pub(crate) keep: Vec<RawFd>,
    /// A folder that a zygote hands on, in parts, to its children.
    pub(crate) handed: Option<PathBuf>,
    /// Where a folder is named that was not known before.
    pub(crate) naming: RawFd,
    pub(crate) watch: WatchedLimits,
    pub(crate) outputs: OutputsSpec,
    /// Milliseconds between two looks.
    pub(crate) every_ms: u32,
}

/// What is brought back from the folder of a program.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OutputsSpec {
    /// Names or patterns, relative to the folder.
    pub names: Vec<String>,
    /// The most bytes, of all together.
    pub bytes: u64,
    /// The most files.
    pub files: u32,
}

/// What an init says on its control socket.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InitMessage {
    /// The program is confined, and on its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<u64>,
    /// It could not be confined: at which step, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// It ended with this code.
    pub exit: Option<i32>,
    /// It was ended by this signal.
    pub signal: Option<i32>,
    /// It was killed for passing a limit: `memory`, `processes` or `disk`.
    pub killed: Option<String>,
    /// Processor time of everything that ran.
    pub cpu_ms: f64,
    /// The most memory that was seen in use.
    pub peak_bytes: u64,
    /// The most processes and threads that were seen.
    pub processes: u32,
    /// Files that follow this message, one after the other.
    pub outputs: Vec<OutputFile>,
    /// Files that were asked for and do not follow.
    pub outputs_left_out: Vec<LeftOut>,
}

/// A file that is brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Its name in the folder.
    pub name: String,
    /// Its length.
    pub size: u64,
}

/// A file that is not brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name, or the pattern.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// What is watched.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub struct WatchedLimits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u32>,
    /// Bytes below a folder.
    pub disk: Option<Disk>,
}

/// A folder whose contents are watched.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Disk {
    /// The folder.
    pub path: PathBuf,
    /// Bytes that fit into it.
    pub bytes: u64,
    /// Names of files and folders that fit into it.
    pub files: u64,
    /// Bytes that were in it before the run.
    pub used: u64,
    /// Names that were in it before the run.
    pub named: u64,
    /// Bytes and files that were left of its file system before the run.
    pub left: (u64, u64),
    /// Its processes can send each other descriptors.
    pub sends: bool,
}

/// Which folder a program gets, as its owner says it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Named {
    /// Its name among the folders that were promised.
    pub folder: String,
    /// What it may hold.
    pub disk: Option<Disk>,
}

/// What came of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Settled {
    /// Why the program does not have its folder.
    pub failed: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_init_in_python_need_not_say_everything() {
        let said: InitMessage = serde_json::from_str(r#"{"exit": 3, "killed": "memory"}"#).unwrap();
        let expected = InitMessage {
            exit: Some(3),
            killed: Some("memory".to_owned()),
            ..InitMessage::default()
        };
        assert_eq!(said, expected);
        // Nothing said is neither a failure nor a beginning.
        let nothing: InitMessage = serde_json::from_str("{}").unwrap();
        assert_eq!((nothing.failed, nothing.ready), (None, None));
    }
}
