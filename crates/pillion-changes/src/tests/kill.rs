//! A process that is killed in the middle of a transaction.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;

/// Says where a child finds the workspace; without it the child's test does nothing.
const WORLD: &str = "PILLION_TEST_CHANGES_WORLD";
const FILES: usize = 40;
const KILLS: u32 = 200;

/// The version that a tree is at: every file has the same, or there is none.
fn version(root: &Path) -> Option<u32> {
    let mut found = None;
    let all = tree(root);
    let mut files = 0;
    for (name, (bytes, mode)) in &all {
        let Some(bytes) = bytes else {
            continue;
        };
        assert!(!name.ends_with(".tmp"), "{name} is left behind");
        let text = std::str::from_utf8(bytes).unwrap();
        let version: u32 = text.lines().next().unwrap().parse().unwrap();
        if *found.get_or_insert(version) != version {
            return None;
        }
        assert_eq!(*mode, 0o640, "{name}");
        files += 1;
    }
    assert!(files == FILES || found.is_none(), "{files} files");
    found
}

fn name(n: usize, version: u32) -> String {
    // Some move to and fro, in folders that come and go.
    match n % 5 {
        0 => format!("moving{}/{n}.py", version % 2),
        1 => format!("pkg/sub/{n}.py"),
        _ => format!("{n}.py"),
    }
}

fn next(root: &Path, from: u32) -> ChangeSet {
    let mut set = ChangeSet::new(root.to_owned());
    for n in 0..FILES {
        let (old, new) = (name(n, from), name(n, from + 1));
        if old != new {
            set.rename(&old, &new).unwrap();
        }
        let text = format!("{}\n{}", from + 1, "text\n".repeat(n));
        set.set_text(&new, &text).unwrap();
    }
    set
}

/// Runs in a child: change everything, again and again.
#[test]
fn changes_everything_for_ever_if_it_is_asked_to() {
    let Some(folder) = std::env::var_os(WORLD).map(PathBuf::from) else {
        return;
    };
    let root = folder.join("root");
    let journal = Journal::new(&Dirs::under(folder.join("home")), &root);
    println!("\nready");
    loop {
        let from = version(&root).unwrap();
        let mut steps = 0;
        let applied = journal.apply_with(&next(&root, from), "next", &mut || {
            steps += 1;
            if steps == 1 {
                println!("writing");
            }
            Ok(())
        });
        applied.unwrap();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a child that is to be killed needs no supervision"
)]
fn child(folder: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .arg("tests::kill::changes_everything_for_ever_if_it_is_asked_to")
        .env(WORLD, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out.lines().map_while(Result::ok))
}

/// Whether files of two versions stand side by side, or some are missing.
fn is_torn(root: &Path) -> bool {
    let all = tree(root);
    let texts = all.iter().filter(|(name, _)| name.ends_with(".py"));
    let texts: Vec<&[u8]> = texts
        .filter_map(|(_, (bytes, _))| bytes.as_deref())
        .collect();
    let first = |text: &[u8]| text.split(|b| *b == b'\n').next().map(<[u8]>::to_vec);
    let versions: BTreeSet<_> = texts.iter().map(|text| first(text)).collect();
    versions.len() > 1 || texts.len() < FILES
}

#[test]
fn all_files_are_old_or_all_are_new_whenever_it_is_killed() {
    // The kernel outlives the process, so that nothing has to reach a disk.
    let world = World::in_memory();
    let folder = world.root.parent().unwrap();
    for n in 0..FILES {
        world.write(&name(n, 0), "0\n");
        world.chmod(&name(n, 0), 0o640);
    }
    let mut seed = 7_u64;
    let (mut torn, mut versions) = (0, BTreeSet::new());
    for round in 0..KILLS {
        let (mut child, mut lines) = child(folder);
        // Any moment; or, as that is short, one while names are being changed.
        let (word, micros) = match round % 2 {
            0 => ("ready", 9000),
            _ => ("writing", 600),
        };
        assert!(lines.any(|line| line == word));
        // A linear congruence: other moments each time, and the same in each run.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((seed >> 33) % micros));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        torn += u32::from(is_torn(&world.root));
        let recovered = world.journal.recover().unwrap();
        assert_eq!(recovered.left, [""; 0]);
        assert_eq!(recovered.taken_back, [""; 0]);
        versions.insert(version(&world.root).expect("all of one version"));
    }
    println!("{torn} of {KILLS} kills left files of two versions");
    assert!(torn >= 5, "only {torn} kills hit the middle of a change");
    assert!(versions.len() > 10, "{versions:?}");
    let history = world.journal.history().unwrap();
    let count = history.len();
    assert!((10..=50).contains(&count), "{count} in the journal");
    world.journal.undo(None).unwrap();
    assert!(version(&world.root).unwrap() < versions.pop_last().unwrap());
}
