"""Variables that a range shares with functions beside it.

A range that becomes a function has variables of its own. A function that was made before it
still has those of the function around, and would no longer see what the range gives them; nor
would the range see what that function gives them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pillion.rope_engine import flow
from pillion.rope_engine.refusal import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pillion.rope_engine.selection import Selection

# These have done with what they are given once they have a result.
CONSUMERS = (
    "all",
    "any",
    "dict",
    "frozenset",
    "join",
    "list",
    "max",
    "min",
    "set",
    "sort",
    "sorted",
    "sum",
    "tuple",
)
MADE = (*flow.SCOPES, ast.GeneratorExp)


def check(selection: Selection, read: flow.Names, bound: flow.Names, outside: bool) -> None:
    """Refuse a range if a function that may run in it shares a variable with it."""
    made = _made_before(selection, outside)
    running = _running(selection, made)
    for node in made:
        if id(node) not in running:
            continue
        unseen = flow.free_names(node) & bound
        if unseen:
            raise RefusedError(
                "conflict",
                f"`{min(unseen)}` is given a value in the range, and "
                f"{_called(node)} in line {node.lineno} reads it, perhaps before the range ends",  # type: ignore[attr-defined]
                "take that function into the range, or leave out what gives it a value",
            )
        changed = _given(node) & (read | bound)
        if changed:
            raise RefusedError(
                "conflict",
                f"`{min(changed)}` is used in the range, and "
                f"{_called(node)} in line {node.lineno} gives it a value, perhaps meanwhile",  # type: ignore[attr-defined]
                "take that function into the range, or leave its calls out",
            )


def _called(node: ast.AST) -> str:
    name = getattr(node, "name", None)
    if name:
        return f"`{name}`"
    return "the lambda" if isinstance(node, ast.Lambda) else "the generator"


def _given(node: ast.AST) -> flow.Names:
    """What a function gives values although it belongs to a function around."""
    inner = (n for n in ast.walk(node) if isinstance(n, ast.Nonlocal))
    return {name for statement in inner for name in statement.names} & flow.free_names(node)


def _made_before(selection: Selection, outside: bool) -> list[ast.AST]:
    """The functions, classes and generators that may be there when the range begins."""
    hosts = [host for host in selection.hosts if isinstance(host, flow.FUNCTIONS)]
    if not outside:
        # It stays where it sees the variables of functions around.
        hosts = [host for host in hosts if host is selection.host]
    first = selection.nodes[0].lineno  # type: ignore[attr-defined]
    in_range = {id(n) for top in selection.nodes for n in ast.walk(top)}
    around = {id(step.parent) for step in selection.steps}
    again: set[int] = set()
    for step in selection.steps_in_host:
        if isinstance(step.parent, flow.LOOPS):
            again |= {id(n) for n in ast.walk(step.parent)}
    found = []
    for host in hosts:
        for node in flow.own_nodes(host.body):
            if not isinstance(node, MADE) or id(node) in in_range or id(node) in around:
                continue
            if node.lineno < first or id(node) in again:
                found.append(node)
    return found


def _running(selection: Selection, made: list[ast.AST]) -> set[int]:
    """Those that may run in the range: it names them, or others may have been given them."""
    names = _loaded(selection.nodes)
    named = {getattr(node, "name", ""): node for node in made}
    running = {id(node) for node in made if _is_given_away(node, selection)}
    todo = [named[name] for name in names if name in named]
    todo += [node for node in made if id(node) in running]
    running |= {id(node) for node in todo}
    while todo:
        for name in flow.free_names(todo.pop()) & named.keys():
            other = named[name]
            if id(other) not in running:
                running.add(id(other))
                todo.append(other)
    return running


def _loaded(nodes: Iterable[ast.AST]) -> flow.Names:
    inner = (n for top in nodes for n in ast.walk(top))
    return {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _is_given_away(node: ast.AST, selection: Selection) -> bool:
    """Whether something else than the names in the function may call it."""
    body = selection.hosts[1].body if len(selection.hosts) > 1 else []  # type: ignore[attr-defined]
    if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        return not any(_consumes(n, node) for top in body for n in ast.walk(top))
    if node.decorator_list:  # type: ignore[attr-defined]
        return True
    name = node.name  # type: ignore[attr-defined]
    in_range = {id(n) for top in selection.nodes for n in ast.walk(top)}
    last = selection.nodes[-1].end_lineno  # type: ignore[attr-defined]
    everything = [n for top in body for n in ast.walk(top)]
    called = {id(n.func) for n in everything if isinstance(n, ast.Call)}
    if _goes_on(node):
        called = set()
    for use in everything:
        is_use = isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load)
        if is_use and id(use) not in called and id(use) not in in_range and use.lineno <= last:  # type: ignore[attr-defined]
            return True
    return False


def _goes_on(node: ast.AST) -> bool:
    """Whether what its call gives back may run more of it."""
    kinds = (ast.Yield, ast.YieldFrom, ast.AsyncFunctionDef, *MADE)
    if isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef)):
        return True
    return any(isinstance(n, kinds) for n in ast.walk(node) if n is not node)


def _consumes(call: ast.AST, given: ast.AST) -> bool:
    if not isinstance(call, ast.Call):
        return False
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return name in CONSUMERS and any(value is given for value in values)
