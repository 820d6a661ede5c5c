"""Messages of a lane: a 4-byte big-endian length and JSON, with descriptors on the first byte.

Imports C modules only: it is on the way of a cold run.
"""

from __future__ import annotations

import os

from pillion import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any

MAX_BYTES = 64 * 1024 * 1024
_CHUNK = 1 << 20
_INT = 4


def _refuse(value: Any) -> Any:
    raise TypeError(f"`{type(value).__qualname__}` is not JSON")


dumps = wire.make_dumps(_refuse)


class Ended(Exception):  # noqa: N818 - an end is not an error of ours
    """The other side is gone."""


def pack(message: Any) -> bytes:
    """A message as bytes. `TypeError`, `ValueError` or `RecursionError`: it cannot be JSON."""
    body = dumps(message).encode()
    if len(body) > MAX_BYTES:
        raise ValueError("the message is too large")
    return len(body).to_bytes(4, "big") + body


def send(connection: socket, message: Any, descriptors: tuple[int, ...] = ()) -> None:
    """Send one message."""
    data = pack(message)
    sent = 0
    if descriptors:
        import _socket

        joined = b"".join(fd.to_bytes(_INT, _order()) for fd in descriptors)
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, joined)]
        sent = connection.sendmsg([data], rights)
    if sent < len(data):
        connection.sendall(data[sent:])


def receive(connection: socket, most: int = 0) -> tuple[Any, list[int]]:
    """Receive one message and up to `most` descriptors. `Ended` where a message would begin."""
    import _socket

    # Not CMSG_SPACE, which rounds up: there would be room for one descriptor more.
    space = _socket.CMSG_LEN(most * _INT) if most else 0
    head, beside, _, _ = connection.recvmsg(4, space, _socket.MSG_CMSG_CLOEXEC)
    if not head:
        raise Ended
    descriptors = [
        int.from_bytes(data[at : at + _INT], _order())
        for level, kind, data in beside
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS
        for at in range(0, len(data) - len(data) % _INT, _INT)
    ]
    return _rest(head, connection.recv), descriptors


def read(descriptor: int) -> Any:
    """Read one message without descriptors, from a socket or a pipe."""

    def some(most: int) -> bytes:
        return os.read(descriptor, most)

    head = some(4)
    if not head:
        raise Ended
    return _rest(head, some)


def _rest(head: bytes, some: Callable[[int], bytes]) -> Any:
    if len(head) < 4:
        head += exactly(4 - len(head), some)
    size = int.from_bytes(head, "big")
    if size > MAX_BYTES:
        raise ValueError("the message is too large")
    return wire.loads(exactly(size, some))


def exactly(size: int, some: Callable[[int], bytes]) -> bytes:
    """That many bytes."""
    parts = []
    while size:
        part = some(min(size, _CHUNK))
        if not part:
            raise Ended
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def write(descriptor: int, data: bytes) -> None:
    """All of `data`, to a socket or a pipe."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _order() -> Any:
    import sys

    return sys.byteorder
