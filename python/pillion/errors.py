"""Exceptions as the protocol's error objects, with the traceback cut down to the user's frames."""

from __future__ import annotations

import os
import sys

from pillion.encode import Unencodable
from pillion.state import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

MAX_FRAMES = 50
MAX_TEXT = 16 * 1024
MAX_MESSAGE = 8 * 1024
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

# Code objects below which everything is the user's: a traceback that passes none of them is a
# fault of the worker itself.
BOUNDARIES: set[CodeType] = set()


class Fault(Exception):  # noqa: N818
    """A failure that the worker itself found and can name by code."""

    def __init__(
        self, code: str, message: str, *, hint: str | None = None, type: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.type = type


def to_error(error: BaseException, *, asked: bool = False) -> dict[str, Any]:
    """The error object for whatever a request ended in. `asked`: it had been cancelled."""
    if isinstance(error, Cancelled) or (asked and type(error).__name__ == "CancelledError"):
        return _error("cancelled", "the call was cancelled", type="Cancelled")
    if isinstance(error, Fault):
        extra = {"type": error.type, "hint": error.hint}
        return _error(error.code, str(error), **{k: v for k, v in extra.items() if v})
    if isinstance(error, Unencodable):
        return _error("invalid_result", str(error), data={"path": clean(error.path)})
    trace = _user_traceback(error.__traceback__)
    kind = type(error)
    if trace is NO_BOUNDARY:
        trace = error.__traceback__
        code, recoverable = "internal_error", False
    else:
        code, recoverable = ("memory" if isinstance(error, MemoryError) else "exception"), True
    data = {
        "type": kind.__qualname__,
        "module": kind.__module__,
        "traceback": _frames(error, trace),
        "text": _text(error, trace),
    }
    return _error(code, _headline(error), recoverable, type=kind.__qualname__, data=data)


def _headline(error: BaseException) -> str:
    """As the last line of a traceback: the class says more than `'key'` or `division by zero`."""
    kind, text = type(error).__qualname__, message_of(error)
    return text if isinstance(error, SystemExit) or text.startswith(kind) else f"{kind}: {text}"


def _error(code: str, message: str, recoverable: bool = True, **extra: Any) -> dict[str, Any]:
    return {"code": code, "message": clean(message), "recoverable": recoverable, **extra}


def message_of(error: BaseException) -> str:
    """The exception's own words, or the best replacement for them."""
    kind = type(error).__qualname__
    if isinstance(error, SystemExit):
        return f"the function called sys.exit({error.code!r})"
    try:
        text = str(error)
    except BaseException:
        return f"{kind} (its text could not be made)"
    if not text:
        return kind
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "..."


def clean(text: str) -> str:
    r"""Text that any JSON reader takes: lone surrogates written out as `\udc80`."""
    return text.encode("utf-8", "backslashreplace").decode()


NO_BOUNDARY: Any = object()


def _user_traceback(trace: TracebackType | None) -> TracebackType | None:
    """The part below the worker's frames; `NO_BOUNDARY` if user code was never entered."""
    found = NO_BOUNDARY
    while trace is not None:
        if trace.tb_frame.f_code in BOUNDARIES:
            found = trace.tb_next
        trace = trace.tb_next
    while found is not NO_BOUNDARY and found is not None and _is_ours(found):
        found = found.tb_next
    return found


def _is_ours(trace: TracebackType) -> bool:
    file = trace.tb_frame.f_code.co_filename
    return file.startswith((_PACKAGE, "<frozen importlib"))


def _frames(error: BaseException, trace: TracebackType | None) -> list[dict[str, Any]]:
    import linecache

    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_ours(trace):
            line = linecache.getline(code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals)
            frames.append(_frame(code.co_filename, trace.tb_lineno, code.co_name, line))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and isinstance(error.filename, str):
        # The place that matters is not on the stack.
        frames.append(_frame(error.filename, error.lineno, "<module>", error.text))
    if len(frames) > MAX_FRAMES:  # a deep recursion: how it began and how it ended
        half = MAX_FRAMES // 2
        frames = frames[:half] + frames[-half:]
    return frames


def _frame(file: str, line: int | None, function: str, code: str | None) -> dict[str, Any]:
    return {
        "file": clean(file),
        "line": line,
        "function": clean(function),
        "code": clean(code or "").strip()[:500],
    }


def _text(error: BaseException, trace: TracebackType | None) -> str:
    import traceback

    if trace is not NO_BOUNDARY:
        error = error.with_traceback(trace)
    try:
        text = "".join(traceback.format_exception(error))
    except BaseException:  # a hostile __str__ or __cause__
        text = f"{type(error).__qualname__}: {message_of(error)}\n"
    data = clean(text).encode()
    if len(data) > MAX_TEXT:
        # The end says what happened, the beginning where it came from.
        mark = b"\n  ...\n"
        head, tail = MAX_TEXT // 4, MAX_TEXT - MAX_TEXT // 4 - len(mark)
        data = data[:head] + mark + data[-tail:]
    return data.decode("utf-8", "ignore")


def log(error: BaseException) -> None:
    """The traceback on stderr, for replies that have no room for it."""
    sys.stderr.write(_text(error, _user_traceback(error.__traceback__)))
