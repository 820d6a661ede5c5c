"""Archives whose bytes depend on nothing but what is in them: no clock, no user, no order."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import gmtime

#: Execute bits; everything else is a plain file.
EXECUTABLE = 0o755
PLAIN = 0o644


@dataclass(frozen=True)
class Entry:
    """One file of an archive."""

    name: str
    data: bytes
    mode: int = PLAIN


def tar(entries: Iterable[Entry], epoch: int, *, folders: bool = False) -> bytes:
    """A gzipped tar archive. `folders` adds an entry for every folder, as Debian wants it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        known: set[str] = set()
        for entry in sorted(entries, key=lambda entry: entry.name):
            if folders:
                _folders(archive, entry.name, known, epoch)
            info = _info(entry.name, entry.mode, epoch)
            info.size = len(entry.data)
            archive.addfile(info, io.BytesIO(entry.data))
    return compressed(out.getvalue())


def compressed(data: bytes) -> bytes:
    """Gzip without a name and a time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def _info(name: str, mode: int, epoch: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = mode, epoch
    info.uname = info.gname = "root"
    return info


def _folders(archive: tarfile.TarFile, name: str, known: set[str], epoch: int) -> None:
    parts = name.split("/")[:-1]
    for end in range(1, len(parts) + 1):
        folder = "/".join(parts[:end])
        if folder not in known:
            known.add(folder)
            info = _info(folder, EXECUTABLE, epoch)
            info.type = tarfile.DIRTYPE
            archive.addfile(info)


def zipped(entries: Iterable[Entry], epoch: int) -> bytes:
    """A zip archive in the order given: a wheel's record comes last."""
    out = io.BytesIO()
    # A zip knows no time before 1980.
    time = max(gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, time)
            info.create_system = 3
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return out.getvalue()


def ar(members: Iterable[tuple[str, bytes]], epoch: int) -> bytes:
    """An `ar` archive, which a Debian package is."""
    out = bytearray(b"!<arch>\n")
    for name, data in members:
        out += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        out += data + b"\n" * (len(data) % 2)
    return bytes(out)


def files_below(folder: Path) -> list[tuple[str, bytes]]:
    """Every file of a folder with its path in it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in found]
