"""Extracting with Rope, where Rope decides how it looks and `flow` what is needed."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rope.base.codeanalyze import ChangeCollector
from rope.base.utils.datastructures import OrderedSet
from rope.refactor import extract as rope
from rope.refactor import sourceutils

from pillion.rope_engine import names
from pillion.rope_engine.disguise import Disguise, parse
from pillion.rope_engine.evaluation import hoistable
from pillion.rope_engine.parameters import Needs
from pillion.rope_engine.places import Lines
from pillion.rope_engine.project import Project
from pillion.rope_engine.refusal import RefusedError, incomplete
from pillion.rope_engine.selection import bare, select

if TYPE_CHECKING:
    from pillion.rope_engine.refusal import Answer
    from pillion.rope_engine.selection import Selection

# Methods that are called on a class without a decorator.
CLASS_METHODS = ("__init_subclass__", "__class_getitem__")


def extract(path: str, source: str, span: tuple[int, int], name: str, kind: str) -> Answer:
    """Extract what lies between two offsets: a `variable`, or a kind of function."""
    tree = parse(source, path)
    lines = Lines(source)
    if select(tree, source, lines, span, kind) is None:
        span = bare(source, span)
    selection = select(tree, source, lines, span, kind)
    if selection is None:
        raise incomplete()
    names.free(name, kind, selection, tree, lines)
    notes: list[str] = []
    needs = None
    if kind == "variable":
        notes = hoistable(selection, lines)
    else:
        needs = Needs(selection, kind == "function")
        _fits(usual_kind(selection) if kind == "auto" else kind, selection, kind)
    if selection.expression is None:
        first = lines.starts[lines.line(span[0]) - 1]
        span = (first, lines.starts[lines.line(span[1])] - 1)
    disguise = Disguise(source, span[0])
    project = Project({path: disguise.text}, disguise.indent)
    info = rope._ExtractInfo(
        project, project.get_file(path), *span, name, kind == "variable", False, kind == "function"
    )
    info.kind = usual_kind(selection) if kind in ("auto", "function") else kind
    # Rope moves an end that looks like the end of a line; the range is known exactly.
    if selection.expression is not None:
        info.region = span
    text = Performer(info, needs).extract()
    return {"files": {path: disguise.undo(text)}, "warnings": notes}


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


class MethodParts(rope._ExtractMethodParts):
    """The text of a function, with parameters and results that were followed."""

    needs: Needs

    def __init__(self, info: Any, needs: Needs) -> None:
        self.needs = needs
        super().__init__(info)

    def _create_info_collector(self) -> SimpleNamespace:
        needs = self.needs
        globals_ = getattr(needs, "globals_", set())
        nonlocals = getattr(needs, "nonlocals", set())
        return SimpleNamespace(
            globals_=OrderedSet(sorted(globals_)),
            nonlocals_=OrderedSet(sorted(nonlocals)),
            written=OrderedSet(sorted(globals_ | nonlocals)),
            maybe_written=OrderedSet(),
        )

    def _find_function_arguments(self) -> list[str]:
        return list(self.needs.arguments)

    def _find_function_returns(self) -> list[str]:
        return list(self.needs.results)

    def _of_class(self) -> bool:
        """Whether the method around is called on a class, by decorator or by its name."""
        scope = self.info.scope.pyobject
        return scope.get_kind() == "classmethod" or scope.get_name() in CLASS_METHODS

    def _get_self_name(self) -> str | None:
        # Rope says `cls`, whatever the name is.
        if self._extracting_classmethod() and not self._of_class():
            return "cls"
        return self._get_scope_self_name()

    def _get_scope_self_name(self) -> str | None:
        # Rope overlooks parameters before a `/`.
        host: Any = self.needs.selection.host
        if self.info.scope.pyobject.get_kind() == "staticmethod":
            return None
        first = [*host.args.posonlyargs, *host.args.args][:1]
        return first[0].arg if first else None

    def _get_function_call_prefix(self, args: list[str]) -> str:
        if not self.info.method or self.info.make_global:
            return ""
        if self._extracting_staticmethod() or (
            self._extracting_classmethod() and not self._of_class()
        ):
            # A class inside of a class is not visible by its own name.
            names = [scope.name for scope in self.needs.selection.hosts[1:-1]]  # type: ignore[attr-defined]
            while names and not isinstance(self._class_at(names), ast.ClassDef):
                names.pop(0)
            return ".".join(names) + "."
        first = self._get_scope_self_name()
        if first in args:
            args.remove(first)
        return f"{first}."

    def _class_at(self, names: list[str]) -> ast.AST:
        """The outermost of the classes that directly hold each other."""
        hosts = self.needs.selection.hosts[1:-1]
        inner = hosts[len(hosts) - len(names) :]
        return (
            inner[0]
            if all(isinstance(h, ast.ClassDef) for h in inner)
            else self.needs.selection.tree
        )

    def _get_function_call(self, args: list[str]) -> str:
        call = super()._get_function_call(args)
        return f"await {call}" if self.needs.is_async else call

    def _get_call(self) -> str:
        call = self._get_function_call(self._find_function_arguments())
        if self.needs.selection.expression is not None:
            return call
        if self.needs.returned:
            return f"return {call}"
        results = ", ".join(self.needs.results)
        return f"{results} = {call}" if results else call

    def _get_function_definition(self) -> str:
        text = super()._get_function_definition()
        if self.needs.is_async:
            text = text.replace("def ", "async def ", 1)
        return text

    def _get_unindented_function_body(self, returns: list[str]) -> str:
        expression = self.needs.selection.expression
        if expression is not None:
            return "return " + in_one(self.info.extracted)
        body = dedented(self.info.extracted)
        body = self._insert_nonlocals(self._insert_globals(body))
        return f"{body}\nreturn {', '.join(returns)}" if returns else body

    @staticmethod
    def _get_globals_in_body(_body: str) -> OrderedSet:
        # Statements in the range are seen by Python itself: a second one does no harm.
        return OrderedSet()

    _get_nonlocals_in_body = _get_globals_in_body

    def get_definition(self) -> str:
        """The function, without the empty lines around it."""
        return self._get_function_definition()

    def replacement(self) -> str:
        """What stands in place of the range."""
        return self._get_call()


class Performer(rope._ExtractPerformer):
    """Rope's, but the range that was asked for is what is replaced, comments included."""

    def __init__(self, info: Any, needs: Needs | None) -> None:
        self.info = info
        self.needs = needs

    def extract(self) -> str:
        """The new text of the file."""
        collector = self._collect_info()
        line, indents = collector.definition_location
        source = self.info.source
        offset = min(self.info.lines.get_line_start(line), len(source))
        definition = sourceutils.fix_indentation(collector.definition, indents)
        if self.needs is not None:
            definition = _spaced(definition, source[:offset], source[offset:], indents)
        content = ChangeCollector(source)
        content.add_change(offset, offset, definition)
        self._replace_occurrences(content, collector)
        return content.get_changed()

    def _find_definition(self, collector: Any) -> None:
        if self.needs is None:
            collector.definition = f"{self.info.new_name} = {in_one(self.info.extracted)}\n"
            collector.replacement_pattern = self.info.new_name
        else:
            parts = MethodParts(self.info, self.needs)
            collector.definition = parts.get_definition()
            collector.replacement_pattern = parts.replacement()

    def _find_matches(self, collector: Any) -> None:
        collector.matches = []

    def _replace_occurrences(self, content: ChangeCollector, collector: Any) -> None:
        start, end = self.info.region
        while self.info.source[start].isspace():
            start += 1
        content.add_change(start, end, collector.replacement_pattern)


def usual_kind(selection: Selection) -> str:
    """What a piece of a method becomes if nothing else is asked for."""
    name = getattr(selection.host, "name", "")
    in_class = len(selection.hosts) > 1 and isinstance(selection.hosts[-2], ast.ClassDef)
    if in_class and name == "__new__":
        return "staticmethod"
    return "classmethod" if in_class and name in CLASS_METHODS else "method"


def _spaced(definition: str, before: str, behind: str, indents: int) -> str:
    """A function with the empty lines around it that are usual there."""
    wanted = 1 if indents else 2
    above = len(before) - len(before.rstrip("\n")) - 1 if before.strip() else wanted
    below = len(behind) - len(behind.lstrip("\n")) if behind.strip() else wanted
    lead = "" if before.endswith("\n") or not before else "\n"
    inner = definition.strip("\n")
    next_line = behind.lstrip("\n").split("\n", 1)[0]
    if indents and len(next_line) - len(next_line.lstrip(" ")) < indents:
        # What follows is less deep and has its own distance.
        below = wanted
    return lead + "\n" * max(wanted - above, 0) + inner + "\n" + "\n" * max(wanted - below, 0)


def dedented(text: str) -> str:
    """Lines without the indentation of the first statement; comments may have less."""
    lines = text.split("\n")
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    first = code[0] if code else lines[0]
    indent = first[: len(first) - len(first.lstrip())]
    cut = (s.removeprefix(indent) if s.startswith(indent) else s.lstrip() for s in lines)
    return "\n".join(cut)


def in_one(text: str) -> str:
    """An expression as it can stand alone: over several lines it needs brackets."""
    text = text.strip()
    first, *rest = text.split("\n")
    if rest:
        text = first + "\n" + sourceutils.fix_indentation("\n".join(rest), 4)
    try:
        ast.parse(f"x = {text}")
    except SyntaxError:
        return f"({text})"
    return text
