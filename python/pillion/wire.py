"""JSON text in and out, by the interpreter's C scanner and encoder.

The `json` package costs several milliseconds to import because it pulls in `re`. Its C half does
all of the work, so it is used directly where it behaves as expected, and `json` where not.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _refuse_constant(name: str) -> float:
    raise ValueError(f"`{name}` is not JSON")


class _Options:
    """What the C scanner reads from its caller."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner asks for the attribute


def _make_loads() -> Callable[[str], Any]:
    try:
        import _json

        scan = _json.make_scanner(_Options())
        if scan('{"a":[1,2.5,null,"x"]}', 0) != ({"a": [1, 2.5, None, "x"]}, 22):
            raise ValueError("unexpected scanner")
    except Exception:
        import json

        return lambda text: json.loads(text, parse_constant=_refuse_constant)

    def loads(text: str) -> Any:
        try:
            value, end = scan(text, 0)
        except StopIteration as stop:
            raise ValueError(f"expected a value at character {stop.value}") from None
        except SystemError:
            # Before Python 3.12 the scanner finds its exception class only once `json` is loaded.
            import json

            return json.loads(text, parse_constant=_refuse_constant)
        if end != len(text):
            raise ValueError(f"extra data at character {end}")
        return value

    return loads


def make_dumps(default: Callable[[Any], Any]) -> Callable[[Any], str]:
    """A function that writes compact JSON and hands what it does not know to `default`.

    Circular values end in `RecursionError`: checking for them on every call would cost more than
    the rare explanation (see `encode`).
    """
    try:
        import _json

        chunks = _json.make_encoder(
            None, default, _json.encode_basestring, None, ":", ",", False, False, False
        )
        if "".join(chunks({"a": [1, 2.5, None, "x"]}, 0)) != '{"a":[1,2.5,null,"x"]}':
            raise ValueError("unexpected encoder")
    except Exception:
        import json

        return json.JSONEncoder(
            ensure_ascii=False,
            check_circular=False,
            allow_nan=False,
            separators=(",", ":"),
            default=default,
        ).encode
    join = "".join
    return lambda value: join(chunks(value, 0))


_loads = _make_loads()


class TooMuch(ValueError):  # noqa: N818
    """JSON that this interpreter cannot hold."""


def loads(line: bytes) -> Any:
    """Parse one line.

    Raises `ValueError` for anything that is not strict JSON in UTF-8, and `TooMuch` for what is,
    but not for this interpreter.
    """
    try:
        return _loads(line.decode().strip(" \t\r\n"))
    except RecursionError:
        raise TooMuch("nested too deeply for Python") from None
    except ValueError as error:
        if "integer string conversion" in str(error):
            raise TooMuch("an integer has too many digits for Python") from None
        raise


def request(line: bytes) -> Any:
    """Parse a line that asks for something, as `loads` does.

    Its id comes back in every answer. One that is beyond all numbers cannot, and counts as null.
    """
    value = loads(line)
    if type(value) is dict and not _is_finite(value.get("id")):
        value["id"] = None
    return value


def _is_finite(value: Any) -> bool:
    parts = [value]  # no recursion: it may nest as deeply as the parser bears
    while parts:
        part = parts.pop()
        if type(part) is float and abs(part) == float("inf"):
            return False
        if type(part) is list:
            parts.extend(part)
        elif type(part) is dict:
            parts.extend(part.values())
    return True


def leading_id(line: bytes) -> int | str | None:
    """The id of a line that cannot be parsed, if it comes first, as most hosts write it."""
    head, _, rest = line[:256].partition(b'"id":')
    text, comma, _ = rest.partition(b",")
    if head.strip() != b"{" or not comma:
        return None
    try:
        id = _loads(text.decode().strip())
    except ValueError:
        return None
    return id if type(id) in (int, str) else None
