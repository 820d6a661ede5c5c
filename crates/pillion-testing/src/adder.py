"""A kernel that is nobody's: ZeroMQ by TCP and nothing else, for a language of numbers to add.

It is as small as the protocol lets it be. What comes on its control socket is answered, and
nothing is published about it.
"""

import hashlib
import hmac
import json
import signal
import sys
import threading
import time
import uuid

import zmq

with open(sys.argv[1], encoding="utf-8") as file:
    connection = json.load(file)
assert connection["transport"] == "tcp"
context = zmq.Context()


def listen(kind, name):
    socket = context.socket(kind)
    socket.bind(f"tcp://{connection['ip']}:{connection[f'{name}_port']}")
    return socket


def send(socket, before, kind, content, parent):
    header = {
        "msg_id": uuid.uuid4().hex,
        "session": "adder",
        "username": "adder",
        "date": "2026-01-01T00:00:00Z",
        "msg_type": kind,
        "version": "5.3",
    }
    parts = [json.dumps(part).encode() for part in (header, parent, {}, content)]
    signed = hmac.new(connection["key"].encode(), b"".join(parts), hashlib.sha256)
    socket.send_multipart([*before, b"<IDS|MSG>", signed.hexdigest().encode(), *parts])


def receive(socket):
    parts = socket.recv_multipart()
    at = parts.index(b"<IDS|MSG>")
    header, _, _, content = map(json.loads, parts[at + 2 : at + 6])
    return parts[:at], header, content


INFO = {
    "status": "ok",
    "protocol_version": "5.3",
    "implementation": "adder",
    "implementation_version": "1",
    "language_info": {"name": "adder", "mimetype": "text/plain", "file_extension": ".add"},
    "banner": "",
}


def control(socket):
    while True:
        before, header, _ = receive(socket)
        kind = header["msg_type"]
        content = INFO if kind == "kernel_info_request" else {"status": "ok"}
        send(socket, before, kind.replace("request", "reply"), content, header)


def execute(iopub, header, content, state):
    state["count"] += 1
    count = {"execution_count": state["count"]}
    try:
        if content["code"] == "wait":
            send(iopub, [b"stream"], "stream", {"name": "stdout", "text": "on\n"}, header)
            time.sleep(600)
        state["total"] += int(content["code"] or 0)
    except (ValueError, KeyboardInterrupt) as error:
        told = {"ename": type(error).__name__, "evalue": str(error), "traceback": [str(error)]}
        send(iopub, [b"error"], "error", told, header)
        return {"status": "error", **told, **count}
    data = {"data": {"text/plain": str(state["total"])}, "metadata": {}, **count}
    send(iopub, [b"result"], "execute_result", data, header)
    return {"status": "ok", **count}


def main():
    shell, iopub, listen_to = listen(zmq.ROUTER, "shell"), listen(zmq.PUB, "iopub"), zmq.ROUTER
    others = [listen(listen_to, "stdin"), listen(zmq.REP, "hb")]
    ask = threading.Thread(target=control, args=(listen(zmq.ROUTER, "control"),), daemon=True)
    ask.start()
    state = {"total": 0, "count": 0}
    while others:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        before, header, content = receive(shell)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        send(iopub, [b"status"], "status", {"execution_state": "busy"}, header)
        kind = header["msg_type"]
        if kind == "execute_request":
            reply = execute(iopub, header, content, state)
        else:
            reply = INFO if kind == "kernel_info_request" else {"status": "error"}
        send(shell, before, kind.replace("request", "reply"), reply, header)
        send(iopub, [b"status"], "status", {"execution_state": "idle"}, header)


main()
