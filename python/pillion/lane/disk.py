"""Whether a folder on disk holds more than it may, seen from the init of a run that writes to it.

The kernel says at once how much is left of the file system, and how much the run's processes have
written. As long as neither is what still fits into the folder, it cannot be full, and its files
are added up at leisure. If one of them is, it may be this run, somebody else, or a file that was
written twice. Then everyone in the run is stopped while all is added up, so that nothing can be
done meanwhile that would take long to find out.

`crates/pillion-sandbox/src/boxed/folder.rs` does the same for runs without a zygote.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_PROC = "/proc"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
# Deeper than any folder that people make: a walk keeps a descriptor per level.
_MAX_DEPTH = 200
# How long files are added up at a look, while there is time; so many times longer is something
# else done, and for so long if all were added up.
_A_WHILE = 0.01
_SHARE = 4
_REST = 0.1
# How long it may take while everyone waits, and longer for each name that fits into the folder.
# What cannot be added up is too much.
_AT_MOST = 1.0
_EACH = 0.00002
# Bytes that can be written in a second, as far as we have seen; and the least time until the next
# look.
_FAST = 4 << 30
_AGAIN = 0.002
_ORDERED = 1.0
# Names that are looked at between two looks at the clock.
_SOME = 64
_CHUNK = 1 << 20


class TooMuch(Exception):  # noqa: N818 - a finding, not an error of ours
    """It holds more than it may, or hides what it holds."""


class Folder:
    """A folder that is watched.

    `told`: its `path`; `bytes` and `files` that fit; what it `used` and how much was `named`
    before the run; the bytes and files that were `left` of its file system then; and whether its
    processes can send each other descriptors (`sends`).
    """

    def __init__(
        self, told: dict[str, Any], hold: Callable[[Callable[[list[str]], None]], None]
    ) -> None:
        self.path: str = told["path"]
        self.bytes: int = told["bytes"]
        self.files: int = told["files"]
        self.used: int = told["used"]
        self.sends: bool = told["sends"]
        # By then a program has taken the descriptors that its order came with.
        self.ordered = time.monotonic() + _ORDERED
        self.before = self.at_sum = tuple(told["left"])
        self.sum = told["used"], told["named"]
        # Calls a function with the names of all processes while none of them moves.
        self.hold = hold
        self.root = os.open(self.path, _FOLDER)
        self.device = os.fstat(self.root).st_dev
        self.going_on: Iterator[tuple[int, int] | None] | None = None
        self.began = self.before
        # What all processes had written at the last look, when the folder was added up last, and
        # when that began which goes on.
        self.written = self.written_at_sum = self.written_at_began = 0
        self.not_before = time.monotonic() + _REST
        # Everyone is not stopped again before this.
        self.not_now_before = 0.0

    def is_full(self, names: list[str]) -> bool:
        """Whether it holds more than fits, with what these have open of it without a name."""
        self.written = written(names)
        try:
            if self._may_be_full():
                self._add_up_in_turn()
            else:
                self._add_up_at_leisure(names)
        except TooMuch:
            return True
        return False

    def is_full_already(self) -> bool:
        """The same without anything that takes time, unless there is need for it."""
        try:
            if self._may_be_full():
                self._add_up_in_turn()
        except TooMuch:
            return True
        return False

    def time_left(self) -> float:
        """How long it takes at least until it can be full."""
        soon = (self.bytes - self._most()[0]) / _FAST
        return max(soon, self.not_now_before - time.monotonic(), _AGAIN)

    def was_filled(self) -> bool:
        """The same at the end, when nobody is left: only if it may be so."""
        try:
            if self._may_be_full():
                self._add_up_now([])
        except TooMuch:
            return True
        return False

    def _left(self) -> tuple[int, int]:
        facts = os.fstatvfs(self.root)
        return facts.f_bfree * facts.f_frsize, facts.f_ffree

    def _may_be_full(self) -> bool:
        """Has the file system lost what still fitted when the folder was added up last?"""
        used, named = self._most()
        return used > self.bytes or named > self.files

    def _most(self) -> tuple[int, int]:
        """The most that it can hold."""
        left = self._left()
        more = max(0, self.at_sum[0] - left[0], self.written - self.written_at_sum)
        return self.sum[0] + more, self.sum[1] + max(0, self.at_sum[1] - left[1])

    def _add_up_in_turn(self) -> None:
        began = time.monotonic()
        is_its_own = self.sum[0] + self.written - self.written_at_sum > self.bytes
        if not is_its_own and began < self.not_now_before:
            return
        self.hold(self._add_up_now)
        # If somebody else is writing much, nobody here is stopped all the time.
        ended = time.monotonic()
        self.not_now_before = ended + (ended - began) * _SHARE

    def _add_up_at_leisure(self, names: list[str]) -> None:
        now = time.monotonic()
        if now < self.not_before:
            return
        if self.going_on is None:
            self.began = self._left()
            self.written_at_began = self.written
            self.going_on = self._adding(names)
        for found in self.going_on:
            if found is not None:
                self.sum, self.at_sum, self.going_on = found, self.began, None
                self.written_at_sum = self.written_at_began
                self.not_before = _REST
                break
            if time.monotonic() > now + _A_WHILE:
                self.not_before = 0.0
                break
        ended = time.monotonic()
        self.not_before += ended + (ended - now) * _SHARE

    def _add_up_now(self, names: list[str]) -> None:
        self.going_on = None
        until = time.monotonic() + _AT_MOST + _EACH * self.files
        for found in self._adding(names):
            if found is not None:
                self.sum = found
            elif time.monotonic() > until:
                raise TooMuch
        self.at_sum = self._left()
        self.written = self.written_at_sum = written(names)
        # What is neither there nor anybody else's.
        gone = max(0, self.before[0] - self.at_sum[0])
        if self.used + gone > self.bytes:
            sends = self.sends and time.monotonic() > self.ordered
            if any(hides(name, self.device, sends) for name in names):
                raise TooMuch

    def _adding(self, names: list[str]) -> Iterator[tuple[int, int] | None]:
        """The bytes and names in the folder, at last; before that None, after every few names.

        Every name counts, also the second of a file: they take time, and room in their folder.
        """
        stack: list[tuple[int, Any]] = []
        known: set[int] = set()
        used = seen = 0
        try:
            for inode, size in nameless(names, self.device):
                if inode not in known:
                    known.add(inode)
                    used += size
            root = os.open(self.path, _FOLDER)
            used += os.fstat(root).st_blocks * 512
            stack.append((root, os.scandir(root)))
            while stack:
                descriptor, entries = stack[-1]
                entry = next(entries, None)
                if entry is None:
                    entries.close()
                    os.close(descriptor)
                    stack.pop()
                    continue
                seen += 1
                if seen % _SOME == 0:
                    yield None
                try:
                    facts = os.stat(entry.name, dir_fd=descriptor, follow_symlinks=False)
                    is_folder = stat.S_ISDIR(facts.st_mode)
                    if is_folder or facts.st_nlink < 2 or facts.st_ino not in known:
                        used += facts.st_blocks * 512
                        if not is_folder and facts.st_nlink > 1:
                            known.add(facts.st_ino)
                    if used > self.bytes or seen > self.files or len(stack) > _MAX_DEPTH:
                        raise TooMuch
                    if is_folder:
                        below = os.open(entry.name, _FOLDER, dir_fd=descriptor)
                        stack.append((below, os.scandir(below)))
                except PermissionError:
                    # Whoever hides something has something to hide.
                    raise TooMuch from None
                except OSError:
                    continue  # it went away
            if used > self.bytes:
                raise TooMuch
            yield used, seen
        finally:
            for descriptor, entries in stack:
                entries.close()
                os.close(descriptor)


def nameless(names: list[str], device: int) -> Iterator[tuple[int, int]]:
    """Inode and bytes of files that were removed, but are open in one of these processes."""
    for name in names:
        for descriptor in _descriptors(name):
            try:
                facts = os.stat(f"{_PROC}/{name}/fd/{descriptor}")
            except OSError:
                continue
            if facts.st_nlink == 0 and facts.st_dev == device:
                yield facts.st_ino, facts.st_blocks * 512


def written(names: list[str]) -> int:
    """Bytes for a disk that these processes have written, and those that they waited for."""
    all_of_them = 0
    for name in names:
        numbers = _text(f"{name}/io").partition(b"\nwrite_bytes: ")[2].split(None, 1)
        all_of_them += int(numbers[0]) if numbers else 0
    return all_of_them


def hides(name: str, device: int, sends: bool) -> bool:
    """Whether a process has files where they cannot be added up.

    They are removed and only mapped, or, if it can send any, on their way in a socket.
    """
    number = f" {os.major(device):02x}:{os.minor(device):02x} ".encode()
    for line in _text(f"{name}/maps").splitlines():
        if line.endswith(b" (deleted)") and number in line:
            return True
    for descriptor in _descriptors(name) if sends else ():
        try:
            is_socket = os.readlink(f"{_PROC}/{name}/fd/{descriptor}").startswith("socket:")
        except OSError:
            continue
        if is_socket:
            sent = _text(f"{name}/fdinfo/{descriptor}").partition(b"scm_fds:")[2].split(None, 1)
            if sent and sent[0] != b"0":
                return True
    return False


def _descriptors(name: str) -> list[str]:
    try:
        return os.listdir(f"{_PROC}/{name}/fd")
    except OSError:
        return []  # it is about to be gone


def _text(path: str) -> bytes:
    try:
        descriptor = os.open(f"{_PROC}/{path}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts = []
    try:
        while part := os.read(descriptor, _CHUNK):
            parts.append(part)
    except OSError:
        pass  # it is about to be gone
    finally:
        os.close(descriptor)
    return b"".join(parts)
