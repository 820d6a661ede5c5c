"""`python -m uvicorn app.server.main:app` without uvicorn: importing the target is all it takes."""

from __future__ import annotations

import sys


def main() -> int:
    """Become what the command line asks for, if that is pillion."""
    # If it is asked for, this does not come back.
    from app.server import main as target

    name = target.desktop.TARGET
    sys.stderr.write(f"error: this uvicorn serves `{name}:app` and nothing else\n")
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
