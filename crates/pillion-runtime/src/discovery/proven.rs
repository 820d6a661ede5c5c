//! The Python of a project, with proof that another look would find the same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pillion_bundle::ActiveIndex;
use pillion_catalogue::work;
use pillion_process::stamp::{Stamp, Stamps};
use pillion_process::watch::Watched;
use pillion_protocol::{Code, Error, Result};
use serde_json::json;

use super::{Candidate, Choice, DiscoveryError, DiscoveryRequest, candidates, find_among};
use crate::{Dirs, bundle};

/// The most `.pth` files of a folder whose content counts: each costs a `stat` or a watch.
const MAX_PATH_FILES: usize = 64;

/// What was found, and what it depends on.
#[derive(Debug)]
pub struct Proven {
    outcome: Result<Choice>,
    /// Where it was looked, what it is, and what its packages are.
    proof: Watched,
    /// What its packages are.
    packages: Stamps,
}

impl Proven {
    /// Look for the project's Python.
    pub async fn find(request: DiscoveryRequest<'_>, dirs: &Dirs) -> Self {
        Self::look(request, dirs)
            .await
            .unwrap_or_else(|error| Self {
                outcome: Err(error),
                proof: Watched::default(),
                packages: Stamps::default(),
            })
    }

    async fn look(request: DiscoveryRequest<'_>, dirs: &Dirs) -> Result<Self> {
        // Many folders are looked through for all that could be meant.
        let (places, folders) = (Places::of(request), dirs.clone());
        let (mut stamps, all, before) = work(move |_| places.look(&folders)).await?;
        let (outcome, asked) = find_among(all, request, dirs).await;
        // Those that come first may be repaired, or appear.
        for (path, stamp) in before {
            if asked.contains(&path) {
                stamps.add_seen(path, stamp);
            }
        }
        let mut packages = Stamps::default();
        match &outcome {
            Ok(Choice { interpreter, .. }) => {
                stamps.add(interpreter.executable.clone());
                stamps.add(interpreter.prefix.join("pyvenv.cfg"));
                let folders = interpreter.site_packages.clone();
                packages = work(move |_| packages_in(&folders)).await?;
            }
            // One may be put where there was none.
            Err(_) => stamps.extend(Stamps::of(search_path(request))),
        }
        stamps.extend(packages.clone());
        Ok(Self {
            outcome: outcome.map_err(|error| no_python(&error)),
            proof: stamps.into(),
            packages,
        })
    }

    /// Whether another look would find the same.
    pub fn is_current(&self) -> bool {
        self.proof.hold()
    }

    /// The Python and why it was chosen, or why there is none.
    pub fn choice(&self) -> Result<&Choice> {
        self.outcome.as_ref().map_err(Clone::clone)
    }

    /// What says that its packages are still the same.
    pub fn packages(&self) -> &Stamps {
        &self.packages
    }
}

/// What proves folders of packages: of each its own stamp and those of its `.pth` files.
///
/// Installing, updating or removing a package adds or takes away names in the folder (at least
/// `NAME-VERSION.dist-info` goes and comes), which changes the folder itself. A `.pth` file
/// says where else packages are, and tools write it in place; that leaves the folder as it is,
/// so each of them counts on its own. Which there are is known while the folder is the same.
///
/// What it does not see: an edit in place of a file further down, such as a module of a package
/// or its metadata. That would cost a look at thousands of files before each call, and nothing
/// that installs packages does it; who edits an installed package by hand says `pillion py
/// restart`.
fn packages_in(folders: &[PathBuf]) -> Stamps {
    let mut stamps = Stamps::of(folders.iter().cloned());
    for folder in folders {
        let names = folder.read_dir().into_iter().flatten().flatten();
        let mut links: Vec<PathBuf> = names
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "pth"))
            .collect();
        links.sort();
        links.truncate(MAX_PATH_FILES);
        stamps.extend(Stamps::of(links));
    }
    stamps
}

/// A request that another thread can keep.
struct Places {
    root: PathBuf,
    explicit: Option<PathBuf>,
    configured: Option<PathBuf>,
    virtual_env: Option<PathBuf>,
    conda_prefix: Option<PathBuf>,
    search_path: Option<OsString>,
}

impl Places {
    fn of(request: DiscoveryRequest<'_>) -> Self {
        Self {
            root: request.root.to_owned(),
            explicit: request.explicit.map(Path::to_owned),
            configured: request.configured.map(Path::to_owned),
            virtual_env: request.virtual_env.map(Path::to_owned),
            conda_prefix: request.conda_prefix.map(Path::to_owned),
            search_path: request.search_path.map(ToOwned::to_owned),
        }
    }

    /// What says that no environment was made since; all Pythons that could be meant; and the
    /// stamp of each, from before it is asked.
    fn look(&self, dirs: &Dirs) -> (Stamps, Vec<Candidate>, Vec<(PathBuf, Stamp)>) {
        let environments = [".venv", "venv"].map(|name| self.root.join(name));
        let mut stamps = Stamps::of(environments.map(|folder| folder.join("pyvenv.cfg")));
        // Another runtime may be made the active one.
        stamps.add(bundle::default_store(dirs).join(ActiveIndex::NAME));
        let request = DiscoveryRequest {
            explicit: self.explicit.as_deref(),
            configured: self.configured.as_deref(),
            virtual_env: self.virtual_env.as_deref(),
            conda_prefix: self.conda_prefix.as_deref(),
            search_path: self.search_path.as_deref(),
            ..DiscoveryRequest::new(&self.root)
        };
        let all = candidates(request, dirs);
        let paths = all.iter().filter_map(|found| found.path.clone().ok());
        let before = paths.map(|path| {
            let stamp = Stamp::of(&path);
            (path, stamp)
        });
        let before = before.collect();
        (stamps, all, before)
    }
}

/// The folders that programs are looked for in.
fn search_path(request: DiscoveryRequest<'_>) -> Vec<PathBuf> {
    let given = request.search_path.map(ToOwned::to_owned);
    let path = given.or_else(|| std::env::var_os("PATH"));
    std::env::split_paths(&path.unwrap_or_default()).collect()
}

fn no_python(error: &DiscoveryError) -> Error {
    let code = match error {
        DiscoveryError::Bundle { .. } => Code::BundleDamaged,
        _ => Code::PythonNotFound,
    };
    Error::new(code, error.to_string())
        .hint(error.hint())
        .data(json!({ "considered": error.considered() }))
}
