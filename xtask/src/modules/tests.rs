//! Small crates, and the cycles that are found in them.

use std::path::Path;

use super::{Source, read};
use crate::error::Result;

/// Files by their names.
struct Files<'a>(&'a [(&'a str, &'a str)]);

impl Source for Files<'_> {
    fn text(&self, file: &Path) -> Result<Option<String>> {
        let found = self.0.iter().find(|(name, _)| Path::new(name) == file);
        Ok(found.map(|(_, text)| (*text).to_owned()))
    }
}

fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    let tree = read::tree(&Files(files), Path::new("src/lib.rs")).unwrap();
    tree.cycles().iter().map(ToString::to_string).collect()
}

/// The cycles between modules `a`, `b` and so on that stand in one file.
fn inline(text: &str) -> usize {
    cycles(&[("src/lib.rs", text)]).len()
}

#[test]
fn siblings_that_use_each_other_are_told_with_their_places() {
    let found = cycles(&[
        ("src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
        (
            "src/a.rs",
            "use crate::b::B;\n\npub struct A;\nfn f(_: B) { B::new() }\n",
        ),
        ("src/b.rs", "pub struct B;\nfn f() {\n    super::a::A;\n}\n"),
        ("src/c.rs", "use crate::{a::A, b::B};\n"),
    ]);
    assert_eq!(
        found,
        ["in `crate`, `a`, `b` use each other\
            \n  `a` uses `b`:\
            \n    src/a.rs:1: crate::b::B\
            \n  `b` uses `a`:\
            \n    src/b.rs:3: super::a::A"]
    );
}

#[test]
fn siblings_that_use_each_other_through_others_are_one_cycle() {
    let text = "mod a { use crate::b::f; } mod b { use super::c; } mod c { use super::a as x; }";
    assert_eq!(inline(text), 1);
    assert_eq!(inline(&text.replace("super::a", "std::a")), 0);
}

#[test]
fn what_is_within_a_module_is_the_modules() {
    let found = cycles(&[
        ("src/lib.rs", "mod a;\nmod b;\n"),
        ("src/a/mod.rs", "mod deep;\npub fn f() {}\n"),
        ("src/a/deep.rs", "fn g() { crate::b::g() }\n"),
        ("src/b.rs", "pub fn g() { crate::a::f() }\n"),
    ]);
    assert_eq!(found.len(), 1);
}

#[test]
fn siblings_below_are_looked_at_like_those_at_the_top() {
    let found = cycles(&[
        ("src/lib.rs", "mod a;\n"),
        ("src/a.rs", "mod b;\nmod c;\n"),
        ("src/a/b.rs", "use super::c::C;\n"),
        ("src/a/c.rs", "use crate::a::b::B;\n"),
    ]);
    assert!(found[0].starts_with("in `crate::a`, `b`, `c` use each other"));
}

#[test]
fn a_parent_and_its_children_are_no_cycle() {
    assert_eq!(
        inline("mod a { mod b { use super::Own; } use self::b::X; pub struct Own; }"),
        0
    );
}

#[test]
fn a_use_counts_where_the_item_stands() {
    // The root re-exports what `a` has, and `b` takes it from there.
    let text = "pub use a::{A as Other, B}; mod a { use crate::b; pub struct A; pub struct B; }
                mod b { use super::Other; }";
    assert_eq!(inline(text), 1);
    // What the root takes from elsewhere, or has itself, is not of `a`.
    assert_eq!(
        inline(&text.replace("a::{A as Other", "std::{A as Other")),
        0
    );
    // A re-export by `a` of what is in `c` is no use of `a`.
    let text = "mod a { pub use crate::c::C; use crate::b; } mod b { use crate::a::C; }
                mod c { pub struct C; }";
    assert_eq!(inline(text), 0);
}

#[test]
fn paths_are_found_wherever_they_stand() {
    for path in [
        "fn f() -> Option<super::a::A> { None }",
        "fn f() { use crate::a::A; }",
        "fn f() { assert_eq!(1, crate::a::f()); }",
        "macro_rules! m { () => { $crate::a::f() } }",
        "impl<T> From<T> for X where T: crate::a::A {}",
        "fn f() { <X as crate::a::A>::f(); }",
        "#[derive(crate::a::A)] struct X;",
        "use crate::{c, a::{self}};",
        "use super::*; fn f() { a::f(); }",
        "use crate::a::*;",
        "mod deep { use super::super::a; }",
    ] {
        let text = format!("mod a {{ use super::b; }} mod b {{ {path} }} mod c {{}}");
        assert_eq!(inline(&text), 1, "{path}");
    }
}

#[test]
fn names_that_a_glob_brings_count() {
    let text = "use a::A; mod a { use super::b; pub struct A; }
                mod b { use super::*; fn f(_: A) {} }";
    assert_eq!(inline(text), 1);
}

#[test]
fn what_only_looks_like_a_path_is_none() {
    for other in [
        "// super::a::A",
        "/* super::a::A */",
        "/// [`super::a::A`]\nfn f() {}",
        "const X: &str = \"super::a::A\";",
        "const X: &str = r#\"\" super::a::A\"#;",
        "fn f<'a>() { x.a::<'a>(); }",
        "use ::a::A;",
        "fn f() { ::a::f(); }",
        "use a::A;",
    ] {
        let text = format!("mod a {{ use super::b; }} mod b {{ {other}\n }}");
        assert_eq!(inline(&text), 0, "{other}");
    }
}

#[test]
fn what_is_for_tests_is_left_out() {
    for item in [
        "#[cfg(test)] mod tests { use crate::a::A; }",
        "#[cfg(test)] mod tests;",
        "#[cfg(test)] pub(crate) use crate::{a::A};",
        "#[cfg(all(test, unix))] #[inline] const fn f<A, B>() { crate::a::f() }",
        "#[test] fn f() { crate::a::f() }",
        "fn f() { #[cfg(test)] let x = { 1 } + crate::a::f(); }",
        "struct X { #[cfg(test)] field: crate::a::A, other: u8 }",
        "#![cfg(test)] use crate::a::A;",
    ] {
        let text = format!("mod a {{ use super::b; }} mod b {{ {item} }}");
        assert_eq!(inline(&text), 0, "{item}");
        // What comes after it counts.
        if !item.starts_with("#!") {
            let text = format!("mod a {{ use super::b; }} mod b {{ {item} use crate::a; }}");
            assert_eq!(inline(&text), 1, "{item}");
        }
    }
    let text = "mod a { use super::b; } mod b { #[cfg(not(test))] use crate::a; }";
    assert_eq!(inline(text), 1);
}

#[test]
fn a_module_that_is_another_file_on_each_system_is_one() {
    let found = cycles(&[
        (
            "src/lib.rs",
            "mod a;\n#[cfg(unix)]\n#[path = \"unix.rs\"]\nmod sys;\n\
             #[cfg(not(unix))]\n#[path = \"other/sys.rs\"]\nmod sys;\n",
        ),
        ("src/a.rs", "use crate::sys;\n"),
        ("src/unix.rs", ""),
        ("src/other/sys.rs", "mod deep;\n"),
        ("src/other/deep.rs", "use crate::a;\n"),
    ]);
    assert_eq!(found.len(), 1);
}

#[test]
fn a_file_that_is_missing_or_no_rust_is_an_error() {
    let read = |text| read::tree(&Files(&[("src/lib.rs", text)]), Path::new("src/lib.rs"));
    let missing = read("mod a;").unwrap_err();
    assert_eq!(
        missing.message(),
        "src/lib.rs: the file of module `a` is not there"
    );
    assert!(
        read("fn f( {")
            .unwrap_err()
            .message()
            .starts_with("src/lib.rs:1: ")
    );
}
