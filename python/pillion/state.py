"""The little state that everything shares: the call that runs now, and the registries.

It imports nothing but C modules, because `import pillion` pulls it in.
"""

from __future__ import annotations

import _thread

# The C module: the package around it costs two milliseconds at start.
from _collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Cancels for calls that have not arrived yet; a flood of them must not eat memory.
MAX_EARLY_CANCELS = 256


class Cancelled(BaseException):
    """The caller no longer wants the answer.

    A `BaseException`, so that `except Exception` in user code does not swallow it. A function that
    catches it and returns has finished: its value is the answer.
    """


class Call:
    """One request while it runs."""

    __slots__ = ("asked", "deliver", "id", "loop", "nagged", "pending", "progress", "streamed")

    def __init__(self, id: Any, progress: bool = False) -> None:
        self.id = id
        self.progress = progress
        self.asked = False  # a cancel has come
        self.pending = False  # ... and has not been raised in user code yet
        self.nagged = False  # a thread keeps poking until it has
        self.streamed = False  # what it returned was a generator or the like
        self.loop: Any = None  # set while a coroutine runs: the event loop
        self.deliver: Callable[[], None] | None = None  # ... and how to cancel its task


class State:
    """What the main thread is doing. Single attributes, so that reads need no lock."""

    __slots__ = (
        "early",
        "idle",
        "main_thread",
        "on_interrupt",
        "pid",
        "recent",
        "running",
        "send_progress",
        "trim",
    )

    def __init__(self) -> None:
        self.running: Call | None = None
        self.idle = False  # the main thread waits for a line
        self.trim = False  # a trim waits for the main thread
        self.early: list[Any] = []  # ids cancelled before they arrived
        self.recent: deque[Any] = deque(maxlen=64)  # ids answered last: a late cancel is dropped
        self.pid = 0
        self.main_thread = _thread.get_ident()
        self.on_interrupt: Callable[[int, Any], None] | None = None
        self.send_progress: Callable[[Call, dict[str, Any]], None] | None = None

    def in_main_thread(self) -> bool:
        """Is the calling thread the one that runs user functions?"""
        return _thread.get_ident() == self.main_thread


STATE = State()
METHODS: dict[tuple[str, str], Callable[..., Any]] = {}
# By id: functions that were said to change nothing.
READS: dict[int, Callable[..., Any]] = {}
TRIM_CALLBACKS: list[Callable[[], object]] = []
