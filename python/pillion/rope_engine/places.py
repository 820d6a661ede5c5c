"""Where nodes of a tree stand in the text of their file."""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import Any

from pillion.rope_engine import flow


class Lines:
    """Offsets in characters of places that `ast` gives in bytes."""

    def __init__(self, source: str) -> None:
        self.text = source.split("\n")
        self.starts = [0]
        for line in self.text:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return min(bisect_right(self.starts, offset), len(self.text))

    def offset(self, line: int, byte: int) -> int:
        """The offset of a place."""
        return self.starts[line - 1] + self.column(line, byte)

    def column(self, line: int, byte: int) -> int:
        """The column in characters, from 0."""
        return len(self.text[line - 1].encode()[:byte].decode(errors="replace"))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node begins and ends."""
        end_line, end_byte = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_byte)


def start(node: ast.stmt) -> int:
    """The first line of a statement, its decorators among it."""
    lines = [decorator.lineno for decorator in getattr(node, "decorator_list", ())]
    return min([node.lineno, *lines])


def line_in_file(files: dict[str, str], name: str, tree_line: int, disguised: str) -> int:
    """The line in the file of a line in the text that Rope saw."""
    return Lines(files[name]).line(Lines(disguised).starts[tree_line - 1])


def host_of(tree: ast.AST, node: ast.AST) -> ast.AST:
    """The innermost function, class or module around a node."""
    best = tree
    for scope in ast.walk(tree):
        if isinstance(scope, (*flow.FUNCTIONS, ast.ClassDef)) and scope is not node:
            inside = any(inner is node for part in scope.body for inner in ast.walk(part))
            best = scope if inside else best
    return best


def has_own_lines(text: str, statement: Any) -> bool:
    """Whether a statement is alone in its lines: Rope takes and adds whole lines."""
    lines = text.split("\n")
    first = lines[statement.lineno - 1].encode()[: statement.col_offset].strip()
    rest = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].strip()
    return not first and (not rest or rest.startswith(b"#"))
