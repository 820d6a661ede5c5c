"""Interrupts of a kernel: they hit the cell they are meant for, and leave it its reply.

By itself ipykernel raises `KeyboardInterrupt` wherever its main thread is. Where that is after the
cell's own code, its reply is never sent; and where a cell cleans up after an interrupt, one that
was only sent again would end that, too. So a request may name its cell and say that it is sent
again, and the answer says whether only the end of the cell is still to come.
"""

from __future__ import annotations

import inspect
import signal
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def listen(kernel: Any) -> None:
    """Let a kernel that has not started yet hear interrupts in this way."""
    handlers = getattr(kernel, "control_handlers", {})
    plain = handlers.get("interrupt_request")
    if plain is None:
        return
    cells = _Cells(kernel)
    kernel.do_execute = cells.execute

    async def interrupt_request(stream: Any, ident: Any, parent: Any) -> None:
        content = parent.get("content") or {}
        if cells.is_to_be_hit(content.get("cell"), bool(content.get("again"))):
            await plain(stream, ident, parent)
            return
        reply = {"status": "ok", "ending": cells.is_ending(content.get("cell"))}
        kernel.session.send(stream, "interrupt_reply", reply, parent, ident=ident)

    handlers["interrupt_request"] = interrupt_request


class _Cells:
    """Which cell runs, and which one ran last."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._plain = kernel.do_execute
        self._main = threading.main_thread()
        self._running: str | None = None
        self._last: str | None = None

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        """Run a cell. Interrupts are heard until its own code has ended."""
        if threading.current_thread() is not self._main:
            # No signal is ever handled there.
            return await _awaited(self._plain(*args, **kwargs))
        cell = self._kernel.get_parent("shell").get("header", {}).get("msg_id")
        try:
            try:
                self._running = cell
                reply = await _awaited(self._plain(*args, **kwargs))
            finally:
                self._end(cell)
        except KeyboardInterrupt:
            reply = self._interrupted()
        return reply

    def _end(self, cell: str | None) -> None:
        # ipykernel hears them again when the next request comes.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._last = cell
        self._running = None

    def _interrupted(self) -> dict[str, Any]:
        return {
            "status": "error",
            "ename": KeyboardInterrupt.__name__,
            "evalue": "",
            "traceback": [],
            "execution_count": self._kernel.execution_count,
            "user_expressions": {},
            "payload": [],
        }

    def is_to_be_hit(self, cell: str | None, again: bool) -> bool:
        """Whether a signal would hit this cell, or any if none is named, where it should."""
        if cell is not None and cell != self._running:
            return False
        return not (again and self._is_handling_one())

    def is_ending(self, cell: str | None) -> bool:
        """Whether the code of this cell has ended, and only what it led to is to be told."""
        return (cell is not None and cell == self._last) or self._is_telling()

    def _is_handling_one(self) -> bool:
        """Whether the main thread does something because of an interrupt."""
        now: Any = sys._current_exceptions().get(self._main.ident)
        error = now[1] if isinstance(now, tuple) else now
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            if isinstance(error, KeyboardInterrupt):
                return True
            seen.add(id(error))
            error = error.__context__
        return False

    def _is_telling(self) -> bool:
        """Whether the main thread shows how a cell failed."""
        frame = sys._current_frames().get(self._main.ident or 0)
        while frame is not None:
            name = frame.f_globals.get("__name__", "")
            if frame.f_code.co_name == "showtraceback" and str(name).startswith("IPython."):
                return True
            frame = frame.f_back
        return False


async def _awaited(reply: Any) -> Any:
    return await reply if inspect.isawaitable(reply) else reply
