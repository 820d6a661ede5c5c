//! Where things are.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::run::Run;

/// This repository on this machine.
#[derive(Debug)]
pub(crate) struct Repository {
    /// Its folder.
    pub(crate) root: PathBuf,
    /// Where Cargo builds.
    pub(crate) target: PathBuf,
}

impl Repository {
    /// The one that this program was built from.
    pub(crate) fn here() -> Result<Self> {
        // What Cargo says now comes before what it said when this was compiled: with a
        // shared target folder the program may have been built for another checkout.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .ok_or_else(|| Error::new("`xtask` has no parent folder"))?
            .to_owned();
        // This program is at TARGET/debug/xtask, whatever decided where TARGET is.
        let program = std::env::current_exe()
            .map_err(|error| Error::new(format!("cannot find this program: {error}")))?;
        let target = program
            .ancestors()
            .nth(2)
            .ok_or_else(|| Error::new("run this as `cargo xtask`"))?
            .to_owned();
        Ok(Self { root, target })
    }

    /// Cargo, in this repository.
    pub(crate) fn cargo(&self) -> Run {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Run::new(cargo).cwd(&self.root)
    }

    /// The files that are, or would be, under version control; relative to the root.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let listed = Run::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .cwd(&self.root)
            .output()?
            .success()?;
        let mut files: Vec<PathBuf> = listed
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(PathBuf::from)
            // A file that was deleted but not yet committed is still listed.
            .filter(|file| self.root.join(file).is_file())
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The text of a file, or nothing if it is not text.
    pub(crate) fn text(&self, file: &Path) -> Result<Option<String>> {
        let path = self.root.join(file);
        let bytes = std::fs::read(&path).map_err(|error| Error::file(&path, &error))?;
        Ok(String::from_utf8(bytes).ok())
    }
}
