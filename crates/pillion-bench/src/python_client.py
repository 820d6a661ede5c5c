"""Baseline: a Python program that asks the daemon once, as `pillion call` does.

Arguments: the socket, the method, its parameters as JSON.
"""

import json
import socket
import sys

path, method, params = sys.argv[1:]
request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": json.loads(params)}
body = json.dumps(request).encode()
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(path)
    connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    with connection.makefile("rb") as stream:
        length = 0
        for line in stream:
            if not line.strip():
                break
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        answer = json.loads(stream.read(length))
print(json.dumps(answer["result"]))
