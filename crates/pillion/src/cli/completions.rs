//! `pillion completions`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use super::{installation, output};

/// Print a completion script for your shell.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> ExitCode {
        let script = installation::completions(self.shell);
        output::print(&String::from_utf8_lossy(&script));
        ExitCode::SUCCESS
    }
}
