"""Giving memory back: the user's `on_trim` callbacks, known caches, the allocator."""

from __future__ import annotations

import sys

from pillion.state import STATE, TRIM_CALLBACKS


def run() -> None:
    """Drop what can be dropped. Main thread, between calls."""
    STATE.trim = False
    for callback in list(TRIM_CALLBACKS):
        try:
            callback()
        except BaseException as error:
            # A failing cache must neither end the worker nor keep the other caches alive.
            print(f"pillion: on_trim callback failed: {error!r}", file=sys.stderr)
    for name, function in (("re", "purge"), ("linecache", "clearcache")):
        module = sys.modules.get(name)
        if module is not None:
            getattr(module, function)()
    encode = sys.modules.get("pillion.encode")
    if encode is not None:
        encode.forget_types()
    import gc

    gc.collect()
    _return_free_memory()


def _return_free_memory() -> None:
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError):
        pass  # not glibc
