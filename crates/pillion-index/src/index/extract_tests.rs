//! What is found in a file.

use super::*;
use crate::source::Position;

fn of(text: &str) -> Facts {
    facts(&Source::decode(text.as_bytes()), "m.py")
}

fn outline(text: &str) -> Vec<String> {
    let facts = of(text);
    (0..facts.symbols.len())
        .map(|index| {
            let symbol = &facts.symbols[index];
            let line = symbol.name_span.start.line + 1;
            format!("{} {} {line}", symbol.kind.name(), facts.name_path(index))
        })
        .collect()
}

#[test]
fn definitions_of_all_kinds_have_a_name_path() {
    let text = r#"
import os
LIMIT: int = 3
a, (b, *c) = 1, (2, 3)

@decorate
class Outer(Base, pkg.Other[int], metaclass=Meta):
    """Does things.

    More."""
    field = 1
    class Inner:
        def deep(self): ...
    @property
    def size(self) -> int:
        local = 1
        return 1
    async def go(self, x,
                 y=2):
        self.seen = x
        self.seen = y
        def helper(): ...

def top(): pass
type Pair[T] = tuple[T, T]
if True:
    async def conditional(): ...
for index in range(3): ...
with open("x") as handle: ...
try:
    import json
except ImportError:
    fallback = None
"#;
    assert_eq!(
        outline(text),
        [
            "variable LIMIT 3",
            "variable a 4",
            "variable b 4",
            "variable c 4",
            "class Outer 7",
            "attribute Outer/field 11",
            "class Outer/Inner 12",
            "method Outer/Inner/deep 13",
            "property Outer/size 15",
            "method Outer/go 18",
            "attribute Outer/seen 20",
            "function Outer/go/helper 22",
            "function top 24",
            "type Pair 25",
            "function conditional 27",
            "variable index 28",
            "variable handle 29",
            "variable fallback 33",
        ]
    );
    let facts = of(text);
    let outer = &facts.symbols[4];
    assert_eq!(
        outer.signature.as_deref(),
        Some("class Outer(Base, pkg.Other[int], metaclass=Meta)")
    );
    assert_eq!(outer.summary.as_deref(), Some("Does things."));
    assert_eq!(outer.bases[..], ["Base".into(), "pkg.Other".into()]);
    assert_eq!(outer.span.start.line, 5, "with its decorators");
    let go = &facts.symbols[9];
    assert_eq!(go.signature.as_deref(), Some("async def go(self, x, y=2)"));
    assert_eq!(
        facts.enclosing(Position {
            line: 19,
            column: 8
        }),
        Some(9)
    );
    assert_eq!(facts.named_at(Position { line: 6, column: 8 }), Some(4));
}

#[test]
fn imports_and_offers_are_kept() {
    let facts = of(
        "import a.b as c\nfrom ..x import y as z, w\nfrom . import *\n\
        __all__ = ['one'] + ['two']\n__all__ += ('three',)\n__all__.append('four')\n\
        __all__.extend(['five'])\n",
    );
    let imports: Vec<_> = facts
        .imports
        .iter()
        .map(|i| (&*i.module, i.name.as_deref(), i.alias.as_deref()))
        .collect();
    assert_eq!(
        imports,
        [
            ("a.b", None, Some("c")),
            ("..x", Some("y"), Some("z")),
            ("..x", Some("w"), None),
            (".", Some("*"), None),
        ]
    );
    let all: Vec<_> = facts.all.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(all, ["one", "two", "three", "four", "five"]);
}

#[test]
fn a_broken_file_is_read_as_far_as_it_goes() {
    let facts = of("def before(): pass\nclass Half(\n\ndef after(): pass\n");
    let names: Vec<_> = facts.symbols.iter().map(|s| &*s.name).collect();
    assert!(
        names.contains(&"before") && names.contains(&"after"),
        "{names:?}"
    );
    assert!(!facts.parse_errors.is_empty());
    assert!(facts.parse_errors[0].line >= 2);
}

#[test]
fn every_name_is_mentioned_also_in_strings_with_holes_and_as_soft_keywords() {
    let facts = of("match = f'{inner!r:{width}}'\nobj.attr(key=type)\nmatch.case\n");
    for name in [
        "match", "inner", "width", "obj", "attr", "key", "type", "case",
    ] {
        assert!(facts.may_mention(name_hash(name)), "{name}");
    }
    assert!(!facts.may_mention(name_hash("absent")));
}
