//! All that is known about Python on this machine, for a person who wonders.
//!
//! [`report`] looks at everything and changes nothing but the probe cache and the worker
//! package, which any call would lay out as well. The command line renders it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::discovery::{self, Candidate, CandidateOrigin, Choice, DiscoveryRequest};
use crate::managed::{self, EnvironmentState, Managed};
use crate::{Dirs, Interpreter, ProbeCache, worker_files};

/// The whole report.
#[derive(Debug, Serialize)]
pub struct DoctorReport {
    /// Every Python that was considered, best first.
    pub candidates: Vec<Considered>,
    /// The one that a call would use.
    pub choice: Option<Choice>,
    /// Why that one, in plain words.
    pub why: Option<String>,
    /// The environment of pillion's own tools, if there is a Python for it.
    pub managed: Option<ManagedReport>,
    /// The ipykernel that cells would run on.
    pub kernel: Option<KernelReport>,
    /// The folder of the worker package.
    pub worker: Option<PathBuf>,
    /// The uv that would be used; none means that one would be fetched.
    pub uv: Option<PathBuf>,
    /// The folders in use.
    pub folders: Folders,
    /// What should be looked after. Empty is well.
    pub problems: Vec<DoctorProblem>,
}

/// One Python and what was found out about it.
#[derive(Debug, Serialize)]
pub struct Considered {
    /// Its executable.
    pub path: PathBuf,
    /// Where it comes from.
    pub source: CandidateOrigin,
    /// The same in plain words.
    pub why: String,
    /// What came out.
    pub verdict: Verdict,
}

/// What came out of looking at one Python.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Verdict {
    /// It is the one.
    Chosen(Box<Interpreter>),
    /// It would do, and another comes first.
    Usable(Box<Interpreter>),
    /// It cannot be used.
    Unusable {
        /// Why not.
        reason: String,
    },
}

/// The managed environment.
#[derive(Debug, Serialize)]
pub struct ManagedReport {
    /// Its folder.
    pub path: PathBuf,
    /// How it is.
    #[serde(flatten)]
    pub state: EnvironmentState,
}

/// Where ipykernel is, or would be.
#[derive(Debug, Serialize)]
pub struct KernelReport {
    /// The folder of its packages, or of the environment that would have them.
    pub path: PathBuf,
    /// Why that one, in plain words.
    pub why: String,
    /// How the environment is, if it is one of pillion's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentState>,
}

/// The folders in use.
#[derive(Debug, Serialize)]
pub struct Folders {
    /// What can be made again at any time.
    pub cache: PathBuf,
    /// Managed environments.
    pub data: PathBuf,
    /// Logs and records.
    pub state: PathBuf,
}

/// Something to look after.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct DoctorProblem {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

/// Look at everything.
pub async fn report(request: DiscoveryRequest<'_>, dirs: &Dirs) -> DoctorReport {
    let mut problems = Vec::new();
    let choice = match discovery::find(request, dirs).await {
        Ok(choice) => Some(choice),
        Err(error) => {
            problems.push(DoctorProblem {
                what: error.to_string(),
                hint: error.hint(),
            });
            None
        }
    };
    let candidates = consider(request, dirs, choice.as_ref(), &mut problems).await;
    let managed = choice
        .as_ref()
        .map(|choice| Managed::new(dirs, &choice.interpreter));
    problems.extend(repaired(&worker_files::damages(dirs)));
    let worker = worker_files::worker_dir(dirs).map_err(|error| {
        problems.push(DoctorProblem {
            what: error.to_string(),
            hint: error.hint(),
        });
    });
    let folders = Folders {
        cache: dirs.usable_cache(),
        data: dirs.usable_data(),
        state: dirs.usable_state(),
    };
    problems.extend(unwritable(&dirs.cache, &folders.cache));
    problems.extend(unwritable(&dirs.data, &folders.data));
    problems.extend(unwritable(&dirs.state, &folders.state));
    let uv = managed.as_ref().and_then(Managed::uv);
    let managed = managed.map(|managed| ManagedReport {
        path: managed.path().to_owned(),
        state: managed.verified(),
    });
    problems.extend(managed.as_ref().and_then(damaged));
    let kernel = choice
        .as_ref()
        .map(|choice| kernel(&choice.interpreter, dirs));
    DoctorReport {
        why: choice.as_ref().map(|choice| choice.source.why()),
        candidates,
        choice,
        managed,
        kernel,
        worker: worker.ok(),
        uv,
        folders,
        problems,
    }
}

/// The ipykernel of this Python, or the one that pillion keeps for it.
fn kernel(interpreter: &Interpreter, dirs: &Dirs) -> KernelReport {
    if let Some(folder) = managed::ipykernel_in(&interpreter.site_packages) {
        return KernelReport {
            path: folder.to_owned(),
            why: "the project's Python has it".to_owned(),
            environment: None,
        };
    }
    let managed = Managed::for_kernels(dirs, interpreter);
    KernelReport {
        path: managed.path().to_owned(),
        why: "the project's Python has none, so pillion keeps one for it; cells see the \
              project's packages first"
            .to_owned(),
        environment: Some(managed.verified()),
    }
}

/// Probe every candidate, also those behind the chosen one.
async fn consider(
    request: DiscoveryRequest<'_>,
    dirs: &Dirs,
    choice: Option<&Choice>,
    problems: &mut Vec<DoctorProblem>,
) -> Vec<Considered> {
    let cache = ProbeCache::new(dirs);
    let mut known: HashSet<PathBuf> = HashSet::new();
    let mut chosen = false;
    let mut all = Vec::new();
    for Candidate { path, source } in discovery::candidates(request, dirs) {
        let why = source.why();
        let path = match path {
            Ok(path) => path,
            Err(name) => {
                let reason = format!("no program `{name}` is on `PATH`");
                let verdict = Verdict::Unusable { reason };
                all.push(Considered {
                    path: name.into(),
                    source,
                    why,
                    verdict,
                });
                continue;
            }
        };
        if !known.insert(path.clone()) {
            continue;
        }
        let path = match discovery::python_of_bundle(&path).await {
            None => path,
            Some(Ok(python)) => python,
            Some(Err(error)) => {
                let reason = error.to_string();
                problems.push(DoctorProblem {
                    what: format!("{why}: {reason}"),
                    hint: error.hint(),
                });
                let verdict = Verdict::Unusable { reason };
                all.push(Considered {
                    path,
                    source,
                    why,
                    verdict,
                });
                continue;
            }
        };
        let verdict = match cache
            .probe(&path, request.root, request.walled && source.is_of_folder())
            .await
        {
            Ok(found) => {
                let is_choice = choice
                    .is_some_and(|choice| choice.source == source && choice.interpreter == found);
                if is_choice && !std::mem::replace(&mut chosen, true) {
                    Verdict::Chosen(Box::new(found))
                } else {
                    Verdict::Usable(Box::new(found))
                }
            }
            Err(error) => {
                // A Python on `PATH` that is too old is no problem while another serves;
                // a project's own environment that does not work is one.
                if choice.is_some()
                    && !matches!(source, CandidateOrigin::Path(_) | CandidateOrigin::Uv)
                {
                    problems.push(DoctorProblem {
                        what: format!("{why}: {error}"),
                        hint: error.hint(),
                    });
                }
                Verdict::Unusable {
                    reason: error.to_string(),
                }
            }
        };
        all.push(Considered {
            path,
            source,
            why,
            verdict,
        });
    }
    all
}

fn unwritable(wanted: &Path, used: &Path) -> Option<DoctorProblem> {
    (wanted != used).then(|| DoctorProblem {
        what: format!(
            "`{}` cannot be written; `{}` is used",
            wanted.display(),
            used.display()
        ),
        hint: "set `PILLION_HOME` to a folder that you can write, to keep what is stored there"
            .into(),
    })
}

/// Told once: looking after it puts it right.
fn repaired(damages: &[PathBuf]) -> Option<DoctorProblem> {
    let first = damages.first()?;
    Some(DoctorProblem {
        what: match damages.len() {
            1 => format!("`{}` was not as it was written", first.display()),
            more => format!(
                "`{}` and {} more were not as they were written",
                first.display(),
                more - 1
            ),
        },
        hint: "it is put right by itself; is the disk full or broken?".into(),
    })
}

fn damaged(managed: &ManagedReport) -> Option<DoctorProblem> {
    let what = match &managed.state {
        EnvironmentState::Absent | EnvironmentState::Ready { .. } => return None,
        EnvironmentState::Incomplete => "is incomplete".to_owned(),
        EnvironmentState::Broken { reason } => format!("is broken: {reason}"),
    };
    Some(DoctorProblem {
        what: format!(
            "the managed environment in `{}` {what}",
            managed.path.display()
        ),
        hint: "it is built anew when it is next needed".into(),
    })
}
