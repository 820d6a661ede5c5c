//! The client in one Python file: the same questions, answers and errors as `pillion`.

use std::process::Stdio;
use std::sync::Arc;

use pillion::{Catalogue, Error};
use pillion_testing::{CommandOutput, TestContext, processes, wait_for_file, wait_until};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

const CLIENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../clients/python/pillion_client.py"
);

const GREETING: &str = "\
class Greeter:
    def hello(self):
        return 'hi'

async def greet(name):
    return Greeter().hello() + name
";

fn context() -> TestContext {
    let mut context = TestContext::new();
    context.set_env("PILLION_BIN", env!("CARGO_BIN_EXE_pillion"));
    // A module of Python's own beside it must not be written into the repository.
    context.set_env("PYTHONDONTWRITEBYTECODE", "1");
    context.write("greeting.py", GREETING);
    context
}

fn client(context: &TestContext, args: &[&str]) -> CommandOutput {
    let mut command = context.command("python3");
    command.arg(CLIENT).args(args);
    CommandOutput::of(command)
}

fn client_json(context: &TestContext, args: &[&str]) -> Value {
    let output = client(context, args);
    assert_eq!(output.code, Some(0), "{args:?}\n{output}");
    assert_eq!(output.stderr, "", "{args:?}");
    output.json()
}

/// The daemons that run, by pid.
fn daemons(context: &TestContext) -> Vec<u32> {
    let living = context.processes().into_iter();
    living
        .filter(processes::Process::is_daemon)
        .map(|process| process.pid)
        .collect()
}

#[test]
fn the_first_call_starts_the_daemon_where_pillion_finds_it() {
    let context = context();
    let output = client(&context, &["call", "math:hypot", "[3, 4]"]);
    assert_eq!((output.code, output.stdout.trim()), (Some(0), "5.0"));
    let whole = client_json(&context, &["--json", "call", "things:add", "[1, 2]"]);
    assert_eq!(whole["result"], 3);
    let theirs = client_json(&context, &["status"]);
    let ours = context.pillion_json(&["--json", "status"]);
    assert_eq!(theirs["pid"], ours["pid"]);
    assert_eq!(theirs["socket"], json!(context.socket()));
    assert_eq!(client_json(&context, &["stop"]), json!({"stopped": true}));
    assert_eq!(client_json(&context, &["stop"]), json!({"stopped": false}));
    context.wait_until_alone(pillion_testing::DEADLINE);
}

#[test]
fn questions_about_code_have_the_answers_of_the_command() {
    let context = context();
    for args in [
        &["symbols", "gree"][..],
        &["grep", "hello", ".", "-C", "1"],
        &["grep", "--regex", "def h.*o", "greeting.py"],
        &["list", "greeting.py", "--depth", "2"],
    ] {
        let mut with_json = vec!["--json"];
        with_json.extend(args);
        // Standard output is no terminal, so both are JSON.
        let mut theirs = client_json(&context, args);
        let mut ours = context.pillion_json(&with_json);
        for answer in [&mut theirs, &mut ours] {
            assert!(answer.as_object_mut().unwrap().remove("clock").is_some());
        }
        assert_eq!(theirs, ours, "{args:?}");
    }
    let listed = client_json(&context, &["list", "greeting.py"]);
    let flat = json!([
        {"path": "greeting.py", "kind": "class", "name": "Greeter", "line": 1},
        {"path": "greeting.py", "kind": "function", "name": "greet", "line": 5},
    ]);
    assert_eq!(listed, flat, "the top level as a flat list");
    let source = client_json(&context, &["read-symbol", "Greeter/hello"]);
    let source = source["matches"][0]["source"].as_str().unwrap();
    assert_eq!(source, "    def hello(self):\n        return 'hi'");
}

/// Its table of commands is written by hand.
#[test]
fn every_command_of_the_client_has_an_operation_that_takes_its_parameters() {
    let context = context();
    let script = "\
import json, re, sys
sys.path.insert(0, sys.argv[1])
from pillion_client import COMMANDS, RENAMED
samples = {'output_format': 'diff', 'kinds': 'function', 'params': {}, 'positions': {'file': 'a.py', 'line': 1, 'col': 0}}
kinds = {'int': 1, 'json': True, 'str': 'x', '': 'x'}
table = {}
for name, (operation, words, _) in COMMANDS.items():
    # A request names one place or several.
    for leaves in ('positions', ''), ('file', 'line', 'col'):
        params = {}
        for word in words.split():
            names, colon, kind = word.rstrip('?*').partition(':')
            own = re.sub('^-+', '', names.split('/')[-1]).replace('-', '_')
            own = RENAMED.get(own, own)
            if '--at' in words and own in leaves:
                continue
            flag = word[0] == '-' and not colon
            value = True if flag else samples.get(own, kinds.get(kind))
            params[own] = [value] if word[-1] == '*' else value
        table[name + str(len(leaves))] = [operation, params]
print(json.dumps(table))
";
    let folder = std::path::Path::new(CLIENT).parent().unwrap();
    let mut command = context.command("python3");
    command.args(["-W", "error", "-c", script]).arg(folder);
    let table = CommandOutput::of(command).json();
    let mut catalogue = Catalogue::default();
    let nobody = |_, _, _| async { Err(Error::internal("nobody answers here")) };
    catalogue.relay(pillion::definitions(), &Arc::new(nobody));
    for (command, row) in table.as_object().unwrap() {
        let params = to_raw_value(&row[1]).unwrap();
        let checked = catalogue.check(row[0].as_str().unwrap(), Some(&params));
        assert!(checked.is_ok(), "`{command}` {row}: {checked:?}");
    }
}

#[test]
fn the_module_asks_the_same() {
    let context = context();
    let script = "\
import json, sys
sys.path.insert(0, sys.argv[1])
from pillion_client import Client, PillionError
client = Client(root='.')
found = client.symbols('greet', kinds=['function'])['symbols'][0]['name_path']
text = client.list('greeting.py', format='text')['text']
hypot = client.call('py.call', {'function': 'math:hypot', 'params': [3, 4], 'root': '.'})
try:
    client.list('nosuch.py')
except PillionError as error:
    code = error.code
parts = []
client.call('py.call', {'function': 'things:numbers', 'params': [2], 'stream': True,
    'root': sys.argv[2]}, parts.append)
print(json.dumps([found, text.splitlines()[0], code, parts]))
";
    let folder = std::path::Path::new(CLIENT).parent().unwrap();
    let mut command = context.command("python3");
    command.args(["-W", "error", "-c", script]).arg(folder);
    command.arg(&context.project);
    let output = CommandOutput::of(command);
    let parts = json!([{"item": 0}, {"item": 1}]);
    assert_eq!(
        output.json(),
        json!(["greet", "greeting.py", "not_found", parts]),
        "{output}"
    );
}

#[test]
fn clients_that_race_start_one_daemon() {
    let context = context();
    let racing: Vec<_> = (0..10)
        .map(|_| {
            let mut command = context.command("python3");
            command.args([CLIENT, "--json", "status"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut pids: Vec<u64> = racing
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let status: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
            status["pid"].as_u64().unwrap_or_else(|| panic!("{status}"))
        })
        .collect();
    pids.dedup();
    assert_eq!(pids.len(), 1, "all talk to the same one: {pids:?}");
    assert_eq!(daemons(&context).len(), 1);
}

#[test]
fn a_daemon_that_was_killed_is_started_again() {
    let context = context();
    let before = client_json(&context, &["status"])["pid"].as_u64().unwrap();
    processes::kill(u32::try_from(before).unwrap());
    wait_until("the daemon to be gone", || daemons(&context).is_empty());
    let output = client(&context, &["call", "math:hypot", "[3, 4]"]);
    assert_eq!(output.stdout.trim(), "5.0", "{output}");
    let after = client_json(&context, &["status"])["pid"].as_u64().unwrap();
    assert_ne!(before, after);
}

/// A function that hangs the first time and answers the second.
const HANGS_ONCE: &str = "\
import os, time

def once(note):
    with open(note, 'a') as file:
        file.write('x')
    if os.path.getsize(note) == 1:
        time.sleep(600)
    return 'again'
";

#[test]
fn a_daemon_that_dies_in_a_call_is_replaced_if_the_call_may_be_repeated() {
    let context = context();
    context.write("hangs.py", HANGS_ONCE);
    for (flags, code, expected) in [
        (&["--idempotent"][..], 0, "\"again\""),
        (&[], 1, "the connection broke"),
    ] {
        let note = context.path(&format!("note-{code}"));
        let params = json!([note]).to_string();
        let mut command = context.command("python3");
        command.args([CLIENT, "call", "hangs:once", &params]);
        command.args(flags);
        let asking = std::thread::spawn(|| CommandOutput::of(command));
        wait_for_file(&note);
        for pid in daemons(&context) {
            processes::kill(pid);
        }
        let output = asking.join().unwrap();
        assert_eq!(output.code, Some(code), "{output}");
        let said = if code == 0 {
            &output.stdout
        } else {
            &output.stderr
        };
        assert!(said.contains(expected), "{output}");
    }
}

#[test]
fn an_error_is_the_whole_object_and_starts_no_second_server() {
    let context = context();
    let daemon = context.daemon();
    let output = client(&context, &["--json", "list", "nosuch.py"]);
    assert_eq!(output.code, Some(1), "{output}");
    let error = output.json();
    assert_eq!(error["code"], "not_found", "{error}");
    assert_eq!(error["kind"], "input");
    assert!(error["hint"].is_string());
    assert_eq!(
        output.json(),
        context.pillion(&["--json", "list", "nosuch.py"]).json(),
        "the same as the command's"
    );
    let output = client(&context, &["list", "nosuch.py"]);
    assert_eq!((output.code, &*output.stdout), (Some(1), ""), "{output}");
    assert!(output.stderr.starts_with("error: no file"), "{output}");
    assert!(output.stderr.contains("\nhint: "), "{output}");
    let output = client(&context, &["--json", "no.such"]);
    assert_eq!(output.json()["code"], "unknown_operation", "{output}");
    assert_eq!(daemons(&context), [daemon.pid]);
}

#[test]
fn wrong_usage_ends_with_2_and_starts_nothing() {
    let context = context();
    for args in [
        &[][..],
        &["nosuch"],
        &["defs", "greeting.py"],
        &["defs", "greeting.py", "x", "1"],
        &["refs", "--at", "greeting.py"],
        &["grep"],
        &["list", "--nosuch"],
        &["call", "math:hypot", "[3"],
    ] {
        let output = client(&context, args);
        assert_eq!(output.code, Some(2), "{args:?}\n{output}");
        assert!(output.stderr.contains("usage: "), "{output}");
    }
    assert!(context.processes().is_empty());
    assert_eq!(client(&context, &["--help"]).code, Some(0));
    let version = client(&context, &["--version"]);
    let expected = concat!("pillion_client ", env!("CARGO_PKG_VERSION"));
    assert_eq!(version.stdout.trim(), expected);
}

#[test]
fn a_server_is_asked_over_http() {
    let mut context = context();
    let web = context.serve();
    let address = format!("http://127.0.0.1:{}", web.port);
    let status = client_json(&context, &["--url", &address, "status"]);
    assert_eq!(status["port"], web.port);
    // A proxy is not for programs of the same machine.
    context.set_env("http_proxy", "http://127.0.0.1:1");
    context.set_env("PILLION_URL", &address);
    let found = client_json(&context, &["symbols", "Greeter"]);
    assert_eq!(found["symbols"][0]["file"], "greeting.py");
    let output = client(&context, &["call", "things:add", "[1, 2]"]);
    assert_eq!(output.stdout.trim(), "3", "{output}");
    let output = client(&context, &["--json", "list", "nosuch.py"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(output.json()["code"], "not_found");
    drop(web);
    let output = client(&context, &["--json", "status"]);
    assert_eq!(output.json()["code"], "unreachable", "{output}");
    assert!(daemons(&context).is_empty(), "none was started for it");
}

#[test]
fn what_stops_a_daemon_from_starting_is_said() {
    let mut context = context();
    context.set_env("PILLION_BIN", "/nosuch/pillion");
    let output = client(&context, &["status"]);
    assert_eq!((output.code, &*output.stdout), (Some(1), ""), "{output}");
    assert!(output.stderr.contains("/nosuch/pillion"), "{output}");
    assert!(output.stderr.contains("\nhint: "), "{output}");
    let failing = context.write("failing", "#!/bin/sh\necho no room >&2\nexit 1\n");
    std::fs::set_permissions(
        &failing,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    context.set_env("PILLION_BIN", &failing);
    let output = client(&context, &["--json", "status"]);
    let error = output.json();
    assert_eq!(error["code"], "start_failed", "{output}");
    assert!(error["message"].as_str().unwrap().contains("no room"));
}
