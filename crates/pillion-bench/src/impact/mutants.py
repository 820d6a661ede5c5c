"""Choose what `pillion bench impact` breaks: `mutants.py ROOT PACKAGE SEED EXECUTED.json`."""

import ast
import hashlib
import json
import pathlib
import sys


def functions(tree: ast.AST, prefix: str = ""):
    """All functions of a module, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def mutants(root: pathlib.Path, package: str, seed: str, executed: set) -> list:
    """Functions that tests execute, in an order that only the seed decides."""
    found = []
    for path in sorted((root / package).rglob("*.py")):
        file = path.relative_to(root).as_posix()
        text = path.read_bytes()
        lines = text.splitlines()
        for name, node in functions(ast.parse(text)):
            if f"{file}:{name}" not in executed:
                continue
            body = node.body
            if ast.get_docstring(node) is not None and len(body) > 1:
                body = body[1:]
            first = body[0]
            # What stands behind the colon, as in overloads, has no line of its own.
            if lines[first.lineno - 1][: first.col_offset].strip():
                continue
            start = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))])
            order = hashlib.sha256(f"{seed}:{file}:{name}".encode()).hexdigest()
            column = first.col_offset
            found.append((order, {"file": file, "name": name, "line": start, "column": column}))
    return [mutant for _, mutant in sorted(found, key=lambda pair: pair[0])]


if __name__ == "__main__":
    root, package, seed, executed = sys.argv[1:]
    known = set(json.loads(pathlib.Path(executed).read_text())["executed"])
    print(json.dumps(mutants(pathlib.Path(root), package, seed, known)))
