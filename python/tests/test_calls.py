"""Calls, streams, progress, and the lines that are not requests."""

from __future__ import annotations

import json
import os
import sys

import pytest


def test_ready_line(host):
    ready = host.ready
    assert next(iter(ready)) == "status"
    assert ready["status"] == "ready"
    assert ready["protocol"] == 1
    assert ready["version"] == "0.1.0"
    assert ready["pid"] == host.process.pid
    assert ready["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"call", "describe", "stream", "progress", "cancel", "ping", "trim"} <= {
        *ready["features"]
    }


def test_arguments_by_position_by_name_and_none(host, write):
    write("m", "def f(a=1, *, b=2): return [a, b]\ndef g(a, /, *rest): return [a, rest]")
    assert host.result("m:f") == [1, 2]
    assert host.result("m:f", [5]) == [5, 2]
    assert host.result("m:f", {"b": 7, "a": 6}) == [6, 7]
    assert host.result("math:hypot", [3, 4]) == 5.0
    assert host.result("math:sqrt", {"x": 4}) == 2.0  # positional-only, given by name
    assert host.result("m:g", {"a": 1, "rest": [3, 4]}) == [1, [3, 4]]
    assert host.error("m:f", "text")["code"] == "invalid_params"


def test_root_src_and_path_are_importable(start, tmp_path, write):
    write("top", "def f(): return 1")
    write("src/inner", "def f(): return 2")
    write("extra/outer", "def f(): return 3")
    worker = start("--path", str(tmp_path / "extra"))
    assert [worker.result(f"{name}:f") for name in ("top", "inner", "outer")] == [1, 2, 3]


def test_not_found(host, write):
    write(
        "shapes", "def area(): return 1\nsize = 3\nclass K:\n  @staticmethod\n  def s(): return 4"
    )
    write("broken", "import no_such_dependency")
    error = host.error("shapes:aera")
    assert error["code"] == "not_found"
    assert error["hint"] == "did you mean `area`?"
    error = host.error("shape:area")
    assert error["code"] == "not_found"
    assert "`shapes`" in error["hint"]
    assert host.error("shapes:size")["code"] == "not_found"
    assert host.error("nothing")["code"] == "not_found"
    assert host.error("not a name:f")["code"] == "not_found"
    assert host.result("shapes:K.s") == 4
    # A dependency that is missing is the module's own failure.
    error = host.error("broken:f")
    assert (error["code"], error["type"]) == ("exception", "ModuleNotFoundError")
    assert error["data"]["traceback"][-1]["code"] == "import no_such_dependency"


def test_a_module_that_appears_later_is_found(host, write):
    assert host.error("late:f")["code"] == "not_found"
    write("late", "def f(): return 1")
    assert host.result("late:f") == 1


def test_invalid_params(host, write):
    write(
        "m",
        """
        import functools
        def f(width, height=1): return width * height
        def inner_fault(x): return f()
        def raises(x): raise TypeError("f() missing 1 required positional argument: 'x'")
        def deco(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs): return fn(*args, **kwargs)
            return wrapper
        @deco
        def wrapped(x): return x
        def inject(fn):
            @functools.wraps(fn)
            def wrapper(x): return fn("db", x)
            return wrapper
        @inject
        def injected(db, x): return x + None
        """,
    )
    error = host.error("m:f", {"widht": 3})
    assert error["code"] == "invalid_params"
    assert error["hint"] == "did you mean `width` instead of `widht`?"
    assert error["message"].startswith("f(width, height=1)")
    assert host.error("m:f", [1, 2, 3])["code"] == "invalid_params"
    assert host.error("m:wrapped", {"y": 1})["code"] == "invalid_params"
    assert host.error("math:hypot", {"a": 1})["code"] == "invalid_params"
    assert host.error("math:sqrt", [])["code"] == "invalid_params"
    # TypeErrors from inside are never taken for bad arguments.
    for name in ("inner_fault", "raises", "injected"):
        error = host.error(f"m:{name}", [1])
        assert (error["code"], error["type"]) == ("exception", "TypeError"), name
    assert host.error("math:sqrt", ["x"])["code"] == "exception"


def test_kinds_of_functions(host, write):
    write(
        "m",
        """
        import asyncio
        async def co(x): await asyncio.sleep(0); return x
        def gen(n):
            for i in range(n): yield i
            return "end"
        async def agen(n):
            for i in range(n): await asyncio.sleep(0); yield i
        def lazy(): return map(str, [1, 2])
        loops = []
        async def loop(): loops.append(asyncio.get_running_loop()); return len(set(map(id, loops)))
        async def returns_gen(): return gen(2)
        """,
    )
    assert host.result("m:co", [4]) == 4
    assert host.result("m:gen", [3]) == [0, 1, 2]
    assert host.result("m:agen", [3]) == [0, 1, 2]
    assert host.result("m:lazy") == ["1", "2"]
    assert host.result("m:returns_gen") == [0, 1]
    # One loop for the worker's life: what is bound to it stays usable.
    assert [host.result("m:loop") for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("function", ["gen", "agen"])
def test_stream(host, write, function):
    write(
        "m",
        """
        def gen(n):
            for i in range(n): yield i
            return "end"
        async def agen(n):
            for i in range(n): yield i
        def fails(): yield 1; raise ValueError("no")
        def bad(): yield 1; yield object()
        def plain(): return 3
        """,
    )
    id = host.start(f"m:{function}", [3], stream=True)
    lines = [host.read() for _ in range(4)]
    end = "end" if function == "gen" else None
    assert lines[:3] == [{"id": id, "item": i} for i in range(3)]
    assert lines[3]["result"] == end
    host.start("m:fails", stream=True)
    assert host.read()["item"] == 1
    assert host.read()["error"]["code"] == "exception"
    host.start("m:bad", stream=True)
    assert host.read()["item"] == 1
    error = host.read()["error"]
    assert error["code"] == "invalid_result"
    assert error["message"].startswith("`item` is an `object`")
    assert host.reply("m:plain", stream=True)["result"] == 3


def test_progress_only_when_asked_for(host, write):
    write(
        "m",
        """
        import pillion, threading
        def work():
            pillion.progress(1, 10, "half")
            pillion.progress(message="x")
            thread = threading.Thread(target=pillion.progress, args=(3,))
            thread.start(); thread.join()
            return "done"
        """,
    )
    assert host.result("m:work") == "done"
    id = host.start("m:work", progress=True)
    assert host.read() == {"id": id, "progress": {"value": 1, "total": 10, "message": "half"}}
    assert host.read() == {"id": id, "progress": {"message": "x"}}
    assert host.read() == {"id": id, "progress": {"value": 3}}
    assert host.read()["result"] == "done"


def test_bad_lines_do_not_end_the_worker(host):
    deep = b"[" * 200_000
    digits = b'{"id":' + b"9" * 5000 + b"}"
    for line, code in [
        (b"nonsense", "invalid_json"),
        (b'{"id":1', "invalid_json"),
        (b'{"id":NaN}', "invalid_json"),
        (b'{"id":"\xff"}', "invalid_json"),
        (b'{"id":1} x', "invalid_json"),
        (deep, "invalid_json"),
        (digits, "invalid_json"),
        (b"[1]", "invalid_request"),
        (b"3", "invalid_request"),
        (b"{}", "invalid_request"),
    ]:
        if line is digits and sys.version_info[:3] < (3, 10, 7):
            continue
        host.send(b"\n  \n" + line + b"\n")
        reply = host.read()
        assert reply["id"] is None, line[:40]
        assert reply["error"]["code"] == code, line[:40]
        assert reply["error"]["recoverable"] is True
    # What a host sent along cannot be read, but it waits for an answer.
    nested = b"[" * 50_000 + b"]" * 50_000
    for id in (b"7", b'"seven"'):
        for args in (nested, b"[" + b"9" * 5000 + b"]"):
            if args is not nested and sys.version_info[:3] < (3, 10, 7):
                continue
            head = b'{"id":' + id + b',"method":"call","params":{"function":"os:getpid","params":'
            host.send(head + args + b"}}\n")
            reply = host.read()
            assert reply["id"] == json.loads(id), args[:40]
            assert reply["error"]["code"] == "invalid_params", args[:40]
    host.send({"id": 9, "method": "nope"})
    reply = host.read()
    assert (reply["id"], reply["error"]["code"]) == (9, "invalid_request")
    for id in (b"1e999", b"[-1e999]", b'{"a":[1,1e999]}'):
        for method in (b'"call","params":{"function":"os:getpid"}', b'"ping"'):
            host.send(b'{"id":' + id + b',"method":' + method + b"}\n")
            reply = host.read()
            assert reply["id"] is None, id
            assert "result" in reply, id
    host.send(b'{"id":1,"method":"call","params":[]}\n')
    assert host.read()["error"]["code"] == "invalid_request"
    assert host.result("math:sqrt", [4]) == 2.0


def test_ids_are_echoed_whatever_they_are(host):
    for id in (0, -1, 1.5, "x\u00e9", "", None, True, [1], {"a": 1}):
        host.send({"id": id, "method": "call", "params": {"function": "math:sqrt", "params": [4]}})
        assert host.read() == {"id": id, "result": 2.0}


def test_limits_of_lines(start, write):
    write("m", "def f(n): return 'x' * n\ndef g(n): yield 'x' * n")
    for control in (True, False):
        worker = start("--max-line", "100000", control=control)
        worker.send(b'{"id":1,"x":"' + b"y" * 300_000 + b'"}\n')
        reply = worker.read()
        assert (reply["id"], reply["error"]["code"]) == (None, "invalid_request")
        reply = worker.reply("m:f", [200_000])
        assert reply["error"]["code"] == "response_too_large"
        assert reply["files"][0][0].endswith("m.py")  # not lost with the reply
        reply = worker.reply("m:g", [200_000], stream=True)
        assert reply["error"]["code"] == "response_too_large"
        assert len(worker.result("m:f", [99_000])) == 99_000


def test_end_of_input_finishes_what_was_read(host):
    host.send({"id": 1, "method": "call", "params": {"function": "time:sleep", "params": [0.05]}})
    host.send(b'{"id":2,"method":"call","params":{"function":"math:sqrt","params":[4]}}')
    host.process.stdin.close()
    assert host.read() == {"id": 1, "result": None}
    assert host.read() == {"id": 2, "result": 2.0}
    assert host.finish() == 0


def test_ping_while_busy_and_idle(host, write):
    write("m", "import os\ndef wait(fd): os.read(os.open(fd, os.O_RDONLY), 1); return 'woken'")
    fifo = host.root / "fifo"
    os.mkfifo(fifo)
    host.control({"id": "p", "method": "ping"})
    assert host.read_control() == {"id": "p", "result": {"pong": True, "busy": None}}
    id = host.start("m:wait", [str(fifo)])
    with fifo.open("wb", buffering=0) as gate:  # opens when the call has begun
        host.control({"id": "q", "method": "ping"})
        assert host.read_control() == {"id": "q", "result": {"pong": True, "busy": id}}
        gate.write(b"x")
    assert host.read()["result"] == "woken"


def test_trim_runs_callbacks_between_calls(host, write):
    write(
        "m",
        """
        import pillion, threading
        count = []
        @pillion.on_trim
        def drop(): count.append(threading.current_thread() is threading.main_thread())
        @pillion.on_trim
        def fails(): raise SystemExit
        def seen(): return count
        def spin(path):
            with open(path) as gate: gate.read()
            return len(count)
        """,
    )
    assert host.result("m:seen") == []
    host.control({"method": "trim"})
    host.control({"id": 1, "method": "ping"})
    host.read_control()
    # Idle: at once, or at the latest before the next line is read.
    for _ in range(500):
        if host.result("m:seen"):
            break
    assert host.result("m:seen") == [True]
    fifo = host.root / "fifo"
    os.mkfifo(fifo)
    host.start("m:spin", [str(fifo)])
    with fifo.open("wb"):
        host.control({"method": "trim"})
        host.control({"id": 2, "method": "ping"})
        host.read_control()
    assert host.read()["result"] == 1  # not inside the call
    assert host.result("m:seen") == [True, True]


def test_preload_and_its_failures_are_in_the_ready_line(start, write):
    path = write("warm", "x = 1\ndef f(): return x")
    write("bad", "1/0")
    worker = start("--preload", "warm", "--preload=bad")
    assert worker.ready["files"][0][0] == str(path)
    assert worker.ready["preload_failed"] == {"bad": "ZeroDivisionError: division by zero"}
    assert "files" not in worker.reply("warm:f")


def test_reload_and_patch_are_seen(host, write):
    path = write("m", "def f(): return 1\ndef again(): import importlib, m; importlib.reload(m)")
    assert host.result("m:f") == 1
    path.write_text("def f(): return 22\n")
    host.result("m:again")
    assert host.result("m:f") == 22


def test_what_a_function_prints_is_told_as_progress(host, write):
    write(
        "m",
        "import sys\n"
        "def f(n):\n"
        "    for i in range(n):\n        print('line', i)\n"
        "    print('rest', end='')\n"
        "    return n\n"
        "def fails():\n    print('before')\n    raise ValueError('no')\n"
        "def warns():\n"
        "    print('odd', file=sys.stderr)\n"
        "    print('out')\n"
        "    sys.stderr.write('rest')\n"
        "    return type(sys.stderr).__name__\n",
    )

    def heard(function, params=None):
        call = {"function": function, "params": params, "prints": True}
        host.send({"id": 77, "method": "call", "params": call, "progress": True})
        told = ""
        while "progress" in (line := host.read()):
            told += line["progress"]["printed"]
        return told, line

    told, reply = heard("m:f", [2])
    assert (told, reply["result"]) == ("line 0\nline 1\nrest", 2)
    told, reply = heard("m:fails")
    assert (told, reply["error"]["code"]) == ("before\n", "exception")
    told, reply = heard("m:warns")
    assert (told, reply["result"]) == ("odd\nout\nrest", "Told")
    # Nobody who does not ask is told.
    assert host.result("m:f", [1]) == 1
    assert host.result("m:warns") != "Told"
