"""`python -m pillion.desktop`: pillion as the engine of a desktop app, in this process's place.

A desktop app that starts its engine as `python -m uvicorn app.server.main:app --host H --port P`
goes on doing so: `app.server.main` comes here (python/desktop in pillion's sources). The process
becomes pillion, so its pid, its standard streams and what signals do to it stay as they were.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

# What uvicorn is told to serve.
TARGET = "app.server.main"
# Folders above this file in which a bundle may keep `bin/pillion`: beside the package, and where
# an environment has it (lib/python3.X/site-packages/pillion).
LEVELS = 6

USAGE = "usage: python -m pillion.desktop [--host ADDRESS] [--port PORT]\n"


class NotFoundHereError(Exception):
    """There is no pillion to run."""


def find(environment: Mapping[str, str] = os.environ) -> str:
    """The pillion program: PILLION_BIN, else that of the bundle, else the one on PATH."""
    named = environment.get("PILLION_BIN", "")
    if named:
        path = shutil.which(named, path=environment.get("PATH"))
        if path is None:
            raise NotFoundHereError(f"PILLION_BIN names `{named}`, which is no program")
        return str(Path(path).absolute())
    name = "pillion.exe" if os.name == "nt" else "pillion"
    for folder in [*Path(__file__).resolve().parents[:LEVELS], Path(sys.prefix)]:
        path = folder / "bin" / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("pillion", path=environment.get("PATH"))
    if found is None:
        raise NotFoundHereError("there is no program `pillion` in this bundle, nor on PATH")
    return str(Path(found).absolute())


def options(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> list[str]:
    """What uvicorn's command line says about the address, in pillion's words.

    The rest of it is about how uvicorn works. Where it says nothing, its variables count, and
    then pillion's own (HOST and PORT).
    """
    said = {
        "--host": environment.get("UVICORN_HOST", ""),
        "--port": environment.get("UVICORN_PORT", ""),
    }
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in said:
            said[name] = value if equals else next(rest, "")
    return [part for name, value in said.items() if value for part in (name, value)]


def is_uvicorn(argv: Sequence[str]) -> bool:
    """Whether this process was started to serve a desktop app's engine by uvicorn."""
    if not argv:
        return False
    program = Path(argv[0])
    is_module = program.name == "__main__.py" and program.parent.name == "uvicorn"
    is_script = program.name in ("uvicorn", "uvicorn.exe")
    return (is_module or is_script) and any(word.partition(":")[0] == TARGET for word in argv[1:])


def become(words: Sequence[str]) -> NoReturn:
    """Run `pillion serve --desktop` with these options in this process's place."""
    try:
        program = find()
    except NotFoundHereError as error:
        sys.stderr.write(f"error: {error}\nhint: set PILLION_BIN to the path of the program\n")
        raise SystemExit(1) from None
    command = [program, "serve", "--desktop", *words]
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":
        run_beside(command)
    # Python ignores it, and what is ignored stays so in the program that is run.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(program, command)  # noqa: S606 - there is no shell between


def run_beside(command: Sequence[str]) -> NoReturn:
    """The same where a process cannot become another one: it waits, and ends as that one does."""
    import subprocess

    with subprocess.Popen(command) as child:  # noqa: S603 - our own program
        while True:
            try:
                code = child.wait()
                break
            except KeyboardInterrupt:
                # The console tells both of us, and the child ends by itself.
                continue
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Become pillion, or say how that is asked for."""
    words = list(sys.argv[1:] if argv is None else argv)
    if {"-h", "--help"} & {*words}:
        sys.stdout.write(USAGE)
        return 0
    unknown = [word for word in words if word.startswith("-") and not known(word)]
    if unknown:
        sys.stderr.write(f"error: unknown option `{unknown[0]}`\n{USAGE}")
        return 2
    become(options(words))


def known(word: str) -> bool:
    """Whether it is an option of ours."""
    return word.partition("=")[0] in ("--host", "--port")


if __name__ == "__main__":
    raise SystemExit(main())
