"""In which order a program computes things, and what may happen in between.

Inlining computes a value later than before. That is the same only if nothing that runs in
between can change what the value is read from, and if what is computed is still computed
exactly once. Extracting a variable computes a value earlier, before its statement.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pillion.rope_engine import flow
from pillion.rope_engine.refusal import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pillion.rope_engine.places import Lines
    from pillion.rope_engine.selection import Selection

# What reads something that others can change.
_STATE = (ast.Attribute, ast.Subscript, ast.Call, ast.Await, *flow.COMPREHENSIONS)
# What makes something new of the values of names.
_OPERATORS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.JoinedStr)
# What does something when it is computed.
ACTIVE = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_WITHS = (ast.With, ast.AsyncWith)
_FORS = (ast.For, ast.AsyncFor)
_TRIES = tuple(kind for kind in (ast.Try, getattr(ast, "TryStar", None)) if kind is not None)


def reads_state(value: ast.AST) -> bool:
    """Whether a value depends on more than the names in it."""
    return any(isinstance(node, _STATE) for node in ast.walk(value))


def is_active(value: ast.AST) -> bool:
    """Whether computing a value may do something."""
    return any(isinstance(node, ACTIVE) for node in ast.walk(value))


def operates(value: ast.AST) -> bool:
    """Whether a value is made from what names stand for, and not these things themselves."""
    return any(isinstance(node, _OPERATORS) for node in ast.walk(value))


def in_order(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes in the order in which they are computed: each behind its parts.

    A `with` and a `for` come before their bodies: they run code of others first. The bodies
    of functions that are only defined here are not computed.
    """
    for node in nodes:
        if isinstance(node, (*flow.FUNCTIONS, ast.Lambda)):
            args = node.args
            heads = [*args.defaults, *(d for d in args.kw_defaults if d)]
            yield from in_order([*getattr(node, "decorator_list", []), *heads])
        elif isinstance(node, _WITHS):
            for item in node.items:
                yield from in_order([item.context_expr])
                yield node
                yield from in_order([item.optional_vars] if item.optional_vars else [])
            yield from in_order(node.body)
            continue
        elif isinstance(node, _FORS):
            yield from in_order([node.iter])
            yield node
            yield from in_order([node.target, *node.body, *node.orelse])
            continue
        elif isinstance(node, flow.COMPREHENSIONS):
            for generator in node.generators:
                yield from in_order([generator.iter, generator.target, *generator.ifs])
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            yield from in_order(parts)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from in_order([*([node.value] if node.value else []), *targets])
        elif isinstance(node, ast.IfExp):
            yield from in_order([node.test, node.body, node.orelse])
        elif isinstance(node, ast.NamedExpr):
            yield from in_order([node.value, node.target])
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                yield from in_order([*([key] if key else []), value])
        else:
            yield from in_order(ast.iter_child_nodes(node))
        yield node


def runs(node: ast.AST) -> str | None:
    """What a node runs that may change anything, in words."""
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return "a `yield`"
    if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return "an `await`"
    if isinstance(node, (ast.Call, *_WITHS, *_FORS, ast.Import, ast.ImportFrom)):
        return "code that may change it"
    stored = not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    if stored and isinstance(node, (ast.Attribute, ast.Subscript)):
        return "a change"
    return None


class Uses:
    """The uses of a name in a body, and what runs before each of them."""

    def __init__(self, body: list[ast.stmt], name: str, after: ast.stmt | None = None) -> None:
        self.body, self.name, self.after = body, name, after
        self.order = list(in_order(body))
        every = (node for top in body for node in ast.walk(top))
        self.parents = {id(c): node for node in every for c in ast.iter_child_nodes(node)}
        begin = self.order.index(after) + 1 if after is not None else 0
        self.between = self.order[begin:]
        self.found = [n for n in self.between if _is_use(n, name)]

    def elsewhere(self) -> bool:
        """Whether functions inside use the name, too: whenever they are called."""
        inner = [n for top in self.body for n in ast.walk(top) if _is_use(n, self.name)]
        known = {id(node) for node in self.order}
        return any(id(node) not in known for node in inner)

    def before(self, use: ast.AST) -> list[ast.AST]:
        """What is computed between the value and a use, also in a round before."""
        nodes = self.between[: self.between.index(use)]
        for loop in self._around(use):
            if isinstance(loop, (*flow.LOOPS, *flow.COMPREHENSIONS)):
                nodes += list(in_order([loop]))
        return nodes

    def runs_before(self, use: ast.AST) -> str | None:
        """What runs between the value and a use, if anything."""
        found = [what for node in self.before(use) if (what := runs(node))]
        # Others run for sure while this one waits: that says most.
        waits = [what for what in found if what in ("a `yield`", "an `await`")]
        return next(iter([*waits, *found]), None)

    def changes_before(self, use: ast.AST, names: flow.Names) -> bool:
        """Whether a thing that one of the names stands for is handed to others before a use."""
        for node in self.before(use):
            parts: list[ast.AST] = []
            if isinstance(node, ast.Call):
                own = node.func.value if isinstance(node.func, ast.Attribute) else None
                parts = [*([own] if own else []), *node.args, *(k.value for k in node.keywords)]
            elif runs(node) == "a change":
                parts = [node.value]  # type: ignore[attr-defined]
            inner = (n for part in parts for n in ast.walk(part))
            if any(isinstance(n, ast.Name) and n.id in names for n in inner):
                return True
        return False

    def is_caught(self, use: ast.AST) -> bool:
        """Whether an exception at a use would be handled, and at the value would not."""
        return any(
            isinstance(node, _TRIES) and any(use in ast.walk(part) for part in node.body)
            for node in self._around(use)
        )

    def is_conditional(self, use: ast.AST) -> bool:
        """Whether a use is not computed exactly once whenever the value is."""
        if any(isinstance(node, _LEAVES) for node in self.before(use)):
            return True
        return any(_chooses(node, use) for node in self._around(use))

    def _around(self, use: ast.AST) -> list[ast.AST]:
        """What holds a use, but not the value."""
        holds_value = {id(node) for node in self._above(self.after)}
        return [node for node in self._above(use) if id(node) not in holds_value]

    def _above(self, node: ast.AST | None) -> list[ast.AST]:
        found = []
        while node is not None and (node := self.parents.get(id(node))) is not None:
            found.append(node)
        return found


def _is_use(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _chooses(node: ast.AST, use: ast.AST) -> bool:
    """Whether a node computes a part with a use only sometimes, or more than once."""
    parts: list[ast.AST] = []
    if isinstance(node, (ast.If, ast.IfExp)):
        parts = [n for n in ast.iter_child_nodes(node) if n is not node.test]
    elif isinstance(node, ast.BoolOp):
        parts = list(node.values[1:])
    elif isinstance(node, ast.Compare):
        parts = list(node.comparators[1:])
    elif isinstance(node, ast.While):
        return True
    elif isinstance(node, _FORS):
        parts = [*node.body, *node.orelse]
    elif isinstance(node, _TRIES):
        parts = [*node.handlers, *node.orelse]
    elif isinstance(node, ast.Match):
        parts = list(node.cases)
    elif isinstance(node, ast.Assert):
        parts = [node.msg] if node.msg else []
    elif isinstance(node, flow.COMPREHENSIONS):
        return use not in ast.walk(node.generators[0].iter) or isinstance(node, ast.GeneratorExp)
    return any(use in ast.walk(part) for part in parts)


def hoistable(selection: Selection, lines: Lines) -> list[str]:
    """Refuse an expression that cannot be computed before its statement; warn of the rest."""
    expression = selection.expression
    step = selection.steps[-1]
    statement = step.block[step.first]
    own = set().union(*(flow.locals_of(scope) for scope in selection.around), set())
    inner = flow.free_names(expression)  # type: ignore[arg-type]
    if caught := sorted(inner & own):
        raise RefusedError(
            "conflict",
            f"the expression uses `{caught[0]}`, which only has a value inside of its statement",
            "extract the whole comprehension or lambda",
        )
    if caught := sorted(inner & flow.type_parameters(statement)):
        raise RefusedError(
            "conflict",
            f"the expression uses `{caught[0]}`, a type parameter that only its statement has",
            "choose a part without it",
        )
    if type(statement).__name__ == "TypeAlias":
        raise RefusedError(
            "conflict",
            "what a `type` statement names is computed when it is first needed",
            "give it a name by a `type` statement of its own",
        )
    nodes = list(ast.walk(expression))  # type: ignore[arg-type]
    if any(isinstance(node, (ast.NamedExpr, ast.Yield, ast.YieldFrom)) for node in nodes):
        raise RefusedError(
            "conflict", "the expression holds `:=` or `yield`", "choose an expression without them"
        )
    if isinstance(statement, ast.While) and expression in ast.walk(statement.test):
        raise RefusedError(
            "conflict",
            "the test of a `while` loop is computed in every round",
            "compute it inside of the loop",
        )
    before = step.block[: step.first]
    if before and (before[-1].end_lineno or 0) >= statement.lineno:
        raise RefusedError(
            "conflict", "another statement stands before it in its line", "put it in its own line"
        )
    assigned = {n.target.id for n in ast.walk(statement) if isinstance(n, ast.NamedExpr)}
    for item in statement.items if isinstance(statement, _WITHS) else ():
        if item.optional_vars is not None and expression not in ast.walk(item):
            assigned |= flow.bound_in([item.optional_vars])
    for case in getattr(statement, "cases", ()):
        if expression in ast.walk(case):
            assigned |= flow.bound_in([case.pattern])
    if inner & assigned:
        raise RefusedError(
            "conflict",
            f"the expression uses `{min(inner & assigned)}`, which its statement gives a value",
            "let a line of its own give it that value",
        )
    _has_room(selection, lines)
    notes = _in_class(selection)
    if _is_conditional(statement, expression) or any(
        isinstance(scope, ast.Lambda) for scope in selection.around
    ):
        what = "the expression is now always computed; before it was only where it was needed"
        return [*notes, what]
    if _overtakes(statement, expression):
        what = "the expression is now computed before what stands before it in its statement"
        return [*notes, what]
    return notes


def _has_room(selection: Selection, lines: Lines) -> None:
    """Refuse an expression before whose statement no line can stand."""
    expression = selection.expression
    step = selection.steps[-1]
    statement = step.block[step.first]
    if isinstance(statement, (*flow.FUNCTIONS, ast.ClassDef)):
        if expression not in flow.own_nodes([statement]):
            what = "an annotation is no value to name"
            raise RefusedError("invalid_params", what, "choose another expression")
        if statement.decorator_list:
            what = "there is no room for a line between a function and its decorators"
            raise RefusedError("conflict", what, "name the value before the decorators by hand")
    begins = lines.text[statement.lineno - 1].lstrip()
    if isinstance(statement, ast.If) and begins.startswith("elif"):
        what = "there is no room for a line before an `elif`"
        raise RefusedError("conflict", what, "name the value before the whole `if` by hand")
    if step.parent is not selection.tree and _heads_line(step.parent, statement, lines):
        what = "its statement stands behind the `:` of its line: no line has room between them"
        raise RefusedError("conflict", what, "put the statement in its own line first")
    parts = (*getattr(statement, "cases", ()), *getattr(statement, "handlers", ()))
    if any(expression in ast.walk(part) for part in parts):
        what = "there is no room for a line before a `case` or an `except`"
        raise RefusedError("conflict", what, "name the value before the whole statement by hand")


def _heads_line(parent: ast.AST, statement: ast.stmt, lines: Lines) -> bool:
    """Whether a statement stands in a line with the head of its block: `if x: y = 1`."""
    if isinstance(parent, ast.Module):
        return False
    before = lines.text[statement.lineno - 1].encode()[: statement.col_offset]
    return before.rstrip().endswith(b":")


def _in_class(selection: Selection) -> list[str]:
    """What a name in the body of a class becomes: refused where something is made of each."""
    host = selection.host
    if not isinstance(host, ast.ClassDef):
        return []
    if host.bases or host.keywords or host.decorator_list:
        raise RefusedError(
            "conflict",
            f"a name in the body of `{host.name}` may be more than an attribute:"
            " its bases, metaclass or decorators see it",
            "name the value before the class by hand",
        )
    return [f"the name is an attribute of `{host.name}` from now on"]


def _overtakes(statement: ast.stmt, expression: ast.AST | None) -> bool:
    """Whether something that may matter is computed before the expression in its statement."""
    if expression is None or not (reads_state(expression) or is_active(expression)):
        return False
    for node in in_order([statement]):
        if node is expression:
            return False
        own = any(node is part for part in ast.walk(expression))
        if not own and isinstance(node, ACTIVE):
            return True
    return False


def _is_conditional(statement: ast.AST, expression: ast.AST | None) -> bool:
    """Whether the expression is computed only under a condition."""
    for node in ast.walk(statement):
        parts: list[ast.AST] = []
        if isinstance(node, ast.BoolOp):
            parts = list(node.values[1:])
        elif isinstance(node, ast.Compare):
            parts = list(node.comparators[1:])
        elif isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, flow.COMPREHENSIONS):
            parts = [c for c in ast.iter_child_nodes(node) if c is not node.generators[0]]
        elif isinstance(node, ast.Assert) and node.msg is not None:
            parts = [node.msg]
        elif isinstance(node, ast.match_case) and node.guard is not None:
            parts = [node.guard]
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            parts = [node.type]
        if any(inner is expression for part in parts for inner in ast.walk(part)):
            return True
    return False
