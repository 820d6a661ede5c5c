"""User code that prints, exits, forks, closes descriptors or fails in odd ways."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys

import pytest
from conftest import DEADLINE, PYTHON_DIR, Host


def test_output_of_user_code_goes_to_stderr(host, write):
    write(
        "m",
        """
        import ctypes, os, subprocess, sys
        print("at import")
        def f():
            print("printed", "\\ud800", "\\u00e9")
            sys.stdout.write("written\\n")
            os.write(1, b"os.write\\n")
            ctypes.CDLL(None).write(1, b"libc\\n", 5)
            os.system("echo shell")
            subprocess.run(["echo", "child"])
            sys.__stdout__.write("dunder\\n")
            return sys.stdin.read()
        """,
    )
    assert host.result("m:f") == ""
    assert host.finish() == 0
    for text in ("at import", "printed \\ud800 \u00e9", "written", "os.write", "libc", "shell"):
        assert text in host.stderr()
    assert "child" in host.stderr()
    assert "dunder" in host.stderr()


def test_user_code_may_ruin_its_own_streams(host, write):
    write(
        "m",
        """
        import os, sys
        def close(): os.close(1); os.close(2); os.close(0)
        def replace(): sys.stdout = sys.stderr = sys.stdin = None
        def one(): return 1
        """,
    )
    host.result("m:close")
    host.result("m:replace")
    assert host.result("m:one") == 1
    assert host.finish() == 0


@pytest.mark.parametrize("mode", ["control-fd", "in-band"])
def test_exceptions_become_errors(start, write, mode):
    host = start(control=mode == "control-fd")
    path = write(
        "m",
        """
        import sys
        def boom(kind):
            raise {"v": ValueError("no"), "e": SystemExit(3), "k": KeyboardInterrupt(),
                   "g": GeneratorExit(), "s": StopIteration(1), "m": MemoryError()}[kind]
        async def aboom(kind): boom(kind)
        def deep(n=0): return deep(n + 1)
        class Odd(Exception):
            def __str__(self): raise RuntimeError("never")
        def odd(): raise Odd
        def chained():
            try: boom("v")
            except ValueError as error: raise KeyError("outer") from error
        def long(): raise ValueError("x" * 100_000 + "\\udc80")
        """,
    )
    error = host.error("m:boom", ["v"])
    assert (error["code"], error["type"], error["message"]) == (
        "exception",
        "ValueError",
        "ValueError: no",
    )
    data = error["data"]
    assert (data["type"], data["module"]) == ("ValueError", "builtins")
    assert [frame["function"] for frame in data["traceback"]] == ["boom"]
    assert data["traceback"][0]["file"] == str(path)
    assert data["text"].startswith("Traceback (most recent call last):\n")
    assert "pillion" not in data["text"]
    for kind, name in [("e", "SystemExit"), ("k", "KeyboardInterrupt"), ("g", "GeneratorExit")]:
        for function in ("m:boom", "m:aboom"):
            error = host.error(function, [kind])
            assert (error["code"], error["type"]) == ("exception", name), function
    assert host.error("m:boom", ["s"])["type"] == "StopIteration"
    assert host.error("m:boom", ["m"])["code"] == "memory"
    error = host.error("m:deep")
    assert error["type"] == "RecursionError"
    assert len(error["data"]["traceback"]) == 50
    assert len(error["data"]["text"].encode()) <= 16 * 1024
    assert host.error("m:odd")["message"].startswith("Odd")
    text = host.error("m:chained")["data"]["text"]
    assert "ValueError: no" in text
    assert text.rstrip().endswith("KeyError: 'outer'")
    error = host.error("m:long")
    assert len(error["message"]) < 10_000
    assert len(error["data"]["text"]) <= 16 * 1024


def test_syntax_error_names_the_place(host, write):
    path = write("m", "x = 1\ndef f(:\n  pass")
    error = host.error("m:f")
    assert (error["code"], error["type"]) == ("exception", "SyntaxError")
    assert error["data"]["traceback"][-1]["file"] == str(path)
    assert error["data"]["traceback"][-1]["line"] == 2


def test_memory_error_of_a_real_allocation(host):
    error = host.error("operator:mul", [[0], 2**60])
    assert (error["code"], error["recoverable"]) == ("memory", True)
    assert host.result("math:sqrt", [4]) == 2.0


def test_forked_children_never_answer(host, write):
    write(
        "m",
        """
        import multiprocessing, os, sys, warnings
        warnings.simplefilter("ignore")
        def returns():
            pid = os.fork()
            if pid == 0: return "child"
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        def exits():
            pid = os.fork()
            if pid == 0: sys.exit(7)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        def raises():
            pid = os.fork()
            if pid == 0: raise ValueError
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        def yields():
            pid = os.fork()
            yield pid == 0
            if pid: yield os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        def pool():
            with multiprocessing.get_context("fork").Pool(1) as pool: return pool.map(abs, [-1, -2])
        """,
    )
    assert host.result("m:returns") == 0
    assert host.result("m:exits") == 7
    assert host.result("m:raises") == 1
    host.start("m:yields", stream=True)
    assert [host.read().get("item") for _ in range(3)] == [False, 0, None]
    assert host.result("m:pool") == [1, 2]


def test_a_grandchild_does_not_hold_the_pipes(start, write):
    write(
        "m",
        """
        import os, subprocess, time, warnings
        warnings.simplefilter("ignore")
        def fork():
            pid = os.fork()
            if pid == 0:
                time.sleep(60); os._exit(0)
            return pid
        def spawn(): return subprocess.Popen(["sleep", "60"], close_fds=False).pid
        """,
    )
    for control in (True, False):
        for name in ("fork", "spawn"):
            host = start(control=control)
            pid = host.result(f"m:{name}")
            assert host.finish() == 0
            try:
                readable, _, _ = select.select([host.process.stdout], [], [], DEADLINE)
                assert readable
                assert host.process.stdout.read() == b""
                if host.socket is not None:
                    assert host.socket.recv(1) == b""
            finally:
                os.kill(pid, signal.SIGKILL)


def test_end_of_the_control_socket_ends_the_group(start, write):
    write(
        "m",
        """
        def spin():
            while True: pass
        """,
    )
    host = start()
    host.start("m:spin")
    host.socket.shutdown(socket.SHUT_RDWR)
    assert host.process.wait(DEADLINE) == -signal.SIGKILL


def test_a_host_that_is_gone_ends_the_worker(start, write):
    write("m", "def f(): return 'x' * 1_000_000")
    host = start(control=False)
    host.process.stdout.close()
    host.start("m:f")
    assert host.process.wait(DEADLINE) == 1


def test_large_values_both_ways(host):
    text = "\u00e9\U0001f600\n" * 300_000
    assert host.result("operator:add", [text, "!"]) == text + "!"
    assert host.result("operator:add", ["\ud800", "x"]) == "\ud800x"


def test_usage(tmp_path):
    def run(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, str(PYTHON_DIR), *words], capture_output=True, text=True, cwd=tmp_path
        )
        return done.returncode, done.stdout, done.stderr

    assert run("--help")[0] == 0
    assert run("worker", "--help")[1].startswith("usage:")
    for words in [(), ("nope",), ("worker", "--nope", "1"), ("worker", "--max-line", "x")]:
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
    assert run("worker", "--root")[0] == 2


def test_importing_the_package_is_cheap():
    code = "import sys; before = set(sys.modules); import pillion; print(*set(sys.modules)-before)"
    environment = {**os.environ, "PYTHONPATH": str(PYTHON_DIR)}
    out = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment
    )
    loaded = set(out.stdout.split())
    assert loaded <= {"pillion", "pillion.state", "__future__", "_collections"}


def test_worker_starts_without_heavy_modules(tmp_path):
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(PYTHON_DIR), "worker", "--root", "."],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    heavy = {"json", "re", "inspect", "asyncio", "argparse", "traceback", "typing", "threading"}
    assert "pillion.worker" in loaded
    assert not loaded & (heavy | {"dataclasses", "enum", "signal", "pillion.describe"})


def test_outside_a_worker_the_functions_do_nothing():
    code = "import pillion; pillion.progress(1); print(pillion.cancelled(), pillion.__version__)"
    environment = {**os.environ, "PYTHONPATH": str(PYTHON_DIR)}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert out.stdout.split() == ["False", "0.1.0"]


def test_random_lines_get_one_answer_each(host: Host):
    import random

    chance = random.Random(7)
    pieces = [b'{"id":', b"1", b'"x"', b"}", b",", b'"method":"call"', b'"params":', b"[", b"]"]
    pieces += [b"{", b'"function":"math:sqrt"', b"null", b'"command":"a"', b"\xff", b"\\", b'"']
    for round in range(300):
        line = b"".join(chance.choices(pieces, k=chance.randrange(1, 12)))
        host.send(line + b"\n")
        marker = f"marker {round}"
        host.send({"id": marker, "method": "nope"})
        seen = 0
        while host.read()["id"] != marker:
            seen += 1
        assert seen == 1, line
