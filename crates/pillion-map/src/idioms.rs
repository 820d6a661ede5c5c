//! Ways in which Python reaches a function without saying so: each a small program, with the
//! tests that must be found when the function changes, and those that must not.

use super::changes::ChangedFile;
use super::impact::Via;
use super::typed::Types;
use super::update::Map;

/// Files of a program, each behind a line `# file: NAME`.
pub(super) fn files(program: &str) -> Vec<(String, String)> {
    let parts = program.split("# file: ").skip(1);
    let parts = parts.map(|part| part.split_once('\n').expect("a name, then text"));
    parts
        .map(|(name, text)| (name.trim().to_owned(), text.to_owned()))
        .collect()
}

pub(super) fn mapped(files: &[(String, String)]) -> Map {
    let mut map = Map::default();
    let all: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), Some(text.as_str())))
        .collect();
    map.edit(&all);
    map
}

/// The tests that are found when the line with `# changed` changes.
pub(super) fn reached(program: &str) -> Vec<String> {
    let files = files(program);
    let map = mapped(&files);
    let graph = map.graph();
    let changed = files.iter().find_map(|(path, text)| {
        let line = text.lines().position(|line| line.contains("# changed"))?;
        Some(ChangedFile {
            lines: Some(vec![u32::try_from(line).ok()? + 1]),
            ..ChangedFile::whole(path)
        })
    });
    let changed = changed.expect("a line is marked");
    let reach = graph.reach(&[changed], &Types::default());
    let mut names = Vec::new();
    for (file, cases) in &reach.tests {
        let path = &graph.files[*file as usize].sketched.path;
        match &cases[..] {
            [] => names.push(path.to_string()),
            some => names.extend(some.iter().map(|case| case.name(graph))),
        }
    }
    names
}

/// What it is, the program, and the tests.
pub(super) type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "own class by instance",
        "
# file: lib.py
class Base:
    def copy(self): return self.__class__()
    def twin(self): return type(self)()
class Sub(Base):
    def __init__(self): self.x = 1  # changed
class Other: pass
# file: test_a.py
from lib import Sub, Other
def test_it(): Sub.copy
def test_other(): Other()
",
        &["test_it"],
    ),
    (
        "new by class",
        "
# file: lib.py
class A:
    @classmethod
    def make(cls): return cls.__new__(cls)
    def __new__(cls): return 1  # changed
# file: test_a.py
from lib import A
def test_it(): A.make()
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "mixin",
        "
# file: lib.py
class Mixin:
    def go(self): return self.step()
class Real(Mixin):
    def step(self): return 1  # changed
# file: test_a.py
from lib import Real
def test_it(): Real().go()
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "descriptor",
        "
# file: lib.py
class Field:
    def __get__(self, instance, owner): return 1  # changed
class Model:
    size = Field()
# file: test_a.py
import lib
def test_it(): assert lib.Model().size
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "class attribute filled below",
        "
# file: lib.py
class Base:
    ops_class = None
    def run(self): return self.ops_class().work()
class Ops:
    def work(self): return 1  # changed
class Real(Base):
    ops_class = Ops
# file: test_a.py
from lib import Real
def test_it(): Real().run()
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "a name that is put together",
        "
# file: lib.py
class Visitor:
    def visit(self, node): return getattr(self, 'visit_' + type(node).__name__)(node)
    def visit_int(self, node): return 1  # changed
# file: test_a.py
from lib import Visitor
def test_it(): Visitor().visit(1)
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "a name that is put together by a template of the class",
        "
# file: lib.py
class Commands:
    NAME = 'do_{}'
    def run(self, word):
        name = self.NAME.format(word)
        return getattr(self, name, None)()
    def do_save(self): return 1  # changed
# file: test_a.py
from lib import Commands
def test_it(): Commands().run('save')
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "chosen by the type of an argument",
        "
# file: lib.py
import functools
@functools.singledispatch
def area(thing): return 0
@area.register(int)
def _(thing): return thing
@area.register
def of_text(thing: str): return len(thing)  # changed
# file: test_a.py
from lib import area
def test_it(): area('text')
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "what a protocol asks for",
        "
# file: lib.py
from typing import Protocol
class Shape(Protocol):
    def area(self) -> int: ...
    def name(self) -> str: ...
class Named:
    def name(self): return ''
class Square(Named):
    def area(self): return 4  # changed
def draw(shape: Shape): return shape.area()
# file: test_a.py
from lib import draw, Square
def test_it(): draw(Square())
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "operators",
        "
# file: lib.py
class Money:
    def __eq__(self, other): return True  # changed
def price(): return Money()
# file: test_a.py
from lib import price
def test_it(): assert price() == price()
def test_other(): assert 1 == 1
",
        &["test_it"],
    ),
    (
        "called by a foreign base",
        "
# file: lib.py
from html.parser import HTMLParser
class Links(HTMLParser):
    def handle_starttag(self, tag, attrs): self.seen = tag  # changed
def links(text):
    parser = Links()
    parser.feed(text)
# file: test_a.py
from lib import links
def test_it(): links('<a>')
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "decorated",
        "
# file: lib.py
import functools
def checked(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)  # changed
    return wrapper
@checked
def work(): pass
# file: test_a.py
import lib
def test_it(): lib.work()
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "kept in a variable",
        "
# file: lib.py
def square(x): return x * x  # changed
TABLE = {'square': square}
def run(name): return TABLE[name](2)
# file: test_a.py
from lib import run, TABLE
def test_it(): run('square')
def test_direct(): TABLE['square'](1)
def test_other(): pass
",
        &["test_it", "test_direct"],
    ),
    (
        "by getattr",
        "
# file: lib.py
class Tool:
    def cut(self): return 1  # changed
def use(tool): return getattr(tool, 'cut')()
# file: test_a.py
from lib import Tool, use
def test_it(): use(Tool())
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "fixtures",
        "
# file: lib.py
def make(): return 1  # changed
# file: tests/conftest.py
import pytest
from lib import make
@pytest.fixture(name='app')
def make_app(): return make()
@pytest.fixture
def client(app): return app
# file: tests/test_a.py
import pytest
from somewhere import Client
def test_it(client: Client): pass
@pytest.mark.usefixtures('client')
def test_marked(): pass
def test_asked(request): request.getfixturevalue('app')
def test_other(): pass
",
        &["test_it", "test_marked", "test_asked"],
    ),
    (
        "autouse",
        "
# file: lib.py
def prepare(): return 1  # changed
# file: tests/conftest.py
import pytest
# file: tests/test_a.py
import pytest, lib
@pytest.fixture(autouse=True)
def always(): lib.prepare()
def test_it(): pass
# file: tests/test_b.py
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "parametrised",
        "
# file: lib.py
class Left:
    def side(self): return 'l'  # changed
# file: test_a.py
import pytest, lib
@pytest.mark.parametrize('cls', [lib.Left])
def test_it(cls): cls().side()
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "inherited tests",
        "
# file: lib.py
class Store:
    def put(self): return 1  # changed
class Slow:
    def put(self): return 2
# file: test_a.py
import lib
class StoreTests:
    store_class = None
    def test_put(self): self.store_class().put()
class TestStore(StoreTests):
    store_class = lib.Store
class TestSlow(StoreTests):
    store_class = lib.Slow
",
        &["TestStore.test_put"],
    ),
    (
        "through a client",
        "
# file: lib.py
class App:
    def test_client(self): return Client(self)
    def route(self, rule): return lambda f: f
    def dispatch(self): return 1  # changed
class Client:
    def __init__(self, app): self.app = app
    def get(self, path): return self.open(path)
    def open(self, path): return self.app.dispatch()
# file: test_a.py
import pytest
from lib import App
@pytest.fixture
def app(): return App()
@pytest.fixture
def client(app): return app.test_client()
def test_it(app, client):
    @app.route('/')
    def index(): pass
    assert client.get('/')
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "at import",
        "
# file: lib.py
def registered(f): return f  # changed
@registered
def work(): pass
# file: test_a.py
import lib
def test_it(): pass
# file: test_b.py
def test_other(): pass
",
        &["test_a.py"],
    ),
    (
        "when a class is made",
        "
# file: lib.py
class Base:
    def __init_subclass__(cls): cls.x = 1  # changed
# file: user.py
import lib
class Sub(lib.Base): pass
# file: test_a.py
import user
def test_it(): pass
# file: test_b.py
import lib
def test_other(): pass
",
        &["test_a.py"],
    ),
];

#[test]
fn tests_are_found() {
    for (what, program, expected) in CASES {
        assert_eq!(reached(program), *expected, "{what}: {program}");
    }
}

/// Who may call a function, and how that is known.
#[test]
fn possible_callers_are_named() {
    let cases = [
        (
            "def f(x): x.values()\nclass A:\n    def values(self): pass\n",
            "A.values",
            "f",
            Via::Name,
        ),
        (
            "class A:\n    def __eq__(self, o): pass\ndef f(): return A()\n",
            "A.__eq__",
            "f",
            Via::Operator,
        ),
        (
            "import ast\nclass A(ast.NodeVisitor):\n    def visit_Name(self, n): pass\ndef f(): A()\n",
            "A.visit_Name",
            "f",
            Via::Base,
        ),
        (
            "class M:\n    def f(self): self.g()\nclass A(M):\n    def g(self): pass\n",
            "A.g",
            "M.f",
            Via::Name,
        ),
        (
            "def f(app):\n    @app.route('/')\n    def g(): pass\n",
            "g",
            "f",
            Via::Definition,
        ),
        ("def f(): pass\nT = [f]\n", "f", "T", Via::Reference),
    ];
    for (text, target, user, via) in cases {
        let map = mapped(&[("a.py".to_owned(), text.to_owned())]);
        let graph = map.graph();
        let target = graph.targets(target).expect("it is there");
        let users = graph.possible_users(target[0], &Types::default());
        let found = users.iter().find(|one| graph.name(one.node) == user);
        let found = found.unwrap_or_else(|| panic!("{text}: {users:?}"));
        assert_eq!((found.via, found.is_sure), (via, false), "{text}");
    }
}
