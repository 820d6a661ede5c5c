r"""Rope as an engine: extracting and inlining in texts that pillion hands over.

Runs in pillion's managed environment, which has rope. Rope sees no file: its project is a
handful of texts in memory, so that it searches nothing, writes nothing and is never stale.
Answers are `{"files": {path: text}, "warnings": [...]}` or `{"refused": {...}}`; line ends
are `\n` and offsets count characters.
"""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Any

from pillion import rope_names, rope_text
from pillion.rope_range import Lines, RefusedError, Selection, incomplete, of_expression, of_lines

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = dict[str, Any]


def extract_method(
    path: str, source: str, start: int, end: int, name: str, kind: str | None = None
) -> Answer:
    """Make statements, or an expression, a function of their own."""
    return _answer(lambda: _extract(path, source, (start, end), name, kind or "auto"))


def extract_variable(path: str, source: str, start: int, end: int, name: str) -> Answer:
    """Give an expression a name in a line of its own before its statement."""
    return _answer(lambda: _extract(path, source, (start, end), name, "variable"))


def inline(
    path: str, offset: int, files: dict[str, str], names: dict[str, str] | None = None
) -> Answer:
    """Put the value of a variable, or the body of a function, where it is used."""
    from pillion import rope_inline

    return _answer(lambda: rope_inline.inline(path, offset, files, names))


def _answer(work: Callable[[], Answer]) -> Answer:
    from rope.base.exceptions import RefactoringError, RopeError

    with warnings.catch_warnings():
        # About escapes in the strings of users' code.
        warnings.simplefilter("ignore")
        try:
            return work()
        except RefusedError as refused:
            return {"refused": refused.answer}
        except RefactoringError as error:
            return {"refused": _refused("conflict", f"this cannot be done: {error}")}
        except RopeError:
            return {"refused": _refused("conflict", "Rope does not understand this code")}


def _refused(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": "choose another range", "data": None}


def _extract(path: str, source: str, span: tuple[int, int], name: str, kind: str) -> Answer:
    from rope.refactor import extract

    from pillion import rope_extract, rope_needs

    tree = rope_text.parse(source, path)
    lines = Lines(source)
    span = _bare(source, span) if _select(tree, source, lines, span, kind) is None else span
    selection = _select(tree, source, lines, span, kind)
    if selection is None:
        raise incomplete()
    rope_names.free(name, kind, selection, tree, lines)
    notes: list[str] = []
    needs = None
    if kind == "variable":
        notes = rope_names.hoistable(selection, lines)
    else:
        needs = rope_needs.Needs(selection, kind == "function")
        _fits(rope_extract.usual_kind(selection) if kind == "auto" else kind, selection, kind)
    if selection.expression is None:
        first = lines.starts[lines.line(span[0]) - 1]
        span = (first, lines.starts[lines.line(span[1])] - 1)
    disguise = rope_text.Disguise(source, span[0])
    project = rope_text.Project({path: disguise.text}, disguise.indent)
    info = extract._ExtractInfo(
        project, project.get_file(path), *span, name, kind == "variable", False, kind == "function"
    )
    info.kind = rope_extract.usual_kind(selection) if kind in ("auto", "function") else kind
    # Rope moves an end that looks like the end of a line; the range is known exactly.
    if selection.expression is not None:
        info.region = span
    text = rope_extract.Performer(info, needs).extract()
    return {"files": {path: disguise.undo(text)}, "warnings": notes}


def _select(
    tree: ast.Module, source: str, lines: Lines, span: tuple[int, int], kind: str
) -> Selection | None:
    first, last = lines.line(span[0]), lines.line(max(span[0], span[1] - 1))
    before = source[lines.starts[first - 1] : span[0]]
    behind = source[span[1] : lines.starts[last] - 1].lstrip()
    if kind == "variable" or before.strip() or (behind and not behind.startswith("#")):
        found = of_expression(tree, *span, source)
    else:
        try:
            found = of_lines(tree, first, last, lines)
        except RefusedError:
            # An expression may fill its lines, too.
            found = of_expression(tree, *span, source)
    return found


def _bare(source: str, span: tuple[int, int]) -> tuple[int, int]:
    """A range without the brackets around it, which are no part of an expression."""
    begin, end = span
    if source[begin : begin + 1] != "(" or source[end - 1 : end] != ")":
        return span
    inner = source[begin + 1 : end - 1]
    begin += 1 + len(inner) - len(inner.lstrip())
    return begin, begin + len(inner.strip())


def _fits(kind: str, selection: Selection, asked: str) -> None:
    """Refuse a kind of function that cannot be there."""
    hosts = selection.hosts
    in_method = len(hosts) > 1 and isinstance(hosts[-2], ast.ClassDef)
    if asked in ("method", "staticmethod", "classmethod") and not in_method:
        raise RefusedError(
            "invalid_params",
            f"a {asked} can only be extracted from a method of a class",
            "leave `kind` out",
        )
    names = {n.id for top in selection.nodes for n in ast.walk(top) if isinstance(n, ast.Name)}
    if kind in ("staticmethod", "function") and names & {"super", "__class__"}:
        raise RefusedError(
            "conflict", "the range uses `super()`, which only works in a method", "leave `kind` out"
        )
