"""A daemon and a box in miniature: real zygotes, slots and cold runs, in real namespaces.

The outer box is `unshare`; seccomp filters are two small hand-made ones. The rules that pillion
itself uses are made and tested on its Rust side.
"""

from __future__ import annotations

import array
import base64
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PYTHON_DIR = Path(__file__).resolve().parent.parent
DEADLINE = 60.0
# A mount point that every Linux has.
FOLDER = "/mnt"
BOX = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
BOX += ["--ipc", "--net", "--mount-proc"]
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

# Landlock: reading and running everywhere, writing only where the folder and /tmp are.
FS_ALL = (1 << 13) - 1
FS_READ = 0b1101  # execute, read a file, read a folder
LANDLOCK = {
    "handled_fs": FS_ALL,
    "handled_net": 0,
    "scoped": 0,
    "rules": [["/", FS_READ], [FOLDER, FS_ALL], ["/tmp", FS_ALL], ["/dev/null", 0b110], ["/no", 4]],
}


def send(sock: socket.socket, message, fds=()) -> None:
    data = json.dumps(message).encode()
    data = struct.pack(">I", len(data)) + data
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sent = sock.sendmsg([data], rights)
    if sent < len(data):
        sock.sendall(data[sent:])


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError(f"{len(data)} of {size} bytes")
        data += part
    return data


def receive(sock: socket.socket, most_fds: int = 0):
    head, beside, _, _ = sock.recvmsg(4, socket.CMSG_SPACE(4 * most_fds))
    fds = array.array("i")
    for _, _, data in beside:
        fds.frombytes(data)
    if not head:
        raise EOFError("no message")
    head += exactly(sock, 4 - len(head))
    message = json.loads(exactly(sock, struct.unpack(">I", head)[0]))
    return (message, list(fds)) if most_fds else message


def pair() -> tuple[socket.socket, socket.socket]:
    mine, theirs = socket.socketpair()
    mine.settimeout(DEADLINE)
    return mine, theirs


def deny(*numbers: int) -> str:
    """A seccomp filter that answers these system calls with EPERM."""
    code = [(0x20, 0, 0, 0)]  # load the number
    for at, number in enumerate(numbers):
        code.append((0x15, len(numbers) - at, 0, number))
    code += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)]
    return base64.b64encode(b"".join(struct.pack("HBBI", *one) for one in code)).decode()


MACHINE = os.uname().machine
SOCKET, PTRACE = (41, 101) if MACHINE == "x86_64" else (198, 117)


def usable_python(user: str) -> str:
    """An interpreter that this user can start: as root, ours may lie in root's home."""
    for path in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        argv = [
            *(NOBODY if user == "nobody" else []),
            *BOX,
            path,
            "-I",
            "-S",
            "-c",
            "import ctypes",
        ]
        if subprocess.run(argv, capture_output=True, cwd="/").returncode == 0:
            return path
    raise AssertionError(f"no Python that {user} can start")


def users() -> list[str]:
    return ["root", "nobody"] if os.getuid() == 0 else ["user"]


class Output:
    """Reads a pipe to its end, in a thread so that nothing ever blocks on it."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        self.data = b""
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        while part := os.read(self.read_end, 1 << 16):
            self.data += part
        os.close(self.read_end)

    def text(self) -> str:
        self.thread.join(DEADLINE)
        assert not self.thread.is_alive(), "someone still holds the pipe"
        return self.data.decode("utf-8", "replace")

    def so_far(self, wanted: bytes) -> bytes:
        until = time.monotonic() + DEADLINE
        while wanted not in self.data:
            assert time.monotonic() < until, self.data
            time.sleep(0.005)
        return self.data


def _feed(write_end: int, data: bytes) -> None:
    try:
        os.write(write_end, data)
    except BrokenPipeError:
        pass  # it has ended already
    os.close(write_end)


class Done:
    """How a run ended."""

    def __init__(self, **parts) -> None:
        self.__dict__.update(parts)

    def __repr__(self) -> str:
        return f"Done({self.__dict__})"


class Run:
    """A run that was ordered. `ctl` is None for cold runs, which have no init."""

    def __init__(self, ctl, result, out, err, process=None, tools=None) -> None:
        self.ctl, self.result, self.out, self.err = ctl, result, out, err
        self.process, self.tools = process, tools

    def message(self):
        """What the runner wrote on `result`, or None."""
        try:
            return receive(self.result)
        except (EOFError, ConnectionResetError):
            return None

    def done(self) -> Done:
        message = self.message()
        if self.ctl is None:
            code = self.process.wait(DEADLINE)
            report = {"exit": code if code >= 0 else None, "signal": -code if code < 0 else None}
            report["killed"] = None
            contents = {}
        else:
            report = receive(self.ctl)
            contents = {one["name"]: exactly(self.ctl, one["size"]) for one in report["outputs"]}
            assert self.ctl.recv(1) == b"", "the init ends after its report"
            self.ctl.close()
        self.result.close()
        if self.tools is not None:
            self.tools.close()
        return Done(
            result=message,
            report=report,
            exit=report["exit"],
            signal=report["signal"],
            killed=report["killed"],
            outputs=contents,
            out=self.out.text(),
            err=self.err.text(),
        )


def make_order(program, **more) -> dict:
    if isinstance(program, str):
        program = {"code": program}
    order = {"program": program, "name": "<expert>", "args": [], "folder": FOLDER, "files": []}
    order.update({"path": [more.get("folder", FOLDER)], "rlimits": [], "seed": None})
    order.update({"clock": None, "env": {"HOME": FOLDER, "PATH": os.environ["PATH"]}})
    order["tools"] = False
    files = more.pop("files", {})
    order["files"] = [{"name": name, "size": len(data)} for name, data in files.items()]
    return {**order, **more}


class Slot:
    """A slot that is ready for its order."""

    def __init__(self, ctl, run, pidfd) -> None:
        self.ctl, self.run, self.pidfd = ctl, run, pidfd

    def order(self, program, *, watch=None, stdin: bytes = b"", files=None, **more) -> Run:
        telling = {"folder", "outputs", "outputs_bytes", "outputs_files", "every_ms"} & {*more}
        told = {"watch": watch or {}, "every_ms": 10, "outputs": [], "outputs_bytes": 1 << 20}
        told.update({"outputs_files": 10, "folder": FOLDER})
        told.update({key: more.pop(key) for key in telling})
        order = make_order(program, files=files or {}, folder=told["folder"], **more)
        out, err = Output(), Output()
        result, theirs = pair()
        read_end, write_end = os.pipe()
        fds = [read_end, out.write_end, err.write_end, theirs.fileno()]
        tools = None
        if order["tools"]:
            tools, tools_end = pair()
            fds.append(tools_end.fileno())
        send(self.ctl, told)
        send(self.run, order, fds)
        try:
            for data in (files or {}).values():
                self.run.sendall(data)
        except BrokenPipeError:
            pass  # it has refused the order already
        theirs.close()
        if tools is not None:
            tools_end.close()
        self.run.close()
        os.close(read_end)
        os.close(out.write_end)
        os.close(err.write_end)
        _feed(write_end, stdin)
        return Run(self.ctl, result, out, err, tools=tools)

    def wait_gone(self) -> None:
        """Until the init, and with it everything in its namespace, has ended."""
        ready, _, _ = select.select([self.pidfd], [], [], DEADLINE)
        assert ready, "the init lives on"

    def close(self) -> None:
        for sock in (self.ctl, self.run):
            sock.close()
        if self.pidfd is not None:
            self.wait_gone()
            os.close(self.pidfd)
            self.pidfd = None


class Zygote:
    """A zygote below `unshare`, and the daemon's end of its control socket."""

    def __init__(self, user: str = "", imports=(), python: str | None = None, **setup) -> None:
        self.user = user or users()[0]
        self.python = python or usable_python(self.user)
        self.slots: list[Slot] = []
        self.control, theirs = pair()
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        script = str(PYTHON_DIR / "pillion" / "lane" / "zygote.py")
        argv = [*(NOBODY if self.user == "nobody" else []), *BOX]
        argv += [self.python, "-I", "-S", "-B", "-X", "utf8", script, str(theirs.fileno())]
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            cwd="/",
            env={"PATH": os.environ["PATH"]},
        )
        theirs.close()
        self.setup = {
            "imports": list(imports),
            "path": [],
            "env": {"HOME": FOLDER},
            "uid": 1000,
            "gid": 1000,
            "mounts": [
                {"kind": "proc", "at": "/proc"},
                {
                    "kind": "tmpfs",
                    "at": FOLDER,
                    "flags": 6,
                    "options": "size=8388608,nr_inodes=512,mode=0700",
                },
            ],
            "hide": ["/srv", "/no-such-folder"],
            "landlock": LANDLOCK,
            "filters": [deny(SOCKET), deny(PTRACE)],
            "rlimits": [[4, 0, 0]],
            "nice": 5,
            "oom_score_adj": 1000,
            **setup,
        }
        send(self.control, self.setup)
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(DEADLINE)
            logged = self.logged()
            self.close()
            raise AssertionError(logged)
        self.ready = json.loads(line)

    def logged(self) -> str:
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def ask(self, number: int = 1, **more):
        """Ask for a slot: its ctl and run, and what its init said first."""
        ctl, ctl_end = pair()
        run, run_end = pair()
        send(self.control, {"slot": number, **more}, [ctl_end.fileno(), run_end.fileno()])
        ctl_end.close()
        run_end.close()
        try:
            said, fds = receive(ctl, 1)
        except EOFError:
            raise AssertionError(f"the slot said nothing; zygote: {self.logged()}") from None
        return ctl, run, said, fds

    def slot(self, number: int = 1, **more) -> Slot:
        ctl, run, said, fds = self.ask(number, **more)
        assert said == {"ready": number}, said
        slot = Slot(ctl, run, fds[0])
        self.slots.append(slot)
        return slot

    def run(self, program, **more) -> Done:
        slot = self.slot()
        done = slot.order(program, **more).done()
        slot.close()
        return done

    def close(self) -> None:
        for slot in self.slots:
            slot.close()
        self.control.close()
        try:
            assert self.process.wait(DEADLINE) is not None
        finally:
            # With `unshare` (--kill-child) all of its namespace goes.
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            self.log.close()
            self.process.stdout.close()


def run_cold(program, folder: Path, *, stdin: bytes = b"", files=None, python=None, **more) -> Run:
    """Start a run without a zygote: a plain process, as inside of a box that is made already."""
    order_end, theirs = pair()
    result, result_end = pair()
    passed = [theirs.fileno(), result_end.fileno()]
    descriptors = {"result": result_end.fileno()}
    tools = None
    if more.get("tools"):
        tools, tools_end = pair()
        passed.append(tools_end.fileno())
        descriptors["tools"] = tools_end.fileno()
    out, err = Output(), Output()
    read_end, write_end = os.pipe()
    script = str(PYTHON_DIR / "pillion" / "lane" / "runner.py")
    flags = more.pop("flags", ["-I", "-S", "-B", "-X", "utf8"])
    process = subprocess.Popen(
        [python or sys.executable, *flags, script, str(theirs.fileno())],
        stdin=read_end,
        stdout=out.write_end,
        stderr=err.write_end,
        pass_fds=passed,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"},
    )
    for sock in (theirs, result_end, *([tools_end] if tools else [])):
        sock.close()
    for fd in (read_end, out.write_end, err.write_end):
        os.close(fd)
    order = make_order(program, files=files or {}, folder=str(folder), **more)
    send(order_end, {**order, "descriptors": descriptors})
    try:
        for data in (files or {}).values():
            order_end.sendall(data)
    except BrokenPipeError:
        pass  # it has refused the order already
    order_end.close()
    _feed(write_end, stdin)
    return Run(None, result, out, err, process, tools)
