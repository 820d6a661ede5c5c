//! The ways to build the environment: with uv, wherever it comes from, else with pip.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::tool::ToolRun;
use super::{Attempt, ManagedError, ProgressListener};
use crate::dirs::{self, Dirs};
use crate::discovery::on_path;
use crate::{Interpreter, file};

/// The uv that is fetched where none is installed.
pub(super) const UV_REQUIREMENTS: &str = include_str!("../uv-requirements.txt");
/// Says that the fetched uv is complete, and which one it is.
const UV_RECORD: &str = ".complete";

/// What a build needs to know.
pub(super) struct Builder<'a> {
    /// The Python to build from.
    pub(super) base: &'a Path,
    /// The environment's folder, which does not exist.
    pub(super) target: &'a Path,
    /// What to install.
    pub(super) requirements: &'a str,
    /// Where uv is looked for.
    pub(super) search_path: &'a OsStr,
    /// The data folder.
    pub(super) data: &'a Path,
    /// All folders.
    pub(super) dirs: &'a Dirs,
    /// A folder of wheels that packages come from, instead of an index.
    pub(super) wheels: Option<&'a Path>,
    /// Who listens.
    pub(super) progress: &'a dyn ProgressListener,
}

/// A uv that is ready to use: on `PATH`, or fetched earlier.
pub(super) fn find_uv(search_path: &OsStr, data: &Path) -> Option<PathBuf> {
    on_path("uv", search_path).next().or_else(|| {
        let folder = data.join("uv");
        let recorded = std::fs::read_to_string(folder.join(UV_RECORD)).ok()?;
        let uv = folder.join("bin").join("uv");
        (recorded == file::sha256([UV_REQUIREMENTS.as_bytes()]) && uv.is_file()).then_some(uv)
    })
}

impl Builder<'_> {
    /// Build it in the best way that works; says which one that was.
    pub(super) async fn build(&self) -> Result<&'static str, ManagedError> {
        if let Some(wheels) = self.wheels {
            let listed = wheels.read_dir().map(drop);
            listed.map_err(ManagedError::io("read the wheels in", wheels))?;
        }
        let mut attempts = Vec::new();
        match self.uv().await {
            Ok(uv) => match self.with_uv(&uv).await {
                Ok(()) => return Ok("uv"),
                Err(attempt) => attempts.push(attempt),
            },
            Err(attempt) => attempts.push(attempt),
        }
        if let Some(attempt) = attempts.last() {
            tracing::debug!(%attempt, "uv did not work, trying pip");
            self.progress
                .line(&format!("{}: {}; trying pip", attempt.what, attempt.how));
        }
        super::remove(self.target).await?;
        match self.with_pip(self.target, self.requirements).await {
            Ok(()) => Ok("pip"),
            Err(attempt) => {
                attempts.push(attempt);
                super::remove(self.target).await?;
                let wheels = self.wheels.map(Path::to_owned);
                Err(ManagedError::Build { attempts, wheels })
            }
        }
    }

    /// A uv: a ready one, or fetched with pip into a folder of its own.
    pub(super) async fn uv(&self) -> Result<PathBuf, Attempt> {
        if let Some(uv) = find_uv(self.search_path, self.data) {
            return Ok(uv);
        }
        self.progress.step("fetching uv");
        let folder = self.data.join("uv");
        let result = async {
            super::remove(&folder)
                .await
                .map_err(|error| local("fetch uv", &error))?;
            self.with_pip(&folder, UV_REQUIREMENTS).await?;
            let record = file::sha256([UV_REQUIREMENTS.as_bytes()]);
            file::write_atomically(&folder.join(UV_RECORD), record.as_bytes())
                .map_err(|error| local("fetch uv", &error))?;
            Ok(folder.join("bin").join("uv"))
        };
        result.await.map_err(|attempt: Attempt| Attempt {
            what: format!("fetch uv: {}", attempt.what),
            ..attempt
        })
    }

    async fn with_uv(&self, uv: &Path) -> Result<(), Attempt> {
        self.progress.step("making the environment");
        self.tool("make the environment with uv", uv)
            .args(["venv", "--no-project", "--python"])
            .args([self.base.as_os_str(), self.target.as_os_str()])
            .run(self.progress)
            .await?;
        self.progress.step("installing packages");
        let list = self.write_list("install with uv", self.target, self.requirements)?;
        self.tool("install with uv", uv)
            .args([
                "pip",
                "install",
                "--require-hashes",
                "--only-binary",
                ":all:",
            ])
            .args(self.source())
            .args(["--compile-bytecode", "--python"])
            .args([Interpreter::executable_below(self.target).as_os_str()])
            .args([OsStr::new("--requirements"), list.as_os_str()])
            .run(self.progress)
            .await
    }

    async fn with_pip(&self, folder: &Path, requirements: &str) -> Result<(), Attempt> {
        self.progress.step("making the environment");
        self.venv(folder).await?;
        self.progress.step("installing packages");
        let list = self.write_list("install with pip", folder, requirements)?;
        self.pip("install with pip", folder, "install")
            .args(self.source())
            .args([OsStr::new("--requirement"), list.as_os_str()])
            .run(self.progress)
            .await
    }

    /// Fetch the wheels of these lists into a folder, with the pip of an environment that is
    /// made for this.
    pub(super) async fn fetch(&self, lists: &[&str], out: &Path) -> Result<(), Attempt> {
        const WHAT: &str = "fetch the wheels with pip";
        self.progress.step("making an environment to fetch with");
        self.venv(self.target).await?;
        for requirements in lists {
            self.progress.step("fetching wheels");
            let list = self.write_list(WHAT, self.target, requirements)?;
            self.pip(WHAT, self.target, "download")
                .args([OsStr::new("--dest"), out.as_os_str()])
                .args([OsStr::new("--requirement"), list.as_os_str()])
                .run(self.progress)
                .await?;
        }
        Ok(())
    }

    /// An environment with nothing but pip.
    async fn venv(&self, folder: &Path) -> Result<(), Attempt> {
        self.tool("make the environment with venv", self.base)
            .args(["-I", "-m", "venv"])
            .args([folder])
            .run(self.progress)
            .await
    }

    /// The pip of an environment, about to do something with locked wheels.
    fn pip<'a>(&self, what: &'a str, environment: &Path, command: &str) -> ToolRun<'a> {
        self.tool(what, &Interpreter::executable_below(environment))
            .args(["-I", "-m", "pip", command])
            .args(["--require-hashes", "--only-binary", ":all:", "--no-input"])
            .args(["--progress-bar", "off", "--disable-pip-version-check"])
    }

    /// Where packages come from, in the words of uv and pip alike.
    fn source(&self) -> Vec<&OsStr> {
        self.wheels.map_or_else(Vec::new, |wheels| {
            let (no_index, find_links) = (OsStr::new("--no-index"), OsStr::new("--find-links"));
            vec![no_index, find_links, wheels.as_os_str()]
        })
    }

    /// The list lies in the environment it describes, for whoever wonders later.
    fn write_list(&self, what: &str, folder: &Path, text: &str) -> Result<PathBuf, Attempt> {
        let list = folder.join("requirements.txt");
        file::write_atomically(&list, text.as_bytes()).map_err(|error| local(what, &error))?;
        Ok(list)
    }

    pub(super) fn tool<'a>(&self, what: &'a str, program: &Path) -> ToolRun<'a> {
        let tool = ToolRun::new(what, program, self.data);
        match self.uv_cache() {
            Some(cache) => tool.env("UV_CACHE_DIR", cache),
            None => tool,
        }
    }

    /// A cache for uv where it cannot write its own, as with a read-only home.
    fn uv_cache(&self) -> Option<OsString> {
        if std::env::var_os("UV_CACHE_DIR").is_some() {
            return None;
        }
        let own = self
            .dirs
            .foreign_cache
            .as_ref()
            .map(|cache| cache.join("uv"));
        if own.is_some_and(|own| dirs::create_writable(&own).is_ok()) {
            return None;
        }
        Some(self.dirs.writable_cache().ok()?.join("uv").into_os_string())
    }
}

pub(super) fn local(what: &str, error: &dyn std::fmt::Display) -> Attempt {
    Attempt {
        what: what.to_owned(),
        how: error.to_string(),
        output: String::new(),
    }
}
