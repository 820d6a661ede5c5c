"""Files of an order: those it brings, and those it hands back."""

from __future__ import annotations

import os
import sys

import pytest
from lanes import FOLDER, Zygote, run_cold


@pytest.fixture(scope="module")
def zygote():
    made = Zygote(python=sys.executable)
    yield made
    made.close()


@pytest.fixture(params=["slot", "cold"])
def run(request, zygote, tmp_path):
    """Run a program to its end, in a slot and as a cold run."""
    if request.param == "slot":
        return zygote.run
    return lambda program, **more: run_cold(program, tmp_path, **more).done()


# Files in.


def test_files_are_there_before_the_program(run):
    big = bytes(range(256)) * 8192
    files = {"a.txt": b"one", "deep/er/b.bin": big, "empty": b"", "ü.txt": b"u"}
    code = """
import hashlib, os
for root, _, names in sorted(os.walk(".")):
    for name in sorted(names):
        data = open(os.path.join(root, name), "rb").read()
        print(root, name, len(data), hashlib.sha256(data).hexdigest()[:8])
"""
    done = run(code, files=files)
    lines = done.out.splitlines()
    assert [line.rsplit(" ", 1)[0] for line in lines] == [
        ". a.txt 3",
        ". empty 0",
        ". ü.txt 1",
        f"./deep/er b.bin {len(big)}",
    ]


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../x", "a//b", ".", ""])
def test_files_stay_below_the_folder(run, name):
    done = run("print('ran')", files={name: b"x"})
    assert (done.exit, done.out) == (1, "")
    assert done.result["exception"]["type"] == "ValueError"
    assert "is not a name below the folder" in done.err


def test_a_file_replaces_no_link(zygote):
    done = zygote.run("print(1)", files={"a/x": b"1", "a": b"2"})
    assert (done.exit, done.out) == (1, "")
    assert done.result["exception"]["type"] == "IsADirectoryError"


def test_files_that_do_not_fit(zygote):
    done = zygote.run("print('ran')", files={"big": bytes(9 << 20)})
    assert (done.exit, done.out) == (1, "")
    assert done.result["exception"]["limit"] == "disk"
    assert done.err.startswith("OSError: [Errno 28]")


# Files out.


def test_outputs_are_handed_back(zygote):
    code = """
import os
os.makedirs("plots/sub")
open("out.csv", "w").write("1,2")
open("empty", "w")
for n in "ab": open(f"plots/{n}.png", "w").write(n)
open("plots/sub/c.png", "w").write("c")
open("plots/.hidden.png", "w").write("h")
os.chmod("out.csv", 0)
os.chmod("plots", 0)
"""
    patterns = ["out.csv", "plots/*.png", "empty", "out.*", "nosuch", "no/*.txt", "p*/sub/c.png"]
    done = zygote.run(code, outputs=patterns)
    assert done.outputs == {
        "out.csv": b"1,2",
        "plots/a.png": b"a",
        "plots/b.png": b"b",
        "empty": b"",
        "plots/sub/c.png": b"c",
    }
    left = {one["name"]: one["why"] for one in done.report["outputs_left_out"]}
    assert left == {"nosuch": "no such file", "no/*.txt": "no such file"}


def test_outputs_that_are_no_files(zygote):
    code = """
import os, socket
os.symlink("/etc/passwd", "link")
os.symlink("/etc", "folder")
os.mkfifo("fifo")
os.mkdir("dir")
open("ok", "w").write("fine")
os.link("ok", "hard")
open("sparse", "w").truncate(1 << 40)
os.symlink("ok", "dir/inner")
open(b"bad\\xff", "w")
"""
    patterns = ["link", "folder/passwd", "fifo", "dir", "sparse", "hard", "dir/*", "../etc/passwd"]
    patterns += ["/etc/passwd", "a/../b", "b*", "x\0y"]
    done = zygote.run(code, outputs=patterns)
    assert done.exit == 0, done.err
    assert done.outputs == {"hard": b"fine"}
    left = {one["name"]: one["why"] for one in done.report["outputs_left_out"]}
    assert left == {
        "link": "a link",
        "folder/passwd": "no such file",
        "fifo": "not a plain file",
        "dir": "not a plain file",
        "sparse": "too large",
        "dir/inner": "a link",
        "../etc/passwd": "outside of the folder",
        "/etc/passwd": "outside of the folder",
        "a/../b": "outside of the folder",
        "bad\ufffd": "its name is not text",
        "x\0y": "outside of the folder",
    }


def test_outputs_have_bounds(zygote):
    code = "for n in range(5): open(f'f{n}', 'w').write('x' * 10)"
    done = zygote.run(code, outputs=["f*"], outputs_files=2)
    assert list(done.outputs) == ["f0", "f1"]
    assert [one["why"] for one in done.report["outputs_left_out"]] == ["too many files"] * 3
    done = zygote.run(code, outputs=["f*"], outputs_bytes=25)
    assert list(done.outputs) == ["f0", "f1"]
    assert [one["why"] for one in done.report["outputs_left_out"]] == ["too large"] * 3


def test_large_outputs_arrive_whole(zygote):
    data = os.urandom(3 << 20)
    code = "open('o', 'wb').write(open('i', 'rb').read())"
    done = zygote.run(code, files={"i": data}, outputs=["o"], outputs_bytes=4 << 20)
    assert done.outputs["o"] == data


def test_the_folder_of_outputs_is_the_orders(zygote):
    mounts = [{"kind": "proc", "at": "/proc"}, {"kind": "tmpfs", "at": "/tmp"}]
    slot = zygote.slot(mounts=mounts)
    done = slot.order("open('o', 'w').write('x')", outputs=["o"], folder="/tmp").done()
    assert done.outputs == {"o": b"x"}
    assert FOLDER != "/tmp"
