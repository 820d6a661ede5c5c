//! What can go wrong with the managed environment, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::ProbeError;
use crate::dirs::DirsError;

/// Why there is no managed environment.
#[derive(Debug, thiserror::Error)]
pub enum ManagedError {
    /// There is no folder for it.
    #[error(transparent)]
    Dirs(#[from] DirsError),
    /// A file or folder of it could not be handled.
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// What was to be done, such as `remove`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has been building it for too long.
    #[error("another process is still building the environment in `{path}`")]
    Busy {
        /// The environment.
        path: PathBuf,
    },
    /// Every way to build it failed.
    #[error("the managed environment could not be built{}", listed(attempts))]
    Build {
        /// All ways tried, in order.
        attempts: Vec<Attempt>,
        /// The folder of wheels that it was to be built from, instead of an index.
        wheels: Option<PathBuf>,
    },
    /// The wheels that it is built from could not be fetched.
    #[error("the wheels could not be fetched\n  {attempt}")]
    Fetch {
        /// What was tried.
        attempt: Attempt,
    },
    /// It was built, and its Python does not work.
    #[error("the managed environment was built and does not work: {0}")]
    Probe(#[from] ProbeError),
}

/// One way to build the environment that did not work.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// What was done, such as `install with uv`.
    pub what: String,
    /// How the tool ended, in words.
    pub how: String,
    /// The end of what it wrote.
    pub output: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.how)?;
        self.output
            .lines()
            .try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl Attempt {
    /// What to do, where the cause is the disk, its permissions or the network, and not what the
    /// tool was asked for.
    pub fn hint_from_outside(&self) -> Option<&'static str> {
        let hint = diagnose(&self.output);
        [DISK_FULL, PERMISSION, OFFLINE]
            .contains(&hint)
            .then_some(hint)
    }
}

fn listed(attempts: &[Attempt]) -> String {
    attempts
        .iter()
        .map(|attempt| format!("\n  {attempt}"))
        .collect()
}

impl ManagedError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// Whether the Python lacks its `venv` module, which Debian packs apart.
    pub fn lacks_venv(&self) -> bool {
        matches!(self, Self::Build { .. }) && self.hint() == NO_VENV
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Dirs(error) => error.hint(),
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DISK_FULL.into(),
                _ => PERMISSION.into(),
            },
            Self::Busy { .. } => "wait for it to finish, or end that process".into(),
            Self::Build { attempts, wheels } => {
                let said: String = attempts.iter().map(ToString::to_string).collect();
                match (diagnose(&said), wheels) {
                    (NO_WHEEL | OFFLINE, Some(wheels)) => lacking(wheels),
                    (hint, _) => hint.into(),
                }
            }
            Self::Fetch { attempt } => diagnose(&attempt.to_string()).into(),
            Self::Probe(error) => error.hint(),
        }
    }
}

/// What to do about a folder of wheels that is not enough.
fn lacking(wheels: &Path) -> String {
    format!(
        "`{}` lacks what this Python needs: fill it with `pillion env vendor --out DIR`, of the \
         same release and with the same Python and platform, where there is a network",
        wheels.display()
    )
}

const DISK_FULL: &str = "the disk is full: make room, or set `PILLION_HOME` to a folder elsewhere";
const PERMISSION: &str = "set `PILLION_HOME` to a folder that you can write";
const OFFLINE: &str = "the package index cannot be reached: check the network and proxy settings, \
    or name a mirror with `UV_DEFAULT_INDEX` and `PIP_INDEX_URL`";
const NO_VENV: &str = "this Python cannot make environments: install its `venv` module (on Debian \
    and Ubuntu `apt install python3-venv`), or install uv";
const HASH: &str = "a downloaded file is not the one pillion was released with: the index or a \
    proxy serves something else; try another index";
const NO_WHEEL: &str = "the index has no fitting package for this Python and platform: try another \
    Python with `--python PATH`";
const UNKNOWN: &str = "read the tool's words above; when the cause is gone, try again";

/// Words that tools say, and what they mean for the person in front of them. The order
/// counts: a full disk also makes downloads fail.
const DIAGNOSES: &[(&[&str], &str)] = &[
    (
        &[
            "no space left on device",
            "os error 28",
            "disk quota exceeded",
        ],
        DISK_FULL,
    ),
    (
        &[
            "permission denied",
            "read-only file system",
            "os error 13",
            "os error 30",
        ],
        PERMISSION,
    ),
    (&["do not match the hashes", "hash mismatch"], HASH),
    (
        &[
            "name resolution",
            "name or service not known",
            "dns error",
            "error sending request",
            "failed to fetch",
            "failed to establish a new connection",
            "connection refused",
            "network is unreachable",
            "proxyerror",
            "timed out",
            "client error (connect)",
            "network connectivity is disabled",
            "certificate",
        ],
        OFFLINE,
    ),
    (
        &[
            "ensurepip",
            "no module named venv",
            "no module named pip",
            "no module named 'venv'",
        ],
        NO_VENV,
    ),
    (
        &[
            "no matching distribution",
            "could not find a version",
            "no solution found",
            "not found in the provided package locations",
        ],
        NO_WHEEL,
    ),
];

fn diagnose(said: &str) -> &'static str {
    let said = said.to_lowercase();
    DIAGNOSES
        .iter()
        .find(|(words, _)| words.iter().any(|word| said.contains(word)))
        .map_or(UNKNOWN, |(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_tools_lead_to_a_hint() {
        for (said, hint) in [
            ("OSError: [Errno 28] No space left on device", DISK_FULL),
            (
                "error: failed to create directory: Read-only file system (os error 30)",
                PERMISSION,
            ),
            (
                "The virtual environment was not created because ensurepip is not available",
                NO_VENV,
            ),
            ("/usr/bin/python3: No module named venv", NO_VENV),
            (
                "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
                OFFLINE,
            ),
            ("error: Request failed\n  Caused by: dns error", OFFLINE),
            (
                "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE",
                HASH,
            ),
            (
                "ERROR: No matching distribution found for numpy==2.4.6",
                NO_WHEEL,
            ),
            ("Segmentation fault", UNKNOWN),
        ] {
            assert_eq!(diagnose(said), hint, "{said}");
        }
    }

    #[test]
    fn an_error_shows_every_attempt_and_the_tools_words() {
        let attempt = |what: &str| Attempt {
            what: what.into(),
            how: "exited with code 2".into(),
            output: "dns error\nno luck".into(),
        };
        let error = ManagedError::Build {
            attempts: vec![attempt("install with uv"), attempt("install with pip")],
            wheels: None,
        };
        assert_eq!(
            error.to_string(),
            "the managed environment could not be built\
             \n  install with uv: exited with code 2\n    dns error\n    no luck\
             \n  install with pip: exited with code 2\n    dns error\n    no luck"
        );
        assert_eq!(error.hint(), OFFLINE);
        let ManagedError::Build { attempts, .. } = error else {
            unreachable!()
        };
        let wheels = Some("/wheels".into());
        let offline = ManagedError::Build { attempts, wheels };
        assert!(offline.hint().starts_with("`/wheels` lacks"), "{offline}");
    }

    #[test]
    fn what_a_tool_was_asked_for_is_told_from_what_was_in_its_way() {
        let attempt = |output: &str| Attempt {
            what: "lay out wheels".to_owned(),
            how: "exited with code 2".to_owned(),
            output: output.to_owned(),
        };
        let offline = attempt("cause: invalid peer certificate: UnknownIssuer");
        assert_eq!(offline.hint_from_outside(), Some(OFFLINE));
        assert_eq!(
            attempt("error: no hash for `six`").hint_from_outside(),
            None
        );
        assert_eq!(attempt("hash mismatch").hint_from_outside(), None);
    }
}
