"""The system calls that confine a process, by ctypes. Each failure is an `OSError` naming its step.

Everything that can be looked up is looked up at import, in the zygote: what a slot does between
its fork and its order is only calls.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

CLONE_NEWNS = 0x0002_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_NOATIME = 1024
MS_NODIRATIME = 2048
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21
_STATVFS_RELATIME = 4096

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
# No root, no set-uid fixup, no ambient capabilities, no kept ones; all of it locked.
SECUREBITS = 0b1110_1111

# These four have the same number on every architecture that has them.
SYS_LANDLOCK_CREATE_RULESET = 444
SYS_LANDLOCK_ADD_RULE = 445
SYS_LANDLOCK_RESTRICT_SELF = 446
SYS_CLOSE_RANGE = 436
LANDLOCK_RULE_PATH_BENEATH = 1
_CAPSET = {"x86_64": 126, "aarch64": 91}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1
_CAPABILITY_VERSION_3 = 0x2008_0522
_LAST_DESCRIPTOR = 0xFFFF_FFFF

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_prctl = _libc.prctl
_prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_mount = _libc.mount
_mount.argtypes = [
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
]
_unshare = _libc.unshare
_fflush = _libc.fflush
_fflush.argtypes = [ctypes.c_void_p]
_machine = os.uname().machine


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_fs", ctypes.c_uint64),
        ("handled_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int32))


def _failed(step: str, number: int | None = None) -> OSError:
    number = ctypes.get_errno() if number is None else number
    return OSError(number, f"{step}: {os.strerror(number)}")


def _check(result: int, step: str) -> int:
    if result < 0:
        raise _failed(step)
    return result


def prctl(step: str, option: int, first: int = 0, second: int = 0) -> None:
    """`prctl`, or an `OSError` that names `step`."""
    _check(_prctl(option, first, second, 0, 0), step)


def unshare(flags: int, step: str) -> None:
    """Move into new namespaces."""
    _check(_unshare(flags), step)


def mount(
    step: str, source: str, at: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    """`mount`, or an `OSError` that names `step`."""
    _check(
        _mount(
            os.fsencode(source),
            os.fsencode(at),
            kind.encode() if kind else None,
            flags,
            options.encode() if options else None,
        ),
        step,
    )


def bind(source: str, at: str, flags: int) -> None:
    """Show `source` at `at` too. Flags that the source's mount has already are kept."""
    mount(f"bind {at}", source, at, None, MS_BIND | (flags & MS_REC))
    had = os.statvfs(at).f_flag
    kept = had & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME)
    if had & _STATVFS_RELATIME:
        kept |= MS_RELATIME
    wanted = (flags & ~MS_REC) | kept
    if wanted != kept:
        mount(f"bind {at}", "none", at, None, MS_BIND | MS_REMOUNT | wanted)


def mount_all(mounts: Iterable[dict[str, Any]]) -> None:
    """Make the mounts of a setup, in order: kinds `proc`, `tmpfs` and `bind`."""
    for entry in mounts:
        kind, at = entry["kind"], entry["at"]
        flags, options = entry.get("flags"), entry.get("options")
        if kind == "bind":
            bind(entry["from"], at, flags or 0)
        elif kind == "tmpfs":
            flags = MS_NOSUID | MS_NODEV if flags is None else flags
            mount(f"mount {at}", "tmpfs", at, "tmpfs", flags, options)
        elif kind == "proc":
            _mount_proc(at, MS_NOSUID | MS_NODEV | MS_NOEXEC | (flags or 0), options)
        else:
            raise OSError(22, f"mount {at}: `{kind}` is no kind of mount")


def _mount_proc(at: str, flags: int, options: str | None) -> None:
    """Where the kernel can (5.8 and later): processes only, and of them only those one may look at.

    Nothing else in it is for a run, and its init is none of a payload's business.
    """
    choices = ("subset=pid,hidepid=ptraceable", "subset=pid") if options is None else ()
    for choice in choices:
        try:
            return mount(f"mount {at}", "proc", at, "proc", flags, choice)
        except OSError as error:
            if error.errno != 22:
                raise
    return mount(f"mount {at}", "proc", at, "proc", flags, options)


def hide(paths: Iterable[str]) -> None:
    """Cover folders with an empty one. What is not there needs no cover."""
    flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
    for path in paths:
        try:
            mount(f"hide {path}", "tmpfs", path, "tmpfs", flags, "size=4k,nr_inodes=2,mode=0555")
        except FileNotFoundError:
            continue


def map_ids(uid: int, gid: int) -> None:
    """Enter a user namespace of one's own in which one's ids are `uid` and `gid`, and only they."""
    outer = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER, "unshare the user namespace")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {outer[0]} 1"),
        ("gid_map", f"{gid} {outer[1]} 1"),
    ):
        write_proc(name, text)


def write_proc(name: str, text: str) -> None:
    """Write one of the files of one's own in /proc."""
    try:
        target = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(target, text.encode())
        finally:
            os.close(target)
    except OSError as error:
        raise _failed(f"write {name}", error.errno) from None


def drop_capabilities() -> None:
    """Give up every capability for good: ambient, bounding, effective, permitted, inheritable."""
    prctl("lock the secure bits", PR_SET_SECUREBITS, SECUREBITS)
    prctl("clear ambient capabilities", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        if _prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            if ctypes.get_errno() == 22:  # past the kernel's last one
                break
            raise _failed("drop the bounding set")
    number = _CAPSET.get(_machine)
    if number is None:
        raise OSError(38, f"drop capabilities: unknown machine `{_machine}`")
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_syscall(number, ctypes.byref(header), ctypes.byref(nothing)), "drop capabilities")


def make_ruleset(landlock: dict[str, Any]) -> int:
    """A Landlock ruleset as a descriptor. Rules for paths that are not there are left out."""
    attributes = _Ruleset(
        landlock["handled_fs"], landlock.get("handled_net", 0), landlock.get("scoped", 0)
    )
    # A kernel that knows fewer fields refuses unknown ones unless they are zero.
    size = 24 if attributes.scoped else 16 if attributes.handled_net else 8
    ruleset = _check(
        _syscall(SYS_LANDLOCK_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0),
        "make a Landlock ruleset",
    )
    for path, access in landlock["rules"]:
        try:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            rule = _PathBeneath(access, parent)
            _check(
                _syscall(
                    SYS_LANDLOCK_ADD_RULE,
                    ruleset,
                    LANDLOCK_RULE_PATH_BENEATH,
                    ctypes.byref(rule),
                    0,
                ),
                f"Landlock rule for {path}",
            )
        finally:
            os.close(parent)
    return ruleset


def restrict(ruleset: int) -> None:
    """Live under a Landlock ruleset from now on. Needs `no_new_privileges` first."""
    _check(_syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0), "restrict by Landlock")


def no_new_privileges() -> None:
    """No program started from here gains anything by its set-uid bit."""
    prctl("set no_new_privs", PR_SET_NO_NEW_PRIVS, 1)


def make_filter(instructions: bytes) -> Any:
    """A seccomp program, ready to be applied; made before the fork."""
    if not instructions or len(instructions) % 8:
        raise OSError(22, "seccomp filter: not a whole number of instructions")
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = _Filter(len(instructions) // 8, ctypes.addressof(buffer))
    return program, buffer


def apply_filter(made: Any) -> None:
    """Live under a seccomp filter from now on."""
    address = ctypes.addressof(made[0])
    prctl("apply a seccomp filter", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, address)


def apply_filter_everywhere(made: Any) -> None:
    """Live under a seccomp filter from now on, with all threads that there are."""
    address = ctypes.c_void_p(ctypes.addressof(made[0]))
    number = _SECCOMP[_machine]
    flags = _SECCOMP_FILTER_FLAG_TSYNC
    result = _syscall(number, _SECCOMP_SET_MODE_FILTER, flags, address)
    if result > 0:
        raise OSError(1, f"apply a seccomp filter: thread {result} lives under another one")
    _check(result, "apply a seccomp filter")


def close_all_but(*kept: int) -> None:
    """Close every descriptor of this process but those."""
    low = 0
    for descriptor in [*sorted(kept), _LAST_DESCRIPTOR + 1]:
        if low < descriptor:
            _close_range(low, descriptor - 1)
        low = descriptor + 1


def _close_range(first: int, last: int) -> None:
    if _syscall(SYS_CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(last), 0) == 0:
        return
    for name in os.listdir("/proc/self/fd"):
        if first <= int(name) <= last:
            try:
                os.close(int(name))
            except OSError:
                continue  # the listing's own


def flush_c() -> None:
    """Write out what C code has printed and not flushed."""
    _fflush(None)
