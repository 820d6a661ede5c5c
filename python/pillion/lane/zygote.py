"""The zygote: imports once, then forks a slot whenever the daemon asks for one.

It reads nothing but its control socket, runs no code of a run, and stays single-threaded: a fork
of a process with threads may hang.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_WORKER_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Numeric libraries start a thread per core at import unless told.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
MAX_TEXT = 2000


def main(control_fd: int) -> NoReturn:
    """Serve the daemon at the other end of the control socket until it is gone."""
    import _socket

    from pillion.lane import messages, runner, slot

    _open_standard_streams()
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=control_fd)
    os.set_inheritable(control_fd, False)
    try:
        order = _serve(control, messages, slot)
    except messages.Ended:
        os._exit(0)
    # A slot's payload comes out here, with the zygote's frames off its stack.
    control.detach()
    runner.run_slot(order)


def _serve(control: Any, messages: Any, slot: Any) -> Any:
    setup, _ = messages.receive(control)
    plan, ready = _prepare(setup, slot)
    messages.send(control, ready)
    gc.collect()
    gc.freeze()
    # From here on children vanish by themselves; a slot takes this back for its own.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, descriptors = messages.receive(control, 2)
        order = slot.start(plan, request, descriptors)
        if order is not None:
            return order


def _prepare(setup: dict[str, Any], slot: Any) -> tuple[Any, dict[str, Any]]:
    began = time.monotonic()
    os.environ.clear()
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    os.environ.update(setup.get("env") or {})
    sys.path[:] = [*dict.fromkeys([*sys.path, *(setup.get("path") or [])])]
    versions, failed = {}, {}
    for name in setup.get("imports") or []:
        try:
            __import__(name)
            version = getattr(sys.modules[name], "__version__", None)
            versions[name] = version if isinstance(version, str) else ""
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"[:MAX_TEXT]
    plan = slot.Plan(setup)
    _warm_up()
    ready: dict[str, Any] = {
        "ready": True,
        "imports": versions,
        "failed": failed,
        "ms": round((time.monotonic() - began) * 1000, 3),
    }
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        ready["threads"] = threads
    return plan, ready


def _warm_up() -> None:
    """Load what most runs would load, so that no run has to."""
    import datetime
    import fcntl
    import linecache
    import random
    import runpy
    import threading
    import traceback

    import pillion.tools
    from pillion.lane import clock, finish, program

    program.warm_up()
    del datetime, fcntl, linecache, random, runpy, threading, traceback, pillion, clock, finish


def _open_standard_streams() -> None:
    """A received descriptor must never become 0, 1 or 2 by chance."""
    while True:
        descriptor = os.open("/dev/null", os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            return


if __name__ == "__main__":
    sys.path[:] = [
        entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))
    ]
    sys.path.append(_WORKER_DIR)
    main(int(sys.argv[1]))
