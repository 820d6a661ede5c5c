//! Bad surroundings: no Python, the wrong one, no home, a full disk, another version.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use pillion_testing::lines::LineProcess;
use pillion_testing::{CommandOutput, TestContext, wait_until};
use serde_json::{Value, json};

/// Only these programs are on `PATH`.
fn only(context: &mut TestContext, programs: &[(&str, &str)]) {
    let bin = context.base.join("bin");
    fs::create_dir(&bin).unwrap();
    for (name, script) in programs {
        let path = bin.join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    context.set_env("PATH", &bin);
}

fn failed_call(context: &TestContext) -> Value {
    let output = context.pillion(&["--json", "call", "things:pid"]);
    assert_eq!(output.code, Some(1), "{output}");
    output.json()
}

const OLD: &str = "#!/bin/sh\necho '{\"executable\": \"/opt/old/bin/python3\", \"version\": \"3.8.10\", \
    \"prefix\": \"/opt/old\", \"base_prefix\": \"/opt/old\", \"implementation\": \"cpython\", \
    \"site_packages\": [], \"platform\": \"linux-x86_64\", \"cache_tag\": \"cpython-38\"}'\n";

#[test]
fn no_python_at_all() {
    let mut context = TestContext::new();
    only(&mut context, &[]);
    let error = failed_call(&context);
    assert_eq!(error["code"], "python_not_found", "{error}");
    assert_eq!(error["kind"], "environment");
    assert!(!error["hint"].as_str().unwrap().is_empty(), "{error}");
    let doctor = context.pillion(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor}");
    assert!(
        doctor.stdout.contains("problem: ") && doctor.stdout.contains("hint: "),
        "{doctor}"
    );
}

#[test]
fn a_python_that_is_too_old() {
    let mut context = TestContext::new();
    only(&mut context, &[("python3", OLD)]);
    let error = failed_call(&context);
    assert_eq!(error["code"], "python_not_found", "{error}");
    let text = error.to_string();
    assert!(text.contains("3.8.10") && text.contains("3.10"), "{error}");
    assert!(error["hint"].is_string());
}

#[test]
fn a_broken_environment() {
    let mut context = TestContext::new();
    only(
        &mut context,
        &[("python3", "#!/bin/sh\necho no encodings >&2\nexit 1\n")],
    );
    fs::create_dir_all(context.project.join(".venv/bin")).unwrap();
    fs::write(context.project.join(".venv/pyvenv.cfg"), "home = /gone\n").unwrap();
    symlink("/gone/python3.12", context.project.join(".venv/bin/python")).unwrap();
    let error = failed_call(&context);
    assert_eq!(error["code"], "python_not_found", "{error}");
    let text = error.to_string();
    assert!(
        text.contains("/gone/python3.12"),
        "which link is broken: {error}"
    );
    assert!(
        text.contains("no encodings"),
        "what the other said: {error}"
    );
    assert!(error["hint"].is_string());
}

#[test]
fn a_python_that_was_named_is_not_replaced_by_another() {
    let context = TestContext::new();
    let output = context.pillion(&["--json", "call", "--python", "./nosuch", "things:pid"]);
    assert_eq!(output.code, Some(1), "{output}");
    let error = output.json();
    assert_eq!(error["code"], "python_not_found", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("nosuch"),
        "{error}"
    );
}

#[test]
fn the_projects_environment_is_used_as_soon_as_it_is_there() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    context.write(
        "where.py",
        "import sys\ndef prefix():\n    return sys.prefix\n",
    );
    let before = rpc.py("where:prefix", json!([])).unwrap();
    let mut venv = context.command("python3");
    venv.args(["-m", "venv", "--without-pip", ".venv"]);
    let output = CommandOutput::of(venv);
    assert_eq!(output.code, Some(0), "{output}");
    let after = rpc.py("where:prefix", json!([])).unwrap();
    assert_ne!(before, after);
    assert_eq!(after, context.project.join(".venv").to_str().unwrap());
}

#[test]
fn a_home_that_cannot_be_written() {
    let mut context = TestContext::new();
    let home = context.base.join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o555)).unwrap();
    // Permissions do not stop root; a file in the place of a folder stops everybody.
    let file = home.join("file");
    let place = if rustix::process::geteuid().is_root() {
        fs::write(&file, "").unwrap();
        file
    } else {
        home
    };
    context.set_env("HOME", &place);
    context.remove_env("PILLION_HOME");
    for args in [
        &["--json", "call", "things:add", "[1, 2]"][..],
        &["--json", "--no-daemon", "call", "things:add", "[1, 2]"],
    ] {
        let output = context.pillion(args);
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(output.json()["result"], 3);
    }
    context.set_env("PILLION_HOME", place.join("pillion"));
    let output = context.pillion(&[
        "--json",
        "--instance",
        "other",
        "call",
        "things:add",
        "[1, 2]",
    ]);
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_full_disk_under_the_log() {
    let context = TestContext::new();
    let daemon = context.daemon_with(&["--no-timeout", "--log-file", "/dev/full"]);
    let mut rpc = daemon.connect();
    for n in 0..50 {
        assert_eq!(rpc.py("things:echo", json!([n])).unwrap(), n);
    }
    assert!(rpc.py("things:os_exit", json!([])).is_err());
    assert_eq!(rpc.py("things:add", json!([1, 1])).unwrap(), 2);
    drop(rpc);
    drop(daemon);
    // A client that starts a daemon is not stopped by it either.
    let output = context.pillion(&[
        "--json",
        "--log-file",
        "/dev/full",
        "call",
        "things:add",
        "[1, 2]",
    ]);
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_folder_that_is_gone() {
    let context = TestContext::new();
    let gone = context.base.join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = context.command("sh");
    command.args([
        "-c",
        "cd \"$1\" && rmdir \"$1\" && exec \"$0\" --json call math:sqrt '[4]'",
    ]);
    command.arg(env!("CARGO_BIN_EXE_pillion")).arg(&gone);
    let output = CommandOutput::of(command);
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(output.json()["code"], "not_found", "{output}");
    assert!(output.json()["hint"].is_string());
}

const FAKE: &str = include_str!("fake_daemon.py");

/// A daemon that says it is of another version.
fn fake(context: &TestContext, version: &str, idle: bool) -> LineProcess {
    fs::create_dir_all(context.socket().parent().unwrap()).unwrap();
    let mut command = context.command("python3");
    command.args(["-c", FAKE]).arg(context.socket());
    command.args([version, if idle { "idle" } else { "busy" }]);
    let mut fake = LineProcess::start(command);
    assert_eq!(fake.line().as_deref(), Some("ready"));
    fake
}

#[test]
fn an_older_daemon_that_is_idle_is_replaced() {
    let context = TestContext::new();
    let mut fake = fake(&context, "0.0.1", true);
    let version = context.pillion_json(&["--json", "status"]);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"), "{version}");
    assert!(fake.wait().success(), "it was asked to go");
}

#[test]
fn an_older_daemon_at_work_is_left_alone() {
    let context = TestContext::new();
    let mut fake = fake(&context, "0.0.1", false);
    let output = context.pillion(&["--json", "ping"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(output.json()["code"], "version_mismatch");
    assert!(
        output.json()["hint"].as_str().unwrap().contains("older"),
        "{output}"
    );
    assert!(fake.child.try_wait().unwrap().is_none(), "it still runs");
    let output = context.pillion(&["stop"]);
    assert_eq!(
        output.code,
        Some(0),
        "`stop` works for any version: {output}"
    );
    assert!(fake.wait().success());
}

#[test]
fn a_newer_daemon_is_left_alone() {
    let context = TestContext::new();
    let mut fake = fake(&context, "99.0.0", true);
    let output = context.pillion(&["--json", "ping"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(output.json()["code"], "version_mismatch");
    let hint = output.json()["hint"].as_str().unwrap().to_owned();
    assert!(
        hint.contains("update") || hint.contains("--instance"),
        "{hint}"
    );
    assert!(fake.child.try_wait().unwrap().is_none(), "it still runs");
    fake.child.kill().unwrap();
}

#[test]
fn a_daemon_that_hangs_is_told_apart_from_none() {
    let context = TestContext::new();
    fs::create_dir_all(context.socket().parent().unwrap()).unwrap();
    let _silent = std::os::unix::net::UnixListener::bind(context.socket()).unwrap();
    let output = context.pillion(&["--json", "ping"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(output.json()["code"], "timeout", "{output}");
    assert!(output.json()["hint"].is_string());
}

#[test]
fn a_daemon_that_cannot_start_leaves_the_work_to_an_embedded_engine() {
    let mut context = TestContext::new();
    if rustix::process::geteuid().is_root() {
        let folder = context.socket().parent().unwrap().to_owned();
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();
    } else {
        context.set_env("XDG_RUNTIME_DIR", "/");
    }
    let output = context.pillion(&["call", "things:add", "[1, 2]"]);
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), "3"),
        "{output}"
    );
    assert!(
        output.stderr.contains("warning: no daemon can be started"),
        "{output}"
    );
    wait_until("nothing to be left of it", || {
        context.processes().is_empty()
    });
}
