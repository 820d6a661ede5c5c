//! Rename: what has to keep one name does, whatever way Python knows it by.

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
fn a_parameter_is_renamed_wherever_its_keyword_arrives() {
    check(vec![
        row(
            "an override, from the base",
            "count",
            Changed,
            r"
class Base:
    def price(self, <|>qty): return qty
class Store(Base):
    def price(self, qty): return qty * 2
def of(thing: Base): return thing.price(qty=3)
print(of(Base()), of(Store()), Store().price(qty=4))
",
        ),
        row(
            "an override, from below",
            "count",
            Changed,
            r"
class Base:
    def price(self, qty): return qty
class Store(Base):
    def price(self, <|>qty): return qty * 2
def of(thing: Base): return thing.price(qty=3)
print(of(Base()), of(Store()), Store().price(qty=4))
",
        ),
        row(
            "a cached function",
            "count",
            Changed,
            r"
import functools
@functools.cache
def price(<|>qty): return qty
@functools.lru_cache(maxsize=None)
def other(qty): return qty
print(price(qty=2), other(qty=3))
",
        ),
        row(
            "a decorator that wraps",
            "count",
            Changed,
            r"
import functools
def loud(f):
    @functools.wraps(f)
    def inner(*args, **kwargs): return f(*args, **kwargs)
    return inner
@loud
def price(<|>qty): return qty
class Shop:
    @loud
    def price(self, qty): return qty
print(price(qty=2), Shop().price(qty=5))
",
        ),
        row(
            "overloads",
            "count",
            Changed,
            r"
from typing import overload
@overload
def price(qty: int) -> int: ...
@overload
def price(qty: str) -> str: ...
def price(<|>qty): return qty
print(price(qty=2), price(qty='x'))
",
        ),
        row(
            "overloads, from one of them",
            "count",
            Changed,
            r"
from typing import overload
class Shop:
    @overload
    def price(self, <|>qty: int) -> int: ...
    @overload
    def price(self, qty: str) -> str: ...
    def price(self, qty): return qty
print(Shop().price(qty=2), Shop().price(qty='x'))
",
        ),
        row(
            "partial",
            "count",
            Changed,
            r"
from functools import partial
import functools
def price(<|>qty, times=1): return qty * times
twice = partial(price, times=2)
fixed = functools.partial(price, qty=4)
print(fixed(), twice(qty=3), partial(price, qty=1)(times=2))
",
        ),
        row(
            "partialmethod",
            "count",
            Changed,
            r"
from functools import partialmethod
class Shop:
    def price(self, <|>qty, times=1): return qty * times
    dozen = partialmethod(price, qty=12)
print(Shop().dozen(), Shop().dozen(times=2))
",
        ),
        row(
            "the head of a subclass",
            "label",
            Changed,
            r"
class Base:
    names = []
    def __init_subclass__(cls, <|>tag=None, **more):
        super().__init_subclass__(**more)
        cls.names.append(tag)
class A(Base, tag='a'): pass
class B(A, tag='b'): pass
print(Base.names)
",
        ),
        row(
            "__init_subclass__ in two classes",
            "label",
            Changed,
            r"
class Base:
    names = []
    def __init_subclass__(cls, <|>tag=None, **more):
        super().__init_subclass__(**more)
        cls.names.append(tag)
class Mid(Base, tag='m'):
    def __init_subclass__(cls, tag='?', **more):
        super().__init_subclass__(tag=tag + '!', **more)
class Leaf(Mid, tag='l'): pass
print(Base.names)
",
        ),
        row(
            "a metaclass's __new__ and __init__",
            "label",
            Changed,
            r"
class Meta(type):
    def __new__(meta, name, bases, space, <|>tag=None):
        made = super().__new__(meta, name, bases, space)
        made.tag = tag
        return made
    def __init__(cls, name, bases, space, tag=None):
        super().__init__(name, bases, space)
class A(metaclass=Meta, tag='a'): pass
class B(A, tag='b'): pass
print(A.tag, B.tag)
",
        ),
        row(
            "a metaclass's __call__",
            "label",
            Changed,
            r"
class Meta(type):
    def __call__(cls, *args, <|>tag=None, **more):
        made = super().__call__(*args, **more)
        made.tag = tag
        return made
class A(metaclass=Meta):
    def __init__(self, x): self.x = x
print(A(1, tag='a').tag, A(x=2, tag='b').x)
",
        ),
        row(
            "an __init__ behind a metaclass that hands on",
            "amount",
            Changed,
            r"
class Once(type):
    made = {}
    def __call__(cls, *args, **kwargs):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args, **kwargs)
        return cls.made[cls]
class Shop(metaclass=Once):
    def __init__(self, <|>qty): self.x = qty
print(Shop(qty=3).x)
",
        ),
        row(
            "__new__ and __init__ get the same",
            "count",
            Changed,
            r"
class Shop:
    def __new__(cls, qty): return super().__new__(cls)
    def __init__(self, <|>qty): self.x = qty
print(Shop(qty=3).x)
",
        ),
        row(
            "an __init__ that hands on",
            "count",
            Changed,
            r"
class Base:
    def __init__(self, <|>qty, other=1): self.x = qty
class Shop(Base):
    def __init__(self, **kwargs):
        kwargs.setdefault('qty', 5)
        super().__init__(**kwargs)
class Plain(Base): pass
print(Shop().x, Shop(qty=2).x, Plain(qty=1).x)
",
        ),
        row(
            "a class that is chosen later",
            "count",
            Changed,
            r"
class Base:
    def __init__(self, <|>qty): self.x = qty
    @classmethod
    def make(cls): return cls(qty=3)
    def again(self): return type(self)(qty=self.x + 1)
class Shop(Base):
    def __init__(self, qty): self.x = qty * 10
print(Base.make().x, Shop.make().x, Shop(qty=1).again().x)
",
        ),
        row(
            "functions that hand on",
            "count",
            Changed,
            r"
def price(<|>qty, times=1): return qty * times
def loud(**options):
    if 'qty' in options: options['qty'] += 1
    return price(**options)
def louder(*args, **kwargs): return loud(*args, **kwargs)
print(loud(qty=1), louder(qty=2, times=3))
",
        ),
        row(
            "keywords that are handed to a class in a variable",
            "early",
            Changed,
            r"
class Parameter:
    def __init__(self, name, <|>is_eager=False): self.x = is_eager
class Option(Parameter):
    def __init__(self, name, **attrs): super().__init__(name, **attrs)
def option(name, cls: type[Option] | None = None, **attrs):
    if cls is None:
        cls = Option
    def decorator(f): return cls(name, **attrs)
    return decorator
def version_option(**kwargs):
    kwargs.setdefault('is_eager', True)
    return option('v', **kwargs)
print(option('x', is_eager=1)(None).x, version_option()(None).x)
",
        ),
        row(
            "keywords that are handed to what nobody knows",
            "early",
            Listed(&["main.py:6"]),
            r"
class Parameter:
    def __init__(self, <|>is_eager=False): self.x = is_eager
KINDS = {}
def make(kind, **attrs): return KINDS[kind](**attrs)
KINDS['p'] = Parameter; print(make('p', is_eager=1).x)
",
        ),
        row(
            "a method of what nobody knows that hands on",
            "early",
            Listed(&["main.py:6"]),
            r"
class Parameter:
    def __init__(self, <|>is_eager=False): self.x = is_eager
class Maker:
    def make(self, **attrs): return Parameter(**attrs)
def of(maker): return maker.make(is_eager=2).x
print(of(Maker()))
",
        ),
        row(
            "a lambda with a name",
            "count",
            Changed,
            r"
price = lambda <|>qty, times=2: qty * times
print(price(qty=3))
",
        ),
        row(
            "another name for the function",
            "count",
            Changed,
            r"
def price(<|>qty): return qty
cost = price
table = {'p': price}
print(cost(qty=1))
",
        ),
        row(
            "a dictionary that is written out",
            "count",
            Changed,
            r"
import threading
seen = []
def price(<|>qty, times=1): seen.append(qty * times)
price(**{'qty': 3})
price(**dict(qty=4, times=2))
thread = threading.Thread(target=price, kwargs={'qty': 5})
thread.start(); thread.join()
print(seen)
",
        ),
        row(
            "a dictionary from elsewhere",
            "count",
            Listed(&["main.py:3", "main.py:4"]),
            r"
def price(<|>qty, times=1): return qty * times
options = {'qty': 3}
print(price(**options))
",
        ),
        row(
            "handed to someone who calls it",
            "count",
            Changed,
            r"
from concurrent.futures import ThreadPoolExecutor
import contextlib
seen = []
def price(<|>qty): seen.append(qty); return qty
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(price, qty=3).result())
with contextlib.ExitStack() as stack:
    stack.callback(price, qty=4)
print(seen)
",
        ),
        row(
            "an object of no known type",
            "count",
            Listed(&["main.py:4"]),
            r"
class Shop:
    def price(self, <|>qty): return qty
def of(thing): return thing.price(qty=3)
print(of(Shop()))
",
        ),
        row(
            "a decorator that passes it by name",
            "count",
            Listed(&["main.py:3"]),
            r"
def twice(f):
    def inner(): return f(qty=2)
    return inner
@twice
def price(<|>qty): return qty
print(price())
",
        ),
        row(
            "a protocol's parameter",
            "count",
            Changed,
            r"
from typing import Protocol
class Priced(Protocol):
    def price(self, <|>qty: int) -> int: ...
class Shop:
    def price(self, qty): return qty
def of(thing: Priced): return thing.price(qty=3)
print(of(Shop()))
",
        ),
        row(
            "two classes in one loop",
            "count",
            Changed,
            r"
class P:
    def q(self, <|>qty): return qty
class R:
    def q(self, qty): return qty * 2
for o in (P(), R()):
    print(o.q(qty=2))
",
        ),
        row(
            "a name that the keywords of any name have",
            "count",
            Refused("count"),
            r"
def price(<|>qty, **more): return qty, more
print(price(1, count=2))
",
        ),
        row(
            "a parametrized test",
            "count",
            Changed,
            r"
class pytest:
    class mark:
        @staticmethod
        def parametrize(names, values):
            def over(f):
                return lambda: [f(**dict(zip(names.split(','), v))) for v in values]
            return over
@pytest.mark.parametrize('qty,x', [(1, 2), (3, 4)])
def test_price(<|>qty, x): return qty + x
print(test_price())
",
        ),
        row(
            "a command's option",
            "count",
            Listed(&["main.py:4"]),
            r"
def option(name):
    return lambda f: lambda value: f(**{name.strip('-'): value})
@option('--qty')
def price(<|>qty): return qty
print(price(3))
",
        ),
        row(
            "cases by type",
            "count",
            Changed,
            r"
from functools import singledispatch
@singledispatch
def show(x, <|>qty=1): return qty
@show.register
def _(x: int, qty=1): return qty + x
@show.register(str)
def _(x, qty=1): return qty + 10
print(show(1, qty=2), show('a', qty=3), show(None, qty=4))
",
        ),
        row(
            "a protocol for functions",
            "count",
            Refused("main.py:3"),
            r"
from typing import Protocol
class Prices(Protocol):
    def __call__(self, <|>qty: int) -> int: ...
def price(qty): return qty
def of(f: Prices): return f(qty=1)
print(of(price))
",
        ),
        row(
            "a function for a protocol",
            "count",
            Listed(&["main.py:6"]),
            r"
from typing import Protocol
class Prices(Protocol):
    def __call__(self, qty: int) -> int: ...
def price(<|>qty): return qty
def of(f: Prices): return f(qty=1)
print(of(price))
",
        ),
        row(
            "a callback",
            "count",
            Listed(&["main.py:3"]),
            r"
def price(<|>qty): return qty
def of(f): return f(qty=1)
print(of(price))
",
        ),
        row(
            "a context manager, a coroutine, an object that is called",
            "count",
            Changed,
            r"
import asyncio
from contextlib import contextmanager
@contextmanager
def taking(qty): yield qty
async def later(qty): return qty
class Price:
    def __call__(self, <|>qty): return qty
with taking(qty=1) as x: print(x)
print(asyncio.run(later(qty=2)), Price()(qty=3))
",
        ),
        row(
            "what pytest fills",
            "store",
            Refused("fixture"),
            r"
import test_shop
print(test_shop.test_it(3))
# file: pytest.py
def fixture(f): return f
# file: test_shop.py
import pytest
@pytest.fixture
def shop(): return 3
def test_it(<|>shop): return shop
",
        ),
        row(
            "a stub beside its source",
            "count",
            Changed,
            r"
from shop import price, Shop
print(price(qty=1), Shop().cost(qty=2))
print(open('shop.py').read().count('(qty') == open('shop.pyi').read().count('(qty'))
# file: shop.py
def price(<|>qty): return qty
class Shop:
    def cost(self, qty): return qty
# file: shop.pyi
def price(qty: int) -> int: ...
class Shop:
    def cost(self, qty: int) -> int: ...
",
        ),
        row(
            "a method in a stub",
            "count",
            Changed,
            r"
from shop import Shop
print(Shop().cost(qty=2))
print(open('shop.py').read().count(' qty)') == open('shop.pyi').read().count(' qty: '))
# file: shop.py
class Shop:
    def cost(self, qty): return qty
# file: shop.pyi
class Shop:
    def cost(self, <|>qty: int) -> int: ...
",
        ),
    ]);
}

#[test]
fn fields_are_renamed_wherever_they_are_spelled() {
    check(vec![
        row(
            "keywords that are merged before they are handed on",
            "count",
            Changed,
            r"
def price(a, <|>qty=1): return qty
def one(**kwargs):
    kwargs.update(qty=2)
    return price(1, **kwargs)
def two(**kwargs):
    kwargs |= {'qty': 3}
    return price(1, **kwargs)
def three(**kwargs):
    kwargs.update({'qty': 4})
    return price(1, **kwargs)
print(one(), two(), three())
",
        ),
        row(
            "a function that a property gives",
            "count",
            Listed(&["main.py:7"]),
            r"
class A:
    @property
    def price(self):
        def inner(<|>qty): return qty
        return inner
print(A().price(qty=3))
",
        ),
        row(
            "a decorator that looks into the keywords",
            "count",
            Listed(&["main.py:4", "main.py:4"]),
            r"
def loud(f):
    def inner(*args, **kwargs):
        if 'qty' in kwargs: kwargs['qty'] += 1
        return f(*args, **kwargs)
    return inner
@loud
def price(<|>qty): return qty
print(price(qty=3))
",
        ),
        row(
            "fields of an object that is copied or made from within",
            "count",
            Changed,
            r"
import dataclasses
@dataclasses.dataclass(frozen=True)
class A:
    <|>qty: int = 1
    def but(self, **changes): return dataclasses.replace(self, **changes)
    def again(self, **fields): return self.__class__(**fields)
    @classmethod
    def make(cls, **fields): return cls(**fields)
print(A().but(qty=3) == A(3), A.make(qty=2) == A(2), A().again(qty=4) == A(4))
",
        ),
        row(
            "a private field of attrs",
            "_count",
            Told(&["attrs.py:2", "main.py:6"]),
            r"
import attrs
@attrs.define
class A:
    <|>_qty: int = 2
print(A(qty=3))
# file: attrs.py
def define(cls):
    def __init__(self, qty): self._qty = qty
    cls.__init__ = __init__
    return cls
",
        ),
        row(
            "a field of attrs that becomes private",
            "_qty",
            Refused("attrs would still take"),
            r"
import attrs
@attrs.define
class A:
    <|>qty: int = 2
print(A(qty=3).qty)
# file: attrs.py
def define(cls):
    def __init__(self, qty): self.qty = qty
    cls.__init__ = __init__
    return cls
",
        ),
        row(
            "a class that takes keywords of any name",
            "count",
            Listed(&["main.py:7"]),
            r"
class Model:
    def __init__(self, **fields):
        for name, value in fields.items(): setattr(self, name, value)
class Item(Model):
    <|>qty: int
print(Item(qty=3).qty)
",
        ),
        row(
            "a name that is printed with its value",
            "count",
            Told(&["main.py:2"]),
            r"
def price(<|>qty): return f'{qty=}', f'{qty!r}'
print(price(3))
",
        ),
        row(
            "dataclasses.replace",
            "y",
            Changed,
            r"
import dataclasses
from dataclasses import dataclass, replace
@dataclass
class Point:
    <|>x: int
    z: int = 0
    def moved(self) -> 'Point': return replace(self, x=self.x + 1)
@dataclass
class Named(Point):
    name: str = ''
p = Point(x=1)
q = dataclasses.replace(p, x=2)
print(q.x, p.moved().x, replace(Point(x=3), x=4).x, replace(Named(x=1), x=7).x)
",
        ),
        row(
            "replace of what nobody knows",
            "y",
            Listed(&["main.py:5", "main.py:5"]),
            r"
from dataclasses import dataclass, replace
@dataclass
class Point: <|>x: int
def moved(thing): return replace(thing, x=2).x
print(moved(Point(x=1)))
",
        ),
        row(
            "a field of another class",
            "y",
            Changed,
            r"
from dataclasses import dataclass, replace
@dataclass
class Point: <|>x: int
@dataclass
class Other: x: int
print(replace(Other(x=1), x=2).x, Other(x=3).x, Point(x=1).x)
",
        ),
        row(
            "a named tuple",
            "y",
            Changed,
            r"
from typing import NamedTuple
class Point(NamedTuple):
    <|>x: int
    z: int = 0
p = Point(x=1)
print(p._replace(x=2).x, p.x)
match p:
    case Point(x=1): print('one')
",
        ),
        row(
            "a named tuple made by a call",
            "y",
            Refused("nobody knows"),
            r"
from collections import namedtuple
Point = namedtuple('Point', 'x z')
p = Point(x=1, z=2)
print(p.<|>x)
",
        ),
        row(
            "a typed dictionary",
            "y",
            Changed,
            r"
from typing import TypedDict
class Point(TypedDict, total=False):
    <|>x: int
    z: int
def make() -> Point:
    return {'x': 1, 'z': 2}
def of(point: Point): return point['x'], point.get('x'), 'x' in point
p: Point = {'x': 3}
q = Point(x=4)
q['x'] += 1
p = {'x': 5}
print(of(make()), of(p), of(q), of({'x': 6}))
r = make()
r.update({'x': 8})
r.setdefault('x', 3)
del q['x']
print(r, q) if False else None
",
        ),
        row(
            "typed dictionaries in one another",
            "y",
            Listed(&["main.py:8", "main.py:8"]),
            r"
from typing import TypedDict
class Inner(TypedDict):
    <|>x: int
class Outer(TypedDict):
    one: Inner
    all: list[Inner]
o: Outer = {'one': {'x': 1}, 'all': [{'x': 2}]}
print(o['one']['x'], o['all'][0]['x'])
",
        ),
        row(
            "a typed dictionary that inherits",
            "y",
            Changed,
            r"
from typing import TypedDict
class Point(TypedDict):
    <|>x: int
class Named(Point):
    name: str
def of(n: Named): return n['x'], n['name']
print(of({'x': 1, 'name': 'a'}), of(Named(x=2, name='b')), of(dict(x=3, name='c')))
",
        ),
        row(
            "another dictionary with such a key",
            "y",
            Changed,
            r"
from typing import TypedDict
class Point(TypedDict):
    <|>x: int
def of(point: Point): return point['x']
other = {'x': 1, 'zz': 2}
print(of(Point(x=3)), other['x'])
",
        ),
        row(
            "an attribute with the name of a keyword",
            "secret",
            Changed,
            r"
class Command:
    hidden = None
    def __init__(self, name, hidden=False): self.<|>hidden = hidden
class Group(Command): pass
def command(**attrs) -> Command: return Command('x', **attrs)
print(command(hidden=True).hidden, Group('y', hidden=True).hidden)
",
        ),
        row(
            "slots and match arguments",
            "y",
            Changed,
            r"
class Point:
    __slots__ = ('x', 'z')
    __match_args__ = ('x', 'z')
    def __init__(self, a, b):
        self.<|>x = a
        self.z = b
match Point(1, 2):
    case Point(a, b): print(a, b)
    case _: print('none')
",
        ),
        row(
            "an enum by its name",
            "GREEN",
            Changed,
            r"
from enum import Enum
class Color(Enum):
    <|>RED = 1
    BLUE = 2
print(Color['RED'].value, Color.RED.value, Color(1) is Color.RED)
",
        ),
    ]);
}

#[test]
fn members_that_stand_for_one_another_are_renamed_together() {
    check(vec![
        row(
            "two classes in one loop",
            "r",
            Changed,
            r"
class P:
    def <|>q(self): return 1
class R:
    def q(self): return 2
for o in (P(), R()):
    print(o.q())
",
        ),
        row(
            "a union in an annotation",
            "r",
            Changed,
            r"
from typing import Union
class P:
    q = 1
class R:
    def __init__(self): self.<|>q = 2
def of(x: 'P | R', y: Union[P, R]): return x.q + y.q
print(of(P(), R()))
",
        ),
        row(
            "a union with what others define",
            "r",
            Refused("main.py:5"),
            r"
import io
class P:
    def <|>write(self, text): return len(text)
def of(x: P | io.StringIO): return x.write('abc')
print(of(P()), of(io.StringIO()))
",
        ),
        row(
            "a protocol, from it",
            "r",
            Changed,
            r"
from typing import Protocol
class Quacks(Protocol):
    def <|>q(self) -> int: ...
class Duck:
    def q(self): return 1
class Goose(Duck):
    def q(self): return 2
def of(x: Quacks): return x.q()
print(of(Duck()), of(Goose()))
",
        ),
        row(
            "a protocol, from who implements it",
            "r",
            Changed,
            r"
from typing import Protocol
class Quacks(Protocol):
    name: str
    def q(self) -> int: ...
class Named:
    name = 'n'
class Duck(Named):
    def <|>q(self): return 1
class Other:
    def q(self): return 3
def of(x: Quacks): return x.q()
print(of(Duck()), Other().q())
",
        ),
        row(
            "two bases of one class",
            "r",
            Changed,
            r"
class Left:
    def <|>q(self): return 1
class Right:
    def q(self): return 2
class Both(Left, Right): pass
def of(x: Right): return x.q()
print(of(Both()), of(Right()), Both().q())
",
        ),
        row(
            "a mixin that uses what others define",
            "r",
            Changed,
            r"
class Mixin:
    def go(self): return self.q() + 1
class Real(Mixin):
    def <|>q(self): return 1
class Other(Mixin):
    def q(self): return 2
print(Real().go(), Other().go())
",
        ),
        row(
            "a registered subclass",
            "r",
            Changed,
            r"
from abc import ABC
class Base(ABC):
    def <|>q(self): return 1
@Base.register
class One:
    def q(self): return 2
class Two:
    def q(self): return 3
Base.register(Two)
def of(x: Base): return x.q()
print(of(Base()), of(One()), of(Two()))
",
        ),
        row(
            "slots of a base",
            "r",
            Changed,
            r"
class A:
    __slots__ = ['q']
class B(A):
    __slots__ = ()
    def __init__(self): self.<|>q = 2
print(B().q)
",
        ),
        row(
            "a subclass has the new name",
            "r",
            Refused("main.py:5"),
            r"
class Base:
    def <|>q(self): return 1
class Sub(Base):
    def r(self): return 2
print(Sub().q(), Sub().r())
",
        ),
        row(
            "a base has the new name",
            "r",
            Refused("main.py:3"),
            r"
class Base:
    def r(self): return 1
class Mid(Base): pass
class Sub(Mid):
    def <|>q(self): return 2
print(Sub().q(), Sub().r())
",
        ),
        row(
            "a base of others has the new name",
            "run",
            Refused("taken"),
            r"
import threading
class Worker(threading.Thread):
    def <|>q(self): return 2
print(Worker().q())
",
        ),
        row(
            "an attribute of an object has the new name",
            "r",
            Refused("main.py:5"),
            r"
class Base:
    def <|>q(self): return 1
class Sub(Base):
    def set(self): self.r = 5; return self
print(Sub().set().q())
",
        ),
        row(
            "a class takes the module's name for its own",
            "most",
            Changed,
            r"
<|>limit = 3
class A:
    limit = limit
    def f(self, n=limit): return n
print(A.limit, A().f(), limit)
",
        ),
        row(
            "the class's own, taken from the module's",
            "most",
            Changed,
            r"
limit = 3
class A:
    <|>limit = limit
    twice = limit * 2
    def f(self, n=limit): return n
print(A.limit, A().f(), A.twice, limit)
",
        ),
        row(
            "a name that the body of a class has",
            "most",
            Refused("main.py:4"),
            r"
<|>limit = 3
class A:
    most = 1
    twice = limit * 2
print(A.most, A.twice)
",
        ),
        row(
            "a builtin that is used",
            "len",
            Refused("len"),
            r"
def <|>size(x): return 7
print(len('abc'), size('x'))
",
        ),
        row(
            "a package of another root that hands it on under its own name",
            "r",
            Changed,
            r"
import sys; sys.path[:0] = ['libs/a/src', 'libs/b/src']
from bpkg.m import g
print(g())
# file: libs/a/src/apkg/__init__.py
from .core import q as q
# file: libs/a/src/apkg/core.py
def <|>q(): return 1
# file: libs/b/src/bpkg/__init__.py
# file: libs/b/src/bpkg/m.py
from apkg import q
import apkg.core
def g(): return q() + apkg.core.q()
",
        ),
        row(
            "two modules in one loop",
            "r",
            Changed,
            r"
import a, b
print([m.q() for m in (a, b)])
# file: a.py
def <|>q(): return 1
# file: b.py
def q(): return 2
",
        ),
        row(
            "two modules that a third takes everything from",
            "r",
            Refused("b.py:1"),
            r"
from a import *
from b import *
print(q(), r())
# file: a.py
def <|>q(): return 1
# file: b.py
def r(): return 2
",
        ),
        row(
            "a name that is not taken with everything",
            "_r",
            Refused("pass over"),
            r"
from a import *
print(q())
# file: a.py
def <|>q(): return 1
",
        ),
        row(
            "a module of its package has the new name",
            "a",
            Refused("pkg/a.py"),
            r"
import pkg, pkg.a
print(pkg.q(), pkg.a.f())
# file: pkg/__init__.py
def <|>q(): return 1
# file: pkg/a.py
def f(): return 2
",
        ),
        row(
            "a class in its own body",
            "Knot",
            Changed,
            r"
from __future__ import annotations
class <|>Node:
    parts: list['Node'] = []
    def make(self) -> Node: return Node()
    def same(self, other: 'Node'): return isinstance(other, Node)
print(Node().same(Node().make()))
",
        ),
        row(
            "what Python itself calls",
            "size",
            Refused("Python itself"),
            r"
class A:
    def <|>__len__(self): return 3
print(len(A()))
",
        ),
        row(
            "a private name",
            "__state",
            Refused("outside of the class"),
            r"
class A:
    def __init__(self): self.<|>state = 1
print(A().state)
",
        ),
        row(
            "a property with its setter",
            "r",
            Changed,
            r"
class A:
    _q = 1
    @property
    def <|>q(self): return self._q
    @q.setter
    def q(self, value): self._q = value
class B(A):
    @property
    def q(self): return super().q + 1
a = A(); a.q = 5
print(a.q, B().q)
",
        ),
        row(
            "a stub beside its source",
            "made",
            Changed,
            r"
from shop import make, Shop
import shop
print(make(1), shop.make(2), Shop().cost(3))
heads = [[line.split('(')[0] for line in open(f) if 'def ' in line] for f in ('shop.py', 'shop.pyi')]
print(heads[0] == heads[1])
# file: shop.py
def <|>make(x): return x
class Shop:
    def cost(self, x): return make(x)
# file: shop.pyi
def make(x: int) -> int: ...
class Shop:
    def cost(self, x: int) -> int: ...
",
        ),
        row(
            "a method, from where it is called",
            "price",
            Changed,
            r"
from shop import Shop
class Mine(Shop):
    def cost(self, x): return x + 1
print(Shop().<|>cost(3), Mine().cost(1))
# file: shop.py
class Shop:
    def cost(self, x): return x
    def twice(self, x): return self.cost(x) * 2
# file: shop.pyi
class Shop:
    def cost(self, x: int) -> int: ...
    def twice(self, x: int) -> int: ...
",
        ),
    ]);
}

#[test]
fn names_in_strings_are_settled_where_the_object_is_known() {
    check(vec![
        row(
            "getattr and its like",
            "r",
            Changed,
            r"
class A:
    def __init__(self): self.<|>q = 1
    def up(self): setattr(self, 'q', getattr(self, 'q') + 1)
class B:
    q = 5
a = A()
a.up()
print(a.q, getattr(a, 'q'), hasattr(a, 'q'), getattr(A(), 'q'), getattr(B(), 'q'), getattr(B, 'q'))
delattr(a, 'q')
object.__setattr__(a, 'q', 3)
print(a.q)
",
        ),
        row(
            "getattr of what nobody knows",
            "r",
            Listed(&["main.py:4"]),
            r"
class A:
    def <|>q(self): return 1
def of(x): return getattr(x, 'q')()
print(of(A()))
",
        ),
        row(
            "a name of a module",
            "most",
            Changed,
            r"
import shop
from shop import cost
print(getattr(shop, 'LIMIT'), cost())
setattr(shop, 'LIMIT', 4)
print(cost())
# file: shop.py
<|>LIMIT = 3
def cost(): return LIMIT
",
        ),
        row(
            "a package that looks its names up",
            "r",
            Listed(&["main.py:3", "main.py:4", "main.py:4", "pkg/__init__.py:2"]),
            r"
import pkg
from pkg import q
print(pkg.q(), q(), pkg.w())
# file: pkg/__init__.py
import importlib
TABLE = {'q': 'pkg.a', 'w': 'pkg.a'}
def __getattr__(name):
    if name in TABLE: return getattr(importlib.import_module(TABLE[name]), name)
    raise AttributeError(name)
# file: pkg/a.py
def <|>q(): return 1
def w(): return q()
",
        ),
        row(
            "mock.patch.multiple",
            "price",
            Changed,
            r"
from unittest import mock
import shop
with mock.patch.multiple('shop', cost=lambda: 5):
    print(shop.total())
with mock.patch.multiple(shop, cost=lambda: 6):
    print(shop.total())
with mock.patch.object(shop, attribute='cost', new=lambda: 7):
    print(shop.total())
# file: shop.py
def <|>cost(): return 1
def total(): return cost() + 1
",
        ),
        row(
            "what a base has, by name",
            "r",
            Changed,
            r"
class A:
    <|>q = 1
class B(A):
    def f(self): return super().__getattribute__('q')
print(B().f())
",
        ),
        row(
            "mock.patch",
            "price",
            Changed,
            r"
from unittest import mock
import shop
from shop import Shop, total
with mock.patch('shop.cost', lambda: 5):
    print(total())
with mock.patch.object(shop, 'cost', lambda: 6):
    print(total())
with mock.patch('shop.Shop.cost', lambda self: 7):
    print(Shop().cost())
print(total())
# file: shop.py
def <|>cost(): return 1
def total(): return cost() + 1
class Shop:
    def cost(self): return 2
",
        ),
        row(
            "mock.patch of a method",
            "price",
            Changed,
            r"
from unittest import mock
import shop
from shop import Shop, total
with mock.patch('shop.cost', lambda: 5):
    print(total())
with mock.patch('shop.Shop.cost', lambda self: 7):
    print(Shop().cost())
with mock.patch.object(Shop, 'cost', lambda self: 8):
    print(Shop().cost())
# file: shop.py
def cost(): return 1
def total(): return cost() + 1
class Shop:
    def <|>cost(self): return 2
",
        ),
        row(
            "monkeypatch",
            "price",
            Changed,
            r"
import shop
class MonkeyPatch:
    def setattr(self, target, name, value=None):
        if isinstance(target, str):
            module, last = target.rsplit('.', 1)
            setattr(__import__(module), last, name)
        else:
            setattr(target, name, value)
def test(monkeypatch):
    monkeypatch.setattr(shop, 'cost', lambda: 5)
    print(shop.total())
    monkeypatch.setattr('shop.cost', lambda: 6)
    print(shop.total())
test(MonkeyPatch())
# file: shop.py
def <|>cost(): return 1
def total(): return cost() + 1
",
        ),
        row(
            "what a fixture returns",
            "price",
            Changed,
            r"
import test_shop
test_shop.test_cost(test_shop.make())
# file: pytest.py
def fixture(f): return f
# file: shop.py
class Shop:
    def <|>cost(self): return 2
# file: conftest.py
import pytest
from shop import Shop
@pytest.fixture
def shop() -> Shop: return Shop()
@pytest.fixture
def yielded():
    made = Shop()
    yield made
# file: test_shop.py
from shop import Shop
def make(): return Shop()
def test_cost(shop):
    print(shop.cost())
def test_yielded(yielded):
    assert yielded.cost() == 2
",
        ),
        row(
            "a fixture",
            "store",
            Changed,
            r"
import inspect, conftest, test_shop
given = {name: value for name, value in vars(conftest).items() if getattr(value, 'given', 0)}
for test in (test_shop.test_it, test_shop.test_other):
    print(test(**{name: given[name]() for name in inspect.signature(test).parameters}))
# file: pytest.py
def fixture(f): f.given = 1; return f
# file: conftest.py
import pytest
@pytest.fixture
def <|>shop(): return 3
# file: test_shop.py
def test_it(shop):
    assert shop == 3
    return shop
def test_other(shop): return [shop for _ in range(2)]
",
        ),
        row(
            "the attributes of an object as a dictionary",
            "r",
            Changed,
            r"
from dataclasses import dataclass, asdict
@dataclass
class A:
    <|>q: int = 1
a = A()
print(vars(a)['q'], a.__dict__['q'], asdict(A())['q'])
",
        ),
        row(
            "such a dictionary under another name",
            "r",
            Listed(&["main.py:6"]),
            r"
class A:
    def __init__(self): self.<|>q = 1
def of(values):
    return values
values = vars(A()); print(values['q'])
",
        ),
        row(
            "attrgetter",
            "r",
            Listed(&["main.py:6"]),
            r"
from operator import attrgetter
class A:
    def __init__(self): self.<|>q = 1
name = 'unrelated'
print(attrgetter('q')(A()))
",
        ),
        row(
            "strings that have nothing to do with it",
            "title",
            Changed,
            r"
import other
from shop import Shop
print(Shop('a').name, other.words)
# file: shop.py
class Shop:
    def __init__(self, n): self.<|>name = n
# file: other.py
# the name of all
words = ['name', 'the name', {'name': 1}]
",
        ),
        row(
            "documentation of its own class",
            "title",
            Listed(&["shop.py:2", "shop.py:4"]),
            r"
from shop import Shop
print(Shop('a').name)
# file: shop.py
class Shop:
    '''A shop with a name.'''
    def __init__(self, n):
        # the name is given
        self.<|>name = n
",
        ),
        row(
            "a name that is put together",
            "parse_url",
            Told(&["main.py:5"]),
            r"
class A:
    def <|>parse_link(self): return 1
    def parse_text(self): return 2
    def parse(self, kind): return getattr(self, 'parse_' + kind)()
print(A().parse('text'))
",
        ),
        row(
            "a class whose name a name is put together of",
            "Switch",
            Told(&["filters.py:2"]),
            r"
from sql import <|>Case, Where
from filters import Filter
print([Filter().process(x) for x in (Case(), Where())] != [])
# file: sql.py
class Case: pass
class Where: pass
# file: filters.py
class Filter:
    def _process_case(self, token): return 1
    def _process_default(self, token): return 2
    def showcase(self): return 3
    def process(self, token):
        name = '_process_{cls}'.format(cls=type(token).__name__)
        return getattr(self, name.lower(), self._process_default)(token)
",
        ),
        row(
            "a class whose visitor is looked up by its name",
            "Leaf",
            Told(&["main.py:4"]),
            r"
class <|>TheEnd: pass
class Visitor:
    def visit_the_end(self, node): return 1
    def visit_TheEndless(self, node): return 1
    def generic(self, node): return 2
    def visit(self, node):
        import re
        snake = re.sub('(?<!^)([A-Z])', r'_\1', type(node).__name__).lower()
        return getattr(self, f'visit_{snake}', self.generic)(node)
print(Visitor().visit(TheEnd()) > 0)
",
        ),
        row(
            "a function of another module with the same name, which a string names",
            "fetch",
            Changed,
            r"
import shop
from unittest import mock
print(shop.get())
with mock.patch.object(shop, 'get', lambda: 4), mock.patch('shop.get', lambda: 5):
    print(shop.get())
# file: impl.py
def <|>get(): return 3
# file: shop.py
def get():
    from impl import get as f
    return f()
",
        ),
        row(
            "a name that a module takes over under another, and one of its own in a class",
            "fetch",
            Changed,
            r"
import shop
from unittest import mock
print(shop.get(), shop.Shop.get())
with mock.patch('shop.get', lambda: 5):
    print(shop.get(), shop.Shop.get())
# file: impl.py
def <|>get(): return 3
# file: shop.py
from impl import get
class Shop:
    get = staticmethod(lambda: 2)
",
        ),
    ]);
}
