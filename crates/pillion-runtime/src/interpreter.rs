//! What is known about one Python.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::PythonVersion;

/// A Python that was run and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interpreter {
    /// Its executable as it calls itself: behind a shim, the real one.
    pub executable: PathBuf,
    /// Its version.
    pub version: PythonVersion,
    /// The environment it runs in.
    pub prefix: PathBuf,
    /// The installation it comes from; the same as `prefix` outside of an environment.
    pub base_prefix: PathBuf,
    /// `cpython`, `pypy`, ...
    pub implementation: String,
    /// Where its packages are, in the order of `sys.path`. They need not exist.
    pub site_packages: Vec<PathBuf>,
    /// Such as `linux-x86_64`.
    pub platform: String,
    /// Such as `cpython-311`; empty if it has none.
    pub cache_tag: String,
}

impl Interpreter {
    /// Whether it runs in a virtual environment.
    pub fn is_environment(&self) -> bool {
        self.prefix != self.base_prefix
    }

    /// The executable below an environment's folder.
    pub fn executable_below(environment: &Path) -> PathBuf {
        if cfg!(windows) {
            environment.join("Scripts").join("python.exe")
        } else {
            environment.join("bin").join("python")
        }
    }
}
