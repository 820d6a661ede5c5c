//! Attacks that use something up or will not end: the word for each, and that all else goes on.

use serde_json::{Value, json};

use super::world::{FRESH_WAYS, WAYS, Way, Who, World, abandoned, brief};

const BOMBS: &str = include_str!("attacks/bombs.py");
/// Long enough to begin; what is not is given more.
const SHORT: f64 = 0.6;
/// Longer than anything takes that ends in another way, also on a busy machine.
const LONG: f64 = 60.0;

/// Attacks that make as many processes or threads as they can.
const CROWDS: [&str; 3] = ["fork_bomb", "thread_bomb", "forking_"];

/// Each attack, and the word for how it ends.
const ENDS: &[(&str, &str)] = &[
    ("fork_bomb", "process_limit"),
    ("fork_bomb_of_strangers", "process_limit"),
    ("thread_bomb", "process_limit"),
    ("memory", "memory"),
    ("memory_at_once", "memory"),
    ("memory_by_mmap", "memory"),
    ("memory_shared", "error"),
    ("memory_shared_of_the_dead", "error"),
    ("memory_shared_and_forgotten", "error"),
    ("memory_shared_by_a_device", "error"),
    ("memory_of_zeros", "memory"),
    ("memory_by_children", "memory"),
    ("memory_that_grows_down", "error"),
    ("memory_of_a_stack", "memory error"),
    ("memory_behind_a_lock", "memory"),
    ("memory_of_locks", "memory"),
    ("memory_of_borrowed_pages", "error"),
    ("memory_of_mappings", "memory"),
    ("memory_of_epolls", "memory"),
    ("memory_by_programs", "memory"),
    ("memory_of_pipes", "memory"),
    ("memory_of_sockets", "memory"),
    ("memory_of_large_sockets", "error"),
    ("processor", "timeout"),
    ("processor_of_the_dead", "timeout"),
    ("processor_without_signals", "timeout"),
    ("disk", "disk_limit"),
    ("disk_in_pieces", "disk_limit"),
    ("disk_without_names", "disk_limit"),
    ("disk_only_mapped", "disk_limit"),
    ("disk_on_its_way", "error"),
    ("disk_by_links", "disk_limit"),
    ("disk_allocated_behind_the_end", "error"),
    ("disk_allocated_in_pieces", "disk_limit"),
    ("disk_far_below", "disk_limit"),
    ("disk_unseen", "disk_limit"),
    ("temporary_files", "disk_limit"),
    ("shared_files", "disk_limit"),
    ("inodes", "disk_limit"),
    ("sparse", "disk_limit"),
    ("allocated", "disk_limit"),
    ("open_files", "error"),
    ("output", "output_limit"),
    ("errors", "output_limit"),
    ("output_of_children", "output_limit"),
    ("daemon", "ok"),
    ("daemon_that_holds_on", "ok"),
    ("deaf", "timeout"),
    ("stopped", "timeout"),
    ("stopped_child", "ok"),
    // The dead count until they are buried, which takes a while on a busy machine.
    ("forking_at_the_end", "ok process_limit"),
    ("forking_for_ever", "timeout process_limit"),
    ("exit_now", "error"),
    ("end_of_thread", "timeout"),
    ("crash", "killed"),
    ("killed_by_itself", "killed"),
    ("asleep", "timeout"),
    ("asleep_in_c", "timeout"),
    ("asleep_with_signals_blocked", "timeout"),
    ("endless_pattern", "timeout"),
    #[cfg(target_arch = "x86_64")]
    ("old_way_of_calling", "killed"),
];

#[test]
fn whoever_takes_too_much_is_ended_under_root() {
    World::of(Who::Root, "L3")
        .into_iter()
        .for_each(whoever_takes_too_much_is_ended);
}

#[test]
fn whoever_takes_too_much_is_ended_under_an_ordinary_user() {
    World::of(Who::Ordinary, "L3")
        .into_iter()
        .for_each(whoever_takes_too_much_is_ended);
}

fn whoever_takes_too_much_is_ended(world: World) {
    explode(&world, &WAYS);
    world.end();
}

#[test]
fn whoever_takes_too_much_is_ended_without_namespaces() {
    let world = World::of(Who::Ordinary, "L2").unwrap();
    explode(&world, &FRESH_WAYS);
    world.end();
}

fn explode(world: &World, ways: &[Way]) {
    let mut orders = Vec::new();
    for way in ways {
        for (attack, ends) in ENDS {
            // There is no such folder without namespaces.
            if *attack == "shared_files" && world.level == "L2" {
                continue;
            }
            let timeout = match world.level == "L2" && attack.starts_with("fork_bomb") {
                true => 5.0 * SHORT,
                false if ends.starts_with("timeout") => SHORT,
                false => LONG,
            };
            let mut more = json!({"timeout_seconds": timeout});
            // It takes its time to make so many.
            if *attack == "memory_of_locks" {
                more["memory_limit_mb"] = 64.into();
            }
            orders.push(world.order(*way, BOMBS, &[("attack", attack)], more));
        }
    }
    // Without namespaces a crowd keeps all others of its user from forking, so it comes alone.
    let is_crowd = |order: &Value| {
        let brief = brief(order);
        CROWDS
            .iter()
            .any(|crowd| brief.contains(&format!("attack={crowd}")))
    };
    let (crowds, orders): (Vec<_>, Vec<_>) = orders
        .into_iter()
        .partition(|order| world.level == "L2" && is_crowd(order));
    let mut wrong = Vec::new();
    let mut check = |order: &Value, reply: &Value| {
        let brief = brief(order);
        let (_, ends) = ENDS
            .iter()
            .find(|(attack, _)| brief.contains(&format!("attack={attack}\"")))
            .unwrap();
        let ended = reply["outcome"].as_str().unwrap();
        let printed = reply["stdout"].as_str().unwrap();
        // Without namespaces all runs of a user share the limit that the kernel keeps: one that
        // cannot fork any more, and does not mind, goes on until its time is up.
        if world.level == "L2" && ended == "timeout" && brief.contains("attack=fork_bomb") {
            return;
        }
        if !ends.split(' ').any(|end| end == ended) || printed.contains("ESCAPED") {
            let shown: String = reply.to_string().chars().take(1500).collect();
            wrong.push(format!("{} {brief}: not {ends}: {shown}", world.level));
        }
    };
    world.storm_of(1, crowds, &mut check);
    world.storm(orders, &mut check);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn output_that_nobody_reads_is_no_burden_under_root() {
    World::of(Who::Root, "L3")
        .into_iter()
        .for_each(output_that_nobody_reads_is_no_burden);
}

#[test]
fn output_that_nobody_reads_is_no_burden_under_an_ordinary_user() {
    World::of(Who::Ordinary, "L3")
        .into_iter()
        .for_each(output_that_nobody_reads_is_no_burden);
}

/// Output that nobody takes stops its program, and the clock goes on.
fn output_that_nobody_reads_is_no_burden(world: World) {
    use std::io::{Read, Write};
    for way in WAYS {
        let more = json!({"timeout_seconds": 5.0 * SHORT, "stream": true});
        let code = "import os\nwhile True: os.write(1, b'flood' * 100)";
        let params = world.order(way, code, &[], more);
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": params});
        let body = request.to_string();
        let mut raw = world.daemon.raw();
        write!(raw, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let harmless = world.order(way, "print(1)", &[], json!({}));
        world.storm(vec![harmless], |_, reply| {
            assert_eq!(reply["outcome"], "ok");
        });
        // Now that it reads, the end is there too.
        let mut all = Vec::new();
        let mut piece = vec![0; 1 << 16];
        while !String::from_utf8_lossy(&all).contains("\"outcome\":\"") {
            let read = raw.read(&mut piece).unwrap();
            assert!(read > 0, "no reply");
            all.drain(..all.len().saturating_sub(1 << 20));
            all.extend_from_slice(&piece[..read]);
        }
    }
    world.end();
}

#[test]
fn runs_end_with_their_callers_under_root() {
    World::of(Who::Root, "L3")
        .into_iter()
        .for_each(runs_end_with_their_callers);
}

#[test]
fn runs_end_with_their_callers_under_an_ordinary_user() {
    World::of(Who::Ordinary, "L3")
        .into_iter()
        .for_each(runs_end_with_their_callers);
}

/// Whoever hangs up ends what it started.
fn runs_end_with_their_callers(world: World) {
    for way in WAYS {
        let sleeping = world.order(way, BOMBS, &[("attack", "deaf")], json!({}));
        let rpc = abandoned(&world, sleeping);
        std::thread::sleep(std::time::Duration::from_millis(100));
        rpc.hang_up();
    }
    world.storm(Vec::new(), |_, _| {});
    world.end();
}
