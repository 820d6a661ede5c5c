//! Rename: functions that go round as values, and names that frameworks read.

use serde_json::json;

use super::Verdict::{Changed, Listed, Told};
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
fn keywords_of_functions_that_are_held_arrive() {
    check(vec![
        row(
            "a method that is the default of an attribute",
            "amount",
            Changed,
            r"
class A:
    def __init__(self, cb=None): self.cb = cb or self.default
    def default(self, <|>value): return value
    def go(self): return self.cb(value=1)
print(A().go())
",
        ),
        row(
            "a function that one of two is",
            "amount",
            Changed,
            r"
from functools import partial
def default(x, <|>value): return x + value
class A:
    def __init__(self, cb=None): self.cb = cb if cb else partial(default, 1)
    def go(self): return self.cb(value=1)
print(A().go())
",
        ),
        row(
            "a function that a table has for a default",
            "amount",
            Changed,
            r"
def default(<|>value): return value
table = {'x': default}
def go(key):
    f = table.get(key) or default
    return f(value=1) + table.get(key, default)(value=2) + table[key](value=3)
print(go('x'))
",
        ),
        row(
            "a function that an attribute holds in another file",
            "amount",
            Listed(&["third.py:1"]),
            r"
import use, third
print(third.run(use.A()))
# file: lib.py
def default(<|>value): return value
# file: use.py
import lib
class A:
    def __init__(self, cb=None): self.cb = cb or lib.default
# file: third.py
def run(a): return a.cb(value=1)
",
        ),
        row(
            "a lambda for a default",
            "amount",
            Listed(&["main.py:4"]),
            r"
class A:
    def __init__(self, cb=None): self.cb = cb or (lambda <|>value: value)
    def go(self): return self.cb(value=1)
print(A().go())
",
        ),
        row(
            "functions in a list of another file",
            "amount",
            Changed,
            r"
import lib
print(lib.go())
# file: fs.py
def a(<|>value): return value
def b(value): return value * 2
ALL = [a, b]
# file: lib.py
from fs import ALL
def go(): return [f(value=1) for f in ALL]
",
        ),
        row(
            "classes that hand on to each other in one below them",
            "amount",
            Changed,
            r"
class A:
    def __init__(self, <|>qty=1, **kw):
        super().__init__(**kw)
        self.n = qty
class B:
    def __init__(self, name='', **kw):
        super().__init__(**kw)
        self.name = name
class C(B, A):
    def __init__(self, **kw):
        kw.setdefault('qty', 2)
        super().__init__(**kw)
print(C(name='x').n, C(qty=5).n)
",
        ),
        row(
            "a class whose base takes a keyword of this name itself",
            "amount",
            Changed,
            r"
class A:
    def __init__(self, <|>qty=1): self.n = qty
class B(A):
    def __init__(self, qty=3, other=1): super().__init__(qty=qty)
class C(B):
    def __init__(self, *a, **k): super().__init__(*a, **k)
print(B(qty=2).n, C(qty=4).n)
",
        ),
        row(
            "what a function says of its parameters",
            "amount",
            Listed(&["main.py:4", "main.py:5", "main.py:6"]),
            r"
import inspect
def price(*, <|>qty=1): return qty
price.__kwdefaults__['qty'] = 5
print(inspect.signature(price).parameters['qty'].default)
print(price.__kwdefaults__['qty'], price())
other = {'qty': 1}
",
        ),
    ]);
}

#[test]
fn names_that_programs_read_as_texts_are_named() {
    check(vec![
        row(
            "the name of its own class",
            "Walker",
            Told(&["base.py:2"]),
            r"
from base import Base
class <|>Go(Base): pass
class Other(Base):
    def __repr__(self): return type(self).__name__
print(Go())
# file: base.py
class Base:
    def __repr__(self): return f'{self.__class__.__name__}()'
",
        ),
        row(
            "the name of a function",
            "walk",
            Told(&["main.py:4"]),
            r"
def <|>go(): return 1
def stop(): return 2
print(go.__name__, stop.__name__)
",
        ),
        row(
            "mocks and namespaces with a method",
            "walk",
            Listed(&[
                "main.py:4",
                "main.py:5",
                "main.py:5",
                "main.py:6",
                "main.py:6",
            ]),
            r"
from types import SimpleNamespace
from unittest import mock
def run(o): return o.go()
print(run(mock.Mock(go=lambda: 3)), run(mock.Mock(spec=['go'])) is not None)
print(run(SimpleNamespace(go=lambda: 4)), run(type('T', (), {'go': lambda self: 6})()))
# file: lib.py
class Shop:
    def <|>go(self): return 1
",
        ),
        row(
            "keys of what fields become",
            "label",
            Listed(&["main.py:3", "main.py:4", "main.py:4"]),
            r"
import lib
shop = lib.Shop.load({'title': 'a'})
print(lib.Shop.load({'title': 'b'}).dump()['title'])
# file: lib.py
from dataclasses import dataclass, fields
@dataclass
class Shop:
    <|>title: str
    def dump(self): return {field.name: getattr(self, field.name) for field in fields(self)}
    @classmethod
    def load(cls, keys): return cls(**keys)
",
        ),
        row(
            "queries by keywords and texts",
            "label",
            Listed(&["app.py:2", "app.py:2", "app.py:2", "app.py:2"]),
            r"
import app
print(app.found().asked)
# file: app.py
from models import Shop
def found(): return Shop.objects.filter(title='a', title__in='a').order_by('-title').values_list('title')
# file: models.py
class Query:
    asked = 0
    def __getattr__(self, name):
        def more(*texts, **keys):
            for key in [*texts, *keys]: getattr(Shop, key.strip('-').split('__')[0])
            self.asked += 1
            return self
        return more
class Shop:
    objects = Query()
    <|>title = 'a'
",
        ),
        row(
            "a name in a table that is looked up",
            "label",
            Listed(&["use.py:1"]),
            r"
import lib, use
print(use.cells([lib.Shop()]))
# file: lib.py
class Shop:
    def __init__(self): self.<|>title = 3
# file: use.py
COLUMNS = ['title']
def cells(rows): return [[getattr(row, column) for column in COLUMNS] for row in rows]
",
        ),
        row(
            "code that is evaluated",
            "label",
            Listed(&["use.py:1", "use.py:2"]),
            r"
import lib, use
print(use.title(lib.Shop()), use.shown(lib.Shop()))
# file: lib.py
class Shop:
    def __init__(self): self.<|>title = 3
# file: use.py
def title(x): return eval('x.title + 1')
def shown(x): return eval(f'x.title + {1}')
",
        ),
    ]);
}
