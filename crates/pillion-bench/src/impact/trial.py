"""What `pillion bench impact` does in Python: fetch a project, and choose what to break.

    trial.py fetch NAME==VERSION SHA256 TARGET
    trial.py mutants ROOT PACKAGE SEED EXECUTED.json
"""

import ast
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

# Pip asks the build backend who a package is before it keeps its archive. A stand-in answers,
# so nothing of the package is run or built.
STAND_IN = """
import os, re

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    head = open("PKG-INFO", encoding="utf-8").read()
    name, version = (re.search(f"^{key}: (.+)$", head, re.M)[1] for key in ("Name", "Version"))
    info = os.path.join(folder, f"{name}-{version}.dist-info")
    os.mkdir(info)
    with open(os.path.join(info, "METADATA"), "w", encoding="utf-8") as file:
        file.write(f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return os.path.basename(info)

def get_requires_for_build_wheel(config_settings=None):
    return []
"""
BACKENDS = ["setuptools.build_meta", "flit_core.buildapi", "hatchling.build"]


def fetch(package: str, sha256: str, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temp:
        backends = pathlib.Path(temp, "backends")
        for backend in BACKENDS:
            place, module = backend.split(".")
            (backends / place).mkdir(parents=True)
            (backends / place / "__init__.py").write_text("")
            (backends / place / f"{module}.py").write_text(STAND_IN)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--no-binary", ":all:", "--no-build-isolation", "--disable-pip-version-check"]
        environment = {**os.environ, "PYTHONPATH": str(backends)}
        subprocess.run([*pip, "--dest", temp, package], check=True, env=environment)
        [archive] = pathlib.Path(temp).glob("*.tar.gz")
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != sha256:
            sys.exit(f"{archive.name} is not the known one: its SHA-256 is {found}")
        unpacked = pathlib.Path(temp, "unpacked")
        with tarfile.open(archive) as tar:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(unpacked, **safely)
        [only] = unpacked.iterdir()
        try:
            only.rename(target)
        except OSError:
            # Another bench was faster.
            shutil.rmtree(only)


def functions(tree: ast.AST, prefix: str = ""):
    """All functions of a module, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def mutants(root: pathlib.Path, package: str, seed: str, executed: set) -> list:
    """Functions that tests execute, in an order that only the seed decides."""
    found = []
    for path in sorted((root / package).rglob("*.py")):
        file = path.relative_to(root).as_posix()
        for name, node in functions(ast.parse(path.read_text(encoding="utf-8"))):
            if f"{file}:{name}" not in executed:
                continue
            body = node.body
            if ast.get_docstring(node) is not None and len(body) > 1:
                body = body[1:]
            first = body[0]
            # What stands behind the colon has no line of its own.
            if first.lineno <= node.lineno:
                continue
            start = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))])
            order = hashlib.sha256(f"{seed}:{file}:{name}".encode()).hexdigest()
            column = first.col_offset
            found.append((order, {"file": file, "name": name, "line": start, "column": column}))
    return [mutant for _, mutant in sorted(found, key=lambda pair: pair[0])]


if __name__ == "__main__":
    if sys.argv[1] == "fetch":
        fetch(sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]))
    else:
        root, package, seed, executed = sys.argv[2:]
        known = set(json.loads(pathlib.Path(executed).read_text())["executed"])
        print(json.dumps(mutants(pathlib.Path(root), package, seed, known)))
