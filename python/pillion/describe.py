"""What a module offers: its functions with signature, documentation and schemas.

Listed are the functions defined in the module, those named by its `__all__`, and those registered
with `@pillion.method`. C functions are described as far as they describe themselves.
"""

from __future__ import annotations

import inspect

from pillion import docstrings
from pillion.schema import default_of, hints_of, schema_of
from pillion.state import METHODS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any


def describe_module(module: ModuleType) -> dict[str, Any]:
    """The answer to `describe`."""
    functions = functions_of(module)
    described = [describe_function(name, function) for name, function in functions.items()]
    return {
        "module": module.__name__,
        "doc": inspect.getdoc(module) or "",
        "file": getattr(module, "__file__", None),
        "functions": described,
    }


def functions_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions a caller may see, by name, in the order of the source."""
    home = module.__name__
    registered = _registered(module)
    taken = {id(function) for function in registered.values()}
    listed = getattr(module, "__all__", ())
    found: dict[str, Callable[..., Any]] = {}
    for name, value in list(vars(module).items()):
        if not inspect.isroutine(value) or id(value) in taken:
            continue
        own = not name.startswith("_") and getattr(value, "__module__", None) == home
        if own or name in listed:
            found[name] = value
    found.update(registered)
    return dict(sorted(found.items(), key=lambda pair: _line(pair[1]) or 0))


def methods_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The commands of a served module: the registered functions, or all public ones if none is."""
    return _registered(module) or functions_of(module)


def _registered(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """What `@pillion.method` marked, here or where this module imports it from."""
    visible = {id(value) for value in vars(module).values()}
    return {
        name: function
        for (owner, name), function in METHODS.items()
        if owner == module.__name__ or id(function) in visible
    }


def describe_function(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """One function as a caller needs to know it."""
    inner = inspect.unwrap(function)
    doc = inspect.getdoc(function) or ""
    notes, returned = docstrings.parse(doc)
    try:
        signature: inspect.Signature | None = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    hints = hints_of(inner)
    returns = schema_of(hints["return"]) if "return" in hints else {}
    if returned:
        returns["description"] = returned
    return {
        "name": name,
        "signature": "(...)" if signature is None else str(signature),
        "summary": doc.strip().split("\n\n", 1)[0].replace("\n", " ").strip(),
        "doc": doc,
        "params": _params(signature, hints, notes),
        "returns": returns,
        "async": inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner),
        "stream": inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner),
        "line": _line(function),
    }


def _params(
    signature: inspect.Signature | None, hints: dict[str, Any], notes: dict[str, str]
) -> dict[str, Any]:
    if signature is None:
        return {"type": "object"}
    properties: dict[str, Any] = {}
    required = []
    open_ended = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
            continue
        found = schema_of(hints[name]) if name in hints else {}
        if parameter.kind is parameter.VAR_POSITIONAL:
            found = {"type": "array", "items": found} if found else {"type": "array"}
        elif parameter.default is parameter.empty:
            required.append(name)
        else:
            found.update(default_of(parameter.default))
        if name in notes:
            found["description"] = notes[name]
        properties[name] = found
    result: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        result["required"] = required
    if not open_ended:
        result["additionalProperties"] = False
    return result


def _line(function: Callable[..., Any]) -> int | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else code.co_firstlineno
