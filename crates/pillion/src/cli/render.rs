//! Results as people read them.

use std::time::{Duration, SystemTime};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use pillion::system::{StatsReport, StatusReport};
use pillion_code::answers::Outline;
use pillion_python::operations::{Module, WorkerList};
use pillion_supervisor::{SidecarStatus, WorkspaceStatus};
use serde_json::{Value, json};

use super::output::{say, say_json};

/// Decode, or show what came: a daemon of another version may say more or less.
fn decoded<T: serde::de::DeserializeOwned>(json: &str, show: impl FnOnce(T)) {
    match serde_json::from_str(json) {
        Ok(value) => show(value),
        Err(_) => say_json(json),
    }
}

pub(crate) fn status(json: &str) {
    decoded(json, |report: StatusReport| {
        say(&format!(
            "pillion {} (pid {}), up {}, {}",
            report.version,
            report.pid,
            span(report.uptime_s),
            memory(report.memory_bytes),
        ));
        if let Some(socket) = &report.socket {
            say(&format!("socket  {socket}"));
        }
        if let Some(log) = &report.log_file {
            say(&format!("log     {log}"));
        }
        if let Some(port) = report.port {
            say(&format!("http    http://127.0.0.1:{port}"));
        }
        if report.workspaces.is_empty() {
            say("no workspaces yet; try `pillion call math:hypot '[3, 4]'`");
        }
        report.workspaces.iter().for_each(workspace);
        for code in &report.clocks {
            let clock = &code.clock;
            let how = match &clock.why {
                Some(why) => format!("every file is looked at before each question: {why}"),
                None => format!("{} folders watched", clock.watches),
            };
            say(&format!(
                "\n{}  clock {}, {} files, {how}",
                code.root, clock.clock, clock.files
            ));
        }
        for server in &report.servers {
            let root = server.workspace_root.as_deref().unwrap_or("any folder");
            say(&format!(
                "\nserver (pid {}) on http://127.0.0.1:{} for {root}",
                server.pid, server.port
            ));
        }
    });
}

pub(crate) fn workers(json: &str) {
    decoded(json, |list: WorkerList| {
        if list.workspaces.is_empty() {
            say("no workers yet; the first call starts one");
        }
        list.workspaces.iter().for_each(workspace);
    });
}

fn workspace(workspace: &WorkspaceStatus) {
    let ago = |at: f64| {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        span((now.as_secs_f64() - at).max(0.0))
    };
    say(&format!(
        "\n{}  (since {}, last used {} ago)",
        workspace.root,
        ago(workspace.started),
        ago(workspace.last_activity)
    ));
    let mut table = table([
        "sidecar", "state", "gen", "pid", "memory", "requests", "p50", "p99", "crashes",
    ]);
    for sidecar in &workspace.sidecars {
        table.add_row(row(sidecar));
    }
    say(&table.to_string());
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

pub(crate) fn stats(json: &str) {
    decoded(json, |report: StatsReport| {
        say(&format!(
            "up {}, {}",
            span(report.uptime_s),
            memory(report.memory_bytes)
        ));
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
        say(&table.to_string());
    });
}

pub(crate) fn module(json: &str) {
    decoded(json, |module: Module| {
        say(&format!(
            "{}  {}",
            module.module,
            module.file.as_deref().unwrap_or("")
        ));
        if let Some(line) = module.doc.lines().next() {
            say(&format!("  {line}"));
        }
        for function in &module.functions {
            let kind = match (function.is_async, function.stream) {
                (_, true) => "  (stream)",
                (true, false) => "  (async)",
                (false, false) => "",
            };
            let signature = function.signature.as_deref().unwrap_or("(...)");
            say(&format!(
                "\n{}:{}{signature}{kind}",
                module.module, function.name
            ));
            if !function.summary.is_empty() {
                say(&format!("    {}", function.summary));
            }
        }
    });
}

/// The top level of files as `[{path, kind, name, line}]`.
pub(crate) fn flat_list(json: &str) {
    decoded(json, |outline: Outline| {
        let all: Vec<Value> = outline
            .symbols
            .iter()
            .filter(|symbol| symbol.container.is_none())
            .map(|symbol| {
                json!({
                    "path": symbol.file, "kind": symbol.kind,
                    "name": symbol.name, "line": symbol.line,
                })
            })
            .collect();
        say_json(&Value::from(all).to_string());
    });
}

/// One line of progress.
pub(crate) fn progress(json: &str) -> String {
    let Ok(news) = serde_json::from_str::<Value>(json) else {
        return json.to_owned();
    };
    let part = |name: &str| news.get(name).filter(|v| !v.is_null()).cloned();
    let message = part("message")
        .and_then(|m| m.as_str().map(str::to_owned))
        .unwrap_or_default();
    match (part("value"), part("total")) {
        (Some(value), Some(total)) => format!("[{value}/{total}] {message}"),
        (Some(value), None) => format!("[{value}] {message}"),
        _ => message,
    }
}

/// A table without lines, numbers to the right.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 2));
        if index > 1 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A span of time as people say it.
pub(crate) fn span(seconds: f64) -> String {
    let whole = Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs();
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min", whole / 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d", whole / 86_400),
    }
}

pub(crate) fn memory(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "-".into(),
        |bytes| format!("{:.1} MB", bytes as f64 / 1e6),
    )
}

pub(crate) fn millis(ms: f64) -> String {
    format!("{ms:.2} ms")
}
