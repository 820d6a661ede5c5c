//! Following equals building anew, after any edits.

use std::collections::BTreeMap;

use pillion_index::language::Language;
use proptest::prelude::*;

use super::update::LanguageState;

/// Files and lines of a language from which small projects are made.
struct Kit {
    language: Language,
    always: &'static [(&'static str, &'static str)],
    paths: &'static [&'static str],
    first: &'static [&'static str],
    lines: &'static [&'static str],
}

const KITS: &[Kit] = &[
    Kit {
        language: Language::Typescript,
        always: &[],
        paths: &["a.ts", "b.ts", "lib/index.ts", "lib/a.ts", "c.js"],
        first: &["", "", "", "", ""],
        lines: &[
            "export function f() { g(); }",
            "export function g() {}",
            "import { f, g } from './a';",
            "import * as lib from './lib';",
            "export * from './a';",
            "export { f as h } from './lib/a';",
            "export class C { m() { this.n(); } n() { f(); } }",
            "import { C } from './a';",
            "export class D extends C { n() { super.n(); } }",
            "lib.f(); f();",
            "const c: C = make(); c.m();",
            "function run(x) { x.n(); x.m(); }",
            "class C { n() {} }",
        ],
    },
    Kit {
        language: Language::Go,
        always: &[("go.mod", "module x.org/p\n")],
        paths: &["a.go", "b.go", "q/a.go", "q/b.go", "q/a_test.go"],
        first: &[
            "package p",
            "package p",
            "package q",
            "package q",
            "package q",
        ],
        lines: &[
            "import \"x.org/p/q\"",
            "import p \"x.org/p\"",
            "func F() { G(); q.F() }",
            "func G() { p.F() }",
            "type T struct { u U }",
            "type U struct{}",
            "func (t *T) M() { t.N(); t.u.N() }",
            "func (u U) N() {}",
            "func (t T) N() {}",
            "type I interface { N() }",
            "func H(i I, t *T, x q.T) { i.N(); t.M(); x.M() }",
            "func New() *T { return nil }",
            "func K() { t := New(); t.M(); u := q.New(); u.M() }",
        ],
    },
    Kit {
        language: Language::Rust,
        always: &[("Cargo.toml", "[package]\nname = \"p\"\n")],
        paths: &[
            "src/lib.rs",
            "src/a.rs",
            "src/b.rs",
            "src/a/c.rs",
            "tests/t.rs",
        ],
        first: &["mod a;", "pub mod c;", "", "", ""],
        lines: &[
            "pub fn f() { g(); crate::a::f(); }",
            "fn g() { super::f(); }",
            "mod b;",
            "use crate::a::*;",
            "use crate::b::T;",
            "pub use self::c::f as h;",
            "pub struct T;",
            "impl T { pub fn m(&self) { self.n() } fn n(&self) {} }",
            "trait R { fn n(&self); fn o(&self) { self.n() } }",
            "impl R for T { fn n(&self) {} }",
            "fn k(t: &T) { t.o(); t.m(); p::f(); }",
        ],
    },
];

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, Vec<usize>),
    Delete(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let lines = prop::collection::vec(0..13_usize, 0..6);
    prop_oneof![
        5 => (0..5_usize, lines).prop_map(|(path, lines)| Edit::Write(path, lines)),
        1 => (0..5_usize).prop_map(Edit::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn following_equals_building_anew(edits in prop::collection::vec(edit(), 1..10)) {
        for kit in KITS {
            let mut files: BTreeMap<&str, String> = BTreeMap::new();
            let mut map = LanguageState::default();
            let always: Vec<_> = kit.always.iter().map(|(p, t)| (*p, Some(*t))).collect();
            map.edit(kit.language, &always);
            for edit in &edits {
                let (path, text) = match edit {
                    Edit::Write(at, lines) => {
                        let mut all = vec![kit.first[*at]];
                        all.extend(lines.iter().map(|line| kit.lines[*line % kit.lines.len()]));
                        (kit.paths[*at], Some(all.join("\n")))
                    }
                    Edit::Delete(at) => (kit.paths[*at], None),
                };
                match &text {
                    Some(text) => drop(files.insert(path, text.clone())),
                    None => drop(files.remove(path)),
                }
                map.edit(kit.language, &[(path, text.as_deref())]);
                let mut anew = LanguageState::default();
                let mut all: Vec<_> = files.iter().map(|(p, t)| (*p, Some(t.as_str()))).collect();
                all.extend(&always);
                anew.edit(kit.language, &all);
                prop_assert_eq!(map.graph().dump(), anew.graph().dump(), "{:#?}", files);
            }
        }
    }
}

#[test]
fn a_body_is_nobody_elses_business() {
    let mut map = LanguageState::default();
    let mut edit = |files: &[(&str, Option<&str>)]| map.edit(Language::Typescript, files);
    let count = edit(&[
        (
            "a.ts",
            Some("export function f() {}\nexport function g() {}\n"),
        ),
        ("b.ts", Some("import { f } from './a';\nf();\n")),
    ]);
    assert_eq!(count, 2);
    assert_eq!(
        edit(&[(
            "a.ts",
            Some("export function f() { g(); }\nexport function g() {}\n")
        )]),
        1
    );
    assert_eq!(edit(&[("a.ts", Some("export function g() {}\n"))]), 2);
    assert_eq!(edit(&[]), 0);
}
