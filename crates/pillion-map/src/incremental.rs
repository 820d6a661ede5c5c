//! After any edits, the graph that followed them is the one that is built anew.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::update::Map;

const PATHS: &[&str] = &[
    "a.py",
    "b.py",
    "pkg/__init__.py",
    "pkg/c.py",
    "pkg/sub/__init__.py",
    "pkg/sub/d.py",
    "src/lib.py",
    "tests/conftest.py",
    "tests/test_e.py",
];

/// Lines that say something about other files.
const LINES: &[&str] = &[
    "from a import f, C",
    "from b import *",
    "import pkg.c",
    "import pkg.sub.d as d",
    "from pkg import C, g",
    "from . import c",
    "from .c import C, f",
    "from ..c import g as f",
    "from .sub import *",
    "import lib",
    "__all__ = ['f', 'C']",
    "__all__ = ['g']",
    "def f(): return C()",
    "def f(x: C) -> C: x.m()",
    "def g(): return f().m()",
    "def g(c=None): pkg.c.f(); lib.f(); d.C().m(); c.only()",
    "class C:\n    def m(self): self.n()",
    "class C(B):\n    def n(self): super().n(); return self",
    "class B(C):\n    x = f\n    def m(self): self.x(); self.y.m()\n    def __init__(self): self.y = C()",
    "class B:\n    def n(self): pass\n    def only(self): pass",
    "def test_f(fix): f()",
    "@fixture\ndef fix(): g()",
    "f()\ng()",
    "C = f",
    "V = f\nW = {'a': C}",
    "from b import V",
    "def v(): return V, lib.W",
    "@pytest.fixture(autouse=True)\ndef auto(): f()",
    "@pytest.fixture(name='fix')\ndef named(auto): C()",
    "class T(B):\n    def test_m(self, fix): getattr(self, 'n'); self.lost()",
    "class Hooked(lib.Base, C): pass",
];

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, Vec<usize>),
    /// A line more: what is there mostly stays as it is.
    Append(usize, usize),
    Delete(usize),
    Move(usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let lines = prop::collection::vec(0..LINES.len(), 0..7);
    prop_oneof![
        6 => (0..PATHS.len(), lines).prop_map(|(path, lines)| Edit::Write(path, lines)),
        6 => (0..PATHS.len(), 0..LINES.len()).prop_map(|(path, line)| Edit::Append(path, line)),
        1 => (0..PATHS.len()).prop_map(Edit::Delete),
        1 => (0..PATHS.len(), 0..PATHS.len()).prop_map(|(from, to)| Edit::Move(from, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn following_equals_building_anew(edits in prop::collection::vec(edit(), 1..16)) {
        let mut files: BTreeMap<&str, String> = BTreeMap::new();
        let mut map = Map::default();
        for edit in edits {
            let mut changes: Vec<(&str, Option<String>)> = Vec::new();
            match edit {
                Edit::Write(path, lines) => {
                    let lines: Vec<&str> = lines.iter().map(|line| LINES[*line]).collect();
                    changes.push((PATHS[path], Some(lines.join("\n"))));
                }
                Edit::Append(path, line) => {
                    let old = files.get(PATHS[path]).map_or("", String::as_str);
                    changes.push((PATHS[path], Some(format!("{old}\n{}", LINES[line]))));
                }
                Edit::Delete(path) if files.contains_key(PATHS[path]) => {
                    changes.push((PATHS[path], None));
                }
                Edit::Move(from, to) if from != to => {
                    if let Some(text) = files.get(PATHS[from]) {
                        changes.push((PATHS[to], Some(text.clone())));
                        changes.push((PATHS[from], None));
                    }
                }
                _ => {}
            }
            for (path, text) in &changes {
                match text {
                    Some(text) => drop(files.insert(path, text.clone())),
                    None => drop(files.remove(path)),
                }
            }
            let changes: Vec<_> = changes.iter().map(|(p, t)| (*p, t.as_deref())).collect();
            map.edit(&changes);
            let mut anew = Map::default();
            let all: Vec<_> = files.iter().map(|(p, t)| (*p, Some(t.as_str()))).collect();
            anew.edit(&all);
            prop_assert_eq!(map.graph().dump(), anew.graph().dump(), "{:#?}", files);
        }
    }
}

/// What an edit of a file that others use takes over of the graph, and what it must not.
#[test]
fn a_graph_is_taken_over_where_numbers_move() {
    let ends = "class C:\n    def m(self): pass\n";
    let user = "import a\na.f()\na.late()\ndef u(x): x.m(); a.g()\n";
    let texts = [
        format!("def f(): g()\ndef g(): pass\n{ends}"),
        // A body; a definition more, in front of others; one less; back again.
        format!("def f(): pass\ndef g(): f()\n{ends}"),
        format!("def first(): pass\ndef f(): pass\ndef g(): first()\n{ends}"),
        format!("def g(): pass\n{ends}"),
        format!("def f(): pass\ndef g(): pass\ndef late(): f()\n{ends}"),
        // Another order; a method more.
        format!("def g(): f()\ndef late(): pass\ndef f(): pass\n{ends}"),
        format!("def g(): f()\ndef f(): pass\n{ends}    def n(self): self.m()\n"),
    ];
    let mut map = Map::default();
    for text in &texts {
        map.edit(&[("a.py", Some(text)), ("b.py", Some(user))]);
        let mut anew = Map::default();
        anew.edit(&[("a.py", Some(text)), ("b.py", Some(user))]);
        assert_eq!(map.graph().dump(), anew.graph().dump(), "{text}");
    }
}

#[test]
fn only_those_who_looked_are_linked_anew() {
    let mut map = Map::default();
    let count = map.edit(&[
        ("a.py", Some("def f(): pass\ndef g(): pass\n")),
        ("b.py", Some("from a import f\nf()\n")),
        ("c.py", Some("from a import g\ng()\n")),
        ("d.py", Some("x = 1\n")),
    ]);
    assert_eq!(count, 4);
    // The body of a function is nobody else's business.
    assert_eq!(
        map.edit(&[("a.py", Some("def f(): g()\ndef g(): pass\n"))]),
        1
    );
    // What it returns is.
    assert_eq!(
        map.edit(&[("a.py", Some("def f() -> int: g()\ndef g(): pass\n"))]),
        2
    );
    assert_eq!(map.edit(&[("a.py", Some("def g(): pass\n"))]), 2);
    assert_eq!(map.edit(&[("a.py", None)]), 2);
}
