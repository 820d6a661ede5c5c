//! The reports as people read them.

use std::fmt::Write;

use pillion_catalogue::text::{memory, millis, span, table};

use super::reports::{StatsReport, StatusReport};

pub(super) fn status(report: &StatusReport) -> String {
    let mut text = format!(
        "pillion {} (pid {}), up {}, {}",
        report.version,
        report.pid,
        span(report.uptime_s),
        memory(report.memory_bytes),
    );
    // Writing to a text does not fail.
    if let Some(socket) = &report.socket {
        let _ = write!(text, "\nsocket  {socket}");
    }
    if let Some(log) = &report.log_file {
        let _ = write!(text, "\nlog     {log}");
    }
    if let Some(port) = report.port {
        let _ = write!(text, "\nhttp    http://127.0.0.1:{port}");
    }
    if report.workspaces.is_empty() {
        text.push_str("\nno workspaces yet; try `pillion call math:hypot '[3, 4]'`");
    }
    for workspace in &report.workspaces {
        let _ = write!(text, "\n\n{workspace}");
    }
    for code in &report.clocks {
        let clock = &code.clock;
        let how = match &clock.why {
            Some(why) => format!("every file is looked at before each question: {why}"),
            None => format!("{} folders watched", clock.watches),
        };
        let _ = write!(
            text,
            "\n\n{}  clock {}, {} files, {how}",
            code.root, clock.clock, clock.files
        );
    }
    for server in &report.servers {
        let root = server.workspace_root.as_deref().unwrap_or("any folder");
        let _ = write!(
            text,
            "\n\nserver (pid {}) on http://127.0.0.1:{} for {root}",
            server.pid, server.port
        );
    }
    text
}

pub(super) fn stats(report: &StatsReport) -> String {
    let mut table = table([
        "operation",
        "requests",
        "errors",
        "p50",
        "p90",
        "p99",
        "max",
    ]);
    for s in &report.operations {
        table.add_row([
            s.operation.clone(),
            s.requests.to_string(),
            s.errors.to_string(),
            millis(s.p50_ms),
            millis(s.p90_ms),
            millis(s.p99_ms),
            millis(s.max_ms),
        ]);
    }
    let (up, memory) = (span(report.uptime_s), memory(report.memory_bytes));
    format!("up {up}, {memory}\n{table}")
}
