"""Baseline: a warm Python that looks for a pattern in every file, line by line.

One JSON line in, one out. Argument: the root of the tree.
"""

import json
import os
import re
import sys

root = sys.argv[1]
for asked in sys.stdin.buffer:
    wanted = re.compile(re.escape(json.loads(asked)["pattern"]))
    found = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found += sum(1 for line in file if wanted.search(line))
            except (OSError, UnicodeDecodeError):
                continue
    sys.stdout.write(json.dumps({"found": found}) + "\n")
    sys.stdout.flush()
