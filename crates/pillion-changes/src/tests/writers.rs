//! Others who write to the same files while changes are carried out.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pillion_catalogue::Code;

use super::*;
use crate::content::{Content, PathState, held_at};
use crate::swap::{Settled, Swap, Swapped, settled};

/// Long enough on any machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// Changes that are to be carried out, and as many to be refused, each way.
const ROUNDS: usize = 100;

const SWAP: Swap = Swap { can_exchange: true };

fn content(path: &Path) -> Content {
    match held_at(path).unwrap() {
        PathState::File(content) => content,
        other => panic!("{other:?}"),
    }
}

/// A way of writing a whole file.
type Way = fn(&Path, &str);

/// A file that is open for writing while it has its name. One that was found under the name,
/// and is open only when it has long been replaced, is seen by nobody.
fn opened(path: &Path, options: &fs::OpenOptions) -> File {
    let identity = |about: std::io::Result<fs::Metadata>| about.map(|about| about.ino()).ok();
    loop {
        // It is away for a moment while a change deletes and creates it.
        if let Ok(file) = options.open(path)
            && identity(file.metadata()) == identity(fs::metadata(path))
        {
            return file;
        }
    }
}

fn in_place(path: &Path, text: &str) {
    let mut file = opened(path, File::options().write(true).truncate(true));
    // Half of it first, so that there is a moment in between.
    let (one, two) = text.split_at(text.len() / 2);
    file.write_all(one.as_bytes()).unwrap();
    file.write_all(two.as_bytes()).unwrap();
}

fn renamed_over(path: &Path, text: &str) {
    let new = path.with_extension("editor");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

/// Opened long before it is written to.
fn late(path: &Path, text: &str) {
    let mut file = opened(path, File::options().write(true));
    std::thread::sleep(Duration::from_micros(300));
    file.set_len(0).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// One writes versions of a file, the other adds a line to whatever it finds. Whenever the
/// one has written, the file must come to hold that version.
fn no_edit_is_lost(way: Way) {
    let world = World::in_memory();
    let path = world.root.join("a.py");
    world.write("a.py", "version 0\n");
    world.write("b.py", "b\n");
    let is_enough = AtomicBool::new(false);
    let (mut applied, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 1_u64.. {
                if is_enough.load(Ordering::Acquire) {
                    return;
                }
                // Now at once, now with time for the other to come in between.
                std::thread::sleep(Duration::from_micros(n * 37 % 11 * 200));
                way(&path, &format!("version {n}\n"));
                let began = Instant::now();
                loop {
                    // It may be away while the other looks at it.
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    if text.lines().next() == Some(&*format!("version {n}")) {
                        break;
                    }
                    assert!(began.elapsed() < DEADLINE, "{n} is lost: {text:?}");
                    std::thread::yield_now();
                }
            }
        });
        let mut round = 0;
        while !writer.is_finished() {
            is_enough.store(applied >= ROUNDS && refused >= ROUNDS, Ordering::Release);
            round += 1;
            let mut set = world.set();
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let line = format!(
                "{}\nadded {round}\n",
                text.lines().next().unwrap_or_default()
            );
            // Some are of two files, so that there is something to take back.
            if round % 2 == 0 {
                set.set_text("b.py", &format!("{round}\n")).unwrap();
            }
            if set.set_text("a.py", &line).is_err() {
                continue;
            }
            match world.journal.apply(&set, "") {
                Ok(_) => applied += 1,
                Err(error) => {
                    assert_eq!(error.code, Code::Conflict, "{error}");
                    refused += 1;
                }
            }
        }
    });
    println!("{applied} applied, {refused} refused");
    let left: Vec<String> = world.tree().into_keys().collect();
    let is_ours = |name: &String| name.ends_with(".tmp");
    assert!(!left.iter().any(is_ours), "{left:?}");
}

#[test]
fn no_edit_in_place_is_lost() {
    no_edit_is_lost(in_place);
}

#[test]
fn no_edit_by_rename_is_lost() {
    no_edit_is_lost(renamed_over);
}

#[test]
fn no_late_edit_is_lost() {
    no_edit_is_lost(late);
}

#[test]
fn what_was_not_expected_goes_back() {
    let world = World::new();
    world.write("a", "old");
    let (path, aside) = (world.root.join("a"), world.root.join("aside"));
    let old = content(&path);
    for can_exchange in [true, false] {
        let swap = Swap { can_exchange };
        world.write("a", "of others");
        world.write("aside", "new");
        let there = content(&path);
        assert_eq!(swap.replace(&aside, &path, &old).unwrap(), Swapped::Changed);
        assert_eq!(world.read("a"), b"of others");
        assert_eq!(world.read("aside"), b"new");
        assert_eq!(swap.replace(&aside, &path, &there).unwrap(), Swapped::Done);
        assert_eq!(world.read("a"), b"new");
        fs::remove_file(&aside).unwrap_or(());
        assert_eq!(swap.remove(&path, &aside, &old).unwrap(), Swapped::Changed);
        assert_eq!(world.read("a"), b"new");
        let new = content(&path);
        assert_eq!(swap.remove(&path, &aside, &new).unwrap(), Swapped::Done);
        assert!(!path.exists());
        world.write("a", "in the way");
        assert!(!swap.place(&aside, &path).unwrap());
        assert_eq!(world.read("a"), b"in the way");
        fs::remove_file(&path).unwrap();
        assert!(swap.place(&aside, &path).unwrap());
    }
    // A link is no file, wherever it leads.
    world.write("aside", "new");
    fs::remove_file(&path).unwrap();
    symlink("elsewhere", &path).unwrap();
    assert_eq!(SWAP.replace(&aside, &path, &old).unwrap(), Swapped::Changed);
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(
        SWAP.remove(&path, &world.root.join("b"), &old).unwrap(),
        Swapped::Changed
    );
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
}

#[test]
fn a_file_that_is_open_for_writing_is_not_thrown_away() {
    let world = World::new();
    let set = faults::prepared(&world);
    let before = world.tree();
    for name in ["a.py", "d.py"] {
        let mut open = File::options()
            .append(true)
            .open(world.root.join(name))
            .unwrap();
        let error = world.journal.apply(&set, "").unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{error}");
        assert!(error.message.contains("open for writing"), "{error}");
        assert_eq!(world.tree(), before);
        // It is still the same file, so that what comes now is not lost either.
        open.write_all(b"more\n").unwrap();
        assert!(world.read(name).ends_with(b"more\n"));
        drop(open);
        world.write(name, format!("{name}\n"));
    }
    let reading = File::open(world.root.join("a.py")).unwrap();
    world.journal.apply(&set, "").unwrap();
    drop(reading);
}

#[test]
fn what_came_out_before_a_kill_goes_back() {
    let world = World::new();
    let set = faults::prepared(&world);
    faults::interrupted(&world, &set, 0);
    // As if it had been killed right after the files changed places.
    let aside = |name: &str| {
        let hash = crate::content::hash(name.as_bytes());
        let id = world.journal.ids().unwrap().remove(0);
        world
            .root
            .join(format!(".pillion-{id}-{}.tmp", &hash[..16]))
    };
    world.write("a.py", "A\n");
    fs::write(aside("a.py"), "of others\n").unwrap();
    fs::rename(world.root.join("d.py"), aside("d.py")).unwrap();
    fs::write(aside("d.py"), "of others, too\n").unwrap();
    world.write("b.py", "newer\n");
    fs::write(aside("b.py"), "older\n").unwrap();
    let recovered = world.journal.recover().unwrap();
    assert_eq!(recovered.left, ["a.py", "b.py", "b.py.kept-1", "d.py"]);
    assert_eq!(world.read("a.py"), b"of others\n");
    assert_eq!(world.read("d.py"), b"of others, too\n");
    assert_eq!(world.read("b.py"), b"newer\n");
    assert_eq!(world.read("b.py.kept-1"), b"older\n");
    let names: Vec<String> = world.tree().into_keys().collect();
    assert!(
        !names.iter().any(|name| name.ends_with(".tmp")),
        "{names:?}"
    );
}

#[test]
fn changes_are_carried_out_where_files_cannot_change_places() {
    let mut world = World::new();
    world.journal.swap = Swap {
        can_exchange: false,
    };
    let set = faults::prepared(&world);
    let before = world.tree();
    world.journal.apply(&set, "").unwrap();
    assert_eq!(world.read("a.py"), b"A\n");
    assert!(!world.root.join("d.py").exists());
    world.journal.undo(None).unwrap();
    assert_eq!(world.tree(), before);
    world.write("a.py", "of others\n");
    assert_eq!(
        world.journal.apply(&set, "").unwrap_err().code,
        Code::Conflict
    );
}

#[test]
fn a_file_settles_once_nobody_writes_to_it() {
    let world = World::new();
    world.write("a", "x");
    let path = world.root.join("a");
    let known = content(&path);
    assert_eq!(settled(&path, &[Some(&known)]).unwrap(), Settled::Same);
    let open = File::options().write(true).open(&path).unwrap();
    assert_eq!(settled(&path, &[Some(&known)]).unwrap(), Settled::Open);
    world.write("a", "y");
    assert_eq!(settled(&path, &[Some(&known)]).unwrap(), Settled::Changed);
    drop(open);
    assert_eq!(settled(&world.root.join("b"), &[]).unwrap(), Settled::Same);
}
