//! Which ipykernel a kernel runs: that of the project's Python, or one of pillion's own.

use std::path::PathBuf;

use pillion_catalogue::{Code, Error, Result};
use pillion_lanes::Ground;
use pillion_project::Walls;
use pillion_runtime::managed::{ProgressListener, ipykernel_in};
use pillion_runtime::{Dirs, Managed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where ipykernel is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Source")]
pub enum PackageSource {
    /// The project's Python has it.
    Project,
    /// An environment that pillion keeps for kernels, behind the project's own packages.
    Managed,
}

/// What a kernel imports from besides the project's packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// Whose it is.
    pub source: PackageSource,
    /// Behind the project's own, so that cells see those first.
    pub more: Vec<PathBuf>,
}

impl Packages {
    /// The ipykernel for a project. One of pillion's own is built where the project has none.
    pub async fn find(
        ground: &Ground,
        dirs: &Dirs,
        progress: &dyn ProgressListener,
    ) -> Result<Self> {
        if ipykernel_in(&ground.runtime.packages).is_some() {
            return Ok(Self {
                source: PackageSource::Project,
                more: Vec::new(),
            });
        }
        if ground.runtime.is_foreign {
            let message = "the Python of this folder has no ipykernel, and nothing is built with \
                           a Python that came with a folder which you do not trust";
            return Err(Error::new(Code::StartFailed, message)
                .hint("`pillion trust` if you do, or `--python python3`"));
        }
        let python = ground.project.python(Walls::UnlessTrusted).await;
        let managed = Managed::for_kernels(dirs, &python.choice()?.interpreter);
        let interpreter = managed
            .ensure(progress)
            .await
            .map_err(|error| Error::new(Code::StartFailed, error.to_string()).hint(error.hint()))?;
        Ok(Self {
            source: PackageSource::Managed,
            more: interpreter.site_packages,
        })
    }
}
