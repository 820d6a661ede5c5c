"""The launch of a desktop app's engine: which program, with which words, in whose place."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pillion import desktop

TREE = Path(__file__).resolve().parents[1] / "desktop"
TARGET = "app.server.main:app"
DEADLINE = 45.0


def program(path: Path, body: str) -> Path:
    """A stand-in for pillion that says who it is and how it was called."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$$ $*"\n{body}\n')
    path.chmod(0o755)
    return path


def start(words: list[str], pillion: Path, **more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(TREE), "PILLION_BIN": str(pillion), **more}
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=pillion.parent,
    )


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        ([], {}, []),
        (
            [TARGET, "--host", "0.0.0.0", "--log-level", "info", "--port=81"],
            {},
            ["--host", "0.0.0.0", "--port", "81"],
        ),
        ([TARGET, "--port", "1", "--port", "2"], {}, ["--port", "2"]),
        ([TARGET], {"UVICORN_PORT": "7", "UVICORN_HOST": ""}, ["--port", "7"]),
        ([TARGET, "--port", "8"], {"UVICORN_PORT": "7"}, ["--port", "8"]),
        ([TARGET, "--port"], {}, []),
    ],
)
def test_the_address_is_read_from_uvicorns_command_line(words, environment, expected):
    assert desktop.options(words, environment) == expected


def test_only_uvicorns_command_line_is_taken_for_it():
    for argv in [
        ["/x/uvicorn/__main__.py", TARGET],
        ["/venv/bin/uvicorn", "--reload", TARGET],
    ]:
        assert desktop.is_uvicorn(argv)
    for argv in [
        [],
        ["/venv/bin/pytest", TARGET],
        ["/x/pytest/__main__.py", TARGET],
        ["/venv/bin/uvicorn", "other.main:app"],
        ["/venv/bin/uvicorn"],
    ]:
        assert not desktop.is_uvicorn(argv)


def test_the_program_is_the_named_one_else_the_bundles_else_that_on_the_path(tmp_path, monkeypatch):
    on_path = program(tmp_path / "path/pillion", "exit")
    named = program(tmp_path / "named", "exit")
    environment = {"PATH": str(on_path.parent)}
    package = tmp_path / "bundle/python/pillion/desktop.py"
    monkeypatch.setattr(desktop, "__file__", str(package))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    assert desktop.find({**environment, "PILLION_BIN": str(named)}) == str(named)
    assert desktop.find({**environment, "PILLION_BIN": ""}) == str(on_path)
    bundled = program(tmp_path / "bundle/bin/pillion", "exit")
    assert desktop.find(environment) == str(bundled)
    bundled.unlink()
    with pytest.raises(desktop.NotFoundHereError):
        desktop.find({"PATH": ""})
    with pytest.raises(desktop.NotFoundHereError, match="PILLION_BIN"):
        desktop.find({**environment, "PILLION_BIN": str(tmp_path / "none")})


@pytest.mark.parametrize(
    "words",
    [
        ["uvicorn", TARGET, "--host", "127.0.0.1", "--port", "8123"],
        ["pillion.desktop", "--host", "127.0.0.1", "--port=8123"],
    ],
)
def test_the_process_becomes_pillion(tmp_path, words):
    # A shell that waits for its child would not end before it does.
    pillion = program(tmp_path / "pillion", "exec sleep 300")
    package = str(TREE.parent)
    child = start(words, pillion, PYTHONPATH=os.pathsep.join([str(TREE), package]))
    try:
        line = child.stdout.readline()
        assert line == f"{child.pid} serve --desktop --host 127.0.0.1 --port 8123\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(DEADLINE) == -signal.SIGTERM
    finally:
        child.kill()
        child.communicate()


def test_the_process_of_a_real_uvicorn_becomes_pillion(tmp_path):
    pillion = program(tmp_path / "pillion", "exec sleep 300")
    shutil.copytree(TREE / "app", tmp_path / "app")
    words = ["uvicorn", TARGET, "--host", "127.0.0.1", "--port", "8123"]
    child = start(words, pillion, PYTHONPATH=str(TREE.parent))
    try:
        line = child.stdout.readline()
        assert line == f"{child.pid} serve --desktop --host 127.0.0.1 --port 8123\n"
        # Not SIGINT: whoever runs tests in the background has their children ignore that.
        child.send_signal(signal.SIGTERM)
        assert child.wait(DEADLINE) == -signal.SIGTERM
    finally:
        child.kill()
        child.communicate()


def test_the_exit_code_is_pillions(tmp_path):
    child = start(["uvicorn", TARGET], program(tmp_path / "pillion", "exit 7"))
    said, _ = child.communicate(timeout=DEADLINE)
    assert (child.returncode, said) == (7, f"{child.pid} serve --desktop\n")


def test_a_missing_program_is_told(tmp_path):
    child = start(["uvicorn", TARGET], tmp_path / "none")
    said, complaint = child.communicate(timeout=DEADLINE)
    assert (child.returncode, said) == (1, "")
    assert complaint.startswith("error: PILLION_BIN names")
    assert "hint: " in complaint


def test_the_stub_serves_nothing_else(tmp_path):
    pillion = program(tmp_path / "pillion", "exit 7")
    child = start(["uvicorn", "other.main:app"], pillion)
    said, complaint = child.communicate(timeout=DEADLINE)
    assert (child.returncode, said) == (2, "")
    assert "app.server.main:app" in complaint


def test_importing_it_changes_nothing(monkeypatch):
    monkeypatch.syspath_prepend(str(TREE))
    for name in [name for name in sys.modules if name.partition(".")[0] == "app"]:
        monkeypatch.delitem(sys.modules, name)
    from app.server.main import app

    with pytest.raises(RuntimeError, match=r"pillion\.desktop"):
        asyncio.run(app({"type": "http"}, None, None))


def test_where_no_process_becomes_another_its_end_is_passed_on(tmp_path):
    pillion = program(tmp_path / "pillion", "exit 7")
    code = f"from pillion import desktop; desktop.run_beside([{str(pillion)!r}])"
    environment = {**os.environ, "PYTHONPATH": str(TREE.parent)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, timeout=DEADLINE)
    assert ended.returncode == 7
