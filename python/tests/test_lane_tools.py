"""Tools: what a program may ask of its host, and how it is answered."""

from __future__ import annotations

import sys
import threading

import pytest
from lanes import Zygote, receive, run_cold, send


@pytest.fixture(scope="module")
def zygote():
    made = Zygote(python=sys.executable)
    yield made
    made.close()


class Serving:
    """The daemon's end of `tools`: answers each question from a table."""

    def __init__(self, sock) -> None:
        self.sock, self.asked = sock, []
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        while True:
            try:
                question = receive(self.sock)
            except (EOFError, OSError):
                return
            self.asked.append(question)
            self.answer(question)

    def answer(self, question) -> None:
        id = question["id"]
        if question["tool"] == "read" and question["name"] == "data.csv":
            data = "\ufeffa,é\n".encode() * 100000
            send(self.sock, {"id": id, "size": len(data)})
            self.sock.sendall(data)
        elif question["tool"] == "query":
            rows = [[1, question["sql"]], [2, question["parameters"]]]
            cut = question["table"] == "cut"
            send(self.sock, {"id": id, "columns": ["n", "x"], "rows": rows, "truncated": cut})
        elif question["tool"] == "call" and question["name"] == "echo":
            send(self.sock, {"id": id, "value": question["arguments"]})
        elif question.get("name") == "wrong":
            send(self.sock, {"id": id + 1, "value": 1})
        else:
            error = {"code": "not_found", "message": f"no {question.get('name')}"}
            send(self.sock, {"id": id, "error": error})


NAMES = {"read": ["data.csv"], "query": ["sales"], "call": ["echo"]}


@pytest.fixture(params=["slot", "cold"])
def with_tools(request, zygote, tmp_path):
    def start(code: str):
        more = {"tools": True, "tool_names": NAMES}
        slot = zygote.slot() if request.param == "slot" else None
        running = slot.order(code, **more) if slot else run_cold(code, tmp_path, **more)
        serving = Serving(running.tools)
        done = running.done()
        serving.thread.join()
        return done, serving.asked

    return start


def test_tools(with_tools):
    code = """
import threading, warnings
from pillion import tools
print(tools.available())
print(len(tools.read("data.csv")), tools.read_text("data.csv")[:3])
print(tools.query("sales", "select ?", [1, "é"]))
print(tools.call("echo", 1, "b"), tools.call("echo", a=[1]), tools.call("echo"))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tools.query("cut", "select 1")
    print([str(one.message) for one in caught])
for bad in (
    lambda: tools.read("nosuch"),
    lambda: tools.call("nosuch"),
    lambda: tools.call("echo", 1, a=2),
    lambda: tools.call("echo", object()),
):
    try:
        bad()
    except (tools.ToolError, TypeError) as error:
        print(type(error).__name__, getattr(error, "code", None), error)
out = []
def ask(n): out.append(tools.call("echo", n))
threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(out) == [[n] for n in range(20)])
"""
    done, asked = with_tools(code)
    assert done.err == ""
    assert done.out.splitlines() == [
        "['read:data.csv', 'query:sales', 'call:echo']",
        "800000 a,é",
        "[{'n': 1, 'x': 'select ?'}, {'n': 2, 'x': [1, 'é']}]",
        "[1, 'b'] {'a': [1]} []",
        "['the rows of `cut` were cut short']",
        "ToolError not_found no nosuch",
        "ToolError not_found no nosuch",
        "TypeError None a tool takes positional or keyword arguments, not both",
        "TypeError None a tool's arguments are JSON, and `object` is not",
        "True",
    ]
    assert asked[0] == {"id": 1, "tool": "read", "name": "data.csv"}
    assert [one["id"] for one in asked] == list(range(1, len(asked) + 1))


def test_tools_are_for_the_main_process(with_tools):
    code = """
import os
from pillion import tools
if os.fork() == 0:
    try:
        tools.call("echo")
    except tools.ToolError as error:
        print(error.code, error, flush=True)
    print(len([n for n in os.listdir("/proc/self/fd") if int(n) > 2]), flush=True)
    os._exit(0)
os.wait()
print(tools.call("echo", 1))
"""
    done, _ = with_tools(code)
    assert done.out.splitlines() == [
        "no_tools tools work in the run's main process only, not in its children",
        "1",  # the listing's own
        "[1]",
    ]


def test_a_wrong_answer_breaks_the_connection(with_tools):
    code = """
from pillion import tools
for name in ("wrong", "echo"):
    try:
        tools.call(name)
    except tools.ToolError as error:
        print(error.code)
"""
    done, asked = with_tools(code)
    assert done.out == "broken\nbroken\n"
    assert len(asked) == 1
