//! Names that a program puts together or is given: where nobody can say what is meant, the
//! places are told.

use super::{Idiom, Listed, check};

#[test]
fn who_may_look_it_up_is_told() {
    check(LOOKED_UP);
}

#[test]
fn modules_whose_names_are_put_together_are_told() {
    check(IMPORTED);
}

const LOOKED_UP: &[Idiom] = &[
    Idiom {
        name: "an object of which nobody knows",
        program: "\
--- main.py
class A:
    def go(self):
        return 1


def call(o, name):
    return getattr(o, name)()


print(call(A(), 'g' + 'o'))
",
        ask: ("rename", "main.py", "def |go"),
        more: r#"{"new_name": "walk"}"#,
        verdict: Listed("in objects of which nobody knows: main.py:7"),
    },
    Idiom {
        name: "what a call gives",
        program: "\
--- main.py
class A:
    def go(self):
        return 1


def make():
    return A()


name = 'g' + 'o'
print(getattr(make(), name)())
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "A/go"}"#,
        verdict: Listed("main.py:11"),
    },
    Idiom {
        name: "an object of its class",
        program: "\
--- main.py
class A:
    def go(self):
        return 1


def call(o: A, name):
    return getattr(o, name)()


print(call(A(), 'g' + 'o'))
",
        ask: ("change_signature", "main.py", "def |go"),
        more: r#"{"add": [{"name": "x", "default": "1"}]}"#,
        verdict: Listed("main.py:7"),
    },
    Idiom {
        name: "a module that is only known later",
        program: "\
--- main.py
import importlib


def call(name):
    return getattr(importlib.import_module('ns'), name)()


print(call('g' + 'o'))
--- ns.py
def go():
    return 1
",
        ask: ("rename", "ns.py", "def |go"),
        more: r#"{"new_name": "walk"}"#,
        verdict: Listed("main.py:5"),
    },
    Idiom {
        name: "a module among all that there are",
        program: "\
--- main.py
import sys


def go():
    return 1


name = 'g' + 'o'
print(getattr(sys.modules[__name__], name)())
",
        ask: ("rename", "main.py", "def |go"),
        more: r#"{"new_name": "walk"}"#,
        verdict: Listed("main.py:9"),
    },
    Idiom {
        name: "what a loop sets",
        program: "\
--- main.py
class NS:
    go = None


for name in 'go stop'.split():
    setattr(NS, name, lambda: 2)
print(NS.go())
",
        ask: ("rename", "main.py", "|go = None"),
        more: r#"{"new_name": "walk"}"#,
        verdict: Listed("main.py:6"),
    },
    Idiom {
        name: "what a loop puts into its module",
        program: "\
--- main.py
def go():
    return 1


for name in 'go stop'.split():
    globals()[name] = lambda: 2
print(go())
",
        ask: ("rename", "main.py", "def |go"),
        more: r#"{"new_name": "walk"}"#,
        verdict: Listed("main.py:6"),
    },
];

const IMPORTED: &[Idiom] = &[
    Idiom {
        name: "a module whose name is put together",
        program: "\
--- main.py
import importlib

for name in ['one']:
    print(importlib.import_module(f'pkg.{name}').go())
--- pkg/__init__.py
--- pkg/one.py
def go():
    return 1
",
        ask: ("move", "pkg/one.py", ""),
        more: r#"{"dest_file": "pkg/two.py"}"#,
        verdict: Listed("it is imported by its name here"),
    },
    Idiom {
        name: "a module whose name somebody else has",
        program: "\
--- main.py
import load

print(load.load('one').go())
--- load.py
import importlib

PACKAGE = 'pkg'


def load(name):
    return importlib.import_module(PACKAGE + '.' + name)
--- pkg/__init__.py
--- pkg/one.py
def go():
    return 1
",
        ask: ("move", "pkg/one.py", ""),
        more: r#"{"dest_file": "pkg/two.py"}"#,
        verdict: Listed("by names that no text spells: load.py:7"),
    },
    Idiom {
        name: "a function of a module whose name is put together",
        program: "\
--- main.py
import importlib

for name in ['one']:
    print(importlib.import_module('pkg.%s' % name).go())
--- pkg/__init__.py
--- pkg/one.py
def go():
    return 1
",
        ask: ("move", "pkg/one.py", "def |go"),
        more: r#"{"dest_file": "pkg/two.py"}"#,
        verdict: Listed("the old module is looked up by its name here"),
    },
];
