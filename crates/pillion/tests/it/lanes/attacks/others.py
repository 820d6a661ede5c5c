"""Other processes: seeing, stopping and slowing them; and gaining rights."""

import ctypes
import shutil
import signal
import stat
import subprocess

daemon, parent = int(given["daemon"]), os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
MKNOD = {"null": (1, 3), "mem": (1, 1), "vda": (254, 0), "sda": (8, 0)}


def call(action, *arguments):
    action(*arguments)
    return arguments or True


def send(pid, number):
    if pid == 1 and boxed:
        # The first of a namespace takes no signal from within, but that is no error.
        os.kill(pid, number)
        return None
    os.kill(pid, number)
    return f"signal {number} to {pid}"


def by_pidfd(pid):
    signal.pidfd_send_signal(os.pidfd_open(pid), 0)
    return pid


def everyone():
    """The kernel says yes even if it reached nobody: who did not survive is found out outside."""
    os.kill(-1, signal.SIGKILL)


def seen():
    names = []
    for pid in os.listdir("/proc"):
        if pid.isdecimal() and int(pid) not in (1, os.getpid()):
            names.append(open(f"/proc/{pid}/cmdline").read() or pid)
    return names


def raised_limit(which):
    import resource

    _, hard = resource.getrlimit(which)
    if hard == resource.RLIM_INFINITY:
        return None
    resource.setrlimit(which, (hard + 1, hard + 1))
    return resource.getrlimit(which)


def capabilities():
    with open("/proc/self/status") as status:
        lines = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    held = {name: value.strip() for name, value in lines.items() if name.startswith("Cap")}
    wrong = [name for name, value in held.items() if int(value, 16)]
    return (
        wrong
        or (lines["NoNewPrivs"].strip() != "1" and "no_new_privs")
        or lines["Seccomp"][0] != "2"
    )


def all_capabilities():
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    if libc.capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")
    return True


def set_user_id_program(path, *arguments):
    """Who are we in a program that makes others root?"""
    asked = subprocess.run(
        [path, *arguments], capture_output=True, text=True, timeout=5, stdin=subprocess.DEVNULL
    )
    return asked.stdout.strip() == "0" and asked.stdout


def own_program():
    """In the expert lane nothing that a program wrote can be run."""
    shutil.copyfile("/bin/true" if os.path.exists("/bin/true") else sys.executable, "own")
    os.chmod("own", 0o700)
    subprocess.run(["./own", "-c", ""], check=True, timeout=5)
    return "ran"


for pid in sorted({1, parent, daemon}):
    for number in [0, signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL]:
        attempt(f"signal {number} to {pid}", send, pid, number)
    attempt(f"pidfd of {pid}", by_pidfd, pid) if not (boxed and pid == 1) else None
    attempt(f"priority of {pid}", call, os.setpriority, os.PRIO_PROCESS, pid, 19)
    attempt(f"processors of {pid}", call, os.sched_setaffinity, pid, {0})
    if pid != 1:
        attempt(f"group of {pid}", call, os.setpgid, pid, 0)
        attempt(f"signal to the group of {pid}", send, -pid, 0)
attempt("signal to everyone", everyone)
attempt("processes", seen)
attempt("higher priority", call, os.nice, -10)
attempt("real time", call, os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
for which in range(16):
    attempt(f"limit {which}", raised_limit, which)

attempt("capabilities", capabilities) if boxed else None
attempt("capset", all_capabilities)
for identity in [0, 1, 65534 if os.getuid() != 65534 else 65533]:
    attempt(f"setuid {identity}", call, os.setuid, identity)
    attempt(f"setresuid {identity}", call, os.setresuid, identity, identity, identity)
    attempt(f"setgid {identity}", call, os.setgid, identity)
attempt("setgroups", call, os.setgroups, [0])
attempt("root", lambda: os.geteuid() == 0)
for name, numbers in MKNOD.items():
    for kind in [stat.S_IFCHR, stat.S_IFBLK]:
        attempt(f"mknod {name}", call, os.mknod, f"dev-{name}", kind | 0o666, os.makedev(*numbers))
for name in ["su", "sudo", "pkexec", "newuidmap", "mount", "passwd"]:
    if path := shutil.which(name):
        attempt(f"{name}", set_user_id_program, path, "-c", "id -u")
if given["lane"] == "user":
    attempt("set-user-id file", set_user_id_program, "./identity", "-u")
    attempt("set-user-id interpreter", set_user_id_program, "./identity-copy", "-u")
elif boxed:
    attempt("own program", own_program)
done()
