"""Coroutines and asynchronous generators, on one event loop that lives as long as the worker.

The loop stays because what user code binds to it (connections, clients, locks) should stay warm.
It only turns while a call runs: a task left behind rests until the next asynchronous call.
"""

from __future__ import annotations

import asyncio

from pillion.interrupt import invoke
from pillion.state import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from typing import Any

    from pillion.state import Call

# After a cancel raised outside the task, the task itself gets this long to end.
CLEANUP_SECONDS = 2.0

_loop: asyncio.AbstractEventLoop | None = None


def run(call: Call, awaitable: Awaitable[Any]) -> Any:
    """Wait for an awaitable in the main thread, cancellable by the control thread."""
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = asyncio.new_event_loop()
    loop = _loop
    if not asyncio.iscoroutine(awaitable):
        awaitable = _wait_for(awaitable)
    task = loop.create_task(awaitable)

    def deliver() -> None:
        if call.pending and not task.done():
            call.pending = False
            task.cancel()

    call.deliver = deliver
    call.loop = loop
    try:
        if call.pending:
            deliver()
        return invoke(loop.run_until_complete, (task,), {})
    finally:
        call.loop = call.deliver = None
        if not task.done():  # something was thrown through the loop itself
            task.cancel()
            invoke(loop.run_until_complete, (asyncio.wait([task], timeout=CLEANUP_SECONDS),), {})


async def _wait_for(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def pump(call: Call, items: AsyncGenerator[Any, Any], emit: Callable[[Any], None]) -> None:
    """Hand on each value of an asynchronous generator, and close it whatever happens."""
    try:
        async for item in items:
            emit(item)
            while call.pending:
                # A generator that never really waits gives the loop no turn to cancel the task.
                call.pending = False
                emit(await items.athrow(Cancelled()))
    except StopAsyncIteration:
        pass  # it took the cancel as its end
    finally:
        await items.aclose()


def shut_down() -> None:
    """At the end of the worker: let tasks and generators run their clean-up."""
    if _loop is None or _loop.is_closed():
        return
    tasks = asyncio.all_tasks(_loop)
    for task in tasks:
        task.cancel()
    if tasks:
        _loop.run_until_complete(asyncio.wait(tasks, timeout=CLEANUP_SECONDS))
    _loop.run_until_complete(_loop.shutdown_asyncgens())
    _loop.close()
