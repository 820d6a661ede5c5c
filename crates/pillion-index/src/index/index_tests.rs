//! The index follows the files, and keeps what it parsed.

use std::fs;
use std::path::{Path, PathBuf};

use pillion_catalogue::Code;
use pillion_workspace::{Workspace, WorkspaceOptions};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    (temp, root)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// What an index knows, without the stamps.
fn known(index: &Index) -> Vec<(String, Facts)> {
    index
        .iter()
        .map(|(path, facts)| (path.to_string(), facts.clone()))
        .collect()
}

/// An index that was never anything else.
fn fresh(root: &Path) -> Index {
    let workspace = Workspace::new(root.to_owned(), WorkspaceOptions::default());
    let mut index = Index::default();
    index
        .follow(
            &runtime().block_on(workspace.synced()).unwrap(),
            &CancellationToken::new(),
        )
        .unwrap();
    index
}

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, String),
    Replace(usize, String),
    Delete(usize),
    Move(usize, usize),
    Look,
    Restart,
}

const PATHS: [&str; 6] = [
    "a.py",
    "b.pyi",
    "pkg/__init__.py",
    "pkg/c.py",
    "pkg/deep/d.py",
    "note.txt",
];

fn edit() -> impl Strategy<Value = Edit> {
    let path = 0..PATHS.len();
    let text = prop::sample::select(vec![
        "def one(): ...\n",
        "def two(): ...\n",
        "class A(B):\n    x = 1\n",
        "import os\n__all__ = ['q']\n",
        "def broken(:\n",
        "",
        "# coding: latin-1\nname = 1\n",
    ]);
    prop_oneof![
        4 => (path.clone(), text.clone()).prop_map(|(p, t)| Edit::Write(p, t.into())),
        2 => (path.clone(), text).prop_map(|(p, t)| Edit::Replace(p, t.into())),
        2 => path.clone().prop_map(Edit::Delete),
        1 => (path.clone(), path).prop_map(|(a, b)| Edit::Move(a, b)),
        3 => Just(Edit::Look),
        1 => Just(Edit::Restart),
    ]
}

fn apply(root: &Path, edit: &Edit) {
    let full = |path: usize| root.join(PATHS[path]);
    let make = |path: &Path| fs::create_dir_all(path.parent().unwrap()).unwrap();
    match edit {
        Edit::Write(path, text) => {
            make(&full(*path));
            fs::write(full(*path), text).unwrap();
        }
        Edit::Replace(path, text) => {
            make(&full(*path));
            fs::write(root.join("new~"), text).unwrap();
            fs::rename(root.join("new~"), full(*path)).unwrap();
        }
        Edit::Delete(path) => drop(fs::remove_file(full(*path))),
        Edit::Move(from, to) => {
            make(&full(*to));
            let _ = fs::rename(full(*from), full(*to));
        }
        Edit::Look | Edit::Restart => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever happened on the way, also a restart from disk: what the index knows is what
    /// it would know had it never seen anything else.
    #[test]
    fn following_gives_the_same_as_beginning_anew(edits in prop::collection::vec(edit(), 1..30)) {
        let (temp, root) = folder();
        let store = IndexStore::new(&temp.path().join("cache"), &root);
        let runtime = runtime();
        let mut workspace = Workspace::new(root.clone(), WorkspaceOptions::default());
        let mut index = Index::default();
        for edit in edits.iter().chain([&Edit::Look]) {
            apply(&root, edit);
            if matches!(edit, Edit::Restart) {
                store.save(&index).map_err(|e| TestCaseError::fail(e.to_string()))?;
                index = store.load();
                workspace = Workspace::new(root.clone(), WorkspaceOptions::default());
            }
            if matches!(edit, Edit::Look | Edit::Restart) {
                index.follow(&runtime.block_on(workspace.synced()).unwrap(), &CancellationToken::new()).unwrap();
                prop_assert_eq!(known(&index), known(&fresh(&root)));
            }
        }
    }
}

#[test]
fn what_is_on_disk_is_parsed_only_if_it_changed() {
    let (temp, root) = folder();
    for n in 0..40 {
        let file = root.join(format!("m{n}.py"));
        fs::write(&file, format!("def f{n}(): ...\n")).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
        fs::File::options()
            .append(true)
            .open(file)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    let runtime = runtime();
    let store = IndexStore::new(&temp.path().join("cache"), &root);
    let follow = |index: &mut Index| {
        let workspace = Workspace::new(root.clone(), WorkspaceOptions::default());
        index
            .follow(
                &runtime.block_on(workspace.synced()).unwrap(),
                &CancellationToken::new(),
            )
            .unwrap()
    };
    let mut first = Index::default();
    assert_eq!(follow(&mut first).parsed, 40);
    store.save(&first).unwrap();
    fs::write(root.join("m3.py"), "def other(): ...\n").unwrap();
    fs::remove_file(root.join("m4.py")).unwrap();
    let mut second = store.load();
    let followed = follow(&mut second);
    assert_eq!((followed.parsed, followed.forgotten), (1, 1));
    assert_eq!(known(&second), known(&fresh(&root)));
}

#[test]
fn a_damaged_or_foreign_file_is_not_believed() {
    let (temp, root) = folder();
    fs::write(root.join("a.py"), "x = 1\n").unwrap();
    let cache = temp.path().join("cache");
    let store = IndexStore::new(&cache, &root);
    store.save(&fresh(&root)).unwrap();
    assert_eq!(store.load().len(), 1);
    let file = fs::read_dir(cache.join("index"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let good = fs::read(&file).unwrap();
    for cut in [0, 1, good.len() / 2, good.len() - 1] {
        fs::write(&file, &good[..cut]).unwrap();
        assert!(store.load().is_empty(), "cut at {cut}");
    }
    let mut flipped = good.clone();
    let at = flipped.len() - 3;
    flipped[at] ^= 0x40;
    fs::write(&file, flipped).unwrap();
    assert!(store.load().is_empty());
    fs::write(&file, &good).unwrap();
    assert_eq!(store.load().len(), 1);
}

#[test]
fn symbols_are_found_by_parts_of_their_names() {
    let (_temp, root) = folder();
    fs::write(
        root.join("m.py"),
        "class QuerySet:\n    def filter(self): ...\n    def first(self): ...\ndef query_set(): ...\nfilter = 1\n",
    )
    .unwrap();
    let index = fresh(&root);
    let names = |query: &str, kinds: &[Kind]| -> Vec<String> {
        let found = index
            .search(query, kinds, &CancellationToken::new())
            .unwrap();
        let name = |f: &FoundSymbol| index.get(&f.path).unwrap().name_path(f.index);
        found.iter().map(name).collect()
    };
    assert_eq!(names("QuerySet", &[])[0], "QuerySet");
    assert_eq!(names("qset", &[]).len(), 2);
    assert_eq!(names("qs/fil", &[]), ["QuerySet/filter"]);
    assert_eq!(names("filter", &[Kind::Method]), ["QuerySet/filter"]);
    assert_eq!(names("nothing", &[]), Vec::<String>::new());
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let (_temp, root) = folder();
    for (name, text) in [
        ("parentheses.py", "(".repeat(20_000)),
        (
            "closed.py",
            format!("x = {}1{}\n", "(".repeat(5_000), ")".repeat(5_000)),
        ),
        ("unary.py", format!("x = {}1\n", "-".repeat(20_000))),
        (
            "blocks.py",
            (0..90).fold(String::new(), |text, n| {
                format!("{text}{}if x:\n", " ".repeat(n))
            }),
        ),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    assert_eq!(fresh(&root).len(), 4);
}

#[test]
fn what_was_read_before_the_caller_went_away_is_not_read_again() {
    let (_temp, root) = folder();
    fs::write(root.join("a.py"), "def a(): ...\n").unwrap();
    let workspace = Workspace::new(root.clone(), WorkspaceOptions::default());
    let token = CancellationToken::new();
    let synced = || runtime().block_on(workspace.synced()).unwrap();
    let mut index = Index::default();
    index.follow(&synced(), &token).unwrap();
    fs::write(root.join("b.py"), "def b(): ...\n").unwrap();
    let gone = CancellationToken::new();
    gone.cancel();
    let stopped = index.follow(&synced(), &gone).unwrap_err();
    assert_eq!(stopped.code, Code::Cancelled);
    assert!(index.get("a.py").is_some());
    // It still knows that it has not seen everything.
    let followed = index.follow(&synced(), &token).unwrap();
    assert_eq!(followed.parsed, 1);
    assert!(index.get("b.py").is_some());
}
