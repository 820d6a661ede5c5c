//! Changes of signatures: programs print the same before and after, and undo restores every
//! byte.

mod changes;
mod methods;
mod refusals;

use std::fs;

use pillion_testing::project::{TestProject, bare, git};
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

/// A program under git, of these files.
fn program(files: &[(&str, &str)]) -> TestProject {
    let context = bare();
    for (name, text) in files {
        context.write(name, text);
    }
    git(&context, &["init", "-q"]);
    git(&context, &["add", "-A"]);
    git(&context, &["commit", "-q", "-m", "before"]);
    TestProject::new(context)
}

fn printed(context: &TestContext) -> String {
    let mut python = context.command("python3");
    python.args(["-B", "main.py"]);
    let output = CommandOutput::of(python);
    assert_eq!(output.code, Some(0), "{output}");
    output.stdout
}

/// Make a change: the program prints the same, the lines of `now` are there, and undo restores
/// every byte. Gives the answer.
fn check(project: &mut TestProject, mut params: Value, now: &[&str]) -> Value {
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
    assert_eq!(CommandOutput::of(status).stdout, "", "{params}");
    applied
}

/// A refusal: its code, and a part of what it says; there is always a hint.
fn refused(project: &mut TestProject, params: Value, code: &str, part: &str) -> Value {
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

fn plain() -> TestProject {
    program(&[("lib.py", LIB), ("main.py", USER)])
}
