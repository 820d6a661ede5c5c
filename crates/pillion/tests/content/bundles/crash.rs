//! kill -9 in the middle of a change: what was active before still starts, or what is new does.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use pillion_testing::{CommandOutput, rounds};
use serde_json::Value;

use super::world::World;

/// As many moments of each change, in a long run.
const MOMENTS: usize = 100;

#[test]
fn whoever_is_killed_while_installing_leaves_a_store_that_starts() {
    let world = World::new();
    let archive = three_versions(&world, 2);
    let trusted = [archive.as_str(), "--trust", "keys/bundle.pub"];
    kill_often(&world, "install", &trusted, &["2.0.0", "3.0.0"]);
}

#[test]
fn whoever_is_killed_while_switching_leaves_a_store_that_starts() {
    let world = World::new();
    three_versions(&world, 3);
    kill_often(
        &world,
        "activate",
        &["--version", "1.0.0"],
        &["3.0.0", "1.0.0"],
    );
}

#[test]
fn whoever_is_killed_while_collecting_leaves_a_store_that_starts() {
    let world = World::new();
    three_versions(&world, 3);
    kill_often(&world, "gc", &["--keep", "0"], &["3.0.0", "3.0.0"]);
}

/// Three runtimes, of which the first are installed; the archive of the last.
fn three_versions(world: &World, installed: usize) -> String {
    let all = ["1.0.0", "2.0.0", "3.0.0"].map(|version| world.small_runtime(version, 60));
    for archive in &all[..installed] {
        world.install(archive);
    }
    all[2].clone()
}

/// Begin the same change of the same store again and again, and kill it at some moment.
fn kill_often(world: &World, verb: &str, more: &[&str], active: &[&str; 2]) {
    let store = world.path("changed");
    let mut args = vec!["bundle", verb, "--store", "changed"];
    args.extend(more);
    // How long it takes if nobody kills it.
    start_over(world, &store);
    let begun = Instant::now();
    let whole = world.run(&args);
    assert_eq!(whole.code, Some(0), "{whole}");
    let duration = begun.elapsed();
    let mut chance = std::process::id();
    let mut ends = [0; 3];
    for round in 0..rounds(MOMENTS) {
        start_over(world, &store);
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let moment = duration.mul_f64(f64::from(chance >> 8) / f64::from(1 << 24) * 1.1);
        let was_killed = run_until(world, &args, moment);
        let version = starts(&store);
        let is_new = version == active[1] && active[0] != active[1];
        assert!(is_new || version == active[0], "{version} after {moment:?}");
        ends[if was_killed { usize::from(is_new) } else { 2 }] += 1;
        let list = world.done(&[
            "bundle",
            "verify",
            "--store",
            "changed",
            "--version",
            &version,
        ]);
        assert_eq!(list["ok"], true, "after {moment:?}: {list}");
        // What was begun can be done.
        if round % 5 == 0 {
            let again = world.run(&args);
            assert_eq!(again.code, Some(0), "after {moment:?}: {again}");
            assert_eq!(starts(&store), active[1]);
            assert!(!store.join(".staging").exists() || verb == "activate");
        }
    }
    eprintln!("{verb}: killed before it counted, after, ended before it was killed: {ends:?}");
    assert!(ends[0] > 0, "nobody was killed in time: {ends:?}");
}

fn start_over(world: &World, store: &Path) {
    let _ = std::fs::remove_dir_all(store);
    let mut copy = world.context.command("cp");
    copy.args(["-a", "store", "changed"]);
    let copied = CommandOutput::of(copy);
    assert_eq!(copied.code, Some(0), "{copied}");
}

/// Run pillion for so long; says whether it had to be killed.
fn run_until(world: &World, args: &[&str], moment: Duration) -> bool {
    let mut command = world.context.pillion_command(args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(moment);
    let was_running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    was_running
}

/// Start what the index says is active; the version that it says it is.
fn starts(store: &Path) -> String {
    let bytes = std::fs::read(store.join("active_index.json")).unwrap();
    let index: Value = serde_json::from_slice(&bytes).unwrap();
    let core = &index["python_runtime"]["core"];
    let version = core["version"].as_str().unwrap().to_owned();
    let folder: PathBuf = store.join("python_runtime/core").join(&version);
    #[expect(
        clippy::disallowed_methods,
        reason = "a test looks at pillion from outside"
    )]
    let program = std::process::Command::new(folder.join("sidecar/bin/pillion"));
    let output = CommandOutput::of(program);
    assert_eq!(output.stdout, format!("started {version}\n"), "{output}");
    version
}
