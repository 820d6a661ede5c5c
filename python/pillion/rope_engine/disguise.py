"""A form of a text that Rope cannot damage.

Rope moves lines about without knowing which of them are inside of a string, and counts a tab
as eight spaces. So it is given a text of the same length in which strings have one line and
tabs are single spaces; what comes back is turned into the original form again.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from itertools import pairwise

from pillion.rope_engine.refusal import RefusedError

# The lines in which a file may say its encoding.
CODING_LINES = 2
# Whether an f-string may hold strings with its own quotes: then only a tokenizer can tell.
NESTED_STRINGS = sys.version_info >= (3, 12)
# Comments, which may hold quotes, and strings: many times as fast as a tokenizer in Python.
_STRING = re.compile(
    r"""\#[^\n]*
    |\"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3}
    |'{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}
    |"[^"\\\n]*(?:\\.[^"\\\n]*)*"
    |'[^'\\\n]*(?:\\.[^'\\\n]*)*'
    """,
    re.VERBOSE | re.DOTALL,
)


def parse(source: str, path: str) -> ast.Module:
    """The tree of a file, or why there is none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise RefusedError(
            "parse_error",
            f"`{path}` has a syntax error in line {line}",
            f"correct it first; pillion's own Python, which reads it here, is {version}",
            line=line,
        ) from None


class Disguise:
    """A text as Rope may see it."""

    def __init__(self, source: str, at: int = 0) -> None:
        self.source = source
        # In bytes as well, hence ASCII; nothing that Python takes for the end of a line.
        unused = (chr(c) for c in (*range(1, 9), *range(14, 28)) if chr(c) not in source)
        self.mark, self.coding = next(unused), next(unused)
        text = self._masked(source)
        # Rope would encode by a coding line, which is about the file and not about the text.
        head = text.split("\n", CODING_LINES)
        for at, line in enumerate(head[:CODING_LINES]):
            if line.lstrip().startswith("#"):
                head[at] = line.replace("coding", f"codin{self.coding}")
        text = "\n".join(head)
        self.tabs = "\n\t" in text
        lines = text.split("\n")
        if self.tabs:
            lines = [line.lstrip(" \t").rjust(len(line)) for line in lines]
        self.text = "\n".join(lines)
        self.indent = 1 if self.tabs and self._uses_tabs(text, at) else self._width(lines)
        self._spaces = {}
        if self.tabs:
            for line in text.split("\n"):
                body = line.lstrip(" \t")
                lead = line[: len(line) - len(body)]
                self._spaces.setdefault(body, len(lead) - len(lead.rstrip(" ")))

    @staticmethod
    def _uses_tabs(text: str, at: int) -> bool:
        """Whether the lines around a place are indented by tabs."""
        near = [line for line in text[:at].split("\n") if line[:1] in (" ", "\t")][-1:]
        near += [line for line in text[at:].split("\n") if line[:1] in (" ", "\t")][:1]
        return any(line[0] == "\t" for line in near[-1:])

    def _masked(self, source: str) -> str:
        """The text with the line ends inside of strings replaced."""
        if not NESTED_STRINGS:
            return _STRING.sub(lambda found: found[0].replace("\n", self.mark), source)
        starts = [0]
        for line in source.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        chars = list(source)
        depth, begin = 0, 0
        try:
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                kind = tokenize.tok_name[token.type]
                first = starts[token.start[0] - 1] + token.start[1]
                last = starts[token.end[0] - 1] + token.end[1]
                if kind.endswith("STRING_START"):
                    begin = first if depth == 0 else begin
                    depth += 1
                elif kind.endswith("STRING_END"):
                    depth -= 1
                if kind == "STRING" or (kind.endswith("STRING_END") and depth == 0):
                    begin = first if kind == "STRING" else begin
                    for at in range(begin, last):
                        if chars[at] == "\n":
                            chars[at] = self.mark
        except (tokenize.TokenError, SyntaxError):
            return source
        return "".join(chars)

    @staticmethod
    def _width(lines: list[str]) -> int:
        """How many spaces a block is indented by."""
        for before, line in pairwise(lines):
            width = len(line) - len(line.lstrip(" "))
            here = len(before) - len(before.lstrip(" "))
            if before.rstrip().endswith(":") and line.strip() and width > here:
                return width - here
        return 4

    def undo(self, text: str) -> str:
        """What Rope made of it, in the form of the original."""
        if self.tabs:
            text = "\n".join(self._retabbed(line) for line in text.split("\n"))
        return text.replace(self.mark, "\n").replace(self.coding, "g")

    def _retabbed(self, line: str) -> str:
        body = line.lstrip(" ")
        width = len(line) - len(body)
        spaces = min(self._spaces.get(body, 0 if self.indent == 1 else width), width)
        return "\t" * (width - spaces) + " " * spaces + body
