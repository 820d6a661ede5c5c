//! `py.restart`: fresh processes.

use std::path::PathBuf;

use pillion_catalogue::{Context, Operation, Result, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PythonService;

/// Restart the sidecars of a workspace, or of all.
///
/// Each finishes what it does; the state that it holds in memory is lost.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// The project's folder; all workspaces if it is not given.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}

/// What was restarted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Restarted {
    /// How many sidecars.
    pub restarted: usize,
}

impl Operation for Restart {
    const NAME: &'static str = "py.restart";
    const SAFETY: Safety = Safety::Write;
    type Service = PythonService;
    type Output = Restarted;

    async fn run(self, cx: Context<PythonService>) -> Result<Restarted> {
        // Its own parameter: without one, all are meant, wherever the caller stands. A door that
        // serves one folder restarts that.
        let root = match (&self.root, &cx.request().root) {
            (Some(named), _) => Some(cx.request().from_here(named)?),
            (None, root) => root.clone(),
        };
        let root = root.map(|root| pillion_workspace::root::find(&root));
        let root = root.transpose()?;
        let pools = cx.service().supervisor().pools_of(root.as_deref());
        let restarted = pools.iter().map(|pool| pool.restart()).sum();
        Ok(Restarted { restarted })
    }
}
