"""The checksums of all files of a folder, in one file that `sha256sum --check` reads.

    python packaging/sums.py DIR

One signature of that file then stands for all of them.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

NAME = "SHA256SUMS"


def main() -> int:
    """Write the file."""
    folder = Path(sys.argv[1])
    files = sorted(path for path in folder.iterdir() if path.is_file() and NAME not in path.name)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / NAME).write_text("".join(lines))
    print(f"{len(files)} checksums in {NAME}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
