//! What happens when the system says no.

use std::io;
use std::process::Command;

use pillion_catalogue::Code;

use super::*;
use crate::journal::Recovered;

fn is_root() -> bool {
    pillion_process::effective_uid() == 0
}

/// Two changes, a rename into a new folder, a new and a deleted file.
pub(super) fn prepared(world: &World) -> ChangeSet {
    for name in ["a.py", "b.py", "sub/c.py", "d.py"] {
        world.write(name, format!("{name}\n"));
    }
    let mut set = world.set();
    set.set_text("a.py", "A\n").unwrap();
    set.set_text("b.py", "B\n").unwrap();
    set.rename("sub/c.py", "new/sub/c.py").unwrap();
    set.create("new/e.py", "e\n").unwrap();
    set.delete("d.py").unwrap();
    set
}

#[test]
fn a_failure_at_any_step_is_rolled_back() {
    for fails_at in 1.. {
        let world = World::new();
        let set = prepared(&world);
        let before = world.tree();
        let mut steps = 0;
        let applied = world.journal.apply_with(&set, "", &mut || {
            steps += 1;
            match steps == fails_at {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            }
        });
        if steps < fails_at {
            assert!(applied.is_ok());
            assert_eq!(fails_at, 7, "every step was tried");
            return;
        }
        let error = applied.unwrap_err();
        assert_eq!(error.code, Code::WriteFailed);
        assert!(error.message.contains("as they were"), "{error}");
        assert_eq!(world.tree(), before, "step {fails_at}");
        assert_eq!(world.journal.history().unwrap(), []);
        assert_eq!(world.journal.recover().unwrap(), Recovered::default());
        // It can be tried again.
        world.journal.apply(&set, "").unwrap();
        world.journal.undo(None).unwrap();
        assert_eq!(world.tree(), before);
    }
}

/// A transaction that is committed, with only some files written.
pub(super) fn interrupted(world: &World, set: &ChangeSet, after: usize) {
    let mut steps = 0;
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.journal.apply_with(set, "", &mut || {
            steps += 1;
            // As if the process had been killed: nothing is cleaned up.
            assert!(steps <= after, "killed");
            Ok(())
        })
    }));
    assert!(caught.is_err());
}

#[test]
fn an_interrupted_change_is_completed() {
    let world = World::new();
    let set = prepared(&world);
    let before = world.tree();
    world.journal.apply(&set, "").unwrap();
    let wanted = world.tree();
    world.journal.undo(None).unwrap();
    for after in 0..6 {
        interrupted(&world, &set, after);
        let recovered = world.journal.recover().unwrap();
        assert_eq!((recovered.completed.len(), recovered.left), (1, vec![]));
        assert_eq!(world.tree(), wanted, "after {after}");
        assert_eq!(world.journal.recover().unwrap(), Recovered::default());
        world.journal.undo(None).unwrap();
        assert_eq!(world.tree(), before);
    }
}

#[test]
fn what_others_changed_meanwhile_is_left_alone() {
    let world = World::new();
    let set = prepared(&world);
    interrupted(&world, &set, 3);
    world.write("b.py", "from an editor\n");
    let recovered = world.journal.recover().unwrap();
    assert_eq!(recovered.left, ["b.py"]);
    assert_eq!(world.read("b.py"), b"from an editor\n");
    assert_eq!(world.read("a.py"), b"A\n");
    assert!(!world.root.join("d.py").exists());
}

#[test]
fn what_cannot_be_completed_is_taken_back() {
    let world = World::new();
    let set = prepared(&world);
    let before = world.tree();
    interrupted(&world, &set, 4);
    assert_eq!(world.read("b.py"), b"B\n");
    world.write("new", "a file where a folder should be");
    let recovered = world.journal.recover().unwrap();
    assert_eq!(recovered.taken_back.len(), 1);
    assert_eq!(recovered.left, [""; 0]);
    fs::remove_file(world.root.join("new")).unwrap();
    assert_eq!(world.tree(), before);
    assert_eq!(world.journal.recover().unwrap(), Recovered::default());
}

#[test]
fn what_was_not_committed_is_dropped() {
    let world = World::new();
    let set = prepared(&world);
    interrupted(&world, &set, 0);
    let folder = world.journal.folder.clone();
    let id = world.journal.ids().unwrap().remove(0);
    fs::rename(
        folder.join(&id).join("manifest.json"),
        folder.join(&id).join("manifest.new"),
    )
    .unwrap();
    assert_eq!(world.journal.recover().unwrap(), Recovered::default());
    assert!(!folder.join(&id).exists());
    assert_eq!(world.read("a.py"), b"a.py\n");
}

#[test]
fn a_read_only_folder_or_file_stops_everything() {
    // Root may write anywhere, so that only a child of another user can see this.
    if is_root() {
        let name = "tests::faults::a_read_only_folder_or_file_stops_everything";
        return as_nobody(name);
    }
    for (path, mode) in [("sub", 0o555), ("sub/f.py", 0o444)] {
        let world = World::new();
        let mut set = prepared(&world);
        world.write("sub/f.py", "f\n");
        set.set_text("sub/f.py", "F\n").unwrap();
        world.chmod(path, mode);
        let mut fresh = world.set();
        fresh.set_text("a.py", "A\n").unwrap();
        fresh.set_text("sub/f.py", "F\n").unwrap();
        let before = world.tree();
        let error = world.journal.apply(&fresh, "").unwrap_err();
        assert_eq!(error.code, Code::WriteFailed, "{error}");
        assert!(error.message.contains("sub/f.py"), "{error}");
        assert_eq!(world.tree(), before);
        world.chmod("sub", 0o755);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs itself as another user needs no supervision"
)]
fn as_nobody(test: &str) {
    use std::os::unix::process::CommandExt;
    // Where nobody can find it: the target folder may be closed to others.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let output = Command::new(&program)
        .args(["--exact", test])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .gid(65534)
        .uid(65534)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && out.contains("1 passed"), "{out}");
}

/// In a child with mounts of its own, where also an ordinary user can have a small disk.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs itself elsewhere needs no supervision"
)]
fn a_full_disk_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut child = Command::new("unshare");
    if !is_root() {
        child.args(["--user", "--map-root-user"]);
    }
    let mount = "mount -t tmpfs -o size=256k tmpfs \"$0\" && exec \"$@\"";
    let output = child
        .args(["--mount", "sh", "-c", mount])
        .arg(place.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "tests::faults::on_a_small_disk"])
        .env(SMALL_DISK, place.path())
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && out.contains("1 passed"),
        "{out}{err}"
    );
}

const SMALL_DISK: &str = "PILLION_TEST_SMALL_DISK";

/// What the child runs; of itself the test has nothing to do.
#[test]
fn on_a_small_disk() {
    let Some(place) = std::env::var_os(SMALL_DISK) else {
        return;
    };
    let mut world = World::at(place.as_ref());
    let roomy = tempfile::tempdir().unwrap();
    for journal_is_full in [true, false] {
        if !journal_is_full {
            world.journal = Journal::new(&Dirs::under(roomy.path()), &world.root);
        }
        let mut set = prepared(&world);
        for n in 0..9 {
            set.create(&format!("large{n}.py"), &"x = 1\n".repeat(9000))
                .unwrap();
        }
        let before = world.tree();
        let error = world.journal.apply(&set, "").unwrap_err();
        assert_eq!(error.code, Code::WriteFailed);
        assert!(error.message.contains("No space"), "{error}");
        assert_eq!(world.tree(), before);
        assert_eq!(world.journal.history().unwrap(), []);
    }
}

#[test]
fn a_vanished_folder_stops_everything() {
    let world = World::new();
    let set = prepared(&world);
    let before = world.read("a.py");
    let mut steps = 0;
    let applied = world.journal.apply_with(&set, "", &mut || {
        steps += 1;
        if steps == 4 {
            fs::remove_dir_all(world.root.join("new")).unwrap_or(());
            fs::write(world.root.join("new"), "a file in the way").unwrap();
        }
        Ok(())
    });
    let error = applied.unwrap_err();
    assert_eq!(error.code, Code::WriteFailed, "{error}");
    assert_eq!(world.read("a.py"), before);
    assert_eq!(world.read("sub/c.py"), b"sub/c.py\n");
}
