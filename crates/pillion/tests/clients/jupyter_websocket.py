"""A client of Jupyter's API for kernels, as JupyterLab and editors are one: REST and WebSocket.

`python jupyter_websocket.py PORT TOKEN STORY` plays one of the stories below and fails loudly if
it goes otherwise. WebSockets and HTTP are tornado's, which Jupyter itself uses.
"""

import asyncio
import json
import struct
import sys
import uuid

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

V1 = "v1.kernel.websocket.jupyter.org"
DEADLINE = 60


class Server:
    def __init__(self, port, token):
        self.url = f"http://127.0.0.1:{port}"
        self.ws_url = f"ws://127.0.0.1:{port}"
        self.token = token

    async def ask(self, method, path, body=None, **headers):
        headers = {"Authorization": f"token {self.token}", **headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = HTTPRequest(
            self.url + path,
            method=method,
            headers=headers,
            body=None if body is None else json.dumps(body),
            allow_nonstandard_methods=True,
            request_timeout=DEADLINE,
        )
        reply = await AsyncHTTPClient().fetch(request, raise_error=False)
        return reply.code, json.loads(reply.body) if reply.body else None

    async def start(self, **body):
        status, kernel = await self.ask("POST", "/api/kernels", {"name": "python3", **body})
        assert status == 201, (status, kernel)
        uuid.UUID(kernel["id"])
        return kernel["id"]

    async def connect(self, kernel, protocol=None, name=None, query="", headers=None):
        name = name or uuid.uuid4().hex
        path = f"/api/kernels/{kernel}/channels?session_id={name}{query}"
        if headers is None:
            headers = {"Authorization": f"Bearer {self.token}"}
        request = HTTPRequest(self.ws_url + path, headers=headers)
        protocols = [protocol] if protocol else None
        socket = await websocket_connect(request, subprotocols=protocols, max_message_size=1 << 30)
        assert socket.selected_subprotocol == protocol, socket.selected_subprotocol
        return Client(socket, protocol == V1, name)


class Client:
    """One WebSocket, in either form."""

    def __init__(self, socket, is_v1, name):
        self.socket, self.is_v1, self.name = socket, is_v1, name

    async def send(self, channel, kind, content, parent=None, buffers=()):
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "username": "tester",
            "session": self.name,
            "date": "2026-01-01T00:00:00Z",
            "version": "5.4",
        }
        message = [header, parent or {}, {}, content]
        if self.is_v1:
            texts = [json.dumps(part).encode() for part in message]
            parts = [channel.encode(), *texts, *buffers]
            places = [8 * (len(parts) + 2)]
            for part in parts:
                places.append(places[-1] + len(part))
            head = struct.pack(f"<{len(places) + 1}Q", len(places), *places)
            await self.socket.write_message(head + b"".join(parts), binary=True)
        else:
            names = ["header", "parent_header", "metadata", "content"]
            text = json.dumps({"channel": channel, **dict(zip(names, message))})
            if not buffers:
                await self.socket.write_message(text)
            else:
                parts = [text.encode(), *buffers]
                places = [4 * (len(parts) + 1)]
                for part in parts[:-1]:
                    places.append(places[-1] + len(part))
                head = struct.pack(f"!{len(parts) + 1}I", len(parts), *places)
                await self.socket.write_message(head + b"".join(parts), binary=True)
        return header["msg_id"]

    async def next(self):
        frame = await asyncio.wait_for(self.socket.read_message(), DEADLINE)
        if frame is None:
            return None
        if self.is_v1:
            assert isinstance(frame, bytes)
            (count,) = struct.unpack_from("<Q", frame)
            places = struct.unpack_from(f"<{count}Q", frame, 8)
            parts = [frame[a:b] for a, b in zip(places, places[1:])]
            texts = [json.loads(part) for part in parts[1:5]]
            channel, buffers = parts[0].decode(), parts[5:]
        else:
            buffers = []
            if isinstance(frame, bytes):
                (count,) = struct.unpack_from("!I", frame)
                places = [*struct.unpack_from(f"!{count}I", frame, 4), len(frame)]
                frame, *buffers = [frame[a:b] for a, b in zip(places, places[1:])]
            message = json.loads(frame)
            channel = message["channel"]
            texts = [message[k] for k in ("header", "parent_header", "metadata", "content")]
            assert message["msg_type"] == texts[0]["msg_type"]
        header, parent, _, content = texts
        return Message(channel, header, parent, content, buffers)

    async def until(self, wanted):
        seen = []
        while True:
            message = await self.next()
            assert message is not None, ("the other side hung up", seen[-10:])
            seen.append(message)
            if wanted(message):
                return message, seen

    async def run(self, code, **more):
        """Run a cell; gives its reply and all that came for it until reply and idle were there."""
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        asked = await self.send("shell", "execute_request", {**content, **more})
        return await self.end_of(asked)

    async def end_of(self, asked):
        reply, idle, seen = None, False, []
        while reply is None or not idle:
            message = await self.next()
            assert message is not None, ("the other side hung up", seen[-10:])
            if message.parent.get("msg_id") != asked:
                continue
            seen.append(message)
            if message.channel == "shell":
                reply = message.content
            idle |= message.kind == "status" and message.content["execution_state"] == "idle"
        return reply, seen

    async def closed(self):
        """Read to the end; gives the states that were told on the way, the code and the reason."""
        states = []
        while (message := await self.next()) is not None:
            if message.kind == "status":
                states.append(message.content["execution_state"])
        return states, self.socket.close_code, self.socket.close_reason


class Message:
    def __init__(self, channel, header, parent, content, buffers):
        self.channel, self.header, self.parent = channel, header, parent
        self.content, self.buffers = content, buffers
        self.kind = header["msg_type"]

    def __repr__(self):
        return f"{self.channel}/{self.kind} {str(self.content)[:200]}"


def printed(seen):
    return "".join(m.content["text"] for m in seen if m.kind == "stream")


def state(name):
    return lambda m: m.kind == "status" and m.content["execution_state"] == name


async def rest(server):
    """Kinds, kernels and sessions, as the clients' own checks want them."""
    assert (await server.ask("GET", "/api"))[1]["version"]
    _, specs = await server.ask("GET", "/api/kernelspecs")
    spec = specs["kernelspecs"][specs["default"]]
    assert spec["name"] == "python3" and spec["spec"]["language"] == "python", specs
    assert "pillion" in spec["spec"]["display_name"] and isinstance(spec["resources"], dict)
    assert (await server.ask("GET", "/api/kernelspecs/python3"))[1] == spec
    assert (await server.ask("GET", "/api/kernelspecs/nosuch"))[0] == 404
    assert (await server.ask("POST", "/api/kernels", {"name": "nosuch"}))[0] == 404
    assert (await server.ask("GET", "/api/kernels"))[1] == []
    kernel = await server.start(env={"KERNEL_X": "1"}, session="mine")
    _, all_kernels = await server.ask("GET", "/api/kernels")
    assert [(k["id"], k["session"]) for k in all_kernels] == [(kernel, "mine")], all_kernels
    status, model = await server.ask("GET", f"/api/kernels/{kernel}")
    assert (status, model["execution_state"], model["connections"]) == (200, "idle", 0), model
    assert (await server.ask("GET", f"/api/kernels/{uuid.uuid4()}"))[0] == 404
    assert (await server.ask("GET", f"/api/kernels/{kernel}/channels"))[0] == 400
    assert (await server.ask("POST", f"/api/kernels/{kernel}/interrupt"))[0] == 204
    status, model = await server.ask("POST", f"/api/kernels/{kernel}/restart", {})
    assert (status, model["id"]) == (200, kernel), model

    wanted = {"path": "a.ipynb", "type": "notebook", "name": "", "kernel": {"id": kernel}}
    status, session = await server.ask("POST", "/api/sessions", wanted)
    assert (status, session["kernel"]["id"]) == (201, kernel), session
    again = await server.ask("POST", "/api/sessions", wanted)
    assert again[1]["id"] == session["id"]
    place = f"/api/sessions/{session['id']}"
    change = {"path": "b.ipynb", "kernel": {"name": "python3"}}
    status, changed = await server.ask("PATCH", place, change)
    assert (status, changed["path"]) == (200, "b.ipynb") and changed["kernel"]["id"] != kernel
    assert (await server.ask("GET", f"/api/kernels/{kernel}"))[0] == 404, "it was the last one's"
    assert (await server.ask("GET", place))[1] == changed
    assert [s["id"] for s in (await server.ask("GET", "/api/sessions"))[1]] == [session["id"]]
    assert (await server.ask("DELETE", place))[0] == 204
    assert (await server.ask("DELETE", place))[0] == 404
    assert (await server.ask("GET", "/api/kernels"))[1] == []
    kernel = await server.start()
    assert (await server.ask("DELETE", f"/api/kernels/{kernel}"))[0] == 204
    assert (await server.ask("DELETE", f"/api/kernels/{kernel}"))[0] == 404


ECHO = """
from comm import get_comm_manager
def opened(comm, message):
    comm.on_msg(lambda m: comm.send(
        {"length": [len(b) for b in m["buffers"]]}, buffers=[bytes(b)[::-1] for b in m["buffers"]]))
get_comm_manager().register_target("echo", opened)
"""


async def cells(server):
    """Cells, questions and buffers, in both forms, by two clients that hear each other."""
    kernel = await server.start()
    old, new = await server.connect(kernel), await server.connect(kernel, V1)
    model = (await server.ask("GET", f"/api/kernels/{kernel}"))[1]
    assert model["connections"] == 2, model
    for client in (old, new):
        asked = await client.send("shell", "kernel_info_request", {})
        reply, _ = await client.until(lambda m: m.kind == "kernel_info_reply")
        assert (
            reply.parent["msg_id"] == asked and reply.content["language_info"]["name"] == "python"
        )
    for client, other in ((old, new), (new, old)):
        reply, seen = await client.run("print('hä'); 6 * 7")
        assert reply["status"] == "ok", reply
        assert printed(seen) == "hä\n"
        result = next(m for m in seen if m.kind == "execute_result")
        assert result.content["data"]["text/plain"] == "42"
        assert result.parent["session"] == client.name
        # The other one hears what is published, and no reply that is not its own.
        _, heard = await other.until(
            lambda m: (
                state("idle")(m)
                and m.parent.get("session") == client.name
                and m.parent["msg_type"] == "execute_request"
            )
        )
        assert "hä\n" in printed(heard)
        assert not [m for m in heard if m.channel != "iopub"], heard

        asked = await client.send(
            "shell", "execute_request", {"code": "print(input('who? '))", "allow_stdin": True}
        )
        question, _ = await client.until(lambda m: m.kind == "input_request")
        assert (question.channel, question.content["prompt"]) == ("stdin", "who? ")
        await client.send("stdin", "input_reply", {"value": "me"}, question.header)
        reply, seen = await client.end_of(asked)
        assert reply["status"] == "ok" and "me\n" in printed(seen), seen

        await client.run(ECHO)
        comm = uuid.uuid4().hex
        await client.send(
            "shell", "comm_open", {"comm_id": comm, "target_name": "echo", "data": {}}
        )
        sent = [bytes(range(256)) * 1000, b"", b"\x00\xff"]
        await client.send("shell", "comm_msg", {"comm_id": comm, "data": {}}, buffers=sent)
        back, _ = await client.until(lambda m: m.kind == "comm_msg")
        assert back.content["data"] == {"length": [256_000, 0, 2]}, back
        assert back.buffers == [b[::-1] for b in sent], [len(b) for b in back.buffers]
    reply, _ = await old.run("1/0")
    assert (reply["status"], reply["ename"]) == ("error", "ZeroDivisionError")


async def interrupts(server):
    """A cell that loops is interrupted by REST and by message."""
    kernel = await server.start()
    client = await server.connect(kernel, V1)
    for how in ("rest", "message"):
        asked = await client.send(
            "shell", "execute_request", {"code": "print(1)\nwhile True: pass"}
        )
        await client.until(lambda m: m.kind == "stream")
        if how == "rest":
            assert (await server.ask("POST", f"/api/kernels/{kernel}/interrupt"))[0] == 204
        else:
            await client.send("control", "interrupt_request", {})
        reply, _ = await client.end_of(asked)
        assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt"), (how, reply)


async def deaths(server):
    """A kernel that dies is announced and comes back; one that is shut down is dead."""
    kernel = await server.start()
    one, two = await server.connect(kernel), await server.connect(kernel, V1)
    await one.run("x = 1")
    await one.send("shell", "execute_request", {"code": "import os; os._exit(3)"})
    for client in (one, two):
        await client.until(state("restarting"))
    for client in (one, two):
        reply, seen = await client.run("'x' in globals()")
        result = next(
            m for m in seen if m.kind == "execute_result" and m.parent["session"] == client.name
        )
        assert result.content["data"]["text/plain"] == "False"
    restarting = asyncio.ensure_future(server.ask("POST", f"/api/kernels/{kernel}/restart"))
    for client in (one, two):
        await client.until(state("restarting"))
    assert (await restarting)[0] == 200
    for client in (one, two):
        assert (await client.run("1"))[0]["status"] == "ok"
    # One that dies again and again is left alone.
    for _ in range(20):
        await one.send("shell", "execute_request", {"code": "import os; os._exit(3)"})
        said, _ = await one.until(
            lambda m: m.kind == "status" and m.content["execution_state"] in ("restarting", "dead")
        )
        if said.content["execution_state"] == "dead":
            break
    else:
        raise AssertionError("it is started again for ever")
    assert await one.next() is None and one.socket.close_code == 1000
    # Who asks for it by hand gets it.
    assert (await server.ask("POST", f"/api/kernels/{kernel}/restart"))[0] == 200
    three = await server.connect(kernel)
    assert (await three.run("1"))[0]["status"] == "ok"
    assert (await server.ask("DELETE", f"/api/kernels/{kernel}"))[0] == 204
    states, code, _ = await three.closed()
    assert (states[-1], code) == ("dead", 1000), (states, code)
    try:
        await server.connect(kernel)
    except HTTPClientError as error:
        assert error.code == 404, error
    else:
        raise AssertionError("a kernel that is gone was joined")


async def returns(server):
    """A client that was away gets what came meanwhile, once."""
    kernel = await server.start()
    client = await server.connect(kernel, V1)
    asked = await client.send(
        "shell",
        "execute_request",
        {"code": "import time\nprint('here')\ntime.sleep(1.5)\nprint('there')"},
    )
    await client.until(lambda m: m.kind == "stream" and "here" in m.content["text"])
    client.socket.close()
    await asyncio.sleep(2.5)
    client = await server.connect(kernel, V1, name=client.name)
    reply, seen = await client.end_of(asked)
    assert reply["status"] == "ok" and printed(seen) == "there\n", seen
    client.socket.close()
    stranger = await server.connect(kernel, V1)
    _, seen = await stranger.run("print('new')")
    assert printed(seen) == "new\n"


async def slow(server):
    """Who reads slowly loses outputs and is told; states and replies come."""
    kernel = await server.start()
    client = await server.connect(kernel, V1)
    quick = await server.connect(kernel)
    code = "for i in range(120): display({'text/plain': str(i) + 'x' * 500_000}, raw=True)\nprint('end')"
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    asked = await client.send("shell", "execute_request", content)
    # It does not read while the other one sees all of it go by.
    _, seen = await quick.until(lambda m: state("idle")(m) and m.parent.get("msg_id") == asked)
    reply, seen = await client.end_of(asked)
    assert reply["status"] == "ok", reply
    notices = [m for m in seen if m.kind == "stream" and "left out" in m.content["text"]]
    assert notices and notices[0].parent["msg_id"] == asked, seen[-5:]
    shown = [m for m in seen if m.kind == "display_data"]
    assert 0 < len(shown) < 120, len(shown)
    assert (await client.run("2"))[0]["status"] == "ok"


async def access(server):
    """Who may talk: whoever has the token, in the ways that clients send it, and no other page."""
    kernel = await server.start()
    other = {"Origin": "http://localhost:8888"}

    async def may(headers, query=""):
        try:
            client = await server.connect(kernel, query=query, headers=headers)
        except HTTPClientError as error:
            assert error.code in (401, 403), error
            return False
        client.socket.close()
        return True

    # By the kernel's word: we are the same user.
    assert await may({})
    # A browser of ours on a page of ours, and on a page of somebody else's.
    assert await may({"Origin": server.url})
    assert not await may(other)
    assert not await may({"Origin": "https://evil.example"})
    assert await may(other, f"&token={server.token}")
    assert not await may(other, "&token=wrong")
    assert await may({**other, "Authorization": f"token {server.token}"})
    assert await may({**other, "Authorization": f"Bearer {server.token}"})
    assert not await may({"Host": "evil.example"})


async def nonsense(server):
    """What is no message ends its own conversation and nobody else's."""
    kernel = await server.start()
    good = await server.connect(kernel)
    frames = ["{}", "[]", "hello", b"\xff" * 64, b"", '{"header": {"msg_id": "1"}}']
    frames.append(json.dumps({"channel": "iopub", "header": {"msg_id": "1", "msg_type": "x"}}))
    for protocol in (None, V1):
        for frame in frames:
            client = await server.connect(kernel, protocol)
            await client.socket.write_message(frame, binary=isinstance(frame, bytes))
            _, code, reason = await client.closed()
            assert code == 1008 and reason, (frame, code, reason)
    client = await server.connect(kernel)
    try:
        await client.socket.write_message("x" * (17 << 20))
        await client.closed()
    except WebSocketClosedError:
        pass
    assert (await client.socket.read_message()) is None
    assert (await good.run("1"))[0]["status"] == "ok"


async def many(server):
    """Only so many clients share a kernel."""
    kernel = await server.start()
    clients = [await server.connect(kernel) for _ in range(16)]
    try:
        await server.connect(kernel)
    except HTTPClientError as error:
        assert error.code in (429, 503), error
    else:
        raise AssertionError("there is no end to clients")
    clients.pop().socket.close()
    for _ in range(100):
        if (await server.ask("GET", f"/api/kernels/{kernel}"))[1]["connections"] == 15:
            break
        await asyncio.sleep(0.1)
    clients.append(await server.connect(kernel))
    assert (await clients[-1].run("1"))[0]["status"] == "ok"


def main():
    port, token, story = sys.argv[1:]
    AsyncHTTPClient.configure(None, max_body_size=1 << 30)
    asyncio.run(globals()[story](Server(port, token)))
    print("as told")


if __name__ == "__main__":
    main()
