"""Make a small tree of this very Python that runs wherever it lies: TARGET."""

import os
import shutil
import sys
import sysconfig

LEFT_OUT = {
    "__pycache__",
    "site-packages",
    "dist-packages",
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "lib2to3",
    "ensurepip",
    "pydoc_data",
}

target = sys.argv[1]
name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
library = sysconfig.get_path("stdlib")


def ignored(_folder: str, names: list[str]) -> set[str]:
    """Say which names of a folder are left out."""
    return {n for n in names if n in LEFT_OUT or n.startswith("config-") or n == "sitecustomize.py"}


shutil.copytree(library, os.path.join(target, "lib", name), ignore=ignored)
os.makedirs(os.path.join(target, "bin"))
program = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
shutil.copy(program, os.path.join(target, "bin", name))
os.symlink(name, os.path.join(target, "bin", "python3"))
shared = os.path.join(
    sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or ""
)
if sysconfig.get_config_var("Py_ENABLE_SHARED") and os.path.isfile(shared):
    shutil.copy(shared, os.path.join(target, "lib"))
