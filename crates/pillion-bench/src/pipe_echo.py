"""Baseline: the least a warm Python can do. One JSON line in, one out, no supervision."""

import json
import sys

from bench_target import echo

lines = sys.stdin.buffer
out = sys.stdout.buffer
for line in lines:
    request = json.loads(line)
    answer = {"id": request["id"], "result": echo(*request["params"])}
    out.write(json.dumps(answer).encode() + b"\n")
    out.flush()
