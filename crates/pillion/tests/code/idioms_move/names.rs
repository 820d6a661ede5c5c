//! What a module is called: packages, folders without `__init__.py`, several roots.

use super::{Changed, Idiom, Listed, Refused, check};

#[test]
fn modules_keep_the_names_they_are_imported_by() {
    check(TABLE);
}

const TABLE: &[Idiom] = &[
    Idiom {
        name: "a folder without init inside of a package, to another module of it",
        program: "\
--- flask/__init__.py
from .app import Flask
--- flask/app.py
from .sansio.app import App


class Flask(App):
    pass
--- flask/sansio/app.py
from .scaffold import setup


def helper():
    return 'helper'


class App:
    def run(self):
        return helper() + setup()
--- flask/sansio/scaffold.py
def setup():
    return 'setup'
--- main.py
import flask
from flask.sansio.app import helper
from flask.sansio import scaffold
print(flask.Flask().run(), helper(), scaffold.setup())
",
        ask: ("move", "flask/sansio/app.py", "def |helper"),
        more: r#"{"dest_file": "flask/sansio/tools.py"}"#,
        verdict: Changed(&[
            "+from flask.sansio.tools import helper",
            "+from .tools import helper",
        ]),
    },
    Idiom {
        name: "a folder without init inside of a package, from the package above",
        program: "\
--- pkg/__init__.py
--- pkg/ctx.py
LIMIT = 3


def limit():
    return LIMIT
--- pkg/inner/part.py
from pkg.ctx import limit


def part():
    return limit()
--- main.py
from pkg.inner.part import part
from pkg import ctx
print(part(), ctx.limit())
",
        ask: ("move", "pkg/ctx.py", "def |limit"),
        more: r#"{"dest_file": "pkg/inner/limits.py"}"#,
        verdict: Changed(&[
            "+from pkg.inner.limits import limit",
            "+from pkg.inner import limits",
        ]),
    },
    Idiom {
        name: "a folder without init inside of a package, to a module that is there",
        program: "\
--- pkg/__init__.py
--- pkg/inner/one.py
def f():
    return 1
--- pkg/inner/two.py
def g():
    from pkg.inner.one import f
    return f()
--- main.py
from pkg.inner import one, two
print(one.f(), two.g())
",
        ask: ("move", "pkg/inner/one.py", "def |f"),
        more: r#"{"dest_file": "pkg/inner/two.py"}"#,
        verdict: Changed(&["+print(two.f(), two.g())"]),
    },
    Idiom {
        name: "a module inside of a folder without init is renamed",
        program: "\
--- pkg/__init__.py
--- pkg/inner/one.py
def f():
    return 1
--- pkg/inner/two.py
from .one import f
from pkg.inner.one import f as same
--- main.py
import pkg.inner.one
from pkg.inner import one as o, two
from pkg.inner.one import f
print(pkg.inner.one.f(), o.f(), two.f(), f())
",
        ask: ("move", "pkg/inner/one.py", ""),
        more: r#"{"dest_file": "pkg/inner/uno.py"}"#,
        verdict: Changed(&["+import pkg.inner.uno", "+from .uno import f"]),
    },
    Idiom {
        name: "a module leaves a folder without init",
        program: "\
--- pkg/__init__.py
--- pkg/inner/one.py
from .two import g


def f():
    return g()
--- pkg/inner/two.py
def g():
    return 1
--- main.py
from pkg.inner.one import f
print(f())
",
        ask: ("move", "pkg/inner/one.py", ""),
        more: r#"{"dest_file": "pkg/one.py"}"#,
        verdict: Changed(&["+from pkg.one import f", "+from .inner.two import g"]),
    },
    Idiom {
        name: "a namespace package at the root, known by its imports",
        program: "\
--- app/util.py
def shout(text):
    return text.upper()


def both(text):
    return shout(text) * 2
--- main.py
from app.util import both, shout
print(both('a'), shout('b'))
",
        ask: ("move", "app/util.py", "def |shout"),
        more: r#"{"dest_file": "app/text.py"}"#,
        verdict: Changed(&["+from app.text import shout"]),
    },
    Idiom {
        name: "a namespace package at the root, known by a relative import",
        program: "\
--- app/util.py
from .other import g


def f():
    return g()
--- app/other.py
def g():
    return 1
--- main.py
import app.util as u
print(u.f())
",
        ask: ("move", "app/util.py", "def |f"),
        more: r#"{"dest_file": "app/sub/new.py"}"#,
        verdict: Changed(&["+from ..other import g"]),
    },
    Idiom {
        name: "a namespace package below src",
        program: "\
--- src/space/part/__init__.py
--- src/space/part/one.py
def f():
    return 1
--- src/space/lone.py
def g():
    return 2


def h():
    return g()
--- main.py
from space.part.one import f
from space.lone import g, h
print(f(), g(), h())
",
        ask: ("move", "src/space/lone.py", "def |g"),
        more: r#"{"dest_file": "src/space/part/two.py"}"#,
        verdict: Changed(&["+from space.part.two import g"]),
    },
    Idiom {
        name: "a namespace package below src gets a new module",
        program: "\
--- src/space/one.py
def f():
    return 1


def g():
    return f()
--- main.py
from space import one
print(one.f(), one.g())
",
        ask: ("move", "src/space/one.py", "def |f"),
        more: r#"{"dest_file": "src/space/deep/two.py"}"#,
        verdict: Changed(&["space.deep"]),
    },
    Idiom {
        name: "tests without init that import each other by bare names",
        program: "\
--- tests/conftest.py
--- tests/helper.py
def make():
    return 1


def other():
    return make()
--- tests/test_a.py
from helper import make, other


def test_make():
    assert make() == other()
    return 'ok'
--- main.py
import sys
sys.path.insert(0, 'tests')
import test_a
print(test_a.test_make())
",
        ask: ("move", "tests/helper.py", "def |make"),
        more: r#"{"dest_file": "tests/making.py"}"#,
        verdict: Changed(&["+from making import make"]),
    },
    Idiom {
        name: "scripts beside each other",
        program: "\
--- tools/run.py
from parts import piece, other
print(piece(), other())
--- tools/parts.py
def piece():
    return 1


def other():
    return piece()
--- main.py
import runpy, sys
sys.path.insert(0, 'tools')
runpy.run_path('tools/run.py')
",
        ask: ("move", "tools/parts.py", "def |piece"),
        more: r#"{"dest_file": "tools/pieces.py"}"#,
        verdict: Changed(&["+from pieces import piece"]),
    },
    Idiom {
        name: "scripts in a folder of a package",
        program: "\
--- pkg/__init__.py
--- pkg/scripts/run.py
from parts import piece, other
print(piece(), other())
--- pkg/scripts/parts.py
def piece():
    return 1


def other():
    return piece()
--- main.py
import runpy, sys
sys.path.insert(0, 'pkg/scripts')
runpy.run_path('pkg/scripts/run.py')
",
        ask: ("move", "pkg/scripts/parts.py", "def |piece"),
        more: r#"{"dest_file": "pkg/scripts/pieces.py"}"#,
        verdict: Changed(&["+from pieces import piece"]),
    },
    Idiom {
        name: "two roots with packages",
        program: "\
--- libs/a/pa/__init__.py
--- libs/a/pa/one.py
def f():
    return 1
--- libs/b/pb/__init__.py
--- libs/b/pb/two.py
from pa.one import f


def g():
    return f()
--- main.py
import sys
sys.path[:0] = ['libs/a', 'libs/b']
from pb.two import g
print(g())
",
        ask: ("move", "libs/a/pa/one.py", "def |f"),
        more: r#"{"dest_file": "libs/a/pa/three.py"}"#,
        verdict: Changed(&["+from pa.three import f"]),
    },
    Idiom {
        name: "two roots with namespace packages",
        program: "\
--- libs/a/pa/one.py
def f():
    return 1
--- libs/b/pb/two.py
from pa.one import f


def g():
    return f()
--- main.py
import sys
sys.path[:0] = ['libs/a', 'libs/b']
from pb.two import g
from pa import one
print(g(), one.f())
",
        ask: ("move", "libs/a/pa/one.py", "def |f"),
        more: r#"{"dest_file": "libs/a/pa/three.py"}"#,
        verdict: Changed(&["+from pa.three import f"]),
    },
    Idiom {
        name: "package-dir is lib",
        program: "\
--- pyproject.toml
[tool.setuptools]
package-dir = {\"\" = \"lib\"}
--- lib/shop/__init__.py
--- lib/shop/cart.py
def total():
    return 1


def show():
    return total()
--- main.py
import sys
sys.path.insert(0, 'lib')
from shop.cart import show, total
print(show(), total())
",
        ask: ("move", "lib/shop/cart.py", "def |total"),
        more: r#"{"dest_file": "lib/shop/sums/all.py"}"#,
        verdict: Changed(&["+from shop.sums.all import total"]),
    },
    Idiom {
        name: "a module of Python is not the file of that name",
        program: "\
--- pkg/__init__.py
--- pkg/inner/one.py
import json


def f():
    return json.dumps(1)
--- pkg/inner/json.py
def dumps(x):
    return 'mine'
--- main.py
from pkg.inner.one import f
from pkg.inner.json import dumps
print(f(), dumps(1))
",
        ask: ("move", "pkg/inner/json.py", "def |dumps"),
        more: r#"{"dest_file": "pkg/inner/texts.py"}"#,
        verdict: Changed(&["+from pkg.inner.texts import dumps"]),
    },
    Idiom {
        name: "nothing tells how the folder is imported",
        program: "\
--- lib/one.py
def f():
    return 1


def g():
    return f()
--- lib/two.py
X = 1
",
        ask: ("move", "lib/one.py", "def |f"),
        more: r#"{"dest_file": "lib/two.py"}"#,
        verdict: Listed("no import tells"),
    },
    Idiom {
        name: "from the root into a folder that nobody imports yet",
        program: "\
--- helpers.py
def f():
    return 1


def g():
    return f()
--- lib/other.py
X = 1
--- main.py
import helpers
print(helpers.f(), helpers.g())
",
        ask: ("move", "helpers.py", "def |f"),
        more: r#"{"dest_file": "lib/new.py"}"#,
        verdict: Changed(&["+from lib.new import f"]),
    },
    Idiom {
        name: "a package of the root moves into a folder without init",
        program: "\
--- core/__init__.py
from .one import f
--- core/one.py
def f():
    return 1
--- libs/other.py
X = 1
--- main.py
import core
import libs.other
print(core.f(), libs.other.X)
",
        ask: ("move", "core", ""),
        more: r#"{"dest_file": "libs/"}"#,
        verdict: Changed(&["+import libs.core"]),
    },
    Idiom {
        name: "a module that reads a file beside it",
        program: "\
--- pkg/__init__.py
--- pkg/sub/__init__.py
--- pkg/data.txt
hello
--- pkg/a.py
import os
def f():
    return open(os.path.join(os.path.dirname(__file__), 'data.txt')).read()
--- main.py
print(1)
",
        ask: ("move", "pkg/a.py", ""),
        more: r#"{"dest_file": "pkg/sub/a.py"}"#,
        verdict: Listed("`__file__` is another path"),
    },
    Idiom {
        name: "a package that looks its modules up",
        program: "\
--- pkg/__init__.py
import importlib
TABLE = {'f': '.a'}
def __getattr__(name):
    if name in TABLE:
        return getattr(importlib.import_module(TABLE[name], __name__), name)
    raise AttributeError(name)
--- pkg/a.py
def f():
    return 1
--- main.py
print(1)
",
        ask: ("move", "pkg/a.py", ""),
        more: r#"{"dest_file": "pkg/b.py"}"#,
        verdict: Listed("looked up in its package"),
    },
    Idiom {
        name: "the name of a module of Python",
        program: "\
--- a.py
def f():
    return 1
--- main.py
import a
print(a.f())
",
        ask: ("move", "a.py", ""),
        more: r#"{"dest_file": "json.py"}"#,
        verdict: Listed("is a module of Python"),
    },
    Idiom {
        name: "the name of a module that is imported beside it",
        program: "\
--- a.py
def f():
    return 1
--- main.py
import a
import json
print(a.f(), json.dumps(1))
",
        ask: ("move", "a.py", ""),
        more: r#"{"dest_file": "json.py"}"#,
        verdict: Refused("means something else"),
    },
    Idiom {
        name: "a module's new name means something else in a function",
        program: "\
--- a.py
def f():
    return 1
--- main.py
import a
def g():
    b = 2
    return a.f() + b
print(g())
",
        ask: ("move", "a.py", ""),
        more: r#"{"dest_file": "b.py"}"#,
        verdict: Refused("means something else"),
    },
    Idiom {
        name: "a module that comes with everything of its package",
        program: "\
--- pkg/__init__.py
__all__ = ['a']
from . import a
--- pkg/a.py
def f():
    return 1
--- main.py
from pkg import *
print(a.f())
",
        ask: ("move", "pkg/a.py", ""),
        more: r#"{"dest_file": "pkg/b.py"}"#,
        verdict: Listed("by `import *`"),
    },
];
