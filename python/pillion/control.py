"""What must be answered while Python code runs: ping, cancel, trim.

Two ways in: a control thread on its own socket (`--control-fd`), so that the main thread reads its
work without a hop between threads; or a reader thread that takes everything from stdin.
"""

from __future__ import annotations

import _thread
import os
import sys

from pillion import interrupt, wire
from pillion.channel import socket_lines
from pillion.encode import encode
from pillion.state import STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pillion.channel import Channel


def pong(id: Any) -> bytes:
    """The answer to a ping: alive, and busy with what."""
    call = STATE.running
    result = {"pong": True, "busy": None if call is None else call.id}
    return encode({"id": id, "result": result})


def request_trim() -> None:
    """Ask the main thread to drop caches: at once if it is idle, else after its call."""
    STATE.trim = True
    if not STATE.in_main_thread():
        interrupt.poke_main_thread()


def handle(request: dict[str, Any], *, may_come_later: bool) -> bytes | None:
    """Act on a control message; returns the line to answer with, if any."""
    method = request.get("method")
    if method == "ping":
        return pong(request.get("id"))
    if method == "cancel":
        params = request.get("params")
        if isinstance(params, dict) and "id" in params:
            interrupt.request_cancel(params["id"], may_come_later=may_come_later)
    elif method == "trim":
        request_trim()
    return None


class ControlSocket:
    """The control thread's end of the socket."""

    def __init__(self, fd: int, max_line: int) -> None:
        self.fd = fd
        self.max_line = max_line
        os.set_inheritable(fd, False)
        os.set_blocking(fd, True)

    def start(self) -> None:
        """Start the control thread."""
        _thread.start_new_thread(self._run, ())

    def close_in_child(self) -> None:
        """After a fork: a child must not hold the socket open."""
        try:
            os.close(self.fd)
        except OSError:
            pass

    def _run(self) -> None:
        try:
            for line in socket_lines(self.fd, self.max_line):
                self._answer(line)
        finally:
            # Whatever ended the loop, nobody can reach this process any more.
            self._owner_is_gone()

    def _answer(self, line: bytes) -> None:
        try:
            request = wire.request(line)
        except ValueError:
            return
        if not isinstance(request, dict):
            return
        reply = handle(request, may_come_later=True)
        while reply:
            reply = reply[os.write(self.fd, reply) :]

    @staticmethod
    def _owner_is_gone() -> None:
        # Only a group of our own: a worker started by hand must not take its shell along.
        if os.getpgrp() == os.getpid():
            os.killpg(0, 9)
        os._exit(1)


class InBandReader:
    """Reads stdin in a thread, answers control messages, queues the rest for the main thread."""

    def __init__(self, channel: Channel) -> None:
        from _queue import SimpleQueue

        self._channel = channel
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._waiting: list[Any] = []  # ids that are not answered yet, for cancels
        self._current: Any = None

    def start(self) -> None:
        """Start the reader thread."""
        _thread.start_new_thread(self._run, ())

    def next(self) -> Any:
        """The next parsed line, an exception instead of one that is bad, or None at the end."""
        if type(self._current) is dict:
            # Only now: in between, a cancel must find it either here or running.
            self._waiting.remove(self._current.get("id"))
        self._current = self._queue.get()
        return self._current

    def _run(self) -> None:
        try:
            while True:
                request = parse_line(self._channel.read_line())
                if request is None:
                    break
                if type(request) is not dict:
                    self._queue.put(request)
                elif request.get("method") in ("ping", "cancel", "trim"):
                    self._control(request)
                else:
                    self._waiting.append(request.get("id"))
                    self._queue.put(request)
        except BaseException as error:
            print(f"pillion: reading stdin failed: {error!r}", file=sys.stderr)
        finally:
            self._queue.put(None)

    def _control(self, request: dict[str, Any]) -> None:
        params = request.get("params")
        target = params.get("id") if isinstance(params, dict) else None
        # Everything comes in order here: what is neither running nor waiting is over.
        reply = handle(request, may_come_later=target in self._waiting)
        if reply is not None:
            self._channel.write(reply)


class BadLine(Exception):  # noqa: N818
    """A line that cannot become a request."""

    def __init__(self, code: str, type: str, message: str, id: int | str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.type = type
        self.id = id


def parse_line(line: bytes | None) -> Any:
    """A request, a `BadLine`, `False` for a blank line, None at the end of input."""
    if not line:
        if line is None:
            return BadLine("invalid_request", "InvalidRequest", "the line is too long")
        return None
    try:
        request = wire.request(line)
    except wire.TooMuch as error:
        # A host waits for it: only what it sent along cannot be read.
        id = wire.leading_id(line)
        if id is None:
            return BadLine("invalid_json", "InvalidJSON", str(error))
        return BadLine("invalid_params", "ValueError", str(error), id)
    except ValueError as error:
        if not line.strip():
            return False
        return BadLine("invalid_json", "InvalidJSON", str(error))
    if type(request) is not dict:
        return BadLine("invalid_request", "InvalidRequest", "a request must be a JSON object")
    return request
