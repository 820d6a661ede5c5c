//! The door for agents: by hand, by the official libraries, and by the official suite.

mod clients;
mod conformance;
mod crowds;
mod day;
mod install;
mod lines;
mod table;

use pillion_testing::project::bare;
use pillion_testing::{THINGS, TestContext};

/// A context with ty at hand, for questions about code.
pub(super) fn with_tools() -> TestContext {
    let context = bare();
    context.write("things.py", THINGS);
    context
}
