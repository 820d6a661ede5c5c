//! Descriptors of whoever starts pillion stay his: a lock that he holds is released with him,
//! and a pipe that he has closes when he closes it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use pillion_testing::{CommandOutput, TestContext, processes, wait_until};
use serde_json::json;

/// Opens files, a lock and a pipe that survive an exec, low and high, and becomes a program.
const GREEDY: &str = "\
import fcntl, os, resource, sys
base = sys.argv[1]
low = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
for number in (3, 4, 5, 9, 42, 200):
    if number < low:
        os.dup2(os.open(base + '/leak.txt', os.O_RDWR | os.O_CREAT), number, inheritable=True)
lock = os.open(base + '/leak.lock', os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
os.set_inheritable(lock, True)
for end in os.pipe():
    os.set_inheritable(end, True)
    open(base + '/pipe', 'w').write(os.readlink('/proc/self/fd/%d' % end))
os.set_inheritable(os.open(base, os.O_RDONLY), True)
os.execvp(sys.argv[2], sys.argv[2:])
";

/// `command`, started by somebody who has many descriptors open.
fn greedy(context: &TestContext, command: &Command) -> Command {
    let mut greedy = context.command("python3");
    greedy
        .args(["-c", GREEDY])
        .arg(&context.base)
        .arg(command.get_program())
        .args(command.get_args());
    greedy
}

fn context() -> TestContext {
    let context = TestContext::new();
    context.write("old_sidecar.py", include_str!("old_sidecar.py"));
    context.trusted_config(
        "[sidecar.old]\ncommand = ['python3', '-u', 'old_sidecar.py', '--sidecar']\n",
    )
}

/// What a process has open.
fn open(pid: u32) -> BTreeMap<u32, String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let target = fs::read_link(entry.path()).ok()?;
            Some((number, target.to_string_lossy().into_owned()))
        })
        .collect()
}

/// Everything below a process.
fn below(pid: u32) -> Vec<u32> {
    let mut found = processes::children_of(pid);
    let mut at = 0;
    while let Some(next) = found.get(at).copied() {
        found.extend(processes::children_of(next));
        at += 1;
    }
    found
}

fn name(pid: u32) -> String {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).replace('\0', " ")
}

/// None of these processes has anything of the starter's.
fn assert_clean(context: &TestContext, pids: &[u32]) {
    let base = context.base.to_str().unwrap();
    let pipe = fs::read_to_string(context.base.join("pipe")).unwrap();
    for pid in pids {
        for (number, target) in open(*pid) {
            let leaked = target.contains("/leak.") || target == base || target == pipe;
            let name = name(*pid);
            assert!(!leaked, "pid {pid} ({name}) has {number} -> {target}");
        }
    }
}

fn assert_lock_is_free(context: &TestContext) {
    let lock = File::open(context.base.join("leak.lock")).unwrap();
    lock.try_lock().expect("somebody still holds the lock");
}

/// Workers, foreign sidecars, boxes, zygotes and slots, all started by this daemon.
fn start_everything(context: &TestContext) {
    let called = context.pillion_json(&["--json", "call", "things:add", "[1, 2]"]);
    assert_eq!(called["result"], 3);
    context.pillion_json(&["--json", "sidecar", "call", "old", "pid"]);
    for lane in ["expert", "user"] {
        let code = "import os; print(sorted(os.listdir('/proc/self/fd')))";
        let ran = context.pillion_json(&["--json", "exec", "--lane", lane, "-c", code]);
        assert_eq!(ran["outcome"], "ok", "{ran}");
    }
    context.pillion_json(&["--json", "list", "things.py"]);
}

fn daemon_of(context: &TestContext) -> u32 {
    let status = context.pillion_json(&["--json", "status"]);
    u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
}

/// What the daemon and everything below it may have is theirs alone.
fn assert_nothing_came_along(context: &TestContext) {
    start_everything(context);
    let daemon = daemon_of(context);
    let all = below(daemon);
    let programs: Vec<String> = all.iter().map(|pid| name(*pid)).collect();
    for expected in [
        "pillion-guard",
        "worker",
        "old_sidecar.py",
        "pillion-box",
        "zygote.py",
    ] {
        assert!(
            programs.iter().any(|program| program.contains(expected)),
            "no {expected} in {programs:#?}"
        );
    }
    let mut pids = all;
    pids.push(daemon);
    assert_clean(context, &pids);
    assert_lock_is_free(context);
}

#[test]
fn a_daemon_that_the_command_line_starts_keeps_nothing_of_the_callers() {
    let context = context();
    let output = CommandOutput::of(greedy(&context, &context.pillion_command(&["ping"])));
    assert_eq!(output.code, Some(0), "{output}");
    assert_nothing_came_along(&context);
}

#[test]
fn a_daemon_in_the_foreground_keeps_nothing_of_the_callers() {
    let context = context();
    let mut daemon = greedy(
        &context,
        &context.pillion_command(&["daemon", "--no-timeout"]),
    );
    let mut child = daemon.stdout(Stdio::null()).spawn().unwrap();
    wait_until("the daemon to listen", || context.socket().exists());
    assert_nothing_came_along(&context);
    processes::terminate(child.id());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_daemon_that_the_python_client_starts_keeps_nothing_of_the_callers() {
    let mut context = context();
    context.set_env("PILLION_BIN", env!("CARGO_BIN_EXE_pillion"));
    context.set_env("PYTHONDONTWRITEBYTECODE", "1");
    let mut command = context.command("python3");
    command.arg(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../clients/python/pillion_client.py"
    ));
    command.args(["call", "math:hypot", "[3, 4]"]);
    let output = CommandOutput::of(greedy(&context, &command));
    assert_eq!(output.code, Some(0), "{output}");
    assert_nothing_came_along(&context);
}

/// An embedded engine belongs to its parent and may have what that gave it; its children not.
#[test]
fn children_of_an_embedded_engine_have_nothing_of_its_parents() {
    let context = context();
    let mut host = greedy(&context, &context.pillion_command(&["stdio"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (host.stdin.take().unwrap(), host.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    lines.next().unwrap().unwrap();
    let mut ask = |command: &str, args: serde_json::Value| {
        let request =
            json!({"id": 1, "command": command, "project": context.project, "args": args});
        writeln!(input, "{request}").unwrap();
        let answer: serde_json::Value =
            serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(
            answer["error"],
            serde_json::Value::Null,
            "{command}: {answer}"
        );
    };
    ask(
        "py.call",
        json!({"function": "things:add", "params": [1, 2]}),
    );
    ask("sidecar.call", json!({"sidecar": "old", "command": "pid"}));
    for lane in ["expert", "user"] {
        ask("exec.run", json!({"code": "print(1)", "lane": lane}));
    }
    let children = below(host.id());
    assert!(children.len() >= 6, "{children:?}");
    assert_clean(&context, &children);
    drop(input);
    assert!(host.wait().unwrap().success());
}
