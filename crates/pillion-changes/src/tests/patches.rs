//! Patches, judged by those who have to take them: `git apply` and `patch -p1`.

use std::io::Write;
use std::process::{Command, Stdio};

use pillion_index::text::Text;
use proptest::prelude::*;

use super::*;
use crate::{PatchFormat, Patched, Renamed};

/// Random changes that are tried; each starts three programs.
const CASES: u32 = 80;

#[expect(
    clippy::disallowed_methods,
    reason = "a test that waits for a short-lived tool needs no supervision"
)]
fn run(folder: &Path, program: &str, args: &[&str], input: &str) -> Result<(), String> {
    let mut child = Command::new(program)
        .args(args)
        .current_dir(folder)
        // Not the user's settings, and not a repository above.
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {out}{err}\n{input}"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for (name, (bytes, mode)) in tree(from) {
        let path = to.join(name);
        match bytes {
            None => fs::create_dir_all(&path).unwrap(),
            Some(bytes) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, bytes).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

/// Files without folders: tools differ about empty ones.
fn files(root: &Path) -> Tree {
    let mut all = tree(root);
    all.retain(|_, (bytes, _)| bytes.is_some());
    all
}

fn patch_of(patched: &Patched) -> String {
    patched.patches.values().map(String::as_str).collect()
}

/// Let both tools do what the journal does, and compare.
fn agree(world: &World, set: &ChangeSet) -> Result<Patched, String> {
    let patched = set.patched(PatchFormat::Diff, String::new()).unwrap();
    let full = set.patched(PatchFormat::Full, String::new()).unwrap();
    let patch = patch_of(&patched);
    let by_git = world.folder.path().join("by_git");
    let by_patch = world.folder.path().join("by_patch");
    copy(&world.root, &by_git);
    copy(&world.root, &by_patch);
    world.journal.apply(set, "").unwrap();
    if !patch.is_empty() {
        run(&by_git, "git", &["apply", "--check", "-"], &patch)?;
        run(&by_git, "git", &["apply", "-"], &patch)?;
        run(
            &by_patch,
            "patch",
            &["-p1", "--no-backup-if-mismatch"],
            &patch,
        )?;
    }
    let expected = files(&world.root);
    for (name, folder) in [("git", by_git), ("patch", by_patch)] {
        let found = files(&folder);
        if found != expected {
            return Err(format!("{name}: {found:?}\nnot {expected:?}\n{patch}"));
        }
        fs::remove_dir_all(folder).unwrap();
    }
    for (path, text) in &full.patches {
        assert_eq!(expected[path].0.as_deref(), Some(text.as_bytes()), "{path}");
    }
    Ok(patched)
}

#[test]
fn git_and_patch_take_every_kind_of_change() {
    let world = World::new();
    world.write("crlf.py", "a\r\nb\r\nc\r\n");
    world.write("open.py", "a\nb");
    world.write("empty.py", "");
    world.write("with space.py", "a\nb\n");
    world.write("gone space.py", "");
    world.write("bin/run me", "#!/bin/sh\na\nb\nc\nd\n");
    world.write("pure move.py", "x\n");
    world.write("old\"quote\\.py", "x\ny\n");
    world.write("näh.py", "x\n");
    world.write("mark.py", "\u{feff}x\ny\n");
    world.write("dead.py", "x\ny");
    world.write("return.py", "a\rb\nc\n");
    world.chmod("bin/run me", 0o755);
    let mut set = world.set();
    set.edit("crlf.py", vec![edit((1, 0), (1, 1), "B\nB2")])
        .unwrap();
    set.edit("open.py", vec![edit((1, 0), (1, 1), "B")])
        .unwrap();
    set.set_text("empty.py", "x\n").unwrap();
    set.edit("with space.py", vec![edit((0, 0), (0, 1), "A")])
        .unwrap();
    set.delete("gone space.py").unwrap();
    set.rename("bin/run me", "tools/run it").unwrap();
    set.edit("bin/run me", vec![edit((2, 0), (2, 1), "B")])
        .unwrap();
    set.rename("pure move.py", "deep/er/moved.py").unwrap();
    set.edit("old\"quote\\.py", vec![edit((0, 0), (0, 1), "z")])
        .unwrap();
    set.edit("näh.py", vec![edit((0, 0), (0, 1), "ü")]).unwrap();
    set.edit("mark.py", vec![edit((0, 0), (0, 1), "z")])
        .unwrap();
    set.delete("dead.py").unwrap();
    set.edit("return.py", vec![edit((2, 0), (2, 1), "C")])
        .unwrap();
    set.create("new space.py", "").unwrap();
    set.create("pkg/new.py", "a\nb").unwrap();
    let patched = agree(&world, &set).unwrap();
    assert_eq!(patched.created, ["new space.py", "pkg/new.py"]);
    assert_eq!(patched.deleted, ["dead.py", "gone space.py"]);
    assert_eq!(
        patched.renamed[0],
        Renamed {
            from: "pure move.py".into(),
            to: "deep/er/moved.py".into()
        }
    );
    assert_eq!((patched.files.len(), patched.edits), (14, 9));
    assert!(patched.patches["crlf.py"].contains("\n+B\r\n+B2\r\n c\r\n"));
    assert!(patched.patches["crlf.py"].starts_with(
        "diff --git a/crlf.py b/crlf.py\n--- a/crlf.py\n+++ b/crlf.py\n@@ -1,3 +1,4 @@\n"
    ));
    assert!(patched.patches["open.py"].ends_with("+B\n\\ No newline at end of file\n"));
    assert!(
        patched.patches["pkg/new.py"]
            .contains("\n--- /dev/null\n+++ b/pkg/new.py\n@@ -0,0 +1,2 @@")
    );
    assert!(patched.patches["dead.py"].contains("\n--- a/dead.py\n+++ /dev/null\n"));
}

#[test]
fn what_is_no_rename_for_git_is_shown_as_it_can_be() {
    let world = World::new();
    world.write("a.py", "a\nb\nc\n");
    world.write("b.py", "1\n2\n3\n");
    let mut set = world.set();
    set.rename("a.py", "a/__init__.py").unwrap();
    set.create("a.py", "from a import *\n").unwrap();
    set.rename("b.py", "tmp").unwrap();
    set.delete("tmp").unwrap();
    let patched = agree(&world, &set).unwrap();
    assert_eq!(patched.created, ["a/__init__.py"]);
    assert_eq!(patched.renamed, []);
    assert_eq!(patched.deleted, ["b.py"]);
}

#[test]
fn a_file_that_is_not_utf8_is_shown_as_text_with_a_warning() {
    let world = World::new();
    world.write("latin.py", b"# coding: latin-1\nx = '\xe9'\n");
    let mut set = world.set();
    set.warn("look twice");
    set.edit("latin.py", vec![edit((1, 0), (1, 1), "y")])
        .unwrap();
    let patched = set.patched(PatchFormat::Diff, "c:1".into()).unwrap();
    assert!(patched.patches["latin.py"].contains("+y = 'é'"));
    assert_eq!(patched.warnings.len(), 2);
    assert!(patched.warnings[1].contains("latin-1"));
    let text = patched.text();
    assert!(text.starts_with("diff --git a/latin.py") && text.contains("\nwarning: look twice\n"));
    let wire = serde_json::to_string(&patched).unwrap();
    assert_eq!(serde_json::from_str::<Patched>(&wire).unwrap(), patched);
}

/// What happens to one of the files.
#[derive(Debug, Clone)]
enum Act {
    Text(String),
    Delete,
    Rename,
    RenameAndText(String),
    Nothing,
}

fn text() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec("[ab]?", 0..14);
    (lines, any::<bool>(), any::<bool>()).prop_map(|(lines, open, crlf)| {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = lines.join(end);
        if !open && !lines.is_empty() {
            text.push_str(end);
        }
        text
    })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => text().prop_map(Act::Text),
        1 => Just(Act::Delete),
        1 => Just(Act::Rename),
        2 => text().prop_map(Act::RenameAndText),
        1 => Just(Act::Nothing),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]
    #[test]
    fn git_patch_and_the_journal_agree(
        all in proptest::collection::vec((text(), act()), 1..6),
        new in proptest::collection::vec(text(), 0..3),
    ) {
        let world = World::in_memory();
        let name = |n: usize| format!("{}file {n}.py", ["", "sub/"][n % 2]);
        for (n, (before, _)) in all.iter().enumerate() {
            world.write(&name(n), before);
        }
        let before = world.tree();
        let mut set = world.set();
        for (n, (_, act)) in all.into_iter().enumerate() {
            let (path, to) = (name(n), format!("new place/{n}.py"));
            match act {
                Act::Text(text) => set.set_text(&path, &text).unwrap(),
                Act::Delete => set.delete(&path).unwrap(),
                Act::Rename => set.rename(&path, &to).unwrap(),
                Act::RenameAndText(text) => {
                    set.rename(&path, &to).unwrap();
                    set.set_text(&to, &text).unwrap();
                }
                Act::Nothing => {}
            }
        }
        for (n, text) in new.iter().enumerate() {
            set.create(&format!("fresh {n}"), text).unwrap();
        }
        let agreed = agree(&world, &set);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
        if !set.is_empty() {
            world.journal.undo(None).unwrap();
        }
        prop_assert_eq!(world.tree(), before);
    }
}
