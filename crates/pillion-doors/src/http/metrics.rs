//! `GET /metrics`: the statistics in Prometheus' text form.

use std::fmt::Write;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::DoorState;

/// The numbers of the catalogue. They belong to it, not to the process, so that
/// several embedded engines do not add up; hence no global recorder.
pub(super) async fn metrics(State(state): State<DoorState>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], render(&state))
}

fn render(state: &DoorState) -> String {
    let stats = state.catalogue.stats().snapshot();
    let mut text = String::new();
    family(
        &mut text,
        "pillion_requests_total",
        "counter",
        "Requests by operation.",
    );
    for s in &stats {
        let _ = writeln!(
            text,
            "pillion_requests_total{{operation=\"{}\"}} {}",
            s.operation, s.requests
        );
    }
    family(
        &mut text,
        "pillion_errors_total",
        "counter",
        "Failed requests by operation.",
    );
    for s in &stats {
        let _ = writeln!(
            text,
            "pillion_errors_total{{operation=\"{}\"}} {}",
            s.operation, s.errors
        );
    }
    family(
        &mut text,
        "pillion_request_seconds",
        "summary",
        "Time of a request by operation.",
    );
    for s in &stats {
        for (quantile, ms) in [("0.5", s.p50_ms), ("0.9", s.p90_ms), ("0.99", s.p99_ms)] {
            let seconds = ms / 1000.0;
            let _ = writeln!(
                text,
                "pillion_request_seconds{{operation=\"{}\",quantile=\"{quantile}\"}} {seconds}",
                s.operation
            );
        }
        let _ = writeln!(
            text,
            "pillion_request_seconds_count{{operation=\"{}\"}} {}",
            s.operation, s.requests
        );
    }
    family(
        &mut text,
        "pillion_running",
        "gauge",
        "Requests and sidecars alive now.",
    );
    let _ = writeln!(
        text,
        "pillion_running {}",
        state.catalogue.activity().running()
    );
    if let Some(bytes) = pillion_process::stat::resident_bytes(std::process::id()) {
        family(
            &mut text,
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory.",
        );
        let _ = writeln!(text, "process_resident_memory_bytes {bytes}");
    }
    text
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
