//! A workspace and its sidecars as people read them.

use std::fmt;
use std::time::SystemTime;

use pillion_catalogue::text::{memory, millis, span, table};
use serde_json::Value;

use crate::{SidecarStatus, WorkspaceStatus};

impl fmt::Display for WorkspaceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ago = |at: f64| {
            let now = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default();
            span((now.as_secs_f64() - at).max(0.0))
        };
        let mut table = table([
            "sidecar", "state", "gen", "pid", "memory", "requests", "p50", "p99", "crashes",
        ]);
        for sidecar in &self.sidecars {
            table.add_row(row(sidecar));
        }
        let (since, used) = (ago(self.started), ago(self.last_activity));
        write!(
            f,
            "{}  (since {since}, last used {used} ago)\n{table}",
            self.root
        )
    }
}

fn row(sidecar: &SidecarStatus) -> [String; 9] {
    let state = serde_json::to_value(sidecar.state).ok();
    let mut state = state
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or("?")
        .to_owned();
    if let Some(seconds) = sidecar.unresponsive_s {
        state = format!("{state} (no answer for {})", span(seconds));
    }
    [
        sidecar.name.clone(),
        state,
        sidecar.generation.to_string(),
        sidecar
            .pid
            .map_or_else(|| "-".into(), |pid| pid.to_string()),
        memory(sidecar.memory_bytes),
        sidecar.requests.to_string(),
        millis(sidecar.p50_ms),
        millis(sidecar.p99_ms),
        sidecar.crashes.to_string(),
    ]
}
