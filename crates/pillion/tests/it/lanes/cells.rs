//! The attacks once more, from inside a cell: a kernel lives behind the walls of the user lane,
//! but it has sockets, threads and a longer life.

use std::path::Path;

use pillion_testing::kernels::{python_for_all, python_with_kernels};
use pillion_testing::set_up;
use serde_json::{Value, json};

use super::attacks::{ATTACKS, plant};
use super::world::{WAYS, Who, World};

/// Those that make sense where a kernel, its shell and the process that passes on what they say
/// share a box: they see each other, and nobody else.
const FROM_A_SHELL: [(&str, &str); 3] = [
    ("network", include_str!("attacks/network.py")),
    ("calls", include_str!("attacks/calls.py")),
    ("relay", include_str!("attacks/relay.py")),
];

/// Memory as kernels have it, and none beside those that are attacked from.
const CONFIG: &str = "[notebook]\nspare = false\n";

/// What ZeroMQ needs, and a run does not have. It leads nowhere: nobody is in a kernel's network.
const ITS_OWN: &[&str] = &[
    "socket AF_INET <SocketKind.SOCK_STREAM",
    "socket AF_NETLINK <SocketKind.SOCK_DGRAM",
    "socket AF_NETLINK <SocketKind.SOCK_RAW",
    "sockets [2]",
    // Its own descriptors are many.
    "number [",
];

#[test]
fn nothing_is_read_written_or_reached_from_a_cell_under_root() {
    World::with(Who::Root, "L3", CONFIG)
        .into_iter()
        .for_each(nothing_is_read_written_or_reached);
}

#[test]
fn nothing_is_read_written_or_reached_from_a_cell_under_an_ordinary_user() {
    World::with(Who::Ordinary, "L3", CONFIG)
        .into_iter()
        .for_each(nothing_is_read_written_or_reached);
}

#[test]
fn nothing_is_read_written_or_reached_from_a_cell_without_namespaces() {
    World::with(Who::Ordinary, "L2", CONFIG)
        .into_iter()
        .for_each(nothing_is_read_written_or_reached);
}

#[test]
fn nothing_is_read_written_or_reached_from_a_shell_under_root() {
    World::with(Who::Root, "L3", CONFIG)
        .into_iter()
        .for_each(nothing_is_reached_from_a_shell);
}

#[test]
fn nothing_is_read_written_or_reached_from_a_shell_under_an_ordinary_user() {
    World::with(Who::Ordinary, "L3", CONFIG)
        .into_iter()
        .for_each(nothing_is_reached_from_a_shell);
}

fn nothing_is_read_written_or_reached(world: World) {
    let python = match world.is_of_others() {
        true => python_for_all(&world.context),
        false => set_up("dev-python/bin/python"),
    };
    assault(world, &ATTACKS, |_, order| cell(order, &python));
}

/// The same from a kernel that is not Python's, with what is worth an attack only there.
fn nothing_is_reached_from_a_shell(world: World) {
    let python = python_with_kernels(&world.context);
    assault(world, &FROM_A_SHELL, |world, order| {
        shell_cell(world, order, &python)
    });
}

fn assault(world: World, attacks: &[(&str, &str)], cell: impl Fn(&World, &Value) -> Value) {
    let user = WAYS.into_iter().rfind(|way| way.lane == "user").unwrap();
    let mut rpc = world.daemon.connect();
    let mut escaped = Vec::new();
    for (name, code) in attacks {
        let order = world.order(user, code, &[("attack", name)], json!({}));
        plant(&world, &order);
        let ran = rpc.call("notebook.run_cell", cell(&world, &order)).unwrap();
        let printed = ran["stdout"].as_str().unwrap();
        let bad = printed.lines().filter(|line| line.starts_with("ESCAPED"));
        let bad = bad.filter(|line| !is_its_own(line));
        escaped.extend(bad.map(|line| format!("{name}: {line}")));
        if ran["outcome"] != "ok" || !printed.contains("\ntried ") {
            escaped.push(format!("{name} broke: {ran}"));
        }
        let session = json!({"session": order["session"]});
        rpc.call("notebook.shutdown", session).unwrap();
    }
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
    drop(rpc);
    world.assert_clean();
    world.end();
}

/// A run as a cell.
fn cell(order: &Value, python: &Path) -> Value {
    let (args, code) = (&order["args"], order["code"].as_str().unwrap());
    json!({
        "code": format!("import sys\nsys.argv = ['attack', *{args}]\n{code}"),
        "session": order["session"], "root": order["root"], "python": python,
        "timeout_seconds": 120,
    })
}

/// A run as a cell of a shell: a program in the folder of its session.
fn shell_cell(world: &World, order: &Value, python: &Path) -> Value {
    let folder = world.session(order["session"].as_str().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("attack.py"), order["code"].as_str().unwrap()).unwrap();
    let args = order["args"].as_array().unwrap().iter();
    let args: Vec<_> = args
        .map(|arg| format!("'{}'", arg.as_str().unwrap()))
        .collect();
    json!({
        "code": format!("{} attack.py {}", python.display(), args.join(" ")),
        "kernel": "bash", "session": order["session"], "root": order["root"], "python": python,
        "timeout_seconds": 120,
    })
}

fn is_its_own(line: &str) -> bool {
    let what = line.trim_start_matches("ESCAPED ");
    let waits = what.contains("'anon_inode:[event") || what.contains("'socket:[");
    ITS_OWN.iter().any(|own| what.starts_with(own)) || (what.starts_with("descriptor ") && waits)
}
