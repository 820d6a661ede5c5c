//! What is ignored.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::{Random, Tree, git, options, write};

#[tokio::test]
async fn what_is_built_in() {
    let tree = Tree::new(options(true));
    let folders = [
        ".git",
        ".hg",
        ".svn",
        ".jj",
        "__pycache__",
        "node_modules",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".eggs",
        ".ipynb_checkpoints",
        "site-packages",
    ];
    for folder in folders {
        tree.write(&format!("{folder}/x.py"), "");
        tree.write(&format!("deep/er/{folder}/x.py"), "");
    }
    tree.write("environment/pyvenv.cfg", "");
    tree.write("environment/x.py", "");
    tree.write("conda/conda-meta/history", "");
    tree.write("conda/x.py", "");
    tree.write("cache/CACHEDIR.TAG", "");
    tree.write("cache/deep/x.py", "");
    tree.write(".hidden/x.py", "");
    tree.write("venv/x.py", "");
    tree.write("worktree/.git", "gitdir: elsewhere");
    assert_eq!(tree.paths().await, [".hidden/x.py", "venv/x.py"]);
    fs::remove_file(tree.root.join("environment/pyvenv.cfg")).unwrap();
    fs::remove_dir_all(tree.root.join("conda/conda-meta")).unwrap();
    tree.write("venv/pyvenv.cfg", "");
    assert_eq!(
        tree.paths().await,
        [".hidden/x.py", "conda/x.py", "environment/x.py"]
    );
}

#[tokio::test]
async fn rules_are_nested_and_negated() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        tree.write(".gitignore", "*.log\n/only.py\nout/\n");
        tree.write("a/.gitignore", "!keep.log\n*.tmp\n");
        for path in [
            "x.log",
            "only.py",
            "a/only.py",
            "a/keep.log",
            "a/x.log",
            "a/x.tmp",
            "b/x.tmp",
            "out/x.py",
            "a/out/x.py",
            "b/out",
        ] {
            tree.write(path, "");
        }
        let shown = [
            ".gitignore",
            "a/.gitignore",
            "a/keep.log",
            "a/only.py",
            "b/out",
            "b/x.tmp",
        ];
        assert_eq!(tree.paths().await, shown);
        tree.write("a/.gitignore", "");
        assert!(!tree.paths().await.contains(&"a/keep.log".into()));
        assert!(tree.paths().await.contains(&"a/x.tmp".into()));
        fs::remove_file(tree.root.join(".gitignore")).unwrap();
        assert!(tree.paths().await.contains(&"out/x.py".into()));
    }
}

#[tokio::test]
async fn our_rules_are_stronger_than_gits() {
    let tree = Tree::new(options(true));
    tree.write("gen/.gitignore", "*\n");
    tree.write("gen/x.py", "");
    tree.write("y.py", "");
    tree.write(".pillionignore", "!gen/x.py\ny.py\n");
    assert_eq!(tree.paths().await, [".pillionignore", "gen/x.py"]);
}

#[tokio::test]
async fn names_above_the_root_do_not_count() {
    for above in ["build", "dist", "env", "venv", "node_modules", ".git"] {
        let tree = Tree::at(&format!("{above}/root"), options(true));
        write(&tree.outside.path().join(above).join("pyvenv.cfg"), "");
        tree.write("pyvenv.cfg", "");
        tree.write("x.py", "");
        assert_eq!(tree.paths().await, ["pyvenv.cfg", "x.py"], "{above}");
    }
}

#[tokio::test]
async fn rules_above_the_root_count_up_to_the_repository() {
    for watch in [true, false] {
        let tree = Tree::at("repository/sub/root", options(watch));
        let top = tree.outside.path().join("repository");
        write(&tree.outside.path().join(".gitignore"), "*.py\n");
        write(&top.join(".gitignore"), "*.log\n/sub/root/x.txt\n");
        write(&top.join("sub/.gitignore"), "!keep.log\n");
        for path in ["x.py", "x.log", "keep.log", "x.txt"] {
            tree.write(path, "");
        }
        assert_eq!(
            tree.paths().await,
            ["keep.log", "x.log", "x.py", "x.txt"],
            "no repository"
        );
        write(&top.join(".git/info/exclude"), "x.py\n");
        assert_eq!(tree.paths().await, ["keep.log"], "a repository");
        write(&top.join(".git/info/exclude"), "x.pz\n");
        assert_eq!(tree.paths().await, ["keep.log", "x.py"], "same size");
        write(&top.join("sub/.gitignore"), "!keep.loG\n");
        assert_eq!(tree.paths().await, ["x.py"], "same size");
        fs::remove_file(top.join(".gitignore")).unwrap();
        assert_eq!(tree.paths().await.len(), 4, "fewer rules");
    }
}

#[tokio::test]
async fn an_ignored_folder_can_be_opened() {
    for rule in ["build/", "build/**", "*", "root"] {
        let tree = Tree::at("build/root", options(true));
        write(&tree.outside.path().join(".git/HEAD"), "");
        write(&tree.outside.path().join(".gitignore"), rule);
        tree.write("x.py", "");
        assert_eq!(tree.paths().await, ["x.py"], "{rule}");
    }
}

#[tokio::test]
async fn a_worktree_has_the_excludes_of_its_repository() {
    let tree = Tree::new(options(true));
    let common = tree.outside.path().join("main/.git");
    write(&common.join("info/exclude"), "x.py\n");
    write(&common.join("worktrees/w/commondir"), "../..\n");
    let gitdir = common.join("worktrees/w");
    tree.write(".git", &format!("gitdir: {}\n", gitdir.display()));
    tree.write("x.py", "");
    tree.write("y.py", "");
    assert_eq!(tree.paths().await, ["y.py"]);
}

#[tokio::test]
async fn global_excludes_count() {
    let excludes = tempfile::NamedTempFile::new().unwrap();
    let mut options = options(true);
    options.global_excludes = Some(excludes.path().into());
    let tree = Tree::new(options);
    tree.write("x.py", "");
    tree.write("y.py", "");
    assert_eq!(tree.paths().await, ["x.py", "y.py"]);
    fs::write(excludes.path(), "x.py").unwrap();
    assert_eq!(tree.paths().await, ["y.py"]);
    fs::write(excludes.path(), "y.py").unwrap();
    assert_eq!(tree.paths().await, ["x.py"]);
    tree.write(".gitignore", "!y.py\n");
    assert_eq!(tree.paths().await, [".gitignore", "x.py", "y.py"]);
}

#[tokio::test]
async fn links_are_not_followed_nor_listed() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        write(&tree.outside.path().join("elsewhere/x.py"), "");
        tree.write("a/x.py", "");
        symlink(tree.outside.path().join("elsewhere"), tree.root.join("b")).unwrap();
        symlink(tree.root.join("a/x.py"), tree.root.join("c.py")).unwrap();
        symlink(&tree.root, tree.root.join("loop")).unwrap();
        assert_eq!(tree.paths().await, ["a/x.py"]);
        fs::rename(tree.root.join("a"), tree.root.join("d")).unwrap();
        symlink(tree.root.join("d"), tree.root.join("a")).unwrap();
        assert_eq!(tree.paths().await, ["d/x.py"]);
    }
}

#[tokio::test]
async fn git_itself_says_the_same() {
    const FOLDERS: [&str; 6] = ["", "a", "a/b", "a/b/c", "d", "d/a"];
    const LINES: [&str; 24] = [
        "*.py",
        "!*.py",
        "x.py",
        "!x.py",
        "/x.py",
        "a",
        "a/",
        "!a/",
        "/a",
        "b/",
        "a/b",
        "a/**",
        "**/b",
        "**/c/*.py",
        "a/**/x.py",
        "*",
        "!*/",
        "!b",
        "[xy].*",
        "?.txt",
        "# x.py",
        "\\#x",
        "y.txt  ",
        "\u{feff}x.py",
    ];
    let mut random = Random(5);
    let tree = Tree::new(options(true));
    git(&tree.root, &["init", "-q"]);
    for folder in FOLDERS {
        for name in ["x.py", "y.py", "x.txt", "y.txt", "#x", "b.txt"] {
            write(&tree.root.join(folder).join(name), "");
        }
    }
    for round in 0..150 {
        let mut rules = String::new();
        for _ in 0..random.below(4) {
            rules += random.pick(&LINES);
            rules += random.pick(&["\n", "\r\n", "\n\n"]);
        }
        let folder = random.pick(&FOLDERS);
        let file = match random.below(8) {
            0 => tree.root.join(".git/info/exclude"),
            _ => tree.root.join(folder).join(".gitignore"),
        };
        write(&file, &rules);
        let theirs = git(&tree.root, &["ls-files", "-o", "--exclude-standard", "-z"]);
        let mut theirs: Vec<_> = theirs.split_terminator('\0').map(String::from).collect();
        theirs.sort();
        let what = format!("round {round}: {rules:?} in {}", file.display());
        assert_eq!(tree.paths().await, theirs, "{what}");
    }
}
