"""Parameter descriptions out of docstrings in Google, numpy and Sphinx style, best effort."""

from __future__ import annotations

import re

_GOOGLE_SECTION = re.compile(r"^(\w[\w ]*):\s*$")
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_PARAM = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\s+([^:]+):\s*(.*)$")
_SPHINX_RETURNS = re.compile(r"^:returns?:\s*(.*)$")
_PARAMS = {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments"}
_PARAMS |= {"other parameters"}
_RETURNS = {"returns", "return", "yields", "yield"}
_SECTIONS = _PARAMS | _RETURNS | {"raises", "examples", "example", "note", "notes", "see also"}
_SPHINX_FIELDS = (":param", ":arg", ":key", ":type", ":return", ":rtype", ":raise", ":yield")


def parse(doc: str) -> tuple[dict[str, str], str]:
    """Descriptions by parameter name, and that of the returned value."""
    lines = doc.splitlines()
    for style in _sphinx, _numpy, _google:
        params, returns = style(lines)
        if params or returns:
            return {name: _join(text) for name, text in params.items()}, _join(returns)
    return {}, ""


def body(doc: str) -> str:
    """The text before the sections about parameters, results and the like."""
    lines = doc.strip().splitlines()
    for index, line in enumerate(lines):
        stripped = line.strip()
        following = lines[index + 1].strip() if index + 1 < len(lines) else ""
        header = _GOOGLE_SECTION.match(line)
        if (
            stripped.startswith(_SPHINX_FIELDS)
            or (stripped.lower() in _SECTIONS and len(following) >= 3 and set(following) == {"-"})
            or (header and header[1].lower() in _SECTIONS)
        ):
            lines = lines[:index]
            break
    return "\n".join(lines).strip()


def _join(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sphinx(lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    params: dict[str, list[str]] = {}
    returns: list[str] = []
    current: list[str] | None = None
    for line in lines:
        stripped = line.strip()
        if found := _SPHINX_PARAM.match(stripped):
            # `:param int count: ...` has the type before the name.
            current = params[found[1].split()[-1].lstrip("*")] = [found[2]]
        elif found := _SPHINX_RETURNS.match(stripped):
            current = returns
            returns.append(found[1])
        elif not stripped or stripped.startswith(":"):
            current = None
        elif current is not None:
            current.append(stripped)
    return params, returns


def _numpy(lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    params: dict[str, list[str]] = {}
    returns: list[str] = []
    section = ""
    current: list[str] = []
    for index, line in enumerate(lines):
        stripped = line.strip()
        following = lines[index + 1].strip() if index + 1 < len(lines) else ""
        if stripped and len(following) >= 3 and set(following) == {"-"}:
            section = stripped.lower()
            continue
        if not stripped or set(stripped) == {"-"}:
            continue
        if section in _PARAMS:
            entry = _NUMPY_ENTRY.match(stripped)
            if _indent(line) == 0 and entry:
                current = []
                for name in entry[1].split(","):
                    params[name.strip().lstrip("*")] = current
            else:
                current.append(stripped)
        elif section in _RETURNS and _indent(line) > 0:
            returns.append(stripped)
    return params, returns


def _google(lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    params: dict[str, list[str]] = {}
    returns: list[str] = []
    section = ""
    depth = 0
    current: list[str] = []
    for line in lines:
        stripped = line.strip()
        header = _GOOGLE_SECTION.match(line)
        if header and header[1].lower() in _PARAMS | _RETURNS | {"raises", "examples", "example"}:
            section, depth = header[1].lower(), 0
        elif stripped and _indent(line) == 0:
            section = ""
        elif stripped and section in _PARAMS:
            depth = depth or _indent(line)
            entry = _GOOGLE_ENTRY.match(stripped)
            if entry and _indent(line) == depth:
                current = params[entry[1]] = [entry[2]]
            else:
                current.append(stripped)
        elif stripped and section in _RETURNS:
            returns.append(stripped)
    return params, returns
