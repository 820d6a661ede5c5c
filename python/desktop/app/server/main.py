"""The target of `python -m uvicorn app.server.main:app`: that process becomes pillion.

Importing this by other means changes nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    from pillion import desktop
except ImportError:
    # A bundle may have the package beside this tree without knowing of it.
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    from pillion import desktop


async def app(*_: Any) -> None:
    """Say that this is no application: there is nothing here to be called."""
    raise RuntimeError(
        "`app.server.main:app` is pillion, which is no ASGI application: start it with"
        " `python -m uvicorn app.server.main:app` or `python -m pillion.desktop`"
    )


if desktop.is_uvicorn(sys.argv):
    desktop.become(desktop.options(sys.argv[1:]))
