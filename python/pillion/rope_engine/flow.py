"""What a piece of a function needs from outside, and what it leaves behind.

Rope guesses this by line numbers, and is wrong about branches, loops, imports and handlers;
extracting code by a wrong guess changes what a program does. Here every statement is
followed once, in the order in which Python would run it.

A set of names that certainly have a value is passed along; `None` in its place says that
the end of a block is never reached.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Names = set[str]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Flow:
    """Follows statements; keeps what was read before it was written, and what was bound."""

    def __init__(self, strict: bool = False) -> None:
        # Strict: a `with` block may swallow an exception and so end early.
        self.strict = strict
        self.exposed: Names = set()
        self.bound: Names = set()
        self._breaks: list[list[Names]] = []

    def block(self, body: Iterable[ast.stmt], written: Names | None) -> Names | None:
        """Follow statements one after the other."""
        for statement in body:
            if written is None:
                # Never run, and so needs nothing.
                self.bound |= bound_in([statement])
                continue
            written = self.statement(statement, written)
        return written

    def statement(self, node: ast.stmt, written: Names) -> Names | None:
        """Follow one statement."""
        special = getattr(self, f"_{type(node).__name__.lower()}", None)
        if special is not None:
            return special(node, written)
        for child in ast.iter_child_nodes(node):
            self.expression(child, written)
        return written

    def expression(self, node: ast.AST, written: Names) -> None:
        """Follow an expression in the order in which its parts are computed."""
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                self._write(node.id, written)
            else:
                self._read(node.id, written)
                if isinstance(node.ctx, ast.Del):
                    self.bound.add(node.id)
                    written.discard(node.id)
        elif isinstance(node, ast.NamedExpr):
            self.expression(node.value, written)
            self.expression(node.target, written)
        elif isinstance(node, ast.BoolOp):
            self.expression(node.values[0], written)
            some = set(written)
            for value in node.values[1:]:
                self.expression(value, some)
        elif isinstance(node, ast.IfExp):
            self.expression(node.test, written)
            one, other = set(written), set(written)
            self.expression(node.body, one)
            self.expression(node.orelse, other)
            written |= one & other
        elif isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
            self._reads(free_names(node), written)
            self.bound |= bound_in([node])
        else:
            for child in ast.iter_child_nodes(node):
                self.expression(child, written)

    def _read(self, name: str, written: Names) -> None:
        if name not in written:
            self.exposed.add(name)

    def _reads(self, names: Names, written: Names) -> None:
        self.exposed |= names - written

    def _write(self, name: str, written: Names) -> None:
        self.bound.add(name)
        written.add(name)

    def _stop(self, node: ast.stmt, written: Names) -> None:
        for child in ast.iter_child_nodes(node):
            self.expression(child, written)

    _return = _raise = _continue = _stop

    def _break(self, _node: ast.Break, written: Names) -> None:
        if self._breaks:
            self._breaks[-1].append(set(written))

    def _assign(self, node: ast.Assign, written: Names) -> Names:
        self.expression(node.value, written)
        for target in node.targets:
            self.expression(target, written)
        return written

    def _annassign(self, node: ast.AnnAssign, written: Names) -> Names:
        self.expression(node.annotation, written)
        if node.value is not None:
            self.expression(node.value, written)
            self.expression(node.target, written)
        elif isinstance(node.target, ast.Name):
            self.bound.add(node.target.id)
        return written

    def _augassign(self, node: ast.AugAssign, written: Names) -> Names:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id, written)
        self.expression(node.value, written)
        self.expression(node.target, written)
        return written

    def _if(self, node: ast.If, written: Names) -> Names | None:
        self.expression(node.test, written)
        then = self.block(node.body, set(written))
        return both(then, self.block(node.orelse, written))

    def _while(self, node: ast.While, written: Names) -> Names | None:
        self.expression(node.test, written)
        self._breaks.append([])
        self.block(node.body, set(written))
        breaks = self._breaks.pop()
        if isinstance(node.test, ast.Constant) and node.test.value:
            ends: Names | None = None
            for end in breaks:
                ends = both(ends, end)
            return ends
        self.block(node.orelse, set(written))
        return written

    def _for(self, node: ast.For | ast.AsyncFor, written: Names) -> Names:
        self.expression(node.iter, written)
        once = set(written)
        self.expression(node.target, once)
        self._breaks.append([])
        self.block(node.body, once)
        self._breaks.pop()
        self.block(node.orelse, set(written))
        return written

    _asyncfor = _for

    def _with(self, node: ast.With | ast.AsyncWith, written: Names) -> Names | None:
        for item in node.items:
            self.expression(item.context_expr, written)
            if item.optional_vars is not None:
                self.expression(item.optional_vars, written)
        end = self.block(node.body, set(written))
        return written if self.strict and end is not None else end

    _asyncwith = _with

    def _try(self, node: ast.Try, written: Names) -> Names | None:
        end = self.block(node.orelse, self.block(node.body, set(written)))
        for handler in node.handlers:
            caught = set(written)
            if handler.type is not None:
                self.expression(handler.type, caught)
            if handler.name:
                self._write(handler.name, caught)
            caught = self.block(handler.body, caught)
            if caught is not None and handler.name:
                caught.discard(handler.name)
            end = both(end, caught)
        final = self.block(node.finalbody, set(written))
        if final is None or end is None:
            return None
        return end | final

    _trystar = _try

    def _match(self, node: ast.Match, written: Names) -> Names | None:
        self.expression(node.subject, written)
        end: Names | None = None
        for case in node.cases:
            taken = set(written)
            self._pattern(case.pattern, taken)
            if case.guard is not None:
                self.expression(case.guard, taken)
            end = both(end, self.block(case.body, taken))
        last = node.cases[-1]
        catches_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        return end if catches_all and last.guard is None else both(end, written)

    def _pattern(self, pattern: ast.AST, written: Names) -> None:
        for node in ast.walk(pattern):
            name = _pattern_name(node)
            if name:
                self._write(name, written)
            elif isinstance(node, ast.Name):
                self._read(node.id, written)

    def _functiondef(self, node: ast.FunctionDef, written: Names) -> Names:
        self._reads(free_names(node), written)
        self._write(node.name, written)
        return written

    _asyncfunctiondef = _classdef = _functiondef

    def _import(self, node: ast.Import | ast.ImportFrom, written: Names) -> Names:
        for alias in node.names:
            self._write(alias.asname or alias.name.split(".")[0], written)
        return written

    _importfrom = _import

    def _global(self, _node: ast.stmt, written: Names) -> Names:
        return written

    _nonlocal = _global


def both(one: Names | None, other: Names | None) -> Names | None:
    """What is certain after two ways that meet."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _pattern_name(node: ast.AST) -> str | None:
    if isinstance(node, (ast.MatchAs, ast.MatchStar)):
        return node.name
    return node.rest if isinstance(node, ast.MatchMapping) else None


def own_nodes(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes that belong to the same scope; of a scope inside only its head."""
    found: list[ast.AST] = []
    todo = list(nodes)
    while todo:
        node = todo.pop()
        found.append(node)
        if isinstance(node, FUNCTIONS):
            todo += [*node.decorator_list, *node.args.defaults]
            todo += [default for default in node.args.kw_defaults if default]
        elif isinstance(node, ast.ClassDef):
            todo += [*node.decorator_list, *node.bases, *node.keywords]
        elif isinstance(node, ast.Lambda):
            todo += [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        else:
            todo += ast.iter_child_nodes(node)
    return found


def parameters(args: ast.arguments) -> list[str]:
    """The names of all parameters."""
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [arg.arg for arg in every if arg is not None]


def bound_in(nodes: Iterable[ast.AST]) -> Names:
    """The names that these nodes bind in their own scope."""
    bound: Names = set()
    hidden: set[int] = set()
    for node in own_nodes(nodes):
        if isinstance(node, COMPREHENSIONS):
            # Its variables are its own; what `:=` binds inside is not.
            for generator in node.generators:
                hidden.update(id(part) for part in ast.walk(generator.target))
    for node in own_nodes(nodes):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load) and id(node) not in hidden:
                bound.add(node.id)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        elif name := _pattern_name(node):
            bound.add(name)
    return bound


def declared(nodes: Iterable[ast.AST], kind: type[ast.Global | ast.Nonlocal]) -> Names:
    """The names that `global` or `nonlocal` statements name."""
    statements = (node for node in own_nodes(nodes) if isinstance(node, kind))
    return {name for statement in statements for name in statement.names}


def type_parameters(node: ast.AST) -> Names:
    """The names in the brackets of `class A[T]`, `def f[T]` and `type X[T]`: seen inside alone."""
    return {parameter.name for parameter in getattr(node, "type_params", ())}


def locals_of(scope: ast.AST) -> Names:
    """The names that live in a function, class, comprehension, lambda or module."""
    if isinstance(scope, COMPREHENSIONS):
        targets = [generator.target for generator in scope.generators]
        return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    if isinstance(scope, ast.Lambda):
        return set(parameters(scope.args))
    body: Sequence[ast.stmt] = scope.body  # type: ignore[attr-defined]
    names = bound_in(body)
    if isinstance(scope, FUNCTIONS):
        names |= set(parameters(scope.args))
        names |= type_parameters(scope)
    return names - declared(body, ast.Global) - declared(body, ast.Nonlocal)


def free_names(node: ast.AST) -> Names:
    """The names that a node reads, or rebinds as `nonlocal`, in scopes around it."""
    if isinstance(node, ast.Name):
        return {node.id} if not isinstance(node.ctx, ast.Store) else set()
    inner: Names = set()
    if isinstance(node, ast.Nonlocal):
        return set(node.names)
    for child in ast.iter_child_nodes(node):
        inner |= free_names(child)
    if isinstance(node, (*SCOPES, *COMPREHENSIONS)):
        inner -= locals_of(node)
        for head in own_nodes([node])[1:] if isinstance(node, SCOPES) else ():
            # Defaults, decorators and bases are computed outside.
            inner |= free_names(head)
    # A function's own are among its locals, and its defaults do not see them.
    return inner if isinstance(node, FUNCTIONS) else inner - type_parameters(node)


def captured_in(nodes: Iterable[ast.AST]) -> Names:
    """The names that functions and lambdas inside take from around them."""
    names: Names = set()
    for node in own_nodes(nodes):
        if isinstance(node, (*SCOPES, ast.GeneratorExp)):
            names |= free_names(node)
    return names
