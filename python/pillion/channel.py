"""The protocol's own descriptors: reading and writing lines, out of reach of user code.

fd 0 becomes `/dev/null` and fd 1 a second stderr; the real pipes move to descriptors that are
neither inherited by programs nor kept open by forked children.
"""

from __future__ import annotations

import _thread
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_MAX_LINE = 64 * 1024 * 1024
BUFFER = 64 * 1024


class Channel:
    """Lines in from one descriptor, lines out to another."""

    def __init__(self, in_fd: int, out_fd: int, max_line: int = DEFAULT_MAX_LINE) -> None:
        self.in_fd = in_fd
        self.out_fd = out_fd
        self.max_line = max_line
        # A thread of the user's may report progress while the main thread writes.
        self._lock = _thread.allocate_lock()
        # closefd=False: a forked child closes the descriptors itself, the object must not again.
        self._reader = io.BufferedReader(io.FileIO(in_fd, closefd=False), BUFFER)

    def read_line(self) -> bytes | None:
        """The next line; `b""` at the end of input, None for a line that was too long."""
        line = self._reader.readline(self.max_line + 1)
        if len(line) <= self.max_line:
            return line
        while line and not line.endswith(b"\n"):
            line = self._reader.readline(BUFFER)
        return None

    def write(self, line: bytes) -> None:
        """Write one whole line. The host being gone ends the process: nobody can be told."""
        try:
            with self._lock:
                if self.out_fd < 0:  # a forked child has no protocol
                    return
                written = os.write(self.out_fd, line)
                if written != len(line):
                    self._write_rest(memoryview(line)[written:])
        except BlockingIOError:
            os.set_blocking(self.out_fd, True)
            self.write(line)
        except OSError:
            os._exit(1)

    def _write_rest(self, rest: memoryview) -> None:
        while rest:
            try:
                rest = rest[os.write(self.out_fd, rest) :]
            except BlockingIOError:
                os.set_blocking(self.out_fd, True)

    def close_in_child(self) -> None:
        """After a fork: let go of the pipes, so that the host sees the worker's end."""
        for fd in self.in_fd, self.out_fd:
            try:
                os.close(fd)
            except OSError:
                pass
        self.in_fd = self.out_fd = -1


def claim_stdio() -> tuple[int, int]:
    """Move the protocol off fds 0 and 1 and give user code harmless ones."""
    in_fd, out_fd = os.dup(0), os.dup(1)
    for fd in in_fd, out_fd:
        os.set_blocking(fd, True)
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(null, 2)
    os.dup2(null, 0)
    os.dup2(2, 1)
    if null > 2:
        os.close(null)
    if sys.stderr is None:
        sys.stderr = sys.__stderr__ = _text(2)
    sys.stdout = sys.__stdout__ = _text(1)  # type: ignore[misc]
    return in_fd, out_fd


def _text(fd: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(fd, "w", closefd=False))
    return io.TextIOWrapper(raw, "utf-8", errors="backslashreplace", line_buffering=True)


def socket_lines(fd: int, max_line: int) -> Iterator[bytes]:
    """The lines of the control socket until its end. An overlong line ends it as well."""
    pending = b""
    while len(pending) <= max_line:
        try:
            data = os.read(fd, BUFFER)
        except OSError:
            return
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        yield from lines
