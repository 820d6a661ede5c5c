//! What disturbs a watch, and what does not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A folder with `a/b/file`, `a/b/other` and a link `way` to `a`.
fn place() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/file"), "one").unwrap();
    fs::write(root.join("a/b/other"), "one").unwrap();
    symlink("a", root.join("way")).unwrap();
    (temp, root)
}

/// A watch over these paths, and how often it looked.
struct Asked<'a> {
    watch: Watch,
    paths: Vec<PathBuf>,
    looks: &'a AtomicUsize,
}

impl Asked<'_> {
    /// Whether the question needed a look.
    fn looks(&self) -> bool {
        let before = self.looks.load(Ordering::Relaxed);
        let look = || {
            self.looks.fetch_add(1, Ordering::Relaxed);
            true
        };
        assert!(self.watch.holds(|| self.paths.clone(), look));
        self.looks.load(Ordering::Relaxed) > before
    }

    /// Asked often enough, it is watched.
    fn watched(root: &Path, paths: &[&str], looks: &'static AtomicUsize) -> Self {
        let asked = Self {
            watch: Watch::default(),
            paths: paths.iter().map(|path| root.join(path)).collect(),
            looks,
        };
        (0..=ASKED_OFTEN).for_each(|_| assert!(asked.looks()));
        asked.rest();
        asked
    }

    /// As if it had been looked at just now.
    fn rest(&self) {
        if let State::Kept { looked, .. } = &mut *self.watch.state() {
            *looked = Instant::now() + Duration::from_secs(3600);
        }
    }
}

fn watched(root: &Path, paths: &[&str]) -> Asked<'static> {
    Asked::watched(root, paths, Box::leak(Box::default()))
}

/// Every change that must be noticed is, through each of these paths.
#[cfg(target_os = "linux")]
#[test]
fn whatever_happens_on_the_way_or_at_its_end_makes_it_look() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 9] = [
        ("written", |root| {
            fs::write(root.join("a/b/file"), "two").unwrap();
        }),
        ("replaced", |root| {
            fs::rename(root.join("a/b/other"), root.join("a/b/file")).unwrap();
        }),
        ("removed", |root| {
            fs::remove_file(root.join("a/b/file")).unwrap();
        }),
        ("moved", |root| {
            fs::rename(root.join("a/b/file"), root.join("x")).unwrap();
        }),
        ("touched", |root| {
            let file = fs::File::open(root.join("a/b/file")).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }),
        ("written by another name", |root| {
            fs::hard_link(root.join("a/b/file"), root.join("name")).unwrap();
            fs::write(root.join("name"), "two").unwrap();
        }),
        ("folder moved", |root| {
            fs::rename(root.join("a/b"), root.join("b")).unwrap();
        }),
        ("folder above moved", |root| {
            fs::rename(root.join("a"), root.join("c")).unwrap();
        }),
        ("folder above swapped", |root| {
            fs::create_dir(root.join("new")).unwrap();
            let (a, new) = (root.join("a"), root.join("new"));
            rustix::fs::renameat_with(
                rustix::fs::CWD,
                a,
                rustix::fs::CWD,
                new,
                rustix::fs::RenameFlags::EXCHANGE,
            )
            .unwrap();
        }),
    ];
    for (what, change) in changes {
        for path in ["a/b/file", "way/b/file", "a/../way/b/file"] {
            let (_temp, root) = place();
            let asked = watched(&root, &[path]);
            assert!(!asked.looks(), "nothing happened");
            change(&root);
            assert!(asked.looks(), "{what}, seen through {path}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_that_is_turned_makes_it_look() {
    let (_temp, root) = place();
    let asked = watched(&root, &["way/b/file"]);
    assert!(!asked.looks());
    fs::create_dir(root.join("elsewhere")).unwrap();
    symlink("elsewhere", root.join("turned")).unwrap();
    assert!(!asked.looks(), "that is beside its way");
    fs::rename(root.join("turned"), root.join("way")).unwrap();
    assert!(asked.looks());
}

#[cfg(target_os = "linux")]
#[test]
fn what_comes_where_nothing_was_makes_it_look() {
    for path in ["a/b/new", "a/new/deeper"] {
        let (_temp, root) = place();
        let asked = watched(&root, &[path]);
        fs::write(root.join("a/b/stranger"), "").unwrap();
        fs::write(root.join("a/stranger"), "").unwrap();
        assert!(!asked.looks(), "a stranger does not matter to {path}");
        fs::create_dir_all(root.join(path)).unwrap();
        assert!(asked.looks(), "{path} came");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_is_its_names() {
    let (_temp, root) = place();
    let asked = watched(&root, &["a/b"]);
    fs::write(root.join("a/b/file"), "two").unwrap();
    assert!(!asked.looks(), "what is in a file is nothing to its folder");
    fs::write(root.join("a/b/new"), "").unwrap();
    assert!(asked.looks());
}

#[cfg(target_os = "linux")]
#[test]
fn many_who_watch_the_same_hear_of_it_and_one_that_leaves_takes_nothing_along() {
    let (_temp, root) = place();
    let first = watched(&root, &["a/b/file"]);
    let second = watched(&root, &["a/b/file", "a/b/new"]);
    let third = watched(&root, &["a/b/other"]);
    drop(first);
    fs::write(root.join("a/b/file"), "two").unwrap();
    assert!(!third.looks());
    assert!(second.looks());
    fs::write(root.join("a/b/other"), "two").unwrap();
    assert!(third.looks());
}

#[test]
fn stamps_hold_until_they_do_not_watched_or_not() {
    for often in [0, 10] {
        let (_temp, root) = place();
        let watched = Watched::from(Stamps::of([root.join("a/b/file"), root.join("none")]));
        (0..often).for_each(|_| assert!(watched.hold()));
        fs::write(root.join("a/b/file"), "longer").unwrap();
        assert!(!watched.hold());
        assert!(!watched.hold(), "it stays changed");
        fs::remove_dir_all(&root).unwrap();
        assert!(!watched.hold());
    }
}

#[test]
fn a_look_follows_from_time_to_time_in_any_case() {
    let (_temp, root) = place();
    let asked = watched(&root, &["a/b/file"]);
    if let State::Kept { looked, .. } = &mut *asked.watch.state() {
        *looked = Instant::now().checked_sub(LOOK_AGAIN).unwrap();
    }
    assert!(asked.looks());
}
