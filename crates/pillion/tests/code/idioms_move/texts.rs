//! Code that stands in texts: what deletes, moves or changes something names it there.

use super::{Changed, Idiom, Listed, Refused, check};

#[test]
fn what_a_text_runs_is_not_deleted() {
    check(DELETED);
}

#[test]
fn what_a_text_runs_is_named_when_it_moves() {
    check(MOVED);
}

#[test]
fn what_a_text_calls_is_named_when_it_changes() {
    check(OTHERS);
}

const DELETED: &[Idiom] = &[
    Idiom {
        name: "delete what a doctest of its module calls",
        program: "\
--- main.py
def price():
    return 2


def total():
    '''
    >>> price() + total()
    5
    '''
    return 3


print(total())
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "price"}"#,
        verdict: Refused("main.py:7"),
    },
    Idiom {
        name: "delete what its own doctest alone calls",
        program: "\
--- main.py
def price():
    '''
    >>> price()
    2
    '''
    return 2


print('so')
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "price"}"#,
        verdict: Changed(&["-def price"]),
    },
    Idiom {
        name: "delete a method that documentation tests",
        program: "\
--- main.py
class Shop:
    def price(self):
        return 2

    def total(self):
        return 3


print(Shop().total())
--- docs/use.rst
>>> from main import Shop
>>> Shop().price()
2
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "Shop/price"}"#,
        verdict: Refused("docs/use.rst:2"),
    },
    Idiom {
        name: "delete what documentation only speaks of",
        program: "\
--- main.py
def price():
    return 2


print('so')
--- README.md
See `main.price`:

    from main import price
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "price"}"#,
        verdict: Changed(&["-def price"]),
    },
    Idiom {
        name: "delete what another Python is given",
        program: "\
--- main.py
import subprocess
import sys

subprocess.run([sys.executable, '-c', 'from shop import price; price()'])
--- shop.py
def price():
    return 2
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "price"}"#,
        verdict: Refused("main.py:4"),
    },
    Idiom {
        name: "delete what a script without an ending imports",
        program: "\
--- main.py
print('so')
--- shop.py
def price():
    return 2
--- bin/tool
#!/usr/bin/env python3
from shop import price
price()
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "price"}"#,
        verdict: Refused("bin/tool:2"),
    },
    Idiom {
        name: "delete what a command calls",
        program: "\
--- main.py
print('so')
--- shop.py
def price():
    return 2
--- Makefile
all:
\tpython -c 'import shop; shop.price()'
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "price"}"#,
        verdict: Refused("Makefile:2"),
    },
    Idiom {
        name: "delete an attribute that a string reads",
        program: "\
--- main.py
class Shop:
    title = 'so'


print('{0.title}'.format(Shop()))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "Shop/title"}"#,
        verdict: Refused("main.py:5"),
    },
    Idiom {
        name: "delete an attribute that a path reads",
        program: "\
--- main.py
import operator


class Shop:
    title = 'so'


class Town:
    shop = Shop()


print(operator.attrgetter('shop.title')(Town()))
",
        ask: ("safe_delete", "", ""),
        more: r#"{"name_path": "Shop/title"}"#,
        verdict: Refused("main.py:12"),
    },
];

const MOVED: &[Idiom] = &[
    Idiom {
        name: "a function that a doctest of what stays calls",
        program: "\
--- main.py
import shop

print(shop.total())
--- shop.py
def price():
    return 2


def total():
    '''
    >>> price()
    2
    '''
    return 3
--- new.py
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "new.py"}"#,
        verdict: Listed("\"line\":7"),
    },
    Idiom {
        name: "a function whose doctest calls what stays",
        program: "\
--- main.py
import shop

print(shop.price())
--- shop.py
def total():
    return 3


def price():
    '''
    >>> price() + total()
    5
    '''
    return 2
--- new.py
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "new.py"}"#,
        verdict: Listed("its doctest has this from the old module"),
    },
    Idiom {
        name: "a function that code in a string imports",
        program: "\
--- main.py
import subprocess
import sys

subprocess.run([sys.executable, '-c', 'from shop import price; price()'])
--- shop.py
def price():
    return 2
--- new.py
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "new.py"}"#,
        verdict: Listed("in code that a string holds"),
    },
    Idiom {
        name: "a function that a package is entered by",
        program: "\
--- main.py
print('so')
--- shop.py
def price():
    return 2
--- new.py
--- pyproject.toml
[project.scripts]
tool = \"shop:price\"
",
        ask: ("move", "shop.py", "def |price"),
        more: r#"{"dest_file": "new.py"}"#,
        verdict: Listed("pyproject.toml"),
    },
    Idiom {
        name: "a module that is started by its path",
        program: "\
--- main.py
print('so')
--- tools/__init__.py
--- tools/shop.py
print(2)
--- Makefile
all:
\tpython ./tools/shop.py
",
        ask: ("move", "tools/shop.py", ""),
        more: r#"{"dest_file": "tools/store.py"}"#,
        verdict: Listed("Makefile"),
    },
    Idiom {
        name: "a module that a doctest takes from its package",
        program: "\
--- main.py
print('so')
--- tools/__init__.py
--- tools/shop.py
print(2)
--- docs/use.rst
>>> from tools import shop
",
        ask: ("move", "tools/shop.py", ""),
        more: r#"{"dest_file": "tools/store.py"}"#,
        verdict: Listed("docs/use.rst"),
    },
];

const OTHERS: &[Idiom] = &[
    Idiom {
        name: "a parameter is removed that a doctest passes",
        program: "\
--- main.py
def price(qty, tax=0):
    '''
    >>> price(2, 3)
    2
    '''
    return qty


print(price(2))
",
        ask: ("change_signature", "main.py", "def |price"),
        more: r#"{"remove": ["tax"]}"#,
        verdict: Listed("it is called in a doctest"),
    },
    Idiom {
        name: "a parameter of what is made in a document",
        program: "\
--- main.py
class Shop:
    def __init__(self, qty, tax=0):
        self.qty = qty


print(Shop(2).qty)
--- docs/use.rst
>>> from main import Shop
>>> Shop(2, 3).qty
2
",
        ask: ("change_signature", "main.py", "def |__init__"),
        more: r#"{"remove": ["tax"]}"#,
        verdict: Listed("docs/use.rst"),
    },
    Idiom {
        name: "a method that a doctest calls",
        program: "\
--- main.py
class Shop:
    def price(self, qty, tax=0):
        '''
        >>> Shop().price(2, 3)
        2
        '''
        return qty


print(Shop().price(2))
",
        ask: ("change_signature", "main.py", "def |price"),
        more: r#"{"remove": ["tax"]}"#,
        verdict: Listed("it is called in a doctest"),
    },
    Idiom {
        name: "a function that a doctest calls is inlined",
        program: "\
--- main.py
def price(qty):
    return qty * 2


def total():
    '''
    >>> price(2)
    4
    '''
    return price(3)


print(total())
",
        ask: ("inline", "main.py", "def |price"),
        more: "",
        verdict: Listed("in a doctest"),
    },
];
