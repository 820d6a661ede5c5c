"""A host of the old contract: starts the child, waits for its ready line, asks in lines.

The command line of the child is all that is new about it.
"""

import json
import subprocess
import sys

child = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
ready = json.loads(child.stdout.readline())
if ready.get("status") != "ready":
    sys.exit(f"not ready: {ready}")
project = sys.argv[1]
answers = {}
for id, (name, command, args) in enumerate(json.loads(sys.argv[2]), start=1):
    request = {"id": id, "command": command, "project": project, "args": args}
    child.stdin.write(json.dumps(request) + "\n")
    child.stdin.flush()
    answer = json.loads(child.stdout.readline())
    if answer["id"] != id:
        sys.exit(f"asked {id}, answered {answer}")
    answers[name] = answer
child.stdin.close()
if child.wait() != 0:
    sys.exit(f"the child ended with {child.returncode}")
print(json.dumps(answers))
