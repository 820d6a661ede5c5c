//! Killing parts of the machinery at any moment: nobody is left, and the next run works. And
//! that no run finds anything of the one before it.

use std::time::Duration;

use pillion_testing::{DEADLINE, processes, wait_for};
use serde_json::json;

use super::world::{WAYS, Way, Who, World, belongings, wait_for_nobody};

const BOMBS: &str = include_str!("attacks/bombs.py");
/// Runs that go on while something is killed: far away, deaf, and asleep.
const GOING_ON: [&str; 3] = ["deaf", "daemon_that_stays", "asleep"];

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Daemon,
    Box,
    Init,
    Zygote,
    Slot,
}

const VICTIMS: [Victim; 5] = [
    Victim::Daemon,
    Victim::Box,
    Victim::Init,
    Victim::Zygote,
    Victim::Slot,
];

#[test]
fn whoever_is_killed_nobody_is_left_under_root() {
    World::of(Who::Root, "L3")
        .into_iter()
        .for_each(whoever_is_killed_nobody_is_left);
}

#[test]
fn whoever_is_killed_nobody_is_left_under_an_ordinary_user() {
    World::of(Who::Ordinary, "L3")
        .into_iter()
        .for_each(whoever_is_killed_nobody_is_left);
}

fn whoever_is_killed_nobody_is_left(mut world: World) {
    for round in 0..15 {
        let victim = VICTIMS[round % VICTIMS.len()];
        kill_one(&mut world, round, victim);
    }
    world.end();
}

/// Without namespaces the box is all there is between its runs and their survival; but a
/// daemon may die.
#[test]
fn a_killed_daemon_leaves_nobody_without_namespaces() {
    let mut world = World::of(Who::Ordinary, "L2").unwrap();
    for round in 0..3 {
        kill_one(&mut world, round, Victim::Daemon);
    }
    world.end();
}

fn kill_one(world: &mut World, round: usize, victim: Victim) {
    let base = world.context.base.to_str().unwrap().to_owned();
    let mut rpc = world.daemon.connect();
    let ids: Vec<u64> = (GOING_ON.iter().zip(WAYS.iter().cycle().skip(round)))
        .map(|(attack, way)| {
            let way = Way {
                fresh: way.fresh || world.level == "L2",
                ..*way
            };
            let order = world.order(way, BOMBS, &[("attack", attack)], json!({}));
            rpc.send("exec.run", order)
        })
        .collect();
    // Any moment will do: some begin, some wait, some are on their way.
    let moment = (round as u64 * 37) % 150;
    std::thread::sleep(Duration::from_millis(moment));
    if victim == Victim::Daemon {
        world.daemon.kill();
        rpc.hang_up();
        wait_for_nobody(&base);
        world.daemon = world.context.daemon();
    } else {
        let pids = find(&base, victim);
        let doomed = doomed(&base, victim, &pids);
        for pid in &pids {
            processes::kill(*pid);
        }
        for id in ids {
            rpc.cancel(id);
            let _ = rpc.outcome(id);
        }
        // What was in there goes with it, and a slot that still waits there is given to nobody.
        wait_for(DEADLINE, "the victims' runs to be gone", || {
            let left: Vec<_> = belongings(&base)
                .into_iter()
                .filter(|(pid, command)| doomed.contains(pid) || command.contains("600"))
                .collect();
            if left.is_empty() {
                Ok(())
            } else {
                Err(format!("{victim:?}: {left:?}"))
            }
        });
    }
    // And all works again; soon from a zygote too.
    let fresh = world.level == "L2";
    for lane in ["expert", "user"] {
        // A zygote that was killed as it started is not tried again for half a minute.
        wait_for(3 * DEADLINE, "runs from a zygote", || {
            let order = world.order(Way { lane, fresh }, "print(6 * 7)", &[], json!({}));
            let reply = world.daemon.connect().call("exec.run", order).unwrap();
            assert_eq!(reply["stdout"], "42\n", "after {victim:?}: {reply}");
            match reply["start"] == "spawn" && !fresh {
                true => Err(reply.to_string()),
                false => Ok(()),
            }
        });
    }
}

/// Processes of this kind that belong to the test.
fn find(base: &str, victim: Victim) -> Vec<u32> {
    let all = belongings(base);
    let is_box = |command: &str| command.starts_with("pillion-box");
    let boxes: Vec<u32> = all
        .iter()
        .filter(|(_, command)| is_box(command))
        .map(|(pid, _)| *pid)
        .collect();
    let below_box = |pid: u32| parent(pid).is_some_and(|parent| boxes.contains(&parent));
    all.iter()
        .filter(|(pid, command)| match victim {
            Victim::Daemon => command.contains(" daemon"),
            Victim::Box => is_box(command) && !below_box(*pid),
            Victim::Init => is_box(command) && below_box(*pid),
            Victim::Zygote => command.contains("zygote.py") && below_box(*pid),
            Victim::Slot => command.contains("zygote.py") && !below_box(*pid),
        })
        .map(|(pid, _)| *pid)
        .collect()
}

/// Everybody who dies with the victims: whoever is below them, and with a zygote all that is in
/// its box.
fn doomed(base: &str, victim: Victim, pids: &[u32]) -> Vec<u32> {
    let all = belongings(base);
    let mut doomed: Vec<u32> = pids.to_vec();
    if victim == Victim::Zygote {
        doomed.extend(pids.iter().filter_map(|pid| parent(*pid)));
    }
    loop {
        let is_new = |pid: &u32| {
            !doomed.contains(pid) && parent(*pid).is_some_and(|of| doomed.contains(&of))
        };
        let more: Vec<u32> = all.iter().map(|(pid, _)| *pid).filter(is_new).collect();
        if more.is_empty() {
            return doomed;
        }
        doomed.extend(more);
    }
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

#[test]
fn no_run_finds_anything_of_another_under_root() {
    World::of(Who::Root, "L3")
        .into_iter()
        .for_each(no_run_finds_anything_of_another);
}

#[test]
fn no_run_finds_anything_of_another_under_an_ordinary_user() {
    World::of(Who::Ordinary, "L3")
        .into_iter()
        .for_each(no_run_finds_anything_of_another);
}

/// Whatever a run did to its interpreter, the next one finds it as it was.
fn no_run_finds_anything_of_another(world: World) {
    let poison = include_str!("attacks/poison.py");
    let taste = include_str!("attacks/taste.py");
    for lane in ["expert", "user"] {
        let way = Way { lane, fresh: false };
        // More than there are warm slots, so that some are forked after the poison.
        let mut orders = vec![world.order(way, taste, &[], json!({}))];
        for _ in 0..4 {
            orders.push(world.order(way, poison, &[], json!({})));
            orders.push(world.order(way, taste, &[], json!({})));
        }
        let session = world.new_session();
        for order in &mut orders {
            if lane == "user" {
                order["session"] = session.clone().into();
            }
            let mut rpc = world.daemon.connect();
            let reply = rpc.call("exec.run", order.clone()).unwrap();
            assert_ne!(reply["start"], "spawn", "{reply}");
            let printed = reply["stdout"].as_str().unwrap();
            assert!(!printed.contains("ESCAPED"), "{lane}: {reply}");
            let tasted = printed.contains("tried ") && reply["outcome"] == "ok";
            let poisoned = reply["outcome"] == "error" && reply["returncode"] == 7;
            assert!(tasted || poisoned, "{lane}: {reply}");
        }
    }
    world.end();
}
