//! Ways in which Python reaches what was handed to something before, or is looked up by a
//! text: registries, signals, hooks, tables of names.

use super::idioms::{Case, files, mapped, reached};
use super::typed::Types;

const CASES: &[Case] = &[
    (
        "a list that a decorator fills",
        "
# file: lib.py
HOOKS = []
def hook(f):
    HOOKS.append(f)
    return f
@hook
def greet(): return 1  # changed
def run(): return [h() for h in HOOKS]
# file: test_a.py
import lib
def test_it(): lib.run()
def test_other(): lib.HOOK
",
        &["test_it"],
    ),
    (
        "a table that a decorator with arguments fills",
        "
# file: lib.py
COMMANDS = {}
LIMIT = 3
def command(name):
    def keep(f):
        LIMIT
        COMMANDS[name] = f
        return f
    return keep
@command('go')
def go(): return 1  # changed
# file: cli.py
from lib import COMMANDS
def run(name): return COMMANDS[name]()
# file: test_a.py
import cli, lib
def test_it(): cli.run('go')
def test_other(): lib.LIMIT
",
        &["test_it"],
    ),
    (
        "a method of an object that keeps it",
        "
# file: bus.py
class Signal:
    def __init__(self): self.all = []
    def connect(self, f): self.all.append(f)
    def send(self): return [f() for f in self.all]
saved = Signal()
deleted = Signal()
# file: lib.py
from bus import saved
@saved.connect
def index(): return 1  # changed
# file: test_a.py
import bus, lib
def test_it(): bus.saved.send()
def test_other(): bus.deleted.send()
",
        &["test_it"],
    ),
    (
        "an object that is told",
        "
# file: lib.py
class Signal:
    def __init__(self): self.all = []
    def connect(self, f): self.all.append(f)
    def send(self): return [f() for f in self.all]
saved = Signal()
def index(): return 1  # changed
saved.connect(index)
# file: test_a.py
import lib
def test_it(): lib.saved.send()
def test_other(): lib.Signal()
",
        &["test_it"],
    ),
    (
        "classes that a base keeps",
        "
# file: lib.py
class Plugin:
    kinds = {}
    def __init_subclass__(cls): Plugin.kinds[cls.__name__] = cls
    def go(self): raise NotImplementedError
class Fast(Plugin):
    def go(self): return 1  # changed
def run(name): return Plugin.kinds[name]().go()
# file: test_a.py
from lib import Plugin, run
def test_it(): run('Fast')
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "classes that are asked for",
        "
# file: lib.py
class Base:
    @classmethod
    def all(cls): return [one() for one in cls.__subclasses__()]
class One(Base):
    def __init__(self): self.x = 1  # changed
# file: test_a.py
from lib import Base
def test_it(): Base.all()
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "a method that an attribute of its class keeps",
        "
# file: lib.py
import attr
@attr.s
class Point:
    x = attr.ib()
    @x.validator
    def positive(self, attribute, value): assert value  # changed
# file: test_a.py
from lib import Point
def test_it(): Point(1)
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "names of the module",
        "
# file: lib.py
def on_start(): return 1  # changed
def fire(event): return globals()[f'on_{event}']()
def other(name): return globals()['un' + name]
# file: test_a.py
import lib
def test_it(): lib.fire('start')
def test_other(): lib.other('x')
",
        &["test_it"],
    ),
    (
        "names of the module, asked for",
        "
# file: lib.py
def on_start(): return 1  # changed
def fire(event):
    found = globals().get('on_' + event)
    return found()
# file: test_a.py
import lib
def test_it(): lib.fire('start')
def test_other(): lib
",
        &["test_it"],
    ),
    (
        "a name of the module in words",
        "
# file: lib.py
def start(): return 1  # changed
def fire(): return globals()['start']()
# file: test_a.py
import lib
def test_it(): lib.fire()
def test_other(): lib
",
        &["test_it"],
    ),
    (
        "names of another module",
        "
# file: hooks.py
def on_start(): return 1  # changed
# file: lib.py
import sys
import hooks
def fire(event): return getattr(hooks, 'on_%s' % event)()
# file: own.py
def on_end(): pass
def fire(event): return getattr(sys.modules[__name__], 'on_%s' % event)()
# file: test_a.py
import lib, own
def test_it(): lib.fire('start')
def test_other(): own.fire('end')
",
        &["test_it"],
    ),
    (
        "what an object has, as a mapping",
        "
# file: lib.py
class Tool:
    def do_cut(self): return 1  # changed
    def run(self, word): return type(self).__dict__['do_' + word](self)
# file: test_a.py
from lib import Tool
def test_it(): Tool().run('cut')
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "by what operator makes",
        "
# file: lib.py
import operator
from operator import attrgetter
class Tool:
    def cut(self): return 1
    @property
    def weight(self): return 2  # changed
by_weight = attrgetter('name', 'weight')
cut = operator.methodcaller('cut')
# file: test_a.py
import lib
def test_it(): sorted([lib.Tool()], key=lib.by_weight)
def test_other(): lib.cut(lib.Tool())
",
        &["test_it"],
    ),
    (
        "a pattern takes it",
        "
# file: lib.py
class Point:
    @property
    def x(self): return 1  # changed
def at(point):
    match point:
        case Point(x=1): return True
# file: test_a.py
import lib
def test_it(): lib.at(lib.Point())
def test_other(): lib.Point()
",
        &["test_it"],
    ),
    (
        "two at once",
        "
# file: lib.py
def one(): return 1  # changed
def two(): return 2
first, second = one, two
# file: test_a.py
import lib
def test_it(): lib.first()
def test_other(): lib.second()
",
        &["test_it"],
    ),
    (
        "what an enumeration asks for",
        "
# file: lib.py
import enum
class Kind(enum.Enum):
    A = 1
    @classmethod
    def _missing_(cls, value): return cls.A  # changed
# file: test_a.py
from lib import Kind
def test_it(): Kind(3)
def test_other(): pass
",
        &["test_it"],
    ),
    (
        "what a module is asked for",
        "
# file: lib.py
def there(): pass
def __getattr__(name): return 1  # changed
# file: test_a.py
import lib
def test_it(): assert lib.whatever
def test_other(): lib.there()
",
        &["test_it"],
    ),
    (
        "a text that spells it with its module",
        "
# file: src/app/views.py
class Home:
    def get(self): return 1  # changed
# file: src/app/settings.py
VIEW = 'app.views.Home'
OTHER = 'app.views'
# file: lib.py
from app.settings import VIEW, OTHER
def load(path): return __import__(path)
def show(): return load(VIEW)().get()
def other(): return load(OTHER)
# file: test_a.py
import lib
def test_it(): lib.show()
def test_other(): lib.other()
",
        &["test_it"],
    ),
];

#[test]
fn tests_are_found() {
    let all = CASES
        .iter()
        .map(|(what, program, expected)| (*what, reached(program), *expected));
    let wrong: Vec<_> = all
        .filter(|(_, found, expected)| found != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What impact shows below a function: the names of all nodes of its tree.
fn impact(program: &str, target: &str) -> Vec<String> {
    let map = mapped(&files(program));
    let graph = map.graph();
    let targets = graph.targets(target).expect("it is there");
    let mut open = graph.impact(&targets, 3, &Types::default());
    let mut names = Vec::new();
    while let Some(tree) = open.pop() {
        names.push(graph.name(tree.node).to_owned());
        open.extend(tree.users);
    }
    names.sort();
    names.dedup();
    names
}

#[test]
fn callers_of_possible_callers_are_told() {
    let kept = "
# file: lib.py
class Base:
    @classmethod
    def all(cls): return [one() for one in cls.__subclasses__()]
class One(Base):
    def __init__(self): self.x = 1
def run(): return Base.all()
";
    let all = ["Base", "Base.all", "One", "One.__init__", "run"];
    assert_eq!(impact(kept, "One.__init__"), all);
    let overridden = "
# file: lib.py
class Base:
    @property
    def kind(self): return self.make()
    def make(self): return 'a'
class Sub(Base):
    def make(self): return 'b'
def kinds(all): return [one.kind for one in all]
";
    let all = ["Base.kind", "Sub.make", "kinds"];
    assert_eq!(impact(overridden, "Sub.make"), all);
}
