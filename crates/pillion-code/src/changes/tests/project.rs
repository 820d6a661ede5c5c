//! A workspace that is opened, changed and changed back.

use std::sync::Arc;

use pillion_catalogue::Activity;
use pillion_project::Projects;
use pillion_supervisor::Supervisor;

use super::faults::{interrupted, prepared};
use super::*;
use crate::changes::{PatchFormat, deliver};
use crate::engines::Engines;
use crate::project::Project;

fn open(world: &World) -> Arc<Project> {
    let dirs = Dirs::under(world.folder.path().join("home"));
    let supervisor = Arc::new(Supervisor::new(Activity::default()));
    let projects = Arc::new(Projects::new(dirs.clone()));
    let engines = Engines::new(world.root.clone(), supervisor, projects);
    Arc::new(Project::new(
        world.root.clone(),
        pillion_workspace::Options::default(),
        engines,
        &dirs,
    ))
}

#[tokio::test]
async fn opening_a_workspace_completes_what_was_interrupted() {
    let world = World::new();
    let set = prepared(&world);
    interrupted(&world, &set, 3);
    assert_eq!(world.read("b.py"), b"b.py\n");
    let view = open(&world).view().await.unwrap();
    assert_eq!(world.read("b.py"), b"B\n");
    assert!(view.index.get("new/sub/c.py").is_some(), "and is known");
    assert!(view.index.get("sub/c.py").is_none());
}

#[tokio::test]
async fn a_change_is_shown_and_only_carried_out_if_that_is_asked_for() {
    let world = World::new();
    let set = prepared(&world);
    let before = world.tree();
    let project = open(&world);
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
