//! Asking a Python who it is.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_process::{Launch, LaunchError, ProgramOutput};

use crate::{Interpreter, PythonVersion, confined_probe, file};

/// What a Python is asked to run.
const SCRIPT: &str = include_str!("probe.py");
/// How long it may take to answer. A cold disk is slow, a working Python is not.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// Why something cannot be used as Python. `path` is what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// There is no such file.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The executable.
        path: PathBuf,
    },
    /// The Python an environment was made from is gone.
    #[error("`{path}` is a broken link to `{target}`")]
    BrokenLink {
        /// The executable.
        path: PathBuf,
        /// What it points to.
        target: PathBuf,
    },
    /// It is there and cannot be run.
    #[error("`{path}` cannot be run: {why}")]
    NotExecutable {
        /// The executable.
        path: PathBuf,
        /// What stands against it.
        why: String,
    },
    /// It is a Python, and an old one.
    #[error(
        "`{path}` is Python {version}, and pillion needs {} or newer",
        minimum()
    )]
    TooOld {
        /// The executable.
        path: PathBuf,
        /// Its version.
        version: PythonVersion,
    },
    /// It ended without an answer.
    #[error("`{path}` {exit}{}", indented(stderr))]
    Failed {
        /// The executable.
        path: PathBuf,
        /// How it ended, in words.
        exit: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It answered with something that no Python would say.
    #[error("`{path}` does not answer like Python: {said:?}")]
    Nonsense {
        /// The executable.
        path: PathBuf,
        /// The beginning of its answer.
        said: String,
    },
    /// It came with a folder that nobody trusts, and there are no walls to ask it behind.
    #[error("`{path}` came with this folder, and cannot be asked behind walls: {why}")]
    NotWalled {
        /// The executable.
        path: PathBuf,
        /// What stands against it.
        why: String,
    },
    /// It did not answer in time, and was stopped.
    #[error("`{path}` did not answer within {} s", limit.as_secs_f32())]
    Hangs {
        /// The executable.
        path: PathBuf,
        /// How long it was given.
        limit: Duration,
    },
}

impl ProbeError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } | Self::Nonsense { .. } => {
                "name the executable of a Python, or the folder of a virtual environment".into()
            }
            Self::BrokenLink { .. } => {
                "the Python this environment was made from is gone: make the environment again \
                 (`python3 -m venv --clear` or `uv venv --clear`)"
                    .into()
            }
            Self::NotWalled { .. } => {
                "if you know the folder: `pillion trust` there lets its Python run".into()
            }
            Self::NotExecutable { path, .. } => {
                format!("check the permissions of `{}`", path.display())
            }
            Self::TooOld { .. } => format!(
                "install Python {0} or newer, or name one with `--python PATH`",
                minimum()
            ),
            Self::Failed { path, .. } | Self::Hangs { path, .. } => {
                format!("try `{} -I -S -c 'print(1)'` yourself", path.display())
            }
        }
    }
}

impl Interpreter {
    /// Ask the Python at `executable` who it is. Nothing is remembered; see
    /// [`ProbeCache`](crate::ProbeCache) for that.
    pub async fn probe(executable: &Path) -> Result<Self, ProbeError> {
        Self::probe_in(executable, None, LIMIT, false).await
    }

    /// The same, started in a folder (a shim may choose by it), with another deadline, and
    /// behind walls if that is wanted.
    pub async fn probe_in(
        executable: &Path,
        folder: Option<&Path>,
        limit: Duration,
        walled: bool,
    ) -> Result<Self, ProbeError> {
        let path = std::path::absolute(executable).unwrap_or_else(|_| executable.to_owned());
        check_file(&path)?;
        let probe = Question {
            path,
            folder,
            limit,
            walled,
        };
        let output = probe.ask(&["-I", "-S", "-c", SCRIPT]).await?;
        if !output.exit.success() {
            return Err(probe.explain(&output).await);
        }
        let answer = output.stdout.lines().rfind(|line| !line.trim().is_empty());
        let found = answer
            .and_then(|line| serde_json::from_str::<Self>(line).ok())
            .filter(|found| found.executable.is_absolute())
            .filter(|found| !walled || confined_probe::is_plausible(found, &probe.path));
        let Some(found) = found else {
            let said = output.stdout.trim().chars().take(200).collect();
            return Err(ProbeError::Nonsense {
                path: probe.path,
                said,
            });
        };
        if !found.version.is_supported() {
            return Err(ProbeError::TooOld {
                path: probe.path,
                version: found.version,
            });
        }
        Ok(found)
    }
}

struct Question<'a> {
    path: PathBuf,
    folder: Option<&'a Path>,
    limit: Duration,
    walled: bool,
}

impl Question<'_> {
    async fn ask(&self, args: &[&str]) -> Result<ProgramOutput, ProbeError> {
        if self.walled {
            let asked = confined_probe::ask(&self.path, args, self.limit).await;
            return asked.map_err(|why| ProbeError::NotWalled {
                path: self.path.clone(),
                why,
            });
        }
        let mut launch = Launch::new(&self.path).args(args);
        if let Some(folder) = self.folder {
            launch = launch.cwd(folder);
        }
        let path = self.path.clone();
        launch
            .output(self.limit)
            .await
            .map_err(|error| match error {
                LaunchError::TooSlow { .. } => ProbeError::Hangs {
                    path,
                    limit: self.limit,
                },
                LaunchError::NotFound(_) => ProbeError::NotFound { path },
                LaunchError::Refused { source, .. } => ProbeError::NotExecutable {
                    path,
                    why: source.to_string(),
                },
            })
    }

    /// Why it ended without success: Python 2 does not even know our options.
    async fn explain(&self, output: &ProgramOutput) -> ProbeError {
        let path = self.path.clone();
        let stderr = file::tail(&output.stderr);
        if output.exit.not_started {
            return ProbeError::NotExecutable { path, why: stderr };
        }
        if let Ok(answer) = self.ask(&["--version"]).await
            && let Some(version) = PythonVersion::find_in(&(answer.stdout + &answer.stderr))
            && !version.is_supported()
        {
            return ProbeError::TooOld { path, version };
        }
        ProbeError::Failed {
            path,
            exit: output.exit.to_string(),
            stderr,
        }
    }
}

/// See what is wrong with the file itself, so that it can be said in words.
fn check_file(path: &Path) -> Result<(), ProbeError> {
    let path = path.to_owned();
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(match path.read_link() {
                Ok(target) => ProbeError::BrokenLink { path, target },
                Err(_) => ProbeError::NotFound { path },
            });
        }
        Err(error) => {
            return Err(ProbeError::NotExecutable {
                path,
                why: error.to_string(),
            });
        }
    };
    if !found.is_file() {
        return Err(ProbeError::NotExecutable {
            path,
            why: "it is not a file".into(),
        });
    }
    if let Err(error) = rustix::fs::access(&path, rustix::fs::Access::EXEC_OK) {
        let why = io::Error::from(error).to_string();
        return Err(ProbeError::NotExecutable { path, why });
    }
    Ok(())
}

fn minimum() -> String {
    format!(
        "{}.{}",
        PythonVersion::MINIMUM.major,
        PythonVersion::MINIMUM.minor
    )
}

/// A complaint on lines of its own below the sentence.
fn indented(stderr: &str) -> String {
    stderr.lines().map(|line| format!("\n  {line}")).collect()
}
