//! `system.subscribe`: news, pushed as they happen.

use pillion_catalogue::{Context, Offer, Operation, Prints, Result, Safety, Streams};
use pillion_supervisor::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SystemService;

/// Stream what happens: sidecar states and restarts, progress, log lines.
///
/// It ends when the caller cancels or hangs up. A caller that reads too slowly is told
/// how many events it missed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// Which events: `sidecar_state`, `sidecar_ended`, `progress`, `log`; all if none is named.
    #[arg(long = "event", value_name = "EVENT")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// End after so many events.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// How much was told.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Subscribed {
    /// Events sent.
    pub events: u64,
}

impl Operation for Subscribe {
    const NAME: &'static str = "system.subscribe";
    const SAFETY: Safety = Safety::Read;
    const STREAMS: Streams = Streams::Always;
    const OFFER: Offer = Offer::PLAIN
        .typed("events", 440)
        .prints(Prints::Items)
        .no_tool();
    type Service = SystemService;
    type Output = Subscribed;

    async fn run(self, cx: Context<SystemService>) -> Result<Subscribed> {
        let mut listener = cx.service().supervisor.events().listen();
        let shutdown = cx.service().shutdown.clone();
        // From here on nothing is missed: the caller may go on.
        cx.emit(&serde_json::json!({ "event": "subscribed" }))
            .await?;
        let mut sent = 0;
        while self.max.is_none_or(|max| sent < max) {
            let event = tokio::select! {
                event = listener.next() => event,
                () = shutdown.cancelled() => None,
            };
            let Some(event) = event else { break };
            if self.wants(&event) {
                cx.emit(&event).await?;
                sent += 1;
            }
        }
        Ok(Subscribed { events: sent })
    }
}

impl Subscribe {
    fn wants(&self, event: &Event) -> bool {
        let name = match event {
            Event::SidecarState { .. } => "sidecar_state",
            Event::SidecarEnded { .. } => "sidecar_ended",
            Event::Progress { .. } => "progress",
            Event::Log { .. } => "log",
            Event::Missed { .. } => return true,
        };
        self.events.is_empty() || self.events.iter().any(|wanted| wanted == name)
    }
}
