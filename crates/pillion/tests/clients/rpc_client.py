"""A stock JSON-RPC 2.0 client for a Unix socket: python rpc_client.py SOCKET METHOD [PARAMS].

Nothing in it knows pillion. Prints the result, or the error object, as JSON.
"""

import json
import socket
import sys


def read_frame(stream):
    length = 0
    while (line := stream.readline().strip()):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(stream.read(length))


def call(path, method, params):
    request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    body = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        with connection.makefile("rb") as stream:
            while (answer := read_frame(stream)).get("id") != 1:
                pass  # a notification
    return answer


if __name__ == "__main__":
    path, method, *rest = sys.argv[1:]
    answer = call(path, method, json.loads(rest[0]) if rest else None)
    print(json.dumps(answer["result"] if "result" in answer else answer["error"]))
