"""The table of `encode`: what becomes what, and how errors name the place."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import math
import pathlib
import random
import sys
import types
import typing
import uuid

import pytest

from pillion.encode import Unencodable, encode
from pillion.wire import loads

UTC = datetime.timezone.utc


class Color(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: typing.Any = None
    shared: typing.ClassVar[int] = 5


class Pair(typing.NamedTuple):
    left: int
    right: int


TABLE = [
    (Point(1, Point(2)), {"x": 1, "y": {"x": 2, "y": None}}),
    (Pair(1, 2), [1, 2]),
    (Color.RED, "red"),
    (Color.PAIR, [1, 2]),
    (Level.HIGH, 3),
    (datetime.datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC), "2024-02-03T04:05:06+00:00"),
    (datetime.date(2024, 2, 3), "2024-02-03"),
    (datetime.time(4, 5), "04:05:00"),
    (datetime.timedelta(minutes=1, milliseconds=500), 60.5),
    (pathlib.Path("/a/b"), "/a/b"),
    (pathlib.PurePosixPath("c"), "c"),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    ({"a", 1, None}, ["a", 1, None]),
    ({(2, 1), (1, 2)}, [[1, 2], [2, 1]]),
    (b"\x00\xff", "AP8="),
    (bytearray(b"a"), "YQ=="),
    (memoryview(b"a"), "YQ=="),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (decimal.Decimal("1.10"), "1.10"),
    (fractions.Fraction(1, 3), "1/3"),
    (ipaddress.ip_address("::1"), "::1"),
    (collections.deque([1]), [1]),
    (collections.Counter("aa"), {"a": 2}),
    (collections.ChainMap({"a": 1}), {"a": 1}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    ({"a": 1}.keys(), ["a"]),
    (range(3), [0, 1, 2]),
    (array.array("i", [1]), [1]),
    ({2: "a", None: "b", True: "c", 1.5: "d"}, {"2": "a", "null": "b", "true": "c", "1.5": "d"}),
    ({Color.RED: 1, pathlib.Path("p"): 2}, {"red": 1, "p": 2}),
    ({datetime.date(2024, 1, 2): {uuid.UUID(int=2): b"a"}},
     {"2024-01-02": {"00000000-0000-0000-0000-000000000002": "YQ=="}}),
    ("\ud800", "\ud800"),
    ("\x00\u2028\U0001f600", "\x00\u2028\U0001f600"),
    (2**80, 2**80),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), TABLE, ids=[repr(v)[:40] for v, _ in TABLE])
def test_table(value, expected):
    line = encode({"id": 1, "result": value})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"id": 1, "result": expected}
    # The slow way, taken when something else in the value needs it, gives the same.
    line = encode({"id": 1, "result": [value, {Color.RED: 0}]})
    assert json.loads(line)["result"] == [expected, {"red": 0}]


class Node:
    pass


def circular():
    value: dict = {"a": []}
    value["a"].append(value)
    return value


def deep():
    value: list = []
    for _ in range(200_000):
        value = [value]
    return value


ERRORS = [
    ({"items": [1, 2, 3, Point(1, object())]}, "`result.items[3].y` is an `object`"),
    ({"a b": [Node()]}, "`result['a b'][0]` is a `test_encode.Node`"),
    (Point, "`result` is a `type`"),
    ({(1, 2): 3}, "`result` has a `tuple` as a key"),
    ({math.nan: 3}, "`result` has nan as a key"),
    (circular(), "`result.a[0]` is a circular reference to `result`"),
    (1j, "`result` is a `complex`"),
    ([iter([])], "`result[0]` is a `list_iterator`"),
    (sys.stdin, "`result` is a"),
]


@pytest.mark.parametrize(("value", "message"), ERRORS, ids=[m for _, m in ERRORS])
def test_errors_name_the_place(value, message):
    with pytest.raises(Unencodable) as caught:
        encode({"id": 1, "result": value})
    assert str(caught.value).startswith(message)


def test_too_deep_and_too_long():
    with pytest.raises(Unencodable, match="nested too deeply"):
        encode({"result": deep()})
    if hasattr(sys, "get_int_max_str_digits"):
        with pytest.raises(Unencodable, match="too many digits"):
            encode({"result": [10**5000]})


def test_numpy_is_known_by_name():
    # The rules go by the class's name, so stand-ins will do and numpy need not be installed.
    scalar = type("float32", (type("generic", (), {"__module__": "numpy"}),), {})
    scalar.item = lambda self: 1.5
    ndarray = type("ndarray", (), {"__module__": "numpy", "tolist": lambda self: self.rows})
    matrix, holed = ndarray(), ndarray()
    matrix.rows, holed.rows = [[0, 1], [2, 3]], [1.0, math.nan]
    line = encode({"result": {"a": matrix, "b": scalar()}})
    assert json.loads(line)["result"] == {"a": [[0, 1], [2, 3]], "b": 1.5}
    # What is missing in a table is null.
    assert json.loads(encode({"result": holed}))["result"] == [1.0, None]
    assert json.loads(encode({"result": {"x": math.nan}}))["result"] == {"x": None}


def test_infinity_is_text_that_is_read_as_the_number():
    value = {"x": [math.inf, -math.inf], "s": {1, -math.inf}, math.inf: {-math.inf: 1.5}}
    plain = json.loads(encode({"result": value}))["result"]
    assert plain == {
        "x": ["Infinity", "-Infinity"],
        "s": ["-Infinity", 1],
        "Infinity": {"-Infinity": 1.5},
    }
    assert [float(text) for text in plain["x"]] == [math.inf, -math.inf]


def test_invalid_result_over_the_wire(host, write):
    write("m", "def f(): return {'items': [{'handle': object()}]}\ndef nan(): return float('nan')")
    error = host.error("m:f")
    assert error["code"] == "invalid_result"
    assert error["message"] == "`result.items[0].handle` is an `object`, which has no JSON form"
    assert error["data"] == {"path": "result.items[0].handle"}
    assert host.result("m:nan") is None


def test_random_values_come_back():
    chance = random.Random(3)

    def make(depth: int):
        kind = chance.randrange(8 if depth else 6)
        if kind == 0:
            return chance.choice([None, True, False])
        if kind == 1:
            return chance.randrange(-(10**20), 10**20)
        if kind == 2:
            return chance.uniform(-1e300, 1e300)
        if kind < 6:
            return "".join(chr(chance.randrange(0xD800)) for _ in range(chance.randrange(5)))
        if kind == 6:
            return [make(depth - 1) for _ in range(chance.randrange(4))]
        return {f"k{chance.randrange(9)}": make(depth - 1) for _ in range(chance.randrange(4))}

    for _ in range(2000):
        value = make(4)
        line = encode({"result": value})
        assert json.loads(line) == loads(line) == {"result": value}
