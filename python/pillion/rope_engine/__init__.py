r"""Rope as an engine: extracting and inlining in texts that pillion hands over.

Runs in pillion's managed environment, which has rope. Rope sees no file: its project is a
handful of texts in memory, so that it searches nothing, writes nothing and is never stale.
Answers are `{"files": {path: text}, "warnings": [...]}` or `{"refused": {...}}`; line ends
are `\n` and offsets count characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pillion.rope_engine.refusal import answered

if TYPE_CHECKING:
    from pillion.rope_engine.refusal import Answer


def extract_method(
    path: str, source: str, start: int, end: int, name: str, kind: str | None = None
) -> Answer:
    """Make statements, or an expression, a function of their own."""
    from pillion.rope_engine import extraction

    return answered(lambda: extraction.extract(path, source, (start, end), name, kind or "auto"))


def extract_variable(path: str, source: str, start: int, end: int, name: str) -> Answer:
    """Give an expression a name in a line of its own before its statement."""
    from pillion.rope_engine import extraction

    return answered(lambda: extraction.extract(path, source, (start, end), name, "variable"))


def inline(
    path: str, offset: int, files: dict[str, str], names: dict[str, str] | None = None
) -> Answer:
    """Put the value of a variable, or the body of a function, where it is used."""
    from pillion.rope_engine import inlining

    return answered(lambda: inlining.inline(path, offset, files, names))
