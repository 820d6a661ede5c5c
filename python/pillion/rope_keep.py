"""What keeps a variable or a function from being inlined."""

from __future__ import annotations

import ast
from typing import Any

from pillion import rope_flow as flow
from pillion.rope_range import Lines, RefusedError

# What makes an object, and what does something else when it is computed.
_MADE = (ast.Call, ast.List, ast.Dict, ast.Set, *flow.COMPREHENSIONS)
_ACTIVE = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


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


def _line(files: dict[str, str], name: str, tree_line: int, disguised: str) -> int:
    """The line in the file of a line in the text that Rope saw."""
    return Lines(files[name]).line(Lines(disguised).starts[tree_line - 1])


def _host_of(tree: ast.AST, node: ast.AST) -> ast.AST:
    """The innermost function, class or module around a node."""
    best = tree
    for scope in ast.walk(tree):
        if isinstance(scope, (*flow.FUNCTIONS, ast.ClassDef)) and scope is not node:
            inside = any(inner is node for part in scope.body for inner in ast.walk(part))
            best = scope if inside else best
    return best


def check_variable(inliner: Any, files: dict[str, str]) -> list[str]:
    """Refuse a variable whose value would not be the same at its uses."""
    name = inliner.name
    tree = inliner.pymodule.get_ast()
    value = inliner.pyname.assignments[0].ast_node
    host = _host_of(tree, value)
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
                line = _line(
                    files, inliner.resource.path, node.lineno, inliner.pymodule.source_code
                )
                raise RefusedError(
                    "conflict",
                    f"`{other}`, which the value uses, is given another value in line {line}",
                    "the value would change where it is used",
                    line=line,
                )
    _no_capture(host, name, inputs)
    _check_state(host, statement, value)
    if any(isinstance(node, _ACTIVE[1:]) for node in ast.walk(value)):
        what = "the value holds `await`, `yield` or `:=`"
        raise RefusedError("conflict", what, "such a value cannot be inlined")
    count = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(host)) - 1
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


def _check_state(host: Any, statement: ast.stmt, value: ast.AST) -> None:
    """Refuse a value that is read from something which is changed later."""
    read = list(ast.walk(value))
    attributes = {n.attr for n in read if isinstance(n, ast.Attribute)}
    items = any(isinstance(n, ast.Subscript) for n in read)
    for node in ast.walk(host):
        stored = not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if not stored or node.lineno <= (statement.end_lineno or 0):  # type: ignore[attr-defined]
            continue
        is_attribute = isinstance(node, ast.Attribute) and node.attr in attributes
        if is_attribute or (items and isinstance(node, ast.Subscript)):
            raise RefusedError(
                "conflict",
                "what the value is read from is changed after it",
                "the value would change where it is used",
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


def check_function(inliner: Any, trees: dict[str, ast.Module], files: dict[str, str]) -> list[str]:
    """Refuse a function whose body would not do the same at its calls."""
    node = inliner.pyfunction.get_ast()
    _check_body(node)
    for path, tree in trees.items():
        calls = _calls(tree, node.name)
        lines = [statement.lineno for statement, _ in calls]
        for statement, way in calls:
            seen = inliner.project.get_file(path).read()
            where = f"in line {_line(files, path, way[-1].lineno, seen)} of `{path}`"  # type: ignore[attr-defined]
            if lines.count(statement.lineno) > 1:
                hint = "put the calls in lines of their own"
                raise _refuse(node, f"is called more than once {where}", hint)
            _check_call(node, statement, way, where)
    if isinstance(_host_of(inliner.pymodule.get_ast(), node), ast.ClassDef):
        return ["other classes may override the method, or call it in ways that are not seen here"]
    return []


def _refuse(node: Any, why: str, hint: str = "such a function cannot be inlined") -> RefusedError:
    return RefusedError("conflict", f"`{node.name}` {why}", hint)


def _check_body(node: Any) -> None:
    own = flow.own_nodes(node.body)
    decorators = {getattr(decorator, "id", None) for decorator in node.decorator_list}
    names = {n.id for n in own if isinstance(n, ast.Name)}

    def has(*kinds: type[ast.AST]) -> bool:
        return any(isinstance(n, kinds) for n in own)

    reasons = {
        "is an `async` function": isinstance(node, ast.AsyncFunctionDef) or has(ast.Await),
        "has decorators": decorators - {"staticmethod", "classmethod"},
        "is a generator": has(ast.Yield, ast.YieldFrom),
        "changes names outside of it": has(ast.Global, ast.Nonlocal),
        "uses `super()`": names & {"super", "__class__"},
        "takes `*` or `**` parameters": node.args.vararg or node.args.kwarg,
    }
    for why, is_so in reasons.items():
        if is_so:
            raise _refuse(node, why)
    returns = [n for n in own if isinstance(n, ast.Return)]
    if returns and (len(returns) > 1 or returns[0] is not node.body[-1]):
        hint = "only the last statement may be a `return`"
        raise _refuse(node, "returns in the middle", hint)
    if changed := set(flow.parameters(node.args)) & flow.bound_in(node.body):
        raise _refuse(node, f"gives its parameter `{min(changed)}` another value")


def _check_call(node: Any, statement: ast.stmt, way: list[ast.AST], where: str) -> None:
    call: Any = way[-1]
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    used = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    if any(isinstance(n, _ACTIVE) for value in given for n in ast.walk(value)) and any(
        used.count(name) != 1 for name in flow.parameters(node.args)
    ):
        what = f"is called {where} with a call as argument, which may run twice or never"
        raise _refuse(node, what, "give the argument a name first")
    if any(isinstance(value, ast.Starred) for value in given):
        raise _refuse(node, f"is called with `*` {where}")
    # Rope would take a name of the call for the function's own.
    inner = flow.bound_in(node.body)
    for scope in ast.walk(node):
        if isinstance(scope, (ast.Lambda, *flow.COMPREHENSIONS)):
            inner |= flow.locals_of(scope)
    if inner & {name for value in given for name in flow.free_names(value)}:
        raise _refuse(node, f"would give a name of its call {where} another meaning")
    body = [part for part in node.body if not _is_docstring(part)]
    is_expression = len(body) == 1 and isinstance(body[0], ast.Return)
    if not is_expression and not _is_alone(statement, way):
        what = f"is called {where} inside of an expression that is not always computed"
        raise _refuse(node, what, "put the call in a statement of its own")


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _calls(tree: ast.Module, name: str) -> list[tuple[ast.stmt, list[ast.AST]]]:
    """The calls of a name, each with its statement and the expressions around it."""
    found: list[tuple[ast.stmt, list[ast.AST]]] = []

    def visit(node: ast.AST, statement: ast.stmt | None, way: list[ast.AST]) -> None:
        if isinstance(node, ast.stmt):
            statement, way = node, []
        way = [*way, node]
        if isinstance(node, ast.Call) and statement is not None:
            called = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            if called == name:
                found.append((statement, way))
        for child in ast.iter_child_nodes(node):
            visit(child, statement, way)

    visit(tree, None, [])
    return found


def _is_alone(statement: ast.stmt, way: list[ast.AST]) -> bool:
    """Whether a call runs exactly once, before anything else of its statement."""
    simple = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
    later = (ast.BoolOp, ast.IfExp, ast.Lambda, *flow.COMPREHENSIONS)
    return isinstance(statement, simple) and not any(isinstance(node, later) for node in way)
