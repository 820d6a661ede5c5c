//! What a move or an inline must not forget of the files around: an empty file that gets a
//! definition, scripts whose imports stand in the middle, what tests replace.

use super::{Changed, Idiom, Listed, Refused, check};

#[test]
fn what_moves_stands_behind_its_imports_and_before_its_uses() {
    check(MOVED);
}

#[test]
fn what_is_replaced_in_the_old_module_is_named() {
    check(REPLACED);
}

#[test]
fn imports_that_rope_does_not_see_are_looked_at() {
    check(INLINED);
}

const MOVED: &[Idiom] = &[
    Idiom {
        name: "into an empty file",
        program: "\
--- shop.py
import json
from decimal import Decimal


def price(qty):
    return json.dumps(int(Decimal(qty)))
--- pkg/__init__.py
--- main.py
import shop
print(shop.price(2))
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "pkg/__init__.py"}"#,
        verdict: Changed(&["+import json"]),
    },
    Idiom {
        name: "into a file of comments",
        program: "\
--- shop.py
import json
from decimal import Decimal


def price(qty):
    return json.dumps(int(Decimal(qty)))
--- cost.py
# What things cost.

--- main.py
import shop
print(shop.price(2))
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "cost.py"}"#,
        verdict: Changed(&["+import json"]),
    },
    Idiom {
        name: "into a script that imports more later",
        program: "\
--- shop.py
LIMIT = 4


def price(qty):
    return min(qty, LIMIT)


def other():
    return 1
--- main.py
from shop import price
print(price(2))
import shop
print(shop.other())
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "main.py"}"#,
        verdict: Changed(&["+from shop import LIMIT"]),
    },
    Idiom {
        name: "a function of the new module that is called when it is imported",
        program: "\
--- shop.py
def price(qty):
    return qty
--- main.py
import shop


def twice(qty):
    return shop.price(qty) * 2


class Till:
    def sum(self):
        return twice(3)


print(Till().sum())
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "main.py"}"#,
        verdict: Changed(&["+def price"]),
    },
    Idiom {
        name: "a value that is used before the imports end",
        program: "\
--- main.py
limit = 4
print(limit)
import json
print(json.dumps(limit))
",
        ask: ("move", "main.py", "|limit = 4"),
        more: r#"{"dest_file": "limits.py"}"#,
        verdict: Changed(&["+from limits import limit"]),
    },
    Idiom {
        name: "a function that one branch of the new module has under another name",
        program: "\
--- shop.py
def price(qty):
    return qty
--- main.py
import sys
if sys.version_info > (3, 0):
    from shop import price as cost
else:
    cost = min
print(cost(2))
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "main.py"}"#,
        verdict: Refused("in one branch there"),
    },
];

const REPLACED: &[Idiom] = &[
    Idiom {
        name: "a function that calls what a test replaces by a string",
        program: "\
--- service.py
RATE = 2


def fetch(ident):
    return ident


def compute(ident):
    return fetch(ident) * RATE
--- test_service.py
from unittest import mock

import service


def test_compute():
    with mock.patch('service.fetch', return_value=5):
        assert service.compute(1) == 10
--- main.py
print(1)
",
        ask: ("move", "service.py", "def |compute"),
        more: r#"{"dest_file": "computing.py"}"#,
        verdict: Listed("`fetch` of the module gets another value here"),
    },
    Idiom {
        name: "a function that reads what others set",
        program: "\
--- service.py
RATE = 2


def fetch(ident):
    return ident


def compute(ident):
    return fetch(ident) * RATE
--- main.py
import service
service.RATE = 3
print(service.compute(1))
",
        ask: ("move", "service.py", "def |compute"),
        more: r#"{"dest_file": "computing.py"}"#,
        verdict: Listed("`RATE` of the module gets another value here"),
    },
    Idiom {
        name: "a fixture that goes where its old module imports from",
        program: "\
--- helpers.py
LIMIT = 3
--- conftest.py
import pytest

from helpers import LIMIT


@pytest.fixture
def shop():
    return 1


@pytest.fixture
def other():
    return LIMIT
--- main.py
print(1)
",
        ask: ("move", "conftest.py", "def |shop"),
        more: r#"{"dest_file": "helpers.py"}"#,
        verdict: Listed("where pytest looks"),
    },
    Idiom {
        name: "a test that pytest does not find",
        program: "\
--- test_shop.py
def test_one():
    assert True


def test_two():
    assert True
--- main.py
print(1)
",
        ask: ("move", "test_shop.py", "def |test_one"),
        more: r#"{"dest_file": "checks.py"}"#,
        verdict: Listed("are not found"),
    },
    Idiom {
        name: "what looks names of its module up",
        program: "\
--- shop.py
def price():
    return 1


def cost(name):
    return globals()[name]()
--- main.py
import shop
print(shop.cost('price'))
",
        ask: ("move", "shop.py", "def |cost"),
        more: r#"{"dest_file": "costs.py"}"#,
        verdict: Listed("`globals` means another module"),
    },
];

const INLINED: &[Idiom] = &[
    Idiom {
        name: "a name that a branch imports under another",
        program: "\
--- shop.py
def price(qty):
    return qty + 1
--- main.py
import sys
if sys.version_info > (3, 0):
    from shop import price as cost
else:
    cost = None
print(cost(2))
",
        ask: ("inline", "shop.py", "def |price"),
        more: "",
        verdict: Refused("is imported where it cannot be replaced"),
    },
    Idiom {
        name: "a constant that a package hands on",
        program: "\
--- pkg/__init__.py
from .shop import LIMIT
--- pkg/shop.py
LIMIT = 3


def most():
    return LIMIT
--- main.py
import pkg
print(pkg.LIMIT)
",
        ask: ("inline", "pkg/shop.py", "|LIMIT = 3"),
        more: "",
        verdict: Refused("is imported where it cannot be replaced"),
    },
    Idiom {
        name: "the alias of a module",
        program: "\
--- shop.py
RATE = 2


def price():
    return RATE
--- main.py
import shop as store
print(store.price())
",
        ask: ("inline", "main.py", "as |store"),
        more: "",
        verdict: Refused("a module cannot be inlined"),
    },
    Idiom {
        name: "an import that stands behind what it depends on",
        program: "\
--- shop.py
LIMIT = 4


def most(qty):
    return min(qty, LIMIT)
--- setting.py
level = 1
--- main.py
import setting
import shop
setting.level = 5
from setting import level
print(level, shop.most(3))
",
        ask: ("inline", "shop.py", "def |most"),
        more: "",
        verdict: Refused("would run sooner"),
    },
    Idiom {
        name: "a function that reads what others set of its module",
        program: "\
--- shop.py
LIMIT = 4


def most():
    return LIMIT
--- main.py
import shop
shop.LIMIT = 5
print(shop.most())
",
        ask: ("inline", "shop.py", "def |most"),
        more: "",
        verdict: Listed("`LIMIT` of the module gets another value here"),
    },
];
