//! Rename: what knows a name, or a keyword, although no code spells it where it is looked for.

use pillion_testing::project::TestProject;
use serde_json::json;

use super::Verdict::{Changed, Listed, Refused, Told};
use super::{Idiom, Verdict, check};

fn row(what: &'static str, new_name: &str, verdict: Verdict, program: &'static str) -> Idiom {
    Idiom {
        what,
        program,
        operation: "rename",
        params: json!({ "new_name": new_name }),
        all: json!({ "possible": true, "strings": true, "comments": true }),
        verdict,
    }
}

#[test]
fn keywords_that_nobody_writes_out_are_named() {
    check(vec![
        row(
            "a typed dictionary that is passed by `**`",
            "count",
            Told(&["main.py:6"]),
            r"
from typing import TypedDict
class Shop(TypedDict): <|>qty: int
def price(qty): return qty
shop: Shop = {'qty': 4}
print(price(**shop))
",
        ),
        row(
            "fields that are passed by `**`",
            "count",
            Told(&["main.py:8", "main.py:9", "main.py:10"]),
            r"
from dataclasses import dataclass, asdict
from taking import price
@dataclass
class Shop:
    <|>qty: int
shop = Shop(2)
print(price(**asdict(shop)))
print(price(**vars(shop)))
print(price(**shop.__dict__))
# file: taking.py
def price(**given): return sum(given.values())
",
        ),
        row(
            "fields of a named tuple that are passed by `**`",
            "count",
            Told(&["main.py:7"]),
            r"
from typing import NamedTuple
class Shop(NamedTuple):
    <|>qty: int
def price(qty): return qty
shop = Shop(2)
print(price(**shop._asdict()))
",
        ),
        row(
            "a mock that is asked how it was called",
            "count",
            Listed(&["main.py:5", "main.py:6"]),
            r"
from unittest import mock
import shop
with mock.patch('shop.price') as price:
    shop.pay(); price.assert_called_once_with(qty=2)
    assert price.call_args == mock.call(qty=2)
print('so')
# file: shop.py
def price(<|>qty): return qty
def pay(): return price(qty=2)
",
        ),
        row(
            "a decorator that is given the parameter by name",
            "count",
            Listed(&["main.py:6"]),
            r"
def given(**values):
    def over(f):
        return lambda: f(**values)
    return over
@given(qty=3)
def price(<|>qty): return qty
print(price())
",
        ),
        row(
            "a decorator with a parameter of the same name",
            "count",
            Changed,
            r"
import functools
def times(qty):
    def over(f):
        return functools.wraps(f)(lambda **given: f(**given) * qty)
    return over
@times(qty=3)
def price(<|>qty): return qty
print(price(qty=2))
",
        ),
        row(
            "a fixture that is given its values by a test",
            "store",
            Changed,
            r"
import test_shop
print(test_shop.made())
# file: pytest.py
fixtures, tests = {}, []
def fixture(f): fixtures[f.__name__] = f; return f
class mark:
    @staticmethod
    def parametrize(names, values, indirect):
        def over(f): tests.append((f, names, values, indirect)); return f
        return over
# file: test_shop.py
import pytest
@pytest.fixture
def <|>shop(request): return request * 2
@pytest.mark.parametrize('shop', [1], indirect=True)
def test_one(shop): return shop
@pytest.mark.parametrize('shop, x', [2], indirect=['shop'])
def test_two(shop): return shop
def made():
    for f, names, values, _ in pytest.tests:
        name = names.split(',')[0]
        for value in values: yield_ = f(**{name: pytest.fixtures[name](value)})
    return yield_, [indirect in (True, [n.split(',')[0]]) for _, n, _, indirect in pytest.tests]
",
        ),
    ]);
}

#[test]
fn whoever_knows_a_name_is_named() {
    check(vec![
        row(
            "a decorator that enters it by its name",
            "cost",
            Told(&["main.py:6"]),
            r"
known = {}
def command(f):
    known[f.__name__.replace('_', '-')] = f
    return f
@command
def <|>get_price(): return 3
print(len(known), get_price())
",
        ),
        row(
            "a value that is made of the name",
            "CRIMSON",
            Told(&["main.py:6"]),
            r"
import enum
class Color(str, enum.Enum):
    def _generate_next_value_(name, *_): return name.lower()
    BLUE = 'b'
    <|>RED = enum.auto()
print(len(Color), Color.RED is Color.BLUE)
",
        ),
        row(
            "a value that has nothing to do with the name",
            "CRIMSON",
            Changed,
            r"
import enum
class Color(enum.Enum):
    BLUE = enum.auto()
    <|>RED = enum.auto()
print(Color.RED.value)
",
        ),
        row(
            "a private name that is spelled with its class",
            "state",
            Told(&["main.py:6", "main.py:7"]),
            r"
class A:
    def __init__(self): self.<|>__state = 1
    def get(self): return self.__state
class B(A):
    def other(self): return self._A__state
print(B().other(), getattr(B(), '_A__state'))
",
        ),
        row(
            "a hook of pytest",
            "set_up",
            Refused("pytest itself"),
            r"
import conftest
print(conftest.pytest_configure(3))
# file: conftest.py
def <|>pytest_configure(config): return config
",
        ),
    ]);
}

#[test]
fn what_goes_round_is_followed_or_listed() {
    check(vec![
        row(
            "an attribute that a class below only adds to",
            "sum",
            Changed,
            r"
class Base:
    def __init__(self): self.total = 1
class Shop(Base):
    def grow(self): self.<|>total += 1
shop = Shop(); shop.grow(); print(shop.total)
",
        ),
        row(
            "an attribute that only a function inside of a method sets",
            "ended",
            Changed,
            r"
class Base:
    def start(self):
        def finish(): self.done = True
        finish()
class Job(Base):
    def again(self): self.<|>done = False
job = Job(); job.start(); print(job.done); job.again(); print(job.done)
",
        ),
        row(
            "what a fixture hands on",
            "price",
            Changed,
            r"
import test_shop
test_shop.test_cost(test_shop.Shop())
# file: pytest.py
def fixture(f): return f
# file: shop.py
class Shop:
    def <|>cost(self): return 2
# file: conftest.py
import pytest
from shop import Shop
@pytest.fixture
def shop(): return Shop()
# file: test_shop.py
import pytest
from shop import Shop
@pytest.fixture
def opened(shop): return shop
def test_cost(opened): print(opened.cost())
",
        ),
        row(
            "a mock of what a string alone names",
            "count",
            Listed(&["main.py:5"]),
            r"
from unittest import mock
import shop
with mock.patch('shop.price') as fake:
    shop.pay(); fake.assert_called_once_with(qty=2)
print('so')
# file: shop.py
def price(<|>qty): return qty
def pay(): return price(qty=2)
",
        ),
        row(
            "an object that is called, and of which nobody knows",
            "factor",
            Listed(&["main.py:7"]),
            r"
class Engine:
    def __call__(self, *, <|>boost=1): return boost
class Car:
    def __init__(self, target): self.__dict__['engine'] = target
car = Car(Engine())
print(car.engine(boost=3))
",
        ),
        row(
            "a class whose private names are spelled with it",
            "Bill",
            Told(&["main.py:4"]),
            r"
class Account:
    def __init__(self): self.__owner = 1
    def show(self): return self._Account__owner
print(<|>Account().show())
",
        ),
        row(
            "an object for a protocol of functions",
            "cost",
            Listed(&["main.py:7"]),
            r"
from typing import Protocol
class Prices(Protocol):
    def __call__(self, price: int) -> int: ...
class Steep:
    def __call__(self, <|>price): return price
def of(f: Prices): return f(price=1)
print(of(Steep()))
",
        ),
        row(
            "a function that another gives back",
            "step",
            Listed(&["main.py:7"]),
            r"
def make(start):
    def bump(<|>by=1): return start + by
    bump.start = start
    return bump
b = [make(3)][0]
print(b(by=2))
",
        ),
        row(
            "functions that are called for an event",
            "file",
            Listed(&["main.py:9"]),
            r"
class Bus:
    def __init__(self): self.calls = []
    def on(self, f): self.calls.append(f); return f
    def emit(self, **payload): return [call(**payload) for call in self.calls]
bus = Bus()
@bus.on
def saved(<|>path): return path
print(bus.emit(path='p'))
",
        ),
    ]);
}

/// What a rename of `Class/name` warns of.
fn warned(program: &str, name_path: &str) -> String {
    let mut project = TestProject::with(&[("main.py", program)]);
    let asked = json!({ "name_path": name_path, "new_name": "other" });
    project.ask("rename", asked)["warnings"].to_string()
}

#[test]
fn names_that_no_text_spells_are_told_of() {
    let members = "import enum\nclass Color(enum.Enum):\n    RED = 1\n";
    let classes = "class View:\n    def get(self): return 1\n";
    let cases = [
        (
            members,
            "Color/RED",
            "def parse(text): return Color[text.upper()]\n",
            "main.py:4",
        ),
        (
            members,
            "Color/RED",
            "def label(c: Color): return c.name\n",
            "main.py:4",
        ),
        (
            classes,
            "View/get",
            "    def go(self, method): return getattr(self, method.lower())()\n",
            "main.py:3",
        ),
        (
            classes,
            "View/get",
            "names = [n for n in dir(View) if n.islower()]\n",
            "main.py:3",
        ),
        (
            "def get(): return 1\n",
            "get",
            "def of(name): return globals()[name]()\n",
            "main.py:2",
        ),
    ];
    for (start, name_path, rest, place) in cases {
        let warnings = warned(&format!("{start}{rest}"), name_path);
        assert!(warnings.contains(place), "{rest}: {warnings}");
        let warnings = warned(start, name_path);
        assert!(!warnings.contains("no text spells"), "{start}: {warnings}");
    }
    let other = "class Other:\n    get = 1\n    def of(self, name): return getattr(self, name)\n";
    let warnings = warned(&format!("{classes}{other}"), "View/get");
    assert!(!warnings.contains("no text spells"), "{warnings}");
}
