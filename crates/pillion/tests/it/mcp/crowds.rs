//! Many agents, and agents that go.

use std::process::Stdio;

use pillion_testing::processes::{Process, is_alive, kill};
use pillion_testing::{TestContext, wait_for_file, wait_until};
use serde_json::json;

/// A host that starts `pillion mcp`, opens a session, makes a call and waits for ever.
const HOST: &str = r#"
import json, subprocess, sys
server = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
client = {"name": "test", "version": "1"}
send({"id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}})
server.stdout.readline()
arguments = {"function": "things:block", "params": sys.argv[2:4]}
send({"id": 2, "method": "tools/call", "params": {"name": "py_call", "arguments": arguments}})
server.stdout.readline()
"#;

#[test]
fn twenty_agents_share_one_daemon_and_its_python() {
    let context = TestContext::new();
    // All of them call while nothing runs yet.
    let agents: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..20)
            .map(|number| {
                let context = &context;
                scope.spawn(move || {
                    let mut agent = context.agent(&[]);
                    assert_eq!(agent.py("things:echo", json!([number])), number);
                    agent
                })
            })
            .collect();
        started.into_iter().map(|a| a.join().unwrap()).collect()
    });
    let running = context.processes();
    let count = |is: fn(&Process) -> bool| running.iter().filter(|p| is(p)).count();
    assert_eq!(count(Process::is_daemon), 1, "{running:?}");
    // As many as the daemon's pool has for one client; not one for each agent.
    let workers = count(Process::is_worker);
    assert!((1..=4).contains(&workers), "{workers} workers: {running:?}");
    drop(agents);
}

#[test]
fn an_agent_that_is_killed_leaves_nothing_behind() {
    let context = TestContext::new();
    let (started, until) = (context.path("started"), context.path("until"));
    let mut host = context.command("python3");
    host.args(["-c", HOST, env!("CARGO_BIN_EXE_pillion"), &started, &until])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut host = host.spawn().unwrap();
    wait_for_file(&started);
    let relay = |process: &Process| process.command.get(1).is_some_and(|word| word == "mcp");
    let ours = context.processes().into_iter().find(relay).unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    wait_until("the relay to end", || !is_alive(ours.pid));
    // The call ended with it: nobody works in the daemon.
    wait_until("the call to end", || {
        context.pillion_json(&["status", "--json"])["idle"] == true
    });
}

#[test]
fn a_relay_that_is_killed_cancels_its_call() {
    let context = TestContext::new();
    let mut agent = context.agent(&[]);
    let (started, until) = (context.path("started"), context.path("until"));
    let arguments = json!({ "function": "things:block", "params": [&started, until] });
    agent.send(
        "tools/call",
        json!({ "name": "py_call", "arguments": arguments }),
    );
    wait_for_file(&started);
    kill(agent.lines.child.id());
    wait_until("the call to end", || {
        context.pillion_json(&["status", "--json"])["idle"] == true
    });
}
