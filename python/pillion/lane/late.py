"""Things to do right after a module has been imported, should it ever be.

Seeding `random` or telling `linecache` about source text must not cost the import of either.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_waiting: dict[str, Callable[[Any], None]] = {}


def after_import(name: str, action: Callable[[Any], None]) -> None:
    """Call `action` with the module: now if it is loaded, otherwise once it is."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    if not _waiting:
        sys.meta_path.insert(0, _Finder)
    _waiting[name] = action


class _Finder:
    """Finds nothing itself; adds the action to what the other finders find."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        action = _waiting.pop(name, None)
        if action is None:
            return None
        if not _waiting and cls in sys.meta_path:
            sys.meta_path.remove(cls)
        for finder in sys.meta_path:
            spec = None if finder is cls else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, action)
                return spec
        return None


class _Loader:
    def __init__(self, loader: Any, action: Callable[[Any], None]) -> None:
        self._loader = loader
        self._action = action

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        # The module sees its real loader, as if nobody had come between.
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action(module)
