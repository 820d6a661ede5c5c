"""Which files a reply names, and that their `stat` is from before the read."""

from __future__ import annotations

import os
import py_compile
import time
from pathlib import Path


def paths(reply) -> list[str]:
    """The names of the files that were read."""
    return sorted(os.path.basename(record[0]) for record in reply.get("files", []) if record[1])


def absences(reply) -> set[str]:
    """The names of what was looked for and not there."""
    return {os.path.basename(record[0]) for record in reply.get("files", []) if not any(record[1:])}


def test_each_file_once_with_its_stat(host, write):
    top = write("top", "import json, helper\ndef f(): return 1\ndef lazy(): import later")
    write("helper", "import pkg.sub")
    write("pkg/__init__", "")
    write("pkg/sub", "")
    write("later", "")
    write("venv/lib/python3/site-packages/dep", "")
    reply = host.reply("top:f")
    assert paths(reply) == ["__init__.py", "helper.py", "sub.py", "top.py"]
    found = os.stat(top)
    record = next(record for record in reply["files"] if record[0] == str(top))
    assert record[1:] == [
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    ]
    assert "files" not in host.reply("top:f")
    assert paths(host.reply("top:lazy")) == ["later.py"]


def test_installed_packages_are_not_named(start, tmp_path, write):
    write("venv/site-packages/dep", "import own\ndef f(): return 1")
    write("own", "")
    worker = start("--path", str(tmp_path / "venv" / "site-packages"))
    assert paths(worker.reply("dep:f")) == ["own.py"]


def test_errors_carry_files_too(host, write):
    write("bad", "import helper\n1/0")
    write("helper", "")
    write("syntax", "def (")
    reply = host.reply("bad:f")
    assert "error" in reply
    assert paths(reply) == ["bad.py", "helper.py"]
    assert paths(host.reply("syntax:f")) == ["syntax.py"]
    host.send({"id": 0, "method": "describe", "params": {"module": "bad"}})
    assert paths(host.read()) == ["bad.py"]


def test_what_was_not_there_is_named(start, tmp_path, write):
    """A module that appears later could be imported instead, or at last."""
    write("src/m", "try: import optional\nexcept ImportError: pass\ndef f(): return 1")
    assert absences(start().reply("m:f")) == {"m", "m.py", "optional", "optional.py"}
    (tmp_path / "m").mkdir()
    assert absences(start().reply("m:f")) == {"m.py", "optional", "optional.py"}
    write("pkg/__init__", "")
    write("pkg/part", "def f():\n  try: from pkg import later\n  except ImportError: return 0")
    assert {"later.py", "later"} <= absences(start().reply("pkg.part:f"))


def test_reload_is_reported_again(host, write):
    path = write("m", "def f(): import importlib, m; importlib.reload(m); return 1")
    host.reply("m:nothing")
    path.write_text(path.read_text() + "\n# longer\n")
    reply = host.reply("m:f")
    assert paths(reply) == ["m.py"]
    assert reply["files"][0][3] == path.stat().st_size


def test_stat_is_taken_before_the_read(host, write):
    # The module changes its own file while it is being imported.
    path = write(
        "m",
        """
        import os
        size = os.stat(__file__).st_size
        with open(__file__, "a") as file: file.write("# more\\n")
        def f(): return size
        """,
    )
    reply = host.reply("m:f")
    assert reply["files"][0][3] == reply["result"]
    assert path.stat().st_size > reply["result"]


def test_bytecode_without_source_is_named(host, write):
    import py_compile

    path = write("m", "def f(): return 1")
    py_compile.compile(str(path), cfile=str(path.with_suffix(".pyc")))
    path.unlink()
    assert paths(host.reply("m:f")) == ["m.pyc"]


def test_cached_bytecode_is_named_by_its_source(start, write):
    write("m", "def f(): return 1")
    for _ in range(2):
        assert paths(start().reply("m:f")) == ["m.py"]


def test_bytecode_of_an_edit_in_the_same_second_is_not_believed(start, write):
    """Same size, same time stamp: Python itself would run the old code."""
    path = write("m", "def f(): return 'old'")
    found = path.stat()
    py_compile.compile(str(path), doraise=True)
    path.write_text("def f(): return 'new'")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_size == found.st_size
    assert start().reply("m:f")["result"] == "new"


def test_settled_sources_keep_their_bytecode(start, write):
    """Only what may be wrong is compiled again: a start must not get slower for good."""
    path = write("m", "def f(): return __cached__")
    cached = Path(start().reply("m:f")["result"])
    assert not cached.exists(), "the source has only just changed"
    wait_until(lambda: time.time_ns() - path.stat().st_ctime_ns > 2_100_000_000)
    start().reply("m:f")
    first = cached.stat()
    start().reply("m:f")
    again = cached.stat()
    assert (again.st_ino, again.st_mtime_ns) == (first.st_ino, first.st_mtime_ns)


def wait_until(condition) -> None:
    while not condition():
        time.sleep(0.05)
