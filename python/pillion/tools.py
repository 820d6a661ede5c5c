"""What code in a lane may ask of its host: `import pillion.tools`.

    data = tools.read("data.csv")                       # a named input file, as bytes
    rows = tools.query("sales", "select * from sales where year = ?", [2024])
    price = tools.call("price_of", "apples", day="monday")

Only what the run's owner listed can be asked for; `available()` says what that is. Calls may come
from any thread of the program's main process. Importing this is safe anywhere.
"""

from __future__ import annotations

import _thread
import os

from pillion import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["ToolError", "available", "call", "query", "read", "read_text"]

_MAX_BYTES = 8 * 1024 * 1024
_CHUNK = 1 << 20


class ToolError(Exception):
    """The host refused, or the tool failed. `code` is the host's word for why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message)


class _Connection:
    """The one connection of this process. Whoever uses it holds the lock."""

    def __init__(self) -> None:
        self.descriptor: int | None = None
        self.pid = 0
        self.names: dict[str, list[str]] = {}
        self.last_id = 0
        self.broken = False
        self.lock = _thread.allocate_lock()


_connection = _Connection()


def _refuse(value: Any) -> Any:
    raise TypeError(f"a tool's arguments are JSON, and `{type(value).__qualname__}` is not")


_dumps = wire.make_dumps(_refuse)


def connect(descriptor: int, names: dict[str, list[str]]) -> None:
    """For the runner: tools are asked for on this descriptor from now on."""
    _connection.descriptor = descriptor
    _connection.pid = os.getpid()
    _connection.names = names


def available() -> list[str]:
    """The tools of this run, such as `read:data.csv`, `query:sales` and `call:price_of`."""
    return [f"{tool}:{name}" for tool, names in _connection.names.items() for name in names]


def read(name: str) -> bytes:
    """The contents of a named input file."""
    return _ask({"tool": "read", "name": name})["data"]


def read_text(name: str) -> str:
    """The contents of a named input file, as UTF-8 text."""
    return read(name).decode("utf-8-sig")


def query(table: str, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Rows of a query over a table, each as a dict. `?` in the SQL takes one of `parameters`."""
    answer = _ask({"tool": "query", "table": table, "sql": sql, "parameters": [*parameters]})
    if answer.get("truncated"):
        import warnings

        warnings.warn(f"the rows of `{table}` were cut short", RuntimeWarning, stacklevel=2)
    columns = answer["columns"]
    return [dict(zip(columns, row, strict=True)) for row in answer["rows"]]


def call(name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that the host declared: with positional or with keyword arguments."""
    if args and kwargs:
        raise TypeError("a tool takes positional or keyword arguments, not both")
    return _ask({"tool": "call", "name": name, "arguments": kwargs or [*args]})["value"]


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    connection = _connection
    if connection.descriptor is None:
        raise ToolError("no_tools", "no tools here: this is not a run in a lane that has any")
    if os.getpid() != connection.pid:
        raise ToolError(
            "no_tools", "tools work in the run's main process only, not in its children"
        )
    with connection.lock:
        if connection.broken:
            raise ToolError("broken", "an earlier call of a tool was interrupted half-way")
        id = connection.last_id + 1
        body = _dumps({"id": id, **request}).encode()
        if len(body) > _MAX_BYTES:
            raise ToolError("too_large", "the arguments are too large")
        connection.last_id = id
        connection.broken = True  # until the whole answer is here
        answer = _exchange(connection.descriptor, body)
        if answer.get("id") != id:
            raise ToolError("broken", "the answer is not for this question")
        connection.broken = False
    error = answer.get("error")
    if error is not None:
        raise ToolError(str(error.get("code")), str(error.get("message")))
    return answer


def _exchange(descriptor: int, body: bytes) -> dict[str, Any]:
    try:
        data = memoryview(len(body).to_bytes(4, "big") + body)
        while data:
            data = data[os.write(descriptor, data) :]
        answer = wire.loads(_exactly(descriptor, int.from_bytes(_exactly(descriptor, 4), "big")))
        if "size" in answer:
            answer["data"] = _exactly(descriptor, answer["size"])
    except OSError as error:
        raise ToolError("gone", f"the host is gone: {error}") from None
    return answer


def _exactly(descriptor: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(descriptor, min(size, _CHUNK))
        if not part:
            raise ToolError("gone", "the host is gone")
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
