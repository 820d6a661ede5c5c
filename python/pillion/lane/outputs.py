"""Files that a run leaves behind, seen from its init: which are handed back.

Everything below the folder was made by untrusted code: each step is opened below the one before,
never through a link, never waiting (a FIFO), and only regular files are read, to a bound.

What a pattern means: `*`, `?` and `[a-z]` (`[!a-z]`: none of these) stand for letters of one name,
and `**` as a whole part for any number of folders. A name that begins with a dot is only meant by
a part that begins with one too. A name that is the pattern itself is always meant.
`crates/pillion-sandbox/src/outputs.rs` does the same for runs without a zygote, and
`patterns.json` beside it is the table of cases that both are tested with.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_WILD = frozenset("*?[")
_ANY_FOLDERS = "**"
# Deeper than any folder that people make: a walk keeps a descriptor per level.
_MAX_DEPTH = 200
# How many names are looked at, and how many refusals are reported.
_MAX_NAMES = 100_000
_MAX_LEFT_OUT = 1000
_CHUNK = 1 << 20
_ELOOP = 40


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
        # Files that the pattern in question was seen to mean.
        self.meant = 0

    def leave_out(self, name: str, why: str) -> None:
        """Say that a file is not handed back."""
        if len(self.left_out) < _MAX_LEFT_OUT:
            shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            self.left_out.append({"name": shown, "why": why})

    def add(self, folder: int, last: str, name: str, is_named: bool) -> None:
        """Open one file and keep it, or say why not. A folder is only meant if it is named."""
        try:
            facts = os.stat(last, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return None
        if stat.S_ISDIR(facts.st_mode) and not is_named:
            return None
        self.meant += 1
        if name in self.seen:
            return None
        self.seen.add(name)
        try:
            name.encode()
            descriptor = os.open(last, _FILE, dir_fd=folder)
        except UnicodeEncodeError:
            return self.leave_out(name, "its name is not text")
        except PermissionError:
            return self.leave_out(name, "it cannot be read")
        except OSError as error:
            return self.leave_out(name, "a link" if error.errno == _ELOOP else "not a plain file")
        facts = os.fstat(descriptor)
        why = None
        if not stat.S_ISREG(facts.st_mode):
            why = "not a plain file"
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
    """Open the declared outputs below `folder`, in the order of the patterns, then of names."""
    collected = Collected(most_bytes, most_files)
    for pattern in patterns:
        parts = pattern.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            collected.leave_out(pattern, "outside of the folder")
            continue
        if parts[-1] == _ANY_FOLDERS:
            parts.append("*")
        collected.meant = 0
        try:
            root = os.open(folder, _FOLDER)
        except OSError:
            collected.leave_out(pattern, "no such file")
            continue
        _match(root, parts, "", collected)
        if collected.names > _MAX_NAMES:
            collected.leave_out(pattern, "too many names to look through")
        elif not collected.meant:
            collected.leave_out(pattern, "no such file")
    return collected


def _match(folder: int, parts: list[str], before: str, collected: Collected) -> None:
    """Add what `parts` mean in an open folder, which is closed then."""
    try:
        first, rest = parts[0], parts[1:]
        if first == _ANY_FOLDERS:
            while rest[0] == _ANY_FOLDERS:
                rest = rest[1:]
            _match(os.dup(folder), rest, before, collected)
            for name in _names(folder, "*", collected):
                _below(folder, name, [first, *rest], before, collected)
            return
        is_named = not _WILD & set(first)
        for name in [first] if is_named else _names(folder, first, collected):
            if rest:
                _below(folder, name, rest, before, collected)
            else:
                collected.add(folder, name, before + name, is_named)
    finally:
        os.close(folder)


def _below(folder: int, name: str, parts: list[str], before: str, collected: Collected) -> None:
    if before.count("/") >= _MAX_DEPTH:
        return
    try:
        below = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return  # not a folder
    _match(below, parts, f"{before}{name}/", collected)


def _names(folder: int, part: str, collected: Collected) -> list[str]:
    found = []
    try:
        for name in _listed(folder):
            collected.names += 1
            if collected.names > _MAX_NAMES:
                break
            if matches(name, part):
                found.append(name)
    except OSError:
        pass  # it cannot be read
    return sorted(found)


def _listed(folder: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.name


def matches(name: str, part: str) -> bool:
    """Whether a name is meant by one part of a pattern."""
    if name == part:
        return True
    if name[:1] == "." and part[:1] != ".":
        return False
    at = step = 0
    # The last star, and where what it stands for ends.
    star, end = -1, 0
    while at < len(name):
        if step < len(part) and part[step] == "*":
            star, end, step = step, at, step + 1
            continue
        if step < len(part):
            fits, after = _fits(name[at], part, step)
            if fits:
                at, step = at + 1, after
                continue
        if star < 0:
            return False
        end += 1
        at, step = end, star + 1
    return not part[step:].strip("*")


def _fits(letter: str, part: str, step: int) -> tuple[bool, int]:
    """Whether a letter is meant by what is at `step`, and where the next step is."""
    if part[step] == "?":
        return True, step + 1
    if part[step] != "[":
        return letter == part[step], step + 1
    first = step + 1
    is_not = part[first : first + 1] == "!"
    first += is_not
    close = part.find("]", first + 1)
    if close < 0:
        return letter == "[", step + 1
    among = False
    at = first
    while at < close:
        if part[at + 1 : at + 2] == "-" and at + 2 < close:
            among = among or part[at] <= letter <= part[at + 2]
            at += 3
        else:
            among = among or part[at] == letter
            at += 1
    return among != is_not, close + 1
