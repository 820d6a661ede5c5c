"""The packages that a program goes into. Each is a function from what is shipped to bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import archives
import binaries
from archives import EXECUTABLE, Entry
from binaries import Binary, PackError

HERE = Path(__file__).parent
SUMMARY = "Python, already running: warm, supervised and in step with your files"


@dataclass(frozen=True)
class Target:
    """A platform, as each kind of package calls it."""

    triple: str
    machine: str
    npm: str
    debian: str | None = None


TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", "x86_64", "linux-x64", "amd64"),
        Target("aarch64-unknown-linux-gnu", "aarch64", "linux-arm64", "arm64"),
        Target("x86_64-unknown-linux-musl", "x86_64", "linux-x64-musl"),
        Target("aarch64-unknown-linux-musl", "aarch64", "linux-arm64-musl"),
        Target("x86_64-apple-darwin", "x86_64", "darwin-x64"),
        Target("aarch64-apple-darwin", "aarch64", "darwin-arm64"),
    )
}


@dataclass(frozen=True)
class Release:
    """What is shipped for one platform."""

    version: str
    target: Target
    binary: Binary
    #: Completions and pages, where systems look for them: `share/man/man1/pillion.1`.
    shared: tuple[tuple[str, bytes], ...]
    #: `LICENSE-MIT`, `LICENSE-APACHE` and `README.md`.
    texts: tuple[tuple[str, bytes], ...]
    #: Seconds since 1970: the time of everything in every package.
    epoch: int

    @property
    def program(self) -> bytes:
        """The bytes of the program."""
        return self.binary.path.read_bytes()

    @property
    def licences(self) -> list[tuple[str, bytes]]:
        """The texts of both licences."""
        return [(name, data) for name, data in self.texts if name.startswith("LICENSE")]


def archive(release: Release) -> tuple[str, bytes]:
    """A folder to unpack anywhere: `bin/pillion` with `share` beside it."""
    name = f"pillion-{release.version}-{release.target.triple}"
    entries = [Entry(f"{name}/bin/pillion", release.program, EXECUTABLE)]
    entries += [Entry(f"{name}/{path}", data) for path, data in (*release.shared, *release.texts)]
    return f"{name}.tar.gz", archives.tar(entries, release.epoch)


def wheel(release: Release) -> tuple[str, bytes]:
    """A wheel with the program as a script, for every Python: it has no module."""
    version = pep440(release.version)
    tags = binaries.wheel_tags(release.binary, release.target.machine)
    stem = f"pillion-{version}"
    info = f"{stem}.dist-info"
    readme = dict(release.texts)["README.md"].decode()
    metadata = (
        "Metadata-Version: 2.4\n"
        "Name: pillion\n"
        f"Version: {version}\n"
        f"Summary: {SUMMARY}\n"
        "License-Expression: MIT OR Apache-2.0\n"
        + "".join(f"License-File: {name}\n" for name, _ in release.licences)
        + "Requires-Python: >=3.10\n"
        "Description-Content-Type: text/markdown\n\n"
    ) + readme
    described = "Wheel-Version: 1.0\nGenerator: pillion\nRoot-Is-Purelib: false\n"
    described += "".join(f"Tag: py3-none-{tag}\n" for tag in tags)
    entries = [Entry(f"{stem}.data/scripts/pillion", release.program, EXECUTABLE)]
    entries += [Entry(f"{stem}.data/data/{path}", data) for path, data in release.shared]
    entries += [Entry(f"{info}/licenses/{name}", data) for name, data in release.licences]
    entries.append(Entry(f"{info}/METADATA", metadata.encode()))
    entries.append(Entry(f"{info}/WHEEL", described.encode()))
    record = "".join(f"{e.name},sha256={_urlsafe(e.data)},{len(e.data)}\n" for e in entries)
    record += f"{info}/RECORD,,\n"
    entries.append(Entry(f"{info}/RECORD", record.encode()))
    return f"{stem}-py3-none-{'.'.join(tags)}.whl", archives.zipped(entries, release.epoch)


def _urlsafe(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def pep440(version: str) -> str:
    """A version as Python writes it: `0.2.0-rc.1` is `0.2.0rc1`."""
    release, _, pre = version.partition("-")
    word, _, number = pre.partition(".")
    short = {"": "", "alpha": "a", "beta": "b", "rc": "rc"}.get(word)
    if short is None or "+" in version:
        raise PackError(f"Python has no way to write the version `{version}`")
    return release + short + number


def npm_platform(release: Release) -> tuple[str, bytes]:
    """The npm package with the program of one platform."""
    system, machine, *libc = release.target.npm.split("-")
    package = {
        "name": f"@pillion/{release.target.npm}",
        "version": release.version,
        "description": f"The pillion program for {release.target.triple}",
        "license": "MIT OR Apache-2.0",
        "preferUnplugged": True,
        "os": [system],
        "cpu": [machine],
    }
    if system == "linux":
        # A static program runs beside any C library.
        package["libc"] = libc or ["glibc"]
    entries = [Entry("bin/pillion", release.program, EXECUTABLE)]
    entries += [Entry(path, data) for path, data in (*release.shared, *release.licences)]
    name = f"pillion-{release.target.npm}-{release.version}.tgz"
    return name, _npm(package, entries, release.epoch)


def npm_main(
    version: str, platforms: list[str], licences: list[tuple[str, bytes]], epoch: int
) -> tuple[str, bytes]:
    """The npm package that people name, which starts the program of their platform."""
    package = json.loads((HERE / "npm/package.json").read_text())
    package = {"name": package.pop("name"), "version": version, **package}
    package["optionalDependencies"] = {f"@pillion/{name}": version for name in sorted(platforms)}
    entries = [Entry("pillion.js", (HERE / "npm/pillion.js").read_bytes(), EXECUTABLE)]
    entries.append(Entry("README.md", (HERE / "npm/README.md").read_bytes()))
    entries += [Entry(name, data) for name, data in licences]
    return f"pillion-{version}.tgz", _npm(package, entries, epoch)


def _npm(package: dict[str, object], entries: list[Entry], epoch: int) -> bytes:
    text = json.dumps(package, indent=2) + "\n"
    entries = [Entry("package.json", text.encode()), *entries]
    return archives.tar([Entry(f"package/{e.name}", e.data, e.mode) for e in entries], epoch)


def debian(release: Release) -> tuple[str, bytes] | None:
    """A package for Debian and its children; none for what is not theirs."""
    architecture = release.target.debian
    if architecture is None:
        return None
    # As Debian sorts them, a pre-release comes before the release only with a tilde.
    version = release.version.replace("-", "~", 1)
    entries = [Entry("./usr/bin/pillion", release.program, EXECUTABLE)]
    for path, data in release.shared:
        if path.startswith("share/man/"):
            entries.append(Entry(f"./usr/{path}.gz", archives.compressed(data)))
        else:
            # Debian's zsh looks for what packages bring in a folder of its own.
            place = path.replace("zsh/site-functions/", "zsh/vendor-completions/")
            entries.append(Entry(f"./usr/{place}", data))
    copyright_ = b"Files: *\nLicense: MIT OR Apache-2.0\n"
    for name, data in release.licences:
        copyright_ += f"\n{name}\n\n".encode() + data
    entries.append(Entry("./usr/share/doc/pillion/copyright", copyright_))
    needs = ["libgcc-s1"] if any("libgcc" in name for name in release.binary.needed) else []
    if release.binary.glibc is not None:
        major, minor = release.binary.glibc
        needs.insert(0, f"libc6 (>= {major}.{minor})")
    control = (
        "Package: pillion\n"
        f"Version: {version}\n"
        f"Architecture: {architecture}\n"
        "Maintainer: The pillion authors <pillion@localhost>\n"
        f"Installed-Size: {sum(len(entry.data) for entry in entries) // 1024}\n"
        + (f"Depends: {', '.join(needs)}\n" if needs else "")
        + "Recommends: python3 (>= 3.10), python3-venv\n"
        "Suggests: git\n"
        "Section: devel\n"
        "Priority: optional\n"
        f"Description: {SUMMARY}\n"
        " One program that keeps Python running for other programs: calls, questions\n"
        " about code, confined runs and notebooks, from any language and any agent.\n"
    )
    sums = "".join(
        f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {entry.name[2:]}\n"
        for entry in sorted(entries, key=lambda entry: entry.name)
    )
    about = [Entry("./control", control.encode()), Entry("./md5sums", sums.encode())]
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", archives.tar(about, release.epoch, folders=True)),
        ("data.tar.gz", archives.tar(entries, release.epoch, folders=True)),
    ]
    return f"pillion_{version}_{architecture}.deb", archives.ar(members, release.epoch)
