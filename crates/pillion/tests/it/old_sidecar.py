"""A program of the old contract, with every bad habit: it prints, it is late, it dies."""

import json
import os
import sys
import time

print(json.dumps({"status": "ready"}), flush=True)
calls = 0
for line in sys.stdin:
    line = line.strip()
    if not line:
        continue
    request = json.loads(line)
    command, args, id = request["command"], request["args"], request["id"]
    calls += 1
    result = None
    if command == "echo":
        result = {"args": args, "project": request["project"]}
    elif command == "pid":
        result = {"pid": os.getpid(), "calls": calls}
    elif command == "env":
        result = {"value": os.environ.get(args["name"])}
    elif command == "noisy":
        print("loading model ...", flush=True)
        print(json.dumps({"progress": 50}), flush=True)
        print(json.dumps({"id": 999_999, "result": "nobody asked"}), flush=True)
        print("", flush=True)
        print(json.dumps([1, 2, 3]), flush=True)
        result = {"noisy": True}
    elif command == "late":
        time.sleep(args["seconds"])
        result = {"late": True}
    elif command == "twice":
        print(json.dumps({"id": id, "result": {"first": True}}), flush=True)
        result = {"second": True}
    elif command == "die":
        with open(args["mark"], "a") as file:
            file.write("x\n")
        sys.stderr.write("I am dying\n")
        sys.stderr.flush()
        os._exit(11)
    elif command == "die_once":
        with open(args["mark"], "a") as file:
            file.write("x\n")
        if os.path.getsize(args["mark"]) == 2:
            os._exit(11)
        result = {"survived": True}
    elif command == "fail":
        error = {"code": "file_not_found", "message": "no such file", "recoverable": True,
                 "type": "FileNotFoundError"}
        print(json.dumps({"id": id, "error": error}), flush=True)
        continue
    elif command == "grow":
        kept = b"\x01" * (args["megabytes"] << 20)
        time.sleep(60)
        result = {"kept": len(kept)}
    elif command == "shout":
        sys.stderr.write("x" * (args["megabytes"] << 20))
        result = {"shouted": True}
    else:
        result = {"error": "UnknownCommand", "message": f"Unknown command: {command}"}
    print(json.dumps({"id": id, "result": result}), flush=True)
