"""A language server that does what a test asks of it.

argv: a folder of its own, then options. What it was told is kept in memory (`log`) and, so
that a test can see the last words of a process that has ended, in the file `log`.
"""

import json
import os
import sys
import threading
import time

FOLDER = sys.argv[1]
OPTIONS = sys.argv[2:]
LOG = []
HELD = []
ASKED = {}
OUT = threading.Lock()


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with OUT:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def answer(id, result):
    send({"id": id, "result": result})


def fail(id, code, message):
    send({"id": id, "error": {"code": code, "message": message}})


def times(name):
    """How often this was asked before, by all processes of this folder."""
    path = os.path.join(FOLDER, "times-" + name)
    with open(path, "a") as file:
        file.write("x")
    return os.path.getsize(path)


def read():
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(length))
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)


def initialize(id, params):
    if "mute" in OPTIONS:
        return
    if "refuse" in OPTIONS:
        return fail(id, -32603, "no such root")
    if "slow" in OPTIONS:
        # Ready when the test says so.
        while not os.path.exists(os.path.join(FOLDER, "go")):
            time.sleep(0.01)
    send({"method": "window/logMessage", "params": {"type": 3, "message": "hello"}})
    answer(
        id,
        {"capabilities": {"hoverProvider": True}, "serverInfo": {"name": "fake", "version": "9"}},
    )


def on_request(method, id, params):
    if method == "initialize":
        initialize(id, params)
    elif method == "echo":
        answer(id, params)
    elif method == "log":
        answer(id, LOG)
    elif method == "nothing":
        send({"id": id})
    elif method == "hold":
        HELD.append((id, params))
    elif method == "release":
        answer(id, len(HELD))
        for held, value in reversed(HELD):
            answer(held, value)
        HELD.clear()
    elif method == "ask":
        ASKED["s-1"] = id
        send({"id": "s-1", "method": params["method"], "params": {"items": [1]}})
    elif method == "chatter":
        for number in range(500):
            send({"method": "window/showMessage", "params": {"type": 1, "message": "x" * number}})
        answer(id, "done")
    elif method == "die":
        if times("die") <= params["times"]:
            print("I die", file=sys.stderr, flush=True)
            os._exit(3)
        answer(id, LOG)
    elif method == "garbage":
        if times("garbage") == 1:
            raw(b"Traceback (most recent call last):\n\n")
        answer(id, "sane")
    elif method == "not json":
        if times("not json") == 1:
            raw(b"Content-Length: 3\r\n\r\nabc")
        answer(id, "sane")
    elif method == "half":
        if times("half") == 1:
            raw(b"Content-Length: 300\r\n\r\n{")
            os._exit(3)
        answer(id, "whole")
    elif method == "huge":
        raw(b"Content-Length: 999999999\r\n\r\n")
    elif method == "large":
        answer(id, "x" * params["bytes"])
    elif method == "modified":
        if times("modified") <= params["times"]:
            return fail(id, -32801, "content modified")
        answer(id, "fresh")
    elif method == "fail":
        fail(id, params["code"], "as you wish")
    elif method == "freeze":
        while True:
            time.sleep(60)
    elif method == "hang":
        pass
    elif method == "shutdown":
        answer(id, None)
    else:
        fail(id, -32601, "unknown: " + method)


while message := read():
    method, id = message.get("method"), message.get("id")
    if method is None:
        answer(ASKED.pop(id), message.get("result"))
        continue
    LOG.append([method, message.get("params")])
    with open(os.path.join(FOLDER, "log"), "a") as file:
        file.write(method + "\n")
    if method == "exit":
        sys.exit(0)
    if id is not None:
        on_request(method, id, message.get("params"))
