use super::*;

/// The uses of a name, each with the scope it means.
fn owners(text: &str, name: &str) -> Vec<Option<usize>> {
    let scopes = Scopes::of(text, "m.py");
    let uses = scopes.uses.iter().filter(|use_| use_.name == name);
    uses.map(|use_| scopes.scope_of(use_)).collect()
}

#[test]
fn a_name_belongs_to_the_innermost_scope_that_binds_it() {
    let text = "\
x = 1
def f(x):
    return x
def g():
    return x
class C:
    x = 2
    y = x
    def m(self):
        return x
z = [x for x in [x]]
w = lambda x: x
";
    let (module, f, class, comp, lambda) = (Some(0), Some(1), Some(3), Some(5), Some(6));
    assert_eq!(
        owners(text, "x"),
        [
            module, f, f, module, class, class, module, module, comp, comp, lambda, lambda
        ]
    );
}

#[test]
fn globals_imports_handlers_and_patterns_bind() {
    let text = "\
import a.b as c, d.e
def f():
    global g
    g = 1
    try:
        from p import q
    except E as e:
        print(e, q)
    match c:
        case [first, *rest]:
            return first, rest
g
";
    assert_eq!(owners(text, "g"), [Some(0), Some(0), Some(0)]);
    assert_eq!(owners(text, "d"), [Some(0)]);
    for local in ["q", "e", "first", "rest"] {
        let found = owners(text, local);
        assert!(
            found.iter().all(|owner| *owner == Some(1)),
            "{local} {found:?}"
        );
        assert_eq!(found.len(), 2, "{local}");
    }
    assert_eq!(owners(text, "E"), [None]);
}

#[test]
fn imports_say_where_each_part_stands() {
    let text =
        "from  ..a.b import (c as d,\n  e)\nif TYPE_CHECKING:\n    import x.y\nfrom . import z\n";
    let scopes = Scopes::of(text, "m.py");
    let [from, types, dot] = &*scopes.imports else {
        panic!("{:?}", scopes.imports);
    };
    let (module, range) = from.from.as_ref().unwrap();
    assert_eq!((module.as_str(), &text[*range]), ("..a.b", "..a.b"));
    assert_eq!(&text[from.names[0].range], "c as d");
    assert_eq!(from.names[0].bound(true), "d");
    assert!(types.for_types && !types.at_top && from.at_top);
    assert_eq!(types.names[0].bound(false), "x");
    let (module, range) = dot.from.as_ref().unwrap();
    assert_eq!((module.as_str(), &text[*range]), (".", "."));
    let alias = scopes.uses.iter().find(|use_| use_.name == "d").unwrap();
    assert_eq!((&text[alias.range], alias.role), ("d", Role::Import));
}

#[test]
fn it_is_known_when_a_name_is_evaluated() {
    let text = "\
@deco
def f(a: ann = default) -> 'quoted':
    return body
class C(base):
    attr = value
    field: 'list[inner]'
";
    let scopes = Scopes::of(text, "m.py");
    let when = |name: &str| {
        let found = scopes.uses.iter().find(|use_| use_.name == name);
        found.map(|use_| use_.when)
    };
    for name in ["deco", "ann", "default", "base", "value"] {
        assert_eq!(when(name), Some(When::Import), "{name}");
    }
    assert_eq!(when("body"), Some(When::Later));
    assert_eq!(when("quoted"), Some(When::Never));
    assert_eq!(when("inner"), Some(When::Never));
    let lazy = format!("from __future__ import annotations\n{text}");
    let scopes = Scopes::of(&lazy, "m.py");
    let ann = scopes.uses.iter().find(|use_| use_.name == "ann").unwrap();
    assert_eq!(ann.when, When::Never);
}

#[test]
fn chains_are_one_use_with_parts() {
    let text = "import a.b\na.b.c(d.e).f\n";
    let scopes = Scopes::of(text, "m.py");
    let read: Vec<String> = scopes
        .uses
        .iter()
        .filter(|use_| use_.role == Role::Read)
        .map(|use_| {
            let parts = use_.parts.iter().map(|(part, range)| {
                assert_eq!(&text[*range], part);
                format!(".{part}")
            });
            format!("{}{}", use_.name, parts.collect::<String>())
        })
        .collect();
    assert_eq!(read, ["a.b.c", "d.e"]);
}

#[test]
fn the_body_of_a_class_reads_what_is_around_it_until_it_has_its_own() {
    let text = "\
limit = 3
class A:
    limit = limit
    twice = limit * 2
    def f(self, n=limit): return limit
";
    let scopes = Scopes::of(text, "m.py");
    let line = |range: TextRange| {
        let before = &text[..range.start().to_usize()];
        (
            before.matches('\n').count() + 1,
            before.rsplit('\n').next().unwrap_or_default().len(),
        )
    };
    let of_module: Vec<_> = scopes
        .uses_of(MODULE, "limit")
        .map(|use_| line(use_.range))
        .collect();
    assert_eq!(of_module, [(1, 0), (3, 12), (5, 33)]);
    let outer: Vec<_> = scopes.outer_reads("limit").map(line).collect();
    assert_eq!(outer, [(3, 12)]);
}

#[test]
fn names_that_would_be_taken_for_one_another_are_found() {
    let cases = [
        // A scope on the way has the new name.
        ("a = 1\nclass A:\n    b = 2\n    c = a\n", Some("b")),
        ("a = 1\nclass A:\n    c = a\n    b = 2\n", None),
        ("a = 1\ndef f():\n    b = 2\n    return a\n", Some("b")),
        // The new name is used where the old one would be found first.
        ("def f():\n    a = 1\n    return b\n", Some("b")),
        ("a = 1\nprint(b)\n", Some("b")),
        ("def f():\n    a = 1\ndef g(): return b\n", None),
        ("a = 1\nclass A:\n    b = 1\n    c = b\n", None),
    ];
    for (text, expected) in cases {
        let scopes = Scopes::of(text, "m.py");
        let places = scopes.uses.iter().filter(|use_| use_.name == "a");
        let places = places.map(|use_| use_.range).collect();
        let found = scopes.mistaken(&places, "a", "b");
        let found = found.map(|range| &text[range]);
        assert_eq!(found, expected, "{text}");
    }
}
