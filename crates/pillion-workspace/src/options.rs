//! How a workspace is kept.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use pillion_protocol::vars;

/// More files are refused.
const MAX_FILES: usize = 500_000;
/// How long until watching is tried again after a limit was reached.
const RETRY: Duration = Duration::from_secs(60);

/// How a workspace is kept.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    /// Whether the kernel may be asked to tell of changes; else everything is looked at
    /// before each read. `PILLION_WATCH=off` overrules it.
    pub watch: bool,
    /// More files are refused.
    pub max_files: usize,
    /// More is not watched.
    pub max_watches: usize,
    /// How long until watching is tried again after a limit was reached.
    pub retry: Duration,
    /// A file with rules instead of git's global excludes.
    pub global_excludes: Option<PathBuf>,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            watch: true,
            max_files: MAX_FILES,
            max_watches: usize::MAX,
            retry: RETRY,
            global_excludes: None,
        }
    }
}

impl WorkspaceOptions {
    /// Why nothing is to be watched, given the value of `PILLION_WATCH`.
    pub(crate) fn unwatched(&self, variable: Option<&OsStr>) -> Option<String> {
        if variable.is_some_and(|value| value == "off") {
            return Some(format!("{}=off", vars::PILLION_WATCH));
        }
        (!self.watch).then(|| "it was asked for".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_overrules() {
        let why = |watch, variable: Option<&str>| {
            let options = WorkspaceOptions {
                watch,
                ..WorkspaceOptions::default()
            };
            options.unwatched(variable.map(AsRef::as_ref))
        };
        assert_eq!(why(true, None), None);
        assert_eq!(why(true, Some("on")), None);
        assert_eq!(why(true, Some("off")).as_deref(), Some("PILLION_WATCH=off"));
        assert_eq!(why(false, None).as_deref(), Some("it was asked for"));
    }
}
