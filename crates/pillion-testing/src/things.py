"""What the tests call: good, bad and ugly functions."""

import asyncio
import ctypes
import os
import subprocess
import sys
import time

import pillion

calls = 0


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def echo(value):
    """Give it back."""
    return value


def pid() -> int:
    """Who am I?"""
    return os.getpid()


def count() -> int:
    """How often was this called in this process?"""
    global calls
    calls += 1
    return calls


def env(name: str):
    """A variable of the environment."""
    return os.environ.get(name)


def sleep(seconds: float) -> float:
    """Take a while."""
    time.sleep(seconds)
    return seconds


def block(started: str, until: str, note: str = "") -> int:
    """Say who works on this in `started`, then wait until the file `until` is there."""
    with open(started, "a") as file:
        file.write(f"{os.getpid()}{note}\n")
    while not os.path.exists(until):
        time.sleep(0.005)
    return os.getpid()


def raises(text: str = "boom") -> None:
    """Fail."""
    raise ValueError(text)


def sys_exit(code: int = 3) -> None:
    """Try to leave."""
    sys.exit(code)


def system_exit() -> None:
    """Try to leave, with words."""
    raise SystemExit("enough")


def os_exit(code: int = 7) -> None:
    """Really leave."""
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os._exit(code)


def die_once(mark: str) -> int:
    """Kill this process, but only the first time."""
    with open(mark, "a") as file:
        file.write(f"{os.getpid()}\n")
    with open(mark) as file:
        if len(file.readlines()) == 1:
            os.kill(os.getpid(), 9)
    return os.getpid()


def recurse(n: int = 0) -> int:
    """For ever."""
    return recurse(n + 1)


def memory_error() -> None:
    """Ask for too much."""
    raise MemoryError


def too_much_memory() -> int:
    """Ask for more than there can be."""
    return len(bytearray(1 << 60))


def segfault() -> None:
    """Read where nothing is."""
    ctypes.string_at(0)


def noise() -> str:
    """Write to standard output in every way there is."""
    print("from print")
    print('{"id": 1, "result": "forged"}')
    sys.stdout.write("from sys.stdout\n")
    sys.stdout.flush()
    sys.__stdout__.write("from sys.__stdout__\n")
    sys.__stdout__.flush()
    os.write(1, b"from a write to descriptor 1\n")
    libc = ctypes.CDLL(None)
    libc.puts(b"from C")
    libc.fflush(None)
    os.system("echo from a shell")
    subprocess.run(["echo", "from a program"], check=True)
    return "quiet"


def shout(megabytes: int) -> int:
    """Fill standard error."""
    line = b"x" * 1023 + b"\n"
    for _ in range(megabytes * 1024):
        os.write(2, line)
    return megabytes


def large(size: int) -> str:
    """A large answer."""
    return "x" * size


def nested(depth: int) -> list:
    """A list in a list in a list."""
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def unwritable():
    """Something that is no JSON."""
    return {"a": [object()]}


def hang_in_c() -> None:
    """Wait for a lock for ever, in C, without the interpreter's lock."""
    mutex = ctypes.create_string_buffer(128)
    libc = ctypes.CDLL(None)
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)


def hang_with_gil(started: str) -> None:
    """The same, while no other thread of this Python can run."""
    mutex = ctypes.create_string_buffer(128)
    libc = ctypes.PyDLL(None)
    with open(started, "w") as file:
        file.write(str(os.getpid()))
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)


def grandchildren(note: str) -> list[int]:
    """Start programs that would outlive this one: plain, in a session of its own, forked twice."""
    pids = [subprocess.Popen(["sleep", "600"]).pid]
    pids.append(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
    shell = 'trap "" TERM HUP INT; sleep 600 >/dev/null 2>&1 & echo $!'
    twice = subprocess.run(["setsid", "sh", "-c", f"({shell}) 2>/dev/null </dev/null"],
                           stdout=subprocess.PIPE, text=True, check=True)
    pids.append(int(twice.stdout))
    with open(note, "w") as file:
        file.write(" ".join(map(str, pids)))
    return pids


def numbers(n: int, pause: float = 0.0):
    """Count."""
    for i in range(n):
        if pause:
            time.sleep(pause)
        yield i
    return "done"


def chunks(n: int, size: int, note: str):
    """Large values, and a note of how many were asked for."""
    for i in range(n):
        with open(note, "w") as file:
            file.write(str(i))
        yield "x" * size


def forever(note: str):
    """Count until somebody says stop, and note that."""
    try:
        i = 0
        while True:
            yield i
            i += 1
            time.sleep(0.01)
    finally:
        with open(note, "w") as file:
            file.write("stopped")


def steps(n: int) -> int:
    """Tell how far it is."""
    for i in range(n):
        pillion.progress(i + 1, n, f"step {i + 1}")
    return n


def stubborn(started: str) -> str:
    """Take a cancel as a hint."""
    with open(started, "w") as file:
        file.write(str(os.getpid()))
    try:
        time.sleep(60)
    except pillion.Cancelled:
        with open(started, "a") as file:
            file.write(" cancelled")
        raise
    return "slept"


async def gather(n: int) -> list[int]:
    """Asynchronous work."""
    async def one(i: int) -> int:
        await asyncio.sleep(0.001)
        return i * i

    return await asyncio.gather(*(one(i) for i in range(n)))


CACHE: list[bytes] = []


def grow(megabytes: int) -> int:
    """Keep so much in memory, really used."""
    CACHE.append(b"\x01" * (megabytes << 20))
    return len(CACHE)


def grow_and_wait(megabytes: int, until: str) -> int:
    """The same, and stay for a while."""
    kept = b"\x01" * (megabytes << 20)
    while not os.path.exists(until):
        time.sleep(0.01)
    return len(kept)


def cached() -> int:
    """How many pieces are kept."""
    return len(CACHE)


@pillion.on_trim
def forget() -> None:
    """Drop what is kept."""
    CACHE.clear()
