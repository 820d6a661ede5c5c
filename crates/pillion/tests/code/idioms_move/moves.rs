//! What a definition takes along, who finds it afterwards, and what the files look like.

use super::{Changed, Idiom, Listed, Refused, check};

#[test]
fn definitions_arrive_whole() {
    check(TABLE);
}

const TABLE: &[Idiom] = &[
    Idiom {
        name: "comments directly above come along",
        program: "\
--- a.py
import os


# Says hello,
# loudly.
def hello():
    return 'HELLO'


# A section that stays.

def rest():
    return os.sep
--- main.py
import a
print(a.hello(), a.rest())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+# Says hello,\n+# loudly.\n+def hello"]),
    },
    Idiom {
        name: "a comment in the first line comes along",
        program: "\
--- a.py
# Says hello.
def hello():
    return 'HELLO'


def rest():
    return 1
--- main.py
import a
print(a.hello(), a.rest())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["-# Says hello.", "+# Says hello.\n+def hello"]),
    },
    Idiom {
        name: "a licence in the first line stays",
        program: "\
--- a.py
# Copyright: nobody.
def hello():
    return 'HELLO'


def rest():
    return 1
--- main.py
import a
print(a.hello(), a.rest())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&[" # Copyright: nobody.", "+def hello"]),
    },
    Idiom {
        name: "the end of a string is no comment",
        program: "\
--- a.py
TEXT = '''
# no comment'''
def hello():
    return 'HELLO'
--- main.py
import a
print(a.hello(), a.TEXT)
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&[" # no comment'''"]),
    },
    Idiom {
        name: "two blank lines stay where a definition was the first",
        program: "\
--- a.py
def hello():
    return 'HELLO'


def rest():
    return hello()
--- main.py
import a
print(a.hello(), a.rest())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+from b import hello\n \n \n def rest"]),
    },
    Idiom {
        name: "no blank lines stay where a definition was the last",
        program: "\
--- a.py
X = 1


def hello():
    return 'HELLO'
--- main.py
import a
print(a.hello(), a.X)
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&[" X = 1\n-\n-\n-def hello"]),
    },
    Idiom {
        name: "a name that is assigned from another module",
        program: "\
--- core.py
def shout(text):
    return text.upper()


def rest():
    return shout('r')
--- compat.py
import core
shout = core.shout
--- main.py
from compat import shout
import compat
print(shout('a'), compat.shout('b'))
",
        ask: ("move", "core.py", "def |shout"),
        more: r#"{"dest_file": "texts.py"}"#,
        verdict: Changed(&["+shout = texts.shout"]),
    },
    Idiom {
        name: "a module that is assigned to a name",
        program: "\
--- pkg/__init__.py
--- pkg/core.py
def shout(text):
    return text.upper()


def rest():
    return 1
--- main.py
import pkg.core
from pkg import core as c
tools = pkg.core
more = c


def late():
    mine = pkg.core
    return mine.shout('late'), mine.rest()


print(tools.shout('a'), more.shout('b'), late(), tools.rest())
",
        ask: ("move", "pkg/core.py", "def |shout"),
        more: r#"{"dest_file": "pkg/texts.py"}"#,
        verdict: Changed(&["texts"]),
    },
    Idiom {
        name: "a module's own __getattr__ that imports",
        program: "\
--- pkg/__init__.py
def __getattr__(name):
    if name == 'shout':
        from .core import shout
        return shout
    raise AttributeError(name)
--- pkg/core.py
def shout(text):
    return text.upper()
--- main.py
from pkg import shout
import pkg
print(shout('a'), pkg.shout('b'))
",
        ask: ("move", "pkg/core.py", "def |shout"),
        more: r#"{"dest_file": "pkg/texts.py"}"#,
        verdict: Changed(&["+        from .texts import shout"]),
    },
    Idiom {
        name: "a table of names for __getattr__",
        program: "\
--- pkg/__init__.py
import importlib
_LAZY = {'shout': '.core'}


def __getattr__(name):
    return getattr(importlib.import_module(_LAZY[name], __name__), name)
--- pkg/core.py
def shout(text):
    return text.upper()
--- main.py
import pkg
print(pkg.shout('b'))
",
        ask: ("move", "pkg/core.py", "def |shout"),
        more: r#"{"dest_file": "pkg/texts.py"}"#,
        verdict: Listed("a string with this name"),
    },
    Idiom {
        name: "__getattr__ itself",
        program: "\
--- a.py
def __getattr__(name):
    return name
--- main.py
import a
print(a.x)
",
        ask: ("move", "a.py", "def |__getattr__"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Refused("looks for `__getattr__`"),
    },
    Idiom {
        name: "getattr with the name as a string",
        program: "\
--- core.py
def shout(text):
    return text.upper()
--- main.py
import core
print(getattr(core, 'shout')('a'))
",
        ask: ("move", "core.py", "def |shout"),
        more: r#"{"dest_file": "texts.py"}"#,
        verdict: Listed("a string with this name"),
    },
    Idiom {
        name: "a function that is replaced by a test",
        program: "\
--- core.py
def shout(text):
    return text.upper()


def rest():
    return shout('r')
--- main.py
import core
core.shout = lambda text: 'fake'
print(core.rest())
",
        ask: ("move", "core.py", "def |shout"),
        more: r#"{"dest_file": "texts.py"}"#,
        verdict: Listed("gets another value here"),
    },
    Idiom {
        name: "imports are sorted as the project does",
        program: "\
--- pyproject.toml
[tool.ruff.lint]
select = [\"I\"]
--- a.py
import os
import zlib

from b import two


def hello():
    return os.sep, zlib.crc32(b''), two()


def rest():
    return 1
--- b.py
def two():
    return 2
--- c.py
import json
import sys


def three():
    return json.dumps(sys.byteorder)
--- main.py
import a
import c

print(a.hello(), a.rest(), c.three())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "c.py"}"#,
        verdict: Changed(&["+import os\n import sys\n+import zlib\n+\n+from b import two\n"]),
    },
    Idiom {
        name: "imports are sorted as isort does",
        program: "\
--- pyproject.toml
[tool.isort]
force_single_line = true
--- a.py
from os import getcwd
from os import sep


def hello():
    return len(getcwd()) > 0, sep


def rest():
    return 1
--- c.py
from json import dumps
from sys import byteorder


def three():
    return dumps(byteorder)
--- main.py
import a
import c

print(a.hello(), a.rest(), c.three())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "c.py"}"#,
        verdict: Changed(&["+from os import getcwd\n+from os import sep\n from sys"]),
    },
    Idiom {
        name: "a file that was not in order stays so",
        program: "\
--- a.py
def hello():
    return 'HELLO'


def rest():
    return 1
--- main.py
import sys, a
import os
print(a.hello(), a.rest(), os.sep, sys.byteorder)
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&[" import sys, a"]),
    },
    Idiom {
        name: "a stub beside moves along",
        program: "\
--- a.py
def hello(x):
    return x


def rest(x):
    return hello(x)
--- a.pyi
def hello(x: int) -> int: ...
def rest(x: int) -> int: ...
--- main.py
import a
print(a.hello(1), a.rest(2))
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+def hello(x: int) -> int: ..."]),
    },
    Idiom {
        name: "a stub that is asked for means its module",
        program: "\
--- a.py
def hello(x):
    return x


def rest(x):
    return hello(x)
--- a.pyi
def hello(x: int) -> int: ...
def rest(x: int) -> int: ...
--- b.py
Y = 1
--- b.pyi
Y: int
--- main.py
import a
print(a.hello(1), a.rest(2))
",
        ask: ("move", "a.pyi", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+def hello(x: int) -> int: ...", "+def hello(x):"]),
    },
    Idiom {
        name: "a stub with nowhere to go",
        program: "\
--- a.py
def hello(x):
    return x
--- a.pyi
def hello(x: int) -> int: ...
--- b.py
Y = 1
--- main.py
import a, b
print(a.hello(1), b.Y)
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Refused("has no stub"),
    },
    Idiom {
        name: "a stub of the other module",
        program: "\
--- a.py
def hello(x):
    return x
--- b.py
Y = 1
--- b.pyi
Y: int
--- main.py
import a, b
print(a.hello(1), b.Y)
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Listed("type checkers only see"),
    },
    Idiom {
        name: "a module and its stub",
        program: "\
--- pkg/__init__.py
--- pkg/a.py
from .b import f
def hello(x):
    return f(x)
--- pkg/a.pyi
from .b import f
def hello(x: int) -> int: ...
--- pkg/b.py
def f(x):
    return x
--- main.py
import pkg.a
print(pkg.a.hello(1))
",
        ask: ("move", "pkg/a.py", ""),
        more: r#"{"dest_file": "pkg/sub/a.py"}"#,
        verdict: Changed(&["rename to pkg/sub/a.pyi"]),
    },
    Idiom {
        name: "a decorated definition with its decorator",
        program: "\
--- a.py
import functools


# Kept in mind.
@functools.cache
def hello(x):
    return x
--- main.py
import a
print(a.hello(1))
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+# Kept in mind.\n+@functools.cache"]),
    },
    Idiom {
        name: "__name__ means another module",
        program: "\
--- a.py
def hello():
    return __name__


def rest():
    return 1
--- main.py
import a
print(a.rest())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Listed("means another module"),
    },
    Idiom {
        name: "it changes a variable of its module",
        program: "\
--- a.py
COUNT = 0


def hello():
    global COUNT
    COUNT += 1
    return COUNT
--- main.py
import a
print(a.hello(), a.COUNT)
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Refused("changes `COUNT`"),
    },
    Idiom {
        name: "pickles and other strings with the whole name",
        program: "\
--- pkg/__init__.py
--- pkg/a.py
def hello():
    return 1
--- main.py
import importlib
module, name = 'pkg.a.hello'.rsplit('.', 1)
print(getattr(importlib.import_module(module), name)())
",
        ask: ("move", "pkg/a.py", "def |hello"),
        more: r#"{"dest_file": "pkg/b.py"}"#,
        verdict: Listed("in a string"),
    },
    Idiom {
        name: "another module has the same alias",
        program: "\
--- a.py
import json as j
def hello():
    return j.dumps(1)
--- b.py
import os as j
def g():
    return j.sep
--- main.py
import a, b
print(a.hello(), b.g())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Refused("means something else in the other module"),
    },
    Idiom {
        name: "who uses it has another thing of the new module's name",
        program: "\
--- a.py
def hello():
    return 1


def rest():
    return 2
--- main.py
import a
def g():
    b = 3
    return a.hello() + b + a.rest()
print(g())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Refused("means something else where the module is used"),
    },
    Idiom {
        name: "modules that import each other already, as modules",
        program: "\
--- a.py
import b


def hello():
    return rest()


def rest():
    return 1


def g():
    return hello() + b.k()
--- b.py
import a


def k():
    return a.rest()
--- main.py
import a
print(a.g())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Refused("import each other"),
    },
    Idiom {
        name: "a definition that a decorator enters somewhere",
        program: "\
--- app.py
class App:
    def __init__(self):
        self.routes = {}

    def route(self, path):
        def enter(function):
            self.routes[path] = function
            return function
        return enter


app = App()


@app.route('/')
def index():
    return 1


def rest():
    return 2
--- main.py
import app
print(app.rest())
",
        ask: ("move", "app.py", "def |index"),
        more: r#"{"dest_file": "views.py"}"#,
        verdict: Listed("when the new module is imported"),
    },
    Idiom {
        name: "a definition that a function enters somewhere",
        program: "\
--- a.py
import registry


@registry.enter
def hello():
    return 1


def rest():
    return 2
--- registry.py
ALL = {}


def enter(function):
    ALL[function.__name__] = function
    return function
--- main.py
import a
print(a.rest())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Listed("when the new module is imported"),
    },
    Idiom {
        name: "a class that its base knows of",
        program: "\
--- a.py
class Base:
    all = []

    def __init_subclass__(cls):
        Base.all.append(cls.__name__)


class Hello(Base):
    pass


def rest():
    return 2
--- main.py
import a
print(a.rest())
",
        ask: ("move", "a.py", "class |Hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Listed("when the new module is imported"),
    },
    Idiom {
        name: "a decorator that only wraps, of another module",
        program: "\
--- a.py
from tools import loud


@loud
def hello():
    return 1


def rest():
    return 2
--- tools.py
import functools


def loud(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner
--- main.py
from a import hello, rest
print(hello(), rest())
",
        ask: ("move", "a.py", "def |hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Changed(&["+@loud"]),
    },
    Idiom {
        name: "an annotation of what stays, as text",
        program: "\
--- a.py
class Hello:
    other: 'Other | None' = None


class Other:
    hello: Hello | None = None
--- main.py
import a
print(a.Hello().other)
",
        ask: ("move", "a.py", "class |Hello"),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Listed("for type checkers alone"),
    },
    Idiom {
        name: "a fixture that pytest finds where it is",
        program: "\
--- conftest.py
import pytest


@pytest.fixture
def shop():
    return 3
--- test_shop.py
def test_shop(shop):
    assert shop == 3
--- main.py
print(1)
",
        ask: ("move", "conftest.py", "def |shop"),
        more: r#"{"dest_file": "helpers.py"}"#,
        verdict: Listed("when the new module is imported"),
    },
    Idiom {
        name: "a class whose metaclass makes no more classes after it",
        program: "\
--- nodes.py
class NodeType(type):
    def __new__(cls, name, bases, namespace):
        return type.__new__(cls, name, bases, namespace)


class Node(metaclass=NodeType):
    pass


class Leaf(Node):
    pass


def failing(*args):
    raise TypeError('no custom nodes')


NodeType.__new__ = staticmethod(failing)
--- main.py
import nodes
print(nodes.Leaf.__name__)
",
        ask: ("move", "nodes.py", "class |Leaf"),
        more: r#"{"dest_file": "leaves.py"}"#,
        verdict: Listed("the class is made after this then"),
    },
    Idiom {
        name: "the same, where the old module comes to import the new one",
        program: "\
--- nodes.py
class NodeType(type):
    def __new__(cls, name, bases, namespace):
        return type.__new__(cls, name, bases, namespace)


class Node(metaclass=NodeType):
    def shown(self):
        import shower
        return shower.show(self)


class Leaf(Node):
    pass


def failing(*args):
    raise TypeError('no custom nodes')


NodeType.__new__ = staticmethod(failing)
--- shower.py
import nodes


def show(node: nodes.Leaf):
    return isinstance(node, nodes.Leaf)
--- main.py
import nodes
print(nodes.Leaf().shown())
",
        ask: ("move", "nodes.py", "class |Leaf"),
        more: r#"{"dest_file": "leaves.py"}"#,
        verdict: Listed("the class is made after this then"),
    },
    Idiom {
        name: "a class above which an ordinary attribute is set later",
        program: "\
--- nodes.py
class Node:
    pass


class Leaf(Node):
    pass


Node.default = Node()
--- main.py
import nodes
print(nodes.Leaf.default is nodes.Node.default)
",
        ask: ("move", "nodes.py", "class |Leaf"),
        more: r#"{"dest_file": "leaves.py"}"#,
        verdict: Changed(&["+import leaves"]),
    },
];
