"""`serve`: the sidecar contract for old hosts, and the one-shot form."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import PYTHON_DIR

SOURCE = """
import asyncio
import pillion
print("noise at import")

@pillion.method
def greet(name, project): print("noise"); return {"hello": name, "project": project}
@pillion.method(name="say-it")
def say(text="x"): pillion.progress(1); return text
@pillion.method
def fail(kind):
    import concurrent.futures
    if kind == "parse": compile("def (", "input", "exec")
    raise {"file": FileNotFoundError(2, "No such file", "x"), "time": TimeoutError("slow"),
           "atime": asyncio.TimeoutError(), "value": ValueError("v"), "exit": SystemExit(1)}[kind]
@pillion.method
def bad(): return object()
@pillion.method
async def forever(): pillion.progress(1); await asyncio.sleep(60)
def hidden(): return 1
"""


@pytest.fixture
def sidecar(start, write):
    write("m", SOURCE)
    argv = [sys.executable, "-u", "-m", "pillion", "serve", "m", "--sidecar"]
    return start(control=False, argv=argv)


def ask(host, command, args=None, **more):
    host.send({"id": 1, "command": command, "project": "/p", "args": args, **more})
    return host.read()


def test_commands(sidecar):
    assert sidecar.ready["status"] == "ready"
    expected = {"id": 1, "result": {"hello": "Ada", "project": "/p"}}
    assert ask(sidecar, "greet", {"name": "Ada"}) == expected
    given = ask(sidecar, "greet", {"name": "Ada", "project": "own"})
    assert given["result"]["project"] == "own"
    assert ask(sidecar, "say-it") == {"id": 1, "result": "x"}
    for unknown in ("hidden", "nope", ""):
        assert ask(sidecar, unknown)["result"] == {
            "error": "UnknownCommand",
            "message": f"Unknown command: {unknown}",
        }
    sidecar.send(b"{}\n")
    assert sidecar.read()["result"]["error"] == "UnknownCommand"
    assert "noise at import" in sidecar.stderr()


def test_error_codes(sidecar):
    for kind, code, recoverable, name in [
        ("file", "file_not_found", True, "FileNotFoundError"),
        ("parse", "parse_error", True, "SyntaxError"),
        ("time", "timeout", True, "TimeoutError"),
        ("atime", "timeout", True, "TimeoutError"),
        ("value", "internal_error", False, "ValueError"),
        ("exit", "internal_error", False, "SystemExit"),
    ]:
        reply = ask(sidecar, "fail", {"kind": kind})
        assert list(reply) == ["id", "error"]
        error = reply["error"]
        assert set(error) == {"code", "message", "recoverable", "type"}
        assert (error["code"], error["recoverable"], error["type"]) == (code, recoverable, name)
    assert ask(sidecar, "greet", {"nam": 1})["error"]["code"] == "invalid_params"
    assert ask(sidecar, "greet", [1])["error"]["recoverable"] is True
    assert ask(sidecar, 3)["error"]["code"] == "invalid_request"
    assert ask(sidecar, "bad")["error"]["code"] == "invalid_result"
    assert "ValueError: v" in sidecar.stderr()


def test_bad_lines_and_the_last_line(sidecar):
    sidecar.send(b"\n\nnonsense\n")
    reply = sidecar.read()
    assert reply["id"] is None
    assert (reply["error"]["type"], reply["error"]["code"]) == ("InvalidJSON", "invalid_json")
    sidecar.send(b"[]\n")
    assert sidecar.read()["error"]["code"] == "invalid_request"
    sidecar.send(b'{"id":7,"command":"say-it","args":{"text":"last"}}')
    sidecar.process.stdin.close()
    assert sidecar.read() == {"id": 7, "result": "last"}
    assert sidecar.finish() == 0


def test_new_messages_only_for_those_who_send_them(sidecar):
    reply = ask(sidecar, "say-it", progress=True)
    assert reply == {"id": 1, "progress": {"value": 1}}
    assert sidecar.read() == {"id": 1, "result": "x"}
    sidecar.send({"id": 2, "command": "forever", "progress": True})
    sidecar.read()
    sidecar.send({"id": 3, "method": "ping"})
    assert sidecar.read() == {"id": 3, "result": {"pong": True, "busy": 2}}
    sidecar.cancel(2)
    assert sidecar.read()["error"]["code"] == "cancelled"


def test_without_decorators_all_public_functions_are_commands(start, write):
    write("plain", "from os.path import join\ndef a(): return 1\ndef _b(): return 2")
    write("second", "def a(): return 3\ndef c(project): return project")
    argv = [sys.executable, "-m", "pillion", "serve", "plain", "second"]
    host = start(control=False, argv=argv)
    assert ask(host, "a")["result"] == 1
    assert ask(host, "c")["result"] == "/p"
    assert ask(host, "_b")["result"]["error"] == "UnknownCommand"
    assert ask(host, "join")["result"]["error"] == "UnknownCommand"


def once(root, *words):
    environment = {**os.environ, "PYTHONPATH": str(PYTHON_DIR)}
    return subprocess.run(
        [sys.executable, "-m", "pillion", "serve", *words],
        capture_output=True,
        text=True,
        cwd=root,
        env=environment,
    )


def test_one_shot(tmp_path, write):
    write("m", SOURCE)
    args = ["--project", "/p", "--args", '{"name": "Ada"}']
    done = once(tmp_path, "m", "--command", "greet", *args)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"hello": "Ada", "project": "/p"}
    for words, name in [
        (["--command", "fail", "--args", '{"kind":"value"}'], "ValueError"),
        (["--command", "nope"], "UnknownCommand"),
        (["--command", "greet"], "TypeError"),
    ]:
        done = once(tmp_path, "m", *words)
        assert (done.returncode, done.stdout) == (1, "")
        line = json.loads(done.stderr.splitlines()[-1])
        assert line["error"] == name
        assert set(line) == {"error", "message"}
    assert once(tmp_path, "missing_module", "--command", "x").returncode == 1


def test_usage_exits_2(tmp_path):
    for words in ([], ["m", "--args", "{"], ["m", "--args", "[1]"], ["m", "--nope"], ["m", "-x"]):
        done = once(tmp_path, *words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("error: ")
