//! A tree to work in, and what a reader that follows the clock believes about it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_workspace::{ChangeKind, Changes, Clock, Snapshot, Workspace, WorkspaceOptions};

/// Options that do not depend on the machine's git.
pub(crate) fn options(watch: bool) -> WorkspaceOptions {
    WorkspaceOptions {
        watch,
        global_excludes: Some("/nosuch/excludes".into()),
        ..WorkspaceOptions::default()
    }
}

/// A folder of its own with a workspace in it.
pub(crate) struct Tree {
    pub(crate) outside: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) workspace: Arc<Workspace>,
}

impl Tree {
    pub(crate) fn new(options: WorkspaceOptions) -> Self {
        Self::at("root", options)
    }

    pub(crate) fn at(path: &str, options: WorkspaceOptions) -> Self {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().canonicalize().unwrap().join(path);
        fs::create_dir_all(&root).unwrap();
        let workspace = Arc::new(Workspace::new(root.clone(), options));
        Self {
            outside,
            root,
            workspace,
        }
    }

    /// Write a file, with the folders it needs.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.root.join(path), text);
    }

    pub(crate) async fn synced(&self) -> Snapshot {
        self.workspace.synced().await.unwrap()
    }

    pub(crate) async fn paths(&self) -> Vec<String> {
        let snapshot = self.synced().await;
        let paths = snapshot.files().iter().map(|file| file.path.to_string());
        paths.collect()
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A reader that keeps contents and only reads again what the clock says has changed.
#[derive(Default)]
pub(crate) struct Reader {
    clock: Option<Clock>,
    contents: BTreeMap<String, Vec<u8>>,
}

impl Reader {
    /// Follow the changes, then compare with what is on the disk.
    pub(crate) fn check(&mut self, snapshot: &Snapshot, when: &str) {
        let read = |path: &str| fs::read(snapshot.root().join(path)).unwrap_or_default();
        let files = snapshot.files();
        match snapshot.changes_since(self.clock) {
            Changes::Everything => {
                let all = files.iter().map(|file| file.path.to_string());
                self.contents = all.map(|path| (path.clone(), read(&path))).collect();
            }
            Changes::These(changes) => {
                for change in changes {
                    let path = change.path.to_string();
                    let known = self.contents.contains_key(&path);
                    match change.kind {
                        ChangeKind::Created => assert!(!known, "{when}: `{path}` was known"),
                        _ => assert!(known, "{when}: `{path}` was not known"),
                    }
                    match change.kind {
                        ChangeKind::Deleted => self.contents.remove(&path),
                        _ => self.contents.insert(path.clone(), read(&path)),
                    };
                }
            }
        }
        self.clock = Some(snapshot.clock());
        let listed: Vec<_> = files.iter().map(|file| file.path.to_string()).collect();
        let known: Vec<_> = self.contents.keys().cloned().collect();
        assert_eq!(known, listed, "{when}: paths");
        for (path, content) in &self.contents {
            assert!(*content == read(path), "{when}: stale `{path}`");
        }
    }
}

/// A second, new workspace sees the same files.
pub(crate) async fn compare_with_new(tree: &Tree, snapshot: &Snapshot, when: &str) {
    let new = Workspace::new(tree.root.clone(), options(false));
    let new_snapshot = new.synced().await.unwrap();
    let list = |snapshot: &Snapshot| -> Vec<_> {
        let files = snapshot.files().iter();
        files
            .map(|file| (file.path.to_string(), file.stamp))
            .collect()
    };
    assert_eq!(list(snapshot), list(&new_snapshot), "{when}");
    let (ours, theirs) = (tree.workspace.status(), new.status());
    assert_eq!(ours.folders, theirs.folders, "{when}: folders");
    assert_eq!(ours.skipped, theirs.skipped, "{when}: skipped");
}

/// Numbers that are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// What git says, without the settings of the machine.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's git ends by itself and needs no guard"
)]
pub(crate) fn git(root: &Path, args: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t"]);
    git.args(["-c", "core.excludesFile=/dev/null"]);
    git.args(args).current_dir(root);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
