"""Lets `python WORKER_DIR worker ...` run the package that lies beside this file."""

from pillion.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
