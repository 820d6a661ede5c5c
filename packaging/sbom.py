"""A list of everything that a program is made of, in CycloneDX 1.5, from what Cargo says.

    cargo metadata --format-version 1 --locked --filter-platform TRIPLE | python sbom.py Cargo.lock

The list has what is linked into the program; what is only needed to build it is left out. The
hashes are those of Cargo's lock file.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

PROGRAM = "pillion"


def main() -> int:
    """Read Cargo's words from standard input and write the list to standard output."""
    lock = Path(sys.argv[1]).read_text()
    json.dump(bill(json.load(sys.stdin), checksums(lock)), sys.stdout, indent=2)
    print()
    return 0


def checksums(lock: str) -> dict[tuple[str, str], str]:
    """The hash of every package from a registry, by name and version."""
    found = {}
    for block in lock.split("[[package]]"):
        fields = dict(re.findall(r'^(name|version|checksum) = "(.*)"$', block, re.MULTILINE))
        if "checksum" in fields:
            found[fields["name"], fields["version"]] = fields["checksum"]
    return found


def bill(metadata: dict[str, Any], hashes: dict[tuple[str, str], str]) -> dict[str, Any]:
    """The list as a document."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: linked(node) for node in metadata["resolve"]["nodes"]}
    members = set(metadata["workspace_members"])
    root = next(id for id in members if packages[id]["name"] == PROGRAM)
    reached = {root}
    waiting = [root]
    while waiting:
        for dependency in nodes[waiting.pop()]:
            if dependency not in reached and not is_macro(packages[dependency]):
                reached.add(dependency)
                waiting.append(dependency)
    order = sorted(reached, key=lambda one: (packages[one]["name"], packages[one]["version"]))
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    components = {id: component(packages[id], hashes) for id in order}
    reference = {id: components[id]["bom-ref"] for id in order}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, ' '.join(reference.values()))}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).isoformat(),
            "component": {**components[root], "type": "application"},
        },
        "components": [components[id] for id in order if id != root],
        "dependencies": [
            {
                "ref": reference[id],
                "dependsOn": sorted(reference[other] for other in nodes[id] if other in reached),
            }
            for id in order
        ],
    }


def linked(node: dict[str, Any]) -> list[str]:
    """What a package links to, without what only builds or tests it."""
    kinds = {
        dependency["pkg"]: {kind["kind"] for kind in dependency["dep_kinds"]}
        for dependency in node["deps"]
    }
    return [id for id, kind in kinds.items() if None in kind]


def is_macro(package: dict[str, Any]) -> bool:
    """Whether it runs in the compiler only."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def component(package: dict[str, Any], hashes: dict[tuple[str, str], str]) -> dict[str, Any]:
    """One package."""
    name, version = package["name"], package["version"]
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:cargo/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if package.get("license"):
        # `/` is how Cargo once wrote OR.
        expression = re.sub(r"\s*/\s*", " OR ", package["license"])
        found["licenses"] = [{"expression": expression}]
    if (name, version) in hashes:
        found["hashes"] = [{"alg": "SHA-256", "content": hashes[name, version]}]
    return found


if __name__ == "__main__":
    sys.exit(main())
