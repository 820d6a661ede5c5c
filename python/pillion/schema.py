"""JSON schemas from annotations: what a caller may pass, what it will get back."""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import enum
import types
import typing

from pillion.encode import Unencodable, to_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Schema = dict  # a JSON schema object

_SIMPLE: dict[Any, Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    bytearray: {"type": "string", "contentEncoding": "base64"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    range: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
    object: {},
    typing.Any: {},
}
# By name: describing a function must not import `decimal` or `pathlib` if nobody has.
_BY_NAME: dict[str, Schema] = {
    "datetime.datetime": {"type": "string", "format": "date-time"},
    "datetime.date": {"type": "string", "format": "date"},
    "datetime.time": {"type": "string", "format": "time"},
    "datetime.timedelta": {"type": "number", "description": "seconds"},
    "decimal.Decimal": {"type": "string", "format": "decimal"},
    "uuid.UUID": {"type": "string", "format": "uuid"},
    "pathlib.PurePath": {"type": "string", "format": "path"},
    "pathlib._local.PurePath": {"type": "string", "format": "path"},
    "os.PathLike": {"type": "string", "format": "path"},
    "numpy.ndarray": {"type": "array"},
    "pandas.core.frame.DataFrame": {"type": "array", "items": {"type": "object"}},
}
_ARRAYS = (list, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable)
_SETS = (abc.Set, abc.MutableSet, set, frozenset)
_STREAMS = (abc.Iterator, abc.Generator, abc.AsyncIterator, abc.AsyncGenerator, abc.AsyncIterable)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
# `Required` and `NotRequired` came with Python 3.11.
_WRAPPERS = tuple(
    getattr(typing, name)
    for name in ("Required", "NotRequired", "ClassVar", "Final")
    if hasattr(typing, name)
)
_AWAITABLES = (abc.Awaitable, abc.Coroutine)


def schema_of(hint: Any, seen: tuple[Any, ...] = ()) -> Schema:
    """The schema of an annotation; `{}` (anything) for what cannot be said."""
    if hint in seen:  # a type that contains itself
        return {"type": "object", "title": getattr(hint, "__name__", str(hint))}
    origin = typing.get_origin(hint)
    if origin is not None:
        return _of_generic(origin, typing.get_args(hint), seen)
    try:
        simple = _SIMPLE.get(hint)
    except TypeError:  # unhashable
        return {}
    if simple is not None:
        return dict(simple)
    inner = alias_of(hint)
    if inner is not None:
        return schema_of(inner, (*seen, hint))
    if isinstance(hint, type):
        return _of_class(hint, (*seen, hint))
    return {}


def alias_of(hint: Any) -> Any:
    """What a `NewType`, a `type` statement or a bound type variable stands for, if it is one."""
    if isinstance(hint, typing.TypeVar):
        return hint.__bound__
    supertype = getattr(hint, "__supertype__", None)
    if supertype is not None:
        return supertype
    alias = getattr(typing, "TypeAliasType", None)  # came with Python 3.12
    return hint.__value__ if alias is not None and isinstance(hint, alias) else None


def is_stream(hint: Any) -> bool:
    """Does an annotation promise values one by one?"""
    return typing.get_origin(hint) in _STREAMS or hint in _STREAMS


def _of_class(kind: type, seen: tuple[Any, ...]) -> Schema:
    if issubclass(kind, enum.Enum):
        return {"enum": [_plain(member.value) for member in kind], "title": kind.__name__}
    if dataclasses.is_dataclass(kind):
        required = [
            field.name
            for field in dataclasses.fields(kind)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        names = [field.name for field in dataclasses.fields(kind)]
        return _object(kind, names, required, seen)
    if typing.is_typeddict(kind):
        required = sorted(kind.__required_keys__)
        return _object(kind, list(kind.__annotations__), required, seen)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = hints_of(kind)
        parts = [{"title": name, **schema_of(hints.get(name), seen)} for name in kind._fields]
        return {"type": "array", "prefixItems": parts, "title": kind.__name__}
    if hasattr(kind, "model_json_schema"):
        return kind.model_json_schema()
    for base in kind.__mro__:
        found = _BY_NAME.get(f"{base.__module__}.{base.__qualname__}")
        if found is None and base is not object:
            found = _SIMPLE.get(base)
        if found is not None:
            return dict(found)
    if issubclass(kind, abc.Mapping):
        return {"type": "object"}
    return {"title": kind.__name__}


def _object(kind: type, names: list[str], required: list[str], seen: tuple[Any, ...]) -> Schema:
    hints = hints_of(kind)
    properties = {name: schema_of(hints.get(name, typing.Any), seen) for name in names}
    found: Schema = {"type": "object", "title": kind.__name__, "properties": properties}
    if required:
        found["required"] = required
    return found


def _of_generic(origin: Any, args: tuple[Any, ...], seen: tuple[Any, ...]) -> Schema:
    if origin is typing.Annotated:
        found = schema_of(args[0], seen)
        notes = [note for note in args[1:] if isinstance(note, str)]
        return {**found, "description": " ".join(notes)} if notes else found
    if origin is typing.Literal:
        return {"enum": [_plain(value) for value in args]}
    if origin in (typing.Union, types.UnionType):
        options = [schema_of(arg, seen) for arg in args]
        return {} if {} in options else {"anyOf": options}
    if origin in _AWAITABLES:
        return schema_of(args[-1], seen)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return {"type": "array", "items": schema_of(args[0], seen)}
        return {
            "type": "array",
            "prefixItems": [schema_of(arg, seen) for arg in args],
            "minItems": len(args),
            "maxItems": len(args),
        }
    if origin in _MAPPINGS:
        values = schema_of(args[1], seen) if len(args) > 1 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if origin in _ARRAYS or origin in _SETS or origin in _STREAMS:
        found = {"type": "array"}
        items = schema_of(args[0], seen) if args else {}
        if items:
            found["items"] = items
        if origin in _SETS:
            found["uniqueItems"] = True
        return found
    if origin in _WRAPPERS:
        return schema_of(args[0], seen)
    return schema_of(origin, seen) if isinstance(origin, type) else {}


def hints_of(thing: Any) -> dict[str, Any]:
    """Evaluated annotations; those that cannot be evaluated are left out."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except Exception:
        # One unknown name must not hide the others.
        raw = getattr(thing, "__annotations__", None) or {}
        space = getattr(thing, "__globals__", {})
        return {name: value for name, value in _evaluated(raw, space) if value is not None}


def _evaluated(raw: dict[str, Any], space: dict[str, Any]) -> typing.Iterator[tuple[str, Any]]:
    for name, value in raw.items():
        if not isinstance(value, str):
            yield name, value
            continue
        try:
            # The user's own annotation in the user's own module: what Python itself would do.
            yield name, eval(value, dict(space))  # noqa: S307
        except Exception:
            yield name, None


def default_of(value: Any) -> Schema:
    """`{"default": ...}` if the value has a JSON form."""
    try:
        return {"default": to_plain(value)}
    except (Unencodable, Exception):
        return {}


def _plain(value: Any) -> Any:
    try:
        return to_plain(value)
    except Unencodable:
        return str(value)
