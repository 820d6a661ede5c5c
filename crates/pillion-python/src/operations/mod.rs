//! What callers can ask for: `py.*` and `sidecar.*`.

mod call;
mod describe;
mod expose;
mod invoke;
mod question;
mod restart;
mod sidecar;
mod worker;
mod workers;

use std::time::Duration;

use pillion_catalogue::{Context, Operations};

pub use call::{Call, Called};
pub use describe::{Describe, Function, Module};
pub use expose::Expose;
pub use invoke::{Invoke, Invoked};
pub use restart::{Restart, Restarted};
pub use sidecar::SidecarCall;
pub use worker::WorkerRef;
pub use workers::{WorkerList, Workers};

use crate::PythonService;

/// All operations of this service.
pub fn operations() -> Operations<PythonService> {
    Operations::default()
        .with::<Call>()
        .with::<Describe>()
        .with::<Expose>()
        .with::<Invoke>()
        .with::<Workers>()
        .with::<Restart>()
        .with::<SidecarCall>()
}

/// How long a call may take: the caller's word, else the project's.
fn timeout(cx: &Context<PythonService>, default_s: f64) -> Duration {
    let asked = cx.request().timeout;
    asked.unwrap_or_else(|| Duration::from_secs_f64(default_s))
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
