//! `py.workers`: who works for Python calls.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety};
use pillion_supervisor::{SidecarKind, WorkspaceStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PythonService;

/// List the Python workers of all workspaces.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Workers {}

/// The workers, by workspace.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkerList {
    /// Workspaces with their workers.
    pub workspaces: Vec<WorkspaceStatus>,
}

impl Operation for Workers {
    const NAME: &'static str = "py.workers";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("workers", 420);
    type Service = PythonService;
    type Output = WorkerList;

    fn text(result: &str) -> Option<String> {
        let list: WorkerList = serde_json::from_str(result).ok()?;
        if list.workspaces.is_empty() {
            return Some("no workers yet; the first call starts one".to_owned());
        }
        let all: Vec<String> = list.workspaces.iter().map(ToString::to_string).collect();
        Some(all.join("\n\n"))
    }

    async fn run(self, cx: Context<PythonService>) -> Result<WorkerList> {
        let mut workspaces = cx.service().supervisor().workspaces();
        for workspace in &mut workspaces {
            workspace
                .sidecars
                .retain(|sidecar| sidecar.kind == SidecarKind::Worker);
        }
        workspaces.retain(|workspace| !workspace.sidecars.is_empty());
        Ok(WorkerList { workspaces })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_at_work_is_said_in_words() {
        let text = Workers::text(r#"{"workspaces": []}"#).unwrap();
        assert!(text.contains("no workers yet"), "{text}");
        assert_eq!(Workers::text("[]"), None);
    }
}
