//! Rename: what knows a name, or a keyword, although no code spells it where it is looked for.

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
