//! Every way to change a file is noticed by the next look, watched or not.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use super::*;

/// How many modules there are, and how often is asked for what is looked at and for what is
/// watched.
const MODULES: usize = 40;
const SELDOM: usize = 2;
const OFTEN: usize = 10;

/// Nothing has changed yet, however often one asks.
fn ask(sources: &Sources, often: usize) {
    (0..often).for_each(|_| assert_eq!(sources.changed(), None));
}

struct Project {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    /// A folder `src` with 40 modules, and those imported; asked for so often.
    fn new(often: usize) -> (Self, Sources) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        for n in 0..MODULES {
            fs::write(root.join(format!("src/m{n}.py")), "x = 1\n").unwrap();
        }
        let project = Self { _temp: temp, root };
        let mut sources = Sources::default();
        let paths = (0..MODULES).map(|n| project.path(n));
        sources.add(paths.map(|path| proof(&path)).collect());
        ask(&sources, often);
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

/// What is asked for seldom is looked at, the rest is watched: both must hold.
fn seldom_and_often(change: impl Fn(&Project)) {
    for often in [SELDOM, OFTEN] {
        let (project, sources) = Project::new(often);
        change(&project);
        let changed = sources.changed();
        assert_eq!(changed, Some(project.path(1).display().to_string()));
        assert_eq!(sources.changed(), changed, "it stays changed");
    }
}

#[test]
fn an_edit_in_place() {
    seldom_and_often(|project| fs::write(project.path(1), "x = 2\nlonger").unwrap());
}

#[test]
fn a_new_file_in_its_place() {
    seldom_and_often(|project| {
        let new = project.root.join("new");
        fs::write(&new, "x = 2\n").unwrap();
        fs::rename(new, project.path(1)).unwrap();
    });
}

#[test]
fn a_file_that_is_gone() {
    seldom_and_often(|project| fs::remove_file(project.path(1)).unwrap());
    seldom_and_often(|project| fs::rename(project.path(1), project.root.join("away")).unwrap());
}

#[test]
fn another_folder_in_the_place_of_its_own() {
    for often in [SELDOM, OFTEN] {
        let (project, sources) = Project::new(often);
        fs::rename(project.root.join("src"), project.root.join("old")).unwrap();
        assert!(sources.changed().is_some(), "the folder is gone");
        fs::rename(project.root.join("old"), project.root.join("src")).unwrap();
        assert_eq!(sources.changed(), None, "and back, with every file in it");
    }
}

#[test]
fn an_edit_through_another_name() {
    let (project, _) = Project::new(OFTEN);
    let other = project.root.join("other.py");
    fs::hard_link(project.path(1), &other).unwrap();
    let mut sources = Sources::default();
    sources.add((0..MODULES).map(|n| proof(&project.path(n))).collect());
    ask(&sources, OFTEN);
    fs::write(other, "x = 2\nlonger").unwrap();
    assert!(sources.changed().is_some());
}

#[test]
fn a_link_that_is_turned() {
    let (project, mut sources) = Project::new(OFTEN);
    let link = project.root.join("link.py");
    symlink(project.path(1), &link).unwrap();
    sources.add(vec![proof(&link)]);
    ask(&sources, OFTEN);
    fs::remove_file(&link).unwrap();
    symlink(project.path(2), &link).unwrap();
    assert_eq!(sources.changed(), Some(link.display().to_string()));
}

#[test]
fn a_file_that_appears_where_none_was() {
    for often in [SELDOM, OFTEN] {
        let (project, mut sources) = Project::new(often);
        let path = project.root.join("src/late.py");
        let absent = SourceFile(path.display().to_string(), 0, 0, 0, 0, 0);
        sources.add(vec![absent]);
        ask(&sources, often);
        fs::write(project.root.join("src/other.txt"), "").unwrap();
        assert_eq!(sources.changed(), None, "a stranger appeared");
        fs::write(&path, "").unwrap();
        assert_eq!(sources.changed(), Some(path.display().to_string()));
    }
}

#[test]
fn what_is_imported_again_has_a_new_proof() {
    let (project, mut sources) = Project::new(OFTEN);
    fs::write(project.path(1), "x = 2\nlonger").unwrap();
    assert!(sources.changed().is_some());
    sources.add(vec![proof(&project.path(1))]);
    ask(&sources, OFTEN);
    fs::write(project.path(1), "x = 3\nlonger still").unwrap();
    assert!(sources.changed().is_some());
}

#[test]
fn an_edit_before_the_watch_is_seen_by_the_first_look() {
    let (project, _) = Project::new(OFTEN);
    let mut sources = Sources::default();
    sources.add((0..MODULES).map(|n| proof(&project.path(n))).collect());
    fs::write(project.path(1), "x = 2\nlonger").unwrap();
    assert!(sources.changed().is_some());
}
