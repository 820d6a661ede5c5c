//! Rename: names in texts that run or are filled in: doctests, commands, format strings.

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
fn what_runs_in_texts_is_named() {
    check(vec![
        row(
            "a function in a doctest of its module",
            "cost",
            Listed(&["shop.py:5"]),
            r"
import doctest, shop
print(doctest.testmod(shop))
# file: shop.py
def <|>price(): return 2
def total():
    '''Twice.

    >>> [price(),
    ...  total()]
    [2, 4]
    '''
    return price() * 2
",
        ),
        row(
            "a function in a doctest of a module that imports it",
            "cost",
            Listed(&["use.py:4"]),
            r"
import doctest, use
print(doctest.testmod(use))
# file: shop.py
def <|>price(): return 2
# file: use.py
from shop import price
def total():
    '''
    >>> price() + total()
    6
    '''
    return price() * 2
",
        ),
        row(
            "a method in a doctest of another module",
            "cost",
            Listed(&["use.py:4"]),
            r"
import doctest, use
print(doctest.testmod(use))
# file: shop.py
class Shop:
    def <|>price(self): return 2
# file: use.py
'''
>>> from shop import Shop
>>> shop = Shop()
>>> shop.price()
2
'''
",
        ),
        row(
            "a parameter in a doctest",
            "count",
            Listed(&["shop.py:4", "use.py:3"]),
            r"
import doctest, shop, use
print(doctest.testmod(shop), doctest.testmod(use))
# file: shop.py
def price(<|>qty): return qty * 2
def total():
    '''
    >>> price(qty=2) + total()
    5
    '''
    return 1
# file: use.py
'''
>>> import shop
>>> shop.price(qty=2)
4
'''
",
        ),
        row(
            "a function in documentation that is tested",
            "cost",
            Told(&["docs/use.rst:3", "docs/use.rst:4"]),
            r"
import doctest, sys
sys.path.append('.')
print(doctest.testfile('docs/use.rst', module_relative=False))
# file: shop.py
def <|>price(): return 2
# file: docs/use.rst
The price is what price says.

>>> from shop import price
>>> price()
2
",
        ),
        row(
            "a function in documentation that shows code",
            "cost",
            Told(&["README.md:4", "README.md:5"]),
            r"
from shop import price
print(price())
# file: shop.py
def <|>price(): return 2
# file: README.md
The price is what price says.

```python
from shop import price
print(price())
```
",
        ),
        row(
            "a function in code that another Python is given",
            "cost",
            Listed(&["main.py:4", "main.py:4", "main.py:5"]),
            r"
import subprocess, sys
run = lambda code: print(subprocess.run([sys.executable, '-c', code], capture_output=True).stdout)
run('from shop import price; print(price())')
run('import shop as s\nprint(s.price())')
run('price = 1; print(price)')
# file: shop.py
def <|>price(): return 2
",
        ),
        row(
            "a function in commands of other files",
            "cost",
            Told(&[
                ".github/workflows/ci.yml:2",
                "Dockerfile:2",
                "Makefile:2",
                "bin/tool:2",
                "bin/tool:3",
                "notebook.ipynb:3",
                "notebook.ipynb:3",
                "pyproject.toml:2",
                "run.sh:2",
                "tox.ini:2",
            ]),
            r#"
from shop import price
print(price())
# file: shop.py
def <|>price(): return 2
# file: .github/workflows/ci.yml
steps:
- run: python -c "import shop; shop.price()"
# file: Dockerfile
FROM python
CMD ["python", "-c", "import shop; shop.price()"]
# file: Makefile
all:
	python -c "import shop; shop.price()" --price=3
# file: bin/tool
#!/usr/bin/env python3
from shop import price
price()
# file: notebook.ipynb
{"cells": [{"cell_type": "code",
"source": [
"from shop import price\nprice()"
]}]}
# file: pyproject.toml
[project.scripts]
tool = "shop:price"
# file: run.sh
price=3
python -m shop $price && python -c "import shop; shop.price()"
# file: tox.ini
[testenv]
commands = python -c "import shop; shop.price()"
"#,
        ),
    ]);
}

#[test]
fn what_is_read_when_a_string_is_filled_in_is_changed_or_named() {
    check(vec![
        row(
            "format with the object itself",
            "label",
            Changed,
            r"
class Shop:
    def __init__(self): self.<|>title = 'so'
    def show(self): return '{self.title} {{0}}'.format(self=self)
print(Shop().show())
# file: use.py
from main import Shop
def show(shop: Shop): return '{0.title} {.title!r:>{0.title}} {s.title}'.format(shop, s=shop)
",
        ),
        row(
            "format with what nobody knows",
            "label",
            Listed(&["main.py:5"]),
            r"
class Shop:
    def __init__(self): self.<|>title = 'so'
shop = Shop()
def show(o): return '{0.title} {title}'.format(o, title=1)
print(show(shop))
",
        ),
        row(
            "format with something else",
            "label",
            Changed,
            r"
class Shop:
    def __init__(self): self.<|>title = 'so'
class Other:
    def __init__(self): self.title = 'no'
print(Shop().title, '{0.title}'.format(Other()))
",
        ),
        row(
            "a string that is filled in elsewhere",
            "label",
            Listed(&["texts.py:1"]),
            r"
import texts
class Shop:
    def __init__(self): self.<|>title = 'so'
def show(o): return texts.LINE.format(o)
print(show(Shop()))
# file: texts.py
LINE = 'it is {0.title}, title'
",
        ),
        row(
            "a further attribute in a string",
            "label",
            Listed(&["show.py:2"]),
            r"
import show
class Shop:
    def __init__(self): self.<|>title = 'so'
class Town:
    def __init__(self): self.shop = Shop()
print(show.show(Town()))
# file: show.py
def show(o):
    return '{0.shop.title}'.format(o)
",
        ),
        row(
            "keys of a typed dictionary in strings",
            "label",
            Listed(&["use.py:4"]),
            r"
from typing import TypedDict
class Shop(TypedDict): <|>title: str
shop: Shop = {'title': 'so'}
print('{0[title]} {s[title]}'.format(shop, s=shop), '%(title)s' % shop)
print('{title}'.format_map(shop))
import use; print(use.show(shop), use.lines([shop]))
# file: use.py
from operator import itemgetter
def lines(all): return list(map(first, all))
def show(o): return ''
first = itemgetter('title')
",
        ),
        row(
            "attributes as keys in strings",
            "label",
            Changed,
            r"
class Shop:
    def __init__(self): self.<|>title = 'so'
shop = Shop()
print('%(title)s' % vars(shop), '%(title)s' % shop.__dict__, '{title}'.format_map(vars(shop)))
",
        ),
        row(
            "attributes that are spread into a string",
            "label",
            Changed,
            r"
class Shop:
    def __init__(self): self.<|>title = 'so'
shop = Shop()
print('{title}'.format(**vars(shop)))
",
        ),
        row(
            "a template",
            "label",
            Listed(&["main.py:6", "main.py:6"]),
            r"
from string import Template
class Shop:
    def __init__(self): self.<|>title = 'so'
shop = Shop()
print(Template('$title ${title} $$').substitute(vars(shop)))
",
        ),
        row(
            "attrgetter with a path",
            "label",
            Listed(&["use.py:2"]),
            r"
import use
class Shop:
    def __init__(self): self.<|>title = 'so'
class Town:
    def __init__(self): self.shop = Shop()
print(use.get(Town()))
# file: use.py
from operator import attrgetter
get = attrgetter('shop.title')
",
        ),
        row(
            "methodcaller",
            "label",
            Listed(&["use.py:2"]),
            r"
import use
class Shop:
    def <|>title(self): return 2
print(use.get(Shop()))
# file: use.py
from operator import methodcaller
get = methodcaller('title')
",
        ),
        row(
            "a template of another language",
            "label",
            Told(&["templates/shop.html:1"]),
            r"
class Shop:
    def __init__(self): self.<|>title = 'so'
print(Shop().title)
# file: templates/shop.html
<title>{{ shop.title }}</title><p>{{ other.title }}</p>
",
        ),
    ]);
}
