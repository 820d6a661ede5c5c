//! Imports in order, by the real ruff.

use std::sync::Arc;

use pillion_refactor::Refactored;
use pillion_refactor::organize::{Organize, below, program};

use crate::support::{DEADLINE, shared, write};

async fn organize(files: &[(&str, &[u8])], remove_unused: bool) -> Refactored {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, bytes) in files {
        write(&root.join(name), bytes);
    }
    let names = files.iter().map(|(name, _)| *name);
    let names: Vec<Arc<str>> = names
        .filter(|n| n.ends_with(".py"))
        .map(Arc::from)
        .collect();
    let organize = Organize {
        ruff: program(&shared()).await.unwrap(),
        root: root.clone(),
        config: Vec::new(),
        remove_unused,
        timeout: DEADLINE,
    };
    let done = organize.run(&names).await.unwrap();
    for (name, bytes) in files {
        assert_eq!(
            std::fs::read(root.join(name)).unwrap(),
            *bytes,
            "nothing is written"
        );
    }
    let left = std::fs::read_dir(&root).unwrap();
    let names: Vec<_> = left.map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().all(|n| n != ".ruff_cache"), "{names:?}");
    done
}

const MESSY: &[u8] = b"import sys\nimport os\nfrom a import c, b\n\nprint(os)\n";

#[tokio::test]
async fn imports_are_sorted_and_none_is_lost() {
    let done = organize(&[("m.py", MESSY)], false).await;
    let text = &done.files[0].text;
    assert_eq!(
        text,
        "import os\nimport sys\n\nfrom a import b, c\n\nprint(os)\n"
    );
    let done = organize(&[("m.py", MESSY)], true).await;
    assert_eq!(done.files[0].text, "import os\n\nprint(os)\n");
    let sorted = b"import os\nimport sys\n\nprint(os, sys)\n";
    assert_eq!(
        organize(&[("m.py", sorted)], false).await,
        Refactored::default()
    );
}

#[tokio::test]
async fn what_a_package_offers_stays() {
    let offers = b"from .b import y\nfrom .a import x\n";
    let done = organize(&[("pkg/__init__.py", offers)], true).await;
    assert_eq!(done.files[0].text, "from .a import x\nfrom .b import y\n");
    let listed = b"from a import x, y\n\n__all__ = ['x']\n";
    let done = organize(&[("m.py", listed)], true).await;
    assert_eq!(done.files[0].text, "from a import x\n\n__all__ = ['x']\n");
}

#[tokio::test]
async fn a_broken_file_is_left_alone() {
    let files: &[(&str, &[u8])] = &[
        ("bad.py", b"import sys\nimport os\ndef f(:\n"),
        ("m.py", MESSY),
    ];
    let done = organize(files, false).await;
    assert_eq!(done.files.len(), 1);
    assert_eq!(done.files[0].path, "m.py");
    assert!(
        done.warnings[0].starts_with("bad.py: left alone, syntax error"),
        "{done:?}"
    );
}

#[tokio::test]
async fn configuration_line_ends_and_encodings_are_kept() {
    let files: &[(&str, &[u8])] = &[
        (
            "ruff.toml",
            b"[lint]\nselect = ['F', 'E']\n[lint.isort]\nforce-single-line = true\n",
        ),
        ("m.py", b"from a import c, b\r\n\r\nprint(b, c, 1 ;)\r\n"),
        ("n.py", b"from a import c, b\r\n\r\nprint(b, c)\r\n"),
        (
            "latin.py",
            b"# coding: latin-1\nimport sys\nimport os\n\nprint('\xe9', os, sys)\n",
        ),
        (
            "marked.py",
            b"\xef\xbb\xbfimport sys\nimport os\n\nprint(os, sys)\n",
        ),
        ("skipped.py", b"# isort: skip_file\nimport sys\nimport os\n"),
        ("empty.py", b""),
    ];
    let done = organize(files, false).await;
    let text = |name: &str| {
        let file = done.files.iter().find(|file| file.path == name);
        file.map(|file| file.text.as_str())
    };
    assert_eq!(
        text("n.py"),
        Some("from a import b\r\nfrom a import c\r\n\r\nprint(b, c)\r\n")
    );
    let latin = "# coding: latin-1\nimport os\nimport sys\n\nprint('é', os, sys)\n";
    assert_eq!(text("latin.py"), Some(latin));
    assert_eq!(
        text("marked.py"),
        Some("import os\nimport sys\n\nprint(os, sys)\n")
    );
    assert_eq!(
        (text("m.py"), text("skipped.py"), text("empty.py")),
        (None, None, None)
    );
}

#[tokio::test]
async fn many_files_are_asked_about_at_once() {
    let names: Vec<String> = (0..30).map(|n| format!("pkg/m{n:02}.py")).collect();
    let sorted: &[u8] = b"import os\nimport sys\n\nprint(os, sys)\n";
    let files = names.iter().enumerate();
    let files: Vec<(&str, &[u8])> = files
        .map(|(n, name)| (&**name, if n % 10 == 0 { MESSY } else { sorted }))
        .collect();
    let done = organize(&files, false).await;
    let changed: Vec<_> = done.files.iter().map(|file| &*file.path).collect();
    assert_eq!(changed, ["pkg/m00.py", "pkg/m10.py", "pkg/m20.py"]);
}

#[test]
fn folders_hold_what_is_below_them() {
    let all: Vec<Arc<str>> = ["a.py", "pkg/b.py", "pkg2/c.py"].map(Arc::from).to_vec();
    assert_eq!(below(all.iter(), "pkg".as_ref()), [Arc::from("pkg/b.py")]);
    assert_eq!(below(all.iter(), "".as_ref()).len(), 3);
    assert_eq!(below(all.iter(), "a.py".as_ref()).len(), 1);
}
