"""From `module:function` to the function, with suggestions for what is nearly right."""

from __future__ import annotations

import sys

from pillion.errors import BOUNDARIES, Fault
from pillion.state import METHODS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import Any

# spec -> (module name, module, attribute). The function itself is looked up on each call: it may
# have been replaced by a reload or a patch, and the lookup costs 50 ns.
_cache: dict[str, tuple[str, Any, str]] = {}


def resolve(spec: str) -> Callable[..., Any]:
    """The function that a call names."""
    try:
        name, module, attribute = _cache[spec]
        if sys.modules[name] is module:
            return module.__dict__[attribute]
    except (KeyError, TypeError):
        pass
    return _resolve_slowly(spec)


def _resolve_slowly(spec: str) -> Callable[..., Any]:
    if not isinstance(spec, str) or not spec:
        raise Fault("invalid_request", "`function` must be text such as `module:function`")
    name, colon, attribute = spec.partition(":")
    if not colon:
        for (_, method), function in METHODS.items():
            if method == spec:
                return function
        raise Fault(
            "not_found",
            f"no method `{spec}` is registered",
            hint="write it as `module:function`",
        )
    module = load(name)
    function = METHODS.get((name, attribute))
    if function is not None:
        return function
    found: Any = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise Fault(
                "not_found",
                f"module `{name}` has no function `{attribute}`",
                hint=_near(attribute, _function_names(module, name)),
            ) from None
    if not callable(found):
        raise Fault("not_found", f"`{spec}` is not a function but {_kind(found)}")
    if module.__dict__.get(attribute) is found:
        _cache[spec] = (name, module, attribute)
    return found


def load(name: str) -> ModuleType:
    """Import a module of the user's. Its own failures pass through; its absence is `not_found`."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise Fault("not_found", f"`{name}` is not a module name", hint="write it as `pkg.module`")
    try:
        _import(name)
    except ModuleNotFoundError as error:
        if not _is_missing(name, error):
            raise
        # The directory may have changed within its time stamp's resolution.
        import importlib

        importlib.invalidate_caches()
        try:
            _import(name)
        except ModuleNotFoundError as again:
            if not _is_missing(name, again):
                raise
            raise Fault(
                "not_found", f"no module named `{again.name}`", hint=_near(name, _siblings(name))
            ) from None
    return sys.modules[name]


def _import(name: str) -> None:
    # The statement's own function: `importlib.import_module` would leave frames in tracebacks.
    __import__(name)


BOUNDARIES.add(_import.__code__)


def _is_missing(name: str, error: ModuleNotFoundError) -> bool:
    """Is it the asked-for module that is absent, rather than something it imports?"""
    missing = error.name or ""
    if not (name == missing or name.startswith(missing + ".")):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code is _import.__code__


def _function_names(module: ModuleType, name: str) -> list[str]:
    names = [method for home, method in METHODS if home == name]
    for attribute, value in vars(module).items():
        if callable(value) and not attribute.startswith("_"):
            names.append(attribute)
    return names


def _siblings(name: str) -> list[str]:
    import pkgutil

    parent, _, _ = name.rpartition(".")
    package = sys.modules.get(parent) if parent else None
    paths = getattr(package, "__path__", None) if parent else None
    prefix = f"{parent}." if parent else ""
    names = [found.name for found in pkgutil.iter_modules(paths, prefix)]
    return names if parent else [*names, *sys.builtin_module_names]


def near(word: str, names: Iterable[str]) -> list[str]:
    """The names that are most like a word."""
    import difflib

    return difflib.get_close_matches(word, list(dict.fromkeys(names)), n=3, cutoff=0.6)


def _near(word: str, names: Iterable[str]) -> str | None:
    found = near(word, names)
    return f"did you mean {' or '.join(f'`{name}`' for name in found)}?" if found else None


def _kind(value: Any) -> str:
    name = type(value).__qualname__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} `{name}`"
