//! Functions that seem to be used by nobody: which of them are, and how sure that is.

use std::collections::HashSet;

use super::idioms::{files, mapped};

/// The dead functions of a program; a `!` behind those of which that is sure.
fn dead(program: &str) -> Vec<String> {
    let map = mapped(&files(program));
    let graph = map.graph();
    let (dead, _) = graph.dead(&[], &HashSet::new());
    let mut named: Vec<String> = dead
        .into_iter()
        .map(|found| {
            let mark = if found.is_sure { "!" } else { "" };
            format!("{}{mark}", graph.name(found.node))
        })
        .collect();
    named.sort();
    named
}

#[test]
fn what_only_others_may_use_makes_nothing_sure() {
    let program = "
# file: lib.py
class Reader:
    def names(self): return self._names()
    def _names(self): return _clean([])
    def _lost(self): return self._deeper()
    def _deeper(self): return 1
class _Stub:
    def offered(self): return 1
    def _kept(self): return 1
def _clean(all): return all
def _outer():
    def inner(): return 1
    return inner
def api():
    def inside(): return 1
";
    let all = [
        "Reader._deeper!",
        "Reader._lost!",
        "Reader._names",
        "Reader.names",
        "_Stub._kept!",
        "_Stub.offered",
        "_clean",
        "_outer!",
        "_outer.inner!",
        "api",
        "api.inside",
    ];
    assert_eq!(dead(program), all);
}

#[test]
fn what_is_used_without_its_name_is_alive() {
    let cases = [
        (
            "methods of a stream",
            "class Stream:
    def write(self, text): pass
    def writelines(self, lines): pass
    def never(self): pass
class One:
    def update(self): pass
",
            &["One.update", "Stream.never"][..],
        ),
        (
            "what notebooks ask for",
            "class Table:
    def _repr_html_(self): return ''
    def _repr_mimebundle_(self, include, exclude): return {}
    def _ipython_display_(self): pass
    def _repr(self): pass
",
            &["Table._repr!"],
        ),
        (
            "all that a function defines",
            "def _make():
    def add(self): pass
    def insert(self): pass
    return dict(locals())
made = _make()
def _other():
    def lost(): pass
other = _other()
",
            &["_other.lost!"],
        ),
        (
            "all that a module defines",
            "def seen(): pass
table = {name: one for name, one in globals().items()}
",
            &[],
        ),
        (
            "code that is made of text",
            "CODE = '''
if values:
    found = self._encode(values)
'''
class Rule:
    def compile(self): return compile(CODE, '', 'exec')
    def _encode(self, values): pass
    def _lost(self): pass
Rule().compile()
",
            &["Rule._lost!"],
        ),
    ];
    for (what, text, expected) in cases {
        let found = dead(&format!("# file: lib.py\n{text}"));
        assert_eq!(found, expected, "{what}");
    }
}
