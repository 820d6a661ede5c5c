"""What can be refactored in a tree: one JSON object a line, each with its operation's place."""

import ast
import json
import pathlib
import sys

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def main(root: pathlib.Path, source: str) -> None:
    for path in sorted((root / source).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        Targets(path.relative_to(root).as_posix(), text).tell()


class Targets:
    def __init__(self, file: str, text: str) -> None:
        self.file, self.lines = file, text.split("\n")
        self.tree = ast.parse(text)
        self.parents = {c: n for n in ast.walk(self.tree) for c in ast.iter_child_nodes(n)}

    def tell(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                self.definition(node)
            elif isinstance(node, ast.Assign):
                self.assignment(node)
            if isinstance(node, FUNCTIONS):
                self.parameters(node)
                self.blocks(node)
            elif isinstance(node, (ast.Call, ast.BinOp, ast.Compare, ast.Attribute)):
                self.expression(node)

    def column(self, line: int, byte: int) -> int:
        return len(self.lines[line - 1].encode()[:byte].decode()) + 1

    def place(self, node: ast.AST, name: str | None = None) -> dict[str, object]:
        line, column = node.lineno, self.column(node.lineno, node.col_offset)
        if name is not None:
            while f" {name}" not in self.lines[line - 1]:
                line += 1
            column = self.lines[line - 1].index(f" {name}") + 2
        return {"file": self.file, "line": line, "col": column}

    def say(self, kind: str, operation: str, params: dict[str, object], name: str) -> None:
        fields = {"kind": kind, "operation": operation, "name": name, "params": params}
        print(json.dumps(fields), file=OUT)

    def definition(self, node: ast.AST) -> None:
        if node.name.startswith("__"):
            return
        owner = self.parents[node]
        is_class = isinstance(node, ast.ClassDef)
        kind = "class" if is_class else "function"
        kind = "method" if not is_class and isinstance(owner, ast.ClassDef) else kind
        place = self.place(node, node.name)
        new = {**place, "new_name": f"{node.name}_renamed"}
        self.say(f"rename {kind}", "rename", new, node.name)
        if owner is self.tree:
            folder = pathlib.PurePosixPath(self.file).parent
            for to in ("moved_here", "sub_moved/moved_there"):
                there = {**place, "dest_file": f"{folder}/{to}.py"}
                self.say("move", "move", there, node.name)
            for other in sorted({"_compat", "utils", "helpers", "typing", "exceptions"}):
                there = {**place, "dest_file": f"{folder}/{other}.py"}
                if pathlib.Path(sys.argv[1], str(there["dest_file"])).exists():
                    self.say("move", "move", there, node.name)
        if not is_class:
            self.say(f"inline {kind}", "inline", place, node.name)
            self.signature(node, place)

    def signature(self, node: ast.AST, place: dict[str, object]) -> None:
        added = {**place, "add": [{"name": "added_here", "default": "None"}]}
        self.say("change signature", "change_signature", added, node.name)
        args = [a.arg for a in node.args.args if a.arg not in ("self", "cls")]
        plain = not (node.args.posonlyargs or node.args.kwonlyargs or node.args.vararg)
        if len(args) > 1 and plain and not node.args.kwarg and not node.args.defaults:
            order = {**place, "order": args[::-1]}
            self.say("change signature", "change_signature", order, node.name)

    def parameters(self, node: ast.AST) -> None:
        for arg in (*node.args.args, *node.args.kwonlyargs):
            if arg.arg not in ("self", "cls") and not node.name.startswith("__"):
                new = {**self.place(arg), "new_name": f"{arg.arg}_renamed"}
                self.say("rename parameter", "rename", new, arg.arg)

    def assignment(self, node: ast.Assign) -> None:
        [target, *more] = node.targets
        if more or not isinstance(target, ast.Name) or target.id.startswith("__"):
            return
        new = {**self.place(target), "new_name": f"{target.id}_renamed"}
        self.say("rename variable", "rename", new, target.id)
        self.say("inline variable", "inline", self.place(target), target.id)

    def blocks(self, node: ast.AST) -> None:
        body = node.body
        for first in range(len(body)):
            for last in range(first, min(first + 3, len(body))):
                lines = (body[first].lineno, body[last].end_lineno)
                params = {"file": self.file, "start_line": lines[0], "end_line": lines[1]}
                self.say(
                    "extract function",
                    "extract_method",
                    {**params, "method_name": "extracted_here"},
                    node.name,
                )

    def expression(self, node: ast.AST) -> None:
        if node.lineno != node.end_lineno or node.end_col_offset - node.col_offset < 6:
            return
        params = {
            "file": self.file,
            "start_line": node.lineno,
            "start_col": self.column(node.lineno, node.col_offset),
            "end_col": self.column(node.lineno, node.end_col_offset),
            "var_name": "extracted_here",
        }
        self.say("extract variable", "extract_var", params, type(node).__name__)


with open(sys.argv[3], "w", encoding="utf-8") as OUT:
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
