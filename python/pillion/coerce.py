"""JSON values to what annotations ask for: dates, enums, dataclasses; or why they do not fit.

What an annotation does not say, or says in a way that is not known here, lets every value pass:
Python would do the same.
"""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import enum
import types
import typing

from pillion.encode import Unencodable, to_plain
from pillion.scalars import BY_NAME, SIMPLE, Misfit, built, shown
from pillion.schema import alias_of, hints_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ANYTHING = (typing.Any, object)
_EXACT = (bool, int, float, str, type(None), list, dict)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_LISTS = (
    list,
    abc.Sequence,
    abc.MutableSequence,
    abc.Collection,
    abc.Iterable,
    abc.Iterator,
    abc.Reversible,
)
_WRAPPERS = tuple(
    getattr(typing, name)
    for name in ("Required", "NotRequired", "ReadOnly", "ClassVar", "Final")
    if hasattr(typing, name)
)


def coerce(value: Any, hint: Any, path: str) -> Any:
    """The value as its annotation wants it."""
    if hint is None:
        hint = type(None)
    origin = typing.get_origin(hint)
    if origin is not None:
        return _generic(value, origin, typing.get_args(hint), path)
    if isinstance(hint, dataclasses.InitVar):
        return coerce(value, hint.type, path)
    inner = alias_of(hint)
    if inner is not None:
        return coerce(value, inner, path)
    if not isinstance(hint, type) or hint in _ANYTHING:
        return value
    return _class(value, hint, path)


def accepts_null(hint: Any) -> bool:
    """May the value be None?"""
    try:
        return coerce(None, hint, "") is None
    except Misfit:
        return False


def _class(value: Any, kind: type, path: str) -> Any:
    simple = SIMPLE.get(kind)
    if simple is not None:
        return simple(value, path)
    if kind in _MAPPINGS or kind in _SETS or kind in _LISTS or kind is tuple:
        return _generic(value, kind, (), path)
    if issubclass(kind, enum.Enum):
        return _enum(value, kind, path)
    if typing.is_typeddict(kind):
        return _typed_dict(value, kind, path)
    if dataclasses.is_dataclass(kind):
        return _dataclass(value, kind, path)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _named_tuple(value, kind, path)
    if hasattr(kind, "model_validate"):
        return built(kind.model_validate, value, path)
    for base in kind.__mro__:
        made = BY_NAME.get(f"{base.__module__}.{base.__qualname__}")
        if made is not None:
            return made(value, kind, path)
    return value


def _generic(value: Any, origin: Any, args: tuple[Any, ...], path: str) -> Any:
    if origin is typing.Annotated or origin in _WRAPPERS:
        return coerce(value, args[0], path)
    if origin is typing.Literal:
        return _literal(value, args, path)
    if origin in (typing.Union, types.UnionType):
        return _union(value, args, path)
    if origin is tuple:
        return _tuple(value, args, path)
    if not isinstance(origin, type):
        return value
    if origin in _LISTS:
        return _items(value, args, path)
    if origin in _SETS or issubclass(origin, (set, frozenset)):
        items = _items(value, args, path)
        return built(frozenset if origin is frozenset else set, items, path)
    if origin in _MAPPINGS or issubclass(origin, dict):
        return _mapping(value, args, path)
    if f"{origin.__module__}.{origin.__qualname__}" == "collections.deque":
        return origin(_items(value, args, path))
    return _class(value, origin, path)


def _items(value: Any, args: tuple[Any, ...], path: str) -> list[Any]:
    if not isinstance(value, list):
        raise Misfit(path, f"must be an array, not {shown(value)}")
    if not args:
        return value
    return [coerce(item, args[0], f"{path}[{index}]") for index, item in enumerate(value)]


def _tuple(value: Any, args: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    if not args or (len(args) == 2 and args[1] is Ellipsis):
        return tuple(_items(value, args[:1], path))
    items = _items(value, (), path)
    if len(items) != len(args):
        raise Misfit(path, f"must have {len(args)} items, not {len(items)}")
    pairs = enumerate(zip(items, args, strict=True))
    return tuple(coerce(item, hint, f"{path}[{index}]") for index, (item, hint) in pairs)


def _mapping(value: Any, args: tuple[Any, ...], path: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise Misfit(path, f"must be an object, not {shown(value)}")
    if len(args) < 2:
        return value
    return {
        _key(key, args[0], path): coerce(item, args[1], _step(path, key))
        for key, item in value.items()
    }


def _key(text: str, hint: Any, path: str) -> Any:
    """A key of JSON is always text; what it stands for may be a number."""
    try:
        return coerce(text, hint, path)
    except Misfit:
        if hint in (int, float):
            try:
                return hint(text)
            except ValueError:
                pass
        raise Misfit(path, f"has a key that does not fit: {shown(text)}") from None


def _union(value: Any, args: tuple[Any, ...], path: str) -> Any:
    # What fits as it is goes before what would have to be converted.
    if type(value) in _EXACT and type(value) in args and type(value) not in (list, dict):
        return value
    problems = []
    for hint in args:
        try:
            return coerce(value, hint, path)
        except Misfit as problem:
            if hint is not type(None):
                problems.append(str(problem))
    if len(problems) == 1:
        raise Misfit(path, problems[0].removeprefix(f"`{path}` "))
    raise Misfit(path, f"fits none of its types: {'; '.join(problems)}")


def _literal(value: Any, args: tuple[Any, ...], path: str) -> Any:
    for option in args:
        plain = _plain(option)
        if type(plain) is type(value) and plain == value:
            return option
    raise Misfit(path, f"must be one of {_options(args)}, not {shown(value)}")


def _enum(value: Any, kind: type[enum.Enum], path: str) -> Any:
    for member in kind:
        plain = _plain(member.value)
        if type(plain) is type(value) and plain == value:
            return member
    if isinstance(value, str) and value in kind.__members__:
        return kind[value]
    try:
        if issubclass(kind, enum.Flag) and type(value) is int:
            return kind(value)
    except ValueError:
        pass
    raise Misfit(path, f"must be one of {_options(kind)}, not {shown(value)}")


def _dataclass(value: Any, kind: type, path: str) -> Any:
    if not isinstance(value, dict):
        raise Misfit(path, f"must be an object ({kind.__name__}), not {shown(value)}")
    hints = hints_of(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    # Also what only the constructor sees.
    fields |= {
        name: field
        for name, field in kind.__dataclass_fields__.items()  # type: ignore[attr-defined]
        if isinstance(hints.get(name), dataclasses.InitVar)
    }
    for name in value:
        if name not in fields:
            raise Misfit(path, f"has no field `{name}`; it has {_names(fields)}")
    for name, field in fields.items():
        optional = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        if name not in value and not optional:
            raise Misfit(path, f"lacks the field `{name}`")
    given = {
        name: coerce(part, hints.get(name, typing.Any), _step(path, name))
        for name, part in value.items()
    }
    return built(lambda parts: kind(**parts), given, path)


def _typed_dict(value: Any, kind: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Misfit(path, f"must be an object ({kind.__name__}), not {shown(value)}")
    for name in sorted(kind.__required_keys__):
        if name not in value:
            raise Misfit(path, f"lacks the field `{name}`")
    hints = hints_of(kind)
    return {
        name: coerce(part, hints.get(name, typing.Any), _step(path, name))
        for name, part in value.items()
    }


def _named_tuple(value: Any, kind: Any, path: str) -> Any:
    hints = hints_of(kind)
    if isinstance(value, list):
        if len(value) > len(kind._fields):
            raise Misfit(path, f"must have {len(kind._fields)} items, not {len(value)}")
        value = dict(zip(kind._fields, value, strict=False))
    if not isinstance(value, dict):
        raise Misfit(path, f"must be an array ({kind.__name__}), not {shown(value)}")
    for name in kind._fields:
        if name not in value and name not in kind._field_defaults:
            raise Misfit(path, f"lacks the field `{name}`")
    given = {
        name: coerce(part, hints.get(name, typing.Any), _step(path, name))
        for name, part in value.items()
    }
    return built(lambda parts: kind(**parts), given, path)


def _step(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{key!r}]"


def _plain(value: Any) -> Any:
    try:
        return to_plain(value)
    except Unencodable:
        return str(value)


def _names(names: abc.Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _options(options: abc.Iterable[Any]) -> str:
    import json

    return ", ".join(json.dumps(_plain(option), ensure_ascii=False) for option in options)
