"""Runs one order: the entry of a cold run, and what a slot's payload does once its order is there.

A cold run is `python ... pillion/lane/runner.py ORDER_FD`. This file is short because Python
compiles a script anew at each start; the rest is in modules, which it keeps compiled.

`result` and `tools` are out of the program's way, not out of its reach: it is one process, and
what arrives on them is to be treated as the program's own words.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_WORKER_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where descriptors go that the program should not meet.
_AWAY = 200
# The exit code for an order that cannot be read (EX_SOFTWARE).
_BAD_ORDER = 70


def run_slot(connection: Any) -> NoReturn:
    """Wait for the order of a slot, then carry it out."""
    from pillion.lane import messages

    try:
        order, descriptors = messages.receive(connection, 5)
        if len(descriptors) != (5 if order.get("tools") else 4):
            raise ValueError("a wrong number of descriptors")
    except messages.Ended:
        os._exit(0)  # no order, no run
    except BaseException:
        os._exit(_BAD_ORDER)  # there is no stream yet to say more on
    result, tools = _place(descriptors)
    _run(order, result, tools, connection.recv, connection.close)


def run_cold(order_fd: int) -> NoReturn:
    """Carry out the order that comes on a descriptor; standard streams are in place."""
    from pillion.lane import messages

    order = messages.read(order_fd)
    descriptors = order.get("descriptors") or {}
    result, tools = descriptors.get("result"), descriptors.get("tools")
    for descriptor in (result, tools):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
    os.set_inheritable(order_fd, False)
    _run(
        order,
        result,
        tools if order.get("tools") else None,
        lambda size: os.read(order_fd, size),
        lambda: os.close(order_fd),
    )


def _place(descriptors: list[int]) -> tuple[int, int | None]:
    """Standard streams to 0, 1, 2 and the others away; returns result and tools."""
    import fcntl
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = _AWAY if soft < 0 or soft > _AWAY + 8 else max(3, soft - 8)
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest) for fd in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for number in range(3):
        os.dup2(moved[number], number)
        os.close(moved[number])
    return moved[3], moved[4] if len(moved) > 4 else None


def _run(
    order: dict[str, Any], result: int | None, tools: int | None, read: Any, close: Any
) -> Any:
    from pillion.lane import finish, program

    outcome = finish.Outcome(result, tools)
    try:
        prepared = program.prepare(order, tools, read, close)
    except BaseException as error:
        finish.end(outcome, program.not_prepared(outcome, error))
    finish.end(outcome, program.run(prepared, outcome))


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path.append(_WORKER_DIR)
    run_cold(int(sys.argv[1]))
