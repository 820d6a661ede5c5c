"""Baseline: Rope in one plain process on a whole project. One JSON line in, one out.

Argument: the root of the tree. Changes are computed and thrown away.
"""

import json
import sys
import warnings

from rope.base.project import Project
from rope.refactor.extract import ExtractMethod, ExtractVariable
from rope.refactor.importutils import ImportOrganizer
from rope.refactor.rename import Rename

warnings.simplefilter("ignore")
# Some files of Django's tests are broken on purpose.
project = Project(sys.argv[1], ropefolder=None, ignore_syntax_errors=True)


def changes(request):
    file = project.get_resource(request["path"])
    start, end, name = request["start"], request["end"], request["name"]
    if request["method"] == "rename":
        return Rename(project, file, start).get_changes(name)
    if request["method"] == "organize":
        return ImportOrganizer(project).organize_imports(file)
    kind = ExtractVariable if request["method"] == "extract-var" else ExtractMethod
    return kind(project, file, start, end).get_changes(name)


for asked in sys.stdin.buffer:
    request = json.loads(asked)
    reply = {"files": 0}
    try:
        made = changes(request)
        reply["files"] = len(made.changes) if made else 0
    except Exception as problem:
        reply["failed"] = repr(problem)
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
