//! Running other people's code behind walls: a library for the services that do.
//!
//! # Theory of operation
//!
//! A [`Lane`] is the rules that code runs under; with a project's configuration and Python
//! ([`Project`], [`Runtime`]) it becomes a policy, which `pillion-sandbox` keeps. Code has a
//! folder ([`RunFolder`]): in memory, or that of a [`session`], which stays.
//!
//! The [`Executor`] carries out a [`RunRequest`]. A run comes from a **slot**, an interpreter that
//! a **zygote** forked and confined ahead (`zygote`, `slot_pool`), or from an interpreter of its
//! own where that cannot be (`process`). Both are told an `order` and heard at their end in the
//! same words, so the rest (`run`, `outcome`) does not know the difference: it passes output
//! on, keeps time, and makes the [`Reply`].
//!
//! Code in the expert lane may ask its host for what the request names (`tools`).
//!
//! Nothing here is an operation, and nothing here is kept: a service that lets callers run
//! code decides who may, and what is written down about it.

mod answer;
pub mod environment;
mod executor;
#[doc(hidden)]
pub mod fuzzing;
mod lane;
mod outcome;
mod output;
pub mod path_access;
mod perform;
mod process;
mod reply;
mod run;
mod run_folder;
mod run_setup;
mod runner_messages;
mod runtime;
pub mod session;
mod slot_pool;
mod sys;
mod tools;
mod zygote;

pub use pillion_project::{Project, Whereabouts};

pub use executor::{Executor, SessionsRoot};
pub use lane::{LONGEST, Lane, MOST_MEMORY_MB, limits};
pub use outcome::RunOutcome;
pub use perform::{Admitted, Ground, RunRequest, disk};
pub use reply::{FileOut, Limit, Reply, Used, text_or_base64};
pub use run::{OutputListener, OutputStream};
pub use run_folder::{NO_SESSION, RunFolder, Throwaway};
pub use runner_messages::{Exception, Program, check_name};
pub use runtime::Runtime;
pub use session::ProducedFile;
pub use tools::{
    Asked, FunctionCall, Host, Readable, Returned, TableGiven, ToolCalls, Tools, ToolsGiven,
};
