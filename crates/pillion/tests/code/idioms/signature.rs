//! Changes of signatures: what is called in the place of the function changes with it.

use serde_json::json;

use super::Verdict::{Changed, Refused, Told};
use super::{Idiom, Verdict, check};

fn row(what: &'static str, verdict: Verdict, program: &'static str) -> Idiom {
    Idiom {
        what,
        program,
        operation: "change_signature",
        params: json!({ "add": [{ "name": "times", "default": "1", "value": "2" }] }),
        all: json!({}),
        verdict,
    }
}

#[test]
fn what_stands_for_a_function_gets_its_parameters_too() {
    check(vec![
        row(
            "a stub beside its source",
            Changed,
            r"
from shop import price, Shop
print(price(1), Shop().cost(2))
print(open('shop.py').read().count('times') == open('shop.pyi').read().count('times'))
# file: shop.py
def <|>price(qty): return qty
class Shop:
    def cost(self, qty): return qty
# file: shop.pyi
def price(qty: int) -> int: ...
class Shop:
    def cost(self, qty: int) -> int: ...
",
        ),
        row(
            "a method, from its stub",
            Changed,
            r"
from shop import Shop
print(Shop().cost(2))
print(open('shop.py').read().count('times') == open('shop.pyi').read().count('times'))
# file: shop.py
class Shop:
    def cost(self, qty): return qty
# file: shop.pyi
class Shop:
    def <|>cost(self, qty: int) -> int: ...
",
        ),
        row(
            "two classes in one loop",
            Changed,
            r"
class P:
    def <|>q(self, x): return x
class R:
    def q(self, x): return x + 1
for o in (P(), R()):
    print(o.q(1))
",
        ),
        row(
            "a protocol",
            Changed,
            r"
from typing import Protocol
class Quacks(Protocol):
    def q(self, x: int) -> int: ...
class Duck:
    def <|>q(self, x): return x
def of(o: Quacks): return o.q(3)
print(of(Duck()))
",
        ),
        row(
            "a protocol that another class only looks like",
            Told(&["main.py:9"]),
            r"
from typing import Protocol
class Quacks(Protocol):
    def <|>q(self, x: int) -> int: ...
class Duck:
    def q(self, x): return x
    def other(self, q): return q
class Goose:
    def q(self, y, x): return 5
def of(o: Quacks): return o.q(3)
print(of(Duck()), Goose().q(1, 2))
",
        ),
        row(
            "a mock that stands in its place",
            Told(&["main.py:4"]),
            r"
from unittest import mock
import shop
with mock.patch('shop.price') as price:
    shop.total()
    price.assert_called_with(3)
# file: shop.py
def <|>price(qty): return qty
def total(): return price(3)
",
        ),
        row(
            "a method that is looked up",
            Told(&["main.py:4"]),
            r"
class Shop:
    def <|>price(self, qty): return qty
print(getattr(Shop(), 'price')(3))
",
        ),
        row(
            "a method that a name is put together for",
            Told(&["main.py:5"]),
            r"
class Shop:
    def <|>visit_price(self, qty): return qty
    def visit(self, kind):
        return getattr(self, 'visit_' + kind)(3)
print(Shop().visit('price'))
",
        ),
        row(
            "a function of a function, of which nobody else can know",
            Changed,
            r"
def shop(kind):
    def <|>visit_price(qty): return qty
    return visit_price(1), getattr(kind, 'visit_' + 'x', 3)
print(shop(5))
",
        ),
        Idiom {
            params: json!({ "remove": ["times"] }),
            ..row(
                "a parameter that a decorator passes",
                Refused("main.py:5"),
                r"
class pytest:
    class mark:
        parametrize = staticmethod(lambda names, values: lambda f: lambda: [f(*v) for v in values])
@pytest.mark.parametrize('qty,times', [(1, 2)])
def <|>test_price(qty, times): return qty
print(test_price())
",
            )
        },
        row(
            "overloads",
            Refused("overloads"),
            r"
from typing import overload
@overload
def price(qty: int) -> int: ...
@overload
def price(qty: str) -> str: ...
def <|>price(qty): return qty
print(price(1))
",
        ),
        row(
            "a function with cases by type",
            Refused("cases by type"),
            r"
from functools import singledispatch
@singledispatch
def <|>price(qty): return qty
@price.register
def _(qty: int): return qty * 2
print(price(1), price('x'))
",
        ),
        row(
            "what makes the members of an enumeration",
            Refused("made by its `__init__`"),
            r"
import enum
class Color(enum.Enum):
    RED = (1,)
    def <|>__init__(self, number): self.number = number
print(Color.RED.number)
",
        ),
        row(
            "a decorator that hands it to others",
            Told(&["main.py:5"]),
            r"
known = []
def enter(f):
    known.append(f); return f
@enter
def <|>price(qty): return qty
print(known[0](3))
",
        ),
        row(
            "a class by its stub",
            Changed,
            r"
from shop import Shop
print(Shop(1).cost)
# file: shop.py
class Shop:
    def <|>__init__(self, qty): self.cost = qty
# file: shop.pyi
class Shop:
    cost: int
    def __init__(self, qty: int) -> None: ...
",
        ),
        row(
            "a decorator that passes something itself",
            Told(&["main.py:3"]),
            r"
def given(f):
    def inner(*args): return f(7, *args)
    return inner
@given
def <|>price(start, qty): return start + qty
print(price(1))
",
        ),
        row(
            "a decorator that only hands on",
            Changed,
            r"
import functools
def given(f):
    @functools.wraps(f)
    def inner(*args, **kwargs): return f(*args, **kwargs)
    return inner
@given
def <|>price(start, qty): return start + qty
print(price(1, 2))
",
        ),
        row(
            "a name of the class that keeps what it decorates",
            Told(&["main.py:6"]),
            r"
class Field:
    def validator(self, f): self.check = f; return f
class Conf:
    port = Field()
    @port.validator
    def <|>check_port(self, attribute): return attribute
print(Conf.port.check(None, 1))
",
        ),
    ]);
}
