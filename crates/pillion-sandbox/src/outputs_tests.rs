//! What is brought back of real folders, and what is not. What patterns mean is in
//! `patterns.json`, which the tests of both implementations read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

const CASES: &str = include_str!("patterns.json");

/// What `names` bring back of a folder with room for all of it.
fn plenty(names: &[&str]) -> OutputsSpec {
    OutputsSpec {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        bytes: 1 << 20,
        files: 100,
    }
}

/// Names that are found, in order, and names with reasons of those that are not.
fn collected(folder: &Path, wanted: &OutputsSpec) -> (Vec<String>, Vec<(String, String)>) {
    let (found, left_out) = collect(folder, wanted);
    let left_out = left_out.into_iter().map(|left| (left.name, left.why));
    let found = found.into_iter().map(|file| file.name);
    (found.collect(), left_out.collect())
}

fn said(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, why): &(&str, &str)| ((*name).to_owned(), (*why).to_owned());
    pairs.iter().map(owned).collect()
}

/// A folder with empty files of these names.
fn folder_of(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}

#[derive(serde::Deserialize)]
struct Case {
    files: Vec<String>,
    patterns: Vec<String>,
    found: Vec<String>,
    left_out: Option<Vec<(String, String)>>,
}

#[test]
fn patterns_mean_what_the_table_says() {
    let cases: Vec<Case> = serde_json::from_str(CASES).unwrap();
    for case in cases {
        let files: Vec<&str> = case.files.iter().map(String::as_str).collect();
        let patterns: Vec<&str> = case.patterns.iter().map(String::as_str).collect();
        let folder = folder_of(&files);
        let (found, left_out) = collected(folder.path(), &plenty(&patterns));
        assert_eq!(found, case.found, "{patterns:?}");
        if let Some(expected) = case.left_out {
            assert_eq!(left_out, expected, "{patterns:?}");
        }
    }
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let outer = folder_of(&["secret", "inner/plain"]);
    let inner = outer.path().join("inner");
    symlink("..", inner.join("up")).unwrap();
    let absolute = outer.path().join("secret");
    let names = [
        "../secret",
        "/etc/passwd",
        absolute.to_str().unwrap(),
        "./plain",
        "",
        "a//b",
    ];
    let (found, left_out) = collected(&inner, &plenty(&names));
    assert_eq!(found, [""; 0]);
    let outside: Vec<_> = names
        .iter()
        .map(|name| (*name, "outside of the folder"))
        .collect();
    assert_eq!(left_out, said(&outside));
    // A link to a folder is no folder, by its name or by any pattern.
    let names = ["up/secret", "*/secret", "**/secret"];
    let (found, left_out) = collected(&inner, &plenty(&names));
    assert_eq!(found, [""; 0]);
    assert_eq!(left_out, said(&names.map(|name| (name, "no such file"))));
}

#[test]
fn a_folder_that_became_a_link_is_not_looked_into() {
    let real = folder_of(&["a"]);
    let other = tempfile::tempdir().unwrap();
    let link = other.path().join("work");
    symlink(real.path(), &link).unwrap();
    let (found, left_out) = collected(&link, &plenty(&["a", "*"]));
    assert_eq!(found, [""; 0]);
    assert_eq!(
        left_out,
        said(&[("a", "no such file"), ("*", "no such file")])
    );
}

#[test]
fn only_plain_files_are_read_and_nobody_waits_for_a_pipe() {
    let folder = folder_of(&["plain", "folder/inside"]);
    let at = |name: &str| folder.path().join(name);
    symlink("plain", at("link")).unwrap();
    symlink("/nowhere", at("loose")).unwrap();
    let (kind, mode) = (FileType::Fifo, Mode::from_raw_mode(0o600));
    rustix::fs::mknodat(CWD, at("pipe"), kind, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let (found, left_out) = collected(folder.path(), &plenty(&["*", "folder"]));
    assert_eq!(found, ["plain"]);
    let expected = [
        ("link", "a link"),
        ("loose", "a link"),
        ("pipe", "not a plain file"),
        ("socket", "not a plain file"),
        ("folder", "not a plain file"),
    ];
    assert_eq!(left_out, said(&expected));
}

#[test]
fn a_name_that_is_no_text_is_said_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(OsStr::from_bytes(b"\xff.x")), "1").unwrap();
    let below = folder.path().join(OsStr::from_bytes(b"\xfe"));
    fs::create_dir(&below).unwrap();
    fs::write(below.join("a.x"), "1").unwrap();
    let (found, left_out) = collected(folder.path(), &plenty(&["**/*.x"]));
    assert_eq!(found, [""; 0]);
    let why = "its name is not text";
    assert_eq!(
        left_out,
        said(&[("\u{fffd}.x", why), ("\u{fffd}/a.x", why)])
    );
}

#[test]
fn files_come_until_their_bytes_are_used_up_and_small_ones_still_fit() {
    let folder = tempfile::tempdir().unwrap();
    for (name, size) in [("a", 6), ("b", 5), ("c", 4), ("d", 1), ("e", 0)] {
        fs::write(folder.path().join(name), vec![b'x'; size]).unwrap();
    }
    let wanted = OutputsSpec {
        bytes: 10,
        ..plenty(&["*"])
    };
    let (found, left_out) = collect(folder.path(), &wanted);
    let sizes: Vec<_> = found.iter().map(Collected::listed).collect();
    let listed = |name: &str, size| OutputFile {
        name: name.to_owned(),
        size,
    };
    assert_eq!(sizes, [listed("a", 6), listed("c", 4), listed("e", 0)]);
    let too_large: Vec<_> = left_out
        .iter()
        .map(|left| (&*left.name, &*left.why))
        .collect();
    assert_eq!(too_large, [("b", "too large"), ("d", "too large")]);
    // What is sent is what was listed, one file after the other.
    let mut sent = Vec::new();
    send(&mut sent, &found);
    assert_eq!(sent, b"xxxxxxxxxx");
}

#[test]
fn only_so_many_files_come_and_each_of_them_once() {
    let folder = folder_of(&["a", "b", "c"]);
    let wanted = OutputsSpec {
        files: 2,
        ..plenty(&["b", "?", "b"])
    };
    let (found, left_out) = collected(folder.path(), &wanted);
    assert_eq!(found, ["b", "a"]);
    assert_eq!(left_out, said(&[("c", "too many files")]));
    let none = OutputsSpec {
        files: 0,
        ..plenty(&["a"])
    };
    assert_eq!(collected(folder.path(), &none).0, [""; 0]);
}

#[test]
fn no_more_refusals_are_said_than_anybody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..MOST_LEFT_OUT + 5).map(|n| n.to_string()).collect();
    let wanted = OutputsSpec {
        names,
        ..plenty(&[])
    };
    assert_eq!(collect(folder.path(), &wanted).1.len(), MOST_LEFT_OUT);
}

#[test]
fn folders_deeper_than_people_make_are_not_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let near = folder.path().join("d/".repeat(DEPTH));
    fs::create_dir_all(near.join("d")).unwrap();
    fs::write(near.join("x"), "").unwrap();
    fs::write(near.join("d/y"), "").unwrap();
    let (found, left_out) = collected(folder.path(), &plenty(&["**/x", "**/y"]));
    assert_eq!(found, ["d/".repeat(DEPTH) + "x"]);
    assert_eq!(left_out, said(&[("**/y", "no such file")]));
}

/// The meaning of `*`, `?` and letters, as short as it can be said.
fn means(name: &[char], part: &[char]) -> bool {
    match (name, part) {
        (_, ['*', rest @ ..]) => (0..=name.len()).any(|from| means(&name[from..], rest)),
        ([_, name @ ..], ['?', rest @ ..]) => means(name, rest),
        ([letter, name @ ..], [first, rest @ ..]) => letter == first && means(name, rest),
        ([], []) => true,
        _ => false,
    }
}

proptest::proptest! {
    #[test]
    fn stars_stand_for_what_they_say(name in "[abc]{0,7}", part in "[abc*?]{0,6}") {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(matches(&name, &part), means(&letters(&name), &letters(&part)));
    }

    #[test]
    fn any_name_is_meant_by_itself_and_any_pattern_comes_to_an_end(name: String, part: String) {
        assert!(matches(&name, &name));
        matches(&name, &part);
    }

    #[test]
    fn a_letter_is_in_brackets_or_in_their_opposite(letter in "[a-z!^-]", among in "[a-z-]{1,5}") {
        let (with, without) = (format!("[{among}]"), format!("[!{among}]"));
        assert_ne!(matches(&letter, &with), matches(&letter, &without));
    }
}
