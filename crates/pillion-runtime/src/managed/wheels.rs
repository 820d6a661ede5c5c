//! Wheels of a lock file, laid out in a folder for a Python that need not run here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::install::{Builder, local};
use super::{Attempt, ProgressListener};
use crate::Dirs;
use crate::discovery::{self, DiscoveryRequest};

/// What is to be laid out.
#[derive(Debug, Clone, Copy)]
pub struct Wheels<'a> {
    /// A list of requirements with hashes.
    pub lock: &'a Path,
    /// The folder, which is made.
    pub target: &'a Path,
    /// The platform of the Python that will import them, as uv calls it.
    pub platform: &'a str,
    /// The version of that Python, such as `3.11`.
    pub python_version: &'a str,
}

impl Wheels<'_> {
    /// Download and unpack them with uv. Nothing is built and nothing of them is run.
    pub async fn install(
        self,
        dirs: &Dirs,
        progress: &dyn ProgressListener,
    ) -> Result<(), Attempt> {
        let nowhere = PathBuf::from("/");
        let request = DiscoveryRequest::new(&nowhere);
        let base = discovery::find(request, dirs)
            .await
            .map_err(|error| local("find a Python for uv", &error))?;
        let data = dirs.usable_data();
        crate::dirs::create(&data).map_err(|error| local("lay out wheels", &error))?;
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let builder = Builder {
            base: &base.interpreter.executable,
            target: self.target,
            requirements: "",
            search_path: &search_path,
            data: &data,
            wheels: None,
            dirs,
            progress,
        };
        let uv = builder.uv().await?;
        progress.step("downloading wheels");
        std::fs::create_dir_all(self.target).map_err(|error| local("lay out wheels", &error))?;
        builder
            .tool("lay out wheels with uv", &uv)
            .args(["pip", "install", "--require-hashes", "--no-deps"])
            .args(["--only-binary", ":all:", "--link-mode", "copy"])
            .args(["--no-compile-bytecode", "--python-platform", self.platform])
            .args(["--python-version", self.python_version])
            .args([OsStr::new("--python"), builder.base.as_os_str()])
            .args([OsStr::new("--target"), self.target.as_os_str()])
            .args([OsStr::new("--requirements"), self.lock.as_os_str()])
            .run(progress)
            .await
    }
}
