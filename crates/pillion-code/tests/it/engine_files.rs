//! Files as they are: edited, new, gone, in other encodings, with odd columns.

use std::time::Duration;

use pillion_engines::engine::{LspChangeKind, LspPosition};
use pillion_process::Launch;
use pillion_runtime::Interpreter;

use crate::support::{DEADLINE, World, find, ty, write};

#[tokio::test]
async fn an_edit_is_seen_by_the_next_question() {
    let world = World::new(&[("b.py", "from a import target\ntarget()\n")]).await;
    for round in 0..200 {
        let text = format!("{}def target(): pass\n", "\n".repeat(round % 7));
        let kind = match round {
            0 => LspChangeKind::Created,
            _ => LspChangeKind::Changed,
        };
        world.edit("a.py", &text, kind);
        let fresh = format!("a.py:{}:4", round % 7);
        assert_eq!(world.definition("b.py", "\n|target").await, [fresh]);
    }
}

#[tokio::test]
async fn files_come_and_go() {
    let files = [("b.py", "from a import target\ntarget()\n")];
    let world = World::new(&files).await;
    // What cannot be found ends at the import.
    let import = ["b.py:0:14"];
    assert_eq!(world.definition("b.py", "\n|target").await, import);
    for _ in 0..20 {
        world.edit("a.py", "def target(): pass\n", LspChangeKind::Created);
        assert_eq!(world.definition("b.py", "\n|target").await, ["a.py:0:4"]);
        std::fs::remove_file(world.path("a.py")).unwrap();
        let gone = [(world.path("a.py"), LspChangeKind::Deleted)];
        world.server.changed(&gone);
        assert_eq!(world.definition("b.py", "\n|target").await, import);
        // A module that becomes a package.
        world.edit(
            "a/__init__.py",
            "\ndef target(): pass\n",
            LspChangeKind::Created,
        );
        let package = ["a/__init__.py:1:4"];
        assert_eq!(world.definition("b.py", "\n|target").await, package);
        std::fs::remove_dir_all(world.path("a")).unwrap();
        world.server.changed(&[
            (world.path("a/__init__.py"), LspChangeKind::Deleted),
            (world.path("a"), LspChangeKind::Deleted),
        ]);
    }
    // News may be old when they are told.
    world.edit("a.py", "def target(): pass\n", LspChangeKind::Created);
    assert_eq!(world.definition("b.py", "\n|target").await, ["a.py:0:4"]);
    std::fs::remove_file(world.path("a.py")).unwrap();
    let late = [(world.path("a.py"), LspChangeKind::Changed)];
    world.server.changed(&late);
    assert_eq!(world.definition("b.py", "\n|target").await, import);
    world.edit("a.py", "def target(): pass\n", LspChangeKind::Deleted);
    assert_eq!(world.definition("b.py", "\n|target").await, ["a.py:0:4"]);
    let absent = world.path("absent.py");
    let found = world
        .server
        .definition(&absent, LspPosition::new(0, 0), DEADLINE)
        .await;
    assert_eq!(found.unwrap(), []);
}

#[tokio::test]
async fn a_source_folder_may_come_later() {
    let files = [("b.py", "from package import target\ntarget()\n")];
    for config in [None, Some("[rules]\n")] {
        let world = World::new(&files).await;
        if let Some(config) = config {
            write(&world.path("ty.toml"), config.as_bytes());
        }
        let import = ["b.py:0:20"];
        assert_eq!(world.definition("b.py", "\n|target").await, import);
        let name = "src/package/__init__.py";
        world.edit(name, "def target(): pass\n", LspChangeKind::Created);
        let source = ["src/package/__init__.py:0:4"];
        assert_eq!(world.definition("b.py", "\n|target").await, source);
        std::fs::remove_dir_all(world.path("src")).unwrap();
        world
            .server
            .changed(&[(world.path(name), LspChangeKind::Deleted)]);
        assert_eq!(world.definition("b.py", "\n|target").await, import);
    }
}

#[tokio::test]
async fn columns_are_code_points() {
    let files = [
        (
            "odd.py",
            "def f(x): return x\nä = '😀😀é'; f(1); y = f('😀'); f(y)\n",
        ),
        ("crlf.py", "def f(): pass\r\nx = '😀'; f()\r\n\tf()\r\n"),
        ("bom.py", "\u{feff}def f(): pass\nf()\n"),
    ];
    let world = World::new(&files).await;
    for needle in ["; |f(1)", "= |f('", "; |f(y)"] {
        assert_eq!(world.definition("odd.py", needle).await, ["odd.py:0:4"]);
    }
    let all = world.references("odd.py", "|f(x)", true).await;
    assert_eq!(
        all,
        ["odd.py:0:4", "odd.py:1:11", "odd.py:1:21", "odd.py:1:29"]
    );
    assert_eq!(world.definition("crlf.py", "; |f()").await, ["crlf.py:0:4"]);
    assert_eq!(world.definition("crlf.py", "\t|f()").await, ["crlf.py:0:4"]);
    // The mark at the beginning is a character of the first line.
    assert_eq!(world.definition("bom.py", "\n|f()").await, ["bom.py:0:5"]);
}

#[tokio::test]
async fn a_file_outside_utf_8_is_given_as_text() {
    let world = World::new(&[("b.py", "from latin import target\ntarget()\n")]).await;
    let text = "# coding: latin-1\nx = 'é'; y = 1\ndef target(): return x\ntarget()\n";
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
    let latin = world.path("latin.py");
    write(&latin, &bytes);
    let import = ["b.py:0:18"];
    assert_eq!(
        world.definition("b.py", "\n|target").await,
        import,
        "unreadable"
    );
    world.server.open_document(&latin, text);
    assert_eq!(
        world.definition("b.py", "\n|target").await,
        ["latin.py:2:4"]
    );
    let at = find(text, "return |x");
    let found = world.server.definition(&latin, at, DEADLINE).await.unwrap();
    assert_eq!(world.short(&found), ["latin.py:1:0"]);

    // The next process is told as well, and the text can change.
    world.server.stop().await;
    assert_eq!(
        world.definition("b.py", "\n|target").await,
        ["latin.py:2:4"]
    );
    world.server.open_document(&latin, &format!("\n{text}"));
    assert_eq!(
        world.definition("b.py", "\n|target").await,
        ["latin.py:3:4"]
    );
    world.server.close_document(&latin);
    assert_eq!(world.definition("b.py", "\n|target").await, import);
    world.edit("latin.py", "def target(): pass\n", LspChangeKind::Changed);
    assert_eq!(
        world.definition("b.py", "\n|target").await,
        ["latin.py:0:4"]
    );
}

#[tokio::test]
async fn packages_come_from_the_project_s_python_unless_the_project_says_otherwise() {
    let (program, python) = ty().await;
    let folder = tempfile::tempdir().unwrap();
    let mut environments = Vec::new();
    for name in ["one", "two"] {
        let path = folder.path().join(name);
        let made = Launch::new(&python.executable)
            .args(["-I", "-m", "venv", "--without-pip"])
            .arg(&path)
            .output(Duration::from_secs(120));
        assert!(made.await.unwrap().exit.success());
        let python = Interpreter::probe(&Interpreter::executable_below(&path)).await;
        environments.push(python.unwrap());
    }
    let library = environments[0].site_packages[0].join("library.py");
    write(&library, b"def target(): pass\n");
    let files = [("a.py", "from library import target\ntarget()\n")];

    let world = World::with(&files, program.clone(), environments[0].clone());
    let expected = format!("{}:0:4", library.display());
    assert_eq!(world.definition("a.py", "\n|target").await, [expected]);

    let two = environments[1].prefix.display();
    let config = format!("[environment]\npython = \"{two}\"\n");
    let files = [files[0], ("ty.toml", &config)];
    let world = World::with(&files, program, environments[0].clone());
    assert_eq!(world.definition("a.py", "\n|target").await, ["a.py:0:20"]);
}
