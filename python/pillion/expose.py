"""Functions of modules as tools: their names and schemas, and calls with checked arguments.

What is exposed is worked out once per worker. That is never old: a worker whose sources have
changed is replaced before it is asked anything.
"""

from __future__ import annotations

import inspect
import re
import sys

from pillion import arguments, docstrings
from pillion.describe import describe_function, functions_of
from pillion.errors import Fault, to_error
from pillion.resolve import load, near
from pillion.schema import hints_of, is_stream
from pillion.state import METHODS, READS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

# Exposures that are remembered; a worker mostly has one.
MAX_REMEMBERED = 16
# What a tool may be called everywhere.
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]")
MAX_NAME = 128


class Tool:
    """One exposed function."""

    def __init__(self, module: str, name: str, function: Callable[..., Any]) -> None:
        self.module = module
        self.function_name = name
        self.function = function
        self.name = _legal(name)
        self.qualified = _legal(f"{module}.{name}".replace(".", "_"))
        inner = inspect.unwrap(function)
        self.hints = hints_of(inner)
        self.streams = (
            inspect.isgeneratorfunction(inner)
            or inspect.isasyncgenfunction(inner)
            or is_stream(self.hints.get("return"))
        )
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None

    def describe(self) -> dict[str, Any]:
        """The tool as callers list it."""
        about = describe_function(self.function_name, self.function)
        described = {
            "name": self.name,
            "qualified": self.qualified,
            "module": self.module,
            "function": self.function_name,
            "description": docstrings.body(about["doc"]),
            "input_schema": hoisted(about["params"]),
            "streams": self.streams,
            "safety": "read" if id(self.function) in READS else "execute",
        }
        if about["returns"].keys() - {"description", "title"}:
            described["output_schema"] = hoisted(about["returns"])
        return described

    def bind(self, given: Any) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments from what a caller gave, or `invalid_params`."""
        return arguments.bind(self.name, self.signature, self.hints, given)


class Exposure:
    """What some modules expose."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.failed: dict[str, BaseException] = {}
        for name in names:
            try:
                self.modules[name] = load(name)
            except Exception as error:
                self.failed[name] = error
        tools = [
            Tool(name, function_name, function)
            for name, module in self.modules.items()
            for function_name, function in exposed_by(module).items()
        ]
        self.tools = _told_apart(tools)
        self._listing: dict[str, Any] | None = None

    def is_current(self) -> bool:
        """Are the modules still those that Python has?"""
        return not self.failed and all(
            sys.modules.get(name) is module for name, module in self.modules.items()
        )

    def listing(self) -> dict[str, Any]:
        """All tools, and what kept others from being here."""
        if self._listing is None:
            tools = [tool.describe() for tool in self.tools]
            self._listing = {
                "tools": tools,
                "files": self._files(),
                "failed": [
                    {"module": name, "error": to_error(error)}
                    for name, error in self.failed.items()
                ],
                "version": _digest(tools),
            }
        return self._listing

    def _files(self) -> list[str]:
        """Where the modules are, also those that cannot be imported: an edit may mend them."""
        files = [getattr(module, "__file__", None) for module in self.modules.values()]
        files += [_file_of(name) for name in self.failed]
        return [file for file in files if file]

    def version(self) -> str:
        """Changes when the tools do."""
        return self.listing()["version"]

    def find(self, name: Any) -> Tool:
        """The tool with this name: its own, or spelled with its module."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        for tool in self.tools:
            if name in (
                tool.qualified,
                f"{tool.module}.{tool.function_name}",
                f"{tool.module}:{tool.function_name}",
            ):
                return tool
        if self.failed:
            # It may well be in there.
            raise next(iter(self.failed.values()))
        names = [tool.name for tool in self.tools]
        alike = near(str(name), names)
        if alike:
            hint = f"did you mean `{alike[0]}`?"
        else:
            some = ", ".join(f"`{known}`" for known in names[:10])
            hint = f"there are {some}." if some else "Nothing is exposed."
        raise Fault("not_found", f"no function `{name}` is exposed", hint=hint)


_remembered: dict[tuple[str, ...], Exposure] = {}


def exposure(modules: Any) -> Exposure:
    """What these modules expose now."""
    if (
        not isinstance(modules, list)
        or not modules
        or not all(isinstance(name, str) for name in modules)
    ):
        raise Fault("invalid_request", "`modules` must be a list of module names")
    key = tuple(dict.fromkeys(modules))
    found = _remembered.get(key)
    if found is None or not found.is_current():
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        found = _remembered[key] = Exposure(key)
    return found


def exposed_by(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions of a module that strangers may call.

    Its public functions, or those that `__all__` lists; and those marked by `@pillion.method`.
    """
    found = functions_of(module)
    listed = getattr(module, "__all__", None)
    if listed is None:
        return found
    marked = {id(function) for function in METHODS.values()}
    return {
        name: function
        for name, function in found.items()
        if name in listed or id(function) in marked
    }


def hoisted(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose `$defs` stand at its top, where its references look for them."""
    definitions: dict[str, Any] = {}

    def without(part: Any) -> Any:
        if isinstance(part, list):
            return [without(item) for item in part]
        if not isinstance(part, dict):
            return part
        inner = part.get("$defs")
        if isinstance(inner, dict):
            definitions.update({name: without(found) for name, found in inner.items()})
        return {name: without(value) for name, value in part.items() if name != "$defs"}

    whole = without(schema)
    return {**whole, "$defs": definitions} if definitions else whole


def _told_apart(tools: list[Tool]) -> list[Tool]:
    """Tools of the same name get that of their module too."""
    count: dict[str, int] = {}
    for tool in tools:
        count[tool.name] = count.get(tool.name, 0) + 1
    taken: set[str] = set()
    for tool in tools:
        name = tool.qualified if count[tool.name] > 1 else tool.name
        number = 2
        while name in taken:
            name = f"{tool.qualified[: MAX_NAME - 8]}_{number}"
            number += 1
        taken.add(name)
        tool.name = name
    return tools


def _legal(name: str) -> str:
    return _NO_NAME.sub("_", name)[:MAX_NAME] or "_"


def _file_of(name: str) -> str | None:
    import importlib.util

    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # the package around it cannot be imported either
        return None
    return None if spec is None else spec.origin


def _digest(tools: list[dict[str, Any]]) -> str:
    import hashlib
    import json

    text = json.dumps(tools, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
