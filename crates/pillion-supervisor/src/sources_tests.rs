//! Every way to change a file is noticed by the next look, watched or not.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;

struct Project {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    /// A folder `src` with so many modules, and those imported.
    fn new(modules: usize) -> (Self, Sources) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        for n in 0..modules {
            fs::write(root.join(format!("src/m{n}.py")), "x = 1\n").unwrap();
        }
        let project = Self { _temp: temp, root };
        let mut sources = Sources::default();
        let paths = (0..modules).map(|n| project.path(n));
        sources.add(paths.map(|path| proof(&path)).collect());
        assert_eq!(sources.changed(), None, "nothing has happened yet");
        assert_eq!(sources.changed(), None, "still not");
        (project, sources)
    }

    fn path(&self, n: usize) -> PathBuf {
        self.root.join(format!("src/m{n}.py"))
    }
}

fn proof(path: &Path) -> SourceFile {
    let meta = fs::metadata(path).unwrap();
    let nanos = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
    SourceFile(
        path.display().to_string(),
        meta.dev(),
        meta.ino(),
        meta.size(),
        nanos(meta.mtime(), meta.mtime_nsec()),
        nanos(meta.ctime(), meta.ctime_nsec()),
    )
}

/// A few files are looked at, many are watched: both must hold.
fn few_and_many(change: impl Fn(&Project)) {
    for modules in [2, 40] {
        let (project, mut sources) = Project::new(modules);
        change(&project);
        let changed = sources.changed();
        assert_eq!(changed, Some(project.path(1).display().to_string()));
        assert_eq!(sources.changed(), changed, "it stays changed");
    }
}

#[test]
fn an_edit_in_place() {
    few_and_many(|project| fs::write(project.path(1), "x = 2\nlonger").unwrap());
}

#[test]
fn a_new_file_in_its_place() {
    few_and_many(|project| {
        let new = project.root.join("new");
        fs::write(&new, "x = 2\n").unwrap();
        fs::rename(new, project.path(1)).unwrap();
    });
}

#[test]
fn a_file_that_is_gone() {
    few_and_many(|project| fs::remove_file(project.path(1)).unwrap());
    few_and_many(|project| fs::rename(project.path(1), project.root.join("away")).unwrap());
}

#[test]
fn another_folder_in_the_place_of_its_own() {
    for modules in [2, 40] {
        let (project, mut sources) = Project::new(modules);
        fs::rename(project.root.join("src"), project.root.join("old")).unwrap();
        assert!(sources.changed().is_some(), "the folder is gone");
        fs::rename(project.root.join("old"), project.root.join("src")).unwrap();
        assert_eq!(sources.changed(), None, "and back, with every file in it");
    }
}

#[test]
fn an_edit_through_another_name() {
    let (project, _) = Project::new(40);
    let other = project.root.join("other.py");
    fs::hard_link(project.path(1), &other).unwrap();
    let mut sources = Sources::default();
    sources.add((0..40).map(|n| proof(&project.path(n))).collect());
    assert_eq!(sources.changed(), None);
    fs::write(other, "x = 2\nlonger").unwrap();
    assert!(sources.changed().is_some());
}

#[test]
fn a_link_that_is_turned() {
    let (project, mut sources) = Project::new(40);
    let link = project.root.join("link.py");
    symlink(project.path(1), &link).unwrap();
    sources.add(vec![proof(&link)]);
    assert_eq!(sources.changed(), None);
    assert_eq!(sources.changed(), None);
    fs::remove_file(&link).unwrap();
    symlink(project.path(2), &link).unwrap();
    assert_eq!(sources.changed(), Some(link.display().to_string()));
}

#[test]
fn a_file_that_appears_where_none_was() {
    for modules in [2, 40] {
        let (project, mut sources) = Project::new(modules);
        let path = project.root.join("src/late.py");
        let absent = SourceFile(path.display().to_string(), 0, 0, 0, 0, 0);
        sources.add(vec![absent]);
        assert_eq!(sources.changed(), None);
        assert_eq!(sources.changed(), None, "it is still not there");
        fs::write(project.root.join("src/other.txt"), "").unwrap();
        assert_eq!(sources.changed(), None, "a stranger appeared");
        fs::write(&path, "").unwrap();
        assert_eq!(sources.changed(), Some(path.display().to_string()));
    }
}

#[test]
fn what_is_imported_again_has_a_new_proof() {
    let (project, mut sources) = Project::new(40);
    fs::write(project.path(1), "x = 2\nlonger").unwrap();
    assert!(sources.changed().is_some());
    sources.add(vec![proof(&project.path(1))]);
    assert_eq!(sources.changed(), None);
    fs::write(project.path(1), "x = 3\nlonger still").unwrap();
    assert!(sources.changed().is_some());
}

#[test]
fn an_edit_before_the_watch_is_seen_by_the_first_look() {
    let (project, _) = Project::new(40);
    let mut sources = Sources::default();
    sources.add((0..40).map(|n| proof(&project.path(n))).collect());
    fs::write(project.path(1), "x = 2\nlonger").unwrap();
    assert!(sources.changed().is_some());
}

#[cfg(target_os = "linux")]
#[test]
fn many_are_watched_and_strangers_do_not_matter() {
    let (project, mut sources) = Project::new(40);
    assert!(
        matches!(sources.watch, Watch::Kept(_)),
        "temporary files are on a local file system"
    );
    fs::write(project.root.join("src/unrelated.txt"), "").unwrap();
    let Watch::Kept(sentry) = &mut sources.watch else {
        return;
    };
    sentry.begin_look();
    fs::write(project.root.join("src/unrelated.txt"), "more").unwrap();
    assert!(sentry.all_quiet(&sources.files));
    let (_, few) = Project::new(FEW);
    assert!(matches!(few.watch, Watch::None));
}
