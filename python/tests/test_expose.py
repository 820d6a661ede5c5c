"""`expose` and `invoke`: functions as tools, and arguments that fit their annotations."""

from __future__ import annotations

import pytest

from pillion import docstrings

SOURCE = '''
from __future__ import annotations
import dataclasses, datetime, decimal, enum, pathlib, uuid
from collections.abc import Iterator
from os.path import join
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict
import pillion

class Kind(enum.Enum):
    A = "a"
    B = 2

@dataclasses.dataclass
class Item:
    name: str
    size: int = 1
    parts: list[Item] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        if self.size < 0:
            raise ValueError("size is negative")

class Options(TypedDict, total=False):
    deep: bool
    when: datetime.date

class Point(NamedTuple):
    x: float
    y: float = 0.0

Name = NewType("Name", str)

def echo(
    a: int = 0, b: float = 0.0, c: str = "", d: bool = False, e: list[int] = [],
    f: dict[int, float] = {}, g: Optional[int] = None, h: Literal["x", 1] = "x",
    i: Kind = Kind.A, j: Item | None = None, k: tuple[int, str] = (1, ""),
    l: tuple[int, ...] = (), m: set[str] = set(), n: bytes = b"",
    o: datetime.datetime = None, p: pathlib.Path = None, q: Any = None, r: Options = None,
    s: Annotated[int, "how many"] = 1, t: Point = None, u: int | str = 1, v: Name = "",
    w: decimal.Decimal = None, x: uuid.UUID = None, y: datetime.timedelta = None,
    z: dict[str, list[Item]] = {},
) -> list[str]:
    """Say what came."""
    return {name: repr(value) for name, value in locals().items()}

def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    More about it.

    Args:
        a: The first.
        b: The other.

    Returns:
        Their sum.
    """
    return a + b

def several(first: int, second: int = 2, *rest: float, key: str = "k", **more: int):
    return [first, second, list(rest), key, more]

def placed(a: int, b: int = 2, /, c: int = 3) -> list[int]:
    return [a, b, c]

def bare(x, y=None):
    return [x, y]

def count(n: int) -> Iterator[int]:
    yield from range(n)
    return "done"

async def later(n: int):
    for i in range(n):
        yield i

def lazy(n: int):
    return (i for i in range(n))

def broken(x: int) -> int:
    return x + "1"

@pillion.method(name="look", safety="read")
def _look() -> Item: return Item("x")

def _private(): ...
class NotAFunction: ...
'''


class Tools:
    """A worker that is asked for the tools of modules."""

    def __init__(self, host):
        self.host = host

    def ask(self, method, **params):
        self.host.send({"id": 1, "method": method, "params": params})
        return self.host.read()

    def list(self, *modules):
        reply = self.ask("expose", modules=list(modules))
        assert "result" in reply, reply
        return reply["result"]

    def named(self, *modules):
        return {tool["name"]: tool for tool in self.list(*modules)["tools"]}

    def call(self, name, params=None, modules=("m",)):
        reply = self.ask("invoke", modules=list(modules), name=name, params=params)
        assert "result" in reply, reply
        return reply["result"]["value"]

    def refusal(self, name, params=None, modules=("m",)):
        reply = self.ask("invoke", modules=list(modules), name=name, params=params)
        assert "error" in reply, reply
        return reply["error"]


@pytest.fixture
def tools(host, write):
    write("m", SOURCE)
    return Tools(host)


def test_what_is_exposed(tools, write):
    names = ["echo", "add", "several", "placed", "bare", "count", "later", "lazy", "broken", "look"]
    assert list(tools.named("m")) == names
    write("n", "from os.path import join\n__all__ = ['join']\ndef own(): ...")
    assert list(tools.named("n")) == ["join"]


def test_how_a_tool_is_described(tools):
    named = tools.named("m")
    add = named["add"]
    assert add["description"] == "Add two numbers.\n\nMore about it."
    assert add["input_schema"] == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": "integer", "default": 2, "description": "The other."},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert add["output_schema"] == {"type": "integer", "description": "Their sum."}
    assert (add["module"], add["function"], add["qualified"]) == ("m", "add", "m_add")
    assert (add["streams"], add["safety"]) == (False, "execute")
    assert named["look"]["safety"] == "read"
    assert named["look"]["output_schema"]["properties"]["size"] == {"type": "integer"}
    streams = {name for name, tool in named.items() if tool["streams"]}
    assert streams == {"count", "later"}
    assert "output_schema" not in named["bare"]


def test_the_same_name_twice_is_told_apart(tools, write):
    write("n", "def add(a: str) -> str: return a\ndef other(): ...")
    names = list(tools.named("m", "n"))
    assert "m_add" in names
    assert "n_add" in names
    assert "add" not in names
    assert "other" in names
    both = ("m", "n")
    assert tools.call("m_add", {"a": 1}, both) == 3
    assert tools.call("n_add", {"a": "x"}, both) == "x"
    assert tools.call("n.other", None, both) is None
    assert tools.call("n:add", ["y"], both) == "y"


@pytest.mark.parametrize(
    ("name", "given", "made"),
    [
        ("a", 3.0, "3"),
        ("b", 1, "1.0"),
        ("f", {"1": 2}, "{1: 2.0}"),
        ("g", None, "None"),
        ("h", 1, "1"),
        ("i", 2, "<Kind.B: 2>"),
        ("i", "A", "<Kind.A: 'a'>"),
        ("j", {"name": "x", "parts": [{"name": "y"}]}, "Item(name='x', size=1, parts=[Item("),
        ("j", None, "None"),
        ("k", [1, "x"], "(1, 'x')"),
        ("l", [1, 2], "(1, 2)"),
        ("m", ["x"], "{'x'}"),
        ("n", "aGk=", "b'hi'"),
        ("o", "2026-01-31T12:00:00Z", "datetime.datetime(2026, 1, 31, 12, 0, tzinfo="),
        ("p", "a/b", "PosixPath('a/b')"),
        ("q", {"x": [1]}, "{'x': [1]}"),
        ("r", {"when": "2026-01-31"}, "{'when': datetime.date(2026, 1, 31)}"),
        ("t", [1, 2], "Point(x=1.0, y=2.0)"),
        ("t", {"x": 1}, "Point(x=1.0, y=0.0)"),
        ("u", "x", "'x'"),
        ("u", 3, "3"),
        ("w", "1.10", "Decimal('1.10')"),
        ("w", 1.5, "Decimal('1.5')"),
        ("x", "12345678-1234-5678-1234-567812345678", "UUID('12345678-"),
        ("y", 1.5, "datetime.timedelta(seconds=1, microseconds=500000)"),
        ("z", {"k": [{"name": "x"}]}, "{'k': [Item("),
        # Nothing is meant by a null that does not fit.
        ("a", None, "0"),
        ("o", None, "None"),
    ],
)
def test_values_become_what_annotations_say(tools, name, given, made):
    assert tools.call("echo", {name: given})[name].startswith(made)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"a": "x"}, '`a` must be an integer, not "x"'),
        ({"a": True}, "`a` must be an integer, not true"),
        ({"a": 1.5}, "`a` must be an integer, not 1.5"),
        ({"b": "1"}, '`b` must be a number, not "1"'),
        ({"c": 1}, "`c` must be text, not 1"),
        ({"d": 1}, "`d` must be true or false, not 1"),
        ({"e": [1, "x"]}, '`e[1]` must be an integer, not "x"'),
        ({"e": "x"}, '`e` must be an array, not "x"'),
        ({"f": {"x": 1}}, '`f` has a key that does not fit: "x"'),
        ({"g": "x"}, '`g` must be an integer, not "x"'),
        ({"h": "y"}, '`h` must be one of "x", 1, not "y"'),
        ({"i": "c"}, '`i` must be one of "a", 2, not "c"'),
        ({"j": {"size": 1}}, "`j` lacks the field `name`"),
        ({"j": {"name": "x", "sise": 1}}, "`j` has no field `sise`"),
        ({"j": {"name": "x", "size": -1}}, "`j` does not fit: size is negative"),
        ({"k": [1]}, "`k` must have 2 items, not 1"),
        ({"n": "%"}, "`n` must be base64"),
        ({"o": "soon"}, "`o` must be a date and time such as"),
        ({"r": {"deep": 1}}, "`r.deep` must be true or false, not 1"),
        ({"u": []}, "`u` fits none of its types"),
        ({"w": "x"}, '`w` must be a number, not "x"'),
        ({"z": {"a b": [{"name": 1}]}}, "`z['a b'][0].name` must be text, not 1"),
        ({"nosuch": 1}, "there is no parameter `nosuch`"),
    ],
)
def test_what_does_not_fit_is_named(tools, params, message):
    error = tools.refusal("echo", params)
    assert error["code"] == "invalid_params"
    assert message in error["message"], error


def test_all_problems_are_told_at_once(tools):
    error = tools.refusal("add", {"b": "x", "c": 1})
    assert "`a` is missing" in error["message"]
    assert "`b` must be an integer" in error["message"]
    assert "no parameter `c`" in error["message"]
    error = tools.refusal("add", {"a": 1, "bb": 1})
    assert error["hint"] == "did you mean `b` instead of `bb`?"
    assert "by place" in tools.refusal("add", [1, 2, 3])["message"]
    assert tools.refusal("add", "x")["code"] == "invalid_params"


def test_arguments_go_where_python_wants_them(tools):
    assert tools.call("add", [1]) == 3
    assert tools.call("several", {"first": 1}) == [1, 2, [], "k", {}]
    assert tools.call("several", [1, 5, 6, 7]) == [1, 5, [6.0, 7.0], "k", {}]
    given = {"first": 1, "rest": [3], "key": "x", "other": 4}
    assert tools.call("several", given) == [1, 2, [3.0], "x", {"other": 4}]
    assert tools.call("placed", {"a": 1, "c": 5}) == [1, 2, 5]
    assert tools.call("bare", {"x": {"any": "thing"}}) == [{"any": "thing"}, None]
    assert tools.call("bare", {"x": None}) == [None, None]
    assert (
        "`other` must be an integer"
        in tools.refusal("several", {"first": 1, "other": ""})["message"]
    )


def test_generators_are_lists_or_streams(tools):
    reply = tools.ask("invoke", modules=["m"], name="count", params={"n": 2})
    assert reply["result"]["value"] == [0, 1]
    assert reply["result"]["streams"] is True
    assert tools.call("later", {"n": 2}) == [0, 1]
    assert tools.call("lazy", {"n": 2}) == [0, 1]
    first = tools.ask("invoke", modules=["m"], name="count", params={"n": 2}, stream=True)
    assert first == {"id": 1, "item": 0}
    assert tools.host.read() == {"id": 1, "item": 1}
    assert tools.host.read()["result"]["value"] == "done"


def test_errors_of_the_function_are_its_own(tools):
    error = tools.refusal("broken", {"x": 1})
    assert (error["code"], error["type"]) == ("exception", "TypeError")
    error = tools.refusal("ad", {})
    assert (error["code"], error["hint"]) == ("not_found", "did you mean `add`?")


def test_a_broken_module_does_not_hide_the_others(tools, write):
    write("bad", "1 / 0")
    listing = tools.list("m", "bad")
    (failed,) = listing["failed"]
    assert failed["module"] == "bad"
    assert failed["error"]["message"] == "ZeroDivisionError: division by zero"
    assert failed["error"]["data"]["traceback"]
    assert [file.rpartition("/")[2] for file in listing["files"]] == ["m.py", "bad.py"]
    assert tools.call("add", [1], ("m", "bad")) == 3
    assert tools.refusal("nosuch", [], ("m", "bad"))["type"] == "ZeroDivisionError"
    assert tools.list("bad")["tools"] == []
    assert tools.list("nosuch")["failed"][0]["error"]["code"] == "not_found"
    assert tools.ask("expose", modules=[])["error"]["code"] == "invalid_request"


def test_the_version_follows_the_tools(tools, write):
    write("n", "def one(): ...")
    version = tools.list("n")["version"]
    assert tools.list("n")["version"] == version
    assert tools.list("m")["version"] != version
    reply = tools.ask("invoke", modules=["n"], name="one")
    assert reply["result"]["version"] == version


def test_definitions_stand_at_the_top(tools, write):
    write(
        "n",
        """
        class Model:
            def __init__(self, given): self.given = given
            @classmethod
            def model_json_schema(cls):
                part = {"$ref": "#/$defs/P"}
                return {"type": "object", "properties": {"p": part}, "$defs": {"P": {}}}
            @classmethod
            def model_validate(cls, value):
                if "p" not in value: raise ValueError("no p")
                return cls(value)
        def take(model: Model) -> int: return len(model.given)
        """,
    )
    schema = tools.named("n")["take"]["input_schema"]
    assert schema["$defs"] == {"P": {}}
    assert "$defs" not in schema["properties"]["model"]
    assert tools.call("take", {"model": {"p": 1}}, ("n",)) == 1
    assert "no p" in tools.refusal("take", {"model": {}}, ("n",))["message"]


@pytest.mark.parametrize(
    "section",
    ["Args:\n    x: y", "Parameters\n----------\nx : int", ":param x: y", "Returns:\n    z"],
)
def test_the_body_of_a_docstring(section):
    assert docstrings.body(f"One\nline.\n\nMore.\n\n{section}") == "One\nline.\n\nMore."
    assert docstrings.body("") == ""
    assert docstrings.body("Note that: this stays.") == "Note that: this stays."
