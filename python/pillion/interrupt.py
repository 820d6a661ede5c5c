"""Cancelling the call that runs, and only that one.

A cancel marks the running `Call`, then a SIGINT makes the main thread look at the mark, even in a
`sleep` or a `read`. The handler raises `Cancelled` only where it can do no harm:

* the mark belongs to the call object, so a cancel that comes too late finds no mark to honour;
* never while the innermost frame is the worker's own (`invoke` apart), so that no reply is cut in
  two and nothing escapes into the protocol loop;
* never during an import, because a half-imported module cannot be repaired (numpy cannot even be
  imported again); it is raised as soon as the import ends;
* never in an event loop between two tasks.

A signal that found such a place is repeated until it takes effect. A SIGINT without a mark, such
as Ctrl-C in a terminal, belongs to the host and is ignored.
"""

from __future__ import annotations

import _signal
import _thread
import sys
import time

from pillion import trim
from pillion.state import MAX_EARLY_CANCELS, STATE, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from pillion.state import Call

NAG_SECONDS = 0.02
# An event loop gets this many turns to cancel its task before the signal is tried as well.
LOOP_TURNS = 5


def invoke(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call user code. The one frame of the worker's in which a cancel may be raised.

    A C function has no frame of its own: while it runs, this one stands for it.
    """
    return function(*args, **kwargs)


INVOKE_CODE = invoke.__code__


def install() -> None:
    """Become the process's SIGINT handler. Main thread only."""
    STATE.main_thread = _thread.get_ident()
    STATE.on_interrupt = on_interrupt
    _signal.signal(_signal.SIGINT, on_interrupt)
    if hasattr(_signal, "pthread_sigmask"):
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])
    previous = sys.unraisablehook

    def unraisable(report: Any) -> None:
        # Raised inside a `__del__`, where Python drops exceptions: it has to be raised again.
        call = STATE.running
        if report.exc_type is not Cancelled:
            previous(report)
        elif call is not None:
            call.pending = True

    sys.unraisablehook = unraisable


def reinstall() -> None:
    """Take the handler back if user code replaced it."""
    if _signal.getsignal(_signal.SIGINT) is not on_interrupt and STATE.in_main_thread():
        _signal.signal(_signal.SIGINT, on_interrupt)


def restore_default() -> None:
    """In a forked child, and in a one-shot run: take Ctrl-C as any Python program does."""
    try:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    except ValueError:
        pass  # not the main thread of the main interpreter


def on_interrupt(_signum: int, frame: FrameType | None) -> None:
    """Run by Python in the main thread, between two bytecodes or inside a blocking call."""
    call = STATE.running
    if call is None:
        if STATE.trim and STATE.idle:
            trim.run()
        return
    if call.pending and frame is not None and not _protected(call, frame):
        call.pending = False
        raise Cancelled


def _protected(call: Call, frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    if module.startswith("pillion") and module[7:8] in ("", "."):
        return frame.f_code is not INVOKE_CODE or call.loop is not None
    # Outside a task's step an exception would tear down the loop, not the task.
    if call.loop is not None and sys.modules["asyncio"].current_task(call.loop) is None:
        return True
    return _importing(frame)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        # Its name before and after `importlib` itself is imported.
        if frame.f_globals.get("__name__") in ("importlib._bootstrap", "_frozen_importlib"):
            return True
        frame = frame.f_back
    return False


def request_cancel(id: Any, *, may_come_later: bool) -> None:
    """Cancel the call with this id: now if it runs, on arrival if it is still on its way."""
    call = STATE.running
    if call is None or call.id != id:
        if not may_come_later or id in STATE.recent:
            return
        STATE.early.append(id)
        del STATE.early[:-MAX_EARLY_CANCELS]
        # It may have started between the look and the note: look again.
        call = STATE.running
        if call is None or call.id != id:
            return
    call.asked = call.pending = True
    if not call.nagged:
        call.nagged = True
        _thread.start_new_thread(_nag, (call,))


def take_early(id: Any) -> bool:
    """Was this id cancelled before it arrived?"""
    try:
        STATE.early.remove(id)
    except ValueError:
        return False
    return True


def _nag(call: Call) -> None:
    """Poke the main thread until the cancel has been raised; a signal alone can miss."""
    turns = 0
    told: Any = None
    while STATE.running is call:
        loop, deliver = call.loop, call.deliver
        if call.pending:
            if loop is not None and deliver is not None and told is not deliver:
                told, turns = deliver, 0
                try:
                    loop.call_soon_threadsafe(deliver)
                except RuntimeError:  # closed meanwhile
                    pass
            elif loop is None or turns >= LOOP_TURNS:
                poke_main_thread()
            turns += 1
        else:
            told = None
        time.sleep(NAG_SECONDS)


def poke_main_thread() -> None:
    """Have the main thread run the handler, also when it is blocked in a system call."""
    _signal.pthread_kill(STATE.main_thread, _signal.SIGINT)
