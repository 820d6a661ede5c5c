"""A kernel of any language behind walls: its kernelspec's command, and the way to its sockets.

The command is told to listen on the loopback of a network that only this box has: every kernel
can do that, whatever it is written in. This process makes sockets in a folder of its own, hands
that folder to the daemon, which nobody else can reach, puts up the last wall around itself and
so around everything that it starts, and starts the command. From then on it passes bytes on
between the two kinds of sockets, passes on interrupts, and ends as the command ends.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from selectors import DefaultSelector
    from socket import socket
    from subprocess import Popen
    from typing import Any, NoReturn

_WORKER_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_HOST = "127.0.0.1"
# Nobody else is in this network, so its ports are free.
_FIRST_PORT = 9001
# Seconds between two looks whether the kernel listens.
_AGAIN = 0.02
# Seconds that a connection may take: nobody is between the two ends.
_CONNECT = 2.0
# Seconds that what a kernel said last may take to be passed on.
_LAST_WORDS = 0.5
_CHUNK = 1 << 16


def main(control_fd: int) -> NoReturn:
    """Be the kernel of a kernelspec until it ends."""
    import _socket
    import socket

    from pillion.lane import kernel, messages

    hello = kernel.claim_stdout()
    control = socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=control_fd)
    os.set_inheritable(control_fd, False)
    setup, _ = messages.receive(control)
    folder = setup["sockets"]
    kernel.make_empty(folder)
    listeners = _listen(folder)
    connection_file = _write_connection_file(folder, setup["key"])
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    messages.send(control, {"prefix": kernel.PREFIX}, (opened,))
    os.close(opened)
    kernel.put_up_the_last_wall(setup["filters"])
    child = _start(setup, connection_file)
    _wait_until_it_listens(child)
    version = ".".join(map(str, sys.version_info[:3]))
    messages.write(hello, messages.dumps({"status": "ready", "python": version}).encode() + b"\n")
    # It stays open: its end is the kernel's.
    os.set_inheritable(hello, False)
    _Relay(child, control, listeners).run()
    _end_as(child.wait())


def _listen(folder: str) -> list[socket]:
    """The sockets that the daemon connects to, one for each port."""
    import socket

    from pillion.lane import kernel

    # Names of sockets are short: they are made from within their folder, wherever that is.
    work = os.getcwd()
    os.chdir(folder)
    listeners = []
    for number in range(1, len(kernel.PORTS) + 1):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{kernel.PREFIX}-{number}")
        listener.listen()
        listener.setblocking(False)
        listeners.append(listener)
    os.chdir(work)
    return listeners


def _write_connection_file(folder: str, key: str) -> str:
    import json

    from pillion.lane import kernel

    connection: dict[str, Any] = {
        f"{name}_port": _FIRST_PORT + number for number, name in enumerate(kernel.PORTS)
    }
    connection |= {
        "transport": "tcp",
        "ip": _HOST,
        "key": key,
        "signature_scheme": "hmac-sha256",
    }
    path = os.path.join(folder, kernel.CONNECTION_FILE)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(connection, file)
    return path


def _start(setup: dict[str, Any], connection_file: str) -> Popen[bytes]:
    """Start the command, with what stands for names in it replaced as Jupyter replaces them."""
    import re
    import string
    import subprocess

    known = {"connection_file": connection_file, "resource_dir": setup["resource_dir"]}

    def replaced(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], found[0]), text)

    variables = dict(os.environ)
    for name, value in setup["env"].items():
        variables[name] = string.Template(value).safe_substitute(os.environ)
    try:
        return subprocess.Popen(  # noqa: S603 - the walls are up already
            [replaced(word) for word in setup["argv"]],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=2,
            # A group of its own is what an interrupt is for.
            start_new_session=True,
        )
    except OSError as error:
        _give_up(f"cannot run `{setup['argv'][0]}`: {error.strerror}")


def _wait_until_it_listens(child: Popen[bytes]) -> None:
    """Wait for all ports but that of the heartbeat. The daemon knows how long that may take."""
    import socket
    import time

    from pillion.lane import kernel

    for number in range(len(kernel.PORTS) - 1):
        while True:
            if child.poll() is not None:
                # What it said last is the reason that people are told.
                _end_as(child.returncode)
            try:
                socket.create_connection((_HOST, _FIRST_PORT + number)).close()
                break
            except OSError:
                time.sleep(_AGAIN)


class _Relay:
    """Passes on bytes, interrupts and the end of the kernel."""

    def __init__(self, child: Popen[bytes], control: socket, listeners: Iterable[socket]) -> None:
        import selectors

        self.child = child
        self.control = control
        self.selector: DefaultSelector = selectors.DefaultSelector()
        # The other end of each connection, and what it has not taken yet.
        self.others: dict[socket, socket] = {}
        self.kept: dict[socket, bytes] = {}
        self.read = selectors.EVENT_READ
        self.write = selectors.EVENT_WRITE
        self.end = os.pidfd_open(child.pid)
        self.selector.register(self.end, self.read, self._ended)
        self.selector.register(control, self.read, self._asked)
        for port, listener in enumerate(listeners, _FIRST_PORT):
            self.selector.register(listener, self.read, (self._called, port))
        self.until: float | None = None

    def run(self) -> None:
        """Go on until the kernel has ended, and what it said last is passed on."""
        import time

        while True:
            left = None
            if self.until is not None:
                left = self.until - time.monotonic()
                if left <= 0 or not self.others:
                    return
            for key, events in self.selector.select(left):
                # An earlier one of them may have closed it.
                if key.fileobj not in self.selector.get_map():
                    continue
                if isinstance(key.data, tuple):
                    act, port = key.data
                    act(key.fileobj, port)
                elif key.data is None:
                    self._pass_on(key.fileobj, events)
                else:
                    key.data()

    def _ended(self) -> None:
        import time

        self.selector.unregister(self.end)
        self.until = time.monotonic() + _LAST_WORDS

    def _asked(self) -> None:
        """The daemon has one thing to say here."""
        import signal

        from pillion.lane import messages

        try:
            messages.receive(self.control)
        except (messages.Ended, OSError):
            self.selector.unregister(self.control)
            return
        try:
            os.killpg(self.child.pid, signal.SIGINT)
        except OSError:
            pass  # it has just ended

    def _called(self, listener: socket, port: int) -> None:
        import socket

        try:
            caller, _ = listener.accept()
        except OSError:
            return
        try:
            kernel = socket.create_connection((_HOST, port), _CONNECT)
        except OSError:
            caller.close()
            return
        kernel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for one, other in ((caller, kernel), (kernel, caller)):
            one.setblocking(False)
            self.others[one] = other
            self.kept[one] = b""
            self.selector.register(one, self.read, None)

    def _pass_on(self, one: Any, events: int) -> None:
        """Give it what it has not taken, or take from it, one thing at a time in each direction."""
        other = self.others[one]
        try:
            if events & self.write:
                self._give(one, self.kept[one])
            if events & self.read:
                data = one.recv(_CHUNK)
                if not data:
                    self._hang_up(one)
                    return
                self._give(other, data)
        except BlockingIOError:
            pass
        except OSError:
            self._hang_up(one)
            return
        self._listen_to(one)
        self._listen_to(other)

    def _give(self, one: Any, data: bytes) -> None:
        try:
            sent = one.send(data)
        except BlockingIOError:
            sent = 0
        self.kept[one] = data[sent:]

    def _listen_to(self, one: Any) -> None:
        """Nothing is taken from an end while the other one has not taken what came before."""
        events = 0
        if self.kept[one]:
            events |= self.write
        if not self.kept[self.others[one]]:
            events |= self.read
        known = self.selector.get_map().get(one)
        if known is None:
            if events:
                self.selector.register(one, events, None)
        elif events:
            self.selector.modify(one, events, None)
        else:
            self.selector.unregister(one)

    def _hang_up(self, one: Any) -> None:
        for end in (one, self.others[one]):
            if end in self.selector.get_map():
                self.selector.unregister(end)
            self.others.pop(end)
            self.kept.pop(end)
            end.close()


def _give_up(why: str) -> NoReturn:
    print(why, file=sys.stderr, flush=True)
    os._exit(1)


def _end_as(code: int) -> NoReturn:
    """End as the kernel did."""
    import signal

    if code < 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    sys.path[:] = [
        entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))
    ]
    sys.path.append(_WORKER_DIR)
    main(int(sys.argv[1]))
