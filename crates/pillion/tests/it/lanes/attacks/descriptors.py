"""What was left open for us by mistake, and where it leads."""

import array
import fcntl
import socket
import stat

most = os.sysconf("SC_OPEN_MAX")


def opened():
    found = []
    for number in range(most if most > 0 else 4096):
        try:
            found.append((number, os.fstat(number)))
        except OSError:
            continue
    return found


def strange(number, facts):
    """Only pipes and the empty device are for us."""
    if stat.S_ISFIFO(facts.st_mode):
        return None
    if stat.S_ISCHR(facts.st_mode) and facts.st_rdev == os.makedev(1, 3):
        return None
    try:
        return number, os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return number, oct(facts.st_mode)


def leads_on(number):
    """A folder leads everywhere."""
    return os.listdir(number)


def handed_on(number):
    one, other = socket.socketpair()
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [number]))])
    _, beside, _, _ = other.recvmsg(1, socket.CMSG_SPACE(4))
    copy = int.from_bytes(beside[0][2][:4], sys.byteorder)
    return strange(copy, os.fstat(copy))


def both_ways(number):
    """A pipe's other end is the daemon's: nobody must read what is meant for it."""
    again = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_NONBLOCK)
    return os.read(again, 100) and "read"


before = opened()
attempt("number", lambda: len(before) > 4 and [number for number, _ in before])
for number, facts in before:
    attempt(f"descriptor {number}", strange, number, facts)
    attempt(f"list {number}", leads_on, number)
    attempt(
        f"from {number}",
        lambda number: os.open("../../../etc/shadow", os.O_RDONLY, dir_fd=number),
        number,
    )
    attempt(f"hand on {number}", handed_on, number)
    if number > 2:
        attempt(f"read {number}", both_ways, number)
for pid in ["1", str(os.getppid()), given["daemon"]]:
    for number in range(30):
        attempt(f"{pid}'s {number}", lambda path: open(path, "rb"), f"/proc/{pid}/fd/{number}")
attempt("owner", lambda: fcntl.fcntl(0, fcntl.F_SETOWN, 1) and "set")
done()
