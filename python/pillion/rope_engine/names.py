"""Whether a new name is free where it would be used."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from pillion.rope_engine import flow
from pillion.rope_engine.refusal import RefusedError

if TYPE_CHECKING:
    from pillion.rope_engine.places import Lines
    from pillion.rope_engine.selection import Selection


def free(name: str, kind: str, selection: Selection, tree: ast.Module, lines: Lines) -> None:
    """Refuse a name that already means something there."""
    hosts = selection.hosts
    in_method = len(hosts) > 1 and isinstance(hosts[-2], ast.ClassDef)
    # Python takes letters that look the same for the same.
    known = True if not name.isascii() or any(name in line for line in lines.text) else None
    if in_method and kind not in ("variable", "function"):
        scope: ast.AST = hosts[-2]
        taken = known and (_place(name, scope, lines) or _attribute(name, scope, lines))
        where = "the class"
    else:
        # A name that is read anywhere inside would mean the new one.
        scope = hosts[-1] if kind == "variable" else tree
        taken = known and (_place(name, tree, lines) or _place(name, hosts[-1], lines))
        where = "this file"
        if known and taken is None:
            taken = _anywhere(name, tree if len(hosts) == 1 else hosts[1], lines)
        if taken is None and hasattr(builtins, name):
            raise RefusedError(
                "conflict", f"`{name}` is a builtin of Python", "choose another name", name=name
            )
    if taken is not None:
        line, column = taken
        raise RefusedError(
            "conflict",
            f"`{name}` is already used in {where}, in line {line}",
            "choose another name",
            name=name,
            line=line,
            column=column,
        )


def _place(name: str, scope: ast.AST, lines: Lines) -> tuple[int, int] | None:
    """Where a scope binds a name."""
    if isinstance(scope, flow.FUNCTIONS):
        args = scope.args
        every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
        for arg in every:
            if arg is not None and arg.arg == name:
                return _at(arg, lines)
    body: list[ast.stmt] = scope.body  # type: ignore[attr-defined]
    if name not in flow.bound_in(body):
        return None
    for node in _in_order(flow.own_nodes(body)):
        if name in _binds(node):
            return _at(node, lines)
    return None


def _binds(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else set()
    if isinstance(node, (*flow.FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return flow.bound_in([node])
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return {node.name} if node.name else set()
    return {node.rest} if isinstance(node, ast.MatchMapping) and node.rest else set()


def _attribute(name: str, scope: ast.AST, lines: Lines) -> tuple[int, int] | None:
    """Where a class uses an attribute of that name, such as `self.name`."""
    found = (n for n in ast.walk(scope) if isinstance(n, ast.Attribute) and n.attr == name)
    own = (n for n in found if isinstance(n.value, ast.Name) and n.value.id in ("self", "cls"))
    first = next(iter(_in_order(own)), None)
    return None if first is None else _at(first, lines)


def _anywhere(name: str, scope: ast.AST, lines: Lines) -> tuple[int, int] | None:
    """Where a name is used at all in a scope and in those inside of it."""
    for node in _in_order(n for n in ast.walk(scope) if hasattr(n, "lineno")):
        if isinstance(node, ast.Name) and node.id == name:
            return _at(node, lines)
        if isinstance(node, ast.arg) and node.arg == name:
            return _at(node, lines)
        if name in _binds(node):
            return _at(node, lines)
    return None


def _in_order(nodes: object) -> list[ast.AST]:
    placed = [node for node in nodes if hasattr(node, "lineno")]  # type: ignore[attr-defined]
    return sorted(placed, key=lambda node: (node.lineno, node.col_offset))


def _at(node: ast.AST, lines: Lines) -> tuple[int, int]:
    line, byte = node.lineno, node.col_offset  # type: ignore[attr-defined]
    column = lines.column(line, byte) + 1
    if isinstance(node, (*flow.FUNCTIONS, ast.ClassDef)):
        # The place of the name, not of the word before it.
        text = lines.text[line - 1]
        column = max(text.find(f" {node.name}", column - 1) + 2, column)
    return line, column
