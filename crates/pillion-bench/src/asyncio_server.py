"""Baseline: what people write first. JSON-RPC 2.0 in Content-Length frames on a Unix socket,
served by asyncio: no supervision, no deadlines, no cancelling, no reloading.
"""

import asyncio
import importlib
import json
import sys


def find(name):
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


async def read_frame(reader):
    length = None
    while True:
        line = await reader.readline()
        if not line:
            return None
        line = line.strip()
        if not line:
            break
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return await reader.readexactly(length)


def answer(request):
    try:
        params = request["params"]
        result = find(params["function"])(*params["params"])
    except Exception as error:
        failure = {"code": -32603, "message": repr(error)}
        return {"jsonrpc": "2.0", "id": request.get("id"), "error": failure}
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


async def serve(reader, writer):
    try:
        while True:
            frame = await read_frame(reader)
            if frame is None:
                break
            body = json.dumps(answer(json.loads(frame))).encode()
            writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main(path):
    server = await asyncio.start_unix_server(serve, path)
    async with server:
        await server.serve_forever()


asyncio.run(main(sys.argv[1]))
