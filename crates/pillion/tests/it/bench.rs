//! `pillion bench` measures what it says. Shapes and signs only: durations belong to
//! benches, and a machine under test has better things to do.

use std::time::Duration;

use serde_json::Value;

fn bench(arguments: &[&str]) -> Value {
    let home = tempfile::tempdir().unwrap();
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_pillion"))
        .args(["bench", "--json"])
        .args(arguments)
        .env("PILLION_HOME", home.path())
        .timeout(Duration::from_secs(300))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_row_has_its_numbers_and_its_baseline() {
    let temp = tempfile::tempdir().unwrap();
    let picture = temp.path().join("bench.svg");
    let report = bench(&["--quick", "--plot", picture.to_str().unwrap()]);
    let machine = &report["machine"];
    for key in ["cpu", "kernel", "python", "pillion"] {
        assert!(machine[key].is_string(), "{key}");
    }
    let rows = report["rows"].as_array().unwrap();
    let row = |name: &str| {
        rows.iter()
            .find(|row| row["name"] == name)
            .unwrap_or_else(|| panic!("no row `{name}`"))
    };
    for door in ["socket", "stdio", "http", "embedded"] {
        for payload in ["100B", "10kB", "1MB", "100B/x16", "100B/x16/rate"] {
            let row = row(&format!("{door}/{payload}"));
            assert!(row["ratio"].as_f64().unwrap() > 0.0, "{row}");
            assert!(row["baseline"]["p50"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    let promised = [
        "socket/100B",
        "embedded/100B",
        "cli/absolute",
        "cli/python-client",
        "daemon/memory",
        "daemon/start",
        "daemon/recovery",
    ];
    for name in promised {
        let row = row(name);
        assert!(row["ours"]["p50"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["budget"]["met"].is_boolean(), "{row}");
    }
    assert!(row("socket/100B/300-modules")["ratio"].as_f64().unwrap() > 0.0);
    assert!(row("cli/one-shot")["ratio"].as_f64().unwrap() > 0.0);
    let drawn = std::fs::read_to_string(picture).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"));
}

#[test]
fn only_what_was_asked_for_is_measured() {
    let report = bench(&["--quick", "--only", "daemon/memory"]);
    let names: Vec<_> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["daemon/memory"]);
}

#[test]
fn a_soak_watches_daemon_and_worker() {
    let report = bench(&["--soak", "2000"]);
    assert_eq!(report["soak"]["calls"], 2000);
    for (row, name) in report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["soak/daemon", "soak/worker"])
    {
        assert_eq!(row["name"], name);
        assert_eq!(row["unit"], "%");
    }
    let last = report["soak"]["samples"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(last[0], 2000);
    assert!(last[1].as_f64().unwrap() > 0.0 && last[2].as_f64().unwrap() > 0.0);
}
