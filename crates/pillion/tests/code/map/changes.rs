//! Which tests a change can reach, in every state a repository can be in.

use std::fs;

use pillion_testing::TestContext;
use serde_json::{Value, json};

use super::{Mapped, empty, git, git_in, shop, texts};

/// The shop, committed twice.
fn committed() -> TestContext {
    let context = shop();
    git(&context, &["init", "-q", "-b", "main"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-qm", "one"]);
    context.write("README", "A shop.\n");
    git(&context, &["add", "."]);
    git(&context, &["commit", "-qm", "two"]);
    context
}

/// Replace a part of a file, which must be there.
fn edit(context: &TestContext, file: &str, old: &str, new: &str) {
    let text = fs::read_to_string(context.project.join(file)).unwrap();
    assert!(text.contains(old), "{text}");
    context.write(file, &text.replace(old, new));
}

fn functions(answer: &Value) -> Vec<String> {
    let all = answer["changed_functions"].as_array().unwrap();
    let name = |f: &Value| {
        format!(
            "{}:{}",
            f["file"].as_str().unwrap(),
            f["function"].as_str().unwrap()
        )
    };
    all.iter().map(name).collect()
}

#[test]
fn a_changed_function_reaches_the_tests_that_call_it() {
    let context = committed();
    edit(&context, "shop/money.py", "* RATE", "* RATE * 1");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(answer["source"], "git");
    assert_eq!(answer["changed_files"], json!(["shop/money.py"]));
    assert_eq!(functions(&answer), ["shop/money.py:add"]);
    assert_eq!(answer["affected_tests"], json!(["tests/test_cart.py"]));
    assert_eq!(
        answer["affected_test_ids"],
        json!(["tests/test_cart.py::CartTest::test_total"])
    );
    assert_eq!(
        answer["test_command"],
        "python -m pytest tests/test_cart.py::CartTest::test_total"
    );
    let counts = ["affected_count", "skipped_count", "total_tests"];
    assert_eq!(counts.map(|name| answer[name].as_u64().unwrap()), [1, 1, 2]);
}

#[test]
fn staged_committed_and_untracked_changes_count() {
    let context = committed();
    edit(&context, "shop/money.py", "/ parts]", "/ parts + 0]");
    git(&context, &["commit", "-qam", "three"]);
    edit(
        &context,
        "shop/cart.py",
        "self.items = []",
        "self.items = list()",
    );
    git(&context, &["add", "."]);
    context.write("tests/test_new.py", "def test_new():\n    pass\n");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(
        texts(&answer["changed_files"]),
        ["shop/cart.py", "shop/money.py", "tests/test_new.py"]
    );
    assert_eq!(
        texts(&answer["affected_tests"]),
        [
            "tests/test_cart.py",
            "tests/test_money.py",
            "tests/test_new.py"
        ]
    );
    // `setUp` makes a cart, so both tests of the class are reached.
    let ids = texts(&answer["affected_test_ids"]);
    assert!(
        ids.contains(&"tests/test_cart.py::CartTest::test_items"),
        "{ids:?}"
    );
    let since_head = shop.ask("change_impact", json!({"git_base": "HEAD"}));
    assert_eq!(
        texts(&since_head["changed_files"]),
        ["shop/cart.py", "tests/test_new.py"]
    );
}

#[test]
fn code_of_a_module_reaches_everyone_who_imports_it() {
    let context = committed();
    edit(&context, "shop/money.py", "RATE = 2", "RATE = 3");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(functions(&answer), ["shop/money.py:<module>"]);
    assert_eq!(
        answer["affected_tests"],
        json!(["tests/test_cart.py", "tests/test_money.py"])
    );
}

#[test]
fn a_new_function_between_others_reaches_nobody() {
    let context = committed();
    edit(
        &context,
        "shop/money.py",
        "def split",
        "def round_(x):\n    return x\n\n\ndef split",
    );
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(functions(&answer), ["shop/money.py:round_"]);
    assert_eq!(answer["affected_tests"], json!([]));
    assert_eq!(answer["test_command"], Value::Null);
}

#[test]
fn renamed_and_deleted_files_reach_those_who_look_for_them() {
    let context = committed();
    git(&context, &["mv", "shop/money.py", "shop/cash.py"]);
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(answer["changed_files"], json!(["shop/cash.py"]));
    assert_eq!(functions(&answer), [""; 0]);
    assert_eq!(
        answer["affected_tests"],
        json!(["tests/test_cart.py", "tests/test_money.py"])
    );
    fs::remove_file(shop.context.project.join("shop/cash.py")).unwrap();
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(answer["changed_files"], json!(["shop/money.py"]));
    assert!(texts(&answer["affected_tests"]).contains(&"tests/test_money.py"));
}

#[test]
fn a_removed_function_reaches_those_who_look_for_it() {
    let context = committed();
    edit(
        &context,
        "shop/money.py",
        "\n\ndef split(sum_, parts):\n    return [sum_ / parts] * parts\n",
        "",
    );
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(answer["affected_tests"], json!(["tests/test_money.py"]));
}

#[test]
fn without_a_commit_everything_is_new() {
    let context = shop();
    git(&context, &["init", "-q"]);
    git(&context, &["add", "shop"]);
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(answer["changed_files"].as_array().unwrap().len(), 6);
    assert_eq!(answer["affected_count"], 2);
}

#[test]
fn with_one_commit_the_last_is_compared_with() {
    let context = shop();
    git(&context, &["init", "-q"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-qm", "one"]);
    edit(&context, "tests/test_money.py", "[2, 2]", "[2] * 2");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(
        answer["affected_test_ids"],
        json!(["tests/test_money.py::test_split"])
    );
    let error = shop
        .try_ask("change_impact", json!({"git_base": "nosuch"}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
    assert!(error["message"].as_str().unwrap().contains("nosuch"));
    let error = shop
        .try_ask("change_impact", json!({"git_base": "--output=x"}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
}

#[test]
fn a_detached_head_and_a_worktree_are_like_any_other() {
    let context = committed();
    git(&context, &["checkout", "-q", "--detach", "HEAD"]);
    git(
        &context,
        &["worktree", "add", "-q", "../tree", "-b", "other"],
    );
    let tree = context.base.join("tree");
    let money = tree.join("shop/money.py");
    let text = fs::read_to_string(&money).unwrap();
    fs::write(&money, text.replace("* RATE", "* RATE * 1")).unwrap();
    let mut shop = Mapped::new(context);
    let here = shop.ask("change_impact", json!({}));
    assert_eq!(here["changed_files"], json!([]));
    let there = shop.ask("change_impact", json!({"project": tree}));
    assert_eq!(functions(&there), ["shop/money.py:add"]);
}

#[test]
fn a_merge_is_compared_with_its_first_parent() {
    let context = committed();
    git(&context, &["checkout", "-q", "-b", "side"]);
    edit(&context, "shop/money.py", "* RATE", "* RATE * 1");
    git(&context, &["commit", "-qam", "side"]);
    git(&context, &["checkout", "-q", "main"]);
    edit(
        &context,
        "shop/cart.py",
        "return cart",
        "return cart or None",
    );
    git(&context, &["commit", "-qam", "main"]);
    git(&context, &["merge", "-q", "--no-edit", "side"]);
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({}));
    assert_eq!(functions(&answer), ["shop/money.py:add"]);
}

#[test]
fn changes_in_a_submodule_are_seen() {
    let context = committed();
    let lib = context.base.join("lib");
    fs::create_dir(&lib).unwrap();
    fs::write(lib.join("deep.py"), "def deep():\n    return 1\n").unwrap();
    git_in(&context, "../lib", &["init", "-q"]);
    git_in(&context, "../lib", &["add", "."]);
    git_in(&context, "../lib", &["commit", "-qm", "lib"]);
    git(
        &context,
        &["submodule", "add", "-q", lib.to_str().unwrap(), "vendor"],
    );
    context.write(
        "tests/test_deep.py",
        "from vendor.deep import deep\n\n\ndef test_deep():\n    deep()\n",
    );
    git(&context, &["add", "."]);
    git(&context, &["commit", "-qm", "three"]);
    edit(&context, "vendor/deep.py", "return 1", "return 2");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("change_impact", json!({"git_base": "HEAD"}));
    assert_eq!(functions(&answer), ["vendor/deep.py:deep"]);
    assert_eq!(answer["affected_tests"], json!(["tests/test_deep.py"]));
}

#[test]
fn a_project_below_the_top_of_a_repository_sees_its_own_files() {
    let context = empty();
    context.write("one/a.py", "def f():\n    return 1\n");
    context.write(
        "one/test_a.py",
        "from a import f\n\n\ndef test_f():\n    f()\n",
    );
    context.write("two/b.py", "x = 1\n");
    git(&context, &["init", "-q"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-qm", "one"]);
    edit(&context, "one/a.py", "1", "2");
    edit(&context, "two/b.py", "1", "2");
    let project = context.project.join("one");
    let mut both = Mapped::new(context);
    let answer = both.ask("change_impact", json!({"project": project}));
    assert_eq!(answer["changed_files"], json!(["a.py"]));
    assert_eq!(answer["affected_test_ids"], json!(["test_a.py::test_f"]));
}

#[test]
fn without_git_the_session_knows_what_changed() {
    let mut shop = Mapped::shop();
    let error = shop.try_ask("change_impact", json!({})).unwrap_err();
    assert!(
        error["message"].as_str().unwrap().contains("git"),
        "{error}"
    );
    let answer = shop.ask("change_impact", json!({"use_git": false}));
    assert_eq!(
        (&answer["source"], &answer["changed_files"]),
        (&json!("session"), &json!([]))
    );
    edit(&shop.context, "tests/test_money.py", "[2, 2]", "[2] * 2");
    let answer = shop.ask("change_impact", json!({"use_git": false}));
    assert_eq!(answer["changed_files"], json!(["tests/test_money.py"]));
    assert_eq!(answer["affected_tests"], json!(["tests/test_money.py"]));
}
