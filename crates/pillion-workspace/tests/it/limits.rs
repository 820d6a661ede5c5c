//! Where watching ends, and what is left out.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use pillion_protocol::Code;
use pillion_workspace::{Changes, WatchMode, Workspace, WorkspaceOptions};

use crate::common::{Reader, Tree, compare_with_new, options};

#[tokio::test]
async fn the_queue_overflows() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let tree = Tree::new(options(true));
    let mut reader = Reader::default();
    tree.write("a.py", "1");
    reader.check(&tree.synced().await, "first");
    // Each makes several events, and events in a row about one file are made one.
    for n in 0..limit / 2 {
        let path = tree.root.join(format!("{}.tmp", n % 2));
        fs::write(&path, "").unwrap();
        fs::remove_file(&path).unwrap();
    }
    tree.write("a.py", "2");
    tree.write("b/c.py", "2");
    let snapshot = tree.synced().await;
    reader.check(&snapshot, "overflow");
    compare_with_new(&tree, &snapshot, "overflow").await;
    assert_eq!(tree.workspace.status().mode, Some(WatchMode::Watching));
    tree.write("b/c.py", "3");
    reader.check(&tree.synced().await, "after");
}

#[tokio::test]
async fn too_many_folders_to_watch_are_swept() {
    let tree = Tree::new(WorkspaceOptions {
        max_watches: 4,
        retry: Duration::ZERO,
        ..options(true)
    });
    let mut reader = Reader::default();
    tree.write("a/a.py", "1");
    reader.check(&tree.synced().await, "few");
    assert_eq!(tree.workspace.status().mode, Some(WatchMode::Watching));
    for n in 0..4 {
        tree.write(&format!("b/{n}/x.py"), "1");
    }
    for text in ["2", "3"] {
        reader.check(&tree.synced().await, "many");
        let status = tree.workspace.status();
        assert_eq!(
            (status.mode, status.watches),
            (Some(WatchMode::Sweeping), 0)
        );
        assert!(status.why.unwrap().contains("more than 4"));
        tree.write("b/2/x.py", text);
    }
    fs::remove_dir_all(tree.root.join("b")).unwrap();
    reader.check(&tree.synced().await, "few again");
    let status = tree.workspace.status();
    assert_eq!((status.mode, status.why), (Some(WatchMode::Watching), None));
    tree.write("a/a.py", "2");
    reader.check(&tree.synced().await, "watched again");
}

#[tokio::test]
async fn watching_is_not_tried_again_at_once() {
    let tree = Tree::new(WorkspaceOptions {
        max_watches: 1,
        ..options(true)
    });
    tree.write("a/a.py", "1");
    tree.synced().await;
    fs::remove_dir_all(tree.root.join("a")).unwrap();
    tree.synced().await;
    assert_eq!(tree.workspace.status().mode, Some(WatchMode::Sweeping));
}

#[tokio::test]
async fn file_systems_that_others_change_are_swept() {
    let workspace = Workspace::new("/proc/sys/fs/inotify".into(), options(true));
    let snapshot = workspace.synced().await.unwrap();
    assert!(snapshot.files().get("max_queued_events").is_some());
    let status = workspace.status();
    assert_eq!(status.mode, Some(WatchMode::Sweeping));
    assert!(status.why.unwrap().contains("others may change"));
}

#[tokio::test]
async fn too_many_files_are_refused() {
    for watch in [true, false] {
        let tree = Tree::new(WorkspaceOptions {
            max_files: 3,
            ..options(watch)
        });
        for n in 0..3 {
            tree.write(&format!("{n}.py"), "");
        }
        let clock = tree.synced().await.clock();
        tree.write("x/3.py", "");
        for _ in 0..2 {
            let error = tree.workspace.synced().await.unwrap_err();
            assert_eq!(error.code, Code::InvalidParams);
            assert!(error.hint.unwrap().contains(".pillionignore"));
        }
        tree.write(".pillionignore", "x\n.pillionignore\n");
        let snapshot = tree.synced().await;
        assert_eq!(snapshot.files().len(), 3);
        let Changes::These(changes) = snapshot.changes_since(Some(clock)) else {
            panic!("the log holds it");
        };
        assert!(changes.iter().all(|change| !change.path.contains('x')));
    }
}

#[tokio::test]
async fn names_that_are_no_text_are_counted() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        let odd = tree.root.join(OsStr::from_bytes(b"\xff.py"));
        fs::write(&odd, "").unwrap();
        tree.write("a.py", "");
        assert_eq!(tree.paths().await, ["a.py"]);
        assert_eq!(tree.workspace.status().skipped, 1);
        fs::remove_file(&odd).unwrap();
        fs::create_dir(&odd).unwrap();
        fs::write(odd.join("x.py"), "").unwrap();
        assert_eq!(tree.paths().await, ["a.py"]);
        assert_eq!(tree.workspace.status().skipped, 1);
        fs::remove_dir_all(&odd).unwrap();
        tree.synced().await;
        assert_eq!(tree.workspace.status().skipped, 0);
    }
}

#[test]
fn folders_that_cannot_be_read_are_counted() {
    let counted = async {
        let tree = Tree::new(options(true));
        tree.write("a/x.py", "");
        tree.write("b.py", "");
        let mode = |mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(tree.root.join("a"), mode).unwrap();
        };
        mode(0);
        fs::read_dir(tree.root.join("a")).unwrap_err();
        assert_eq!(tree.paths().await, ["b.py"]);
        assert_eq!(tree.workspace.status().skipped, 1);
        mode(0o755);
        assert_eq!(tree.paths().await, ["a/x.py", "b.py"]);
        assert_eq!(tree.workspace.status().skipped, 0);
    };
    // In a thread of its own, because it gives up what opens all folders to root. The threads
    // that it starts have as much as it has.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            mind_permissions();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(counted);
        });
        thread.join().unwrap();
    });
}

/// Permissions hold for this thread, also if we are root.
fn mind_permissions() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None).unwrap();
    sets.effective &= !(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    set_capabilities(None, sets).unwrap();
}

#[tokio::test]
async fn the_status_can_be_sent() {
    let tree = Tree::new(options(false));
    tree.write("a/x.py", "");
    assert_eq!(tree.workspace.status().syncs, 0);
    tree.synced().await;
    let status = serde_json::to_value(tree.workspace.status()).unwrap();
    assert_eq!(status["mode"], "sweeping");
    assert_eq!(status["why"], "it was asked for");
    assert_eq!(status["files"], 1);
    assert_eq!(status["folders"], 2);
    assert!(status["clock"].as_str().unwrap().ends_with(":1"));
}
