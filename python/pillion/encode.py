"""Values to JSON. What the C encoder does not know becomes something it does.

| Python | JSON |
|---|---|
| dataclass, attrs class, pydantic model, any mapping | object |
| named tuple, tuple, deque, range, dict view | array |
| set, frozenset | array, sorted (by value if comparable, else by JSON text) |
| datetime, date, time | ISO 8601 text |
| timedelta | seconds, as a number |
| bytes, bytearray, memoryview | base64 text |
| Enum | its value |
| Path, UUID, Decimal, Fraction, IP address | text |
| numpy scalar, array | number, nested arrays |
| pandas DataFrame, Series or Index | array of row objects, array |
| NaN, pandas' NaT and NA | null |
| infinity | text, which `float()` and JavaScript's `Number()` read: "Infinity", "-Infinity" |

Circular values and everything else are errors that say where in the value.
"""

from __future__ import annotations

import sys

from pillion.wire import make_dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Rule = Callable[[Any], Any]


class Unencodable(Exception):  # noqa: N818
    """A value that has no JSON form. `path` says where it stands."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"`{path}` {problem}")
        self.path = path


def _isoformat(value: Any) -> str:
    return value.isoformat()


def _base64(value: Any) -> str:
    import binascii

    return binascii.b2a_base64(bytes(value), newline=False).decode()


def _sorted_list(value: Any) -> list[Any]:
    items = list(value)
    kinds = {str if isinstance(item, str) else type(item) for item in items}
    if kinds == {str} or kinds <= {int, float, bool}:
        return sorted(items)
    try:
        # By text for everything else: some types (sets of sets) compare, but not in a total order.
        return sorted(items, key=_dumps)
    except (TypeError, ValueError, RecursionError):
        return items  # has an item without JSON form; the error will say which


def _fields(value: Any) -> dict[str, Any]:
    dataclasses = sys.modules["dataclasses"]
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _null(_value: Any) -> None:
    return None


# By the name of a class, so that none of these modules has to be imported to recognise it.
_BY_NAME: dict[str, Rule] = {
    "builtins.set": _sorted_list,
    "builtins.frozenset": _sorted_list,
    "builtins.bytes": _base64,
    "builtins.bytearray": _base64,
    "builtins.memoryview": _base64,
    "builtins.range": list,
    "builtins.dict_keys": list,
    "builtins.dict_values": list,
    "builtins.dict_items": list,
    "collections.deque": list,
    "collections.UserList": list,
    "collections.UserString": str,
    "array.array": list,
    "enum.Enum": lambda value: value.value,
    "datetime.datetime": _isoformat,
    "datetime.date": _isoformat,
    "datetime.time": _isoformat,
    "datetime.timedelta": lambda value: value.total_seconds(),
    "decimal.Decimal": str,
    "fractions.Fraction": str,
    "uuid.UUID": str,
    "ipaddress._IPAddressBase": str,
    "numpy.generic": lambda value: value.item(),
    "numpy.ndarray": lambda value: value.tolist(),
    "pandas._libs.tslibs.nattype.NaTType": _null,
    "pandas._libs.missing.NAType": _null,
    "pandas.core.frame.DataFrame": lambda value: value.to_dict(orient="records"),
    "pandas.core.series.Series": lambda value: value.tolist(),
    "pandas.core.indexes.base.Index": lambda value: value.tolist(),
    "pandas.DataFrame": lambda value: value.to_dict(orient="records"),
    "pandas.Series": lambda value: value.tolist(),
    "pandas.Index": lambda value: value.tolist(),
}
# Not null, which is what is missing: whoever reads these has the number again.
_INFINITE = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
# Objects become key texts by the same rules; only those whose rule gives text or a number.
_known: dict[type, Rule | None] = {}


def forget_types() -> None:
    """Drop what was learnt about user classes, which keeps them alive."""
    _known.clear()


def _rule_for(kind: type) -> Rule | None:
    try:
        return _known[kind]
    except KeyError:
        rule = _known[kind] = _find_rule(kind)
        return rule


def _find_rule(kind: type) -> Rule | None:
    if hasattr(kind, "__dataclass_fields__"):
        return _fields
    if hasattr(kind, "model_dump") and hasattr(kind, "model_fields"):
        return lambda value: value.model_dump()
    if hasattr(kind, "__attrs_attrs__"):
        return lambda value: {a.name: getattr(value, a.name) for a in kind.__attrs_attrs__}
    for base in kind.__mro__:
        rule = _BY_NAME.get(f"{base.__module__}.{base.__qualname__}")
        if rule is not None:
            return rule
    if hasattr(kind, "__fspath__"):
        return lambda value: value.__fspath__()
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
        return lambda value: {key: value[key] for key in value.keys()}  # noqa: SIM118
    return None


def _default(value: Any) -> Any:
    rule = _rule_for(type(value))
    if rule is None:
        raise TypeError("no JSON form")
    return rule(value)


_dumps = make_dumps(_default)


def encode(message: dict[str, Any]) -> bytes:
    """One line for a message. Raises `Unencodable` for a value without JSON form."""
    try:
        text = _dumps(message)
    except (TypeError, ValueError, RecursionError, OverflowError):
        # The slow way converts keys as well and knows where it stands.
        text = _dumps(_plain_message(message))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # What this handler writes for a lone surrogate is its JSON escape.
        return text.encode("utf-8", "backslashreplace") + b"\n"


def to_plain(value: Any, path: str = "result") -> Any:
    """The value as dicts, lists, strings and numbers only."""
    try:
        return _plain(value, path, {})
    except RecursionError:
        raise Unencodable(path, "is nested too deeply for JSON") from None


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    return {key: to_plain(part, key) for key, part in message.items()}


def _plain(value: Any, path: str, parents: dict[int, str]) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if isinstance(value, str):
        return value if kind is str else str.__str__(value)
    if isinstance(value, float):
        if value != value:
            return None  # a value that is missing, as in tables
        return _INFINITE.get(value) or float(value)
    if isinstance(value, int):
        try:
            int.__repr__(value)
        except ValueError:
            raise Unencodable(path, "is an integer with too many digits") from None
        return int(value)
    if id(value) in parents:
        raise Unencodable(path, f"is a circular reference to `{parents[id(value)]}`")
    parents[id(value)] = path
    try:
        if isinstance(value, dict):
            return dict(_plain_items(value, path, parents))
        if isinstance(value, (list, tuple)):
            return _plain_list(value, path, parents)
        rule = _rule_for(kind)
        if rule is None:
            raise Unencodable(path, f"is {_article(kind)}, which has no JSON form")
        return _plain(rule(value), path, parents)
    finally:
        del parents[id(value)]


def _plain_list(items: Iterable[Any], path: str, parents: dict[int, str]) -> list[Any]:
    return [_plain(item, f"{path}[{index}]", parents) for index, item in enumerate(items)]


def _plain_items(
    mapping: dict[Any, Any], path: str, parents: dict[int, str]
) -> Iterator[tuple[str, Any]]:
    for key, value in mapping.items():
        text = _key_text(key, path)
        step = f".{text}" if text.isidentifier() else f"[{text!r}]"
        yield text, _plain(value, path + step, parents)


def _key_text(key: Any, path: str) -> str:
    original = type(key)
    while not isinstance(key, (str, int, float, type(None))):
        rule = None if isinstance(key, (tuple, dict, list)) else _rule_for(type(key))
        converted = None if rule is None else rule(key)
        if rule is None or isinstance(converted, (list, dict)):
            raise Unencodable(path, f"has {_article(original)} as a key; JSON keys are text")
        key = converted
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, float):
        if key != key:
            raise Unencodable(path, f"has {key!r} as a key, which JSON cannot hold")
        if key in _INFINITE:
            return _INFINITE[key]
    # As the C encoder writes them: true, null, 1, 1.5.
    return _dumps(key)


def _article(kind: type) -> str:
    if kind.__module__ in ("builtins", "__main__"):
        name = kind.__qualname__
    else:
        name = f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} `{name}`"
