//! `pillion watch`: clocks, engines and questions as they are, again and again.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pillion::system::{StatsReport, Status, StatusReport, SystemStats};
use pillion::{Code, Error, Operation, Result};
use pillion_catalogue::text::{memory, millis, span, table};
use pillion_client::Client;

use super::{Global, output};

/// Show clocks, engines and questions live.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Seconds between two looks.
    #[arg(long, default_value = "1", value_name = "SECONDS", value_parser = interval)]
    interval: Duration,
    /// Look so often, then end; for ever if not given.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("from 0.1 to 3600 seconds".into()),
    }
}

/// How often each operation had been asked for at the last look.
type Asked = HashMap<String, u64>;

impl Watch {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let mut before = Asked::new();
        let mut looks = 0;
        while self.count.is_none_or(|count| looks < count) {
            if looks > 0 {
                tokio::select! {
                    () = tokio::time::sleep(self.interval) => {}
                    _ = tokio::signal::ctrl_c() => break,
                }
            }
            looks += 1;
            let Some((status, stats)) = look(global).await? else {
                show("no daemon is running; it starts with the first question\n");
                before.clear();
                continue;
            };
            if global.json {
                let line = serde_json::json!({ "status": status, "operations": stats.operations });
                if !output::try_say(&line.to_string()) {
                    break;
                }
                continue;
            }
            show(&page(&status, &stats, &before, self.interval));
            before = asked(&stats);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the daemon says now; nothing if there is none. It is not started for this.
async fn look(global: &Global) -> Result<Option<(StatusReport, StatsReport)>> {
    let client = match Client::connect(&global.endpoint()).await {
        Ok(client) => client,
        Err(error) if error.code == Code::Unreachable => return Ok(None),
        Err(error) => return Err(error),
    };
    let status = client.call_as(Status::NAME, ()).await;
    let stats = client.call_as(SystemStats::NAME, ()).await;
    match (status, stats) {
        (Ok(status), Ok(stats)) => Ok(Some((status, stats))),
        // It ended between the two.
        (
            Err(Error {
                code: Code::Unreachable,
                ..
            }),
            _,
        )
        | (
            _,
            Err(Error {
                code: Code::Unreachable,
                ..
            }),
        ) => Ok(None),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// A page in the place of the last one; on anything but a terminal, below it.
fn show(page: &str) {
    if std::io::stdout().is_terminal() {
        // Home, the page with each line's rest cleared, and what is below it.
        let page = output::shown(page).replace('\n', "\x1b[K\n");
        output::print_as_it_is(&format!("\x1b[H{page}\x1b[J"));
    } else {
        output::print(page);
    }
}

fn page(status: &StatusReport, stats: &StatsReport, before: &Asked, since: Duration) -> String {
    let mut page = format!(
        "pillion {} (pid {}), up {}, {}\n",
        status.version,
        status.pid,
        span(status.uptime_s),
        memory(status.memory_bytes)
    );
    let mut clocks = table([
        "workspace",
        "clock",
        "files",
        "folders",
        "look",
        "kept",
        "hits",
    ]);
    for code in &status.clocks {
        let clock = &code.clock;
        let mode = match &clock.why {
            Some(why) => format!("sweeping: {why}"),
            None => clock.clock.to_string(),
        };
        clocks.add_row([
            code.root.clone(),
            mode,
            clock.files.to_string(),
            clock.folders.to_string(),
            format!("{} us", clock.last_sync_us),
            code.cache.size.to_string(),
            code.cache.hits.to_string(),
        ]);
    }
    if !status.clocks.is_empty() {
        page.push_str(&format!("\n{clocks}\n"));
    }
    let mut sidecars = table([
        "sidecar",
        "workspace",
        "state",
        "memory",
        "asked",
        "p50",
        "p99",
    ]);
    for workspace in &status.workspaces {
        for sidecar in &workspace.sidecars {
            sidecars.add_row([
                sidecar.name.clone(),
                workspace.root.clone(),
                format!("{:?}", sidecar.state).to_lowercase(),
                memory(sidecar.memory_bytes),
                sidecar.requests.to_string(),
                millis(sidecar.p50_ms),
                millis(sidecar.p99_ms),
            ]);
        }
    }
    if !status.workspaces.is_empty() {
        page.push_str(&format!("\n{sidecars}\n"));
    }
    let mut operations = table(["operation", "", "asked", "per s", "errors", "p50", "p99"]);
    for one in &stats.operations {
        let new = one.requests - before.get(&one.operation).copied().unwrap_or(one.requests);
        let rate = new as f64 / since.as_secs_f64();
        operations.add_row([
            one.operation.clone(),
            if new > 0 { "*".into() } else { String::new() },
            one.requests.to_string(),
            format!("{rate:.1}"),
            one.errors.to_string(),
            millis(one.p50_ms),
            millis(one.p99_ms),
        ]);
    }
    page.push_str(&format!("\n{operations}\n"));
    page
}

fn asked(stats: &StatsReport) -> Asked {
    let all = stats.operations.iter();
    all.map(|one| (one.operation.clone(), one.requests))
        .collect()
}
