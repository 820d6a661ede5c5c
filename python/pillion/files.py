"""Which of the user's source files have been imported, each with its `stat` from before the read.

The import system asks a loader for `path_stats` before it reads the source, so a record made there
can only be older than the code that runs, never newer: a file that changes in between differs from
its record, and the host retires the worker.
"""

from __future__ import annotations

import _frozen_importlib_external as external
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Record = list  # [path, dev, inode, size, mtime_ns, ctime_ns]

# Only ever appended to and swapped as a whole, so that imports in threads need no lock.
_new: dict[str, Record] = {}
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SETTLED_NS = 2_000_000_000
# Where the user's own modules are looked for, in the order of `sys.path`.
user_folders: list[str] = []
# Optional imports of large packages are many; what is noted of them is bounded.
_MAX_ABSENCES = 200
_absences = 0
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
# Folders whose files are noted although they are installed. A worker has none: whoever asks it
# compares the folders themselves.
_packages: tuple[str, ...] = ()


def pending() -> bool:
    """Has anything been imported since the last `take`?"""
    return bool(_new)


def take() -> list[Record]:
    """The records since the last call of this function."""
    global _new
    taken, _new = _new, {}
    return list(taken.values())


def is_users(path: str) -> bool:
    """Is this file the user's, rather than the interpreter's, an installed package's or ours?"""
    if path.startswith(_packages):
        return True
    return not (path.startswith((_STDLIB, _PACKAGE)) or any(part in path for part in _INSTALLED))


def record(path: str, found: os.stat_result | None = None) -> None:
    """Note a file that is about to be read."""
    path = os.path.abspath(path)
    if is_users(path):
        _note(path, found)


def _note(path: str, found: os.stat_result | None = None) -> None:
    if not _encodable(path):
        return
    if found is None:
        try:
            found = os.stat(path)
        except OSError:
            return
    _new[path] = [
        path,
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    ]


def record_absence(path: str) -> None:
    """Note that nothing was at this path: should something appear, imports may go another way."""
    global _absences
    # What is there and was passed over, such as a folder without `__init__.py`, is no absence.
    if os.path.lexists(path) or path in _new or not _encodable(path):
        return
    if _absences < _MAX_ABSENCES:
        _absences += 1
        _new[path] = [path, 0, 0, 0, 0, 0]


def _could_be(name: str, folder: str) -> None:
    # As a module or as a package; a C extension that appears is not foreseen.
    if os.path.isdir(folder):
        record_absence(os.path.join(folder, name + ".py"))
        record_absence(os.path.join(folder, name))


def _record_shadows(name: str, path: str) -> None:
    """A module of this name in an earlier folder would have been taken instead."""
    home = os.path.dirname(path)
    if os.path.basename(path) == "__init__.py":
        home = os.path.dirname(home)
    for folder in user_folders:
        if folder == home:
            return
        _could_be(name, folder)


class Missing:
    """The last finder of all: asked only for what no other finder has found."""

    @staticmethod
    def find_spec(name: str, path: Any = None, _target: Any = None) -> None:
        """Find nothing, but remember where it was looked for."""
        folders = user_folders if path is None else [p for p in path if is_users(f"{p}{os.sep}")]
        for folder in folders:
            _could_be(name.rpartition(".")[2], folder)


def distrust_bytecode(path: str, found: os.stat_result) -> None:
    """Keep cached byte-code from answering for a source that has changed since.

    Python compares only whole seconds and the size, so an edit of the same size in the same
    second goes unseen. Byte-code is believed only if it was written well after the last change
    of the source; anything else is removed and made again. For a source that changed just now
    there is no byte-code at all: raising `OSError` here means neither reading nor writing it.
    """
    installed = path.startswith(_packages)
    if not installed and time.time_ns() - found.st_ctime_ns < _SETTLED_NS:
        raise OSError(f"{path} has only just changed")
    try:
        cached = external.cache_from_source(path)
        written = os.stat(cached).st_mtime_ns
    except (OSError, NotImplementedError):
        return
    if installed:
        # Installers compile right after they write, and some link files that are old: only an
        # edit since then makes byte-code doubtful, and it leaves both times of the file behind.
        edited = found.st_ctime_ns - found.st_mtime_ns < _SETTLED_NS
        if edited and written <= found.st_ctime_ns:
            raise OSError(f"the byte-code of {path} cannot be trusted")
        return
    if written - found.st_ctime_ns < _SETTLED_NS:
        if sys.dont_write_bytecode:
            raise OSError(f"the byte-code of {path} cannot be trusted")
        os.unlink(cached)


class read_only:  # noqa: N801 (used like a function)
    """Imports in here leave no byte-code behind: who only asks writes nothing."""

    def __enter__(self) -> None:
        self._before, sys.dont_write_bytecode = sys.dont_write_bytecode, True

    def __exit__(self, *_: object) -> None:
        sys.dont_write_bytecode = self._before


def _encodable(path: str) -> bool:
    # A name that is not UTF-8 cannot be told to the host.
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class noted:  # noqa: N801 (used like a function)
    """In here, what is imported is noted with all that it depends on, also from `packages`.

    Afterwards imports are as they were before.
    """

    def __init__(self, packages: list[str]) -> None:
        self._folders = [os.path.abspath(folder) for folder in packages]
        self._before: list[tuple[Any, dict[str, Any]]] = []

    def __enter__(self) -> None:
        global _packages
        self._before = [(loader, dict(vars(loader))) for loader in _loaders()]
        _packages = tuple(folder.rstrip(os.sep) + os.sep for folder in self._folders)
        user_folders[:] = self._folders
        install()
        for folder in self._folders:
            _note(folder)  # a name that appears in it may be that of a module

    def __exit__(self, *_: object) -> None:
        global _packages
        _packages, user_folders[:] = (), []
        sys.meta_path.remove(Missing)
        for loader, methods in self._before:
            for name in ("path_stats", "get_code", "create_module"):
                if name in methods:
                    setattr(loader, name, methods[name])


def _loaders() -> tuple[Any, Any, Any]:
    return (
        external.SourceFileLoader,
        external.SourcelessFileLoader,
        external.ExtensionFileLoader,
    )


def install() -> None:
    """Hook the loaders of source, byte-code and extension modules."""
    source, bytecode, extension = _loaders()
    get_code = bytecode.get_code
    create_module = extension.create_module

    def path_stats(self: Any, path: str) -> dict[str, Any]:
        # Made from the same `stat` that is recorded: two could disagree.
        found = os.stat(path)
        record(path, found)
        if is_users(os.path.abspath(path)):
            if "." not in self.name:
                _record_shadows(self.name, os.path.abspath(path))
            distrust_bytecode(path, found)
        return {"mtime": found.st_mtime, "size": found.st_size}

    def sourceless_get_code(self: Any, fullname: str) -> Any:
        record(self.path)
        return get_code(self, fullname)

    def extension_create_module(self: Any, spec: Any) -> Any:
        record(self.path)
        return create_module(self, spec)

    source.path_stats = path_stats
    bytecode.get_code = sourceless_get_code
    extension.create_module = extension_create_module
    sys.meta_path.append(Missing)


def record_loaded() -> None:
    """Note user modules that were imported before the hooks were in place."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and getattr(module, "__name__", "") != "__main__":
            record(path)
