"""What a slot's init does while its payload runs: watch, end what passes a limit, report.

It never trusts what the payload can touch. What it cannot read although it should be there ends
the run: a watcher that sees nothing must not go on as if all were well.

A look asks only what the kernel answers at once (`status`), which is never less than the truth.
Only if that is too much does a closer look say how much of it is shared. For that the kernel needs
a lock that a process can hold for long, so it is asked on a thread: whoever does not let himself
be looked at, and goes on growing, is ended. `crates/pillion-sandbox/src/boxed/watch.rs` does the
same for runs without a zygote.
"""

from __future__ import annotations

import _thread
import os
import resource
import select
import signal
import time

from pillion.lane import disk, messages, outputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any

_PROC = "/proc"
_READ = 1 << 14
_FOLDER = "/work"
_DEFAULT_EVERY_MS = 50
# A memory limit that is passed is looked at again after this long: between vfork and exec a
# child's memory is its parent's, and counts twice.
_CONFIRM_SECONDS = 0.002
# No run needs more, and looking at each takes longer than a bomb needs to fork.
_MOST_PROCESSES = 4096
# How long an ended payload's init waits to be told what to report.
_UNTOLD_SECONDS = 5.0
# How long killed processes may take to vanish. Those stuck in the kernel go with the namespace.
_GONE_SECONDS = 5.0
# How long stopped processes may take to stand still. A busy machine lets a process wait that long
# before it goes on with a large fork, at whose end it stops.
_STILL_SECONDS = 5.0
# Stopped, looked at by a debugger, or ended.
_STILL = frozenset((b"T", b"t", b"Z", b"X"))
# It waits for something in the kernel, and no signal but the last wakes it.
_WAITS = b"D"
# How long processes get to do what a signal asks, before they are looked at again.
_BETWEEN_SIGNALS = 0.0002
# Bytes that can wait in one, and that there can be of an epoll, in the kernel's memory.
_WAITING = {"socket": 212_992, "pipe": 65_536, "anon_inode": 65_536}
_MOST_WAITING = 212_992
# What the kernel needs for one lock and one mapping, and how often they are counted, which takes
# longer than a look.
_LOCK = 256
_MAPPING = 224
_COUNT_EVERY = 0.5
# How long a closer look may take, and how often is asked meanwhile whether it can be waited for. If
# it takes longer than `_SOON`, no more than a part of the limit may be added meanwhile.
_PATIENCE = 1.0
_MEANWHILE = 0.01
_SOON = 0.1
_MORE_MEANWHILE = 8
_CHUNK = 1 << 20
_TICKS = os.sysconf("SC_CLK_TCK")


class Watcher:
    """One run's watcher."""

    def __init__(self, payload: int, ctl: socket) -> None:
        self.payload = payload
        self.ctl = ctl
        self.proc = os.open(_PROC, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.pidfd = os.pidfd_open(payload)
        self.order: dict[str, Any] | None = None
        self.status: int | None = None
        self.killed: str | None = None
        self.peak_bytes = 0
        self.most_tasks = 1
        # CPU time of those seen at the last look, and of those seen before that are gone.
        self.ticks: dict[tuple[str, bytes], int] = {}
        self.ticks_of_gone = 0
        # What the kernel needs for locks and mappings, when they were counted last.
        self.counted = 0
        self.count_at = time.monotonic() + _COUNT_EVERY
        self.folder: disk.Folder | None = None

    def run(self) -> int:
        """Watch until the payload ends, then report. The exit code of the init."""
        try:
            self._until_the_end()
            self._kill_everything()
            if self.order is None and not self._wait_for_order():
                return 1
            if self.killed is None and self.folder is not None and self.folder.was_filled():
                self.killed = "disk"
            self._report()
        except messages.Ended:
            return 0  # the daemon is gone, or wants this slot gone
        return 0

    def _until_the_end(self) -> None:
        poll = select.poll()
        poll.register(self.ctl.fileno(), select.POLLIN | select.POLLRDHUP)
        poll.register(self.pidfd, select.POLLIN)
        next_look = None
        while True:
            wait = None
            if next_look is not None:
                wait = max(0.0, next_look - time.monotonic())
                if self.folder is not None:
                    wait = min(wait, self.folder.time_left())
                wait *= 1000
            ready = {descriptor for descriptor, _ in poll.poll(wait)}
            self._reap()
            if self.status is not None:
                return
            if self.ctl.fileno() in ready:
                self._receive()
                next_look = time.monotonic() + self._every()
            if next_look is None:
                continue
            if time.monotonic() >= next_look:
                self.killed = self._look()
                next_look = time.monotonic() + self._every()
            elif self.folder is not None and self.folder.is_full_already():
                self.killed = "disk"
            if self.killed is not None:
                return

    def _every(self) -> float:
        return max(1, (self.order or {}).get("every_ms") or _DEFAULT_EVERY_MS) / 1000

    def _receive(self) -> None:
        message, _ = messages.receive(self.ctl)
        if self.order is None:
            self.order = message
            watched = (message.get("watch") or {}).get("disk")
            self.folder = watched and disk.Folder(watched, self._hold)

    def _wait_for_order(self) -> bool:
        poll = select.poll()
        poll.register(self.ctl.fileno(), select.POLLIN)
        if not poll.poll(_UNTOLD_SECONDS * 1000):
            return False
        self._receive()
        return True

    def _reap(self) -> None:
        """Collect whoever ended: the payload, and what it left to us."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.payload:
                self.status = status

    def _kill_everything(self) -> None:
        """End all other processes of the namespace, until nobody is left."""
        deadline = time.monotonic() + _GONE_SECONDS
        while time.monotonic() < deadline:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                self._reap()
                return
            self._reap()
            time.sleep(_BETWEEN_SIGNALS)

    def _look(self) -> str | None:
        """The limit that is passed now, if one is."""
        watched = (self.order or {}).get("watch") or {}
        memory, processes = watched.get("memory"), watched.get("processes")
        names = self._others()
        # Before anything else: the more there are, the longer a closer look takes.
        if len(names) > min(processes or _MOST_PROCESSES, _MOST_PROCESSES):
            self.most_tasks = max(self.most_tasks, len(names))
            return "processes"
        used, tasks = self._sample(names)
        if processes is not None and tasks > processes:
            return "processes"
        if memory is not None and self._is_too_much(names, used, memory):
            time.sleep(_CONFIRM_SECONDS)
            names = self._others()[:_MOST_PROCESSES]
            used, tasks = self._sample(names)
            if processes is not None and tasks > processes:
                return "processes"
            if self._is_too_much(names, used, memory):
                return "memory"
        if self.folder is not None and self.folder.is_full(names):
            return "disk"
        return None

    def _others(self) -> list[str]:
        return [name for name in os.listdir(self.proc) if name.isdecimal() and name != "1"]

    def _hold(self, act: Callable[[list[str]], None]) -> None:
        """Do something while nobody moves. Who stood still before still does afterwards."""
        asleep = {name for name in self._others() if self._state(name)[0] == b"T"}
        self._signal(-1, signal.SIGSTOP)
        names = self._others_when_still()
        act(names)  # who is ended for what this finds does not move again
        if not asleep:
            self._signal(-1, signal.SIGCONT)
            return
        for name in names:
            if name not in asleep:
                self._signal(int(name), signal.SIGCONT)

    def _signal(self, pid: int, number: signal.Signals) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass  # there is nobody

    def _others_when_still(self) -> list[str]:
        """All others, once each of them stands still.

        A child that is being made when all are stopped is stopped as soon as it is made. Whoever
        did not wait for it would not know it, and it would stand still for ever.
        """
        deadline = time.monotonic() + _STILL_SECONDS
        names = self._others()
        while time.monotonic() < deadline:
            are_still = self._are_still(names)
            before, names = names, self._others()
            if are_still and names == before:
                break
            time.sleep(_BETWEEN_SIGNALS)
        return names

    def _are_still(self, names: list[str]) -> bool:
        """Whether none of them will do anything, nor have another child, before it goes on."""
        states = {name: self._state(name) for name in names}
        # `vfork` waits until the child starts a program, and the child stands still before that.
        parents = {parent for state, parent in states.values() if state == b"T"}
        return all(
            state in _STILL or (state == _WAITS and name in parents)
            for name, (state, _) in states.items()
        )

    def _state(self, name: str) -> tuple[bytes, str]:
        """What a process does, and who its parent is."""
        try:
            fields = self._read(f"{name}/stat").rpartition(b")")[2].split()
            return fields[0], fields[1].decode()
        except (FileNotFoundError, ProcessLookupError):
            return b"X", ""

    def _sample(self, names: list[str]) -> tuple[int, int]:
        """Memory and tasks of these processes; what is shared is counted for each that has it."""
        used, tasks = self.counted, 0
        before, self.ticks = self.ticks, {}
        for name in names:
            try:
                one, its = self._process(name)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            used += one
            tasks += its
        self.ticks_of_gone += sum(spent for who, spent in before.items() if who not in self.ticks)
        self.most_tasks = max(self.most_tasks, tasks)
        return used, tasks

    def _process(self, name: str) -> tuple[int, int]:
        # The command's name comes first and may hold anything, also brackets.
        fields = self._read(f"{name}/stat").rpartition(b")")[2].split()
        threads = max(1, int(fields[17]))
        self.ticks[name, fields[19]] = int(fields[11]) + int(fields[12])
        return sum(self._memory(self._alive(name, fields[0], threads))), threads

    def _alive(self, name: str, state: bytes, threads: int) -> str:
        """The part of /proc that knows the memory: a first thread that ended alone has none."""
        if state == b"Z" and threads > 1:
            for task in os.listdir(f"{_PROC}/{name}/task"):
                if task != name:
                    return f"{name}/task/{task}"
        return name

    def _memory(self, part: str) -> tuple[int, int]:
        """What it has in memory, also if others have it too; and its page tables."""
        text = self._read(f"{part}/status")
        kb = {}
        for line in text[text.find(b"VmRSS:") :].splitlines() if b"VmRSS:" in text else ():
            key, _, value = line.partition(b":")
            if key in (b"VmRSS", b"VmPTE", b"VmSwap"):
                kb[key] = int(value.split()[0]) * 1024
        return kb.get(b"VmRSS", 0) + kb.get(b"VmSwap", 0), kb.get(b"VmPTE", 0)

    def _is_too_much(self, names: list[str], used: int, limit: int) -> bool:
        """Whether all have more than that, by a closer look if there may be need for one."""
        waiting = sum(self._open_files(name) for name in names) * _MOST_WAITING
        may_be = used + waiting > limit
        if may_be or time.monotonic() > self.count_at:
            found = self._closer(names, may_be, used + limit // _MORE_MEANWHILE)
            if found is None:
                self.peak_bytes = max(self.peak_bytes, used)
                return True
            memory, self.counted = found
            self.count_at = time.monotonic() + _COUNT_EVERY
            if may_be:
                used = memory + self.counted
        self.peak_bytes = max(self.peak_bytes, used)
        return used > limit

    def _open_files(self, name: str) -> int:
        """How many files a process has open. Newer kernels say it at once."""
        try:
            return os.stat(f"{_PROC}/{name}/fd").st_size or len(self._descriptors(name))
        except (FileNotFoundError, ProcessLookupError):
            return 0

    def _closer(self, names: list[str], with_memory: bool, most: int) -> tuple[int, int] | None:
        """A closer look: memory, each page once, and what locks and mappings take.

        None if it cannot be had while all together stay below `most`.
        """
        found: list[tuple[int, int]] = []
        done = _thread.allocate_lock()
        done.acquire()

        def look() -> None:
            try:
                found.append(self._look_closer(names, with_memory))
            finally:
                done.release()

        _thread.start_new_thread(look, ())
        began = time.monotonic()
        while not done.acquire(timeout=_MEANWHILE):
            waited = time.monotonic() - began
            if waited > _PATIENCE or (waited > _SOON and self._sample(names)[0] > most):
                return None
        return found[0] if found else None

    def _look_closer(self, names: list[str], with_memory: bool) -> tuple[int, int]:
        seen: set[str] = set()
        memory = counted = 0
        for name in names:
            try:
                if with_memory:
                    fields = self._read(f"{name}/stat").rpartition(b")")[2].split()
                    part = self._alive(name, fields[0], max(1, int(fields[17])))
                    memory += self._pss(part) + self._memory(part)[1]
                waiting, locks = self._in_kernel(name, seen)
                mappings = self._count(f"{name}/maps", b"\n")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            memory += waiting
            counted += locks * _LOCK + mappings * _MAPPING
        return memory, counted

    def _pss(self, part: str) -> int:
        total = 0
        for line in self._read(f"{part}/smaps_rollup").splitlines():
            if line.startswith((b"Pss:", b"SwapPss:")):
                total += int(line.split()[1])
        return total * 1024

    def _in_kernel(self, name: str, seen: set[str]) -> tuple[int, int]:
        """What may wait in sockets and pipes, and the number of locks: none of it is in a PSS."""
        used = locks = 0
        locked: set[str] = set()
        for descriptor in self._descriptors(name):
            try:
                kind = os.readlink(f"{_PROC}/{name}/fd/{descriptor}")
            except (FileNotFoundError, PermissionError):
                continue
            except OSError:
                kind = f"/{descriptor}"  # a file whose name is too long to be said
            if kind.startswith("/"):
                # A process has its locks on a file once, however often it has that open.
                if kind not in locked and kind != "/dev/null":
                    locked.add(kind)
                    locks += self._count(f"{name}/fdinfo/{descriptor}", b"lock:")
            elif kind not in seen and (kind[:10] != "anon_inode" or "[eventpoll]" in kind):
                # All epolls have the same name.
                if kind[:10] != "anon_inode":
                    seen.add(kind)
                used += _WAITING.get(kind.partition(":")[0], 0)
        return used, locks

    def _count(self, path: str, what: bytes) -> int:
        """How often that is in a file of /proc."""
        count = 0
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.proc)
        try:
            while part := os.read(descriptor, _CHUNK):
                count += part.count(what)
        finally:
            os.close(descriptor)
        return count

    def _descriptors(self, name: str) -> list[str]:
        """What a process has open. One that is about to be gone shows nothing to anybody."""
        try:
            return os.listdir(f"{_PROC}/{name}/fd")
        except PermissionError:
            size = self._read(f"{name}/statm").split()[0]
            if size != b"0":
                raise
            return []

    def _read(self, path: str) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.proc)
        try:
            return os.read(descriptor, _READ)
        finally:
            os.close(descriptor)

    def _report(self) -> None:
        order = self.order or {}
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Children that nobody waited for are in no rusage; what was seen of them counts.
        seen = (self.ticks_of_gone + sum(self.ticks.values())) / _TICKS
        collected = outputs.collect(
            order.get("folder") or _FOLDER,
            order.get("outputs") or [],
            order.get("outputs_bytes") or 0,
            order.get("outputs_files") or 0,
        )
        status = self.status
        ended = status is not None
        report = {
            "exit": os.WEXITSTATUS(status) if ended and os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if ended and os.WIFSIGNALED(status) else None,
            "killed": self.killed,
            "cpu_ms": round(max(used.ru_utime + used.ru_stime, seen) * 1000, 3),
            "peak_bytes": max(self.peak_bytes, used.ru_maxrss * 1024),
            "processes": self.most_tasks,
            "outputs": [{"name": one.name, "size": one.size} for one in collected.files],
            "outputs_left_out": collected.left_out,
        }
        try:
            messages.send(self.ctl, report)
            for one in collected.files:
                one.send(self.ctl.fileno())
        except (BrokenPipeError, ConnectionResetError):
            raise messages.Ended from None
