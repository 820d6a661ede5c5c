"""Cancel: in every kind of waiting, too early, too late, and a thousand times at random."""

from __future__ import annotations

import os
import random
import signal

import pytest

SOURCE = """
import asyncio, os, socket, subprocess, sys, threading, time
import pillion

def _say(): pillion.progress(message="started")

def sleep(): _say(); time.sleep(60)
def tight():
    _say()
    while True: pass
def sock():
    a, b = socket.socketpair(); _say(); a.recv(1)
def child(): _say(); subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"])
def lock(): _say(); threading.Event().wait()
def except_exception():
    _say()
    while True:
        try: time.sleep(60)
        except Exception: pass
async def co(): _say(); await asyncio.sleep(60)
async def co_blocking(): _say(); time.sleep(60)
async def co_tight():
    _say()
    while True: await asyncio.sleep(0)
def gen():
    _say()
    while True: yield 1
async def agen():
    _say()
    while True: yield 1
def gen_silent():
    _say()
    while True: time.sleep(0.001)
    yield
def cooperative():
    try: _say(); time.sleep(60)
    except pillion.Cancelled: return ["caught", pillion.cancelled()]
def thread():
    done = []
    def work():
        while not pillion.cancelled(): pass
        done.append("thread"); ended.set()
    # Not join(): interrupted once, it takes the thread for ended on Python 3.10.
    ended = threading.Event(); threading.Thread(target=work).start()
    try: _say(); ended.wait()
    except pillion.Cancelled: ended.wait()
    return done
def in_del():
    class Slow:
        def __del__(self): _say(); time.sleep(60) if not pillion.cancelled() else None
    x = Slow(); del x
    while True: pass
def cleanup():
    try: _say(); time.sleep(60)
    finally: time.sleep(0.1); open("cleaned", "w").close()
def own_handler():
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
def quick(x): return x
async def aquick(x): return x
"""


@pytest.fixture
def cancellable(host, write):
    write("m", SOURCE)
    return host


def begin(host, name, **more) -> int:
    id = host.start(f"m:{name}", progress=True, **more)
    assert host.read() == {"id": id, "progress": {"message": "started"}}
    return id


def assert_cancelled(reply, id) -> None:
    assert reply["id"] == id
    assert reply["error"]["code"] == "cancelled"
    assert reply["error"]["recoverable"] is True


INTERRUPTIBLE = ["sleep", "tight", "sock", "child", "lock", "except_exception", "co"]
INTERRUPTIBLE += ["co_blocking", "co_tight", "gen", "agen", "gen_silent", "in_del"]


def test_cancel_interrupts(cancellable):
    for name in INTERRUPTIBLE:
        id = begin(cancellable, name)
        cancellable.cancel(id)
        assert_cancelled(cancellable.read(), id)
        assert cancellable.result("m:quick", [name]) == name
        assert cancellable.result("m:aquick", [name]) == name


@pytest.mark.parametrize("name", ["gen", "agen"])
def test_cancel_ends_a_stream(cancellable, name):
    id = begin(cancellable, name, stream=True)
    assert cancellable.read() == {"id": id, "item": 1}
    cancellable.cancel(id)
    while "item" in (reply := cancellable.read()):
        assert reply == {"id": id, "item": 1}
    assert_cancelled(reply, id)
    assert cancellable.result("m:quick", [1]) == 1


def test_c_function_called_directly(cancellable):
    cancellable.control({"id": 0, "method": "ping"})
    cancellable.read_control()
    id = cancellable.start("time:sleep", [60])
    busy = None
    while busy != id:  # until it runs
        cancellable.control({"id": 0, "method": "ping"})
        busy = cancellable.read_control()["result"]["busy"]
    cancellable.cancel(id)
    assert_cancelled(cancellable.read(), id)


def test_import_is_finished_then_the_call_is_cancelled(cancellable, write):
    write(
        "slow",
        """
        import os, pillion
        pillion.progress(1)
        with open("fifo") as gate: gate.read()
        pillion.progress(2)
        def f(): return os.getpid()
        """,
    )
    fifo = cancellable.root / "fifo"
    os.mkfifo(fifo)
    id = cancellable.start("slow:f", progress=True)
    assert cancellable.read()["progress"] == {"value": 1}
    with fifo.open("wb"):
        cancellable.cancel(id)
        cancellable.control({"id": 0, "method": "ping"})
        assert cancellable.read_control()["result"]["busy"] == id
    assert cancellable.read()["progress"] == {"value": 2}
    assert_cancelled(cancellable.read(), id)
    assert cancellable.result("slow:f") == cancellable.process.pid  # whole, and warm


def test_a_function_that_catches_it_has_finished(cancellable):
    id = begin(cancellable, "cooperative")
    cancellable.cancel(id)
    assert cancellable.read()["result"] == ["caught", True]
    id = begin(cancellable, "thread")
    cancellable.cancel(id)
    assert cancellable.read()["result"] == ["thread"]


def test_clean_up_code_is_not_interrupted_again(cancellable):
    id = begin(cancellable, "cleanup")
    cancellable.cancel(id)
    assert_cancelled(cancellable.read(), id)
    assert (cancellable.root / "cleaned").exists()


def test_cancel_before_the_call_has_begun(cancellable):
    first = begin(cancellable, "sleep")
    second = cancellable.start("m:quick", [2])
    third = cancellable.start("m:quick", [3])
    cancellable.cancel(second)
    cancellable.cancel(first)
    assert_cancelled(cancellable.read(), first)
    assert_cancelled(cancellable.read(), second)
    assert cancellable.read() == {"id": third, "result": 3}


def test_late_and_senseless_cancels_do_nothing(cancellable):
    cancellable.result("m:quick", [1])
    for id in (cancellable.last_id, [1], {"a": 2}):
        cancellable.cancel(id)
    cancellable.control({"method": "cancel"})
    cancellable.control({"method": "cancel", "params": {}})
    cancellable.control({"method": "cancel", "params": 3})
    assert cancellable.result("m:quick", [2]) == 2


def test_stray_sigint_is_ignored(cancellable):
    os.kill(cancellable.process.pid, signal.SIGINT)
    assert cancellable.result("m:quick", [2]) == 2
    id = begin(cancellable, "sleep")
    os.kill(cancellable.process.pid, signal.SIGINT)
    cancellable.control({"id": "p", "method": "ping"})
    assert cancellable.read_control()["result"]["busy"] == id
    cancellable.cancel(id)
    assert_cancelled(cancellable.read(), id)
    # A handler that user code installed does not outlive its call.
    cancellable.result("m:own_handler")
    os.kill(cancellable.process.pid, signal.SIGINT)
    assert cancellable.result("m:quick", [2]) == 2


def test_race_of_cancel_and_end(cancellable):
    """Cancels aimed at calls that are just ending: one right answer each, for ever."""
    chance = random.Random(20)
    outcomes = {"result": 0, "cancelled": 0}
    for round in range(700):
        name = "quick" if round % 3 else "aquick"
        id = cancellable.start(f"m:{name}", [round])
        for _ in range(chance.randrange(400)):
            pass
        cancellable.cancel(id)
        reply = cancellable.read()
        assert reply["id"] == id
        if "result" in reply:
            assert reply["result"] == round
            outcomes["result"] += 1
        else:
            assert_cancelled(reply, id)
            outcomes["cancelled"] += 1
    assert cancellable.result("m:quick", ["after"]) == "after"
    assert outcomes["result"] + outcomes["cancelled"] == 700


def test_race_with_pipelined_calls(cancellable):
    chance = random.Random(21)
    for _ in range(25):
        ids = [cancellable.start("m:quick", [n]) for n in range(20)]
        victims = set(chance.sample(ids, 6))
        for id in victims:
            cancellable.cancel(id)
        for n, id in enumerate(ids):
            reply = cancellable.read()
            assert reply["id"] == id
            if id in victims and "error" in reply:
                assert_cancelled(reply, id)
            else:
                assert reply["result"] == n
