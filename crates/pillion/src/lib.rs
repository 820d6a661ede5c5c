//! Python, already running.
//!
//! This is the facade: an [`Engine`] composes the services into one catalogue and can be
//! embedded anywhere. The `pillion` binary is a thin layer above it.
//!
//! ```no_run
//! # async fn demo() -> pillion::Result<()> {
//! let engine = pillion::Engine::new(pillion::EngineOptions::default());
//! let answer = engine.call("py.call", &serde_json::json!({"function": "math:hypot", "params": [3, 4]})).await?;
//! println!("{answer}");
//! engine.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! A program that embeds the engine calls [`init`] first in its `main`, so that no child
//! survives even a SIGKILL of the program, and code of others can be confined.

pub use pillion_catalogue::{
    Arguments, Caller, Catalogue, Code, Definition, Door, Error, MAX_ANSWER, Operation, Part,
    Prints, Request, Result, Safety, Scope,
};
pub use pillion_engine::{Engine, EngineOptions, VERSION, contract, definitions, servers, system};
pub use pillion_process::guard;

/// Call this first in `main`: this executable is started again as guard of a child, and as
/// box around code of others. In those it does their work and never returns.
pub fn init() {
    pillion_sandbox::init();
    guard::init();
}
