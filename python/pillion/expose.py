"""Functions of modules as tools: their names and schemas, and calls with checked arguments.

What is exposed is worked out once per worker. That is never old: a worker whose sources have
changed is replaced before it is asked anything.
"""

from __future__ import annotations

import inspect
import re
import sys

from pillion import coerce, docstrings
from pillion.describe import describe_function, functions_of
from pillion.errors import Fault
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
# Problems with arguments that one error names.
MAX_PROBLEMS = 5
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
        if given is None:
            given = {}
        if not isinstance(given, (dict, list)):
            raise Fault("invalid_params", "arguments are an object (by name) or an array")
        if self.signature is None:
            return ([], given) if isinstance(given, dict) else (given, {})
        problems: list[str] = []
        if isinstance(given, list):
            given = self._by_name(given, problems)
        bound = _Binding(self, given, problems)
        if problems:
            more = len(problems) - MAX_PROBLEMS
            text = "; ".join(problems[:MAX_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
            raise Fault(
                "invalid_params",
                f"{self.name}: {text}",
                hint=bound.hint or f"its signature is `{self.name}{self.signature}`",
            )
        return bound.args, bound.kwargs

    def _by_name(self, items: list[Any], problems: list[str]) -> dict[str, Any]:
        named: dict[str, Any] = {}
        rest = list(items)
        for name, parameter in self._parameters().items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                named[name], rest = rest, []
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                if rest:
                    named[name] = rest.pop(0)
        if rest:
            problems.append(f"takes {len(items) - len(rest)} arguments by place, not {len(items)}")
        return named

    def _parameters(self) -> dict[str, inspect.Parameter]:
        return {} if self.signature is None else dict(self.signature.parameters)


class _Binding:
    """Named arguments, checked, in the form in which Python takes them."""

    def __init__(self, tool: Tool, given: dict[str, Any], problems: list[str]) -> None:
        self.tool = tool
        self.problems = problems
        self.args: list[Any] = []
        self.kwargs: dict[str, Any] = {}
        self.hint: str | None = None
        self.gap = False
        rest = dict(given)
        parameters = tool._parameters()
        extra = None
        for name, parameter in parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = name
            elif parameter.kind is parameter.VAR_POSITIONAL:
                self._several(name, rest.pop(name, []))
            elif name in rest and not self._means_default(parameter, rest[name]):
                self._one(parameter, rest.pop(name))
            else:
                rest.pop(name, None)
                if parameter.default is parameter.empty:
                    problems.append(f"`{name}` is missing")
                elif parameter.kind is parameter.POSITIONAL_ONLY:
                    self.args.append(parameter.default)
                else:
                    self.gap = True
        for name, value in rest.items():
            if extra is None:
                problems.append(f"there is no parameter `{name}`")
                alike = near(name, parameters)
                if alike:
                    self.hint = f"did you mean `{alike[0]}` instead of `{name}`?"
            else:
                self.kwargs[name] = self._fit(value, extra, name)

    def _means_default(self, parameter: inspect.Parameter, value: Any) -> bool:
        """Models write null where they mean nothing."""
        if value is not None or parameter.default is parameter.empty:
            return False
        hint = self.tool.hints.get(parameter.name)
        return parameter.default is None or (hint is not None and not coerce.accepts_null(hint))

    def _one(self, parameter: inspect.Parameter, value: Any) -> None:
        fitting = self._fit(value, parameter.name, parameter.name)
        by_place = parameter.kind is parameter.POSITIONAL_ONLY or (
            parameter.kind is parameter.POSITIONAL_OR_KEYWORD and not self.gap
        )
        if by_place:
            self.args.append(fitting)
        else:
            self.kwargs[parameter.name] = fitting

    def _several(self, name: str, values: Any) -> None:
        if not isinstance(values, list):
            self.problems.append(f"`{name}` must be an array")
            return
        if values and self.gap:
            # What comes before must be given by place too.
            for parameter in self.tool._parameters().values():
                if parameter.kind is parameter.VAR_POSITIONAL:
                    break
                if len(self.args) <= list(self.tool._parameters()).index(parameter.name):
                    default = parameter.default
                    self.args.append(self.kwargs.pop(parameter.name, default))
        self.args += [self._fit(v, name, f"{name}[{index}]") for index, v in enumerate(values)]

    def _fit(self, value: Any, parameter: str, path: str) -> Any:
        if parameter not in self.tool.hints:
            return value
        try:
            return coerce.coerce(value, self.tool.hints[parameter], path)
        except coerce.Misfit as problem:
            self.problems.append(str(problem))
            return None


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
        if not self.modules and self.failed:
            raise next(iter(self.failed.values()))
        if self._listing is None:
            tools = [tool.describe() for tool in self.tools]
            self._listing = {
                "tools": tools,
                "files": [
                    file
                    for module in self.modules.values()
                    if (file := getattr(module, "__file__", None))
                ],
                "failed": [
                    {"module": name, "message": _headline(error)}
                    for name, error in self.failed.items()
                ],
                "version": _digest(tools),
            }
        return self._listing

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
            hint = f"there are {some}" if some else "nothing is exposed"
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


def _headline(error: BaseException) -> str:
    if isinstance(error, Fault):
        return str(error)
    return f"{type(error).__qualname__}: {error}"


def _digest(tools: list[dict[str, Any]]) -> str:
    import hashlib
    import json

    text = json.dumps(tools, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
