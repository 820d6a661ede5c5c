"""A kernel: ipykernel behind walls.

It is told on its control socket what to import from and where its folder is, makes its sockets in
a folder of its own, and hands that folder to the daemon, which nobody else can reach. It says
hello as a worker does, by one line on its standard output, when it can be asked; and before any
cell runs it puts up the last wall around all of its threads.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_WORKER_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Numbers behind the prefix of a socket's name, as Jupyter has them.
PORTS = ("shell", "iopub", "stdin", "control", "hb")
PREFIX = "k"
CONNECTION_FILE = "connection.json"
# Characters that a stream keeps before it hands them on, whatever its own clock says.
_MOST_KEPT = 1 << 20
# Outputs that wait for a slow reader before some are lost.
_WAITING_OUTPUTS = 100_000
# Messages that may wait in any other socket, as ZeroMQ has it.
_USUALLY_WAITING = 1000


def main(control_fd: int) -> NoReturn:
    """Be a kernel until somebody ends it."""
    import _socket

    from pillion.lane import messages

    hello = claim_stdout()
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=control_fd)
    os.set_inheritable(control_fd, False)
    setup, _ = messages.receive(control)
    os.environ.update(setup.get("env") or {})
    sys.path[:] = [*dict.fromkeys([*sys.path, *setup["path"]])]
    folder = setup["sockets"]
    make_empty(folder)
    app = _start(setup, folder)
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    messages.send(control, {"prefix": PREFIX}, (opened,))
    os.close(opened)
    put_up_the_last_wall(setup.get("filters") or [])
    version = ".".join(map(str, sys.version_info[:3]))
    messages.write(hello, messages.dumps({"status": "ready", "python": version}).encode() + b"\n")
    # It stays open: its end is the kernel's.
    os.set_inheritable(hello, False)
    if setup["waits"]:
        # A spare has its folder when somebody says so.
        messages.receive(control)
        os.chdir(os.environ["HOME"])
    control.close()
    app.start()
    sys.exit(0)


def _start(setup: dict[str, Any], folder: str) -> Any:
    """An application that listens on its sockets, and has run nothing yet."""
    import json

    # Names of sockets are short: they are made from within their folder, wherever that is.
    work = os.getcwd()
    os.chdir(folder)
    connection = {f"{name}_port": number for number, name in enumerate(PORTS, 1)}
    connection |= {
        "transport": "ipc",
        "ip": PREFIX,
        "key": setup["key"],
        "signature_scheme": "hmac-sha256",
    }
    with open(CONNECTION_FILE, "w", encoding="utf-8") as file:
        json.dump(connection, file)
    _make_profile()
    if not setup["debugger"]:
        # ipykernel imports the whole of it at its start; cells can, too, later on.
        sys.modules["debugpy"] = None  # type: ignore[assignment]
    try:
        from ipykernel.kernelapp import IPKernelApp
    except ImportError as error:
        _give_up(f"cannot import ipykernel: {error}")
    from traitlets.config import Config

    config = Config()
    # Completion by Jedi takes seconds where it is asked first; pillion knows names by itself.
    config.Completer.use_jedi = False
    # What was typed is the caller's to keep.
    config.HistoryManager.enabled = False
    app = IPKernelApp.instance(config=config, connection_file=CONNECTION_FILE)
    _leave_room_for_outputs(app)
    app.initialize(["-f", os.path.join(folder, CONNECTION_FILE)])
    if not setup["debugger"]:
        del sys.modules["debugpy"]
    from pillion.lane import interrupt

    interrupt.listen(app.kernel)
    for stream in (sys.stdout, sys.stderr):
        _hand_on_early(stream)
    _run_shells_by_pipe()
    os.unlink(CONNECTION_FILE)
    os.chdir(work)
    return app


def _make_profile() -> None:
    """Make what IPython would copy into its own folder: no rights are copied behind walls."""
    startup = os.path.join(os.environ["IPYTHONDIR"], "profile_default", "startup")
    os.makedirs(startup, exist_ok=True)
    with open(os.path.join(startup, "README"), "a", encoding="utf-8"):
        pass


def _leave_room_for_outputs(app: Any) -> None:
    """Let many outputs wait for a slow reader. A socket that is bound takes no such advice.

    What is lost is not only outputs, but also that a cell has ended.
    """
    plain = app.init_iopub

    def init_iopub(context: Any) -> None:
        context.sndhwm = _WAITING_OUTPUTS
        plain(context)
        # The way to the thread that publishes stays short: a cell waits where that is full.
        context.sndhwm = _USUALLY_WAITING

    app.init_iopub = init_iopub


def _hand_on_early(stream: Any) -> None:
    """Hand on what is printed before it fills the memory, and never too much in one message.

    By itself a stream does so only now and then, and nobody takes a message of any size.
    """
    write = stream.write
    kept = 0

    def write_and_hand_on(text: str) -> int | None:
        nonlocal kept
        if len(text) <= _MOST_KEPT:
            written: int | None = write(text)
            kept += len(text)
            if kept >= _MOST_KEPT:
                kept = 0
                stream.flush()
            return written
        for at in range(0, len(text), _MOST_KEPT):
            write_and_hand_on(text[at : at + _MOST_KEPT])
        return len(text)

    stream.write = write_and_hand_on


def _run_shells_by_pipe() -> None:
    """Let `!command` do without a terminal where there can be none: IPython asks for one."""
    try:
        for end in os.openpty():
            os.close(end)
    except OSError:
        shell: Any = sys.modules.get("ipykernel.zmqshell")
        shell.system = _system


def _system(command: str) -> int:
    """Run a command line, and print what it prints as it comes. Its exit code."""
    import codecs
    import subprocess

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with subprocess.Popen(  # noqa: S602 - that is what it is asked for
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as child:
        assert child.stdout is not None
        try:
            while data := os.read(child.stdout.fileno(), 1 << 16):
                sys.stdout.write(decoder.decode(data))
                sys.stdout.flush()
        except BaseException:
            child.kill()
            raise
    sys.stdout.write(decoder.decode(b"", True))
    return child.returncode


def make_empty(folder: str) -> None:
    """Make a folder for sockets. Without namespaces that of the kernel before is still there."""
    if os.path.lexists(folder):
        import shutil

        shutil.rmtree(folder)
    os.makedirs(folder, 0o700)


def put_up_the_last_wall(filters: list[str]) -> None:
    """Live behind it from now on, with all threads, and with all that is started."""
    import binascii

    from pillion.lane import confine

    for text in filters:
        confine.apply_filter_everywhere(confine.make_filter(binascii.a2b_base64(text)))


def _give_up(why: str) -> NoReturn:
    print(why, file=sys.stderr, flush=True)
    os._exit(1)


def claim_stdout() -> int:
    """Take the real standard output away from what is imported: prints go to standard error."""
    hello = os.dup(1)  # not inherited by anything that is started
    os.dup2(2, 1)
    return hello


if __name__ == "__main__":
    sys.path[:] = [
        entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))
    ]
    sys.path.append(_WORKER_DIR)
    main(int(sys.argv[1]))
