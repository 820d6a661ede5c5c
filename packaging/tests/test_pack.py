"""Packages are made of a small program of this machine, and looked at by whoever reads them."""

import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parent.parent
sys.path.insert(0, str(PACKAGING))

import archives  # noqa: E402
import binaries  # noqa: E402
import formats  # noqa: E402
import sbom  # noqa: E402

LINUX = "x86_64-unknown-linux-gnu"


def pack(out, *pairs, version="1.2.3"):
    """Run the program that packs, as `cargo xtask dist` does."""
    shared = out.parent / "shared"
    page = shared / "man/man1/pillion.1"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(".TH pillion 1\n")
    completions = shared / "zsh/site-functions/_pillion"
    completions.parent.mkdir(parents=True, exist_ok=True)
    completions.write_text("#compdef pillion\n")
    words = [word for pair in pairs for word in ("--binary", pair)]
    words += ["--version", version, "--shared", str(shared), "--out", str(out)]
    return subprocess.run(
        [sys.executable, str(PACKAGING / "pack.py"), *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        check=False,
    )


@pytest.fixture(scope="module")
def program():
    """A real program for Linux that is there everywhere."""
    found = shutil.which("true")
    assert found is not None
    return Path(found).resolve()


@pytest.fixture(scope="module")
def packed(tmp_path_factory, program):
    out = tmp_path_factory.mktemp("packed") / "dist"
    done = pack(out, f"{LINUX}={program}")
    assert done.returncode == 0, done.stderr
    return out


def only(folder, pattern):
    (found,) = folder.glob(pattern)
    return found


def test_the_same_input_gives_the_same_bytes(packed, program, tmp_path):
    again = tmp_path / "dist"
    assert pack(again, f"{LINUX}={program}").returncode == 0
    names = sorted(path.name for path in packed.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    for name in names:
        assert (packed / name).read_bytes() == (again / name).read_bytes(), name


def test_one_file_has_the_checksums_of_all(packed, tmp_path):
    folder = shutil.copytree(packed, tmp_path / "dist")
    command = [sys.executable, str(PACKAGING / "sums.py"), str(folder)]
    for _ in range(2):
        subprocess.run(command, check=True, timeout=60)
    sums = dict(line.split()[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert len(sums) == 5
    for path in packed.iterdir():
        assert sums[path.name] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_wheel_installs_the_program_and_its_pages(packed, program, tmp_path):
    wheel = only(packed, "*.whl")
    major, minor = max(binaries.read(program).glibc, (2, 17))
    assert wheel.name == f"pillion-1.2.3-py3-none-manylinux_{major}_{minor}_x86_64.whl"
    home = tmp_path / "venv"
    venv.create(home)
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin/python")]
    install = ["install", "--no-index", "--quiet", str(wheel)]
    subprocess.run([*pip, *install], check=True, timeout=120)
    assert (home / "bin/pillion").read_bytes() == program.read_bytes()
    subprocess.run([str(home / "bin/pillion")], check=True, timeout=20)
    assert (home / "share/man/man1/pillion.1").is_file()


def test_the_record_of_the_wheel_is_true(packed):
    with zipfile.ZipFile(only(packed, "*.whl")) as wheel:
        names = wheel.namelist()
        record = wheel.read("pillion-1.2.3.dist-info/RECORD").decode().splitlines()
        assert [line.split(",")[0] for line in record] == names
        for line in record[:-1]:
            name, digest, size = line.split(",")
            data = wheel.read(name)
            assert (digest, size) == (f"sha256={formats._urlsafe(data)}", str(len(data)))
        mode = wheel.getinfo("pillion-1.2.3.data/scripts/pillion").external_attr >> 16
        assert mode & 0o111 == 0o111


def test_the_debian_package_is_one(packed, program, tmp_path):
    package = only(packed, "*.deb")
    assert package.name == "pillion_1.2.3_amd64.deb"
    members = unpacked_ar(package.read_bytes())
    assert list(members) == ["debian-binary", "control.tar.gz", "data.tar.gz"]
    with tarfile.open(fileobj=io.BytesIO(members["control.tar.gz"])) as about:
        control = about.extractfile("./control").read().decode()
    assert "Depends: libc6 (>= 2." in control
    with tarfile.open(fileobj=io.BytesIO(members["data.tar.gz"])) as data:
        assert data.extractfile("./usr/bin/pillion").read() == program.read_bytes()
        assert data.getmember("./usr/bin/pillion").mode == 0o755
        assert data.getmember("./usr/share/man/man1/pillion.1.gz").size > 0
        assert data.getmember("./usr/share").isdir()
        # Where Debian's zsh looks; elsewhere it is another folder.
        assert data.getmember("./usr/share/zsh/vendor-completions/_pillion").size > 0
        assert "./usr/share/zsh/site-functions" not in data.getnames()
    if shutil.which("dpkg-deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(tmp_path)], check=True, timeout=60)
        subprocess.run([str(tmp_path / "usr/bin/pillion")], check=True, timeout=20)


def unpacked_ar(data):
    assert data[:8] == b"!<arch>\n"
    members, place = {}, 8
    while place < len(data):
        name, size = data[place : place + 16].decode().strip(), int(data[place + 48 : place + 58])
        members[name] = data[place + 60 : place + 60 + size]
        place += 60 + size + size % 2
    return members


def test_npm_has_a_package_for_the_platform_and_one_that_names_it(packed, program):
    with tarfile.open(only(packed, "pillion-linux-x64-*.tgz")) as platform:
        about = json.load(platform.extractfile("package/package.json"))
        assert platform.extractfile("package/bin/pillion").read() == program.read_bytes()
        assert platform.getmember("package/bin/pillion").mode == 0o755
    assert about["name"] == "@pillion/linux-x64"
    assert (about["os"], about["cpu"], about["libc"]) == (["linux"], ["x64"], ["glibc"])
    with tarfile.open(packed / "pillion-1.2.3.tgz") as main:
        about = json.load(main.extractfile("package/package.json"))
        assert main.getmember("package/pillion.js").mode == 0o755
    assert about["optionalDependencies"] == {"@pillion/linux-x64": "1.2.3"}
    assert "scripts" not in about


def test_the_archive_has_all_of_it_in_one_folder(packed):
    with tarfile.open(only(packed, "*.tar.gz")) as archive:
        names = set(archive.getnames())
    folder = f"pillion-1.2.3-{LINUX}"
    inside = {"bin/pillion", "share/man/man1/pillion.1", "LICENSE-MIT", "LICENSE-APACHE"}
    inside.add("share/zsh/site-functions/_pillion")
    assert {f"{folder}/{name}" for name in inside | {"README.md"}} == names


def test_what_cannot_be_packed_is_refused(tmp_path, program):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    for pair, words in [
        (f"{LINUX}={script}", "neither a program for Linux nor one for macOS"),
        (f"sparc-sun-solaris={program}", "is not one of x86_64-unknown-linux-gnu"),
        (f"{LINUX}={tmp_path / 'missing'}", "No such file"),
    ]:
        done = pack(tmp_path / "dist", pair)
        assert done.returncode == 1
        assert words in done.stderr


@pytest.mark.parametrize(
    ("binary", "tags"),
    [
        (binaries.Binary(Path(), glibc=(2, 28), needed=("libc.so.6",)), ["manylinux_2_28_x86_64"]),
        (binaries.Binary(Path(), glibc=(2, 4), needed=("libc.so.6",)), ["manylinux_2_17_x86_64"]),
        (binaries.Binary(Path()), ["manylinux_2_17_x86_64", "musllinux_1_1_x86_64"]),
        (binaries.Binary(Path(), macos=(10, 12)), ["macosx_10_12_x86_64"]),
        (binaries.Binary(Path(), macos=(11, 3)), ["macosx_11_0_x86_64"]),
    ],
)
def test_a_wheel_promises_what_its_program_keeps(binary, tags):
    assert binaries.wheel_tags(binary, "x86_64") == tags


def test_a_wheel_needs_no_library_that_others_lack():
    binary = binaries.Binary(Path(), glibc=(2, 28), needed=("libc.so.6", "libssl.so.3"))
    with pytest.raises(binaries.PackError, match=r"libssl\.so\.3"):
        binaries.wheel_tags(binary, "x86_64")


@pytest.mark.parametrize(("command", "offset"), [(0x32, 12), (0x24, 8)])
def test_a_program_for_macos_says_which(tmp_path, command, offset):
    load = bytearray(struct.pack("<II", command, 24) + bytes(16))
    struct.pack_into("<I", load, offset, 11 << 16 | 2 << 8)
    other = struct.pack("<II", 0x19, 16) + bytes(8)
    header = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x0100000C, 0, 2, 2, 40, 0, 0)
    program = tmp_path / "program"
    program.write_bytes(header + other + load)
    assert binaries.read(program).macos == (11, 2)
    assert binaries.wheel_tags(binaries.read(program), "aarch64") == ["macosx_11_0_arm64"]


@pytest.mark.parametrize(
    ("cargo", "python"), [("0.1.0", "0.1.0"), ("0.2.0-rc.1", "0.2.0rc1"), ("1.0.0-beta", "1.0.0b")]
)
def test_versions_are_written_as_python_writes_them(cargo, python):
    assert formats.pep440(cargo) == python


def test_a_bill_has_what_is_linked_and_nothing_else():
    def package(name, kind="lib", licence="MIT/Apache-2.0"):
        targets = [{"kind": [kind]}]
        return {
            "id": name,
            "name": name,
            "version": "1.0.0",
            "license": licence,
            "targets": targets,
        }

    def node(name, **needs):
        kinds = {"linked": None, "dev": "dev", "build": "build"}
        deps = [
            {"pkg": other, "dep_kinds": [{"kind": kinds[kind]}]} for other, kind in needs.items()
        ]
        return {"id": name, "deps": deps}

    metadata = {
        "packages": [
            *map(package, ("pillion", "serde", "itoa", "cc", "insta")),
            package("derive", "proc-macro"),
        ],
        "workspace_members": ["pillion"],
        "resolve": {
            "nodes": [
                node("pillion", serde="linked", cc="build", insta="dev"),
                node("serde", itoa="linked", derive="linked"),
                *map(node, ("itoa", "cc", "insta", "derive")),
            ]
        },
    }
    lock = '[[package]]\nname = "itoa"\nversion = "1.0.0"\nchecksum = "ab"\n'
    bill = sbom.bill(metadata, sbom.checksums(lock))
    assert [part["name"] for part in bill["components"]] == ["itoa", "serde"]
    assert bill["components"][0]["hashes"] == [{"alg": "SHA-256", "content": "ab"}]
    assert bill["components"][0]["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert bill["metadata"]["component"]["name"] == "pillion"
    depends = {part["ref"]: part["dependsOn"] for part in bill["dependencies"]}
    assert depends["pkg:cargo/pillion@1.0.0"] == ["pkg:cargo/serde@1.0.0"]


def test_an_archive_forgets_who_made_it():
    entries = [archives.Entry("b", b"2"), archives.Entry("a", b"1", archives.EXECUTABLE)]
    with tarfile.open(fileobj=io.BytesIO(archives.tar(entries, 5))) as archive:
        found = [(m.name, m.mode, m.uid, m.mtime) for m in archive.getmembers()]
    assert found == [("a", 0o755, 0, 5), ("b", 0o644, 0, 5)]
