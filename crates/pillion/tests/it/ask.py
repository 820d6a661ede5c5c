"""What curl would do: `ask.py PORT METHOD PATH [NAME:VALUE]...`; prints status, headers and body."""

import http.client
import json
import sys

port, method, path, *headers = sys.argv[1:]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
given = dict(header.split(":", 1) for header in headers)
body = "{}" if method == "POST" else None
if body:
    given.setdefault("Content-Type", "application/json")
connection.request(method, path, body, given)
answer = connection.getresponse()
names = {name.lower(): value for name, value in answer.getheaders()}
print(json.dumps([answer.status, names, answer.read().decode()]))
