//! Carrying out and taking back.

use std::sync::Barrier;

use pillion_catalogue::Code;

use super::*;

/// A workspace with some of everything, and a change of all of it.
fn everything() -> (World, ChangeSet) {
    let world = World::new();
    world.write("run.sh", b"#!/bin/sh\r\n");
    world.write("pkg/old/a.py", "a\n");
    world.write("pkg/old/b.py", b"\xff\xfe");
    world.write("gone.py", "");
    world.write("secret.py", "password\n");
    world.chmod("run.sh", 0o751);
    world.chmod("secret.py", 0o600);
    world.chmod("gone.py", 0o444 | 0o200);
    world.chmod("pkg/old", 0o700);
    fs::create_dir(world.root.join("empty")).unwrap();
    let mut set = world.set();
    set.edit("run.sh", vec![edit((1, 0), (1, 0), "ls\n")])
        .unwrap();
    set.edit("secret.py", vec![edit((0, 0), (0, 4), "key")])
        .unwrap();
    set.rename("pkg/old/a.py", "pkg/new/a.py").unwrap();
    set.rename("pkg/old/b.py", "pkg/new/b.py").unwrap();
    set.delete("gone.py").unwrap();
    set.create("empty/x.py", "x\n").unwrap();
    set.create("deep/er/y.py", "y\n").unwrap();
    (world, set)
}

#[test]
fn undo_restores_every_byte_mode_and_folder() {
    let (world, set) = everything();
    let before = world.tree();
    let applied = world.journal.apply(&set, "all of it").unwrap();
    let after = world.tree();
    assert_eq!(
        after["run.sh"],
        (Some(b"#!/bin/sh\r\nls\r\n".to_vec()), 0o751)
    );
    assert_eq!(after["secret.py"].1, 0o600);
    assert!(!after.contains_key("pkg/old"), "an empty folder is removed");
    assert!(!after.keys().any(|name| name.contains("pillion")));
    let undone = world.journal.undo(None).unwrap();
    assert_eq!(undone.undoes, applied.id);
    assert_eq!(undone.files, applied.files);
    assert_eq!(world.tree(), before);
    // There and back again.
    let again = world.journal.undo(undone.id.as_deref()).unwrap();
    assert_eq!(world.tree(), after);
    let history = world.journal.history().unwrap();
    let titles: Vec<&str> = history.iter().map(|past| past.title.as_str()).collect();
    assert_eq!(
        titles,
        ["undo: undo: all of it", "undo: all of it", "all of it"]
    );
    let states: Vec<bool> = history.iter().map(|past| past.undone).collect();
    assert_eq!(states, [false, true, false]);
    world.journal.undo(again.id.as_deref()).unwrap();
    assert_eq!(world.tree(), before);
    let states: Vec<bool> = world
        .journal
        .history()
        .unwrap()
        .iter()
        .map(|p| p.undone)
        .collect();
    assert_eq!(states, [false, true, false, true]);
    assert_eq!(world.journal.undo(None).unwrap_err().code, Code::NotFound);
    let error = world.journal.undo(Some("nosuch")).unwrap_err();
    assert_eq!(error.code, Code::NotFound);
}

#[test]
fn several_changes_are_taken_back_one_by_one() {
    let world = World::new();
    world.write("a.py", "0");
    for n in 1..4 {
        let mut set = world.set();
        set.set_text("a.py", &n.to_string()).unwrap();
        world.journal.apply(&set, "count").unwrap();
    }
    for n in [2, 1, 0] {
        world.journal.undo(None).unwrap();
        assert_eq!(world.read("a.py"), n.to_string().as_bytes());
    }
}

#[test]
fn a_file_that_differs_stops_everything() {
    let meddle: [fn(&World); 5] = [
        |world| world.write("run.sh", "#!/bin/bash\n"),
        |world| world.chmod("secret.py", 0o644),
        |world| world.write("deep/er/y.py", "mine\n"),
        |world| fs::remove_file(world.root.join("gone.py")).unwrap(),
        |world| {
            fs::remove_dir_all(world.root.join("empty")).unwrap();
            std::os::unix::fs::symlink("/tmp", world.root.join("empty")).unwrap();
        },
    ];
    let names = [
        "run.sh",
        "secret.py",
        "deep/er/y.py",
        "gone.py",
        "empty/x.py",
    ];
    for (meddle, name) in meddle.into_iter().zip(names) {
        let (world, set) = everything();
        meddle(&world);
        let before = world.tree();
        let error = world.journal.apply(&set, "").unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{error}");
        assert!(error.message.contains(name), "{error}");
        assert_eq!(error.data.unwrap()["files"][0], name);
        assert_eq!(world.tree(), before);
        assert_eq!(world.journal.history().unwrap(), []);
    }
    let (world, set) = everything();
    world.journal.apply(&set, "").unwrap();
    world.write("pkg/new/a.py", "more\n");
    let before = world.tree();
    let error = world.journal.undo(None).unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert!(error.message.contains("pkg/new/a.py"), "{error}");
    assert_eq!(world.tree(), before);
}

#[test]
fn a_change_in_the_last_moment_is_not_overwritten() {
    let (world, set) = everything();
    let before = world.tree();
    let mut steps = 0;
    let applied = world.journal.apply_with(&set, "", &mut || {
        steps += 1;
        if steps == 6 {
            world.write("secret.py", "from an editor\n");
        }
        Ok(())
    });
    let error = applied.unwrap_err();
    assert_eq!(error.code, Code::Conflict, "{error}");
    assert!(error.message.contains("as they were"), "{error}");
    let mut after = world.tree();
    let edited = after.insert("secret.py".into(), before["secret.py"].clone());
    assert_eq!(edited.unwrap().0.unwrap(), b"from an editor\n");
    assert_eq!(after, before);
}

#[test]
fn the_journal_is_bounded() {
    let mut world = World::new();
    world.journal.max_kept = 3;
    world.write("a.py", "0");
    let apply = |journal: &Journal, text: &str| {
        let mut set = world.set();
        set.set_text("a.py", text).unwrap();
        journal.apply(&set, text.get(..1).unwrap()).unwrap();
    };
    for n in 1..7 {
        apply(&world.journal, &n.to_string());
    }
    let titles = |journal: &Journal| -> Vec<String> {
        let history = journal.history().unwrap();
        history.into_iter().map(|past| past.title).collect()
    };
    assert_eq!(titles(&world.journal), ["6", "5", "4"]);
    let mut tight = world.journal.clone();
    tight.max_bytes = 5000;
    apply(&tight, &"x".repeat(9000));
    assert_eq!(titles(&tight), ["x"], "the newest one stays");
    apply(&tight, "y");
    assert_eq!(titles(&tight), ["y"]);
}

#[test]
fn undoing_does_not_push_out_what_can_still_be_undone() {
    let mut world = World::new();
    world.journal.max_kept = 4;
    world.write("a.py", "0");
    for n in 1..5 {
        let mut set = world.set();
        set.set_text("a.py", &n.to_string()).unwrap();
        world.journal.apply(&set, "count").unwrap();
    }
    for _ in 1..5 {
        world.journal.undo(None).unwrap();
    }
    assert_eq!(world.read("a.py"), b"0");
}

#[test]
fn one_transaction_runs_at_a_time() {
    let world = World::new();
    world.write("a.py", "0\n");
    let start = Barrier::new(8);
    let done: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let (world, start) = (&world, &start);
                scope.spawn(move || {
                    let mut set = world.set();
                    set.set_text("a.py", &format!("{n} is mine\n")).unwrap();
                    start.wait();
                    match world.journal.apply(&set, "") {
                        Ok(_) => 1,
                        Err(error) => {
                            assert_eq!(error.code, Code::Conflict);
                            0
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(done, 1);
    assert_eq!(world.journal.history().unwrap().len(), 1);
}
