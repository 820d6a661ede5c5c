"""System calls that a program in a lane has no business with, made directly."""

import ctypes
import platform

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"
REFUSED = (1, 38, 95)  # EPERM, ENOSYS, EOPNOTSUPP
buffer = ctypes.create_string_buffer(256)
text = ctypes.create_string_buffer(b"/proc/self/exe")

# Name, number on x86_64, number on aarch64, arguments.
CALLS = [
    ("ptrace traceme", 101, 117, (0, 0, 0, 0)),
    ("ptrace attach", 101, 117, (16, 1, 0, 0)),
    ("process_vm_readv", 310, 270, (1, buffer, 1, buffer, 1, 0)),
    ("process_vm_writev", 311, 271, (1, buffer, 1, buffer, 1, 0)),
    ("process_madvise", 440, 440, (0, buffer, 1, 4, 0)),
    ("kcmp", 312, 272, (1, 1, 0, 0, 0)),
    ("pidfd_getfd", 438, 438, (0, 0, 0)),
    ("mount", 165, 40, (b"none", b"/", b"tmpfs", 0, 0)),
    ("umount2", 166, 39, (b"/proc", 2)),
    ("pivot_root", 155, 41, (b".", b".")),
    ("chroot", 161, 51, (b".",)),
    ("move_mount", 429, 429, (-1, b"", -1, b"", 0)),
    ("open_tree", 428, 428, (-100, b"/", 1)),
    ("fsopen", 430, 430, (b"tmpfs", 0)),
    ("fspick", 433, 433, (-100, b"/", 0)),
    ("mount_setattr", 442, 442, (-100, b"/", 0, buffer, 32)),
    ("unshare user", 272, 97, (0x10000000,)),
    ("unshare net", 272, 97, (0x40000000,)),
    ("unshare files", 272, 97, (0x400,)),
    ("setns", 308, 268, (0, 0)),
    ("keyctl", 250, 219, (0, -3, 0, 0, 0)),
    ("add_key", 248, 217, (b"user", b"a", b"b", 1, -3)),
    ("request_key", 249, 218, (b"user", b"a", 0, -3)),
    ("bpf", 321, 280, (0, buffer, 72)),
    ("io_uring_setup", 425, 425, (4, buffer)),
    ("io_uring_enter", 426, 426, (0, 1, 0, 0, 0, 0)),
    ("io_uring_register", 427, 427, (0, 0, 0, 0)),
    ("personality", 135, 92, (0x0400000,)),
    ("personality query", 135, 92, (0xFFFFFFFF,)),
    ("userfaultfd", 323, 282, (1,)),
    ("perf_event_open", 298, 241, (buffer, 0, -1, -1, 0)),
    ("memfd_create", 319, 279, (b"x", 0)),
    ("memfd_secret", 447, 447, (0,)),
    ("shmget", 29, 194, (0, 4096, 0o1600)),
    ("shmat", 30, 196, (0, 0, 0)),
    ("msgget", 68, 186, (0, 0o1600)),
    ("semget", 64, 190, (0, 1, 0o1600)),
    ("mq_open", 240, 180, (b"x", 0o102, 0o600, 0)),
    ("clone3", 435, 435, (buffer, 88)),
    ("name_to_handle_at", 303, 264, (-100, text, buffer, buffer, 0)),
    ("open_by_handle_at", 304, 265, (-100, buffer, 0)),
    ("fanotify_init", 300, 262, (0, 0)),
    ("quotactl", 179, 60, (0x800001, 0, 0, 0)),
    ("syslog", 103, 116, (3, buffer, 256)),
    ("reboot", 169, 142, (0xFEE1DEAD, 672274793, 0, 0)),
    ("kexec_load", 246, 104, (0, 0, 0, 0)),
    ("init_module", 175, 105, (buffer, 1, buffer)),
    ("finit_module", 313, 273, (0, buffer, 0)),
    ("delete_module", 176, 106, (b"x", 0)),
    ("swapon", 167, 224, (b"x", 0)),
    ("acct", 163, 89, (0,)),
    ("settimeofday", 164, 170, (buffer, 0)),
    ("clock_settime", 227, 112, (0, buffer)),
    ("sethostname", 170, 161, (b"attack", 6)),
    ("setdomainname", 171, 162, (b"attack", 6)),
    ("adjtimex", 159, 171, (buffer,)),
    ("mbind", 237, 235, (0, 0, 0, 0, 0, 0)),
    ("move_pages", 279, 239, (1, 0, 0, 0, 0, 0)),
    ("migrate_pages", 256, 238, (1, 0, 0, 0)),
    ("prctl dumpable", 157, 167, (4, 0, 0, 0, 0)),
    ("prctl ptracer", 157, 167, (0x59616D61, -1, 0, 0, 0)),
    ("prctl mm", 157, 167, (35, 0, 0, 0, 0)),
    ("prlimit of init", 302, 261, (1, 7, 0, buffer)),
    ("sched_setaffinity of init", 203, 122, (1, 8, buffer)),
    ("setpriority of others", 141, 140, (2, 0, 19)),
    ("ioctl TIOCSTI", 16, 29, (0, 0x5412, buffer)),
    ("pipe size", 72, 25, (1, 1031, 1 << 20)),
    ("mmap that grows down", 9, 222, (0, 4096, 3, 0x122, -1, 0)),
    ("mprotect that grows down", 10, 226, (0, 4096, 0x01000003)),
    ("mprotect that grows up", 10, 226, (0, 4096, 0x02000003)),
    ("pkey_mprotect that grows down", 329, 288, (0, 4096, 0x01000003, -1)),
    # What all processes of a user, or of the machine, have together.
    ("io_setup", 206, 0, (1, buffer)),
    ("io_submit", 209, 2, (0, 0, buffer)),
    ("io_getevents", 208, 4, (0, 0, 0, buffer, 0)),
    ("inotify_init1", 294, 26, (0,)),
    ("inotify_add_watch", 254, 27, (0, b"/", 2)),
    ("landlock_create_ruleset", 444, 444, (buffer, 8, 0)),
    ("landlock_add_rule", 445, 445, (0, 1, buffer, 0)),
    ("landlock_restrict_self", 446, 446, (0, 0)),
    ("sync", 162, 81, ()),
    ("syncfs", 306, 267, (0,)),
    # Locks on files of others, and signals from files.
    ("flock", 73, 32, (0, 2 | 4)),
    ("lease", 72, 25, (0, 1024, 0)),
    ("dnotify", 72, 25, (0, 1026, 1)),
    ("lock of an open file", 72, 25, (0, 37, buffer)),
    ("lock of an open file, waiting", 72, 25, (0, 38, buffer)),
    ("owner of a file", 72, 25, (0, 8, 1)),
    ("owner of a file, the longer way", 72, 25, (0, 15, buffer)),
    ("signal of a file", 72, 25, (0, 10, 9)),
    ("a command of tomorrow", 72, 25, (0, 1099, 0)),
    ("ioctl FIOSETOWN", 16, 29, (0, 0x8901, buffer)),
    ("ioctl SIOCSPGRP", 16, 29, (0, 0x8902, buffer)),
    # Descriptors that nobody can count.
    ("sendmsg", 46, 211, (0, buffer, 0)),
    ("sendmmsg", 307, 269, (0, buffer, 1, 0)),
    ("close_range with a table of its own", 436, 436, (1000, 1000, 2)),
    # Pages of files in pipes, which nobody counts.
    ("sendfile", 40, 71, (1, 0, 0, 1)),
    ("splice", 275, 76, (0, 0, 1, 0, 1, 0)),
    ("tee", 276, 77, (0, 1, 1, 0)),
    # Blocks on the disk that nobody wrote.
    ("fallocate", 285, 47, (1, 0, 0, 4096)),
    ("fallocate behind the end", 285, 47, (1, 1, 0, 4096)),
    ("a number of tomorrow", 500, 500, (0, 0, 0)),
    ("a number far away", 100_000, 100_000, (0, 0, 0)),
]
if X86:
    x32 = 0x40000000
    CALLS += [
        ("x32 getpid", x32 + 39, 0, ()),
        ("x32 ptrace", x32 + 521, 0, (0, 0, 0, 0)),
        ("x32 socket", x32 + 41, 0, (2, 1, 0)),
        ("iopl", 172, 0, (3,)),
        ("ioperm", 173, 0, (0, 1, 1)),
        ("modify_ldt", 154, 0, (0, buffer, 16)),
        ("inotify_init", 253, 0, ()),
    ]


def call(number, arguments):
    ctypes.set_errno(0)
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *wide)
    errno = ctypes.get_errno()
    if result == -1 and errno in REFUSED:
        return None
    return f"result {result}, errno {errno}"


for name, x86, arm, arguments in CALLS:
    attempt(name, call, x86 if X86 else arm, arguments)

# The plain clone, with each of the namespaces.
for flag in [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80]:
    attempt(f"clone {flag:#x}", call, 56 if X86 else 220, (flag | 17, 0, 0, 0, 0))
# A thread whose descriptors are not those of its process.
attempt("clone of a thread with files of its own", call, 56 if X86 else 220, (0x10900, 0, 0, 0, 0))


def unknown_families():
    """Socket families by number: none is to be had."""
    made = []
    for family in range(64):
        if libc.syscall(41 if X86 else 198, family, 1, 0) >= 0:
            made.append(family)
    return made


attempt("sockets", unknown_families)
done()
