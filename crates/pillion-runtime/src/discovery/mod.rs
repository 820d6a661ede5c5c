//! Which Python belongs to a project, and why.
//!
//! [`find`] goes through the candidates in order and takes the first that works. One that
//! was named (by flag or in `pillion.toml`) is taken or the search fails: nobody gets a
//! Python other than the one they asked for. One that was merely found and does not work
//! is passed over, and the reason is kept for everybody to see.

mod candidates;
mod poetry;
mod proven;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use pillion_bundle::{ActiveIndex, RuntimeManifest};
use serde::Serialize;

pub use proven::Proven;

pub(crate) use candidates::{Candidate, candidates, on_path};

use crate::bundle::{self, BundleError};
use crate::{Dirs, Interpreter, ProbeCache, ProbeError, PythonVersion};

/// For which project, and what its caller said about Python.
#[derive(Debug, Clone, Copy)]
pub struct DiscoveryRequest<'a> {
    /// The project's root folder.
    pub root: &'a Path,
    /// Named on the command line: an executable, an environment's folder, a name on
    /// `PATH`, or a version such as `3.12`.
    pub explicit: Option<&'a Path>,
    /// Named in `pillion.toml`, in the same ways; relative to the root.
    pub configured: Option<&'a Path>,
    /// The *caller's* `VIRTUAL_ENV`, never this process's own.
    pub virtual_env: Option<&'a Path>,
    /// The caller's `CONDA_PREFIX`.
    pub conda_prefix: Option<&'a Path>,
    /// The caller's `PATH`; this process's own if it is not known.
    pub search_path: Option<&'a OsStr>,
    /// Pythons that come with the folder are asked behind walls: nobody trusts it.
    pub walled: bool,
}

impl<'a> DiscoveryRequest<'a> {
    /// A request that says no more than where the project is.
    pub fn new(root: &'a Path) -> Self {
        Self {
            root,
            explicit: None,
            configured: None,
            virtual_env: None,
            conda_prefix: None,
            search_path: None,
            walled: false,
        }
    }
}

/// Where a candidate comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateOrigin {
    /// `--python`.
    Flag,
    /// `pillion.toml`.
    Config,
    /// The caller's active virtual environment.
    VirtualEnv,
    /// A virtual environment in the project's root: the folder's name.
    InProject(String),
    /// An environment that poetry keeps for the project.
    Poetry,
    /// The caller's active conda environment.
    Conda,
    /// A runtime bundle: the one that this program came with, or the active one of the user's
    /// store.
    Bundle,
    /// A program of this name on `PATH`.
    Path(String),
    /// A Python that uv installed.
    Uv,
}

impl CandidateOrigin {
    /// Why it was considered, in plain words.
    pub fn why(&self) -> String {
        match self {
            Self::Flag => "named with `--python`".into(),
            Self::Config => "named in `pillion.toml`".into(),
            Self::VirtualEnv => "the active virtual environment (`VIRTUAL_ENV`)".into(),
            Self::InProject(name) => format!("`{name}` in the project root"),
            Self::Poetry => "poetry's environment for this project".into(),
            Self::Conda => "the active conda environment (`CONDA_PREFIX`)".into(),
            Self::Bundle => "an installed runtime bundle".into(),
            Self::Path(name) => format!("`{name}` on `PATH`"),
            Self::Uv => "installed by uv".into(),
        }
    }

    /// Whether it is the folder that brings it, or says which one it is.
    pub fn is_of_folder(&self) -> bool {
        matches!(self, Self::Config | Self::InProject(_))
    }

    /// Whether a person asked for exactly this one.
    pub fn is_named(&self) -> bool {
        matches!(self, Self::Flag | Self::Config)
    }
}

impl fmt::Display for CandidateOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why())
    }
}

/// The Python that was taken.
#[derive(Debug, Clone, Serialize)]
pub struct Choice {
    /// The Python.
    pub interpreter: Interpreter,
    /// Why this one.
    pub source: CandidateOrigin,
    /// Those before it that did not work.
    pub skipped: Vec<Skipped>,
}

/// A candidate that was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its executable.
    pub path: PathBuf,
    /// Where it came from.
    pub source: CandidateOrigin,
    /// What was wrong with it.
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.reason)
    }
}

/// No Python for this project.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The one that was asked for does not work.
    #[error("the Python {from} cannot be used: {reason}")]
    Named {
        /// Who named it.
        from: CandidateOrigin,
        /// What is wrong with it.
        #[source]
        reason: ProbeError,
    },
    /// The name that was given is on no folder of `PATH`.
    #[error("the Python {from} cannot be used: no program `{name}` is on `PATH`")]
    NotOnPath {
        /// Who named it.
        from: CandidateOrigin,
        /// The program's name.
        name: String,
    },
    /// The runtime bundle that it would be cannot be used.
    #[error("{reason}")]
    Bundle {
        /// What is wrong with it.
        #[source]
        reason: BundleError,
    },
    /// Nothing works.
    #[error("no usable Python was found{}", listed(considered))]
    NoneFound {
        /// All that was considered, and what was wrong with it.
        considered: Vec<Skipped>,
    },
}

impl DiscoveryError {
    /// What to do next.
    pub fn hint(&self) -> String {
        let PythonVersion { major, minor, .. } = PythonVersion::MINIMUM;
        match self {
            Self::Named { reason, .. } => reason.hint(),
            Self::Bundle { reason } => reason.hint(),
            Self::NotOnPath { .. } => {
                "name the executable of a Python, or the folder of a virtual environment".into()
            }
            Self::NoneFound { .. } => format!(
                "install Python {major}.{minor} or newer (for example with \
                 `uv python install` or your system's packages), or name one with `--python PATH`"
            ),
        }
    }

    /// What was considered and passed over.
    pub fn considered(&self) -> &[Skipped] {
        match self {
            Self::NoneFound { considered } => considered,
            Self::Named { .. } | Self::NotOnPath { .. } | Self::Bundle { .. } => &[],
        }
    }
}

fn listed(considered: &[Skipped]) -> String {
    considered
        .iter()
        .map(|skipped| format!("\n{skipped}").replace('\n', "\n  "))
        .collect()
}

/// The Python of a project.
pub async fn find(request: DiscoveryRequest<'_>, dirs: &Dirs) -> Result<Choice, DiscoveryError> {
    find_among(candidates(request, dirs), request, dirs).await.0
}

/// The first that works, and all that were asked.
async fn find_among(
    all: Vec<Candidate>,
    request: DiscoveryRequest<'_>,
    dirs: &Dirs,
) -> (Result<Choice, DiscoveryError>, HashSet<PathBuf>) {
    let mut asked = HashSet::new();
    let found = first_that_works(all, &mut asked, request, dirs).await;
    (found, asked)
}

async fn first_that_works(
    all: Vec<Candidate>,
    asked: &mut HashSet<PathBuf>,
    request: DiscoveryRequest<'_>,
    dirs: &Dirs,
) -> Result<Choice, DiscoveryError> {
    let cache = ProbeCache::new(dirs);
    let mut skipped = Vec::new();
    for candidate in all {
        let Candidate { path, source } = candidate;
        let path = match path {
            Ok(path) => path,
            Err(name) => return Err(DiscoveryError::NotOnPath { from: source, name }),
        };
        if !asked.insert(path.clone()) {
            continue;
        }
        // A damaged one is not passed over: who installed it would get another Python than
        // that, and never hear of it.
        let path = match python_of_bundle(&path).await {
            Some(found) => found.map_err(|reason| DiscoveryError::Bundle { reason })?,
            None => path,
        };
        let walled = request.walled && source.is_of_folder();
        match cache.probe(&path, request.root, walled).await {
            Ok(interpreter) => {
                tracing::debug!(
                    executable = %interpreter.executable.display(),
                    version = %interpreter.version, why = source.why(), "found Python"
                );
                return Ok(Choice {
                    interpreter,
                    source,
                    skipped,
                });
            }
            // Without walls nobody knows whether it works; another one is not what is wanted.
            Err(reason) if source.is_named() || matches!(reason, ProbeError::NotWalled { .. }) => {
                return Err(DiscoveryError::Named {
                    from: source,
                    reason,
                });
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::debug!(path = %path.display(), reason, "passing over a Python");
                skipped.push(Skipped {
                    path,
                    source,
                    reason,
                });
            }
        }
    }
    Err(DiscoveryError::NoneFound {
        considered: skipped,
    })
}

/// The Python of the runtime bundle that has this manifest, or that is active by this list, if it
/// is one of them. Thousands of files are looked at for it.
pub(crate) async fn python_of_bundle(path: &Path) -> Option<Result<PathBuf, BundleError>> {
    let is_list = match path.file_name()?.to_str()? {
        RuntimeManifest::NAME => false,
        ActiveIndex::NAME => true,
        _ => return None,
    };
    let folder = path.parent()?.to_owned();
    let root = folder.clone();
    let checked = pillion_catalogue::work(move |_| {
        let folder = match is_list {
            true => bundle::active_runtime(&folder)?.unwrap_or(folder),
            false => folder,
        };
        bundle::usable_runtime(&folder)
    });
    let checked = checked.await;
    let no_bundle = BundleError::NoBundle { root };
    Some(match checked {
        Ok(checked) => checked.and_then(|found| found.python().ok_or(no_bundle)),
        Err(_) => Err(no_bundle),
    })
}
