"""One program: the process made ready for it, and the program run as `python main.py` would.

On the way of a cold run, so it imports C modules only, and others when something needs them.
"""

from __future__ import annotations

import _io
import _signal
import builtins
import os
import sys

from pillion import wire
from pillion.lane import finish, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType, TracebackType
    from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_WORKER_DIR = os.path.dirname(os.path.dirname(os.path.dirname(_PACKAGE)))
_CHUNK = 1 << 20
_INTERRUPTED = 130
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_MODULE = type(sys)


class Prepared:
    """A program that can start now."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.program: dict[str, Any] = order["program"]
        self.name: str = order.get("name") or "<string>"
        self.folder: str = order["folder"]


def prepare(
    order: dict[str, Any], tools: int | None, read: Callable[[int], bytes], close: Callable[[], Any]
) -> Prepared:
    """Make the process what the program expects to find."""
    prepared = Prepared(order)
    for limit in order.get("rlimits") or ():
        from pillion.lane import limits

        limits.lower(*limit)
    os.environ.clear()
    os.environ.update(order.get("env") or {})
    os.chdir(prepared.folder)
    for file in order.get("files") or ():
        _write(file["name"], file["size"], read)
    close()
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    _open_streams()
    _add_builtins()
    _set_paths(order, prepared)
    _set_randomness(order.get("seed"))
    if sys.version_info >= (3, 12):
        from pillion.lane import late

        late.after_import("asyncio.selector_events", _send_plainly)
    if order.get("clock") is not None:
        from pillion.lane import clock

        clock.stand_still(order["clock"])
    if tools is not None:
        import pillion.tools

        pillion.tools.connect(tools, order.get("tool_names") or {})
    return prepared


def _send_plainly(events: Any) -> None:
    """Where there is no network there is no `sendmsg`, and asyncio is content with `send`."""
    if hasattr(events, "_HAS_SENDMSG"):
        events._HAS_SENDMSG = False


def _write(name: str, size: int, read: Callable[[int], bytes]) -> None:
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"`{name}` is not a name below the folder")
    if len(parts) > 1:
        os.makedirs("/".join(parts[:-1]), exist_ok=True)
    target = os.open(name, _NEW_FILE, 0o666)
    try:
        while size:
            data = messages.exactly(min(size, _CHUNK), read)
            messages.write(target, data)
            size -= len(data)
    finally:
        os.close(target)


def _open_streams() -> None:
    sys.stdin = sys.__stdin__ = _stream(0, "r", "<stdin>", "surrogateescape")
    sys.stdout = sys.__stdout__ = _stream(1, "w", "<stdout>", "backslashreplace")
    sys.stderr = sys.__stderr__ = _stream(2, "w", "<stderr>", "backslashreplace")


def _stream(descriptor: int, mode: str, name: str, errors: str) -> Any:
    try:
        raw = _io.FileIO(descriptor, mode, closefd=False)
    except OSError:
        return None  # as Python has it for a stream that is closed
    raw.name = name
    buffered = _io.BufferedReader(raw) if mode == "r" else _io.BufferedWriter(raw)
    text = _io.TextIOWrapper(buffered, "utf-8", errors, "\n", line_buffering=mode == "w")
    text.mode = mode
    return text


def _add_builtins() -> None:
    """What `site` adds: it is not run, because it would look at folders of the machine."""
    import _sitebuiltins

    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()


def _set_paths(order: dict[str, Any], prepared: Prepared) -> None:
    program, args = prepared.program, order.get("args") or []
    first = {"code": "-c", "module": "-m"}
    own = []
    if "file" in program:
        own = [os.path.dirname(os.path.abspath(program["file"]))]
        name = program["file"]
    else:
        name = next((first[kind] for kind in first if kind in program), "")
    sys.argv = [name, *args]
    sys.orig_argv = [sys.executable, *sys.argv]
    entries = [*own, *(order.get("path") or ()), *sys.path, _WORKER_DIR]
    sys.path[:] = [*dict.fromkeys(entries)]
    # A folder that was not there before the run may be known as such.
    for entry in (*own, *(order.get("path") or ()), os.getcwd()):
        sys.path_importer_cache.pop(entry, None)


def _set_randomness(seed: int | None) -> None:
    """Forks of one zygote start with its random state: give each its own, or the one asked for.

    Covers `random` and `numpy.random`'s global generator. Generators that a program makes itself
    (`numpy.random.default_rng()`), `os.urandom`, `secrets` and `uuid` are never predictable.
    """
    for name, largest in (("random", None), ("numpy.random", 1 << 32)):
        if seed is None:
            if name in sys.modules:
                sys.modules[name].seed()
        else:
            from pillion.lane import late

            chosen = seed if largest is None else seed % largest
            late.after_import(name, lambda module, chosen=chosen: module.seed(chosen))


def not_prepared(outcome: finish.Outcome, error: BaseException) -> int:
    """The order could not be set up, for example because its files do not fit. The exit code."""
    outcome.failed(error)
    try:
        messages.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # nobody reads
    return 1


def run(prepared: Prepared, outcome: finish.Outcome) -> int:
    """Run the program to its end. The exit code."""
    outcome.folder, outcome.newest = prepared.folder, next(reversed(sys.modules))
    try:
        _start(prepared, outcome)
    except SystemExit as stop:
        return _exit_code(stop)
    except BaseException as error:
        outcome.failed(error)
        try:
            show(error, by_python="code" in prepared.program)
        except SystemExit as stop:  # a hook of the program's may decide so
            return _exit_code(stop)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _start(prepared: Prepared, outcome: finish.Outcome) -> None:
    program = prepared.program
    main = _new_main()
    names = vars(main)
    if "code" in program:
        _remember_source(prepared.name, program["code"])
        exec(compile(program["code"], prepared.name, "exec", dont_inherit=True), names)  # noqa: S102
    elif "file" in program:
        code = _load(program["file"], main)
        if code is not None:
            exec(code, names)  # noqa: S102
    elif "module" in program:
        import runpy

        runpy._run_module_as_main(program["module"])
    else:
        outcome.returned(_call(program["function"], program.get("arguments")))


def _new_main() -> ModuleType:
    main = _MODULE("__main__")
    main.__builtins__ = builtins
    main.__loader__ = sys.modules["_frozen_importlib"].BuiltinImporter
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def _load(file: str, main: ModuleType) -> CodeType | None:
    path = os.path.abspath(file)
    if os.path.isdir(path):
        import runpy

        sys.path.insert(0, path)
        runpy._run_module_as_main("__main__", alter_argv=False)
        return None
    try:
        with _io.open(path, "rb") as source:
            text = source.read()
    except OSError as error:
        said = f"[Errno {error.errno}] {os.strerror(error.errno or 0)}"
        print(f"{sys.executable}: can't open file {path!r}: {said}", file=sys.stderr)
        raise SystemExit(2) from None
    main.__file__ = path
    main.__loader__ = sys.modules["_frozen_importlib_external"].SourceFileLoader("__main__", path)
    if sys.version_info < (3, 15):
        main.__cached__ = None
    return compile(text, path, "exec", dont_inherit=True)


def _call(function: str, arguments: Any) -> Any:
    module, _, path = function.partition(":")
    __import__(module)
    target = sys.modules[module]
    for part in path.split("."):
        target = getattr(target, part)
    named = isinstance(arguments, dict)
    value = target(**arguments) if named else target(*(arguments or ()))
    if hasattr(value, "__await__"):
        import asyncio

        async def wait() -> Any:
            return await value

        return asyncio.run(wait())
    return value


def _remember_source(name: str, code: str) -> None:
    """Let tracebacks and `inspect.getsource` show the lines of code that is in no file."""
    from pillion.lane import late

    def register(linecache: Any) -> None:
        lines = code.splitlines(keepends=True)
        linecache.cache[name] = (len(code), None, lines, name)

    late.after_import("linecache", register)


def _exit_code(stop: SystemExit) -> int:
    code = stop.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code if -(1 << 63) <= code < 1 << 63 else -1
    try:
        print(code, file=sys.stderr)
    except BaseException:  # noqa: S110 - as Python: a text that cannot be shown is not shown
        pass
    return 1


def show(error: BaseException, by_python: bool) -> None:
    """Print an exception as Python does, from the program's first frame on.

    `by_python`: the interpreter's own printing looks for lines in files only.
    """
    trace = _without_ours(error.__traceback__)
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", None)
    try:
        if by_python and hook is sys.__excepthook__:
            import traceback

            traceback.print_exception(error)
        elif hook is not None:
            hook(type(error), error, trace)
        else:
            raise RuntimeError("sys.excepthook is missing")
    except SystemExit:
        raise
    except BaseException as second:
        try:
            print("Error in sys.excepthook:", file=sys.stderr)
            second = second.with_traceback(_without_ours(second.__traceback__))
            second.__context__ = None
            sys.__excepthook__(type(second), second, second.__traceback__)
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(type(error), error, trace)
        except BaseException:  # noqa: S110 - there is nowhere left to say it
            pass


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        trace = trace.tb_next
    return trace


def warm_up() -> None:
    """Go through what every run goes through, so that a slot has it all loaded."""
    _add_builtins()
    for code in ("1 / 0", "1 +"):
        _remember_source("<warm>", code)
        try:
            exec(compile(code, "<warm>", "exec", dont_inherit=True), {})  # noqa: S102
        except (ZeroDivisionError, SyntaxError) as error:
            import traceback

            traceback.format_exception(error)
            finish.limit_of(error)
    import linecache

    linecache.cache.pop("<warm>", None)
    messages.pack({"value": [1, 2.5, "x"], "exception": None})


def rehearse() -> None:
    """Run nothing, the way a run goes, in the slot that waits for its order.

    After a fork each page costs a fault when it is first written. What is touched here is not
    paid for between the order and the program's first line. Standard streams are /dev/null.
    """
    kept = [*sys.path], {**os.environ}, sys.argv, sys.orig_argv, sys.modules["__main__"]
    code = "import os\ndef f(x): return x\nprint(f(1))\nprint([i for i in range(3)])"
    order = {"program": {"code": code}, "folder": "/", "env": {**os.environ}, "seed": None}
    packed = messages.pack(order)
    prepared = prepare(wire.loads(packed[4:]), None, os.read, lambda: None)
    outcome = finish.Outcome(None, None)
    run(prepared, outcome)
    finish._let_go(outcome.folder, outcome.newest)
    finish._flush(sys.stdout, sys.stderr)
    finish._flush_c()
    sys.modules["linecache"].cache.pop(prepared.name, None)
    sys.path[:], environment, sys.argv, sys.orig_argv, sys.modules["__main__"] = kept
    os.environ.clear()
    os.environ.update(environment)
