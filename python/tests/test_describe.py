"""`describe`: which functions, and what is said about them."""

from __future__ import annotations

import pytest

from pillion import docstrings

SOURCE = '''
"""Doc of the module."""
from __future__ import annotations
import dataclasses, enum, datetime, pathlib, functools
from os.path import join
from typing import Annotated, Any, Iterator, Literal, Optional, TypedDict, AsyncIterator
import pillion

class Kind(enum.Enum):
    A = "a"
    B = "b"

@dataclasses.dataclass
class Item:
    name: str
    size: int = 1
    parent: Optional[Item] = None

class Options(TypedDict, total=False):
    deep: bool

def table(
    a: int, b: float, c: str = "x", d: bool = True, e: list[int] = [], f: dict[str, float] = {},
    g: Optional[int] = None, h: Literal["x", 1] = "x", i: Kind = Kind.A, j: Item | None = None,
    k: tuple[int, str] = (1, ""), l: tuple[int, ...] = (), m: set[str] = set(), n: bytes = b"",
    o: datetime.datetime = None, p: pathlib.Path = None, q: Any = None, r: Options = None,
    s: Annotated[int, "how many"] = 1, t: object = object(), *rest: int, u: int | str = 1,
) -> list[Item]:
    """First line
    goes on.

    More.
    """

async def co(x: UnknownType, y: int) -> int: ...
def gen(n: int) -> Iterator[int]: yield 1
async def agen() -> AsyncIterator[str]: yield ""
def anything(**more): ...
def _private(): ...
class NotAFunction: ...
@pillion.method(name="renamed")
def _original(x): "Registered."
def deco(fn):
    @functools.wraps(fn)
    def wrapper(*args): return fn(*args)
    return wrapper
@deco
def decorated(x: int): ...
'''


@pytest.fixture
def described(host, write):
    write("m", SOURCE)
    return {entry["name"]: entry for entry in host.describe("m")["functions"]}


def test_which_functions_in_the_order_of_the_source(host, write):
    write("m", SOURCE)
    result = host.describe("m")
    assert (result["module"], result["doc"]) == ("m", "Doc of the module.")
    names = [entry["name"] for entry in result["functions"]]
    assert names == ["table", "co", "gen", "agen", "anything", "renamed", "deco", "decorated"]
    write("n", "from os.path import join, split\n__all__ = ['join']\ndef own(): ...")
    assert {entry["name"] for entry in host.describe("n")["functions"]} == {"join", "own"}


def test_schemas(described):
    table = described["table"]
    properties = table["params"]["properties"]
    assert table["params"]["required"] == ["a", "b"]
    assert table["params"]["additionalProperties"] is False
    item = properties["j"]["anyOf"][0]
    assert item["required"] == ["name"]
    assert item["properties"]["size"] == {"type": "integer"}
    expected = {
        "a": {"type": "integer"},
        "b": {"type": "number"},
        "c": {"type": "string", "default": "x"},
        "d": {"type": "boolean", "default": True},
        "e": {"type": "array", "items": {"type": "integer"}, "default": []},
        "f": {"type": "object", "additionalProperties": {"type": "number"}, "default": {}},
        "g": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "h": {"enum": ["x", 1], "default": "x"},
        "i": {"enum": ["a", "b"], "title": "Kind", "default": "a"},
        "l": {"type": "array", "items": {"type": "integer"}, "default": []},
        "m": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "default": []},
        "n": {"type": "string", "contentEncoding": "base64", "default": ""},
        "q": {"default": None},
        "s": {"type": "integer", "description": "how many", "default": 1},
        "t": {},
        "rest": {"type": "array", "items": {"type": "integer"}},
        "u": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1},
    }
    for name, schema in expected.items():
        assert properties[name] == schema, name
    assert properties["k"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert "date-time" in str(properties["o"])
    assert "path" in str(properties["p"])
    assert "deep" in str(properties["r"])
    assert table["returns"]["type"] == "array"
    assert table["returns"]["items"]["title"] == "Item"
    assert table["summary"] == "First line goes on."
    assert table["doc"].endswith("More.")
    assert table["line"] == SOURCE.lstrip("\n").split("def table")[0].count("\n") + 2


def test_kinds(described):
    kinds = {name: (entry["async"], entry["stream"]) for name, entry in described.items()}
    assert kinds["table"] == (False, False)
    assert kinds["co"] == (True, False)
    assert kinds["gen"] == (False, True)
    assert kinds["agen"] == (True, True)
    # An annotation that cannot be evaluated does not hide the others.
    assert described["co"]["params"]["properties"] == {"x": {}, "y": {"type": "integer"}}
    assert "additionalProperties" not in described["anything"]["params"]
    assert described["decorated"]["signature"] == "(x: 'int')"
    assert described["gen"]["returns"] == {"type": "array", "items": {"type": "integer"}}


def test_c_modules_and_missing_ones(host):
    functions = {entry["name"]: entry for entry in host.describe("math")["functions"]}
    assert functions["sqrt"]["params"]["required"] == ["x"]
    assert functions["sqrt"]["line"] is None
    assert "hypot" in functions
    host.send({"id": 1, "method": "describe", "params": {"module": "maths"}})
    error = host.read()["error"]
    assert error["code"] == "not_found"
    assert "`math`" in error["hint"]
    host.send({"id": 1, "method": "describe"})
    assert host.read()["error"]["code"] == "invalid_request"


GOOGLE = """Does it.

Args:
    width (int): How wide
        it is.
    *rest: The others.

Returns:
    A number.
"""
NUMPY = """Does it.

Parameters
----------
width : int
    How wide
    it is.
*rest
    The others.

Returns
-------
float
    A number.
"""
SPHINX = """Does it.

:param int width: How wide
    it is.
:param rest: The others.
:type rest: int
:returns: A number.
"""


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_docstring_styles(doc):
    params, returns = docstrings.parse(doc)
    assert params == {"width": "How wide it is.", "rest": "The others."}
    assert returns.endswith("A number.")


def test_descriptions_reach_the_schema(host, write):
    write("m", f"def f(width, *rest):\n    '''{GOOGLE.replace(chr(10), chr(10) + '    ')}'''\n")
    entry = host.describe("m")["functions"][0]
    assert entry["params"]["properties"]["width"]["description"] == "How wide it is."
    assert entry["returns"]["description"] == "A number."
