//! Tests of kept content: shared, immutable, whole or not there.

use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::*;
use crate::testing::{Tree, chapter as write_chapter, expert};
use crate::{Bundles, Roots, freeze, resolve};

/// How long is waited for what must come.
const DEADLINE: Duration = Duration::from_secs(60);
/// Set for the process that a test kills: the folder that it works in.
const CHILD: &str = "PILLION_COURSE_TEST_FREEZE";

fn source(tree: &Tree) -> Chapter {
    write_chapter(tree, "b", "Title");
    tree.write("b/prompts/companion.md", "Speak {{language}}.");
    tree.write("b/scripts/start.py", "print(1)\n");
    tree.write("b/scripts/solution.py", "print(2)\n");
    tree.write("b/datasets/sales.csv", "a,b\n1,2\n");
    tree.write(
        "b/consultation_config.yaml",
        "available_experts: [one]\nbinding_rules:\n  - expert_id: one\n    \
         guidance_append: \"quote \\\" and \\u2028 and \u{e9}\"\n",
    );
    expert(
        tree,
        "b/experts/one",
        "title: \"One: 1\"\nextra: {a: [1, 2.5, null]}\n",
    );
    read(tree)
}

fn read(tree: &Tree) -> Chapter {
    let bundles = Bundles {
        chapter: Some(tree.path("b")),
        ..Bundles::default()
    };
    let id = "course/ch".parse().unwrap();
    resolve(&Roots::default(), &id, &bundles).unwrap()
}

fn stages(store: &Path) -> usize {
    let staged = |name: &&String| name.starts_with(STAGE);
    names(store).unwrap().iter().filter(staged).count()
}

/// The same chapter wherever its files are.
fn without_paths(mut chapter: Chapter) -> Chapter {
    chapter.folder = PathBuf::new();
    let sources = chapter.scripts.iter_mut().chain(&mut chapter.datasets);
    let experts = chapter.experts.iter_mut();
    let files = experts.flat_map(|expert| {
        expert.folder = PathBuf::new();
        // How it was found is told by the page.
        expert.metadata.clear();
        for skill in &mut expert.skills {
            skill.python = skill.python.take().map(|_| PathBuf::new());
        }
        &mut expert.files
    });
    for file in sources.chain(files) {
        file.path = PathBuf::new();
    }
    chapter
}

#[test]
fn a_chapter_is_kept_as_it_was() {
    let tree = Tree::new();
    let store = tree.path("store");
    let chapter = source(&tree);
    let overlay = freeze(&chapter, &store).unwrap();
    let kept = overlay.chapter().unwrap();
    assert_eq!(kept.warnings, Vec::<String>::new());
    assert_eq!(without_paths(kept.clone()), without_paths(chapter.clone()));
    assert_eq!(
        kept.experts[0].metadata["extra"],
        chapter.experts[0].metadata["extra"]
    );
    assert!(
        kept.scripts[0]
            .path
            .starts_with(store.canonicalize().unwrap())
    );
    assert!(
        !overlay
            .folder()
            .join("chapter/scripts/solution.py")
            .exists()
    );

    // The same content is the same folder, also if it comes from the kept one.
    assert_eq!(freeze(&chapter, &store).unwrap().id(), overlay.id());
    assert_eq!(freeze(&kept, &store).unwrap().id(), overlay.id());

    // An upgrade of the bundle changes nothing for those who have begun.
    tree.write("b/task_list.md", "- **other** Task\n");
    let newer = freeze(&read(&tree), &store).unwrap();
    assert_ne!(newer.id(), overlay.id());
    let again = Overlay::open(&store, overlay.id(), OverlayCheck::Content).unwrap();
    assert_eq!(again.chapter().unwrap(), kept);
    assert_eq!(again.chapter_id().to_string(), "course/ch");
    assert_eq!(stages(&store), 0);
}

#[test]
fn files_cannot_be_written_by_accident() {
    let tree = Tree::new();
    let overlay = freeze(&source(&tree), &tree.path("store")).unwrap();
    let mode = |name: &str| {
        let meta = overlay.folder().join(name).metadata().unwrap();
        meta.permissions().mode() & 0o777
    };
    assert_eq!(
        (mode("chapter"), mode("chapter/task_list.md")),
        (0o555, 0o444)
    );
    assert_eq!((mode(""), mode(MANIFEST)), (0o555, 0o444));
}

#[test]
fn damage_is_seen_and_mended() {
    let tree = Tree::new();
    let store = tree.path("store");
    let chapter = source(&tree);
    let id = freeze(&chapter, &store).unwrap().id().to_owned();
    let folder = store.join(&id);
    let unlock = |name: &str| {
        let path = folder.join(name);
        let above = path.parent().unwrap();
        fs::set_permissions(above, Permissions::from_mode(0o755)).unwrap();
        if path.exists() {
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        }
        path
    };
    let list = "chapter/task_list.md";
    type Harm<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let harms: [Harm<'_>; 6] = [
        (
            "content",
            Box::new(|| {
                let path = unlock(list);
                let text = fs::read_to_string(&path).unwrap().replace("t1", "t9");
                fs::write(path, text).unwrap();
            }),
        ),
        (
            "length",
            Box::new(|| fs::write(unlock(list), "- **x** y\n").unwrap()),
        ),
        (
            "missing",
            Box::new(|| fs::remove_file(unlock(list)).unwrap()),
        ),
        (
            "belong",
            Box::new(|| fs::write(unlock("chapter/more.md"), "").unwrap()),
        ),
        (
            "belong",
            Box::new(|| {
                std::os::unix::fs::symlink("/etc", unlock("chapter/link")).unwrap();
            }),
        ),
        (
            "list of files",
            Box::new(|| fs::write(unlock(MANIFEST), "{}").unwrap()),
        ),
    ];
    for (word, harm) in harms {
        harm();
        let error = Overlay::open(&store, &id, OverlayCheck::Content).unwrap_err();
        assert_eq!(error.code(), "content_damaged");
        assert!(error.to_string().contains(word), "{error}");
        let sizes = Overlay::open(&store, &id, OverlayCheck::Names);
        assert_eq!(sizes.is_ok(), word == "content");
        drop(sizes);
        assert_eq!(freeze(&chapter, &store).unwrap().id(), id);
        assert!(Overlay::open(&store, &id, OverlayCheck::Content).is_ok());
        assert_eq!(stages(&store), 0);
    }
}

#[test]
fn a_file_in_the_place_of_an_overlay_is_moved_away() {
    let tree = Tree::new();
    let chapter = source(&tree);
    let id = freeze(&chapter, &tree.path("other"))
        .unwrap()
        .id()
        .to_owned();
    tree.write(&format!("store/{id}"), "a file");
    let store = tree.path("store");
    let error = Overlay::open(&store, &id, OverlayCheck::Names).unwrap_err();
    assert_eq!(error.code(), "content_damaged");
    assert_eq!(freeze(&chapter, &store).unwrap().id(), id);
    assert_eq!(stages(&store), 0);
}

#[test]
fn ids_lead_nowhere_else() {
    let tree = Tree::new();
    let long = "0".repeat(64);
    for id in [
        "",
        "..",
        "../x",
        "/etc",
        ".lock",
        &long.replace('0', "A"),
        &long[1..],
    ] {
        let error = Overlay::open(&tree.path(""), id, OverlayCheck::Names).unwrap_err();
        assert_eq!(error.status(), 400, "{id}");
    }
    let error = Overlay::open(&tree.path(""), &long, OverlayCheck::Names).unwrap_err();
    assert_eq!(error.status(), 404);
}

/// Sweep until so many were removed and so many are left. A program that another test is just
/// starting has our descriptors, and so our locks, until it is a program of its own.
fn swept_to(store: &Path, used: &HashSet<String>, (removed, kept): (usize, usize)) {
    let mut all = 0;
    loop {
        let swept = sweep(store, used).unwrap();
        all += swept.removed;
        assert!(all <= removed && swept.kept >= kept, "{swept:?}");
        if (all, swept.kept) == (removed, kept) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_sweep_leaves_what_is_used() {
    let tree = Tree::new();
    let store = tree.path("store");
    assert_eq!(sweep(&store, &HashSet::new()).unwrap(), Swept::default());
    let mut overlays = Vec::new();
    source(&tree);
    for number in 0..3 {
        tree.write("b/task_list.md", &format!("- **t{number}** Task\n"));
        overlays.push(freeze(&read(&tree), &store).unwrap());
    }
    let ids: Vec<String> = overlays
        .iter()
        .map(|overlay| overlay.id().to_owned())
        .collect();
    let open = overlays.pop().unwrap();
    drop(overlays);
    swept_to(&store, &HashSet::from([ids[0].clone()]), (1, 2));
    let there: Vec<bool> = ids.iter().map(|id| store.join(id).exists()).collect();
    assert_eq!(there, [true, false, true]);
    drop(open);
    swept_to(&store, &HashSet::new(), (2, 0));
    assert_eq!(stages(&store), 0);
}

#[test]
fn what_the_dead_left_is_removed_and_what_the_living_make_is_not() {
    let tree = Tree::new();
    let store = tree.path("store");
    let me = Identity::of(std::process::id()).unwrap();
    let mine = format!("store/{STAGE}{}.{}-999", me.pid, me.start);
    let twin = format!("store/{STAGE}{}.{}-0", me.pid, me.start + 1);
    let odd = format!("store/{STAGE}odd");
    for name in [&mine, &twin, &odd] {
        tree.write(&format!("{name}/chapter/x.md"), "");
        fs::set_permissions(tree.path(name), Permissions::from_mode(0o555)).unwrap();
    }
    freeze(&source(&tree), &store).unwrap();
    assert!(tree.path(&mine).exists());
    assert!(!tree.path(&twin).exists() && !tree.path(&odd).exists());
    remove_tree(&tree.path(&mine)).unwrap();
}

#[test]
fn many_may_freeze_and_sweep_at_once() {
    let tree = Tree::new();
    let store = tree.path("store");
    let chapter = source(&tree);
    let start = Barrier::new(6);
    std::thread::scope(|scope| {
        for sweeps in [false, false, false, false, true, true] {
            let (start, chapter, store) = (&start, &chapter, &store);
            scope.spawn(move || {
                start.wait();
                for _ in 0..10 {
                    if sweeps {
                        sweep(store, &HashSet::new()).unwrap();
                        continue;
                    }
                    let overlay = freeze(chapter, store).unwrap();
                    // While it is held, it is there.
                    assert_eq!(overlay.chapter().unwrap().tasks.len(), 2);
                    let again = Overlay::open(store, overlay.id(), OverlayCheck::Content);
                    assert!(again.is_ok(), "{again:?}");
                }
            });
        }
    });
    assert_eq!(stages(&store), 0);
}

/// Starts itself again as a process that freezes one chapter after the other, and kills it.
#[test]
fn a_kill_leaves_whole_overlays_and_nothing_else() {
    if let Some(root) = std::env::var_os(CHILD) {
        freeze_until_killed(Path::new(&root));
    }
    let tree = Tree::new();
    let store = tree.path("store");
    source(&tree);
    for round in 0..6 {
        let known = names(&store).map_or(0, |names| names.len());
        #[expect(
            clippy::disallowed_methods,
            reason = "the test kills a process that is nobody else's"
        )]
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "overlay::tests::a_kill_leaves_whole_overlays_and_nothing_else",
            ])
            .env(CHILD, tree.path(""))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        // It is killed at another moment of its work each time.
        while names(&store).map_or(0, |names| names.len()) < known + 2 + round {
            assert!(begun.elapsed() < DEADLINE, "the child makes nothing");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        remove_dead(&store).unwrap();
        assert_eq!(stages(&store), 0);
        let ids: Vec<String> = names(&store).unwrap();
        let ids: Vec<&String> = ids.iter().filter(|name| is_hash(name)).collect();
        assert!(!ids.is_empty());
        for id in ids {
            let overlay = Overlay::open(&store, id, OverlayCheck::Content).unwrap();
            assert!(overlay.chapter().is_ok());
        }
    }
}

fn freeze_until_killed(root: &Path) -> ! {
    let bundles = Bundles {
        chapter: Some(root.join("b")),
        ..Bundles::default()
    };
    let id = "course/ch".parse().unwrap();
    let mut chapter = resolve(&Roots::default(), &id, &bundles).unwrap();
    let pid = std::process::id();
    for number in 0.. {
        chapter.context = format!("# Process {pid}, chapter {number}");
        freeze(&chapter, &root.join("store")).unwrap();
    }
    unreachable!("it freezes until it is killed")
}
