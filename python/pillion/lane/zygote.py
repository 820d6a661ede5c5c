"""The zygote: imports once, then forks a slot whenever the daemon asks for one.

It reads nothing but its control socket, runs no code of a run, and stays single-threaded: a fork
of a process with threads may hang. It says hello as a worker does: one line on its standard
output, with the files that it imported. One whose imports fail says why on its standard error,
and ends.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_WORKER_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Numeric libraries start a thread per core at import unless told.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_MAX_TEXT = 2000
_MAX_FRAMES = 20


def main(control_fd: int) -> NoReturn:
    """Serve the daemon at the other end of the control socket until it is gone."""
    import _socket

    from pillion.lane import messages, runner, slot

    hello = _claim_stdout()
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=control_fd)
    os.set_inheritable(control_fd, False)
    try:
        order = _serve(control, hello, messages, slot)
    except messages.Ended:
        os._exit(0)
    # A slot's payload comes out here, with the zygote's frames off its stack.
    control.detach()
    runner.run_slot(order)


def _serve(control: Any, hello: int, messages: Any, slot: Any) -> Any:
    setup, _ = messages.receive(control)
    plan, ready = _prepare(setup, slot)
    # It stays open: its end is the zygote's. Slots close it with everything else.
    messages.write(hello, messages.dumps(ready).encode() + b"\n")
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
    os.environ.clear()
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    os.environ.update(setup.get("env") or {})
    packages = setup.get("path") or []
    sys.path[:] = [*dict.fromkeys([*sys.path, *packages])]
    records = _import(setup.get("imports") or [], packages)
    plan = slot.Plan(setup)
    _warm_up()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        _give_up(f"its imports started {threads} threads, so it cannot fork")
    version = ".".join(map(str, sys.version_info[:3]))
    return plan, {"status": "ready", "python": version, "files": records}


def _import(names: list[str], packages: list[str]) -> list[Any]:
    """Import what runs will find imported; returns what that depends on."""
    from pillion import files

    with files.noted(packages):
        for name in names:
            try:
                __import__(name)
            except BaseException as error:
                import traceback

                traceback.print_exc(limit=-_MAX_FRAMES)
                _give_up(f"cannot import `{name}`: {type(error).__name__}: {error}")
    # What is still to be written would be written by every slot.
    sys.stdout.flush()
    sys.stderr.flush()
    return files.take()


def _give_up(why: str) -> NoReturn:
    sys.stdout.flush()
    print(why[:_MAX_TEXT].replace("\n", " "), file=sys.stderr, flush=True)
    os._exit(1)


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


def _claim_stdout() -> int:
    """Take the real standard output away from what is imported: prints go to standard error."""
    # A received descriptor must never become 0, 1 or 2 by chance.
    while True:
        descriptor = os.open("/dev/null", os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            break
    hello = os.dup(1)  # not inherited by anything that is started
    os.dup2(2, 1)
    return hello


if __name__ == "__main__":
    sys.path[:] = [
        entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))
    ]
    sys.path.append(_WORKER_DIR)
    main(int(sys.argv[1]))
