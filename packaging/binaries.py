"""What a built program says about the systems that it runs on.

Read from its own bytes, so that a package never promises what its program cannot keep: which
glibc a Linux program needs, which macOS a Mach-O was linked for.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

# Libraries that every glibc system has, so that a wheel may need them (PEP 600).
_GLIBC_LIBRARIES = ("libc.", "libm.", "libdl.", "libpthread.", "librt.", "libgcc_s.", "ld-linux")

_DYNAMIC = 2
_NEEDED, _STRTAB, _VERNEED, _VERNEEDNUM = 1, 5, 0x6FFFFFFE, 0x6FFFFFFF
_MACHO_64 = 0xFEEDFACF
_LC_VERSION_MIN_MACOSX, _LC_BUILD_VERSION = 0x24, 0x32


class PackError(Exception):
    """What was given cannot be packed."""


@dataclass(frozen=True)
class Binary:
    """A program and what it needs."""

    path: Path
    #: The newest glibc that it asks for, as `(2, 35)`; none for a static program.
    glibc: tuple[int, int] | None = None
    #: The oldest macOS that it runs on.
    macos: tuple[int, int] | None = None
    #: Shared libraries that it needs, by name.
    needed: tuple[str, ...] = ()

    @property
    def is_static(self) -> bool:
        """Whether it needs nothing but a kernel."""
        return self.macos is None and not self.needed


def read(path: Path) -> Binary:
    """Look at a program."""
    data = path.read_bytes()
    if data[:4] == b"\x7fELF":
        return _elf(path, data)
    if len(data) > 4 and struct.unpack_from("<I", data)[0] == _MACHO_64:
        return Binary(path, macos=_macos(data))
    raise PackError(f"`{path}` is neither a program for Linux nor one for macOS")


def _elf(path: Path, data: bytes) -> Binary:
    if data[4:6] != b"\x02\x01":
        raise PackError(f"`{path}` is not a 64-bit little-endian program")
    (phoff,) = struct.unpack_from("<Q", data, 32)
    phentsize, phnum = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, phoff + i * phentsize) for i in range(phnum)]
    segments = [
        (vaddr, offset, size) for kind, _, offset, vaddr, _, size, *_ in headers if kind == 1
    ]
    dynamic = next(
        ((offset, size) for kind, _, offset, _, _, size, *_ in headers if kind == 2), None
    )
    if dynamic is None:
        return Binary(path)

    def at(address: int) -> int:
        for vaddr, offset, size in segments:
            if vaddr <= address < vaddr + size:
                return address - vaddr + offset
        raise PackError(f"`{path}` is damaged: nothing is at its address {address:#x}")

    entries: dict[int, list[int]] = {}
    for place in range(dynamic[0], dynamic[0] + dynamic[1], 16):
        tag, value = struct.unpack_from("<QQ", data, place)
        entries.setdefault(tag, []).append(value)
        if tag == 0:
            break
    if _STRTAB not in entries:
        return Binary(path)
    strings = at(entries[_STRTAB][0])

    def text(offset: int) -> str:
        start = strings + offset
        return data[start : data.index(b"\0", start)].decode()

    needed = tuple(text(offset) for offset in entries.get(_NEEDED, []))
    versions = []
    if _VERNEED in entries:
        place = at(entries[_VERNEED][0])
        for _ in range(entries[_VERNEEDNUM][0]):
            _, count, _, aux, following = struct.unpack_from("<HHIII", data, place)
            spot = place + aux
            for _ in range(count):
                _, _, _, name, more = struct.unpack_from("<IHHII", data, spot)
                versions.append(text(name))
                spot += more
            place += following
    glibc = [
        tuple(int(part) for part in version.removeprefix("GLIBC_").split(".")[:2])
        for version in versions
        if version.startswith("GLIBC_2.")
    ]
    return Binary(path, glibc=max(glibc, default=None), needed=needed)


def _macos(data: bytes) -> tuple[int, int]:
    (count,) = struct.unpack_from("<I", data, 16)
    place = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        if command in (_LC_BUILD_VERSION, _LC_VERSION_MIN_MACOSX):
            offset = 12 if command == _LC_BUILD_VERSION else 8
            (version,) = struct.unpack_from("<I", data, place + offset)
            return version >> 16, version >> 8 & 0xFF
        place += size
    raise PackError("the program does not say which macOS it was linked for")


def wheel_tags(binary: Binary, machine: str) -> list[str]:
    """The platforms of a wheel with this program, in the words of PEP 600, 656 and macOS."""
    if binary.macos is not None:
        major, minor = binary.macos
        # Since macOS 11 only the first number counts, and installers ask for `_0`.
        minor = 0 if major >= 11 else minor
        return [f"macosx_{major}_{minor}_{'arm64' if machine == 'aarch64' else machine}"]
    if binary.is_static:
        return [f"manylinux_2_17_{machine}", f"musllinux_1_1_{machine}"]
    foreign = [name for name in binary.needed if not name.startswith(_GLIBC_LIBRARIES)]
    if foreign:
        raise PackError(f"not every Linux has the libraries that it needs: {', '.join(foreign)}")
    major, minor = max(binary.glibc or (2, 17), (2, 17))
    return [f"manylinux_{major}_{minor}_{machine}"]
