"""The process beside a kernel that is not Python's, which has the way to the daemon."""

import ctypes
import signal

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
PIDFD_GETFD = 438


def called(outcome):
    if outcome == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return outcome or True


def ancestors():
    """Those that this process comes from, up to the first of its box."""
    pid, found = os.getppid(), []
    while pid > 0:
        found.append(pid)
        with open(f"/proc/{pid}/stat") as stat:
            pid = int(stat.read().rpartition(")")[2].split()[1])
    return found


def memory(pid):
    with open(f"/proc/{pid}/maps") as maps:
        start = int(maps.readline().split("-")[0], 16)
    with open(f"/proc/{pid}/mem", "r+b") as file:
        file.seek(start)
        return file.read(16)


def vectors(pid):
    room = ctypes.create_string_buffer(16)

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    here = Vector(ctypes.addressof(room), 16)
    return called(libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(here), 1, 0))


def taken(pid, number):
    return called(libc.syscall(PIDFD_GETFD, os.pidfd_open(pid), number, 0))


def sockets(pid):
    """Whether one of its sockets can be opened as if it were a file."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{number}"
        if os.readlink(path).startswith("socket:"):
            try:
                found.append(os.open(path, os.O_RDWR))
            except OSError:
                pass
    return found


# The one that has the way to the daemon has no other rights than this program, and may be looked
# at; but nothing is taken from it, and nobody gets hold of it. The first of the box is closed.
init, relay = ancestors()[::-1][:2]
for pid in (init, relay):
    attempt(f"attach {pid}", lambda pid: called(libc.ptrace(PTRACE_ATTACH, pid, 0, 0)), pid)
    attempt(f"seize {pid}", lambda pid: called(libc.ptrace(PTRACE_SEIZE, pid, 0, 0)), pid)
    attempt(f"vectors {pid}", vectors, pid)
    for number in range(16):
        attempt(f"take {number} of {pid}", taken, pid, number)
attempt("memory of the first", memory, init)
attempt("variables of the first", lambda: open(f"/proc/{init}/environ").read())
attempt("what the first has open", os.listdir, f"/proc/{init}/fd")
attempt("a socket of the relay", sockets, relay)
for what in ("root", "cwd"):
    attempt(f"{what} of the first", os.listdir, f"/proc/{init}/{what}")
home = given["mark"] + "/home"
for path in (home, given["other"], given["other"] + "/secret.txt", given["socket"]):
    attempt(f"look {path}", os.stat, path)
for path in (given["outside"] + "/new", given["other"] + "/new", "/etc/new", "/usr/new"):
    attempt(f"write {path}", open, path, "w")
attempt("mount", lambda: called(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)))
attempt("unshare", lambda: called(libc.unshare(0x10000000)))
attempt("daemon", os.kill, int(given["daemon"]), signal.SIGCONT)
done()
