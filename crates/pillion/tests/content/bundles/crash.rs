//! kill -9 in the middle of a change: what was active before still starts, or what is new does.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use pillion_testing::{CommandOutput, rounds};
use serde_json::Value;

use super::world::World;

/// As many moments of each change, in a long run.
const MOMENTS: usize = 100;
/// The same for changes that do less.
const FEW_MOMENTS: usize = 40;

#[test]
fn whoever_is_killed_while_installing_leaves_a_store_that_starts() {
    let world = World::new();
    let archive = three_versions(&world, 2);
    let trusted = [archive.as_str(), "--trust", "keys/bundle.pub"];
    KilledChange::of("install", &trusted, ["2.0.0", "3.0.0"]).kill_often(&world, MOMENTS);
}

#[test]
fn whoever_is_killed_while_switching_leaves_a_store_that_starts() {
    let world = World::new();
    three_versions(&world, 3);
    let version = ["--version", "1.0.0"];
    KilledChange::of("activate", &version, ["3.0.0", "1.0.0"]).kill_often(&world, MOMENTS);
}

#[test]
fn whoever_is_killed_while_collecting_leaves_a_store_that_starts() {
    let world = World::new();
    three_versions(&world, 3);
    let none = ["--keep", "0"];
    KilledChange::of("gc", &none, ["3.0.0", "3.0.0"]).kill_often(&world, MOMENTS);
}

#[test]
fn whoever_is_killed_while_going_back_leaves_a_store_that_starts() {
    let world = World::new();
    three_versions(&world, 3);
    KilledChange {
        // Who is back already would go further back.
        redo: &|version| version == "3.0.0",
        ..KilledChange::of("rollback", &[], ["3.0.0", "2.0.0"])
    }
    .kill_often(&world, FEW_MOMENTS);
}

#[test]
fn whoever_is_killed_while_repairing_leaves_what_can_be_repaired() {
    let world = World::new();
    three_versions(&world, 3);
    KilledChange {
        damage: &|store| {
            let lib = store.join("python_runtime/core/3.0.0/python/lib/python3.11");
            std::fs::write(lib.join("module_7.py"), "damaged").unwrap();
            std::fs::remove_file(lib.join("os.py")).unwrap();
        },
        ..KilledChange::of("repair", &[], ["3.0.0", "3.0.0"])
    }
    .kill_often(&world, FEW_MOMENTS);
}

#[test]
fn whoever_is_killed_while_making_the_list_anew_leaves_none_or_a_whole_one() {
    let world = World::new();
    three_versions(&world, 3);
    let lost = |store: &Path| std::fs::remove_file(store.join("active_index.json")).unwrap();
    KilledChange {
        damage: &lost,
        ..KilledChange::of("repair", &[], ["none", "3.0.0"])
    }
    .kill_often(&world, FEW_MOMENTS);
}

/// Three runtimes, of which the first are installed; the archive of the last.
fn three_versions(world: &World, installed: usize) -> String {
    let all = ["1.0.0", "2.0.0", "3.0.0"].map(|version| world.small_runtime(version, 60));
    for archive in &all[..installed] {
        world.install(archive);
    }
    all[2].clone()
}

/// A change of a store, and what is active before and after it.
struct KilledChange<'a> {
    verb: &'a str,
    more: &'a [&'a str],
    active: [&'a str; 2],
    /// What happened to the store before, so that there is something to do.
    damage: &'a dyn Fn(&Path),
    /// Whether it is begun again, where this version is active after a kill.
    redo: &'a dyn Fn(&str) -> bool,
}

impl<'a> KilledChange<'a> {
    fn of(verb: &'a str, more: &'a [&'a str], active: [&'a str; 2]) -> Self {
        Self {
            verb,
            more,
            active,
            damage: &|_| {},
            redo: &|_| true,
        }
    }

    /// Begin the same change of the same store again and again, and kill it at some moment.
    fn kill_often(&self, world: &World, moments: usize) {
        let Self { verb, active, .. } = self;
        let store = world.path("changed");
        let start_over = || {
            start_over(world, &store);
            (self.damage)(&store);
        };
        let mut args = vec!["bundle", verb, "--store", "changed"];
        args.extend(self.more);
        // How long it takes if nobody kills it.
        start_over();
        let begun = Instant::now();
        let whole = world.run(&args);
        assert_eq!(whole.code, Some(0), "{whole}");
        let duration = begun.elapsed();
        let mut chance = std::process::id();
        let mut ends = [0; 3];
        for round in 0..rounds(moments) {
            start_over();
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let moment = duration.mul_f64(f64::from(chance >> 8) / f64::from(1 << 24) * 1.1);
            let was_killed = run_until(world, &args, moment);
            let version = starts(&store);
            let is_new = version == active[1] && active[0] != active[1];
            assert!(is_new || version == active[0], "{version} after {moment:?}");
            ends[if was_killed { usize::from(is_new) } else { 2 }] += 1;
            let verify = [
                "bundle",
                "verify",
                "--store",
                "changed",
                "--version",
                &version,
            ];
            // What is to be repaired is whole when that is done.
            if *verb != "repair" {
                let whole = world.done(&verify);
                assert_eq!(whole["ok"], true, "after {moment:?}: {whole}");
            }
            // What was begun can be done.
            if (round % 5 == 0 || *verb == "repair") && (self.redo)(&version) {
                let again = world.run(&args);
                assert_eq!(again.code, Some(0), "after {moment:?}: {again}");
                assert_eq!(starts(&store), active[1]);
                assert!(
                    !store.join(".staging").exists() || ["activate", "rollback"].contains(verb)
                );
                let whole = world.done(&["bundle", "verify", "--store", "changed"]);
                assert_eq!(whole["ok"], true, "after {moment:?}: {whole}");
            }
        }
        eprintln!("{verb}: killed before it counted, after, ended before it was killed: {ends:?}");
        assert!(ends[0] > 0, "nobody was killed in time: {ends:?}");
    }
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

/// Start what the index says is active; the version that it says it is, or that there is no index.
fn starts(store: &Path) -> String {
    let Ok(bytes) = std::fs::read(store.join("active_index.json")) else {
        return "none".to_owned();
    };
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
