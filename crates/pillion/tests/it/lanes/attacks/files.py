"""Reading and writing what is not ours, by every road there is."""

import ctypes
import fcntl
import shutil
import socket

outside, other = given["outside"], given["other"]
target = f"{outside}/secret.txt"
hidden = f"{other}/secret.txt"
libc = ctypes.CDLL(None, use_errno=True)


def read(path):
    with open(path, "rb") as file:
        return file.read(100)


def read_here(text, path):
    """What is at `path` may be ours: it is bad only if the text is in it."""
    return text in read(path)


def listed(path):
    return os.listdir(path)


def write(path):
    with open(path, "w") as file:
        file.write("was here")
    return path


def call(action, *arguments, **more):
    action(*arguments, **more)
    return [str(argument) for argument in arguments]


def by_symlink(path):
    os.symlink(path, "link")
    try:
        return read("link")
    finally:
        os.unlink("link")


def by_hard_link(path):
    os.link(path, "hard")
    return read("hard")


def by_folder(start, path):
    folder = os.open(start, os.O_RDONLY | os.O_DIRECTORY)
    below = os.open("../" * 30 + path.lstrip("/"), os.O_RDONLY, dir_fd=folder)
    return os.read(below, 100)


def by_o_path(path):
    handle = os.open(path, getattr(os, "O_PATH", 0o10000000))
    return read(f"/proc/self/fd/{handle}")


def write_by_symlink(path):
    os.symlink(path, "out")
    try:
        return write("out")
    finally:
        os.unlink("out")


def copy_of_folder(path):
    shutil.copytree(path, "copy")
    return os.listdir("copy")


def socket_in(path):
    ours = socket.socket(socket.AF_UNIX)
    ours.bind(path)
    return path


def watch(path):
    number = libc.inotify_init()
    if number < 0 or libc.inotify_add_watch(number, os.fsencode(path), 0xFFF) < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    return "watched"


def locked(path, lock):
    handle = os.open(path, os.O_RDONLY)
    try:
        lock(handle)
    finally:
        os.close(handle)
    return "locked"


for secret in [target, hidden]:
    attempt(f"read {secret}", read, secret)
    attempt(f"symlink to {secret}", by_symlink, secret)
    attempt(f"hard link to {secret}", by_hard_link, secret)
    attempt(f"dots to {secret}", read, "../" * 30 + secret.lstrip("/"))
    attempt(f"O_PATH {secret}", by_o_path, secret)
    attempt(f"move {secret}", call, os.rename, secret, "moved")
    for road in ["/proc/self/root", "/proc/self/cwd/" + "../" * 20, "/proc/1/root", "/proc/1/cwd"]:
        attempt(f"{secret} by {road}", read, road + secret)
    attempt(f"{secret} by /proc/1/root of a link", by_symlink, "/proc/1/root" + secret)
    for start in ["/", ".", "/usr/lib", "/dev", "/proc/self/fd"]:
        attempt(f"{secret} from {start}", by_folder, start, secret)
    for thread in ["/proc/thread-self/root", f"/proc/{os.getpid()}/task/{os.getpid()}/root"]:
        attempt(f"{secret} by {thread}", read, thread + secret)

for path in ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/hostname", "/etc/machine-id"]:
    attempt(f"read {path}", read, path)
    attempt(f"symlink to {path}", by_symlink, path)
attempt("read the machine's /etc/passwd", read_here, b"root:", "/etc/passwd")
for path in ["/root", "/home", "/var", "/srv", "/opt", "/run", "/boot", "/sys", "/mnt", outside]:
    attempt(f"list {path}", listed, path)
for path in [other, os.path.dirname(other), "/lane/folders", "/lane/folders/.."]:
    attempt(
        f"list sessions at {path}", lambda path: "work" not in (all := listed(path)) and all, path
    )
attempt("copy a session", copy_of_folder, other)
attempt("look for sockets", listed, os.path.dirname(given["socket"]))
for device in [
    "/dev/mem",
    "/dev/kmem",
    "/dev/kmsg",
    "/dev/sda",
    "/dev/vda",
    "/dev/fuse",
    "/dev/kvm",
]:
    attempt(f"read {device}", read, device)
    attempt(f"write {device}", write, device)
for path in [
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/kpagecount",
    "/proc/sysrq-trigger",
    "/proc/1/maps",
]:
    attempt(f"read {path}", read, path)

library = os.path.dirname(os.__file__)
worker = os.path.dirname(sys.modules["pillion"].__file__)
places = ["/", "/usr", "/usr/lib", "/etc", "/dev", "/proc", "/lane", "/bin", library, worker]
for place in [
    *places,
    f"{worker}/lane",
    outside,
    other,
    os.path.dirname(other),
    "/var/tmp",
    "/run",
]:
    attempt(f"new file in {place}", write, f"{place}/attack.py")
    attempt(f"new folder in {place}", call, os.mkdir, f"{place}/attack")
    attempt(f"new link in {place}", call, os.symlink, "x", f"{place}/attack-link")
    attempt(f"new fifo in {place}", call, os.mkfifo, f"{place}/attack-fifo")
    attempt(f"socket in {place}", socket_in, f"{place}/attack-socket")
    attempt(f"new file in {place} by a link", write_by_symlink, f"{place}/attack2.py")
    attempt(f"rights of {place}", call, os.chmod, place, 0o777)
    attempt(f"times of {place}", call, os.utime, place, (1, 1))
for file in [
    target,
    hidden,
    os.__file__,
    f"{worker}/lane/runner.py",
    sys.executable,
    "/etc/passwd",
]:
    attempt(f"overwrite {file}", write, file)
    attempt(f"append to {file}", lambda file: open(file, "a") and file, file)
    attempt(f"shorten {file}", call, os.truncate, file, 0)
    attempt(f"remove {file}", call, os.unlink, file)
    attempt(f"rename {file}", call, os.rename, file, file + ".old")
    attempt(f"rights of {file}", call, os.chmod, file, 0o777)
    attempt(f"times of {file}", call, os.utime, file, (1, 1))
    attempt(f"owner of {file}", call, os.chown, file, os.getuid(), -1)
    attempt(f"attribute of {file}", call, os.setxattr, file, "user.attack", b"1")
    attempt(
        f"rights of {file} by a descriptor",
        lambda file: call(os.fchmod, os.open(file, os.O_RDONLY), 0o777),
        file,
    )
# What Landlock does not look at: attributes, and being told of changes.
for path in [outside, target, other, hidden]:
    attempt(f"attributes of {path}", os.listxattr, path)
    attempt(f"attribute of {path}", os.getxattr, path, "user.secret")
    attempt(f"attributes of {path}, not following", os.listxattr, path, follow_symlinks=False)
    attempt(f"watch {path}", watch, path)
# Locks on what others use too.
for path in [os.__file__, f"{worker}/lane/runner.py", sys.executable, os.path.dirname(worker)]:
    attempt(f"flock {path}", locked, path, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX))
    attempt(f"shared flock {path}", locked, path, lambda fd: fcntl.flock(fd, fcntl.LOCK_SH))
    attempt(f"lease on {path}", locked, path, lambda fd: fcntl.fcntl(fd, 1024, fcntl.F_RDLCK))
    attempt(f"notes about {path}", locked, path, lambda fd: fcntl.fcntl(fd, 1026, 2))
for path in ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"]:
    attempt(f"write {path}", write, path)
for name in ["uid_map", "gid_map", "setgroups"]:
    attempt(f"write {name}", write, f"/proc/self/{name}")
done()
