//! Attacks that should achieve nothing: many attempts in one run, each of which must fail.

use pillion_testing::can_be_others;
use serde_json::{Value, json};

use super::world::{FRESH_WAYS, WAYS, Way, Who, World, brief};

pub(super) const ATTACKS: [(&str, &str); 6] = [
    ("files", include_str!("attacks/files.py")),
    ("secrets", include_str!("attacks/secrets.py")),
    ("network", include_str!("attacks/network.py")),
    ("calls", include_str!("attacks/calls.py")),
    ("others", include_str!("attacks/others.py")),
    ("descriptors", include_str!("attacks/descriptors.py")),
];

#[test]
fn nothing_is_read_written_or_reached_under_root() {
    World::of(Who::Root, "L3")
        .into_iter()
        .for_each(nothing_is_read_written_or_reached);
}

#[test]
fn nothing_is_read_written_or_reached_under_an_ordinary_user() {
    World::of(Who::Ordinary, "L3")
        .into_iter()
        .for_each(nothing_is_read_written_or_reached);
}

fn nothing_is_read_written_or_reached(world: World) {
    assault(&world, &WAYS);
    world.end();
}

#[test]
fn nothing_is_read_written_or_reached_without_namespaces() {
    let world = World::of(Who::Ordinary, "L2").unwrap();
    assault(&world, &FRESH_WAYS);
    world.end();
}

/// Root's code runs as another user there.
#[test]
fn nothing_is_read_written_or_reached_without_namespaces_under_root() {
    World::of(Who::Root, "L2").into_iter().for_each(|world| {
        assault(&world, &FRESH_WAYS);
        world.end();
    });
}

/// Who runs code as another user says which folder is closed to that one, and starts nothing.
#[test]
fn a_folder_that_is_closed_to_code_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let Some(world) = World::of(Who::Root, "L2") else {
        return;
    };
    let base = &world.context.base;
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(base, closed).unwrap();
    let mut rpc = world.daemon.connect();
    for way in FRESH_WAYS {
        let order = json!({"code": "print(1)", "lane": way.lane, "fresh": true,
            "root": world.context.project});
        let reply = rpc.call("exec.run", order).unwrap();
        assert_eq!(reply["outcome"], "start_failed", "{reply}");
        let why = reply["stderr"].as_str().unwrap();
        assert!(why.contains(&format!("`{}`", base.display())), "{why}");
        assert!(why.contains("PILLION_HOME"), "{why}");
    }
    drop(rpc);
    world.end();
}

fn assault(world: &World, ways: &[Way]) {
    let mut orders = Vec::new();
    for way in ways {
        for (name, code) in ATTACKS {
            let order = world.order(
                *way,
                code,
                &[("attack", name)],
                json!({"timeout_seconds": 60}),
            );
            plant(world, &order);
            orders.push(order);
        }
    }
    let mut escaped = Vec::new();
    world.storm(orders, |order, reply| {
        let printed = reply["stdout"].as_str().unwrap();
        let bad = printed.lines().filter(|line| line.starts_with("ESCAPED"));
        escaped.extend(bad.map(|line| format!("{} {}: {line}", world.level, brief(order))));
        if reply["outcome"] != "ok" || !printed.contains("\ntried ") {
            escaped.push(format!("{} {} broke: {reply}", world.level, brief(order)));
        }
    });
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}

/// Programs that make whoever runs them root, in the folder of a session; if we can make any.
pub(super) fn plant(world: &World, order: &Value) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let Some(session) = order["session"]
        .as_str()
        .filter(|_| can_be_others("programs that make whoever runs them root"))
    else {
        return;
    };
    let folder = world.session(session);
    // Both the folder of the session and the part that its code has, as pillion makes them.
    let others = world.session("other");
    for (made, like) in [
        (folder.parent().unwrap(), others.parent().unwrap()),
        (&folder, &others),
    ] {
        let like = std::fs::metadata(like).unwrap();
        std::fs::create_dir(made).unwrap();
        std::fs::set_permissions(made, like.permissions()).unwrap();
        std::os::unix::fs::chown(made, Some(like.uid()), Some(like.gid())).unwrap();
    }
    for name in ["identity", "identity-copy"] {
        std::fs::copy("/usr/bin/id", folder.join(name)).unwrap();
        let rights = std::fs::Permissions::from_mode(0o6755);
        std::fs::set_permissions(folder.join(name), rights).unwrap();
    }
}
