"""Baseline: Jedi in one warm process. One JSON line in, one out.

Argument: the root of the tree. A question that takes longer than its `seconds` is given up.
"""

import json
import signal
import sys

import jedi

project = jedi.Project(sys.argv[1])


class TooLong(BaseException):
    pass


def give_up(*_):
    raise TooLong


def answer(request):
    script = jedi.Script(path=request["path"], project=project)
    line, column = request["line"], request["col"] - 1
    if request["method"] == "defs":
        return len(script.goto(line, column, follow_imports=True))
    if request["method"] == "refs":
        return len(script.get_references(line, column))
    return sum(len(name.docstring()) for name in script.help(line, column))


signal.signal(signal.SIGALRM, give_up)
for asked in sys.stdin.buffer:
    request = json.loads(asked)
    reply = {"found": 0, "given_up": False}
    try:
        signal.setitimer(signal.ITIMER_REAL, request["seconds"])
        try:
            reply["found"] = answer(request)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TooLong:
        reply["given_up"] = True
    except Exception as problem:
        reply["failed"] = repr(problem)
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
