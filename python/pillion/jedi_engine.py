"""Jedi as an engine: what pillion asks it, and nothing more.

Runs in pillion's managed environment, which has jedi; the worker package itself needs
only the standard library, so jedi is imported by the first question.

Lines and columns count from 0, columns in characters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_projects: dict[tuple[str, str | None], Any] = {}
_clock: list[str] = []
_MAX_PROJECTS = 8


def definition(**question: Any) -> list[dict[str, Any]]:
    """Where the name at a place is defined; names that are imported are followed."""
    script, line, column = _script(**question)
    names = script.goto(
        line, column, follow_imports=True, follow_builtin_imports=True, prefer_stubs=False
    )
    return _places(names)


def references(**question: Any) -> list[dict[str, Any]]:
    """Every use of the name at a place, its definition among them."""
    script, line, column = _script(**question)
    return _places(script.get_references(line, column, include_builtins=False))


def hover(**question: Any) -> str | None:
    """The type or signature of the name at a place, and its documentation."""
    script, line, column = _script(**question)
    for name in script.help(line, column):
        heads = [signature.to_string() for signature in name.get_signatures()]
        head = "\n".join(heads) or name.description
        text = name.docstring(raw=True)
        return f"{head}\n---\n{text}" if text else head
    return None


def _script(
    root: str, python: str | None, clock: str, path: str, line: int, column: int
) -> tuple[Any, int, int]:
    import jedi

    if _clock != [clock]:
        _forget()
        _clock[:] = [clock]
    key = (root, python)
    if key not in _projects:
        if len(_projects) >= _MAX_PROJECTS:
            _projects.clear()
        _projects[key] = jedi.Project(root, environment_path=python)
    code = Path(path).read_bytes()
    # A byte order mark is no character of the first line.
    script = jedi.Script(code.removeprefix(b"\xef\xbb\xbf"), path=path, project=_projects[key])
    return script, line + 1, column


def _forget() -> None:
    """Files have changed: jedi would believe what it parsed while a time stamp is the same."""
    import jedi.cache
    import parso.cache

    jedi.cache.clear_time_caches(delete_all=True)
    parso.cache.parser_cache.clear()
    _projects.clear()


def _places(names: list[Any]) -> list[dict[str, Any]]:
    places = []
    for name in names:
        if name.module_path is None:
            continue
        place = {
            "path": str(name.module_path),
            "line": max((name.line or 1) - 1, 0),
            "column": name.column or 0,
            "end_column": (name.column or 0) + (len(name.name) if name.line else 0),
        }
        if name.type == "module":
            place.update(line=0, column=0, end_column=0)
        if place not in places:
            places.append(place)
    return places
