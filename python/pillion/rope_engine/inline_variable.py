"""What keeps a variable from being inlined."""

from __future__ import annotations

import ast
from typing import Any

from pillion.rope_engine import evaluation, flow
from pillion.rope_engine.places import has_own_lines, host_of, line_in_file
from pillion.rope_engine.refusal import RefusedError

# What makes an object.
_MADE = (ast.Call, ast.List, ast.Dict, ast.Set, *flow.COMPREHENSIONS)


def many_values() -> RefusedError:
    """A variable that cannot be replaced by one value."""
    return RefusedError(
        "conflict",
        "the variable is given a value more than once",
        "only a variable with a single value can be inlined",
    )


def not_simple() -> RefusedError:
    """A variable of a loop, of several at once, or the like."""
    return RefusedError(
        "conflict",
        "the variable does not get its value by a plain `name = value`",
        "only such a variable can be inlined",
    )


def check_variable(inliner: Any, trees: dict[str, ast.Module], files: dict[str, str]) -> list[str]:
    """Refuse a variable whose value would not be the same at its uses."""
    name = inliner.name
    tree = inliner.pymodule.get_ast()
    value = inliner.pyname.assignments[0].ast_node
    host = host_of(tree, value)
    statement = _statement(host, value)
    plain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is value
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    if not plain or len(targets) != 1 or not isinstance(targets[0], ast.Name):
        raise not_simple()
    binds = [node for node in flow.own_nodes(host.body) if _binds(node, name)]  # type: ignore[attr-defined]
    if len(binds) != 1 or _redeclared(tree, name):
        raise many_values()
    inputs = flow.free_names(value)
    for node in flow.own_nodes(host.body):  # type: ignore[attr-defined]
        for other in inputs:
            later = getattr(node, "lineno", 0) > (statement.end_lineno or 0)
            if later and _binds(node, other):
                line = line_in_file(
                    files, inliner.resource.path, node.lineno, inliner.pymodule.source_code
                )
                raise RefusedError(
                    "conflict",
                    f"`{other}`, which the value uses, is given another value in line {line}",
                    "the value would change where it is used",
                    line=line,
                )
    _no_capture(host, name, inputs)
    if isinstance(host, ast.ClassDef):
        what = f"`{name}` belongs to a class, whose subclasses and users may ask for it"
        raise RefusedError("conflict", what, "only variables of functions and modules are inlined")
    _check_line(inliner.pymodule.source_code, statement, name)
    others = [t for path, t in trees.items() if path != inliner.resource.path]
    _check_order(host, statement, value, name, others, _rebound(tree, host, inputs))
    if any(isinstance(node, evaluation.ACTIVE[1:]) for node in ast.walk(value)):
        what = "the value holds `await`, `yield` or `:=`"
        raise RefusedError("conflict", what, "such a value cannot be inlined")
    count = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(host)) - 1
    count += sum(_names(tree, name) for tree in others)
    if not count:
        raise RefusedError(
            "conflict", f"nothing uses `{name}`", "take it away if it is not needed: `safe-delete`"
        )
    is_made = any(isinstance(n, _MADE) for n in ast.walk(value))
    if is_made and (count > 1 or _is_repeated(host, statement, name)):
        raise RefusedError(
            "conflict",
            f"the value would be made anew at each use of `{name}`",
            "only a value that is used once, or that makes nothing, can be inlined",
        )
    if any(isinstance(n, (ast.Call, ast.Attribute, ast.Subscript)) for n in ast.walk(value)):
        return ["the value is now computed later, where it is used"]
    return []


def _names(tree: ast.AST, name: str) -> int:
    """How often a file that imports a name or its module uses it."""
    nodes = list(ast.walk(tree))
    own = sum(isinstance(n, ast.Name) and n.id == name for n in nodes)
    return own + sum(isinstance(n, ast.Attribute) and n.attr == name for n in nodes)


def _check_line(text: str, statement: ast.stmt, name: str) -> None:
    """Refuse a variable that gets its value in a line with other statements."""
    if not has_own_lines(text, statement):
        what = f"`{name}` gets its value in a line that has other statements too"
        raise RefusedError("conflict", what, "put it in a line of its own")


def _rebound(tree: ast.Module, host: Any, inputs: flow.Names) -> tuple[flow.Names, flow.Names]:
    """The names of a value that whoever is called may bind anew, and those bound more than once.

    The latter only matters to functions, which run later than what stands around them.
    """
    declared = {
        other
        for node in ast.walk(tree)
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for other in node.names
    }
    outside = inputs - flow.locals_of(host)
    around = [
        scope
        for scope in ast.walk(tree)
        if isinstance(scope, (ast.Module, *flow.FUNCTIONS))
        and (scope is tree or any(node is host for node in ast.walk(scope)))
    ]
    binds = [node for scope in around for node in flow.own_nodes(scope.body)]
    often = {other for other in outside if sum(_binds(node, other) for node in binds) > 1}
    return inputs & declared, often


def _check_order(
    host: Any,
    statement: ast.stmt,
    value: ast.AST,
    name: str,
    others: list[ast.Module],
    rebound: tuple[flow.Names, flow.Names],
) -> None:
    """Refuse a value that may be another one, or do something else, where it is used."""
    reads, active = evaluation.reads_state(value) or bool(rebound[0]), evaluation.is_active(value)
    uses = evaluation.Uses(host.body, name, statement)
    if rebound[1] and uses.elsewhere():
        raise _moved(name, "into a function, which may be called at any time")
    stored = [
        node
        for tree in others
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == name
        if not isinstance(node.ctx, ast.Load)
    ]
    if stored and isinstance(host, ast.Module):
        raise many_values()
    if reads and (uses.elsewhere() or (others and isinstance(host, ast.Module))):
        raise _moved(name, "into a function, which may be called at any time")
    operands = flow.free_names(value) if evaluation.operates(value) else set()
    for use in uses.found:
        if reads and (what := uses.runs_before(use)):
            raise _moved(name, f"past {what}")
        if operands and uses.changes_before(use, operands):
            raise _moved(name, "past code that may change it")
        if (reads or operands) and uses.is_caught(use):
            raise _moved(name, "into a `try`, which handles its exceptions")
        if active and uses.is_conditional(use):
            raise _moved(name, "to where it is not always computed exactly once")


def _moved(name: str, where: str) -> RefusedError:
    return RefusedError(
        "conflict",
        f"the value of `{name}` would be moved {where}",
        "it may be another one there, or do something else",
    )


def _is_repeated(host: Any, statement: ast.stmt, name: str) -> bool:
    """Whether a use is computed more often than the assignment."""
    inner = (*flow.LOOPS, *flow.SCOPES, *flow.COMPREHENSIONS)
    for node in ast.walk(host):
        if node is host or not isinstance(node, inner):
            continue
        parts = list(ast.walk(node))
        holds = any(part is statement for part in parts)
        used = any(isinstance(part, ast.Name) and part.id == name for part in parts)
        if used and not holds:
            return True
    return False


def _statement(host: Any, value: ast.AST) -> ast.AST | None:
    for node in flow.own_nodes(host.body):
        if isinstance(node, ast.stmt) and any(c is value for c in ast.iter_child_nodes(node)):
            return node
    return None


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, (*flow.FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return name in flow.bound_in([node])
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return node.name == name
    return isinstance(node, ast.MatchMapping) and node.rest == name


def _redeclared(tree: ast.AST, name: str) -> bool:
    kinds = (ast.Global, ast.Nonlocal)
    return any(isinstance(node, kinds) and name in node.names for node in ast.walk(tree))


def _no_capture(host: ast.AST, name: str, inputs: flow.Names) -> None:
    """Refuse where a name of the value means something else at a use."""
    for scope in ast.walk(host):
        if scope is host or not isinstance(scope, (*flow.SCOPES, *flow.COMPREHENSIONS)):
            continue
        own = flow.locals_of(scope) & inputs
        if own and name in flow.free_names(scope):
            raise RefusedError(
                "conflict",
                f"`{min(own)}`, which the value uses, has another meaning where `{name}` is used",
                "rename one of them first",
            )
