"""Inlining with Rope, where Rope moves the text and this module keeps the meaning.

Rope pastes text as it is: without brackets, past the end of a `return`, twice where it is
used twice. What can be put right is; what cannot is refused.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from rope.base import libutils
from rope.base.exceptions import RefactoringError, RopeError
from rope.refactor import inline as rope

from pillion.rope_engine import flow
from pillion.rope_engine.disguise import Disguise, parse
from pillion.rope_engine.inline_function import check_function
from pillion.rope_engine.inline_variable import check_variable, many_values, not_simple
from pillion.rope_engine.project import Project
from pillion.rope_engine.refusal import RefusedError

# Text that means the same wherever it is pasted.
_CLOSED = (
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
)
_MAX_BRACKETS = 200
# A name that Rope makes up for a variable of what it moves.
_MADE_UP = re.compile(r"__\d+__(\w+)")
# What Rope calls a module, by the folders that it sees.
_modname = libutils.modname


def inline(
    path: str, offset: int, files: dict[str, str], names: dict[str, str] | None = None
) -> dict[str, Any]:
    """Inline the variable or function at an offset in all these files.

    `names` are the names by which the files are imported: Rope does not see the packages.
    """
    for name, text in files.items():
        parse(text, name)
    disguises = {name: Disguise(text) for name, text in files.items()}
    project = Project({name: disguise.text for name, disguise in disguises.items()})
    resource = project.get_file(path)
    libutils.modname = lambda resource: (names or {}).get(resource.path) or _modname(resource)
    rope._getvardef = _value
    rope._DefinitionGenerator = _Generator
    # Names that are made up are the same in every run.
    _Generator.unique_prefix = rope.unique_prefix()
    try:
        inliner = rope.create_inline(project, resource, offset)
    except (RopeError, AttributeError, AssertionError) as error:
        raise _no_target(error) from None
    trees = {name: ast.parse(disguise.text) for name, disguise in disguises.items()}
    if inliner.get_kind() == "variable":
        notes = check_variable(inliner, trees, files)
    elif inliner.get_kind() == "method":
        notes = check_function(inliner, trees, files)
    else:
        raise _no_target(None)
    _check_offered(inliner, trees)
    try:
        changes = inliner.get_changes(resources=[project.get_file(name) for name in files])
    except RefactoringError as error:
        raise _not_all(inliner.name, error) from None
    changed: dict[str, str] = {}
    texts = {change.resource.path: change.new_contents for change in changes.changes}
    for name, disguise in disguises.items():
        text = texts.get(name)
        if text is None or text == disguise.text:
            # What Rope did not see is still there.
            _check_leftovers(inliner, name, disguise.text)
            continue
        text = _with_own_names(_without_brackets(text, disguise.text))
        _check_leftovers(inliner, name, text)
        _check_imports(inliner, name, disguise.text, text)
        changed[name] = disguise.undo(text)
    return {"files": changed, "warnings": notes}


def _with_own_names(text: str) -> str:
    """Names that Rope made up, as they were, where nothing is given their value.

    It gives the variables of what it moves names that are free, and takes the caller's own
    name in `self.part.method()` for one of them.
    """
    made_up: dict[str, bool] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and _MADE_UP.fullmatch(node.id):
            stored = isinstance(node.ctx, ast.Store)
            made_up[node.id] = made_up.get(node.id, False) or stored
    for name, stored in made_up.items():
        if not stored:
            own = _MADE_UP.sub(r"\1", name)
            text = re.sub(rf"\b{name}\b", own, text)
    return text


def _check_offered(inliner: Any, trees: dict[str, ast.Module]) -> None:
    """Refuse a name that a module says it offers."""
    for path, tree in trees.items():
        for statement in tree.body:
            named = any(isinstance(n, ast.Name) and n.id == "__all__" for n in ast.walk(statement))
            strings = (n.value for n in ast.walk(statement) if isinstance(n, ast.Constant))
            if named and inliner.name in strings:
                raise RefusedError(
                    "conflict",
                    f"`{path}` offers `{inliner.name}` by its `__all__`",
                    "take it out of there first",
                )


def _check_imports(inliner: Any, path: str, before: str, after: str) -> None:
    """Refuse if Rope changed imports of other names."""

    def imports(text: str) -> set[tuple[str, ...]]:
        found: set[tuple[str, ...]] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                found |= {(module, a.name, a.asname or "") for a in node.names}
            elif isinstance(node, ast.Import):
                found |= {(a.name, a.asname or "") for a in node.names}
        return found

    lost = imports(before) - imports(after)
    if lost := {names for names in lost if inliner.name not in names[1:]}:
        what = f"inlining `{inliner.name}` would take the import of `{min(lost)[-2]}` from `{path}`"
        raise RefusedError("conflict", what, "it cannot be inlined there")


def _no_target(error: Exception | None) -> RefusedError:
    if error is not None and "assigned once" in str(error):
        return many_values()
    if error is not None and "tuple" in str(error):
        return not_simple()
    if error is not None and "list and keyword" in str(error):
        return RefusedError(
            "conflict",
            "the function has keyword-only parameters, `*args` or `**kwargs`",
            "inline it by hand, or give it plain parameters first",
        )
    return RefusedError(
        "invalid_params",
        "there is no variable or function to inline at this place",
        "name the place of a local variable, or of a function of these files",
    )


def _value(pymodule: Any, pyname: Any) -> str:
    """The text of a variable's value: what Rope calls `_getvardef`, with brackets."""
    assignment = pyname.assignments[0]
    node = assignment.ast_node
    if assignment.levels or getattr(assignment, "evaluation", "") not in ("", None):
        message = "Cannot inline tuple assignments."
        raise RefactoringError(message)
    text = ast.get_source_segment(pymodule.source_code, node) or ""
    return _bracketed(text, node)


def _bracketed(text: str, node: ast.AST) -> str:
    closed = isinstance(node, _CLOSED)
    return text if closed and "\n" not in text else f"({text})"


class _Generator(rope._DefinitionGenerator):
    def _replace_returns_with(self, source: str, returns: bool) -> tuple[str, str | None]:
        definition, returned = super()._replace_returns_with(source, returns)
        if returned:
            node = ast.parse(f"({returned}\n)", mode="eval").body
            returned = _bracketed(returned.strip(), node)
        return definition, returned


def _without_brackets(text: str, before: str) -> str:
    """Leave out the brackets that change nothing."""
    try:
        wanted = ast.dump(ast.parse(text))
    except SyntaxError:
        return text
    at = text.find("(")
    for _ in range(_MAX_BRACKETS):
        if at < 0:
            break
        end = _closing(text, at)
        inner = text[at : end + 1]
        if end > 0 and inner not in before and "\n" not in inner:
            tried = text[:at] + inner[1:-1] + text[end + 1 :]
            try:
                same = ast.dump(ast.parse(tried)) == wanted
            except SyntaxError:
                same = False
            text = tried if same else text
        at = text.find("(", at + 1)
    return text


def _closing(text: str, at: int) -> int:
    depth = 0
    for index in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return -1


def _check_leftovers(inliner: Any, path: str, text: str) -> None:
    """Refuse if the name is still used where its definition is gone."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise RefusedError(
            "conflict", f"inlining `{inliner.name}` makes no valid code", None
        ) from None
    if "." in _qualified(inliner):
        found = (n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute))
    else:
        found = iter(flow.free_names(tree) - flow.locals_of(tree))
    if inliner.name in found:
        raise RefusedError(
            "conflict",
            f"`{inliner.name}` is used in `{path}` in a way that cannot be replaced",
            "change that use first",
        )


def _not_all(name: str, error: RefactoringError) -> RefusedError:
    """Why Rope gave up, in our own words."""
    text = str(error)
    if "other than function call" in text:
        return RefusedError(
            "conflict",
            f"`{name}` is used other than by calling it",
            "only a function that is called everywhere can be inlined",
        )
    if "reference themselves" in text:
        return RefusedError("conflict", f"`{name}` calls itself", "it cannot be inlined")
    return RefusedError("conflict", f"`{name}` cannot be inlined", "choose another name")


def _qualified(inliner: Any) -> str:
    """A method's name has a dot; it is used by other names than its own."""
    function = getattr(inliner, "pyfunction", None)
    parent = getattr(function, "parent", None)
    return f".{inliner.name}" if type(parent).__name__ == "PyClass" else inliner.name
