//! What a program knows by a name that no code spells, or sees in the order of its lines:
//! deleting, extracting and moving it.

use super::{Changed, Idiom, Listed, Refused, check};

#[test]
fn what_is_asked_for_by_name_is_not_deleted() {
    check(DELETED);
}

#[test]
fn a_value_that_gets_a_name_is_computed_as_before() {
    check(NAMED);
}

#[test]
fn what_sees_all_names_stays_where_it_is() {
    check(TAKEN);
}

#[test]
fn who_looks_a_module_up_is_named() {
    check(MOVED);
}

const DELETED: &[Idiom] = &[
    Idiom {
        name: "delete what a class of Python looks up",
        program: "\
--- main.py
import cmd


class Shell(cmd.Cmd):
    def do_greet(self, line):
        print('hi')


Shell().onecmd('greet')
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "Shell/do_greet"}"#,
        verdict: Refused("cmd.py"),
    },
    Idiom {
        name: "rename what a class of Python looks up",
        program: "\
--- main.py
import cmd


class Shell(cmd.Cmd):
    def do_greet(self, line):
        print('hi')


Shell().onecmd('greet')
",
        ask: ("rename", "main.py", "def |do_greet"),
        more: r#"{"new_name": "do_hail"}"#,
        verdict: Listed("looked up by what its class inherits from"),
    },
    Idiom {
        name: "delete what a string looks up",
        program: "\
--- main.py
class A:
    def go(self):
        return 1


print(getattr(A(), 'go')())
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "A/go"}"#,
        verdict: Refused("main.py:6"),
    },
    Idiom {
        name: "delete what a name is put together for",
        program: "\
--- main.py
class A:
    def on_x(self):
        return 1

    def go(self, kind):
        return getattr(self, f'on_{kind}')()


print(A().go('x'))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "A/on_x"}"#,
        verdict: Refused("main.py:6"),
    },
    Idiom {
        name: "delete what any name may look up",
        program: "\
--- main.py
class View:
    def get(self):
        return 1

    def post(self):
        return 2

    def go(self, method):
        return getattr(self, method.lower())()


print(View().go('POST'))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "View/get"}"#,
        verdict: Listed("by a name that no text spells"),
    },
    Idiom {
        name: "delete what its module is asked for",
        program: "\
--- main.py
def helper():
    return 1


print(globals()['helper']())
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "helper"}"#,
        verdict: Refused("main.py:5"),
    },
    Idiom {
        name: "delete what a package is entered by",
        program: "\
--- main.py
def main():
    return 1


print('on')
--- pyproject.toml
[project.scripts]
shop = \"main:main\"
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "main"}"#,
        verdict: Refused("pyproject.toml:2"),
    },
    Idiom {
        name: "delete a variable whose value calls something",
        program: "\
--- main.py
def go():
    print('gone')


x = go()
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "x"}"#,
        verdict: Listed("`go()` is no longer called"),
    },
    Idiom {
        name: "delete a variable behind calls of others",
        program: "\
--- main.py
print('first')
x = len('ab')
print('last')
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "x"}"#,
        verdict: Listed("`len('ab')` is no longer called"),
    },
    Idiom {
        name: "delete a fixture that a test asks for",
        program: "\
--- conftest.py
import pytest


@pytest.fixture
def shop():
    return 1
--- test_shop.py
def test_it(shop):
    assert shop
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "shop"}"#,
        verdict: Refused("test_shop.py:1"),
    },
    Idiom {
        name: "delete a fixture that nobody asks for",
        program: "\
--- conftest.py
import pytest


@pytest.fixture
def shop():
    return 1
--- test_shop.py
def test_it():
    assert 1
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "shop"}"#,
        verdict: Changed(&["-def shop"]),
    },
    Idiom {
        name: "delete a field",
        program: "\
--- main.py
from dataclasses import dataclass


@dataclass
class A:
    a: int
    b: int = 2
    c: int = 3


print(A(1, 2, 3))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "A/b"}"#,
        verdict: Refused("a field"),
    },
    Idiom {
        name: "delete a member of an enumeration",
        program: "\
--- main.py
import enum


class E(enum.Enum):
    A = enum.auto()
    B = enum.auto()
    C = enum.auto()


print(list(E))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "E/B"}"#,
        verdict: Refused("a member"),
    },
    Idiom {
        name: "delete an attribute of a plain class",
        program: "\
--- main.py
class Base:
    pass


class A(Base):
    a = 1
    b = 2


print(A.a)
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "A/b"}"#,
        verdict: Changed(&["-    b = 2"]),
    },
];

const NAMED: &[Idiom] = &[
    Idiom {
        name: "a value in the line of its function",
        program: "\
--- main.py
def f(x): return (x + 1) * 2


print(f(1))
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 1, "start_column": 19, "end_line": 1, "end_column": 24, "var_name": "part"}"#,
        verdict: Refused("behind the `:` of its line"),
    },
    Idiom {
        name: "a value in the line of its condition",
        program: "\
--- main.py
def f(x):
    if x: return x[0]
    return 0


print(f([]))
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 2, "start_column": 18, "end_line": 2, "end_column": 22, "var_name": "part"}"#,
        verdict: Refused("behind the `:` of its line"),
    },
    Idiom {
        name: "a value that the same `with` makes",
        program: "\
--- main.py
import io
with io.StringIO('a') as a, io.StringIO(a.read()) as b:
    print(b.read())
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 2, "start_column": 41, "end_line": 2, "end_column": 49, "var_name": "part"}"#,
        verdict: Refused("gives a value"),
    },
    Idiom {
        name: "a value of a member of an enumeration",
        program: "\
--- main.py
import enum


class E(enum.Enum):
    A = 1 + 1


print(list(E))
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 5, "start_column": 9, "end_line": 5, "end_column": 14, "var_name": "part"}"#,
        verdict: Refused("body of `E`"),
    },
    Idiom {
        name: "a value in the body of a class",
        program: "\
--- main.py
class A:
    x = 1
    y = x + 1


print(A.y)
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 3, "start_column": 9, "end_line": 3, "end_column": 14, "var_name": "part"}"#,
        verdict: Listed("an attribute of `A`"),
    },
    Idiom {
        name: "a guard of a case",
        program: "\
--- main.py
def f(v):
    match v:
        case [a] if a > 1:
            return 1
    return 0


print(f([2]))
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 3, "start_column": 21, "end_line": 3, "end_column": 26, "var_name": "part"}"#,
        verdict: Refused("which its statement gives a value"),
    },
    Idiom {
        name: "a guard of a case that knows nothing of its pattern",
        program: "\
--- main.py
def f(v, n):
    match v:
        case [a] if n > 1:
            return a
    return 0


print(f([2], 2))
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 3, "start_column": 21, "end_line": 3, "end_column": 26, "var_name": "part"}"#,
        verdict: Refused("before a `case`"),
    },
    Idiom {
        name: "a call behind another one in its statement",
        program: "\
--- main.py
def say(x):
    print(x)
    return x


def f():
    return say(1) + say(2)


f()
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 7, "start_column": 21, "end_line": 7, "end_column": 27, "var_name": "part"}"#,
        verdict: Listed("computed before what stands before it"),
    },
    Idiom {
        name: "a call in front of another one in its statement",
        program: "\
--- main.py
def say(x):
    print(x)
    return x


def f():
    return say(1) + say(2)


f()
",
        ask: ("extract_var", "main.py", ""),
        more: r#"{"start_line": 7, "start_column": 12, "end_line": 7, "end_column": 18, "var_name": "part"}"#,
        verdict: Changed(&["part = say(1)"]),
    },
];

const TAKEN: &[Idiom] = &[
    Idiom {
        name: "a generator that outlives the range",
        program: "\
--- main.py
def f(n):
    g = (i + n for i in range(2))
    k = n
    n = 100
    return list(g), k


print(f(1))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 2, "end_line": 3, "method_name": "taken"}"#,
        verdict: Refused("given other values later"),
    },
    Idiom {
        name: "a generator that is used up in the range",
        program: "\
--- main.py
def f(n):
    g = sum(i + n for i in range(2))
    k = n
    n = 100
    return g, k, n


print(f(1))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 2, "end_line": 3, "method_name": "taken"}"#,
        verdict: Changed(&["taken(n)"]),
    },
    Idiom {
        name: "a range that sees all names",
        program: "\
--- main.py
def f(k):
    z = 1
    d = sorted(locals())
    return d


print(f(3))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 2, "end_line": 3, "method_name": "taken"}"#,
        verdict: Refused("`locals`"),
    },
    Idiom {
        name: "a range that runs a text",
        program: "\
--- main.py
def f(k):
    z = eval('k + 1')
    return z


print(f(3))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 2, "end_line": 2, "method_name": "taken"}"#,
        verdict: Refused("`eval`"),
    },
    Idiom {
        name: "a range that runs a text with names of its own",
        program: "\
--- main.py
def f(k):
    z = eval('k + 1', {'k': k})
    return z


print(f(3))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 2, "end_line": 2, "method_name": "taken"}"#,
        verdict: Changed(&["taken("]),
    },
];

const MOVED: &[Idiom] = &[
    Idiom {
        name: "a module that imports itself",
        program: "\
--- main.py
import a
print(a.g())
--- a.py
def f():
    return 1


def g():
    from a import f as h
    return h()
",
        ask: ("move", "a.py", "def |f"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+from b import f"]),
    },
    Idiom {
        name: "a module that is asked for by way of itself",
        program: "\
--- main.py
import a
print(a.g())
--- a.py
def f():
    return 1


def g():
    import a
    return a.f()
",
        ask: ("move", "a.py", "def |f"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+from b import f"]),
    },
    Idiom {
        name: "a module that is imported by a string",
        program: "\
--- main.py
import importlib
import sys
m = importlib.import_module('a')
print(m.f(), sys.modules['a'].f())
--- a.py
def f():
    return 1
",
        ask: ("move", "a.py", "def |f"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Listed("looked up by its name here"),
    },
    Idiom {
        name: "a module that is imported by its name in its package",
        program: "\
--- main.py
import importlib
print(importlib.import_module('.a', 'pkg').f())
--- pkg/__init__.py
--- pkg/a.py
def f():
    return 1
",
        ask: ("move", "pkg/a.py", ""),
        more: r#"{"dest_file": "pkg/z.py"}"#,
        verdict: Listed("imported by its name here"),
    },
    Idiom {
        name: "annotations that become texts",
        program: "\
--- main.py
import a
print(a.f.__annotations__)
--- a.py
def f(x: int) -> int:
    return x
--- b.py
from __future__ import annotations
",
        ask: ("move", "a.py", "def |f"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Listed("keeps annotations as texts"),
    },
    Idiom {
        name: "a module that pytest looks for",
        program: "\
--- conftest.py
import pytest
",
        ask: ("move", "conftest.py", ""),
        more: r#"{"dest_file": "helpers.py"}"#,
        verdict: Refused("pytest looks for"),
    },
    Idiom {
        name: "a file of tests",
        program: "\
--- test_a.py
def test_a():
    assert 1
",
        ask: ("move", "test_a.py", ""),
        more: r#"{"dest_file": "checks.py"}"#,
        verdict: Listed("pytest finds tests"),
    },
    Idiom {
        name: "a test that is no longer one",
        program: "\
--- test_a.py
def test_a():
    assert 1
",
        ask: ("rename", "test_a.py", "def |test_a"),
        more: r#"{"new_name": "check_a"}"#,
        verdict: Listed("pytest looks for `test`"),
    },
];

#[test]
fn a_method_of_a_part_keeps_the_names_of_its_caller() {
    check(INLINED);
}

const INLINED: &[Idiom] = &[Idiom {
    name: "a method of what an attribute holds",
    program: "\
--- main.py
class A:
    v = 1

    def get(self):
        return self.v


class B:
    def __init__(self):
        self.a = A()

    def go(self):
        return self.a.get() + 1


print(B().go())
",
    ask: ("inline", "main.py", "def |get"),
    more: "",
    verdict: Changed(&["return self.a.v + 1"]),
}];
