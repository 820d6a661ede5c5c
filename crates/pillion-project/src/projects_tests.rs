use super::*;
use crate::Walls;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

struct World {
    home: tempfile::TempDir,
    projects: Projects,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let projects = Projects::new(Dirs::under(home.path().join("pillion")));
        Self { home, projects }
    }

    fn folder(&self, name: &str) -> Whereabouts {
        let root = self.home.path().join(name);
        fs::create_dir_all(&root).unwrap();
        Whereabouts {
            root: root.canonicalize().unwrap(),
            ..Whereabouts::default()
        }
    }

    /// How many projects have left.
    fn left(&self) -> Arc<AtomicUsize> {
        let left = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&left);
        self.projects.on_leaving(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        left
    }
}

/// A program that says that it is Python, and notes each time that it was asked.
fn fake_python(at: &Path, notes: &Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    let text = format!("#!/bin/sh\necho asked >> {}\nexit 3\n", notes.display());
    fs::write(at, text).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_project_is_opened_once_and_again_when_it_changed() {
    let world = World::new();
    let left = world.left();
    let place = world.folder("one");
    let first = world.projects.open(place.clone()).await.unwrap();
    let again = world.projects.open(place.clone()).await.unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let named = Whereabouts {
        python: Some("/nowhere/python".into()),
        ..place.clone()
    };
    let other = world.projects.open(named).await.unwrap();
    assert!(!Arc::ptr_eq(&first, &other), "other words, another project");
    assert_eq!(left.load(Ordering::Relaxed), 0);
    fs::write(place.root.join("pillion.toml"), "[python]\nworkers = 3\n").unwrap();
    let now = world.projects.open(place).await.unwrap();
    assert!(!Arc::ptr_eq(&first, &now));
    assert_eq!(
        (now.config.python.workers, left.load(Ordering::Relaxed)),
        (3, 1)
    );
}

#[tokio::test]
async fn folders_of_one_project_are_one_project_until_a_nearer_root_appears() {
    let world = World::new();
    let (outer, inner) = (world.folder("one"), world.folder("one/inner"));
    fs::write(outer.root.join("pyproject.toml"), "").unwrap();
    let whole = world.projects.open(outer.clone()).await.unwrap();
    let part = world.projects.open(inner.clone()).await.unwrap();
    assert!(Arc::ptr_eq(&whole, &part));
    fs::write(inner.root.join("pillion.toml"), "").unwrap();
    let part = world.projects.open(inner.clone()).await.unwrap();
    assert_eq!(part.root, inner.root);
    let exact = world.projects.at(inner.clone()).await.unwrap();
    assert!(Arc::ptr_eq(&exact, &part));
    // And from when it is gone, the outer one is it again.
    let known = world.projects.open(inner.clone()).await.unwrap();
    assert!(Arc::ptr_eq(&known, &part));
    fs::remove_file(inner.root.join("pillion.toml")).unwrap();
    let part = world.projects.open(inner).await.unwrap();
    assert_eq!(part.root, outer.root);
}

#[tokio::test]
async fn the_one_that_was_not_asked_for_longest_makes_room() {
    let world = World::new();
    let left = world.left();
    let busy = world.folder("busy");
    let first = world.projects.open(busy.clone()).await.unwrap();
    let idle = world.projects.open(world.folder("idle")).await.unwrap();
    for number in 0..MAX_PROJECTS + 10 {
        let other = world.folder(&format!("other/{number}"));
        world.projects.open(other).await.unwrap();
        let known = world.projects.open(busy.clone()).await.unwrap();
        assert!(
            Arc::ptr_eq(&first, &known),
            "thrown out by others: {number}"
        );
        assert!(world.projects.known().slots.len() <= MAX_PROJECTS);
    }
    assert_eq!(left.load(Ordering::Relaxed), 12, "as many as had to");
    let again = world.projects.open(world.folder("idle")).await.unwrap();
    assert!(!Arc::ptr_eq(&idle, &again));
}

#[tokio::test]
async fn a_missing_python_is_looked_for_once_by_all_who_wait_and_again_later() {
    let world = World::new();
    let notes = world.home.path().join("notes");
    let python = world.home.path().join("env/bin/python");
    fake_python(&python, &notes);
    let place = Whereabouts {
        python: Some(python.clone()),
        ..world.folder("one")
    };
    let asked = || {
        fs::read_to_string(&notes)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let project = world.projects.open(place.clone()).await.unwrap();
    assert_eq!(asked(), 0, "opening asks nobody");
    // One search asks it more than once what is wrong with it.
    assert!(project.python(Walls::None).await.choice().is_err());
    let once = asked();
    let all = (0..20).map(|_| project.python(Walls::None));
    for found in futures::future::join_all(all).await {
        assert!(found.choice().is_err());
    }
    assert_eq!(asked(), 2 * once);
    let again = project.python(Walls::None).await;
    assert!(again.choice().is_err());
    assert_eq!(asked(), 3 * once, "who asks later may hear another answer");
    // Who can do without believes it for as long as nothing changed.
    for _ in 0..3 {
        let found = project.python_if_any(Walls::None).await;
        assert!(Arc::ptr_eq(&found, &again));
    }
    let same = world.projects.open(place.clone()).await.unwrap();
    assert!(
        Arc::ptr_eq(&project, &same),
        "nobody uses what is not there"
    );
    fs::remove_file(&python).unwrap();
    fake_python(&python, &notes);
    let found = project.python_if_any(Walls::None).await;
    assert!(!Arc::ptr_eq(&found, &again));
    assert_eq!(asked(), 4 * once);
}

#[tokio::test]
async fn what_a_service_keeps_goes_with_the_project() {
    let world = World::new();
    let place = world.folder("one");
    let project = world.projects.open(place.clone()).await.unwrap();
    project.kept::<AtomicUsize>().store(7, Ordering::Relaxed);
    assert_eq!(project.kept::<AtomicUsize>().load(Ordering::Relaxed), 7);
    assert!(
        project
            .kept::<Mutex<u8>>()
            .lock()
            .is_ok_and(|byte| *byte == 0)
    );
    fs::write(place.root.join("pillion.toml"), "").unwrap();
    let project = world.projects.open(place).await.unwrap();
    assert_eq!(project.kept::<AtomicUsize>().load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn trust_is_in_the_text_that_was_read() {
    let world = World::new();
    let place = world.folder("one");
    let config = place.root.join("pillion.toml");
    fs::write(&config, "[python]\npass_env = ['TOKEN']\n").unwrap();
    let demand = |project: &Project| project.demand(&project.config.python.demands(false));
    let project = world.projects.open(place.clone()).await.unwrap();
    assert!(!project.is_trusted() && demand(&project).is_err());
    let trust = pillion_runtime::trust::TrustRecords::new(world.projects.dirs());
    trust.give(&place.root, &config).unwrap();
    let project = world.projects.open(place.clone()).await.unwrap();
    assert!(project.is_trusted() && demand(&project).is_ok());
    trust.take_back(&place.root).unwrap();
    let project = world.projects.open(place).await.unwrap();
    assert!(demand(&project).is_err());
}
