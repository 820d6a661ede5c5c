"""Stands in for a daemon of another version: python -c ... SOCKET VERSION idle|busy."""

import json
import os
import socketserver
import sys

path, version, state = sys.argv[1:]


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while header := self.rfile.readline():
            self.rfile.readline()
            request = json.loads(self.rfile.read(int(header.split(b":")[1])))
            result = {
                "system.ping": {"pong": True, "timestamp": "2020-01-01T00:00:00Z"},
                "system.version": {"version": version},
                "system.status": {"idle": state == "idle", "pid": os.getpid(), "version": version},
                "system.shutdown": {"acknowledged": True},
            }.get(request["method"])
            body = json.dumps({"jsonrpc": "2.0", "result": result, "id": request["id"]}).encode()
            self.wfile.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.wfile.flush()
            if request["method"] == "system.shutdown":
                os.unlink(path)
                os._exit(0)


with socketserver.ThreadingUnixStreamServer(path, Handler) as server:
    print("ready", flush=True)
    server.serve_forever()
