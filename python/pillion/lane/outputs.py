"""Files that a run leaves behind, seen from its init: which are handed back, and how much is used.

Everything below the folder was made by untrusted code: each step is opened below the one before,
never through a link, never waiting (a FIFO), and only regular files are read, to a bound.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_WILD = frozenset("*?[")
# Deeper than any folder that people make: a walk keeps a descriptor per level.
_MAX_DEPTH = 200
# How many names one pattern may look at, and how many refusals are reported.
_MAX_NAMES = 100_000
_MAX_LEFT_OUT = 1000
_CHUNK = 1 << 20
_TOO_MUCH = 1 << 62


class Output:
    """A file to hand back, open."""

    def __init__(self, name: str, descriptor: int, size: int) -> None:
        self.name = name
        self.descriptor = descriptor
        self.size = size

    def send(self, to: int) -> None:
        """Exactly `size` bytes: the message before has promised them."""
        left, at = self.size, 0
        while left:
            sent = os.sendfile(to, self.descriptor, at, min(left, _CHUNK))
            if sent == 0:  # someone outside has shortened it
                sent = os.write(to, bytes(min(left, _CHUNK)))
            at += sent
            left -= sent
        os.close(self.descriptor)


class Collected:
    """What is handed back, and what is not and why."""

    def __init__(self, most_bytes: int, most_files: int) -> None:
        self.files: list[Output] = []
        self.left_out: list[dict[str, str]] = []
        self.most_bytes = most_bytes
        self.most_files = most_files
        self.seen: set[str] = set()
        self.names = 0

    def leave_out(self, name: str, why: str) -> None:
        """Say that a file is not handed back."""
        if len(self.left_out) < _MAX_LEFT_OUT:
            shown = name.encode("utf-8", "backslashreplace").decode()
            self.left_out.append({"name": shown, "why": why})

    def add(self, folder: int, last: str, name: str) -> None:
        """Open one file and keep it, or say why not."""
        if name in self.seen:
            return None
        self.seen.add(name)
        try:
            name.encode()
            descriptor = os.open(last, _FILE, dir_fd=folder)
        except UnicodeEncodeError:
            return self.leave_out(name, "its name is not text")
        except FileNotFoundError:
            return self.leave_out(name, "missing")
        except OSError as error:
            # ELOOP: a link. ENXIO: a socket.
            return self.leave_out(name, "a link" if error.errno == 40 else "not a file")
        facts = os.fstat(descriptor)
        why = None
        if not stat.S_ISREG(facts.st_mode):
            why = "not a file"
        elif len(self.files) >= self.most_files:
            why = "too many files"
        elif facts.st_size > self.most_bytes:
            why = "too large"
        if why is not None:
            os.close(descriptor)
            return self.leave_out(name, why)
        self.most_bytes -= facts.st_size
        self.files.append(Output(name, descriptor, facts.st_size))
        return None


def collect(folder: str, patterns: list[str], most_bytes: int, most_files: int) -> Collected:
    """Open the declared outputs below `folder`. A pattern's `*` does not cross folders."""
    collected = Collected(most_bytes, most_files)
    for pattern in patterns:
        parts = pattern.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            collected.leave_out(pattern, "outside")
            continue
        known = len(collected.seen), len(collected.left_out)
        try:
            root = os.open(folder, _FOLDER)
        except OSError:
            collected.leave_out(pattern, "missing")
            continue
        try:
            _match(root, parts, "", collected)
        finally:
            os.close(root)
        if known == (len(collected.seen), len(collected.left_out)):
            collected.leave_out(pattern, "missing")
    return collected


def _match(folder: int, parts: list[str], before: str, collected: Collected) -> None:
    first, rest = parts[0], parts[1:]
    for name in _names(folder, first, collected):
        if not rest:
            collected.add(folder, name, before + name)
            continue
        try:
            below = os.open(name, _FOLDER, dir_fd=folder)
        except OSError:
            continue
        try:
            _match(below, rest, f"{before}{name}/", collected)
        finally:
            os.close(below)


def _names(folder: int, part: str, collected: Collected) -> list[str]:
    if not _WILD & set(part):
        return [part]
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            collected.names += 1
            if collected.names > _MAX_NAMES:
                break
            name = entry.name
            if fnmatchcase(name, part) and (part[0] == "." or name[0] != "."):
                found.append(name)
    return sorted(found)


def usage(folder: str, used: int, most_files: int = 1 << 62) -> Iterator[int | None]:
    """Bytes on disk below a folder so far, on top of `used`, after every few entries.

    Nobody holds still meanwhile, so it is an estimate. What cannot be added up (too many files,
    too deep, closed to us) is more than any limit.
    """
    stack: list[tuple[int, Any]] = []
    linked: set[int] = set()
    seen = 0
    try:
        root = os.open(folder, _FOLDER)
        stack.append((root, os.scandir(root)))
        while stack:
            descriptor, entries = stack[-1]
            entry = next(entries, None)
            if entry is None:
                entries.close()
                os.close(descriptor)
                stack.pop()
                continue
            try:
                facts = os.stat(entry.name, dir_fd=descriptor, follow_symlinks=False)
                if facts.st_nlink > 1 and not stat.S_ISDIR(facts.st_mode):
                    if facts.st_ino in linked:
                        continue
                    linked.add(facts.st_ino)
                used += facts.st_blocks * 512
                if stat.S_ISDIR(facts.st_mode):
                    below = os.open(entry.name, _FOLDER, dir_fd=descriptor)
                    stack.append((below, os.scandir(below)))
            except PermissionError:
                used = _TOO_MUCH
            except OSError:
                continue  # it went away
            seen += 1
            if len(stack) > _MAX_DEPTH or seen > most_files:
                used = _TOO_MUCH
            if seen % 64 == 0 or used >= _TOO_MUCH:
                yield used
        yield used
    finally:
        for descriptor, entries in stack:
            entries.close()
            os.close(descriptor)
