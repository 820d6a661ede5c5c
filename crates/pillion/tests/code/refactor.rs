//! Refactorings: the program does the same before and after, and undo restores every byte.

use std::fs;

use pillion_testing::project::{TestProject, bare, find, git};
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

const INIT: &str = "\
from .model import Account, open_account

__all__ = [\"Account\", \"open_account\"]
";
const MODEL: &str = "\
\"\"\"Account things.\"\"\"
from dataclasses import dataclass

LIMIT = 3


class Base:
    def save(self, force=False):
        return ['base', force]


@dataclass
class Account(Base):
    owner: str
    balance: int = 0

    def save(self, force=False):
        # save the account
        return ['account'] + super().save(force=force)


def open_account(owner: 'str', *, limit=LIMIT) -> 'Account':
    account = Account(owner=owner)
    account.balance += limit * 2 + 1
    if account.balance > 3:
        account.balance -= 1
    return account


def describe(thing):
    match thing:
        case Account(owner='me', balance=balance):
            return f'mine: {balance}'
        case Account(owner=other):
            return f'of {other}'
    return thing.save()
";
const MAIN: &str = "\
import sys, os
import pkg
from pkg import Account as Acc, open_account


def run():
    from pkg.model import Account, describe, LIMIT
    a = open_account('me', limit=2)
    b: Account = Acc('you', 2)
    words = [a.save(force=True), b.save(), describe(a), describe(b), LIMIT]
    total = sum(x.balance for x in (a, b)) + len(os.sep)
    return words + [total, pkg.open_account('x').owner]


print(run())
";

/// A program with a package, under git.
fn program() -> TestProject {
    let context = bare();
    context.write("pkg/__init__.py", INIT);
    context.write("pkg/model.py", MODEL);
    context.write("main.py", MAIN);
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

fn is_clean(context: &TestContext) -> bool {
    let mut status = context.command("git");
    status.args(["status", "--porcelain"]);
    CommandOutput::of(status).stdout.is_empty()
}

/// Ask for a change: its patches must apply, the program must still print the same, and undo
/// must restore every byte.
pub(super) fn check(project: &mut TestProject, operation: &str, mut params: Value) -> Value {
    let before = printed(&project.context);
    let shown = project.ask(operation, params.clone());
    assert_eq!(shown["applied"], false);
    assert!(is_clean(&project.context), "a preview writes nothing");
    let patches = shown["patches"].as_object().unwrap();
    assert!(!patches.is_empty(), "{operation} {params}: {shown:#}");
    let all: String = patches.values().map(|p| p.as_str().unwrap()).collect();
    let file = project.context.base.join("change.patch");
    fs::write(&file, all).unwrap();
    git(
        &project.context,
        &["apply", "--check", file.to_str().unwrap()],
    );
    params["apply"] = json!(true);
    let applied = project.ask(operation, params.clone());
    assert_eq!(applied["applied"], true);
    assert_eq!(printed(&project.context), before, "{operation} {params}");
    assert!(!is_clean(&project.context));
    let undone = project.ask("undo", json!({}));
    assert_eq!(undone["undone"], applied["undo"], "{undone:#}");
    assert!(is_clean(&project.context), "{operation} {params}");
    shown
}

/// A place by a needle with a cursor, as parameters.
pub(super) fn at(file: &str, text: &str, needle: &str) -> Value {
    let (line, col) = find(text, needle);
    json!({ "file": file, "line": line, "col": col })
}

pub(super) fn rename(file: &str, text: &str, needle: &str, new_name: &str) -> Value {
    let mut params = at(file, text, needle);
    params["new_name"] = json!(new_name);
    params
}

#[test]
fn every_kind_of_name_is_renamed_everywhere_and_the_program_does_the_same() {
    let mut project = program();
    for (file, text, needle, new_name, edits) in [
        ("pkg/model.py", MODEL, "class |Base", "Root", 2),
        (
            "pkg/model.py",
            MODEL,
            "def |open_account",
            "start_account",
            6,
        ),
        ("pkg/model.py", MODEL, "|LIMIT = 3", "MOST", 4),
        ("pkg/model.py", MODEL, "    |owner: str", "holder", 5),
        ("pkg/model.py", MODEL, "    |balance: int", "amount", 6),
        ("pkg/model.py", MODEL, "*, |limit=LIMIT", "at_most", 3),
        ("pkg/model.py", MODEL, "    |account = Account(", "made", 5),
        ("main.py", MAIN, "    |words = ", "all_words", 2),
        ("main.py", MAIN, "for |x in", "each", 2),
        ("main.py", MAIN, "as |Acc,", "A", 2),
        ("main.py", MAIN, "def |run", "go", 2),
    ] {
        let shown = check(&mut project, "rename", rename(file, text, needle, new_name));
        assert_eq!(shown["edits"], edits, "{needle}: {:#}", shown["patches"]);
    }
}

#[test]
fn a_method_is_renamed_with_what_it_overrides_and_what_nobody_is_sure_of_is_listed() {
    let mut project = program();
    for needle in [
        "class Base:\n    def |save",
        "balance: int = 0\n\n    def |save",
    ] {
        let params = rename("pkg/model.py", MODEL, needle, "store");
        let before = printed(&project.context);
        let shown = project.ask("rename", params.clone());
        let text = shown["patches"]["pkg/model.py"].as_str().unwrap();
        assert!(text.contains("super().store(force=force)"), "{text}");
        assert_eq!(text.matches("+    def store").count(), 2, "{text}");
        let left: Vec<String> = shown["possible"]
            .as_array()
            .unwrap()
            .iter()
            .map(|left| format!("{}:{}", left["line"], left["why"].as_str().unwrap()))
            .collect();
        assert!(
            left.iter().any(|l| l.starts_with("36:the type")),
            "{left:?}"
        );
        assert!(left.iter().any(|l| l.ends_with("in a comment")), "{left:?}");
        assert_eq!(printed(&project.context), before);
    }
}

#[test]
fn a_rename_and_its_inverse_are_nothing() {
    let mut project = program();
    let mut there = rename("pkg/model.py", MODEL, "class |Account", "Konto");
    there["apply"] = json!(true);
    project.ask("rename", there);
    let now = fs::read_to_string(project.root().join("pkg/model.py")).unwrap();
    let mut back = rename("pkg/model.py", &now, "class |Konto", "Account");
    back["apply"] = json!(true);
    project.ask("rename", back);
    assert!(is_clean(&project.context));
}

#[test]
fn names_that_are_none_or_are_taken_are_refused() {
    let mut project = program();
    for (needle, new_name, code) in [
        ("class |Account", "", "invalid_params"),
        ("class |Account", "1bad name", "invalid_params"),
        ("class |Account", "class", "invalid_params"),
        ("class |Account", "Account", "invalid_params"),
        ("class |Account", "Base", "conflict"),
        ("class |Account", "describe", "conflict"),
        ("    |owner: str", "balance", "conflict"),
        ("    |account = Account(", "limit", "conflict"),
        ("    |account = Account(", "Account", "conflict"),
    ] {
        let params = rename("pkg/model.py", MODEL, needle, new_name);
        let error = project.try_ask("rename", params).unwrap_err();
        assert_eq!(error["code"], code, "{needle} {new_name}: {error:#}");
        if code == "conflict" {
            assert!(error["data"]["location"]["line"].is_u64(), "{error:#}");
        }
    }
    for (file, text, needle) in [
        ("main.py", MAIN, "|sum(x"),
        ("main.py", MAIN, "|os.sep"),
        ("main.py", MAIN, "import |sys"),
        ("pkg/model.py", MODEL, "import |dataclass\n"),
    ] {
        let error = project
            .try_ask("rename", rename(file, text, needle, "other"))
            .unwrap_err();
        assert_eq!(error["code"], "invalid_params", "{needle}: {error:#}");
    }
    let past = json!({ "file": "main.py", "line": 999, "col": 1, "new_name": "x" });
    let error = project.try_ask("rename", past).unwrap_err();
    assert_eq!(error["code"], "not_found");
    assert!(is_clean(&project.context));
}

#[test]
fn code_is_extracted_and_put_back() {
    let mut project = program();
    let (first, _) = find(MODEL, "    account.balance += limit");
    let method = json!({
        "file": "pkg/model.py", "start_line": first, "end_line": first + 2,
        "method_name": "settle",
    });
    let shown = check(&mut project, "extract_method", method);
    assert!(
        shown["patches"]["pkg/model.py"]
            .as_str()
            .unwrap()
            .contains("+def settle(")
    );
    let (line, col) = find(MODEL, "|limit * 2 + 1");
    let variable = json!({
        "file": "pkg/model.py", "start_line": line, "start_col": col, "end_col": col + 9,
        "var_name": "bonus",
    });
    let shown = check(&mut project, "extract_var", variable);
    assert!(
        shown["patches"]["pkg/model.py"]
            .as_str()
            .unwrap()
            .contains("+    bonus = limit * 2")
    );
    let inline = at("main.py", MAIN, "    |total = sum");
    let shown = check(&mut project, "inline", inline);
    assert!(
        !shown["patches"]["main.py"]
            .as_str()
            .unwrap()
            .contains("+    total")
    );
    let nothing = json!({
        "file": "main.py", "start_line": 1, "end_line": 1, "method_name": "1bad",
    });
    let error = project.try_ask("extract_method", nothing).unwrap_err();
    assert_eq!(error["code"], "invalid_params", "{error:#}");
}

#[test]
fn imports_are_organised_and_nothing_is_lost() {
    let mut project = program();
    project
        .context
        .write("broken.py", "import os, sys\ndef (:\n");
    git(&project.context, &["add", "-A"]);
    git(&project.context, &["commit", "-q", "-m", "broken"]);
    let shown = check(
        &mut project,
        "organize_imports",
        json!({ "path": "main.py" }),
    );
    let text = shown["patches"]["main.py"].as_str().unwrap();
    assert!(text.contains("+import os\n+import sys\n"), "{text}");
    let whole = project.ask(
        "organize_imports",
        json!({ "path": ".", "remove_unused": true }),
    );
    let patches = whole["patches"].as_object().unwrap();
    assert!(!patches.contains_key("broken.py"), "{whole:#}");
    assert!(!patches.contains_key("pkg/__init__.py"), "{whole:#}");
    let warnings = whole["warnings"].to_string();
    assert!(warnings.contains("broken.py"), "{warnings}");
}

#[test]
fn rules_rewrite_code_and_say_how_often() {
    let mut project = program();
    let rule = "id: no-len\nlanguage: python\nrule: { pattern: len($A) }\nfix: len(str($A))\n";
    let shown = project.ask("codemod", json!({ "rule": rule }));
    assert_eq!(
        (&shown["total"], &shown["applied"]),
        (&json!(1), &json!(false))
    );
    assert!(
        shown["patches"]["main.py"]
            .as_str()
            .unwrap()
            .contains("len(str(os.sep))")
    );
    let error = project
        .try_ask("codemod", json!({ "rule": "id: [" }))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
    let error = project.try_ask("codemod", json!({})).unwrap_err();
    assert_eq!(error["code"], "invalid_params");
}

#[test]
fn a_file_that_changed_since_is_not_overwritten_by_undo() {
    let mut project = program();
    let mut params = rename("pkg/model.py", MODEL, "class |Base", "Root");
    params["apply"] = json!(true);
    project.ask("rename", params);
    let file = project.root().join("pkg/model.py");
    let edited = fs::read_to_string(&file).unwrap() + "# mine\n";
    fs::write(&file, &edited).unwrap();
    let error = project.try_ask("undo", json!({})).unwrap_err();
    assert_eq!(error["code"], "conflict", "{error:#}");
    assert_eq!(fs::read_to_string(&file).unwrap(), edited);
}

#[test]
fn definitions_are_edited_by_their_name_paths() {
    let mut project = program();
    let replaced = json!({
        "name_path": "Base/save",
        "source": "def save(self, force=False):\n    kind = 'base'\n    return [kind, force]",
    });
    let shown = check(&mut project, "replace_body", replaced);
    let text = shown["patches"]["pkg/model.py"].as_str().unwrap();
    assert!(text.contains("+        kind = 'base'\n"), "{text}");
    for operation in ["insert_before", "insert_after"] {
        for name_path in ["Account/save", "describe", "open_account", "/run"] {
            let source = "def helper(*args):\n    return args\n";
            let params = json!({ "name_path": name_path, "source": source });
            check(&mut project, operation, params);
        }
    }
    project
        .context
        .write("late.py", "def first(): ...\n\n\ndef unused(): ...");
    git(&project.context, &["add", "-A"]);
    git(&project.context, &["commit", "-q", "-m", "late"]);
    check(
        &mut project,
        "safe_delete",
        json!({ "name_path": "unused" }),
    );
    let params = json!({ "name_path": "unused", "source": "def unused(): return 2" });
    check(&mut project, "replace_body", params);
    let other = json!({ "name_path": "unused", "source": "def other(): ..." });
    let error = project.try_ask("replace_body", other).unwrap_err();
    assert_eq!(error["code"], "invalid_params", "{error:#}");
    let used = json!({ "name_path": "open_account" });
    let error = project.try_ask("safe_delete", used).unwrap_err();
    assert_eq!(error["code"], "conflict", "{error:#}");
    assert!(
        error["data"]["users"].as_array().unwrap().len() >= 4,
        "{error:#}"
    );
    let several = json!({ "name_path": "save", "source": "x = 1" });
    let error = project.try_ask("replace_body", several).unwrap_err();
    assert_eq!(error["code"], "conflict", "{error:#}");
    let broken = json!({ "name_path": "describe", "source": "def describe(:" });
    let error = project.try_ask("replace_body", broken).unwrap_err();
    assert_eq!(error["code"], "parse_error", "{error:#}");
    assert!(is_clean(&project.context));
}

#[test]
fn an_edit_tells_which_diagnostics_it_caused_and_cured() {
    let mut project = program();
    let mut wrong = json!({
        "name_path": "describe",
        "source": "def describe(thing) -> int:\n    return 'text'\n",
        "apply": true,
    });
    let edited = project.ask("replace_body", wrong.clone());
    let caused = edited["caused"].to_string();
    assert!(caused.contains("invalid-return-type"), "{edited:#}");
    wrong["source"] = json!("def describe(thing) -> int:\n    return 1\n");
    let edited = project.ask("replace_body", wrong);
    let cured = edited["cured"].to_string();
    assert!(cured.contains("invalid-return-type"), "{edited:#}");
    assert_eq!(edited["caused"], json!([]));
}
