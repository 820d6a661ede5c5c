"""What a range needs to be a function of its own: parameters, results, `async`."""

from __future__ import annotations

import ast
from typing import Any

from pillion.rope_engine import closures, flow
from pillion.rope_engine.refusal import RefusedError
from pillion.rope_engine.selection import Selection, check, is_async

# Functions that take all there is out of a generator.
_USING_UP = (
    "all",
    "any",
    "dict",
    "frozenset",
    "list",
    "max",
    "min",
    "set",
    "sorted",
    "sum",
    "tuple",
)


class Needs:
    """The parameters and results of a function that a range becomes."""

    def __init__(self, selection: Selection, outside: bool) -> None:
        check(selection)
        self.selection = selection
        self.outside = outside
        self.is_async = is_async(selection.nodes)
        self.returned = False
        host = selection.host
        self.is_module = isinstance(host, ast.Module)
        self.locals = flow.locals_of(host)
        for scope in selection.around:
            self.locals |= flow.locals_of(scope)
        if outside:
            # The function will not stand where it sees the names of functions around it.
            for scope in selection.hosts:
                if isinstance(scope, flow.FUNCTIONS):
                    self.locals |= flow.locals_of(scope)
                self.locals |= flow.type_parameters(scope)
        self._order = _first_uses(host)
        inner = flow.Flow()
        self.arguments: list[str] = []
        self.results: list[str] = []
        if selection.expression is not None:
            self._expression(inner)
        else:
            self._statements(inner)

    def _expression(self, inner: flow.Flow) -> None:
        expression = self.selection.expression
        inner.expression(expression, set())  # type: ignore[arg-type]
        if inner.bound:
            name = min(inner.bound)
            raise RefusedError(
                "conflict",
                f"the expression gives `{name}` a value with `:=`",
                "extract the whole statement, or an expression without `:=`",
            )
        wanted = inner.exposed & self.locals
        if not self.is_module:
            closures.check(self.selection, wanted, set(), self.outside)
        self.arguments = [] if self.is_module else self._sorted(wanted)
        if self.is_module:
            scopes = self.selection.around
            own = set().union(*(flow.locals_of(scope) for scope in scopes)) if scopes else set()
            self.arguments = self._sorted(inner.exposed & own)

    def _statements(self, inner: flow.Flow) -> None:
        body: list[Any] = self.selection.nodes
        end = inner.block(body, set())
        returns = [node for node in flow.own_nodes(body) if isinstance(node, ast.Return)]
        self.returned = bool(returns) and end is None
        if returns and end is not None:
            raise RefusedError(
                "conflict",
                f"the range returns in line {returns[-1].lineno}, but not on every way through it",
                "take the rest of the function into the range, or leave the `return` out",
            )
        self._globals(body)
        bound = inner.bound & self.locals
        before = self._certain_before()
        live = bound & self._live_after(body, end or set())
        arguments = inner.exposed & self.locals
        if self.is_module:
            # Everything else is visible in the function, as it is global.
            arguments &= bound
        if self.returned or end is None:
            live = set()
        self._deleted(body, live)
        strict = flow.Flow(strict=True).block(body, set())
        for name in sorted(live):
            if end is None or name in (strict or ()):
                continue
            if name in before:
                arguments.add(name)
            elif name not in end:
                raise RefusedError(
                    "conflict",
                    f"`{name}` may have no value at the end of the range",
                    f"give `{name}` a value before the range, or on every way through it",
                )
        unsure = sorted(name for name in arguments - before if name not in bound)
        self._captures(body, arguments)
        if not self.is_module:
            closures.check(self.selection, arguments, bound, self.outside)
        if unsure:
            raise RefusedError(
                "conflict",
                f"`{unsure[0]}` may have no value where the range begins",
                "give it a value on every way there, or take more into the range",
            )
        # What is written here in the round of a loop before has no value in the first one.
        if late := sorted(arguments - before):
            raise RefusedError(
                "conflict",
                f"`{late[0]}` is read by the range before it certainly has a value",
                f"give `{late[0]}` a value before the range",
            )
        self.arguments = self._sorted(arguments)
        self.results = self._sorted(live)

    def _deleted(self, body: list[Any], live: flow.Names) -> None:
        """A function of its own would only delete its own name."""
        gone = [
            node
            for node in flow.own_nodes(body)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
        ]
        for node in gone:
            if self.is_module or node.id in live:
                raise RefusedError(
                    "conflict",
                    f"the range deletes `{node.id}` in line {node.lineno}",
                    "leave that statement out of the range",
                )

    def _globals(self, body: list[Any]) -> None:
        host = [] if self.is_module else list(self.selection.host.body)  # type: ignore[attr-defined]
        bound = flow.bound_in(body)
        self.globals_ = bound & flow.declared(host, ast.Global)
        self.nonlocals = bound & flow.declared(host, ast.Nonlocal)

    def _captures(self, body: list[Any], arguments: flow.Names) -> None:
        """A function inside would keep the value of now, where it saw later ones."""
        if self.is_module:
            return
        outside = self.selection.steps_in_host
        step = outside[-1]
        later: list[ast.AST] = list(step.block[step.last + 1 :])
        for upper in reversed(outside[:-1]):
            node = upper.block[upper.first]
            later += [node] if isinstance(node, flow.LOOPS) else []
            later += upper.block[upper.last + 1 :]
        changed = flow.bound_in(later)
        caught = {n for node in body for n in _lasting(node)} & arguments & changed
        if caught:
            name = min(caught)
            raise RefusedError(
                "conflict",
                f"a function or generator uses `{name}`, which is given other values later",
                "leave that out of the range",
            )

    def _certain_before(self) -> flow.Names:
        """The names that certainly have a value where the range begins."""
        host = self.selection.host
        known: flow.Names | None = set()
        if isinstance(host, flow.FUNCTIONS):
            known = set(flow.parameters(host.args))
        for scope in self.selection.hosts:
            known |= flow.type_parameters(scope)
            if scope is not host and isinstance(scope, flow.FUNCTIONS):
                known |= flow.locals_of(scope)
        walk = flow.Flow()
        steps = self.selection.steps_in_host
        for step, below in zip(steps, [*steps[1:], None], strict=True):
            known = walk.block(step.block[: step.first], known)
            if known is None:
                return set(self.locals)
            if below is not None:
                self._enter(walk, step.block[step.first], below, known)
        return known

    @staticmethod
    def _enter(walk: flow.Flow, node: ast.stmt, below: Any, known: flow.Names) -> None:
        """What is certain in a block because its statement has begun."""
        match node:
            case ast.If() | ast.While():
                walk.expression(node.test, known)
            case ast.For() | ast.AsyncFor():
                walk.expression(node.iter, known)
                if below.block is node.body:
                    walk.expression(node.target, known)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    walk.expression(item, known)
            case ast.Try() if below.block is node.orelse:
                known |= walk.block(node.body, set(known)) or set()
            case ast.Try():
                for handler in node.handlers:
                    if below.block is handler.body and handler.name:
                        known.add(handler.name)
            case ast.Match():
                walk.expression(node.subject, known)
                for case in node.cases:
                    if below.block is case.body:
                        known |= flow.bound_in([case.pattern])
                        if case.guard is not None:
                            walk.expression(case.guard, known)

    def _live_after(self, body: list[Any], end: flow.Names) -> flow.Names:
        """The names whose value is read after the range, in it included if it is repeated."""
        if self.is_module:
            inside = {id(node) for top in body for node in ast.walk(top)}
            rest = (node for node in ast.walk(self.selection.tree) if id(node) not in inside)
            used = {node.id for node in rest if isinstance(node, ast.Name)}
            # Other modules may import what has a public name.
            return used | {name for name in end if not name.startswith("_")}
        self._after_failure: flow.Names = set()
        steps = self.selection.steps_in_host
        host_body = self.selection.host.body  # type: ignore[attr-defined]
        live = flow.captured_in(host_body) | self._after(steps, len(steps) - 1)
        self._failures(body)
        return live

    def _after(self, steps: list[Any], at: int) -> flow.Names:
        """The names that are read once the range, or the statement that it is in, is done."""
        if at < 0:
            return set()
        step = steps[at]
        up = self._after(steps, at - 1)
        if isinstance(step.parent, flow.LOOPS):
            again = flow.Flow()
            again.statement(step.parent, set())
            up |= again.exposed
        if _is_protected(step):
            up |= _reads_of_handlers(step.parent)
            self._after_failure |= up
        elif isinstance(step.parent, ast.Try):
            up |= _reads_of_handlers(step.parent)
        rest = flow.Flow()
        rest_body = step.block[step.last + 1 :]
        end = rest.block(rest_body, set())
        # A jump or an error may pass by what would be written.
        if _may_jump(rest_body) or any(_is_protected(upper) for upper in steps[: at + 1]):
            return rest.exposed | up
        return rest.exposed | (up - end if end is not None else set())

    def _failures(self, body: list[Any]) -> None:
        """If the range fails in the middle, what it had written by then would be lost."""
        simple = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Import, ast.ImportFrom)
        early = body[:-1] if isinstance(body[-1], simple) else body
        lost = flow.bound_in(early) & self.locals & self._after_failure
        if lost and (len(body) > 1 or not isinstance(body[0], simple)):
            raise RefusedError(
                "conflict",
                f"`{min(lost)}` is given a value in the range and read after an error in it",
                "extract the whole `try` statement, or less of its body",
            )

    def _sorted(self, names: flow.Names) -> list[str]:
        return sorted(names, key=lambda name: (self._order.get(name, 1 << 30), name))


def _may_jump(body: list[ast.stmt]) -> bool:
    kinds = (ast.Break, ast.Continue, ast.Raise)
    return any(isinstance(node, kinds) for node in flow.own_nodes(body))


def _is_protected(step: Any) -> bool:
    """Whether an error in the block is handled."""
    is_try = isinstance(step.parent, ast.Try) or type(step.parent).__name__ == "TryStar"
    return is_try and step.block is step.parent.body


def _reads_of_handlers(node: Any) -> flow.Names:
    """What handlers and the rest of a `try` read; the body may end anywhere."""
    names: flow.Names = set()
    for block in ([handler.body for handler in node.handlers], [node.orelse, node.finalbody]):
        for body in block:
            walk = flow.Flow()
            walk.block(body, set())
            names |= walk.exposed
    return names


def _lasting(node: ast.AST) -> flow.Names:
    """What functions and generators in a node keep using after they are made."""
    kinds = (*flow.FUNCTIONS, ast.Lambda, ast.GeneratorExp)
    nodes = flow.own_nodes([node])
    used_up = {id(n.args[0]) for n in nodes if isinstance(n, ast.Call) and _uses_up(n)}
    made = [n for n in nodes if isinstance(n, kinds) and id(n) not in used_up]
    return set().union(*(flow.free_names(function) for function in made)) if made else set()


def _uses_up(call: ast.Call) -> bool:
    """Whether a call takes all there is out of its first argument, and keeps nothing of it."""
    function = call.func
    if isinstance(function, ast.Attribute):
        named = function.attr == "join"
    else:
        named = isinstance(function, ast.Name) and function.id in _USING_UP
    return named and bool(call.args)


def _first_uses(host: ast.AST) -> dict[str, int]:
    """Names in the order in which a reader meets them: parameters first."""
    order: dict[str, int] = {}
    if isinstance(host, flow.FUNCTIONS):
        for name in flow.parameters(host.args):
            order.setdefault(name, len(order))
    names = [node for node in ast.walk(host) if isinstance(node, ast.Name)]
    names.sort(key=lambda node: (node.lineno, node.col_offset))
    for node in names:
        order.setdefault(node.id, len(order))
    return order
