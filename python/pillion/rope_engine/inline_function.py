"""What keeps a function from being inlined."""

from __future__ import annotations

import ast
from typing import Any

from pillion.rope_engine import evaluation, flow
from pillion.rope_engine.places import has_own_lines, host_of, line_in_file
from pillion.rope_engine.refusal import RefusedError


def check_function(inliner: Any, trees: dict[str, ast.Module], files: dict[str, str]) -> list[str]:
    """Refuse a function whose body would not do the same at its calls."""
    node = inliner.pyfunction.get_ast()
    host = host_of(inliner.pymodule.get_ast(), node)
    owner = host if isinstance(host, ast.ClassDef) else None
    _check_body(node)
    for path, tree in trees.items():
        calls = _calls(tree, node.name)
        lines = [statement.lineno for statement, _ in calls]
        for statement, way in calls:
            seen = inliner.project.get_file(path).read()
            where = f"in line {line_in_file(files, path, way[-1].lineno, seen)} of `{path}`"  # type: ignore[attr-defined]
            if lines.count(statement.lineno) > 1:
                hint = "put the calls in lines of their own"
                raise _refuse(node, f"is called more than once {where}", hint)
            _check_call(node, statement, way, where, seen)
            Passing(node, way[-1], owner, where).check()
            _check_names(node, tree, way[-1], owner, where)
    if owner is not None:
        return ["other classes may override the method, or call it in ways that are not seen here"]
    return []


def _refuse(node: Any, why: str, hint: str = "such a function cannot be inlined") -> RefusedError:
    return RefusedError("conflict", f"`{node.name}` {why}", hint)


def _check_body(node: Any) -> None:
    own = flow.own_nodes(node.body)
    decorators = {getattr(decorator, "id", None) for decorator in node.decorator_list}
    names = {n.id for n in own if isinstance(n, ast.Name)}
    used = set().union(*(flow.free_names(part) for part in node.body))

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
    if own_types := flow.type_parameters(node) & used:
        raise _refuse(node, f"uses its type parameter `{min(own_types)}`")
    returns = [n for n in own if isinstance(n, ast.Return)]
    if returns and (len(returns) > 1 or returns[0] is not node.body[-1]):
        hint = "only the last statement may be a `return`"
        raise _refuse(node, "returns in the middle", hint)
    if changed := set(flow.parameters(node.args)) & flow.bound_in(node.body):
        raise _refuse(node, f"gives its parameter `{min(changed)}` another value")


def _check_call(node: Any, statement: ast.stmt, way: list[ast.AST], where: str, text: str) -> None:
    call: Any = way[-1]
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    used = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    if any(isinstance(n, evaluation.ACTIVE) for value in given for n in ast.walk(value)) and any(
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
    if not is_expression and not has_own_lines(text, statement):
        what = f"is called {where} in a line that has other statements too"
        raise _refuse(node, what, "put the call in a line of its own")
    if not is_expression and not _is_first(statement, call):
        what = f"is called {where} behind something else that is computed before it"
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


def _is_first(statement: ast.stmt, call: ast.Call) -> bool:
    """Whether nothing that others can change is read or run before the call."""
    if isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name):
        return False
    own = {id(node) for node in ast.walk(call)}
    for node in evaluation.in_order([statement]):
        if node is call:
            return True
        if id(node) not in own and (evaluation.runs(node) or evaluation.reads_state(node)):
            return False
    return True


def _check_names(
    node: Any, tree: ast.Module, call: ast.AST, owner: ast.ClassDef | None, where: str
) -> None:
    """Refuse where names of the body mean something else around the call."""
    own = set(flow.parameters(node.args)) | flow.bound_in(node.body)
    outer = set().union(*(flow.free_names(part) for part in node.body), set()) - own
    classes = []
    for scope in ast.walk(tree):
        if not isinstance(scope, (*flow.SCOPES, *flow.COMPREHENSIONS)) or scope is node:
            continue
        if not any(inner is call for inner in ast.walk(scope)):
            continue
        if isinstance(scope, ast.ClassDef):
            classes.append(scope.name)
        elif caught := flow.locals_of(scope) & outer:
            raise _refuse(
                node,
                f"uses `{min(caught)}`, which means something else {where}",
                "rename one of them first",
            )
    if owner is not None and owner.name not in classes:
        attributes = [n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)]
        private = [a for a in attributes if a.startswith("__") and not a.endswith("__")]
        if private:
            what = f"uses `{private[0]}`, which only its class can name, {where}"
            raise _refuse(node, what, "rename it first")


class Passing:
    """What a call hands to a function, and where the body would compute it."""

    def __init__(self, node: Any, call: Any, owner: ast.ClassDef | None, where: str) -> None:
        self.node, self.call, self.owner, self.where = node, call, owner, where
        args = node.args
        self.names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
        self.only_keyword = [arg.arg for arg in args.kwonlyargs]
        decorators = {getattr(decorator, "id", None) for decorator in node.decorator_list}
        self.is_static = owner is None or "staticmethod" in decorators
        self.is_class = owner is not None and "classmethod" in decorators

    def check(self) -> None:
        """Refuse a call whose arguments would be computed in another order, or not once."""
        given = self._given()
        body = [part for part in self.node.body if not _is_docstring(part)]
        later: list[tuple[int, int]] = []
        for rank, (name, value) in enumerate(given):
            if not evaluation.reads_state(value):
                continue
            uses = evaluation.Uses(body, name)
            if uses.elsewhere():
                raise self._refuse("a function that it defines may read it at any time", name)
            for use in uses.found:
                if what := uses.runs_before(use):
                    raise self._refuse(f"it would be read behind {what}", name)
                if evaluation.is_active(value) and uses.is_conditional(use):
                    raise self._refuse("it would not always be computed exactly once", name)
                if uses.is_caught(use):
                    raise self._refuse("its exceptions would be handled", name)
                later.append((uses.order.index(use), rank))
            if evaluation.is_active(value) and len(uses.found) != 1:
                raise self._refuse("it would not be computed exactly once", name)
        ranks = [rank for _, rank in sorted(later)]
        if any(evaluation.is_active(value) for _, value in given) and ranks != sorted(ranks):
            raise self._refuse("arguments would be computed in another order")

    def _given(self) -> list[tuple[str, ast.AST]]:
        """The values of parameters, in the order in which the call computes them."""
        names = list(self.names)
        given: list[tuple[str, ast.AST]] = []
        receiver = self.call.func.value if isinstance(self.call.func, ast.Attribute) else None
        if not self.is_static and names:
            first = names.pop(0)
            self._check_receiver(receiver)
            if receiver is not None and not self.is_class:
                given.append((first, receiver))
        given += list(zip(names, self.call.args, strict=False))
        given += [(k.arg, k.value) for k in self.call.keywords if k.arg]
        known = {name for name, _ in given}
        for name, default in self._defaults().items():
            if name not in known and not isinstance(default, ast.Constant):
                raise self._refuse("its default was computed when the function was defined", name)
        return given

    def _defaults(self) -> dict[str, ast.AST]:
        args = self.node.args
        found = dict(zip(reversed(self.names), reversed(args.defaults), strict=False))
        pairs = zip(self.only_keyword, args.kw_defaults, strict=True)
        return found | {name: value for name, value in pairs if value is not None}

    def _check_receiver(self, receiver: ast.AST | None) -> None:
        name = getattr(receiver, "id", None)
        owner = self.owner.name if self.owner is not None else None
        if self.is_class and name != owner:
            used = any(isinstance(n, ast.Name) and n.id == self.names[0] for n in self._walk())
            if used:
                raise self._refuse("another class than its own may be meant", self.names[0])
        elif not self.is_class and name == owner:
            raise self._refuse("it is called on its class")
        if isinstance(receiver, ast.Call) and getattr(receiver.func, "id", None) == "super":
            raise self._refuse("it is called by way of `super()`")

    def _walk(self) -> list[ast.AST]:
        return [n for part in self.node.body for n in ast.walk(part)]

    def _refuse(self, why: str, name: str | None = None) -> RefusedError:
        which = f" with a value for `{name}`" if name else ""
        return _refuse(self.node, f"is called {self.where}{which}: {why}")
