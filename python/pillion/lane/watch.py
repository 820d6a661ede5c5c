"""What a slot's init does while its payload runs: watch, end what passes a limit, report.

It never trusts what the payload can touch. What it cannot read although it should be there ends
the run: a watcher that sees nothing must not go on as if all were well.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time

from pillion.lane import messages, outputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterator
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
# How many files and folders a folder may hold, unless the order says.
_MOST_FILES = 200_000
# How much of the time the walk over a folder may take.
_WALK_SHARE = 0.2
# Bytes that can wait in one, in the kernel's memory.
_WAITING = {"socket": 212_992, "pipe": 65_536}
_FEW_FILES = 12
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
        # Sockets and pipes counted at this look.
        self.waiting: set[str] = set()
        self.walk: Iterator[int | None] | None = None
        self.walk_after = 0.0

    def run(self) -> int:
        """Watch until the payload ends, then report. The exit code of the init."""
        try:
            self._until_the_end()
            self._kill_everything()
            if self.order is None and not self._wait_for_order():
                return 1
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
                wait = max(0.0, next_look - time.monotonic()) * 1000
            ready = {descriptor for descriptor, _ in poll.poll(wait)}
            self._reap()
            if self.status is not None:
                return
            if self.ctl.fileno() in ready:
                self._receive()
                next_look = time.monotonic() + self._every()
            if next_look is not None and time.monotonic() >= next_look:
                self.killed = self._look()
                if self.killed is not None:
                    return
                next_look = time.monotonic() + self._every()

    def _every(self) -> float:
        return max(1, (self.order or {}).get("every_ms") or _DEFAULT_EVERY_MS) / 1000

    def _receive(self) -> None:
        message, _ = messages.receive(self.ctl)
        if self.order is None:
            self.order = message

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
            time.sleep(0.0002)

    def _look(self) -> str | None:
        """The limit that is passed now, if one is."""
        watched = (self.order or {}).get("watch") or {}
        memory, processes = watched.get("memory"), watched.get("processes")
        disk = watched.get("disk")
        names = self._others()
        # Before anything else: the more there are, the longer a closer look takes.
        if len(names) > min(processes or _MOST_PROCESSES, _MOST_PROCESSES):
            self.most_tasks = max(self.most_tasks, len(names))
            return "processes"
        used, tasks = self._sample(names)
        if processes is not None and tasks > processes:
            return "processes"
        if memory is not None and used > memory:
            time.sleep(_CONFIRM_SECONDS)
            if self._sample(self._others()[:_MOST_PROCESSES])[0] > memory:
                return "memory"
        if disk is not None and self._disk_is_full(disk):
            return "disk"
        return None

    def _others(self) -> list[str]:
        return [name for name in os.listdir(self.proc) if name.isdecimal() and name != "1"]

    def _sample(self, names: list[str]) -> tuple[int, int]:
        """Memory and tasks of these processes."""
        used = tasks = 0
        self.waiting.clear()
        before, self.ticks = self.ticks, {}
        for name in names:
            try:
                one, its = self._process(name)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            used += one
            tasks += its
        self.ticks_of_gone += sum(spent for who, spent in before.items() if who not in self.ticks)
        self.peak_bytes = max(self.peak_bytes, used)
        self.most_tasks = max(self.most_tasks, tasks)
        return used, tasks

    def _process(self, name: str) -> tuple[int, int]:
        # The command's name comes first and may hold anything, also brackets.
        fields = self._read(f"{name}/stat").rpartition(b")")[2].split()
        state, threads = fields[0], max(1, int(fields[17]))
        self.ticks[name, fields[19]] = int(fields[11]) + int(fields[12])
        if state != b"Z":
            return self._pss(f"{name}/smaps_rollup") + self._in_kernel(name), threads
        if threads > 1:
            # The first thread ended alone: the others have the memory.
            for task in os.listdir(f"{_PROC}/{name}/task"):
                if task != name:
                    return self._pss(f"{name}/task/{task}/smaps_rollup"), threads
        return 0, threads

    def _pss(self, path: str) -> int:
        total = 0
        for line in self._read(path).splitlines():
            if line.startswith((b"Pss:", b"SwapPss:")):
                total += int(line.split()[1])
        return total * 1024

    def _in_kernel(self, name: str) -> int:
        """Page tables, and what may wait in sockets and pipes: none of it is in a PSS."""
        tables = self._read(f"{name}/status").partition(b"VmPTE:")[2].split(None, 1)
        used = int(tables[0]) * 1024 if tables else 0
        # Newer kernels say at once how many files are open; for few a closer look is not worth it.
        folder = f"{_PROC}/{name}/fd"
        if 0 < os.stat(folder).st_size <= _FEW_FILES:
            return used
        for descriptor in self._descriptors(name):
            try:
                kind = os.readlink(f"{folder}/{descriptor}")
            except (FileNotFoundError, PermissionError):
                continue
            if kind not in self.waiting:
                self.waiting.add(kind)
                used += _WAITING.get(kind.partition(":")[0], 0)
        return used

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

    def _disk_is_full(self, disk: dict[str, Any]) -> bool:
        """Go on with the walk over the folder, for a share of the time only."""
        now = time.monotonic()
        if self.walk is None:
            if now < self.walk_after:
                return False
            self.walk = outputs.usage(
                disk["path"], self._deleted_bytes(), disk.get("files") or _MOST_FILES
            )
        until = now + self._every() * _WALK_SHARE
        for used in self.walk:
            if used is not None and used > disk["bytes"]:
                return True
            if time.monotonic() > until:
                return False
        self.walk = None
        self.walk_after = now + self._every() * 2
        return False

    def _deleted_bytes(self) -> int:
        """What files that have no name any more, but are open, take on the disk."""
        seen: dict[tuple[int, int], int] = {}
        for name in self._others():
            try:
                for descriptor in self._descriptors(name):
                    facts = os.stat(f"{_PROC}/{name}/fd/{descriptor}")
                    if facts.st_nlink == 0:
                        seen[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
            except (FileNotFoundError, ProcessLookupError):
                continue
            except PermissionError:
                if not self._is_ending(name):
                    raise
        return sum(seen.values())

    def _is_ending(self, name: str) -> bool:
        """Whether it has given up its memory: what is left of it then belongs to the system."""
        try:
            return self._read(f"{name}/statm").startswith(b"0 ")
        except (FileNotFoundError, ProcessLookupError):
            return True

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
