//! What a change set makes of edits.

use std::os::unix::fs::symlink;

use pillion_catalogue::Code;
use pillion_index::source::Source;
use proptest::prelude::*;

use super::*;

#[test]
fn edits_add_up_and_must_not_overlap() {
    let world = World::new();
    world.write("a.py", "one two\nthree\n");
    let mut set = world.set();
    set.edit("a.py", vec![edit((0, 4), (0, 7), "2")]).unwrap();
    set.edit(
        "./a.py",
        vec![edit((0, 0), (0, 3), "1"), edit((2, 0), (2, 0), "4\n")],
    )
    .unwrap();
    set.edit("a.py", vec![edit((2, 0), (2, 0), "5\n")]).unwrap();
    assert_eq!(set.text_after("a.py").unwrap(), "1 2\nthree\n4\n5\n");
    let error = set
        .edit("a.py", vec![edit((0, 6), (1, 1), "x")])
        .unwrap_err();
    assert_eq!(error.code, Code::InternalError);
    let error = set
        .edit("a.py", vec![edit((7, 0), (7, 1), "x")])
        .unwrap_err();
    assert_eq!(error.code, Code::InternalError);
    assert_eq!(set.text_after("a.py").unwrap(), "1 2\nthree\n4\n5\n");
    assert_eq!(set.paths().into_iter().collect::<Vec<_>>(), ["a.py"]);
}

#[test]
fn encoding_mark_line_ends_mode_and_a_missing_last_newline_stay() {
    let world = World::new();
    world.write("mark.py", b"\xef\xbb\xbfx = 1\r\ny = 2");
    world.write("latin.py", b"# coding: latin-1\nx = '\xe9'\n");
    world.chmod("mark.py", 0o755);
    let mut set = world.set();
    set.edit("mark.py", vec![edit((0, 0), (0, 0), "import os\n\n")])
        .unwrap();
    set.edit("latin.py", vec![edit((1, 0), (1, 1), "é")])
        .unwrap();
    let title = "add an import";
    let applied = world.journal.apply(&set, title).unwrap();
    assert_eq!(applied.files, ["latin.py", "mark.py"]);
    assert_eq!(
        world.read("mark.py"),
        b"\xef\xbb\xbfimport os\r\n\r\nx = 1\r\ny = 2"
    );
    assert_eq!(world.tree()["mark.py"].1, 0o755);
    assert_eq!(
        world.read("latin.py"),
        b"# coding: latin-1\n\xe9 = '\xe9'\n"
    );
    let mut set = world.set();
    set.set_text("mark.py", "import os\n\ny = 2\n").unwrap();
    world.journal.apply(&set, title).unwrap();
    assert_eq!(world.read("mark.py"), b"\xef\xbb\xbfimport os\r\n\r\ny = 2");
}

#[test]
fn what_the_encoding_cannot_hold_is_refused() {
    let world = World::new();
    world.write("latin.py", b"# coding: latin-1\nx = 1\n");
    world.write("broken.py", b"x = '\xff'\n");
    let mut set = world.set();
    set.edit("latin.py", vec![edit((1, 0), (1, 1), "π")])
        .unwrap();
    let error = world.journal.apply(&set, "").unwrap_err();
    assert_eq!(error.code, Code::InvalidParams);
    assert!(error.message.contains("`π`") && error.message.contains("latin.py"));
    let mut set = world.set();
    set.edit("broken.py", vec![edit((0, 0), (0, 1), "y")])
        .unwrap();
    let error = set.patched(Default::default(), String::new()).unwrap_err();
    assert_eq!(error.code, Code::ParseError);
    // Nor is there anything to lose if it is made anew.
    let mut set = world.set();
    set.delete("broken.py").unwrap();
    set.create("broken.py", "x = 'ü'\n").unwrap();
    world.journal.apply(&set, "").unwrap();
    assert_eq!(world.read("broken.py"), "x = 'ü'\n".as_bytes());
    world.journal.undo(None).unwrap();
    // Moving it damages nothing.
    let mut set = world.set();
    set.rename("broken.py", "moved.py").unwrap();
    world.journal.apply(&set, "").unwrap();
    assert_eq!(world.read("moved.py"), b"x = '\xff'\n");
}

#[test]
fn only_regular_files_inside_of_the_root_are_touched() {
    let world = World::new();
    world.write("pkg/a.py", "x = 1\n");
    fs::write(world.folder.path().join("secret.py"), "").unwrap();
    symlink("../secret.py", world.root.join("out.py")).unwrap();
    symlink("..", world.root.join("up")).unwrap();
    symlink("pkg", world.root.join("alias")).unwrap();
    let mut set = world.set();
    let mut code = |path: &str| {
        let there = set.set_text(path, "x").map_err(|e| e.code);
        let new = set.create(path, "x").map_err(|e| e.code);
        (there.err(), new.err())
    };
    let outside = Some(Code::OutsideRoot);
    assert_eq!(code("../secret.py"), (outside.clone(), outside.clone()));
    assert_eq!(code("/etc/nosuch"), (outside.clone(), outside.clone()));
    assert_eq!(code("up/new.py").1, outside);
    assert_eq!(code("out.py"), (outside, Some(Code::Conflict)));
    assert_eq!(code("nosuch.py"), (Some(Code::NotFound), None));
    assert_eq!(
        code("pkg"),
        (Some(Code::InvalidParams), Some(Code::Conflict))
    );
    assert_eq!(code("pkg/a.py/b.py").1, Some(Code::Conflict));
    for result in [set.delete("out.py"), set.rename("out.py", "in.py")] {
        assert_eq!(result.unwrap_err().code, Code::InvalidParams);
    }
    // A folder by another name is the same folder.
    set.set_text("alias/a.py", "y = 1\n").unwrap();
    set.create("alias/sub/b.py", "").unwrap();
    assert_eq!(set.text_after("pkg/a.py").unwrap(), "y = 1\n");
    assert!(set.paths().contains("pkg/sub/b.py"));
}

#[test]
fn files_are_renamed_replaced_and_deleted_in_any_order() {
    let world = World::new();
    for name in ["a.py", "b.py", "c.py"] {
        world.write(name, format!("{name}\n"));
    }
    let mut set = world.set();
    assert!(set.is_empty());
    // A swap.
    set.rename("a.py", "tmp.py").unwrap();
    assert_eq!(set.rename("b.py", "c.py").unwrap_err().code, Code::Conflict);
    set.rename("b.py", "a.py").unwrap();
    set.rename("tmp.py", "b.py").unwrap();
    // A module becomes a package, and a file takes its old name.
    set.rename("c.py", "c/__init__.py").unwrap();
    set.edit("c.py", vec![edit((0, 0), (0, 1), "C")]).unwrap();
    set.create("c.py", "new\n").unwrap();
    set.edit("c/__init__.py", vec![edit((1, 0), (1, 0), "end\n")])
        .unwrap();
    world.journal.apply(&set, "").unwrap();
    assert_eq!(world.read("a.py"), b"b.py\n");
    assert_eq!(world.read("b.py"), b"a.py\n");
    assert_eq!(world.read("c/__init__.py"), b"C.py\nend\n");
    assert_eq!(world.read("c.py"), b"new\n");
    let mut set = world.set();
    set.delete("a.py").unwrap();
    assert_eq!(set.set_text("a.py", "").unwrap_err().code, Code::NotFound);
    set.create("a.py", "b.py\n").unwrap();
    assert!(set.is_empty(), "it is what was there");
    set.create("d.py", "").unwrap();
    set.delete("d.py").unwrap();
    assert!(set.is_empty());
    assert_eq!(world.journal.apply(&set, "").unwrap().id, None);
}

/// A text, and pieces of it that do not overlap, as counts of characters.
fn spliced() -> impl Strategy<Value = (String, Vec<(usize, usize, String)>)> {
    (
        "[a-cé😀\n]{0,40}",
        proptest::collection::vec((0..9usize, 0..5usize, "[x-z\n]{0,4}"), 0..6),
    )
}

proptest! {
    #[test]
    fn edits_do_what_a_plain_splice_does((text, steps) in spliced(), crlf: bool, shuffle: u64) {
        let on_disk = if crlf { text.replace('\n', "\r\n") } else { text.clone() };
        let world = World::in_memory();
        world.write("a.py", &on_disk);
        let chars: Vec<char> = text.chars().collect();
        let source = Source::decode(text.as_bytes());
        let offset = |n: usize| chars[..n].iter().map(|c| c.len_utf8()).sum::<usize>();
        let (mut edits, mut expected, mut at) = (Vec::new(), String::new(), 0);
        for (gap, length, new) in steps {
            let start = (at + gap + 1).min(chars.len());
            let end = (start + length).min(chars.len());
            expected.extend(&chars[at.min(start)..start]);
            expected.push_str(&new);
            at = end;
            let span = Span {
                start: source.position(offset(start)),
                end: source.position(offset(end)),
            };
            edits.push(TextEdit { span, text: new });
            if end == chars.len() {
                break;
            }
        }
        expected.extend(&chars[at..]);
        // The order in which they are named does not matter.
        let middle = usize::try_from(shuffle % 7).unwrap().min(edits.len());
        edits.rotate_left(middle);
        let mut set = world.set();
        let later = edits.split_off(edits.len() / 2);
        set.edit("a.py", edits).unwrap();
        set.edit("a.py", later).unwrap();
        // Without a line there is no line end to keep.
        let crlf = crlf && text.contains('\n');
        let expected = if crlf { expected.replace('\n', "\r\n") } else { expected };
        prop_assert_eq!(set.text_after("a.py").unwrap(), expected.clone());
        world.journal.apply(&set, "").unwrap();
        prop_assert_eq!(world.read("a.py"), expected.into_bytes());
    }
}
