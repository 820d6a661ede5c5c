"""Stands in for setuptools while pip fetches a source archive.

Pip asks the build backend who the package is before it keeps the archive. The name of the
archive says that already, so nothing of the package is run or built.
"""

import os
import re


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    with open("PKG-INFO", encoding="utf-8") as file:
        head = file.read()
    name, version = (re.search(f"^{key}: (.+)$", head, re.M)[1] for key in ("Name", "Version"))
    info = f"{name}-{version}.dist-info"
    os.mkdir(os.path.join(folder, info))
    with open(os.path.join(folder, info, "METADATA"), "w", encoding="utf-8") as file:
        file.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return info


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(folder, config_settings=None, metadata_directory=None):
    raise NotImplementedError("nothing is built here")
