#!/usr/bin/env python3
"""Stands in for `pillion daemon`. The file `behaviour` beside it says what it does."""

import json, os, pathlib, socketserver, sys, time

here = pathlib.Path(__file__).resolve().parent
behaviour = json.loads((here / "behaviour").read_text())
with open(here / "spawns", "a") as spawns:
    spawns.write(json.dumps({"pid": os.getpid(), "args": sys.argv[1:], "cwd": os.getcwd()}) + "\n")
path = sys.argv[sys.argv.index("--socket") + 1]
if "fail" in behaviour:
    sys.stderr.write(behaviour["fail"] + "\n")
    sys.exit(1)
if behaviour.get("hang"):
    time.sleep(600)
if behaviour.get("lose_first") and len((here / "spawns").read_text().splitlines()) == 1:
    sys.exit(75)
if behaviour.get("lose"):
    sys.exit(75)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while header := self.rfile.readline():
            length = int(header.split(b":")[1])
            self.rfile.readline()
            request = json.loads(self.rfile.read(length))
            method = request["method"]
            if "id" not in request:
                continue
            if method == "die":
                os._exit(3)
            result = {
                "system.ping": {"pong": True},
                "system.version": {"version": behaviour.get("version", "0.1.0")},
                "system.status": {"idle": behaviour.get("idle", True)},
                "pid": os.getpid(),
            }.get(method)
            body = json.dumps({"jsonrpc": "2.0", "result": result, "id": request["id"]}).encode()
            self.wfile.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.wfile.flush()
            if method == "system.shutdown":
                os.unlink(path)
                os._exit(0)


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


try:
    os.unlink(path)
except FileNotFoundError:
    pass
Server(path, Handler).serve_forever()
