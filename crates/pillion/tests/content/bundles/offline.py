"""Let PILLION, the program of a bundle, work in a place without network, and say what was seen.

Run by the Python of the same bundle.
"""

import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import urllib.request

pillion = sys.argv[1]

# A new network has nothing, not even a way from the machine to itself.
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wires:
    request = struct.pack("16sh", b"lo", 0x1 | 0x40)
    fcntl.ioctl(wires, 0x8914, request)

seen = {"path": os.environ.get("PATH"), "interfaces": [name for _, name in socket.if_nameindex()]}
called = subprocess.run(
    [pillion, "--no-daemon", "call", "math:hypot", "[3, 4]"],
    check=False,
    capture_output=True,
    text=True,
)
seen["hypot"] = called.stdout.strip() or called.stderr
where = subprocess.run(
    [pillion, "--no-daemon", "call", "things:executable"],
    check=False,
    capture_output=True,
    text=True,
)
seen["executable"] = where.stdout.strip() or where.stderr

desktop = subprocess.Popen(
    [pillion, "serve", "--desktop", "--port", "0"], stdout=subprocess.PIPE, text=True
)
try:
    address = re.search(r"http://\S+", desktop.stdout.readline())[0]
    with urllib.request.urlopen(address + "/health", timeout=30) as answer:
        seen["health"] = json.load(answer)
    asked = urllib.request.Request(
        address + "/v1/py.call",
        json.dumps({"function": "things:executable", "root": os.getcwd()}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        seen["served"] = json.load(answer)["result"]
finally:
    desktop.send_signal(signal.SIGTERM)
    desktop.wait(30)
print(json.dumps(seen))
