//! Each read sees every write that returned before it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_workspace::{Changes, Stamp, WatchMode, Workspace};

use crate::common::{Random, Reader, Tree, compare_with_new, git, options, write};

const FOLDERS: [&str; 8] = ["", "a", "a/b", "a/b/c", "d", "d-e", "build", "venv"];
const NAMES: [&str; 6] = ["x.py", "y.py", "z.txt", "keep.txt", "log", "x"];
const RULES: [&str; 7] = [
    "",
    "*.txt\n!keep.txt\n",
    "build/\n",
    "b\n",
    "/x.py\n",
    "a/b/*\n!a/b/c/\n",
    "*\n!*/\n!*.py\n",
];

/// Make way for something at `path`: no file stands where a folder has to be.
fn clear(root: &Path, path: &Path) {
    for above in path.ancestors().skip(1).take_while(|a| a.starts_with(root)) {
        if above.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(above).unwrap();
        }
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    remove(path);
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Do something to the tree, and say what.
fn act(tree: &Tree, random: &mut Random) -> String {
    let (root, aside) = (&tree.root, tree.outside.path().join("aside"));
    let place = |random: &mut Random| -> PathBuf {
        root.join(random.pick(&FOLDERS)).join(random.pick(&NAMES))
    };
    let folder = |random: &mut Random| root.join(random.pick(&FOLDERS[1..]));
    // All of one size, so that nothing but the content tells.
    let text = format!("{:04}", random.below(10_000));
    let (one, other) = (place(random), place(random));
    let what = random.below(20);
    match what {
        0..=3 if one.is_file() => fs::write(&one, &text).unwrap(),
        0..=4 => {
            clear(root, &one);
            fs::write(&one, &text).unwrap();
        }
        5 => {
            clear(root, &one);
            let temp = one.with_extension("tmp");
            fs::write(&temp, &text).unwrap();
            fs::rename(temp, &one).unwrap();
        }
        6 if one.is_file() && one != other => {
            clear(root, &other);
            if one.is_file() {
                fs::rename(&one, &other).unwrap();
            }
        }
        7 => remove(&one),
        8 => {
            remove(&one);
            clear(root, &one);
            fs::write(&one, &text).unwrap();
        }
        9 => {
            let deep = folder(random).join("n/e/w");
            clear(root, &deep.join("x"));
            for name in ["1.py", "m/2.py", ".hidden/3.py", "__pycache__/4.pyc"] {
                write(&deep.join(name), &text);
            }
        }
        10 | 11 => {
            let (from, to) = (folder(random), folder(random));
            if from.is_dir() && !to.starts_with(&from) && !from.starts_with(&to) {
                clear(root, &to);
                if from.is_dir() {
                    fs::rename(&from, &to).unwrap();
                }
            }
        }
        12 => {
            let from = folder(random);
            if from.is_dir() {
                remove(&aside);
                fs::rename(&from, &aside).unwrap();
            }
        }
        13 => {
            let to = folder(random);
            if aside.is_dir() {
                clear(root, &to);
                fs::rename(&aside, &to).unwrap();
            }
        }
        14 => remove(&folder(random)),
        15 => {
            let name = random.pick(&[".gitignore", ".pillionignore"]);
            let rules = root.join(random.pick(&FOLDERS)).join(name);
            clear(root, &rules);
            if random.below(3) > 0 {
                fs::write(&rules, random.pick(&RULES)).unwrap();
            }
        }
        16 => {
            let name = random.pick(&["pyvenv.cfg", "conda-meta/x", "CACHEDIR.TAG"]);
            let marker = folder(random).join(name);
            if random.below(3) == 0 {
                clear(root, &marker);
                fs::write(&marker, "").unwrap();
            } else {
                for folder in FOLDERS {
                    for name in ["pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"] {
                        remove(&root.join(folder).join(name));
                    }
                }
            }
        }
        17 => {
            clear(root, &one);
            symlink(root.join("a"), &one).unwrap();
        }
        18 if one.is_file() && one != other => {
            clear(root, &other);
            if one.is_file() {
                fs::hard_link(&one, &other).unwrap();
                // Of a name in an ignored place nobody tells: touch the file by this one.
                fs::set_permissions(&one, fs::Permissions::from_mode(0o640)).unwrap();
            }
        }
        19 if one.is_file() => {
            let mode = [0o644, 0o600][random.below(2)];
            fs::set_permissions(&one, fs::Permissions::from_mode(mode)).unwrap();
        }
        _ => {}
    }
    let name = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    format!("act {what} with {} and {}", name(&one), name(&other))
}

async fn follow(seed: u64, steps: usize, watch: bool) {
    let tree = Tree::new(options(watch));
    let mut random = Random(seed);
    let mut reader = Reader::default();
    for step in 0..steps {
        let mut when = format!("seed {seed}, step {step}");
        for _ in 0..=random.below(4) / 3 {
            when = format!("{when}, {}", act(&tree, &mut random));
        }
        let snapshot = tree.synced().await;
        reader.check(&snapshot, &when);
        compare_with_new(&tree, &snapshot, &when).await;
    }
    let mode = match watch {
        true => WatchMode::Watching,
        false => WatchMode::Sweeping,
    };
    assert_eq!(tree.workspace.status().mode, Some(mode));
}

#[tokio::test]
async fn no_read_is_stale_while_watching() {
    for seed in 1..=6 {
        follow(seed, 500, true).await;
    }
}

#[tokio::test]
async fn no_read_is_stale_while_sweeping() {
    for seed in 11..=13 {
        follow(seed, 500, false).await;
    }
}

#[tokio::test]
async fn writes_of_one_size_at_one_moment_are_told_apart() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        let mut reader = Reader::default();
        for n in 0..1000 {
            tree.write("a.py", &format!("{n:04}"));
            reader.check(&tree.synced().await, &format!("watch {watch}, write {n}"));
        }
    }
}

#[tokio::test]
async fn quiet_means_the_same_moment() {
    let tree = Tree::new(options(true));
    tree.write("a.py", "");
    let one = tree.synced().await;
    let other = tree.synced().await;
    assert_eq!(one.clock(), other.clock());
    tree.write("a.py", "1");
    assert!(tree.synced().await.clock() > one.clock());
    assert_eq!(one.files().get("a.py").unwrap().stamp.size, 0);
}

#[tokio::test]
async fn a_stamp_settles_by_itself() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        tree.write("a.py", "");
        let clock = tree.synced().await.clock();
        loop {
            let snapshot = tree.synced().await;
            assert_eq!(snapshot.clock(), clock);
            if snapshot.files().get("a.py").unwrap().settled {
                break;
            }
        }
    }
}

#[tokio::test]
async fn watches_go_with_their_folders() {
    let tree = Tree::new(options(true));
    let aside = tree.outside.path().join("aside");
    let mut watches = Vec::new();
    tree.write("a/b/c/x.py", "");
    tree.synced().await;
    watches.push(tree.workspace.status().watches);
    fs::rename(tree.root.join("a/b"), &aside).unwrap();
    tree.synced().await;
    watches.push(tree.workspace.status().watches);
    fs::rename(&aside, tree.root.join("d")).unwrap();
    tree.synced().await;
    watches.push(tree.workspace.status().watches);
    tree.write(".gitignore", "d/\n");
    tree.synced().await;
    watches.push(tree.workspace.status().watches);
    assert_eq!(watches, [4, 2, 4, 2]);
}

#[tokio::test]
async fn other_names_of_a_file_count() {
    let tree = Tree::new(options(true));
    let elsewhere = tree.outside.path().join("elsewhere");
    fs::write(&elsewhere, "1").unwrap();
    fs::hard_link(&elsewhere, tree.root.join("a.py")).unwrap();
    let mut reader = Reader::default();
    reader.check(&tree.synced().await, "first");
    for text in ["2", "3"] {
        fs::write(&elsewhere, text).unwrap();
        reader.check(&tree.synced().await, text);
    }
    fs::remove_file(tree.root.join("a.py")).unwrap();
    fs::write(&elsewhere, "4").unwrap();
    reader.check(&tree.synced().await, "removed");
    tree.write("b.py", "5");
    reader.check(&tree.synced().await, "one name");
    fs::hard_link(tree.root.join("b.py"), tree.root.join("c.py")).unwrap();
    compare_with_new(&tree, &tree.synced().await, "two names").await;
    for (path, text) in [("b.py", "6"), ("c.py", "7"), ("b.py", "8")] {
        tree.write(path, text);
        let snapshot = tree.synced().await;
        reader.check(&snapshot, text);
        compare_with_new(&tree, &snapshot, text).await;
    }
    fs::remove_file(tree.root.join("b.py")).unwrap();
    compare_with_new(&tree, &tree.synced().await, "one name again").await;
}

#[tokio::test]
async fn thousands_of_files_at_once() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        let mut reader = Reader::default();
        for round in 0..2 {
            for n in 0..5000 {
                tree.write(&format!("{}/{n}.py", n % 50), &format!("{round}"));
            }
            let snapshot = tree.synced().await;
            assert_eq!(snapshot.files().len(), 5000);
            reader.check(&snapshot, &format!("watch {watch}, round {round}"));
            compare_with_new(&tree, &snapshot, "after").await;
        }
    }
}

#[tokio::test]
async fn reads_at_the_same_time_share_the_work() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        for round in 0..20 {
            tree.write(&format!("{round}/a.py"), "");
            let reads = (0..16).map(|_| {
                let workspace = tree.workspace.clone();
                tokio::spawn(async move { workspace.synced().await })
            });
            for read in reads.collect::<Vec<_>>() {
                let snapshot = read.await.unwrap().unwrap();
                assert_eq!(snapshot.files().len(), round + 1);
            }
        }
    }
}

#[tokio::test]
async fn a_read_that_is_given_up_breaks_nothing() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        let mut reader = Reader::default();
        for n in 0..50 {
            tree.write(&format!("{n}/a.py"), "");
            let workspace = tree.workspace.clone();
            let read = tokio::spawn(async move { workspace.synced().await });
            tokio::task::yield_now().await;
            read.abort();
            reader.check(&tree.synced().await, &format!("watch {watch}, {n}"));
        }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

#[test]
fn who_writes_sees_its_write() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let tree = &tree;
                scope.spawn(move || {
                    let mut clock = None;
                    for n in 0..100 {
                        // Its own file in place, and a folder that comes and goes.
                        let path = format!("{writer}.py");
                        tree.write(&path, &format!("{n:04}"));
                        let folder = format!("{writer}/{}", n % 3);
                        tree.write(&format!("{folder}/x.py"), "");
                        let snapshot = block_on(tree.synced());
                        let when = format!("watch {watch}, writer {writer}, write {n}");
                        if let Changes::These(changes) = snapshot.changes_since(clock) {
                            let mut told = changes.iter().map(|change| &*change.path);
                            assert!(told.any(|told| told == path), "{when}");
                        }
                        let meta = fs::metadata(tree.root.join(&path)).unwrap();
                        let known = snapshot.files().get(&path).unwrap().stamp;
                        assert_eq!(known, Stamp::from(&meta), "{when}");
                        let folders = snapshot.files().under(&folder);
                        assert_eq!(folders.count(), 1, "{when}");
                        clock = Some(snapshot.clock());
                        fs::remove_dir_all(tree.root.join(folder)).unwrap();
                    }
                });
            }
        });
    }
}

#[test]
fn a_busy_tree_is_known_when_it_comes_to_rest() {
    for seed in 21..=24 {
        let mut tree = Tree::new(options(true));
        let mut random = Random(seed);
        for round in 0..10 {
            // Every other time from the start, so that first scans are disturbed too.
            if round % 2 == 0 {
                let new = Workspace::new(tree.root.clone(), options(true));
                tree.workspace = Arc::new(new);
            }
            std::thread::scope(|scope| {
                let busy = scope.spawn(|| {
                    for _ in 0..300 {
                        act(&tree, &mut random);
                    }
                });
                while !busy.is_finished() {
                    block_on(tree.synced());
                }
            });
            let snapshot = block_on(tree.synced());
            let when = format!("seed {seed}, round {round}");
            block_on(compare_with_new(&tree, &snapshot, &when));
        }
    }
}

#[tokio::test]
async fn a_checkout_is_seen_whole() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        let mut reader = Reader::default();
        git(&tree.root, &["init", "-q", "-b", "one"]);
        for n in 0..50 {
            tree.write(&format!("{}/{n}.py", n % 5), "one");
        }
        tree.write(".gitignore", "*.log\n");
        tree.write("x.log", "");
        git(&tree.root, &["add", "-A"]);
        git(&tree.root, &["commit", "-qm", "one"]);
        git(&tree.root, &["checkout", "-qb", "two"]);
        for n in 25..75 {
            tree.write(&format!("{}/{n}.py", n % 6), "two");
        }
        tree.write(".gitignore", "");
        git(&tree.root, &["rm", "-rqf", "0"]);
        git(&tree.root, &["add", "-A"]);
        git(&tree.root, &["commit", "-qm", "two"]);
        for n in 0..20 {
            let branch = ["one", "two"][n % 2];
            git(&tree.root, &["checkout", "-q", branch]);
            let snapshot = tree.synced().await;
            let when = format!("watch {watch}, checkout {n}");
            reader.check(&snapshot, &when);
            compare_with_new(&tree, &snapshot, &when).await;
        }
    }
}
