//! Changes of signatures: programs print the same before and after, and undo restores every
//! byte.

use std::fs;

use serde_json::{Value, json};

use super::project::{Project, bare, find, git, members};
use crate::context::{Output, TestContext};

/// A program under git, of these files.
fn program(files: &[(&str, &str)]) -> Project {
    let context = bare();
    for (name, text) in files {
        context.write(name, text);
    }
    git(&context, &["init", "-q"]);
    git(&context, &["add", "-A"]);
    git(&context, &["commit", "-q", "-m", "before"]);
    Project::new(context)
}

fn printed(context: &TestContext) -> String {
    let mut python = context.command("python3");
    python.args(["-B", "main.py"]);
    let output = Output::of(python);
    assert_eq!(output.code, Some(0), "{output}");
    output.stdout
}

/// Make a change: the program prints the same, the lines of `now` are there, and undo restores
/// every byte. Gives the answer.
fn check(project: &mut Project, mut params: Value, now: &[&str]) -> Value {
    let before = printed(&project.context);
    params["apply"] = json!(true);
    let applied = project.ask("change_signature", params.clone());
    assert_eq!(applied["applied"], true);
    assert_eq!(printed(&project.context), before, "{params}");
    let files = applied["files"].as_array().unwrap();
    let texts: String = files
        .iter()
        .map(|file| fs::read_to_string(project.root().join(file.as_str().unwrap())).unwrap())
        .collect();
    for line in now {
        assert!(texts.contains(line), "no `{line}` in\n{texts}");
    }
    let undone = project.ask("undo", json!({}));
    assert_eq!(undone["undone"], applied["undo"], "{undone:#}");
    let mut status = project.context.command("git");
    status.args(["status", "--porcelain"]);
    assert_eq!(Output::of(status).stdout, "", "{params}");
    applied
}

/// A refusal: its code, and a part of what it says; there is always a hint.
fn refused(project: &mut Project, params: Value, code: &str, part: &str) -> Value {
    let told = params.to_string();
    let error = project.try_ask("change_signature", params);
    let error = error.expect_err(&format!("{told} is refused"));
    assert_eq!(error["code"], code, "{told}: {error:#}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(part), "{told}: {message}");
    assert!(error["hint"].is_string(), "{told}: {error:#}");
    error
}

fn warnings(answer: &Value) -> String {
    answer["warnings"].to_string()
}

const LIB: &str = "\
def area(width, height=2, *, unit='m'):
    # the size
    return f'{width}x{height}{unit}'


def spread(first, *rest, **named):
    return [first, rest, sorted(named.items())]


def only(a, b, /, c=3):
    return a - b * c


async def wait(seconds, text):
    return [seconds, text]
";
const USER: &str = "\
import asyncio
import functools

import lib
from lib import area as size, only, spread, wait


def double(x):
    return x * 2


print(lib.area(1, 3), size(4), size(width=5, unit='cm'), size(double(1), double(2), unit='k'))
print(lib.area(
    1,  # wide
    2,  # high
    unit='x',
))
print(size(size(1, 2), size(3)), f\"{lib.area(6, 7)}\")
print(spread(1, 2, 3, k=4), spread(1))
print(only(5, 6), only(5, 6, 7), only(5, 6, c=8))
print(asyncio.run(wait(1, 'a')), asyncio.run(wait(text='b', seconds=2)))
print((lambda f: f(1))(size), functools.partial(size, 9)(), list(map(size, [1])))
";

fn plain() -> Project {
    program(&[("lib.py", LIB), ("main.py", USER)])
}

#[test]
fn parameters_are_added_where_they_are_wanted() {
    let mut project = plain();
    let shown = project.ask(
        "change_signature",
        json!({"name_path": "area", "add": [{"name": "deep", "default": "1"}]}),
    );
    assert_eq!(shown["applied"], false);
    assert_eq!(shown["files"], json!(["lib.py"]), "callers stay: {shown:#}");
    let value = json!({"name_path": "area", "add": [
        {"name": "deep", "annotation": "int", "default": "0", "value": "1"},
    ]});
    check(
        &mut project,
        value,
        &[
            "def area(width, height=2, deep: int = 0, *, unit='m'):",
            "lib.area(1, 3, 1), size(4, deep=1), size(width=5, unit='cm', deep=1)",
            "size(double(1), double(2), 1, unit='k')",
            "    1,  # wide\n    2,  # high\n    1,\n    unit='x',\n",
            "size(size(1, 2, 1), size(3, deep=1), 1), f\"{lib.area(6, 7, 1)}\"",
        ],
    );
    let (line, col) = find(LIB, "def |area");
    let first = json!({"file": "lib.py", "line": line, "col": col, "add": [
        {"name": "name", "value": "'n'", "index": 0},
    ], "leave_unclear": true});
    let answer = project.ask("change_signature", first);
    let patch = answer["patches"]["main.py"].as_str().unwrap();
    assert!(
        patch.contains("lib.area('n', 1, 3), size('n', 4)"),
        "{patch}"
    );
    assert!(patch.contains("size('n', width=5, unit='cm')"), "{patch}");
    // Behind `*rest` it is keyword-only, before it calls pass it.
    check(
        &mut project,
        json!({"name_path": "spread", "add": [{"name": "extra", "default": "None", "value": "0"}]}),
        &[
            "def spread(first, *rest, extra=None, **named):",
            "spread(1, 2, 3, k=4, extra=0), spread(1, extra=0)",
        ],
    );
    check(
        &mut project,
        json!({"name_path": "spread", "add": [{"name": "extra", "default": "7", "index": 1}]}),
        &[
            "def spread(first, extra=7, *rest, **named):",
            "spread(1, 7, 2, 3, k=4), spread(1)",
        ],
    );
    check(
        &mut project,
        json!({"name_path": "wait", "add": [{"name": "why", "value": "None"}]}),
        &[
            "async def wait(seconds, text, why):",
            "wait(1, 'a', None)",
            "wait(text='b', seconds=2, why=None)",
        ],
    );
    check(
        &mut project,
        json!({"name_path": "only", "add": [{"name": "z", "value": "0", "index": 1}]}),
        &[
            "def only(a, z, b, /, c=3):",
            "only(5, 0, 6), only(5, 0, 6, 7), only(5, 0, 6, c=8)",
        ],
    );
}

#[test]
fn arguments_follow_their_parameters_into_another_order() {
    let mut project = plain();
    let leave = |order: &[&str], name: &str| json!({"name_path": name, "order": order});
    let answer = check(
        &mut project,
        leave(&["text", "seconds"], "wait"),
        &[
            "async def wait(text, seconds):",
            "wait('a', 1)",
            "wait(text='b', seconds=2)",
        ],
    );
    assert_eq!(answer["warnings"], json!([]));
    check(
        &mut project,
        leave(&["b", "a", "/", "c"], "only"),
        &[
            "def only(b, a, /, c=3):",
            "only(6, 5), only(6, 5, 7), only(6, 5, c=8)",
        ],
    );
    // Markers say who is what.
    check(
        &mut project,
        leave(&["a", "/", "b", "*", "c"], "only"),
        &["def only(a, /, b, *, c=3):", "only(5, 6, c=7)"],
    );
    check(
        &mut project,
        leave(&["seconds", "*", "text"], "wait"),
        &["async def wait(seconds, *, text):", "wait(1, text='a')"],
    );
    check(
        &mut project,
        leave(&["seconds", "text", "/"], "wait"),
        &["async def wait(seconds, text, /):", "wait(2, 'b')"],
    );
}

#[test]
fn what_is_moved_or_dropped_and_does_something_is_told() {
    let lib = "\
def f(a, b, c=0):
    return (a, b, c)


def g(a, unused=None):
    return a


def note(x):
    return x
";
    let main = "\
from lib import f, g, note

print(f(note(1), note(2)), f(1, note(2)), f(1, 2), f(f(1, 2), 3))
print(g(1), g(1, unused=2), g(1, note(2)), g(
    1,
    # why
    2,
))
";
    let mut project = program(&[("lib.py", lib), ("main.py", main)]);
    let swapped = json!({"name_path": "f", "order": ["b", "a", "c"]});
    let answer = check(
        &mut project,
        swapped,
        &["f(note(2), note(1)), f(note(2), 1), f(2, 1), f(3, f(2, 1))"],
    );
    let told = warnings(&answer);
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1, "{told}");
    assert!(told.contains("main.py:3:"), "{told}");
    let removed = json!({"name_path": "g", "remove": ["unused"]});
    let answer = check(
        &mut project,
        removed,
        &["def g(a):", "print(g(1), g(1), g(1), g(\n    1,\n"],
    );
    let told = warnings(&answer);
    assert!(told.contains("not computed any more"), "{told}");
}

const FAMILY: &str = "\
class Base:
    def save(self, force=False, depth=1):
        return ['base', depth]

    @classmethod
    def make(cls, name, size):
        return cls(name, size)

    @staticmethod
    def join(left, right):
        return f'{left}-{right}'

    def __init__(self, name, size=0):
        self.name = name
        self.size = size

    def twin(self):
        return type(self)(self.name, self.size), self.__class__(self.name)


class Child(Base):
    def save(self, force=False, depth=1, *, extra=None):
        return ['child', extra] + super().save(force, depth)


class Other(Base):
    def __init__(self, name):
        super().__init__(name, 5)

    def save(self, *args, **kwargs):
        return ['other'] + super().save(*args, **kwargs)


class Old(Base):
    def __init__(self, size):
        Base.__init__(self, 'old', size)
";
const FAMILY_MAIN: &str = "\
from family import Base, Child, Other
import family

b, c, o = Base('b', 1), Child('c', 2), Other('o')
print(b.save(True, 2), c.save(depth=3), c.save(False, 4, extra=1), o.save(True, depth=5))
print(Base.save(b, True, 6), Child.save(c), family.Base.save(c, depth=7))
print(Base.make('m', 3).size, c.make(size=4, name='n').name, Child.make('x', 9).size)
print(Base.join('l', 'r'), b.join('l', right='r'))
print([x.name for x in b.twin()], family.Old(3).size, o.size, family.Child('q').size)
K = Base
print(K.save(b, False, 8), K.__name__)


def unknown(x):
    return x.save


print(unknown(b)())
";

#[test]
fn methods_change_with_their_family_and_their_callers() {
    let mut project = program(&[("family.py", FAMILY), ("main.py", FAMILY_MAIN)]);
    let answer = check(
        &mut project,
        json!({"name_path": "Base/save", "remove": ["force"]}),
        &[
            "    def save(self, depth=1):",
            "    def save(self, depth=1, *, extra=None):",
            "super().save(depth)",
            "    def save(self, *args, **kwargs):",
            "super().save(*args, **kwargs)",
            "b.save(2), c.save(depth=3), c.save(4, extra=1), o.save(depth=5)",
            "Base.save(b, 6), Child.save(c), family.Base.save(c, depth=7)",
            "K.save(b, 8)",
        ],
    );
    let why = members(&answer["possible"], "why");
    assert!(why.iter().any(|why| why.contains("not known")), "{why:?}");
    check(
        &mut project,
        json!({"name_path": "Child/save", "order": ["depth", "force", "extra"]}),
        &[
            "    def save(self, depth=1, force=False):",
            "    def save(self, depth=1, force=False, *, extra=None):",
            "b.save(2, True)",
            "Base.save(b, 6, True)",
        ],
    );
    check(
        &mut project,
        json!({"name_path": "Base/make", "order": ["size", "name"]}),
        &[
            "def make(cls, size, name):",
            "Base.make(3, 'm').size, c.make(size=4, name='n').name, Child.make(9, 'x')",
        ],
    );
    check(
        &mut project,
        json!({"name_path": "Base/join", "order": ["right", "left"]}),
        &[
            "def join(right, left):",
            "Base.join('r', 'l'), b.join(left='l', right='r')",
        ],
    );
}

#[test]
fn a_class_means_its_init() {
    let mut project = program(&[("family.py", FAMILY), ("main.py", FAMILY_MAIN)]);
    for name in ["Base", "Base/__init__"] {
        check(
            &mut project,
            json!({"name_path": name, "add": [{"name": "kind", "value": "1", "index": 0}]}),
            &[
                "def __init__(self, kind, name, size=0):",
                "return cls(1, name, size)",
                "type(self)(1, self.name, self.size), self.__class__(1, self.name)",
                "super().__init__(1, name, 5)",
                "Base.__init__(self, 1, 'old', size)",
                "Base(1, 'b', 1), Child(1, 'c', 2), Other('o')",
                "family.Old(3).size, o.size, family.Child(1, 'q')",
            ],
        );
    }
    // From a use, by its place.
    let (line, col) = find(FAMILY_MAIN, "= |Base('b'");
    let params = json!({"file": "main.py", "line": line, "col": col,
        "add": [{"name": "kind", "default": "0"}]});
    let answer = check(
        &mut project,
        params,
        &["def __init__(self, name, size=0, kind=0):"],
    );
    let left = &answer["possible"][0];
    assert_eq!(
        (&left["line"], &left["column"]),
        (&json!(10), &json!(5)),
        "`K = Base`"
    );
}

#[test]
fn what_is_handed_on_is_listed() {
    let mut project = plain();
    let params = json!({"name_path": "area", "add": [{"name": "deep", "default": "1"}]});
    let answer = project.ask("change_signature", params);
    let why = members(&answer["possible"], "why");
    let wanted = [
        "it is handed on",
        "`partial` has arguments",
        "handed to `map`",
    ];
    for part in wanted {
        assert!(why.iter().any(|why| why.contains(part)), "{part}: {why:?}");
    }
    let lines = members(&answer["possible"], "line");
    assert!(lines.iter().all(|line| line == "22"), "{lines:?}");
}

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
    refused(&mut project, both, "invalid_params", "name_path");
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

#[test]
fn heads_keep_their_lines_comments_and_line_ends() {
    let lib = "\
def f(
    a,  # first
    # about b
    b=(1, 2),
    *,
    c: 'dict[str, int]' = {},  # third
):
    return [a, c]


print(f(1, (2,), c={}), f(
    3,
    c={'k': 1},
))
";
    let mut project = program(&[("main.py", lib)]);
    check(
        &mut project,
        json!({"name_path": "f", "remove": ["b"], "add": [{"name": "d", "default": "0", "keyword_only": true}]}),
        &[
            "    a,  # first\n    # about b\n    *,\n    c: 'dict[str, int]' = {},  # third\n    d=0,\n):",
            "f(1, c={})",
        ],
    );
    let windows = lib.replace('\n', "\r\n");
    let mut project = program(&[("main.py", &windows)]);
    let params = json!({"name_path": "f", "add": [{"name": "d", "value": "0", "index": 0}]});
    check(
        &mut project,
        params,
        &[
            "def f(\r\n    d,\r\n    a,  # first\r\n",
            "f(0, 1, (2,), c={}), f(\r\n    0,\r\n    3,\r\n",
        ],
    );
}

#[test]
fn the_command_line_asks_as_people_write() {
    let project = plain();
    let output = project.context.pillion(&[
        "change-signature",
        "--name",
        "area",
        "--add",
        "deep: int = 1",
        "--value",
        "deep=2",
        "--order",
        "width,deep,height,*,unit",
        "--text",
    ]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output
            .stdout
            .contains("+def area(width, deep: int = 1, height=2, *, unit='m'):"),
        "{output}"
    );
    assert!(output.stdout.contains("lib.area(1, 2, 3)"), "{output}");
}
