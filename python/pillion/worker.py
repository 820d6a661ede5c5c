"""The `worker` mode: arguments, the ready line, the loop of the main thread."""

from __future__ import annotations

import os
import sys

from pillion import __version__, files, interrupt, trim
from pillion.calls import Runner
from pillion.channel import DEFAULT_MAX_LINE, Channel, claim_stdio
from pillion.control import BadLine, ControlSocket, InBandReader, handle, parse_line
from pillion.encode import encode
from pillion.state import METHODS, STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


FEATURES = ["call", "describe", "stream", "progress", "cancel", "ping", "trim", "expose"]
USAGE = (
    "usage: python WORKER_DIR worker --root DIR [--path DIR]... [--preload MODULE]..."
    " [--control-fd N] [--max-line BYTES]"
)


class UsageError(Exception):
    """The command line makes no sense."""


class Options:
    """What the command line of a worker says. Parsed by hand: argparse would cost the start."""

    def __init__(self, argv: list[str]) -> None:
        self.root: str | None = None
        self.paths: list[str] = []
        self.preload: list[str] = []
        self.control_fd: int | None = None
        self.max_line = DEFAULT_MAX_LINE
        words = iter(argv)
        for word in words:
            flag, equals, value = word.partition("=")
            if not equals:
                value = next(words, "")
            if not value:
                raise UsageError(f"`{word}` needs a value" if word[:2] == "--" else f"`{word}`?")
            self._set(flag, value)

    def _set(self, flag: str, value: str) -> None:
        if flag == "--root":
            self.root = value
        elif flag == "--path":
            self.paths.append(value)
        elif flag == "--preload":
            self.preload.append(value)
        elif flag in ("--control-fd", "--max-line"):
            if not value.isdecimal():
                raise UsageError(f"`{flag}` needs a number, not `{value}`")
            if flag == "--max-line":
                self.max_line = int(value)
            else:
                self.control_fd = int(value)
        else:
            raise UsageError(f"unknown option `{flag}`")


def main(argv: list[str]) -> int:
    """Run a worker until the end of its input."""
    try:
        options = Options(argv)
    except UsageError as error:
        print(f"error: {error}\n{USAGE}", file=sys.stderr)
        return 2
    worker = Worker(options.max_line, options.control_fd)
    set_path(options.root, options.paths)
    return worker.serve(preload=options.preload)


def set_path(root: str | None, paths: list[str]) -> None:
    """Put the worker's directory, the root, its `src` and the extra paths first."""
    first = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    if root is not None:
        first.append(os.path.abspath(root))
        source = os.path.join(first[-1], "src")
        if os.path.isdir(source):
            first.append(source)
    first += [os.path.abspath(path) for path in paths]
    sys.path[:] = first + [path for path in sys.path if path not in first]
    files.user_folders[:] = first[1:]


class Worker:
    """The protocol on one pair of pipes. Made before any user code is imported."""

    def __init__(self, max_line: int, control_fd: int | None = None) -> None:
        self.channel = Channel(*claim_stdio(), max_line)
        self.runner = Runner(self.channel)
        self.control = None if control_fd is None else ControlSocket(control_fd, max_line)
        self.commands: Callable[[str], Callable[..., Any] | None] | None = None
        STATE.pid = os.getpid()
        interrupt.install()
        files.install()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        STATE.running = None
        self.channel.close_in_child()
        if self.control is not None:
            self.control.close_in_child()
        interrupt.restore_default()

    def serve(self, preload: list[str] | None = None) -> int:
        """Say that it is ready, then answer requests until the end of input."""
        if self.control is not None:
            self.control.start()
        self.channel.write(encode(self._ready(preload or [])))
        if self.control is not None:
            self._read_directly()
        else:
            self._read_queue()
        self._shut_down()
        return 0

    def _ready(self, preload: list[str]) -> dict[str, Any]:
        failed = {}
        for name in preload:
            try:
                __import__(name)
            except BaseException as error:
                # A call of this module will say it again, with everything that belongs to it.
                failed[name] = f"{type(error).__qualname__}: {error}"
                print(f"pillion: preload of `{name}` failed: {failed[name]}", file=sys.stderr)
        interrupt.reinstall()
        ready: dict[str, Any] = {
            "status": "ready",
            "protocol": 1,
            "version": __version__,
            "pid": os.getpid(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "executable": sys.executable,
            "features": FEATURES,
        }
        if files.pending():
            ready["files"] = files.take()
        if failed:
            ready["preload_failed"] = failed
        return ready

    def _read_directly(self) -> None:
        read_line = self.channel.read_line
        while True:
            # In this order: a trim asked for in between is seen here or by the signal handler.
            STATE.idle = True
            if STATE.trim:
                trim.run()
            line = read_line()
            STATE.idle = False
            request = parse_line(line)
            if request is None:
                return
            self._answer(request)

    def _read_queue(self) -> None:
        reader = InBandReader(self.channel)
        reader.start()
        while True:
            STATE.idle = True
            if STATE.trim:
                trim.run()
            request = reader.next()
            STATE.idle = False
            if request is None:
                return
            self._answer(request)

    def _answer(self, request: Any) -> None:
        if type(request) is not dict:
            if isinstance(request, BadLine):
                self.runner.reject(request.id, request.code, str(request), request.type)
            return
        id = request.get("id")
        method = request.get("method")
        progress = request.get("progress") is True
        if method == "call":
            self.runner.call(id, request.get("params"), progress)
        elif method == "describe":
            params = request.get("params")
            self.runner.run(id, lambda _call: _describe(params), progress)
        elif method == "invoke":
            self.runner.invoke(id, request.get("params"), progress)
        elif method == "expose":
            params = request.get("params")
            self.runner.run(id, lambda _call: _expose(params), progress)
        elif method in ("ping", "cancel", "trim"):
            reply = handle(request, may_come_later=True)
            if reply is not None:
                self.channel.write(reply)
        elif method is not None:
            self.runner.reject(
                id, "invalid_request", f"unknown method `{method}`", "InvalidRequest"
            )
        elif self.commands is not None or "command" in request:
            from pillion import serve

            serve.answer_command(self.runner, self.commands or registered, request, progress)
        else:
            self.runner.reject(
                id, "invalid_request", "a request needs `method` or `command`", "InvalidRequest"
            )

    def _shut_down(self) -> None:
        aio = sys.modules.get("pillion.aio")
        if aio is not None:
            try:
                aio.shut_down()
            except BaseException as error:
                print(f"pillion: closing the event loop failed: {error!r}", file=sys.stderr)
        for stream in sys.stdout, sys.stderr:
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                # User code closed it; Python would turn that into exit code 120.
                sys.stdout = None if stream is sys.stdout else sys.stdout  # type: ignore[assignment]


def _describe(params: Any) -> Any:
    from pillion.describe import describe_module
    from pillion.errors import Fault
    from pillion.resolve import load

    name = params.get("module") if isinstance(params, dict) else None
    if not isinstance(name, str):
        raise Fault("invalid_request", "`params.module` of a describe must be a module name")
    with files.read_only():
        return describe_module(load(name))


def _expose(params: Any) -> Any:
    from pillion.expose import exposure

    with files.read_only():
        return exposure(params.get("modules") if isinstance(params, dict) else None).listing()


def registered(name: str) -> Callable[..., Any] | None:
    """A command of a worker that serves no module: what `@pillion.method` has registered."""
    for (_, method), function in METHODS.items():
        if method == name:
            return function
    return None
