//! What tests need to be there: what `cargo xtask test` sets up, and projects of others, which are
//! fetched by name.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program;

/// A project of others: its package and version, and the hash of its source archive.
#[derive(Debug, Clone, Copy)]
pub struct SourceArchive {
    /// `name==version`.
    pub package: &'static str,
    /// The hash.
    pub sha256: &'static str,
}

/// Click, which several tests are about.
pub const CLICK: SourceArchive = SourceArchive {
    package: "click==8.3.0",
    sha256: "e7b8232224eba16f4ebe410c25ced9f7875cb5f3263ffc93cc3e8da705e229c4",
};

/// A file of what `cargo xtask test` sets up.
pub fn set_up(name: &str) -> PathBuf {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
    let path = PathBuf::from(target).join(name);
    assert!(
        path.exists(),
        "`{}` is missing: `cargo xtask test` makes it",
        path.display()
    );
    path
}

/// Where tests keep what is too expensive to make in each run.
pub fn kept(name: &str) -> PathBuf {
    // As `CARGO_TARGET_TMPDIR` says it, which only test targets know.
    program().ancestors().nth(2).unwrap().join("tmp").join(name)
}

impl SourceArchive {
    /// What is in it: fetched once.
    pub fn fetched(self) -> PathBuf {
        let kept = kept("sdists").join(self.package);
        if !kept.is_dir() {
            let script =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../pillion-bench/src/archives.py");
            let mut fetch = python();
            fetch
                .arg(script)
                .args([self.package, self.sha256])
                .arg(&kept);
            assert!(fetch.status().unwrap().success(), "{}", self.package);
        }
        kept
    }
}

/// The Python with pytest, which `cargo xtask test` sets up.
#[expect(
    clippy::disallowed_methods,
    reason = "what it runs is no child of pillion's"
)]
pub fn python() -> Command {
    Command::new(set_up("dev-python/bin/python"))
}
