"""Single values of JSON as numbers, text, dates and the like; or why they are none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Text of a value in a message.
_MAX_SHOWN = 60


class Misfit(Exception):  # noqa: N818
    """A value that is not what an annotation asks for."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"`{path}` {problem}")


def shown(value: Any) -> str:
    """A value as a message names it: its JSON, unless that is long."""
    import json

    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def built(make: Callable[[Any], Any], value: Any, path: str) -> Any:
    """What a class makes of a value; its own refusal is the caller's mistake."""
    try:
        return make(value)
    except Misfit:
        raise
    except Exception as error:
        text = str(error) or type(error).__qualname__
        raise Misfit(path, f"does not fit: {text}") from None


def _bool(value: Any, path: str) -> bool:
    if type(value) is not bool:
        raise Misfit(path, f"must be true or false, not {shown(value)}")
    return value


def _int(value: Any, path: str) -> int:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise Misfit(path, f"must be an integer, not {shown(value)}")


def _float(value: Any, path: str) -> float:
    if value in ("Infinity", "-Infinity"):
        return float(value)  # as results have it
    if type(value) not in (int, float):
        raise Misfit(path, f"must be a number, not {shown(value)}")
    return built(float, value, path)


def _str(value: Any, path: str) -> str:
    if type(value) is not str:
        raise Misfit(path, f"must be text, not {shown(value)}")
    return value


def _none(value: Any, path: str) -> None:
    if value is not None:
        raise Misfit(path, f"must be null, not {shown(value)}")


def _bytes(value: Any, path: str) -> bytes:
    import base64

    try:
        return base64.b64decode(_str(value, path), validate=True)
    except ValueError:
        raise Misfit(path, "must be base64") from None


SIMPLE: dict[type, Callable[[Any, str], Any]] = {
    bool: _bool,
    int: _int,
    float: _float,
    str: _str,
    type(None): _none,
    bytes: _bytes,
    bytearray: lambda value, path: bytearray(_bytes(value, path)),
}


def _from_iso(value: Any, kind: Any, path: str) -> Any:
    text = _str(value, path)
    # Python 3.10 does not know the letter.
    text = f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text
    try:
        return kind.fromisoformat(text)
    except ValueError:
        what = {"date": "a date such as 2026-01-31", "time": "a time such as 12:30:00"}
        form = what.get(kind.__name__, "a date and time such as 2026-01-31T12:30:00")
        raise Misfit(path, f"must be {form}, not {shown(value)}") from None


def _from_text(value: Any, kind: Any, path: str) -> Any:
    return built(kind, _str(value, path), path)


def _from_number_text(value: Any, kind: Any, path: str) -> Any:
    if type(value) in (int, float):
        value = repr(value)
    try:
        return kind(_str(value, path))
    except (ArithmeticError, ValueError):
        raise Misfit(path, f"must be a number, not {shown(value)}") from None


def _path(value: Any, kind: Any, path: str) -> Any:
    import pathlib

    text = _str(value, path)
    return kind(text) if issubclass(kind, pathlib.PurePath) else text


# By name: nobody who has no dates pays for the import of `datetime`.
BY_NAME: dict[str, Callable[[Any, Any, str], Any]] = {
    "datetime.datetime": _from_iso,
    "datetime.date": _from_iso,
    "datetime.time": _from_iso,
    "datetime.timedelta": lambda value, kind, path: kind(seconds=_float(value, path)),
    "decimal.Decimal": _from_number_text,
    "fractions.Fraction": _from_number_text,
    "uuid.UUID": _from_text,
    "ipaddress._IPAddressBase": _from_text,
    "pathlib.PurePath": _path,
    "pathlib._local.PurePath": _path,
    "os.PathLike": _path,
}
