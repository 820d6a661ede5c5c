//! `pillion bench` measures what it says. Shapes and signs only: durations belong to
//! benches, and a machine under test has better things to do.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use pillion_testing::is_root;
use serde_json::Value;

fn bench(arguments: &[&str]) -> Value {
    let home = tempfile::tempdir().unwrap();
    bench_at(home.path(), arguments)
}

fn bench_at(home: &Path, arguments: &[&str]) -> Value {
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_pillion"))
        .args(["bench", "--json"])
        .args(arguments)
        .env("PILLION_HOME", home)
        .timeout(Duration::from_secs(600))
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

/// A tree in which names are used in bodies of functions, some of them in many files.
fn small_tree(root: &Path) {
    for n in 0..12 {
        let mut text = String::from("from shared import Store, keep_all\n\n\n");
        for m in 0..4 {
            let _ = writeln!(
                text,
                "def handle_{n}_{m}(value: str) -> Store:\n    store = Store(value)\n    \
                 keep_all(store.refresh(), store)\n    return store\n\n"
            );
        }
        std::fs::write(root.join(format!("part{n}.py")), text).unwrap();
    }
    let shared = "class Store:\n    def __init__(self, value: str) -> None:\n        \
                  self.value = value\n\n    def refresh(self) -> int:\n        \
                  return len(self.value)\n\n\ndef keep_all(*stores: object) -> None:\n    ...\n";
    std::fs::write(root.join("shared.py"), shared).unwrap();
}

#[test]
fn questions_about_code_have_their_rows() {
    let tree = tempfile::tempdir().unwrap();
    small_tree(tree.path());
    let before = std::fs::read_to_string(tree.path().join("part3.py")).unwrap();
    // Kept between runs: it gets the managed environment, which takes long to build.
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-code-home");
    let folder = tree.path().to_str().unwrap();
    let report = bench_at(&home, &["code", "--quick", "--tree", folder]);
    let subject = report["subject"].as_str().unwrap();
    assert!(subject.contains("13 Python files"), "{subject}");
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "defs/new",
            "defs/warm",
            "defs/found",
            "defs/warm/p90",
            "defs/one-shot",
            "hover/new",
            "hover/warm",
            "refs/new",
            "refs/warm",
            "cli/absolute",
            "cli/python-client",
            "cli/one-shot",
            "symbols",
            "grep",
            "start/cold",
            "start/indexed",
            "start/index",
            "memory/tree",
            "memory/growth",
            "mixed/quick",
            "memory/small",
            "edit/same",
            "edit/elsewhere",
            "edit/stale",
        ]
    );
    for row in rows {
        let signed = ["memory/growth", "edit/stale"].contains(&row["name"].as_str().unwrap());
        assert!(
            signed || row["ours"]["p50"].as_f64().unwrap() > 0.0,
            "{row}"
        );
        assert!(
            row["baseline"].is_null() || row["ratio"].as_f64().unwrap() > 0.0,
            "{row}"
        );
    }
    let after = std::fs::read_to_string(tree.path().join("part3.py")).unwrap();
    assert_eq!(
        after, before,
        "the tree that was given is not the one that is edited"
    );
}

#[test]
fn the_map_has_its_rows() {
    let tree = tempfile::tempdir().unwrap();
    small_tree(tree.path());
    let home = tempfile::tempdir().unwrap();
    let folder = tree.path().to_str().unwrap();
    let report = bench_at(home.path(), &["map", "--quick", "--tree", folder]);
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "first/new",
            "first/kept",
            "again/call_graph",
            "again/structure",
            "again/dead_code",
            "again/architecture",
            "again/references",
            "again/impact",
            "again/graph",
            "types/new",
            "edit/body",
            "edit/head",
            "edit/method",
            "edit/graph",
            "memory/graph",
        ]
    );
    for row in rows {
        assert!(row["ours"]["p50"].as_f64().unwrap() > 0.0, "{row}");
        // How long a type checker takes is promised by nobody.
        let has_budget = row["name"] != "types/new";
        assert_eq!(row["budget"].is_object(), has_budget, "{row}");
    }
}

#[test]
fn a_tree_without_code_is_refused() {
    let tree = tempfile::tempdir().unwrap();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-code-home");
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_pillion"))
        .args(["bench", "code", "--quick", "--tree"])
        .arg(tree.path())
        .env("PILLION_HOME", home)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("too few names"), "{stderr}");
    assert!(stderr.contains("hint: `--tree` wants a folder"), "{stderr}");
}

#[test]
fn notebooks_have_their_rows() {
    // Kept between runs: it gets an environment with ipykernel.
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-notebook-home");
    let report = bench_at(&home, &["notebook", "--quick"]);
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        // Only root may weigh it.
        .filter(|name| *name != "memory/spare" || is_root())
        .collect();
    let mut expected = vec!["start/spare", "start/cold", "cell/round", "complete/live"];
    expected.extend(is_root().then_some("memory/spare"));
    expected.push("growth/daemon");
    assert_eq!(names, expected);
    for row in rows.iter().filter(|row| row["baseline"].is_object()) {
        assert!(row["ratio"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn lanes_have_their_rows() {
    let home = tempfile::tempdir().unwrap();
    let report = bench_at(home.path(), &["exec", "--quick"]);
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        // Only root may weigh them.
        .filter(|name| *name != "memory/slots" || is_root())
        .collect();
    let mut expected = vec![
        "first/slot",
        "first/fork",
        "first/cold",
        "rate/x4",
        "health/running",
    ];
    expected.extend(is_root().then_some("memory/slots"));
    assert_eq!(names, expected);
    let cold = rows.iter().find(|row| row["name"] == "first/cold").unwrap();
    assert!(cold["ours"]["p50"].as_f64().unwrap() > 0.0, "{cold}");
    assert!(cold["ratio"].as_f64().unwrap() > 0.0, "{cold}");
}

#[test]
fn sessions_have_their_rows() {
    let home = tempfile::tempdir().unwrap();
    let report = bench_at(home.path(), &["session", "--quick"]);
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    let expected = [
        "start/desktop",
        "turn/first",
        "turn/overhead",
        "health/loaded",
        "memory/idle",
    ];
    assert_eq!(names, expected);
    for row in rows {
        assert!(row["ours"]["p50"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["budget"].is_object(), "{row}");
    }
}
