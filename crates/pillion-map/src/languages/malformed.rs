//! Text that is no source never stops anything: it is cut, mixed and made of anything.

use pillion_index::language::Language;
use proptest::prelude::*;

use super::update::LanguageState;

const TEXTS: &[(Language, &str, &str)] = &[
    (
        Language::Typescript,
        "a.ts",
        "import d, { a as b } from './a';\nexport * from './b';\n@dec class C<T> extends B implements I { #p = 1; x: T; constructor(private y: D) { super(); this.z = new Z(); } get v() { return this.#p; } async *m?(q = { r }, ...s): Promise<T> { for (const [k] of await f?.(q)) { k.l!.n(); } } }\nnamespace N { export const g = (h) => h; }\nexport default C;\nmodule.exports = { a, b: c };\n",
    ),
    (
        Language::Javascript,
        "a.jsx",
        "const { a: b, ...c } = require('./a');\nexports.f = b;\nconst V = ({ w }) => <A.B w={w}>{c.map((x) => <p key={x}/>)}</A.B>;\n",
    ),
    (
        Language::Go,
        "a.go",
        "package a\nimport (\n\t. \"x/y\"\n\t_ \"z\"\n\tv2 \"w/v2\"\n)\ntype T[K any] struct { *B; f map[K]func(T[K]) }\ntype I interface { ~int | B; M(a, b int) (x T[int], err error) }\nfunc (t *T[K]) M(a, b int, c ...v2.W) (*T[K], error) { for i, x := range c { go func() { x.y[i](a) }() }; return &T[K]{f: nil}, nil }\nvar x, y = F[int](1), &T[int]{}\n",
    ),
    (
        Language::Rust,
        "src/lib.rs",
        "use a::{self, b::{c as d, *}, E};\nmod m { #[test] fn t() { assert_eq!(super::f::<u8>(1), vec![x.y(), z::w(1)][0]); } }\nimpl<T: Q> R for S<T> where T: U { type V = W; fn f(&self, g: Box<dyn H>) -> Self { let (i, mut j) = k!(l.m::<n>()?); match j { Some(o @ P { q, .. }) if q => <S as R>::f(o), _ => Self { ..i } } } }\n",
    ),
    (
        Language::Java,
        "A.java",
        "package a.b;\nimport static c.D.*;\nimport e.F;\n@G(h = 1) public class A<T extends I> extends J.K<T> implements L { private final M m = new M<>() { void n() { o(); } }; A(P... p) { this(); } @Test <Q> Q r(Map<S, U> u) throws V { try (W w = x.y()) { return u.stream().map(Z::z).map(q -> q.r()).toList(); } catch (V | X e) { throw e; } } enum E { ONE { }, TWO; } record R(int a) { R { } } }\n",
    ),
    (
        Language::C,
        "a.c",
        "#include \"a.h\"\n#ifdef X\n#define F(a, ...) g(a, __VA_ARGS__)\n#endif\ntypedef struct { int (*f)(void); } T;\nstruct S { T *t; };\nstatic T *h(struct S *s, int (*cb)(int), char c[]) { s->t->f(); (*cb)(1); return F(s, c); }\nint (*table[])(void) = { i, j };\n",
    ),
];

fn read(language: Language, path: &str, text: &str) -> usize {
    let mut map = LanguageState::default();
    map.edit(
        language,
        &[("go.mod", Some(text)), ("Cargo.toml", Some(text))],
    );
    map.edit(language, &[(path, Some(text)), ("b.h", Some(text))]);
    let graph = map.graph();
    graph.dead(&[], &std::collections::HashSet::new());
    graph.layers(true);
    graph.nodes().map(|node| graph.users(node).len()).sum()
}

#[test]
fn whole_texts_are_understood() {
    for (language, path, text) in TEXTS {
        let outline = super::outline(*language, path, text);
        assert_eq!(outline.errors, [0_u32; 0], "{path}");
        assert!(outline.defs.len() > 1 && !outline.uses.is_empty(), "{path}");
        read(*language, path, text);
    }
}

#[test]
fn deep_nests_are_read() {
    for (language, path, _) in TEXTS {
        for (open, close) in [
            ("(", ")"),
            ("{", "}"),
            ("a.", "b"),
            ("f(", ")"),
            ("mod a { ", "}"),
            ("use a::{", "}"),
        ] {
            let text = format!("{}x{}", open.repeat(500), close.repeat(500));
            read(*language, path, &text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn cut_texts_never_panic(at in 0..TEXTS.len(), from in 0..400_usize, until in 0..800_usize, with in "\\PC{0,12}") {
        let (language, path, text) = TEXTS[at];
        let cut = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (from, until) = (cut(from), cut(until));
        read(language, path, &text[..until]);
        read(language, path, &text[from..]);
        let mixed = format!("{}{with}{}", &text[..from], &text[until..]);
        read(language, path, &mixed);
    }

    #[test]
    fn any_text_is_read(at in 0..TEXTS.len(), text in "[\\PC\n]{0,200}") {
        let (language, path, _) = TEXTS[at];
        read(language, path, &text);
    }
}
