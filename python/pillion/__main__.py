"""`python -m pillion`: which mode to run. Each mode imports only what it needs."""

from __future__ import annotations

import sys

USAGE = """\
usage: python -m pillion worker --root DIR [--path DIR]... [--preload MODULE]...
                                [--control-fd N] [--max-line BYTES]
       python -m pillion serve MODULE... [--sidecar] [--root DIR] [--path DIR]...
       python -m pillion serve MODULE... --command NAME [--project PATH] [--args JSON]

worker  answer pillion on stdin and stdout (docs/reference/worker-protocol.md)
serve   offer the functions of modules as commands, to any host: as a sidecar that stays,
        or once with --command
"""


def main(argv: list[str] | None = None) -> int:
    """Run one mode and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    mode, rest = (words[0], words[1:]) if words else ("", [])
    if mode in ("-h", "--help") or (mode in ("worker", "serve") and {"-h", "--help"} & {*rest}):
        print(USAGE, end="")
        return 0
    if mode == "worker":
        from pillion import worker

        return worker.main(rest)
    if mode == "serve":
        from pillion import serve

        return serve.main(rest)
    problem = f"unknown mode `{mode}`" if mode else "no mode given"
    print(f"error: {problem}\n{USAGE}", end="", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
