//! A workspace that is opened, changed and changed back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::Activity;
use pillion_changes::{ChangeSet, Journal, PatchFormat};
use pillion_engines::engines::Engines;
use pillion_project::Projects;
use pillion_runtime::Dirs;
use pillion_supervisor::Supervisor;
use pillion_symbols::project::CodeProject;

use super::deliver;

/// A workspace and a journal of its own.
struct World {
    folder: tempfile::TempDir,
    root: PathBuf,
    journal: Journal,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        Self {
            journal: Journal::new(&Dirs::under(folder.path().join("home")), &root),
            folder,
            root,
        }
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap()
    }

    /// Every file and folder, with its bytes.
    fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fn add(folder: &Path, all: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let bytes = path.is_file().then(|| fs::read(&path).unwrap());
                if path.is_dir() {
                    add(&path, all);
                }
                all.insert(path, bytes);
            }
        }
        let mut all = BTreeMap::new();
        add(&self.root, &mut all);
        all
    }

    fn open(&self) -> Arc<CodeProject> {
        let dirs = Dirs::under(self.folder.path().join("home"));
        let supervisor = Arc::new(Supervisor::new(Activity::default()));
        let projects = Arc::new(Projects::new(dirs.clone()));
        let engines = Engines::new(self.root.clone(), supervisor, projects);
        Arc::new(CodeProject::new(
            self.root.clone(),
            pillion_workspace::WorkspaceOptions::default(),
            engines,
            &dirs,
        ))
    }
}

/// Two changes, a rename into a new folder, a new and a deleted file.
fn prepared(world: &World) -> ChangeSet {
    fs::create_dir(world.root.join("sub")).unwrap();
    for name in ["a.py", "b.py", "sub/c.py", "d.py"] {
        fs::write(world.root.join(name), format!("{name}\n")).unwrap();
    }
    let mut set = ChangeSet::new(world.root.clone());
    set.set_text("a.py", "A\n").unwrap();
    set.set_text("b.py", "B\n").unwrap();
    set.rename("sub/c.py", "new/sub/c.py").unwrap();
    set.create("new/e.py", "e\n").unwrap();
    set.delete("d.py").unwrap();
    set
}

/// A transaction that is committed, with only some files written.
fn interrupted(world: &World, set: &ChangeSet, after: usize) {
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

#[tokio::test]
async fn opening_a_workspace_completes_what_was_interrupted() {
    let world = World::new();
    let set = prepared(&world);
    interrupted(&world, &set, 3);
    assert_eq!(world.read("b.py"), b"b.py\n");
    let view = world.open().view().await.unwrap();
    assert_eq!(world.read("b.py"), b"B\n");
    assert!(view.index.get("new/sub/c.py").is_some(), "and is known");
    assert!(view.index.get("sub/c.py").is_none());
}

#[tokio::test]
async fn a_change_is_shown_and_only_carried_out_if_that_is_asked_for() {
    let world = World::new();
    let set = prepared(&world);
    let before = world.tree();
    let project = world.open();
    let view = project.view().await.unwrap();
    let shown = deliver(&view, set.clone(), PatchFormat::Diff, false, "x");
    let shown = shown.await.unwrap();
    assert_eq!((shown.applied, &shown.undo), (false, &None));
    assert_eq!(shown.clock, view.clock());
    assert_eq!(world.tree(), before);
    let done = deliver(&view, set, PatchFormat::Diff, true, "x")
        .await
        .unwrap();
    assert!(done.applied && done.clock != shown.clock);
    assert_eq!(done.patches, shown.patches);
    assert_eq!(world.read("a.py"), b"A\n");
    let history = project.journal().history().unwrap();
    assert_eq!(done.undo.as_deref(), Some(history[0].id.as_str()));
    project.journal().undo(None).unwrap();
    assert_eq!(world.tree(), before);
}
