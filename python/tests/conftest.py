"""A host in miniature: starts real workers over real pipes and a real control socket."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PYTHON_DIR = Path(__file__).resolve().parent.parent
DEADLINE = 45.0


class Host:
    """One worker and both ways to talk to it."""

    def __init__(
        self, root: Path, *flags: str, control: bool = True, argv: list[str] | None = None
    ):
        self.root = root
        mine, theirs = socket.socketpair()
        self.socket = mine if control else None
        argv = argv or [
            sys.executable,
            "-u",
            str(PYTHON_DIR),
            "worker",
            "--root",
            str(root),
            *flags,
        ]
        if control:
            argv = [*argv, "--control-fd", str(theirs.fileno())]
        environment = {**os.environ, "PYTHONPATH": str(PYTHON_DIR)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.stderr_path = root / "stderr.txt"
        with self.stderr_path.open("wb") as stderr:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=[theirs.fileno()] if control else [],
                start_new_session=True,
                cwd=root,
                env=environment,
            )
        theirs.close()
        if not control:
            mine.close()
        self.buffers = {"out": b"", "control": b""}
        self.last_id = 0
        try:
            self.ready = self.read()
        except BaseException:
            self.close()
            raise

    def _line(self, name: str, fd: int) -> bytes:
        while b"\n" not in self.buffers[name]:
            readable, _, _ = select.select([fd], [], [], DEADLINE)
            assert readable, f"no line within {DEADLINE} s; stderr: {self.stderr()}"
            data = os.read(fd, 1 << 16)
            if not data:
                return b""
            self.buffers[name] += data
        line, _, self.buffers[name] = self.buffers[name].partition(b"\n")
        return line

    def read(self):
        line = self._line("out", self.process.stdout.fileno())
        assert line, f"end of output; stderr: {self.stderr()}"
        return json.loads(line)

    def send(self, message) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def control(self, message) -> None:
        if self.socket is None:
            self.send(message)
        else:
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def read_control(self):
        if self.socket is None:
            return self.read()
        return json.loads(self._line("control", self.socket.fileno()))

    def start(self, function: str, params=None, stream: bool = False, **beside) -> int:
        self.last_id += 1
        inner = {"function": function, "params": params}
        if stream:
            inner["stream"] = True
        self.send({"id": self.last_id, "method": "call", "params": inner, **beside})
        return self.last_id

    def reply(self, function: str, params=None, **more):
        sent = self.start(function, params, **more)
        reply = self.read()
        assert reply["id"] == sent
        return reply

    def result(self, function: str, params=None):
        reply = self.reply(function, params)
        assert "result" in reply, reply
        return reply["result"]

    def error(self, function: str, params=None):
        reply = self.reply(function, params)
        assert "error" in reply, reply
        return reply["error"]

    def cancel(self, id) -> None:
        self.control({"method": "cancel", "params": {"id": id}})

    def describe(self, module: str):
        self.send({"id": "d", "method": "describe", "params": {"module": module}})
        reply = self.read()
        assert "result" in reply, reply
        return reply["result"]

    def stderr(self) -> str:
        return self.stderr_path.read_text("utf-8", "replace")

    def finish(self) -> int:
        """End of input, then wait."""
        self.process.stdin.close()
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        """Leave nothing behind, whatever the test did."""
        try:
            # Also when the worker itself has ended: a child of its may be left in the group.
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()
        if self.socket is not None:
            self.socket.close()


@pytest.fixture
def write(tmp_path):
    """Write a module of the user's into the root."""

    def write_module(name: str, source: str) -> Path:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return write_module


@pytest.fixture
def start(tmp_path):
    """Start workers; afterwards each must still end cleanly with exit code 0."""
    hosts = []

    def start_host(*flags: str, **options) -> Host:
        host = Host(tmp_path, *flags, **options)
        hosts.append(host)
        return host

    yield start_host
    try:
        for host in hosts:
            if host.process.returncode is None:
                assert host.finish() == 0, host.stderr()
    finally:
        for host in hosts:
            host.close()


@pytest.fixture(params=["control-fd", "in-band"])
def host(request, start):
    """A worker, once with the control socket and once with everything on stdin."""
    return start(control=request.param == "control-fd")


def pytest_terminal_summary(terminalreporter) -> None:
    """Say what only root can try, as tests in Rust do: `cargo xtask test` lists it."""
    if os.getuid() != 0:
        terminalreporter.ensure_newline()
        terminalreporter.write_line(
            "skipped: test_lane_slot: slots of root: only root can be others"
        )
