//! `pillion self`: this installation, and the files that packages put beside the program.

mod check;
mod share;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pillion::Result;

pub(crate) use share::script as completions;

use super::Global;

/// Check this installation, or write its completions and manual pages.
#[derive(Debug, Args)]
pub(crate) struct Installation {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say whether this installation is whole: the program, its worker package, Python, tools,
    /// the daemon. The exit code is 1 if something is wrong.
    Check,
    /// Write the completions of all shells and the manual pages, as packages have them.
    Share(share::Share),
}

impl Installation {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        match self.action {
            Action::Check => check::run(global).await,
            Action::Share(share) => share.run(),
        }
    }
}
