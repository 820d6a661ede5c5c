//! `cargo xtask`: everything that is done to this repository, by people and by CI alike.
//!
//! A task is a list of [`steps`]: all of them run, so that one go shows every failure, and
//! the summary at the end has a line for each. It depends on as good as nothing.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

mod again;
mod arguments;
mod check;
mod chromium;
mod cross;
mod debian;
mod dist;
mod error;
mod fuzz;
mod generate;
mod hygiene;
mod layering;
mod leftovers;
mod links;
mod modules;
mod names;
mod node;
mod python;
mod repository;
mod run;
mod steps;
mod tally;
mod test;
mod type_names;

use std::process::ExitCode;

use arguments::Task;
use error::Result;
use repository::Repository;

fn main() -> ExitCode {
    match Task::parse(std::env::args().skip(1)).and_then(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn perform(task: Task) -> Result<()> {
    let repository = Repository::here()?;
    match task {
        Task::Help(text) => {
            println!("{}", text.trim_end());
            Ok(())
        }
        Task::Test(options) => test::test(&repository, &options),
        Task::Check => check::check(&repository),
        Task::Layering => layering::check(&repository),
        Task::Generate { check } => generate::generate(&repository, check),
        Task::Fuzz(options) => fuzz::fuzz(&repository, &options),
        Task::Cross(options) => cross::cross(&repository, &options),
        Task::Dist(options) => dist::dist(&repository, &options),
    }
}
