//! What callers can ask for: `py.*` and `sidecar.*`.
//!
//! The parameters that say where a call runs stand in each operation again: sharing them by
//! `#[serde(flatten)]` would make serde read arguments that should be passed on as text.

mod call;
mod describe;
mod expose;
mod invoke;
mod question;
mod restart;
mod sidecar;
mod workers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::{Code, Context, Error, Operations, Result};
use pillion_project::Whereabouts;

pub use call::{Call, Called, WorkerRef};
pub use describe::{Describe, Function, Module};
pub use expose::{Expose, Exposed, Failed, Tool};
pub use invoke::{Invoke, Invoked};
pub use restart::{Restart, Restarted};
pub use sidecar::SidecarCall;
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

/// Where a call should run: the caller's words, else the door's root, else our own folder.
fn whereabouts(
    cx: &Context<PythonService>,
    root: Option<&Path>,
    python: Option<PathBuf>,
    [virtual_env, conda_prefix]: [Option<PathBuf>; 2],
) -> Result<Whereabouts> {
    let root = match cx.root(root) {
        Some(root) => PythonService::absolute(root, cx.request().root.as_deref()),
        None => PythonService::default_root()?,
    };
    Ok(Whereabouts {
        root,
        python,
        virtual_env,
        conda_prefix,
    })
}

/// How long a call may take: the caller's word, else the project's.
fn timeout(asked_ms: Option<u64>, default_s: f64) -> Result<Duration> {
    match asked_ms {
        Some(0) => Err(Error::new(
            Code::InvalidParams,
            "`timeout_ms` must be at least 1",
        )),
        Some(ms) => Ok(Duration::from_millis(ms.min(7 * 24 * 3_600_000))),
        None => Ok(Duration::from_secs_f64(default_s)),
    }
}
