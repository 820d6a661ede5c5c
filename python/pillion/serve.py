"""The `serve` mode: the functions of modules as commands of the line-JSON sidecar contract."""

from __future__ import annotations

import os
import sys

from pillion import errors, interrupt
from pillion.channel import DEFAULT_MAX_LINE
from pillion.errors import Fault
from pillion.state import Call, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pillion.calls import Runner

    Lookup = Callable[[str], Callable[..., Any] | None]

USAGE = (
    "usage: python -m pillion serve MODULE... [--sidecar] [--root DIR] [--path DIR]..."
    " [--max-line BYTES] [--command NAME [--project PATH] [--args JSON]]"
)


class Options:
    """The command line of `serve`."""

    def __init__(self, argv: list[str]) -> None:
        self.modules: list[str] = []
        self.root: str | None = None
        self.paths: list[str] = []
        self.max_line = DEFAULT_MAX_LINE
        self.command: str | None = None
        self.project = ""
        self.args: dict[str, Any] = {}
        words = iter(argv)
        for word in words:
            if not word.startswith("-"):
                self.modules.append(word)
            elif word != "--sidecar":  # the default; old hosts pass the flag
                flag, equals, value = word.partition("=")
                given = value if equals else next(words, None)
                if given is None:
                    raise ValueError(f"`{flag}` needs a value")
                self._set(flag, given)
        if not self.modules:
            raise ValueError("name at least one module to serve")

    def _set(self, flag: str, value: str) -> None:
        if flag == "--command":
            self.command = value
        elif flag == "--project":
            self.project = value
        elif flag == "--args":
            from pillion import wire

            args = wire.loads(value.encode("utf-8", "surrogateescape"))
            if args is not None and not isinstance(args, dict):
                raise ValueError("`--args` must be a JSON object")
            self.args = args or {}
        elif flag == "--root":
            self.root = value
        elif flag == "--path":
            self.paths.append(value)
        elif flag == "--max-line":
            self.max_line = int(value)
        else:
            raise ValueError(f"unknown option `{flag}`")


def main(argv: list[str]) -> int:
    """Serve until the end of input, or run one command."""
    from pillion import worker

    try:
        options = Options(argv)
    except ValueError as error:
        print(f"error: {error}\n{USAGE}", file=sys.stderr)
        return 2
    # First of all, so that nothing a module prints while it is imported reaches the host.
    server = worker.Worker(options.max_line)
    worker.set_path(options.root or os.getcwd(), options.paths)
    try:
        commands = load_commands(options.modules)
    except BaseException as error:
        return _report(error)
    if options.command is not None:
        return _once(server.runner, commands, options)
    server.commands = commands.get
    return server.serve()


def load_commands(modules: list[str]) -> dict[str, Callable[..., Any]]:
    """All commands by name; of two with the same name the first module's wins."""
    from pillion.describe import methods_of
    from pillion.resolve import load

    commands: dict[str, Callable[..., Any]] = {}
    for name in modules:
        for command, function in methods_of(load(name)).items():
            commands.setdefault(command, function)
    return commands


def answer_command(runner: Runner, lookup: Lookup, request: dict[str, Any], progress: bool) -> None:
    """Answer a request of the old form. Its reply has no keys that old hosts do not know."""

    def work(call: Call) -> Any:
        return perform_command(
            runner,
            call,
            lookup,
            request.get("command", ""),
            request.get("project", ""),
            request.get("args"),
        )

    runner.run(request.get("id"), work, progress, to_error=command_error, with_files=False)


def perform_command(
    runner: Runner, call: Call, lookup: Lookup, command: Any, project: Any, args: Any
) -> Any:
    """Run a command; an unknown one is a result, as old hosts expect."""
    if not isinstance(command, str):
        raise Fault("invalid_request", "`command` must be text", type="InvalidRequest")
    if args is None:
        args = {}
    if not isinstance(args, dict):
        raise Fault("invalid_params", "`args` must be an object", type="InvalidRequest")
    function = lookup(command)
    if function is None:
        return {"error": "UnknownCommand", "message": f"Unknown command: {command}"}
    if "project" not in args and _takes_project(function):
        args = {**args, "project": project or ""}
    return runner.perform(call, function, (), args)


_takes: dict[Any, bool] = {}


def _takes_project(function: Callable[..., Any]) -> bool:
    known = _takes.get(function)
    if known is None:
        import inspect

        try:
            known = "project" in inspect.signature(function).parameters
        except (TypeError, ValueError):
            known = False
        _takes[function] = known
    return known


_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (FileNotFoundError, "file_not_found"),
    (SyntaxError, "parse_error"),
    (TimeoutError, "timeout"),
)


def command_error(error: BaseException, *, asked: bool = False) -> dict[str, Any]:
    """The error object of the old contract: code, message, recoverable, type."""
    kind = type(error).__qualname__
    message = errors.clean(errors.message_of(error))
    for cause, code in _CODES:
        # asyncio and concurrent.futures had TimeoutErrors of their own before Python 3.11.
        if isinstance(error, cause) or (code == "timeout" and kind == "TimeoutError"):
            return {"code": code, "message": message, "recoverable": True, "type": kind}
    found = errors.to_error(error, asked=asked)
    if found["code"] in ("exception", "internal_error"):
        errors.log(error)
        return {"code": "internal_error", "message": message, "recoverable": False, "type": kind}
    return {
        "code": found["code"],
        "message": found["message"],
        "recoverable": found["recoverable"],
        "type": found.get("type", kind),
    }


def _once(runner: Runner, commands: dict[str, Callable[..., Any]], options: Options) -> int:
    """The one-shot form: one JSON document on the real stdout, or one JSON line on stderr."""
    from pillion.encode import encode, to_plain
    from pillion.state import STATE

    interrupt.restore_default()  # nobody else will end a run in a terminal
    call = STATE.running = Call(None)
    try:
        value = perform_command(
            runner, call, commands.get, options.command, options.project, options.args
        )
        line = encode({"result": value})
        document = line[len(b'{"result":') : -len(b"}\n")] + b"\n"
    except BaseException as error:
        return _report(error)
    finally:
        STATE.running = None
    if isinstance(value, dict) and value.get("error") == "UnknownCommand" and len(value) == 2:
        return _report_line("UnknownCommand", str(to_plain(value)["message"]))
    runner.channel.write(document)
    return 0


def _report(error: BaseException) -> int:
    if isinstance(error, Cancelled):
        return _report_line("Cancelled", "the call was cancelled")
    name = getattr(error, "type", None) if isinstance(error, Fault) else None
    name = name or (error.code if isinstance(error, Fault) else type(error).__qualname__)
    return _report_line(name, errors.message_of(error))


def _report_line(name: str, message: str) -> int:
    from pillion.encode import encode

    sys.stderr.write(encode({"error": name, "message": errors.clean(message)}).decode())
    return 1
