"""Orders: functions and their results, limits, seeds, the clock, what is no order."""

from __future__ import annotations

import os
import struct
import sys

import pytest
from lanes import Zygote, exactly, make_order, receive, run_cold, send


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


# Functions.

MODULE = b"""
import asyncio
class Thing:
    @staticmethod
    def twice(x): return x * 2
    def __repr__(self): return "a thing"
class Bad:
    def __repr__(self): raise ValueError
def add(a, b=1): return {"sum": a + b, "both": (a, b)}
async def later(x):
    await asyncio.sleep(0)
    return x
def thing(): return Thing()
def bad(): return Bad()
def nan(): return float("nan")
def some(): return [float("nan"), float("inf")]
def lone(): return "\\ud800"
def none(): pass
def loop():
    a = []
    a.append(a)
    return a
def big(): return "x" * (70 << 20)
def fail(): raise KeyError("no")
def leave(): raise SystemExit(3)
"""


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("m:add", {"a": 1, "b": 2}, {"value": {"sum": 3, "both": [1, 2]}}),
        ("m:add", [5], {"value": {"sum": 6, "both": [5, 1]}}),
        ("m:Thing.twice", ["ab"], {"value": "abab"}),
        ("m:later", {"x": [1]}, {"value": [1]}),
        ("m:none", None, {"value": None}),
        ("m:thing", None, {"repr": "a thing"}),
        ("m:nan", None, {"value": None}),
        ("m:some", None, {"value": [None, "Infinity"]}),
        ("m:lone", None, {"repr": "'\\ud800'"}),
        ("m:loop", None, {"repr": "[[...]]"}),
        ("m:bad", None, {"repr": "<Bad, whose repr raised ValueError>"}),
        ("math:hypot", [3, 4], {"value": 5.0}),
    ],
)
def test_a_function_returns(run, function, arguments, expected):
    program = {"function": function, "arguments": arguments}
    done = run(program, files={"m.py": MODULE})
    assert done.exit == 0, done.err
    assert done.result == {"exception": None, **expected}


def test_a_large_value_is_only_shown(run):
    done = run({"function": "m:big"}, files={"m.py": MODULE})
    assert done.exit == 0
    assert len(done.result["repr"]) == 64 * 1024


def test_a_function_fails(run):
    done = run({"function": "m:fail"}, files={"m.py": MODULE})
    assert done.exit == 1
    assert done.result["exception"] == {"type": "KeyError", "message": "'no'", "limit": None}
    assert "pillion" not in done.err
    assert done.err.count("File ") == 1
    assert run({"function": "m:leave"}, files={"m.py": MODULE}).exit == 3
    missing = run({"function": "m:nosuch"}, files={"m.py": MODULE})
    assert missing.result["exception"]["type"] == "AttributeError"
    missing = run({"function": "nosuch:f"})
    assert missing.result["exception"]["type"] == "ModuleNotFoundError"


# Exceptions and the limits they tell of.


@pytest.mark.parametrize(
    ("code", "limit"),
    [
        ("raise MemoryError", "memory"),
        ("x = bytearray(1 << 50)", "memory"),
        ("import errno; raise OSError(errno.ENOSPC, 'full')", "disk"),
        ("import errno; raise OSError(errno.EDQUOT, 'full')", "disk"),
        ("import errno; raise OSError(errno.EFBIG, 'large')", "disk"),
        (
            "try:\n    raise MemoryError\nexcept MemoryError as e:\n    raise ValueError from e",
            "memory",
        ),
        ("import os\nos.set_blocking(0, False)\nraise BlockingIOError(11, 'x')", None),
        ('raise RuntimeError("can\'t start new thread")', "processes"),
        ("raise ValueError('x')", None),
    ],
)
def test_exceptions_name_their_limit(run, code, limit):
    done = run(code)
    assert done.exit == 1
    assert done.result["exception"]["limit"] == limit


def test_limits_are_lowered_and_told_of(zygote):
    done = zygote.run(
        "x = [bytearray(1 << 20) for _ in range(999)]", rlimits=[[2, 99 << 20, 99 << 20]]
    )
    assert done.result["exception"]["limit"] == "memory", done
    done = zygote.run("open('f', 'wb').write(bytes(1 << 20))", rlimits=[[1, 100, 100]])
    assert done.result["exception"]["limit"] == "disk", done
    infinite = (1 << 64) - 1
    code = "import resource; print(resource.getrlimit(4))"
    assert zygote.run(code, rlimits=[[4, infinite, infinite]]).out == "(0, 0)\n", "never raised"


def test_a_hostile_exception(run):
    code = "class E(Exception):\n    def __str__(self): raise ValueError\nraise E"
    done = run(code)
    assert done.exit == 1
    assert done.result["exception"]["message"] == "(its text could not be made)"
    done = run("raise ValueError('\\ud800' + 'x' * 100000)")
    assert done.result["exception"]["message"].startswith("\\ud800xxx")
    assert len(done.result["exception"]["message"]) < 9000


# The environment, seeds and the clock.


def test_the_environment_is_the_orders(run):
    code = "import os, subprocess\nprint(sorted(os.environ.items()))\nsubprocess.run(['env'])"
    done = run(code, env={"A": "1", "PATH": os.environ["PATH"]})
    assert done.out.splitlines()[0] == str([("A", "1"), ("PATH", os.environ["PATH"])])
    assert set(done.out.splitlines()[1:]) >= {"A=1"}


def test_a_seed_makes_runs_the_same(run):
    code = "import random\nprint(random.random(), random.randrange(10**9))"
    import random

    random.seed(7)
    expected = f"{random.random()} {random.randrange(10**9)}\n"
    assert run(code, seed=7).out == expected
    assert run("from random import *\nprint(random(), randrange(10**9))", seed=7).out == expected
    assert run(code).out != expected


def test_a_clock_that_stands_still(run):
    code = """
import copy, datetime, pickle, time
from datetime import date, timedelta
from time import time as now
monotonic = time.monotonic()
time.sleep(0.01)
assert time.monotonic() > monotonic
print(now(), time.time_ns(), time.clock_gettime(time.CLOCK_REALTIME))
print(time.gmtime()[:6], time.gmtime(0)[:6], time.strftime("%Y", time.gmtime(0)), time.ctime()[-4:])
t = datetime.datetime.now(datetime.timezone.utc)
print(t, repr(t), sep="\\n")
print(datetime.datetime.utcnow(), date.today().year, time.strftime("%Y"))
print(isinstance(t, datetime.datetime), isinstance(t, date), isinstance(date(2020, 1, 1), date))
print(isinstance(date(2020, 1, 1), datetime.datetime), issubclass(datetime.datetime, date))
print(t - timedelta(days=1) < t, pickle.loads(pickle.dumps(t)) == t, copy.deepcopy(t) == t)
print(datetime.datetime(2020, 1, 2), datetime.datetime.fromisoformat("2020-01-02").day)
print(datetime.datetime.strptime("2020", "%Y"), type(t + timedelta(1)) is type(t))
class Mine(datetime.datetime):
    pass
print(type(Mine.now()).__name__, isinstance(t, Mine), isinstance(Mine.now(), Mine))
"""
    done = run(code, clock=1700000000.0, env={"TZ": "UTC"})
    assert done.err == "" or "DeprecationWarning" in done.err
    assert done.out.splitlines() == [
        "1700000000.0 1700000000000000000 1700000000.0",
        "(2023, 11, 14, 22, 13, 20) (1970, 1, 1, 0, 0, 0) 1970 2023",
        "2023-11-14 22:13:20+00:00",
        "datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.timezone.utc)",
        "2023-11-14 22:13:20 2023 2023",
        "True True True",
        "False True",
        "True True True",
        "2020-01-02 00:00:00 2",
        "2020-01-01 00:00:00 True",
        "Mine False True",
    ]


def test_the_hash_seed_of_the_environment_counts(tmp_path):
    """`-I` would ignore it, so a box starts Python without."""
    flags = ["-s", "-S", "-B", "-X", "utf8"]
    code = "print(hash('a'), [p for p in __import__('sys').path if p.endswith('lane')])"
    outs = {run_cold(code, tmp_path, flags=flags).done().out for _ in range(3)}
    assert len(outs) == 1
    assert outs.pop().endswith(" []\n")


def test_a_cold_start_loads_little(tmp_path):
    code = "import sys\nprint(sorted(sys.modules))"
    loaded = run_cold(code, tmp_path).done().out
    for name in (
        "json",
        "re",
        "ctypes",
        "typing",
        "dataclasses",
        "traceback",
        "threading",
        "socket",
    ):
        assert f"'{name}'" not in loaded, loaded


def test_no_tools(run):
    code = "from pillion import tools\nprint(tools.available())\ntools.read('x')"
    done = run(code)
    assert done.out == "[]\n"
    assert done.result["exception"]["type"] == "ToolError"
    assert "not a run in a lane" in done.err


def test_the_result_belongs_to_the_main_process(run):
    code = "import os\nif os.fork() == 0:\n    raise ValueError('child')\nos.wait()"
    done = run(code)
    assert done.exit == 0
    assert done.result == {"exception": None}


@pytest.mark.parametrize("count", [0, 3, 5, 6])
def test_an_order_with_a_wrong_number_of_descriptors(zygote, count):
    slot = zygote.slot()
    send(slot.ctl, {"watch": {}})
    null = os.open("/dev/null", os.O_RDWR)
    send(slot.run, make_order("print(1)"), [null] * count)
    os.close(null)
    assert receive(slot.ctl)["exit"] == 70
    slot.wait_gone()


def test_messages_that_are_no_messages(zygote):
    for junk in (b"\0", b"\xff\xff\xff\xff", struct.pack(">I", 3) + b"{{{"):
        slot = zygote.slot()
        slot.run.sendall(junk)
        slot.run.close()
        with pytest.raises(EOFError):
            exactly(slot.ctl, 1)
        slot.wait_gone()
