//! Whoever has to wait for a store says so and for whom, on every door, and no longer than his
//! caller waits.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use serde_json::json;

use super::world::World;
use pillion_testing::{CommandOutput, DEADLINE, wait_for};

/// What changes a store, and what it takes after `--store`.
fn changes(world: &World) -> Vec<Vec<String>> {
    let three = world.experts("3.0.0");
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        words(&["install", &three, "--trust", "keys/bundle.pub"]),
        words(&["activate", "--version", "1.0.0"]),
        words(&["rollback"]),
        words(&["gc"]),
        words(&["repair"]),
    ]
}

/// Take the lock of the store as somebody who says nothing about himself.
fn hold(world: &World) -> fs::File {
    let path = world.path("store/.lock");
    let lock = fs::File::options().append(true).open(path).unwrap();
    lock.try_lock().unwrap();
    lock
}

fn two_versions() -> World {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    world.install(&world.experts("2.0.0"));
    world
}

#[test]
fn who_waits_for_a_store_says_so_and_goes_on() {
    let world = two_versions();
    for change in changes(&world) {
        let lock = hold(&world);
        let mut args = vec!["bundle", change[0].as_str(), "--store", "store"];
        args.extend(change[1..].iter().map(String::as_str));
        let mut command = world.context.pillion_command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("waiting for another process") {
            assert!(lines.read_line(&mut said).unwrap() > 0, "{args:?}: {said}");
        }
        drop(lock);
        assert!(child.wait().unwrap().success(), "{args:?}: {said}");
    }
}

#[test]
fn who_waits_no_longer_than_that_hears_that_the_store_is_busy() {
    let world = two_versions();
    let changes = changes(&world);
    let before = world.installed();
    let _lock = hold(&world);
    for change in &changes {
        let mut args = vec!["bundle", &change[0], "--store", "store", "--timeout", "0.2"];
        args.extend(change[1..].iter().map(String::as_str));
        let error = world.refused(&args);
        assert_eq!(error["code"], "busy", "{args:?}: {error}");
        assert_eq!(world.installed(), before, "{args:?}");
    }
}

#[test]
fn the_process_that_holds_a_store_is_named_and_one_that_is_gone_is_not() {
    let world = two_versions();
    // It waits for what its pipe gives, with the lock of the store: a download into it.
    let mut command = world.context.command("python3");
    command.args(["-c", HOLDER, "store/.lock"]);
    let mut holder = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(holder.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "holding");
    let args = ["bundle", "gc", "--store", "store", "--timeout", "0.2"];
    let error = world.refused(&args);
    assert_eq!(error["data"]["pid"], holder.id(), "{error}");
    let message = error["message"].as_str().unwrap();
    let named = format!("process {} ", holder.id());
    assert!(message.starts_with(&named), "{error}");
    holder.kill().unwrap();
    assert_eq!(holder.wait().unwrap().signal(), Some(9));

    // What it left says nothing about who holds it now.
    let text = fs::read_to_string(world.path("store/.lock")).unwrap();
    assert!(text.contains("\"pid\""), "{text}");
    let lock = hold(&world);
    let error = world.refused(&args);
    assert_eq!(error["code"], "busy", "{error}");
    assert!(error.get("data").is_none(), "{error}");
    drop(lock);
    world.bundle("gc", &[]);
    assert_eq!(fs::read_to_string(world.path("store/.lock")).unwrap(), "");
}

#[test]
fn callers_of_other_doors_hear_of_the_wait_and_can_give_up() {
    let world = two_versions();
    let lock = hold(&world);
    let mut rpc = world.context.rpc_stdio();
    let params = json!({"store": world.store(), "stream": true});
    let waiting = rpc.send("bundle.rollback", params.clone());
    let part = rpc.part(waiting, 0).to_string();
    assert!(part.contains("waiting for another process"), "{part}");
    rpc.cancel(waiting);
    let error = rpc.outcome(waiting).unwrap_err();
    assert_eq!(error["data"]["code"], "cancelled", "{error}");
    let again = rpc.send("bundle.rollback", params);
    rpc.part(again, 0);
    drop(lock);
    let done = rpc.outcome(again).unwrap();
    assert_eq!(done["version"], "1.0.0", "the first did nothing: {done}");
    // Nobody holds it any more, also while the process lives.
    wait_for(DEADLINE, "the lock to be free", || {
        let output: CommandOutput = world.run(&["bundle", "gc", "--store", "store"]);
        (output.code == Some(0)).then_some(()).ok_or(output)
    });
}

/// Holds the lock as pillion does, until its input ends: with its pid and when it started.
const HOLDER: &str = r#"
import fcntl, json, os, sys
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
start = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
lock.truncate(0)
lock.write(json.dumps({"pid": os.getpid(), "start": start}))
lock.flush()
print("holding", flush=True)
sys.stdin.read()
"#;
