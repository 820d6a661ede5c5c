"""The end of a run: what Python does when a program ends, then the result, then the process.

The interpreter is not torn down, which would touch every page shared with the zygote. So what a
program can notice of that is done here: threads are waited for, exit functions called, what
the program's modules hold is let go (files are flushed, `__del__` runs), streams are flushed.
"""

from __future__ import annotations

import os
import sys

from pillion.lane import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# As `pillion.encode` has it, which is not imported on the way of a cold run.
_INFINITE = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
MAX_TEXT = 8 * 1024
MAX_REPR = 64 * 1024
_ENOSPC, _EDQUOT, _EFBIG, _EAGAIN, _ENOMEM = 28, 122, 27, 11, 12
_FORKS = frozenset(("fork", "forkpty", "fork_exec", "posix_spawn", "posix_spawnp"))
_OUT_OF_MEMORY = {"exception": {"type": "MemoryError", "message": "", "limit": "memory"}}
# Packed at import: when memory is gone there is none left to pack it with.
_OUT_OF_MEMORY_PACKED = messages.pack(_OUT_OF_MEMORY)
# Python's own exit code for output that could not be written at the end.
_FLUSH_FAILED = 120


class Outcome:
    """What the run came to, and where that is told."""

    def __init__(self, result: int | None, tools: int | None) -> None:
        self.pid = os.getpid()
        self.result = result
        self.tools = tools
        self.folder = self.newest = ""
        self.message: dict[str, Any] = {"exception": None}
        if result is not None:
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """A forked child of the program has no say in the run's result."""
        for descriptor in (self.result, self.tools):
            try:
                if descriptor is not None:
                    os.close(descriptor)
            except OSError:
                continue  # the program has closed it
        self.result = self.tools = None

    def returned(self, value: Any) -> None:
        """Keep what a function returned: as JSON, or how Python shows it."""
        try:
            plain = value
            try:
                messages.pack({"value": plain})
            except ValueError:
                plain = _finite(value)
                messages.pack({"value": plain})
            self.message["value"] = plain
        except (TypeError, ValueError, RecursionError):  # also UnicodeEncodeError
            try:
                text = repr(value)
            except Exception as error:
                text = f"<{type(value).__qualname__}, whose repr raised {type(error).__name__}>"
            self.message["repr"] = clean(text, MAX_REPR)

    def failed(self, error: BaseException) -> None:
        """Keep what the program was ended by."""
        try:
            text = str(error)
        except Exception:
            text = "(its text could not be made)"
        self.message["exception"] = {
            "type": clean(type(error).__qualname__, MAX_TEXT),
            "message": clean(text, MAX_TEXT),
            "limit": limit_of(error),
        }

    def tell(self) -> None:
        """Write the result, if there is someone to read it."""
        if self.result is None or os.getpid() != self.pid:
            return
        try:
            packed = messages.pack(self.message)
        except MemoryError:
            packed = _OUT_OF_MEMORY_PACKED
        try:
            messages.write(self.result, packed)
        except OSError:
            pass  # the program has closed it, or nobody reads


def _finite(value: Any) -> Any:
    """The same without numbers that JSON does not have, as results of calls are written.

    What is not a number is null, a value that is missing, as in tables; infinity is a text.
    """
    if isinstance(value, float):
        return None if value != value else _INFINITE.get(value, value)
    if type(value) is dict:
        return {
            _INFINITE.get(key, key) if type(key) is float else key: _finite(part)
            for key, part in value.items()
        }
    if type(value) in (list, tuple):
        return [_finite(part) for part in value]
    return value


def clean(text: str, most: int) -> str:
    r"""Bounded text that any JSON reader takes: lone surrogates written out as `\udc80`."""
    return text[:most].encode("utf-8", "backslashreplace").decode()


def limit_of(error: BaseException | None) -> str | None:
    """Which limit an exception tells of: memory, disk, processes, or none."""
    for _ in range(8):
        if error is None:
            break
        if isinstance(error, MemoryError):
            return "memory"
        if isinstance(error, OSError):
            if error.errno in (_ENOSPC, _EDQUOT, _EFBIG):
                return "disk"
            if error.errno == _ENOMEM:
                return "memory"
            if error.errno == _EAGAIN and _forked(error):
                return "processes"
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return "processes"
        error = error.__cause__
    return None


def _forked(error: BaseException) -> bool:
    """Was it a fork? A socket that would block raises the same error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and not _FORKS.isdisjoint(trace.tb_frame.f_code.co_names)


def end(outcome: Outcome, code: int) -> NoReturn:
    """End the program as Python would, tell the result, and be gone."""
    try:
        _quietly(_join_threads)
        _quietly(_run_exit_functions)
        flushed = _flush(sys.stdout, sys.stderr)
        _quietly(lambda: _let_go(outcome.folder, outcome.newest))
        flushed = _flush(sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__) and flushed
        _quietly(_flush_c)
        if not flushed:
            code = _FLUSH_FAILED
        outcome.tell()
    finally:
        os._exit(code & 0xFF)


def _quietly(step: Any) -> None:
    """One step of the end. Whatever it raises is shown as Python does, and the end goes on."""
    try:
        step()
    except BaseException as error:
        try:
            sys.__excepthook__(type(error), error, error.__traceback__)
        except BaseException:  # noqa: S110 - there is nowhere left to say it
            pass


def _join_threads() -> None:
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()


def _run_exit_functions() -> None:
    import atexit

    atexit._run_exitfuncs()


def _let_go(folder: str, newest: str) -> None:
    """Drop the program's modules: open files are written out, `__del__` methods run.

    `newest`: the module that was imported last before the program began.
    """
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    folder = folder.rstrip("/") + "/"
    added = []
    # Newest first, down to the last that was there before: older ones are not even touched.
    for name in reversed(sys.modules):
        if name == newest:
            break
        added.append(name)
    owned = [name for name in added if _is_below(sys.modules.get(name), folder)]
    if "__main__" in sys.modules and "__main__" not in owned:
        owned.append("__main__")
    # Functions and classes know their module's names, which know them.
    circular = any(
        callable(value) or isinstance(value, (list, dict))
        for name in owned
        for key, value in [*getattr(sys.modules[name], "__dict__", {}).items()]
        if key[:2] != "__"
    )
    if not circular:
        for name in owned:
            del sys.modules[name]
        return
    import gc

    # The first collection finds everything alive, and puts it in the order of who holds whom: the
    # second one lets go in that order. A file's text goes to its buffer before that is closed.
    gc.collect()
    for name in owned:
        del sys.modules[name]
    gc.collect()


def _is_below(module: Any, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(folder)


def _flush(*streams: Any) -> bool:
    """Flush, and say whether it worked; only standard output's failure counts in Python too."""
    worked = True
    for at, stream in enumerate(streams):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException as error:
            if at % 2 == 0:
                worked = False
                _complain(stream, error)
    return worked


def _complain(stream: Any, error: BaseException) -> None:
    try:
        sys.stderr.write(f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    except BaseException:  # noqa: S110 - there is nowhere left to say it
        pass


def _flush_c() -> None:
    confine = sys.modules.get("pillion.lane.confine")
    if confine is not None:
        confine.flush_c()
    elif "ctypes" in sys.modules:
        sys.modules["ctypes"].CDLL(None).fflush(None)
