//! placeholder
use std::process::ExitCode;
use clap::Args;
use pillion::Result;
use crate::cli::Global;
/// Print or write the configuration that adds pillion to an agent.
#[derive(Debug, Args)]
pub(crate) struct Install {}
impl Install { pub(super) fn run(self, _: &Global) -> Result<ExitCode> { Ok(ExitCode::SUCCESS) } }
