"""Which statements, or which expression, a range of a file is; and what may not be in it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from pillion.rope_engine import flow
from pillion.rope_engine.places import Lines, start
from pillion.rope_engine.refusal import RefusedError, incomplete


@dataclass
class Step:
    """A block of statements on the way to a range, and which of them lead there."""

    parent: ast.AST
    block: list[ast.stmt]
    first: int
    last: int


@dataclass
class Selection:
    """A range of a file as nodes of its tree."""

    tree: ast.Module
    steps: list[Step] = field(default_factory=list)
    expression: ast.expr | None = None
    # Comprehensions and lambdas around the expression.
    around: list[ast.AST] = field(default_factory=list)

    @property
    def nodes(self) -> list[ast.AST]:
        """What is selected."""
        if self.expression is not None:
            return [self.expression]
        step = self.steps[-1]
        return list(step.block[step.first : step.last + 1])

    @property
    def host(self) -> ast.AST:
        """The function, class or module whose names the range uses."""
        for step in reversed(self.steps):
            if isinstance(step.parent, (*flow.FUNCTIONS, ast.ClassDef, ast.Module)):
                return step.parent
        return self.tree

    @property
    def hosts(self) -> list[ast.AST]:
        """All functions and classes around the range, the module first."""
        kinds = (*flow.FUNCTIONS, ast.ClassDef, ast.Module)
        return [step.parent for step in self.steps if isinstance(step.parent, kinds)]

    @property
    def steps_in_host(self) -> list[Step]:
        """The blocks on the way that belong to the host."""
        host = self.host
        parents = [step.parent for step in self.steps]
        return self.steps[parents.index(host) :]


def select(
    tree: ast.Module, source: str, lines: Lines, span: tuple[int, int], kind: str
) -> Selection | None:
    """What lies between two offsets, if it is whole: lines of statements, or an expression."""
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


def bare(source: str, span: tuple[int, int]) -> tuple[int, int]:
    """A range without the brackets around it, which are no part of an expression."""
    begin, end = span
    if source[begin : begin + 1] != "(" or source[end - 1 : end] != ")":
        return span
    inner = source[begin + 1 : end - 1]
    begin += 1 + len(inner) - len(inner.lstrip())
    return begin, begin + len(inner.strip())


def of_lines(tree: ast.Module, first: int, last: int, lines: Lines) -> Selection:
    """The statements that lie in these lines; lines count from 1."""
    selection = Selection(tree)
    parent: ast.AST = tree
    while True:
        step = _step(parent, first, last)
        if step is None:
            raise incomplete()
        selection.steps.append(step)
        chosen = step.block[step.first : step.last + 1]
        if all(first <= start(node) and (node.end_lineno or 0) <= last for node in chosen):
            _own_lines(step, first, last)
            _nothing_else(chosen, lines.text, first, last)
            return selection
        if len(chosen) != 1:
            raise incomplete()
        parent = chosen[0]


def of_expression(tree: ast.Module, begin: int, end: int, source: str) -> Selection | None:
    """The expression that lies between two offsets, if there is exactly one."""
    lines = Lines(source)
    selection = Selection(tree)
    first, last = lines.line(begin), lines.line(end)
    parent: ast.AST = tree
    while (step := _step(parent, first, last)) is not None:
        # Several statements may share a line.
        spans = [lines.span(node) for node in step.block]
        holding = [at for at, span in enumerate(spans) if span[0] <= begin and end <= span[1]]
        if not holding:
            break
        step.first = step.last = holding[0]
        selection.steps.append(step)
        parent = step.block[step.first]
    if not selection.steps:
        return None
    way: list[ast.AST] = []
    if not _walk(parent, (begin, end), lines, way):
        return None
    selection.expression = way[-1]  # type: ignore[assignment]
    inner = (ast.Lambda, *flow.COMPREHENSIONS)
    selection.around = [node for node in way[:-1] if isinstance(node, inner)]
    return selection


def _walk(node: ast.AST, wanted: tuple[int, int], lines: Lines, way: list[ast.AST]) -> bool:
    way.append(node)
    if isinstance(node, ast.expr) and lines.span(node) == wanted:
        return True
    for child in ast.iter_child_nodes(node):
        if _walk(child, wanted, lines, way):
            return True
    way.pop()
    return False


def _step(parent: ast.AST, first: int, last: int) -> Step | None:
    """The block of a statement that the lines lie in."""
    found = None
    for block in blocks(parent):
        hit = [
            at
            for at, node in enumerate(block)
            if start(node) <= last and first <= (node.end_lineno or 0)
        ]
        if hit and found is not None:
            return None
        if hit:
            found = Step(parent, block, hit[0], hit[-1])
    return found


def blocks(parent: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements directly below a node."""
    found: list[list[ast.stmt]] = []
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and block:
            found.append(block)
    inner = (*getattr(parent, "handlers", ()), *getattr(parent, "cases", ()))
    return found + [part.body for part in inner]


def _own_lines(step: Step, first: int, last: int) -> None:
    """Refuse a range that shares a line with a statement that is not in it."""
    block, parent = step.block, step.parent
    if step.first and (block[step.first - 1].end_lineno or 0) >= first:
        raise incomplete()
    if step.last + 1 < len(block) and start(block[step.last + 1]) <= last:
        raise incomplete()
    # `if x: y = 1` has its block in its own line.
    if not isinstance(parent, ast.Module) and getattr(parent, "lineno", 0) >= first:
        raise incomplete()


def _nothing_else(chosen: list[ast.stmt], text: list[str], first: int, last: int) -> None:
    """Refuse a range with a line between its statements, such as an `else:` or `elif`."""
    top = chosen[0]
    if start(top) == top.lineno and text[top.lineno - 1].encode()[: top.col_offset].strip():
        raise incomplete()
    if isinstance(top, ast.If) and text[top.lineno - 1][: top.col_offset + 4].endswith("elif"):
        raise incomplete()
    covered = {line for node in chosen for line in range(start(node), (node.end_lineno or 0) + 1)}
    for line in range(first, last + 1):
        if line not in covered and (body := text[line - 1].strip()) and not body.startswith("#"):
            raise incomplete()


def check(selection: Selection) -> None:
    """Refuse what cannot be in a function of its own."""
    nodes = selection.nodes
    own = flow.own_nodes(nodes)
    if isinstance(selection.host, ast.ClassDef):
        raise RefusedError(
            "invalid_params",
            "the range lies in the body of a class, outside of its methods",
            "choose statements of a function, or of the module",
        )
    for node in own:
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            raise RefusedError(
                "conflict",
                f"the range holds a `yield` in line {node.lineno}",
                "a generator cannot hand on its `yield`; leave it out of the range",
            )
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            raise RefusedError(
                "conflict",
                f"the range holds `from {node.module or '.'} import *` in line {node.lineno}",
                "it may only stand at the top of a module; leave it out of the range",
            )
        if isinstance(node, ast.Return) and isinstance(selection.host, ast.Module):
            raise incomplete()
        if function := _reads_names(node):
            raise RefusedError(
                "conflict",
                f"the range calls `{function}` in line {node.lineno}, which sees all names there",
                "leave it out of the range",
            )
    if jump := _jump_out(nodes):
        raise RefusedError(
            "conflict",
            f"the range leaves a loop around it by the `{_word(jump)}` in line {jump.lineno}",
            "take the whole loop into the range, or leave that statement out",
        )


def _reads_names(node: ast.AST) -> str | None:
    """The function by which a call sees every name around it, if it is one of those."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    name = node.func.id
    sees = name == "locals" or (name in ("vars", "dir") and not node.args)
    # With a dictionary of their own, these see only that.
    runs = name in ("eval", "exec") and len(node.args) + len(node.keywords) == 1
    return name if sees or runs else None


def _word(node: ast.stmt) -> str:
    return "break" if isinstance(node, ast.Break) else "continue"


def _jump_out(nodes: list[ast.AST]) -> ast.stmt | None:
    """A `break` or `continue` whose loop is outside."""
    for node in nodes:
        if isinstance(node, (ast.Break, ast.Continue)):
            return node
        if isinstance(node, (*flow.SCOPES, ast.expr)):
            continue
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, flow.LOOPS):
            inner = list(node.orelse)
        if found := _jump_out(inner):
            return found
    return None


def is_async(nodes: list[ast.AST]) -> bool:
    """Whether the nodes can only run in an `async` function."""
    kinds = (ast.Await, ast.AsyncFor, ast.AsyncWith)
    for node in flow.own_nodes(nodes):
        if isinstance(node, kinds):
            return True
        if isinstance(node, ast.comprehension) and node.is_async:
            return True
    return False
