"""What user code imports: `method`, `progress`, `cancelled`, `Cancelled`, `on_trim`.

Importing this package is cheap on purpose: it is safe to write `import pillion` in any module,
and outside a worker every function here does nothing harmful.
"""

from __future__ import annotations

import sys

from pillion.state import METHODS, READS, STATE, TRIM_CALLBACKS, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    F = TypeVar("F", bound=Callable[..., Any])
    C = TypeVar("C", bound=Callable[[], object])

    @overload
    def method(function: F, /) -> F: ...
    @overload
    def method(*, name: str | None = None, safety: str = "execute") -> Callable[[F], F]: ...


__version__ = "0.1.0"
__all__ = ["Cancelled", "__version__", "cancelled", "method", "on_trim", "progress"]


def method(function: Any = None, /, *, name: str | None = None, safety: str = "execute") -> Any:
    """Mark a function as one that callers may use, under its own name or another.

    Works bare (`@pillion.method`) and with a name (`@pillion.method(name="greet")`).
    `safety="read"` tells agents that it changes nothing. The function itself is returned
    unchanged, so that it stays an ordinary function for everybody else.
    """
    if safety not in ("read", "execute"):
        raise ValueError('`safety` is "read" or "execute"')
    if function is None:
        return lambda decorated: method(decorated, name=name, safety=safety)
    if not callable(function):
        raise TypeError("`pillion.method` decorates functions; write `name=...` to give a name")
    chosen = name or function.__name__
    METHODS[function.__module__, chosen] = function
    if safety == "read":
        READS[id(function)] = function
    return function


def progress(
    value: float | None = None, total: float | None = None, message: str | None = None
) -> None:
    """Tell the caller how far the running call has come, if the caller asked to know.

    Also a place where a pending cancel takes effect: it raises `Cancelled` then.
    """
    call = STATE.running
    if call is None:
        return
    if call.progress and STATE.send_progress is not None:
        given = {"value": value, "total": total, "message": message}
        STATE.send_progress(call, {key: part for key, part in given.items() if part is not None})
    if call.pending and STATE.on_interrupt is not None and STATE.in_main_thread():
        STATE.on_interrupt(0, sys._getframe(1))


def cancelled() -> bool:
    """Has the caller asked to cancel the running call?

    For threads and C extensions' callbacks, where `Cancelled` cannot be raised from outside.
    """
    call = STATE.running
    return call is not None and call.asked


def on_trim(callback: C) -> C:
    """Register a function without arguments that drops caches when memory is short.

    It runs in the main thread, between calls. Works as a decorator.
    """
    TRIM_CALLBACKS.append(callback)
    return callback
