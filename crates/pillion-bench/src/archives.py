"""Fetch a source archive by name, check that it is the known one, and unpack it.

Pip asks the build backend who a package is before it keeps its archive. A stand-in answers
for each backend, so nothing of the package is run or built.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

STAND_IN = """
import os, re, sys

# What pip asks where an archive names no backend.
__legacy__ = sys.modules[__name__]

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    head = open("PKG-INFO", encoding="utf-8").read()
    name, version = (re.search(f"^{key}: (.+)$", head, re.M)[1] for key in ("Name", "Version"))
    info = os.path.join(folder, f"{name.replace('-', '_')}-{version}.dist-info")
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
        pip += ["--no-binary", ":all:", "--no-build-isolation", "--use-pep517"]
        pip += ["--disable-pip-version-check"]
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


if __name__ == "__main__":
    fetch(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
