//! What is refused, and how that is said.

use pillion_testing::project::find;
use serde_json::json;

use super::{LIB, USER, check, plain, program, refused, warnings};

#[test]
fn wrong_wishes_are_refused() {
    let mut project = plain();
    let cases = [
        (json!({}), "no change"),
        (json!({"remove": ["nosuch"]}), "no parameter `nosuch`"),
        (json!({"remove": ["unit", "unit"]}), "twice"),
        (
            json!({"add": [{"name": "width", "default": "1"}]}),
            "already",
        ),
        (
            json!({"add": [{"name": "class", "default": "1"}]}),
            "keyword",
        ),
        (json!({"add": [{"name": "x"}]}), "no default and no value"),
        (
            json!({"add": [{"name": "x", "default": "1 +"}]}),
            "not one expression",
        ),
        (
            json!({"add": [{"name": "x", "value": "1, 2"}]}),
            "not one expression",
        ),
        (
            json!({"add": [{"name": "x", "default": "1", "index": 9}]}),
            "last place",
        ),
        (
            json!({"add": [{"name": "x", "value": "1", "index": 2}]}),
            "behind `height`",
        ),
        (
            json!({"order": ["width", "height"]}),
            "`unit` is not in the order",
        ),
        (
            json!({"order": ["height", "width", "unit"]}),
            "behind `height`",
        ),
        (
            json!({"order": ["unit", "width", "height"]}),
            "keyword-only",
        ),
        (
            json!({"order": ["width", "width", "height", "unit"]}),
            "twice",
        ),
        (
            json!({"order": ["width", "height", "unit", "x"]}),
            "no parameter `x`",
        ),
        (
            json!({"values": [{"name": "x", "value": "1"}]}),
            "not added",
        ),
    ];
    for (mut params, part) in cases {
        params["name_path"] = json!("area");
        refused(&mut project, params, "invalid_params", part);
    }
    let nobody = json!({"name_path": "nosuch", "remove": ["x"]});
    refused(&mut project, nobody, "not_found", "nosuch");
    let both = json!({"remove": ["x"]});
    refused(&mut project, both, "invalid_params", "`at`");
    let (line, col) = find(USER, "import |asyncio");
    let module = json!({"file": "main.py", "line": line, "col": col, "remove": ["x"]});
    refused(
        &mut project,
        module,
        "invalid_params",
        "not defined in this workspace",
    );
    let (line, col) = find(LIB, "area(|width");
    let parameter = json!({"file": "lib.py", "line": line, "col": col, "remove": ["x"]});
    refused(&mut project, parameter, "invalid_params", "parameter");
}

#[test]
fn what_would_break_is_refused_with_the_place() {
    let lib = "\
import json
from dataclasses import dataclass
from typing import overload


def used(a, b=1):
    return [a, (lambda b: b)(a)] + [b]


def shadowed(a, b=1):
    return (lambda b: b)(a)


@dataclass
class Point:
    x: int


class Plain:
    @property
    def size(self):
        return 1

    def __call__(self, a):
        return a

    def m(self, a):
        return a


class Unlike(Plain):
    def m(self, b):
        return b


class Both:
    def __new__(cls, a):
        return super().__new__(cls)

    def __init__(self, a):
        pass


class Encoder(json.JSONEncoder):
    def default(self, o):
        return str(o)


@overload
def many(a: int) -> int: ...
@overload
def many(a: str) -> str: ...
def many(a):
    return a


def star(a, b=2, c=3):
    return a + b


values, named = [1, 2], {'b': 1}
print(star(*values), star(1, **named), used(1), shadowed(1))
";
    let mut project = program(&[("main.py", lib)]);
    let add = json!([{"name": "x", "default": "1"}]);
    let cases = [
        (
            json!({"name_path": "used", "remove": ["b"]}),
            "conflict",
            "main.py:7",
            true,
        ),
        (
            json!({"name_path": "Point", "add": add}),
            "conflict",
            "@dataclass",
            true,
        ),
        (
            json!({"name_path": "Plain", "add": add}),
            "conflict",
            "no `__init__`",
            true,
        ),
        (
            json!({"name_path": "Plain/size", "add": add}),
            "invalid_params",
            "property",
            true,
        ),
        (
            json!({"name_path": "Plain/__call__", "add": add}),
            "conflict",
            "Python itself",
            false,
        ),
        (
            json!({"name_path": "Plain/m", "add": add}),
            "conflict",
            "main.py:32",
            true,
        ),
        (
            json!({"name_path": "Plain/m", "remove": ["self"]}),
            "invalid_params",
            "`self`",
            false,
        ),
        (
            json!({"name_path": "Both", "add": add}),
            "conflict",
            "__new__",
            true,
        ),
        (
            json!({"name_path": "Encoder/default", "add": add}),
            "conflict",
            "outside",
            true,
        ),
        (
            json!({"name_path": "many", "path": "main.py", "add": add}),
            "conflict",
            "",
            false,
        ),
    ];
    for (mut params, code, part, has_place) in cases {
        if params["name_path"] == "many" {
            let (line, col) = find(lib, "def |many(a):");
            params = json!({"file": "main.py", "line": line, "col": col, "add": add});
        }
        let error = refused(&mut project, params, code, part);
        let location = error.pointer("/data/location");
        assert_eq!(
            location.is_some(),
            has_place || part.is_empty(),
            "{error:#}"
        );
    }
    check(
        &mut project,
        json!({"name_path": "shadowed", "remove": ["b"]}),
        &["def shadowed(a):"],
    );
    // Stars.
    let order = json!({"name_path": "star", "order": ["a", "c", "b"]});
    let error = refused(&mut project, order.clone(), "conflict", "passes `*`");
    assert_eq!(error["data"]["places"].as_array().unwrap().len(), 1);
    let removed = json!({"name_path": "star", "remove": ["c"]});
    let error = refused(&mut project, removed, "conflict", "passes");
    assert_eq!(error["data"]["places"].as_array().unwrap().len(), 2);
    let mut left = order;
    left["leave_unclear"] = json!(true);
    let answer = project.ask("change_signature", left);
    assert!(warnings(&answer).contains("left as they are"), "{answer:#}");
    assert_eq!(
        answer["possible"].as_array().unwrap().len(),
        1,
        "{answer:#}"
    );
    check(
        &mut project,
        json!({"name_path": "star", "add": [{"name": "d", "default": "4"}]}),
        &[
            "def star(a, b=2, c=3, d=4):",
            "star(*values), star(1, **named)",
        ],
    );
}
