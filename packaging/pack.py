"""Put ready programs into packages: `python packaging/pack.py --help`.

`cargo xtask dist` calls this after it has built them. Nothing but Python's own library is
needed, and nothing is built or fetched here, so the programs may come from anywhere.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import archives
import binaries
import formats
from binaries import PackError
from formats import TARGETS, Release

ROOT = Path(__file__).parent.parent
TEXTS = ("LICENSE-APACHE", "LICENSE-MIT", "README.md")


def main() -> int:
    """Pack, and say what came out."""
    parser = argparse.ArgumentParser(description="Put ready programs into packages.")
    parser.add_argument("--version", required=True, help="the version of the release")
    parser.add_argument(
        "--binary",
        action="append",
        required=True,
        metavar="TRIPLE=FILE",
        help="a program and its platform; may be said for several",
    )
    parser.add_argument(
        "--shared", type=Path, required=True, metavar="DIR", help="completions and man pages"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args()
    try:
        pack(arguments)
    except (PackError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def pack(arguments: argparse.Namespace) -> None:
    """Write all packages of all programs."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    shared = tuple((f"share/{name}", data) for name, data in archives.files_below(arguments.shared))
    texts = tuple((name, (ROOT / name).read_bytes()) for name in TEXTS)
    arguments.out.mkdir(parents=True, exist_ok=True)
    platforms = []
    for pair in arguments.binary:
        triple, _, file = pair.partition("=")
        if triple not in TARGETS or not file:
            raise PackError(f"`{pair}` is not one of {', '.join(TARGETS)}, `=`, and a file")
        target = TARGETS[triple]
        binary = binaries.read(Path(file))
        release = Release(arguments.version, target, binary, shared, texts, epoch)
        platforms.append(target.npm)
        for make in (formats.archive, formats.wheel, formats.npm_platform, formats.debian):
            write(arguments.out, make(release))
    licences = [(name, data) for name, data in texts if name.startswith("LICENSE")]
    write(arguments.out, formats.npm_main(arguments.version, platforms, licences, epoch))


def write(folder: Path, package: tuple[str, bytes] | None) -> None:
    """Write one package."""
    if package is None:
        return
    name, data = package
    (folder / name).write_bytes(data)
    print(f"{len(data) / 1e6:7.1f} MB  {name}")


if __name__ == "__main__":
    sys.exit(main())
