//! Functions: what is added, ordered and removed, and what becomes of the calls.

use pillion_testing::project::{find, members};
use serde_json::json;

use super::{LIB, check, plain, program, warnings};

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
