"""Call a function by RUNTIME, an installed bundle, below ROOT, a folder with nothing else in it.

Beside the runtime there are the C library, `/proc` and `/dev/null`. Run as the root of a user
namespace with mounts of its own.
"""

import os
import re
import shutil
import subprocess
import sys

runtime, root = sys.argv[1:]
inside = "/opt/runtime"
shutil.copytree(runtime, root + inside, symlinks=True)

# What the loader wants for the two programs, and the loader itself.
libraries: set[str] = set()
for program in ("sidecar/bin/pillion", "python/bin/python3"):
    wanted = subprocess.run(
        ["ldd", os.path.join(runtime, program)], check=True, capture_output=True, text=True
    )
    libraries.update(re.findall(r"(?:=> |^\s*)(/\S+) \(0x", wanted.stdout, re.MULTILINE))
for library in libraries:
    # One that the runtime brought is found beside its program, below the root as well.
    if not library.startswith(runtime):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, root + library)

os.makedirs(root + "/proc")
os.makedirs(root + "/dev")
os.makedirs(root + "/home")
with open(root + "/dev/null", "w", encoding="utf-8"):
    pass
subprocess.run(["mount", "--rbind", "/proc", root + "/proc"], check=True)
subprocess.run(["mount", "--bind", "/dev/null", root + "/dev/null"], check=True)

os.chroot(root)
os.chdir("/home")
program = inside + "/sidecar/bin/pillion"
arguments = [program, "--no-daemon", "call", "math:hypot", "[3, 4]"]
os.execve(program, arguments, {"HOME": "/home", "PATH": ""})
