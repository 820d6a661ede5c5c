//! Edits of definitions by their name paths: what is written defines what it should.

use super::{Changed, Idiom, Refused, check};

#[test]
fn definitions_stay_defined() {
    check(TABLE);
}

const TABLE: &[Idiom] = &[
    Idiom {
        name: "a body alone",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "A/limit", "source": "return x"}"#,
        verdict: Changed(&[]),
    },
    Idiom {
        name: "a body with a comment of the head",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "A/limit", "source": "y = x\nreturn y"}"#,
        verdict: Changed(&[" = 1) -> int:  # why", "+        y = x\n+        return y"]),
    },
    Idiom {
        name: "an indented body",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "A/limit", "source": "        y = x\n        return y\n"}"#,
        verdict: Changed(&["+        y = x\n+        return y"]),
    },
    Idiom {
        name: "a body of a function in one line",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "helper", "source": "b = a\nreturn b"}"#,
        verdict: Changed(&["+def helper(a):\n+    b = a\n+    return b"]),
    },
    Idiom {
        name: "a body with a text of several lines",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "last", "source": "'''New doc.'''\ntext = '''a\nb'''\nreturn helper(len(text))"}"#,
        verdict: Changed(&["+    text = '''a\n+b'''"]),
    },
    Idiom {
        name: "a whole definition",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "helper", "source": "def helper(a):\n    return a"}"#,
        verdict: Changed(&["+def helper(a):\n+    return a"]),
    },
    Idiom {
        name: "a definition with its own helper",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "helper", "source": "def _inner(a):\n    return a\n\n\ndef helper(a):\n    return _inner(a)"}"#,
        verdict: Changed(&["+def _inner(a):"]),
    },
    Idiom {
        name: "a definition of another name",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "helper", "source": "def helped(a):\n    return a"}"#,
        verdict: Refused("defines `helped`, not `helper`"),
    },
    Idiom {
        name: "what does not parse",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "helper", "source": "def helper(a:\n    return a"}"#,
        verdict: Refused("cannot be parsed"),
    },
    Idiom {
        name: "a body that does not parse",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "helper", "source": "return (a"}"#,
        verdict: Refused("cannot be parsed"),
    },
    Idiom {
        name: "a body with an open string",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "helper", "source": "return '''a"}"#,
        verdict: Refused("cannot be parsed"),
    },
    Idiom {
        name: "a constant",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "X", "source": "X = 2 + 3"}"#,
        verdict: Changed(&["+X = 2 + 3"]),
    },
    Idiom {
        name: "a constant that is no longer one",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "X", "source": "Y = 5"}"#,
        verdict: Refused("does not define `X`"),
    },
    Idiom {
        name: "a value alone",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "X", "source": "5"}"#,
        verdict: Refused("does not define `X`"),
    },
    Idiom {
        name: "a class by its body",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "Only", "source": "def lonely(self):\n    return 2"}"#,
        verdict: Changed(&["+        return 2"]),
    },
    Idiom {
        name: "a class that loses nothing else",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "Only", "source": "class Only:\n    pass"}"#,
        verdict: Changed(&["+    pass"]),
    },
    Idiom {
        name: "insert above the comments",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("insert_before", "", ""),
        more: r#"{"name_path": "helper", "source": "def new():\n    return 2"}"#,
        verdict: Changed(&["+def new():\n+    return 2\n+\n+\n # Helps."]),
    },
    Idiom {
        name: "insert what does not parse",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("insert_before", "", ""),
        more: r#"{"name_path": "helper", "source": "def new(:"}"#,
        verdict: Refused("parsed"),
    },
    Idiom {
        name: "insert an indented method",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("insert_after", "", ""),
        more: r#"{"name_path": "A/limit", "source": "    def more(self):\n        return 3"}"#,
        verdict: Changed(&["+    def more(self):\n+        return 3"]),
    },
    Idiom {
        name: "insert a text of several lines",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("insert_after", "", ""),
        more: r#"{"name_path": "A/limit", "source": "TEXT = '''a\nb'''"}"#,
        verdict: Changed(&["+    TEXT = '''a\n+b'''"]),
    },
    Idiom {
        name: "insert nothing",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("insert_after", "", ""),
        more: r#"{"name_path": "A/limit", "source": "  \n"}"#,
        verdict: Refused("empty"),
    },
    Idiom {
        name: "insert what would take the rest with it",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("insert_before", "", ""),
        more: r#"{"name_path": "A/other", "source": "def new(self):\n    return '''"}"#,
        verdict: Refused("parsed"),
    },
    Idiom {
        name: "delete what nobody uses",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "unused"}"#,
        verdict: Changed(&["-def unused():"]),
    },
    Idiom {
        name: "delete the only one of a class",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "Only/lonely"}"#,
        verdict: Changed(&["+    pass"]),
    },
    Idiom {
        name: "delete what is used",
        program: "\
--- main.py
class A:
    # The limit.
    def limit(self, x: int = 1) -> int:  # why
        # first
        return x

    def other(self):
        return self.limit(2)


# Helps.
def helper(a): return a


def last():
    '''Doc.'''
    return helper(3)


def unused():
    return 1


class Only:
    def lonely(self):
        return 1


X = 5
print(A().other(), last(), X)
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "helper"}"#,
        verdict: Refused("is used"),
    },
    Idiom {
        name: "delete an override of a library",
        program: "\
--- main.py
import json


class E(json.JSONEncoder):
    def default(self, o):
        return str(o)


print(json.dumps({1: object}, cls=E))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "E/default"}"#,
        verdict: Refused("belongs together with"),
    },
    Idiom {
        name: "delete an override",
        program: "\
--- main.py
class A:
    def f(self):
        return 1


class B(A):
    def f(self):
        return 2


def call(a: A):
    return a.f()


print(call(B()))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "B/f"}"#,
        verdict: Refused("belongs together with"),
    },
    Idiom {
        name: "delete a special method",
        program: "\
--- main.py
class A:
    def __len__(self):
        return 1


print(len(A()))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "A/__len__"}"#,
        verdict: Refused("asks for"),
    },
    Idiom {
        name: "delete what is offered",
        program: "\
--- main.py
__all__ = ['f']


def f():
    return 1
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "f"}"#,
        verdict: Refused(""),
    },
    Idiom {
        name: "delete with its comment",
        program: "\
--- main.py
# About f.
def f():
    return 1


print(1)
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "f"}"#,
        verdict: Changed(&["-# About f."]),
    },
    Idiom {
        name: "a body that returns out of a class",
        program: "\
--- main.py
import functools
HANDLERS = {}
def handler(function):
    HANDLERS[function.__name__] = function
    return function
@handler
def on_start():
    return 1
@functools.cache
def unused():
    return 2
class A:
    def m(self):
        return 1
def gen(a):
    yield a
print(HANDLERS['on_start'](), A().m(), list(gen(1)))
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "A", "source": "return 1"}"#,
        verdict: Refused("Python would refuse"),
    },
    Idiom {
        name: "a body that awaits in a plain function",
        program: "\
--- main.py
import functools
HANDLERS = {}
def handler(function):
    HANDLERS[function.__name__] = function
    return function
@handler
def on_start():
    return 1
@functools.cache
def unused():
    return 2
class A:
    def m(self):
        return 1
def gen(a):
    yield a
print(HANDLERS['on_start'](), A().m(), list(gen(1)))
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "A/m", "source": "await x()\nreturn 1"}"#,
        verdict: Refused("Python would refuse"),
    },
    Idiom {
        name: "a definition and statements of its body",
        program: "\
--- main.py
import functools
HANDLERS = {}
def handler(function):
    HANDLERS[function.__name__] = function
    return function
@handler
def on_start():
    return 1
@functools.cache
def unused():
    return 2
class A:
    def m(self):
        return 1
def gen(a):
    yield a
print(HANDLERS['on_start'](), A().m(), list(gen(1)))
",
        ask: ("replace_body", "", ""),
        more: r#"{"name_path": "gen", "source": "def gen(a):\n    yield a\nreturn gen(a)"}"#,
        verdict: Refused("Python would refuse"),
    },
    Idiom {
        name: "insert an import of the future",
        program: "\
--- main.py
import functools
HANDLERS = {}
def handler(function):
    HANDLERS[function.__name__] = function
    return function
@handler
def on_start():
    return 1
@functools.cache
def unused():
    return 2
class A:
    def m(self):
        return 1
def gen(a):
    yield a
print(HANDLERS['on_start'](), A().m(), list(gen(1)))
",
        ask: ("insert_after", "", ""),
        more: r#"{"name_path": "A", "source": "from __future__ import annotations"}"#,
        verdict: Refused("Python would refuse"),
    },
    Idiom {
        name: "delete what a decorator entered somewhere",
        program: "\
--- main.py
import functools
HANDLERS = {}
def handler(function):
    HANDLERS[function.__name__] = function
    return function
@handler
def on_start():
    return 1
@functools.cache
def unused():
    return 2
class A:
    def m(self):
        return 1
def gen(a):
    yield a
print(HANDLERS['on_start'](), A().m(), list(gen(1)))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "on_start"}"#,
        verdict: Refused("may be entered somewhere"),
    },
    Idiom {
        name: "delete what a decorator only wraps",
        program: "\
--- main.py
import functools
HANDLERS = {}
def handler(function):
    HANDLERS[function.__name__] = function
    return function
@handler
def on_start():
    return 1
@functools.cache
def unused():
    return 2
class A:
    def m(self):
        return 1
def gen(a):
    yield a
print(HANDLERS['on_start'](), A().m(), list(gen(1)))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "unused"}"#,
        verdict: Changed(&["-def unused():"]),
    },
];
