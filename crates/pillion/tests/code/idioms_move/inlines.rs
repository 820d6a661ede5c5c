//! Inlining: what is not computed as before is refused with the reason.

use super::{Changed, Idiom, Listed, Refused, check};

#[test]
fn what_is_inlined_is_computed_as_before() {
    check(TABLE);
}

const TABLE: &[Idiom] = &[
    Idiom {
        name: "a function with a keyword-only parameter",
        program: "\
--- main.py
def f(a, *, b=1):
    return a + b


print(f(1, b=2))
",
        ask: ("inline", "main.py", "def |f("),
        more: "",
        verdict: Refused("keyword-only parameters"),
    },
    Idiom {
        name: "a read that nothing comes between",
        program: "\
--- main.py
def f(s):
    x = s.a
    y = 2
    return x + y


class S:
    a = 1


print(f(S()))
",
        ask: ("inline", "main.py", "    |x = s.a"),
        more: "",
        verdict: Changed(&["+    return s.a + y"]),
    },
    Idiom {
        name: "a read past a yield",
        program: "\
--- main.py
def f(s):
    x = s[0]
    yield 1
    yield x


data = [1]
g = f(data)
next(g)
data[0] = 5
print(next(g))
",
        ask: ("inline", "main.py", "    |x = s"),
        more: "",
        verdict: Refused("past a `yield`"),
    },
    Idiom {
        name: "a read past an await",
        program: "\
--- main.py
import asyncio


class S:
    n = 0


async def bump(s):
    x = s.n
    await asyncio.sleep(0)
    s.n = x + 1


async def main():
    s = S()
    await asyncio.gather(bump(s), bump(s))
    return s.n


print(asyncio.run(main()))
",
        ask: ("inline", "main.py", "    |x = s.n"),
        more: "",
        verdict: Refused("past an `await`"),
    },
    Idiom {
        name: "a read past a mutation",
        program: "\
--- main.py
def f(items):
    x = len(items)
    items.append(1)
    return x


print(f([1]))
",
        ask: ("inline", "main.py", "    |x = len"),
        more: "",
        verdict: Refused("past code that may change it"),
    },
    Idiom {
        name: "a sum past a mutation of a part",
        program: "\
--- main.py
def f(a, b):
    x = a + b
    a.append(1)
    return x


print(f([1], [2]))
",
        ask: ("inline", "main.py", "    |x = a + b"),
        more: "",
        verdict: Refused("past code that may change it"),
    },
    Idiom {
        name: "a read past a deletion",
        program: "\
--- main.py
def f(items):
    x = items[0]
    del items[0]
    return x


print(f([1, 2]))
",
        ask: ("inline", "main.py", "    |x = items"),
        more: "",
        verdict: Refused("past a change"),
    },
    Idiom {
        name: "a read past an augmented assignment",
        program: "\
--- main.py
class S:
    n = 1


def f(s):
    x = s.n
    s.n += 1
    return x


print(f(S()))
",
        ask: ("inline", "main.py", "    |x = s.n"),
        more: "",
        verdict: Refused("past a change"),
    },
    Idiom {
        name: "a call into a branch",
        program: "\
--- main.py
def g():
    print('g')
    return 1


def f(a):
    x = g()
    if a:
        return x


print(f(0), f(1))
",
        ask: ("inline", "main.py", "    |x = g"),
        more: "",
        verdict: Refused("exactly once"),
    },
    Idiom {
        name: "a call behind another one in the same line",
        program: "\
--- main.py
log = []


def g(n):
    log.append(n)
    return n


def f():
    x = g(1)
    return g(2) + x


print(f(), log)
",
        ask: ("inline", "main.py", "    |x = g"),
        more: "",
        verdict: Refused("past code that may change it"),
    },
    Idiom {
        name: "a read into a try",
        program: "\
--- main.py
def f(d):
    x = d['k']
    try:
        return x
    except KeyError:
        return 'none'


try:
    print(f({}))
except KeyError:
    print('raised')
",
        ask: ("inline", "main.py", "    |x = d"),
        more: "",
        verdict: Refused("into a `try`"),
    },
    Idiom {
        name: "a read into a function",
        program: "\
--- main.py
def f(d):
    x = d['k']

    def later():
        return x
    d['k'] = 2
    return later()


print(f({'k': 1}))
",
        ask: ("inline", "main.py", "    |x = d"),
        more: "",
        verdict: Refused("the value of `x`"),
    },
    Idiom {
        name: "a read into a loop that changes it",
        program: "\
--- main.py
def f(s):
    x = s[0]
    out = []
    for i in range(3):
        out += [x]
        s[0] = i
    return out


print(f([7]))
",
        ask: ("inline", "main.py", "    |x = s"),
        more: "",
        verdict: Refused("past"),
    },
    Idiom {
        name: "a variable that nothing uses",
        program: "\
--- main.py
def g():
    print('g')


def f():
    x = g()
    return 1


print(f())
",
        ask: ("inline", "main.py", "    |x = g"),
        more: "",
        verdict: Refused("nothing uses `x`"),
    },
    Idiom {
        name: "a method that is overridden",
        program: "\
--- main.py
class Base:
    def name(self):
        return 'base'

    def hello(self):
        return self.name()


class Other(Base):
    def name(self):
        return 'other'


print(Base().hello(), Other().hello())
",
        ask: (
            "inline",
            "main.py",
            "class Base:
    def |name",
        ),
        more: "",
        verdict: Refused("belongs together with"),
    },
    Idiom {
        name: "a method that overrides",
        program: "\
--- main.py
class Base:
    def name(self):
        return 'base'

    def hello(self):
        return self.name()


class Other(Base):
    def name(self):
        return 'other'


print(Base().hello(), Other().hello(), Other().name())
",
        ask: (
            "inline",
            "main.py",
            "class Other(Base):
    def |name",
        ),
        more: "",
        verdict: Refused("belongs together with"),
    },
    Idiom {
        name: "a method that overrides one of a library",
        program: "\
--- main.py
import json


class Encoder(json.JSONEncoder):
    def default(self, o):
        return str(o)


print(Encoder().encode({1: object}), Encoder().default(1))
",
        ask: ("inline", "main.py", "def |default"),
        more: "",
        verdict: Refused("belongs together with"),
    },
    Idiom {
        name: "a method that may be called on anything",
        program: "\
--- main.py
class A:
    def go(self):
        return 1

    def twice(self):
        return self.go() * 2


def each(things):
    return [thing.go() for thing in things]


print(A().twice(), each([A()]))
",
        ask: ("inline", "main.py", "def |go"),
        more: "",
        verdict: Refused("may be used at 1 more"),
    },
    Idiom {
        name: "a special method",
        program: "\
--- main.py
class A:
    def __len__(self):
        return 3

    def twice(self):
        return self.__len__() * 2


print(len(A()), A().twice())
",
        ask: ("inline", "main.py", "def |__len__"),
        more: "",
        verdict: Refused("__len__`"),
    },
    Idiom {
        name: "an attribute of a class",
        program: "\
--- main.py
class A:
    limit = 3

    def f(self):
        return self.limit


class B(A):
    limit = 4


print(A().f(), B().f())
",
        ask: (
            "inline",
            "main.py",
            "class A:
    |limit",
        ),
        more: "",
        verdict: Refused(""),
    },
    Idiom {
        name: "a function that nobody calls",
        program: "\
--- main.py
def test_it():
    return 1


print([name for name in dir() if name.startswith('test')])
",
        ask: ("inline", "main.py", "def |test_it"),
        more: "",
        verdict: Refused("nothing uses"),
    },
    Idiom {
        name: "arguments in another order",
        program: "\
--- main.py
log = []


def g(n):
    log.append(n)
    return n


def minus(a, b):
    return b - a


print(minus(g(1), g(2)), log)
",
        ask: ("inline", "main.py", "def |minus"),
        more: "",
        verdict: Refused("in another order"),
    },
    Idiom {
        name: "an argument that is read behind a change",
        program: "\
--- main.py
class S:
    n = 1


def change(s, value):
    s.n = 5
    return value


s = S()
x = change(s, s.n)
print(x)
",
        ask: ("inline", "main.py", "def |change"),
        more: "",
        verdict: Refused("behind a change"),
    },
    Idiom {
        name: "a default that was computed once",
        program: "\
--- main.py
def add(x, items=[]):
    items.append(x)
    return items


y = add(1)
z = add(2)
print(y, z)
",
        ask: ("inline", "main.py", "def |add"),
        more: "",
        verdict: Refused("its default"),
    },
    Idiom {
        name: "a private name outside of its class",
        program: "\
--- main.py
class A:
    def __init__(self):
        self.__x = 1

    def x(self):
        return self.__x


print(A().x())
",
        ask: ("inline", "main.py", "def |x"),
        more: "",
        verdict: Refused("only its class can name"),
    },
    Idiom {
        name: "a class method of a subclass",
        program: "\
--- main.py
class A:
    @classmethod
    def make(cls):
        return cls.__name__


class B(A):
    pass


print(B.make())
",
        ask: ("inline", "main.py", "def |make"),
        more: "",
        verdict: Refused("another class"),
    },
    Idiom {
        name: "a name with another meaning at the call",
        program: "\
--- main.py
limit = 3


def over(x):
    return x > limit


def f(limit):
    return over(limit)


print(f(2), f(4))
",
        ask: ("inline", "main.py", "def |over"),
        more: "",
        verdict: Refused("means something else"),
    },
    Idiom {
        name: "a body that would run before what is computed first",
        program: "\
--- main.py
class S:
    n = 1


def bump(s):
    s.n = 10
    return 1


def f(s):
    s.n += bump(s)
    return s.n


print(f(S()))
",
        ask: ("inline", "main.py", "def |bump"),
        more: "",
        verdict: Refused("computed before it"),
    },
    Idiom {
        name: "a name that is offered",
        program: "\
--- main.py
__all__ = ['f', 'g']


def f():
    return 1


def g():
    return f()


print(g())
",
        ask: ("inline", "main.py", "def |f"),
        more: "",
        verdict: Refused("__all__"),
    },
    Idiom {
        name: "a function that is looked up by a string",
        program: "\
--- main.py
import sys


def f():
    return 1


print(f())
print(hasattr(sys.modules[__name__], 'other') or 'f')
",
        ask: ("inline", "main.py", "def |f"),
        more: "",
        verdict: Listed("a string with this name"),
    },
    Idiom {
        name: "a function of another file, whose imports stay",
        program: "\
--- main.py
import os, json
from typing import (
    Any,  # stays
    List,
)
from m import LIMIT, f
import m


def g(x: Any) -> List[Any]:
    first = f(x)
    second = m.f(x)
    return [first, second, LIMIT, os.sep, json.dumps(x)]


print(g('a'))
--- m.py
LIMIT = 3


def f(a):
    return a * LIMIT
",
        ask: ("inline", "m.py", "def |f"),
        more: "",
        verdict: Changed(&["-from m import LIMIT, f", "+from m import LIMIT"]),
    },
    Idiom {
        name: "an object that is shared",
        program: "\
--- main.py
from m import ITEMS
import m
ITEMS.append(1)
print(m.show(), ITEMS)
--- m.py
ITEMS = []


def show():
    return ITEMS
",
        ask: ("inline", "m.py", "|ITEMS = []"),
        more: "",
        verdict: Refused("made anew"),
    },
    Idiom {
        name: "a read of a name of the module that what is called binds anew",
        program: "\
--- main.py
N = 1
def more():
    global N
    N += 1
def f():
    x = N
    more()
    return x
print(f())
",
        ask: ("inline", "main.py", "|x = N"),
        more: "",
        verdict: Refused("past code that may change it"),
    },
    Idiom {
        name: "a read of a name of the function around that what is called binds anew",
        program: "\
--- main.py
def f():
    n = 1
    def more():
        nonlocal n
        n += 1
    x = n
    more()
    return x
print(f())
",
        ask: ("inline", "main.py", "|x = n"),
        more: "",
        verdict: Refused("past code that may change it"),
    },
    Idiom {
        name: "a read of a name that is bound anew, into a function",
        program: "\
--- main.py
N = 1
def f():
    x = N
    return lambda: x
g = f()
N = 2
print(g())
",
        ask: ("inline", "main.py", "|x = N"),
        more: "",
        verdict: Refused("into a function"),
    },
    Idiom {
        name: "a variable in the line of its function",
        program: "\
--- main.py
def f(): x = 1; return x
print(f())
",
        ask: ("inline", "main.py", "|x = 1"),
        more: "",
        verdict: Refused("a line that has other statements"),
    },
    Idiom {
        name: "a variable in a line with others",
        program: "\
--- main.py
def f():
    y = 2; x = 1  # both
    return x + y
print(f())
",
        ask: ("inline", "main.py", "|x = 1"),
        more: "",
        verdict: Refused("a line that has other statements"),
    },
    Idiom {
        name: "a variable with a comment behind it",
        program: "\
--- main.py
def f():
    x = 1  # one
    return x
print(f())
",
        ask: ("inline", "main.py", "|x = 1"),
        more: "",
        verdict: Changed(&["+    return 1"]),
    },
    Idiom {
        name: "a call in a line behind another statement",
        program: "\
--- main.py
def f(x):
    print('in f')
    return x
print('first'); y = f(2)
",
        ask: ("inline", "main.py", "def |f"),
        more: "",
        verdict: Refused("a line that has other statements"),
    },
    Idiom {
        name: "a call in the line of its condition",
        program: "\
--- main.py
def f(x):
    print('in f')
    return x
def g(c):
    if c: return f(1)
    return 0
print(g(0), g(1))
",
        ask: ("inline", "main.py", "def |f"),
        more: "",
        verdict: Refused("a line that has other statements"),
    },
    Idiom {
        name: "a function of a package, with what it needs, into a package inside of it",
        program: "\
--- pkg/__init__.py
from .engine.stack import run
--- pkg/lexer.py
class Lexer:
    def read(self, text):
        return text.split()


def tokenize(text):
    return Lexer().read(text)
--- pkg/engine/__init__.py
--- pkg/engine/stack.py
from pkg import lexer


def run(text):
    found = lexer.tokenize(text)
    return found
--- main.py
import pkg
print(pkg.run('a b'))
",
        ask: ("inline", "pkg/lexer.py", "def |tokenize"),
        more: "",
        verdict: Changed(&["+from pkg.lexer import Lexer"]),
    },
];
