//! What changed since a commit, in every state a repository can be in.

use std::fs;

use pillion_testing::TestContext;
use serde_json::{Value, json};

use super::{Mapped, empty, git, git_in, shop};

fn committed() -> TestContext {
    let context = shop();
    git(&context, &["init", "-q", "-b", "main"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-qm", "one"]);
    context
}

/// Replace a part of a file, which must be there.
fn edit(context: &TestContext, file: &str, old: &str, new: &str) {
    let text = fs::read_to_string(context.project.join(file)).unwrap();
    assert!(text.contains(old), "{text}");
    context.write(file, &text.replace(old, new));
}

/// `status file: name@line ...` of each file.
fn shown(answer: &Value) -> Vec<String> {
    let changes = answer["changes"].as_array().unwrap().iter();
    let lines: Vec<String> = changes
        .map(|change| {
            let symbols = change["symbols_affected"].as_array().unwrap().iter();
            let symbols: Vec<String> = symbols
                .map(|s| format!("{}@{}", s["name"].as_str().unwrap(), s["line"]))
                .collect();
            let [status, file] = ["status", "file"].map(|name| change[name].as_str().unwrap());
            format!("{status} {file}: {}", symbols.join(" "))
        })
        .collect();
    assert_eq!(answer["total_files"], lines.len());
    lines
}

#[test]
fn lines_lead_to_functions_methods_and_classes() {
    let context = committed();
    let mut shop = Mapped::new(context);
    let nothing = shop.ask("live_changes", json!({}));
    assert_eq!(nothing["changes"], json!([]));
    assert_eq!(nothing["baseline"], "HEAD");
    edit(&shop.context, "shop/money.py", "RATE = 2", "RATE = 3");
    edit(
        &shop.context,
        "shop/cart.py",
        "return add(self.items)",
        "return add(self.items) + 0",
    );
    let answer = shop.ask("live_changes", json!({"language": "python"}));
    assert_eq!(
        shown(&answer),
        [
            "modified shop/cart.py: Cart.total@8",
            "modified shop/money.py: "
        ]
    );
    let change = &answer["changes"][0];
    assert_eq!(
        change["hunks"],
        json!([{"old_start": 9, "old_count": 1, "new_start": 9, "new_count": 1}])
    );
    assert_eq!(
        change["symbols_affected"],
        json!([{"name": "Cart.total", "type": "method", "line": 8}])
    );
    assert_eq!(answer["total_symbols_affected"], 1);
    assert_eq!(answer["project"], json!(shop.context.project));
}

#[test]
fn decorators_belong_to_functions_and_bodies_to_classes() {
    let context = committed();
    edit(
        &context,
        "shop/cart.py",
        "    def total",
        "    @property\n    def total",
    );
    edit(
        &context,
        "shop/cart.py",
        "class Cart:\n",
        "class Cart:\n    kind = 1\n\n",
    );
    let mut shop = Mapped::new(context);
    let answer = shop.ask("live_changes", json!({}));
    // The class is left out where one of its methods is listed.
    assert_eq!(shown(&answer), ["modified shop/cart.py: Cart.total@11"]);
    edit(&shop.context, "shop/cart.py", "    @property\n", "");
    let answer = shop.ask("live_changes", json!({}));
    assert_eq!(shown(&answer), ["modified shop/cart.py: Cart@4"]);
}

#[test]
fn what_is_taken_out_is_told_where_it_was() {
    let context = committed();
    edit(
        &context,
        "shop/cart.py",
        "        self.items = []\n",
        "        pass\n",
    );
    edit(
        &context,
        "shop/cart.py",
        "\n\n\ndef old_total(cart):\n    return cart\n",
        "\n",
    );
    let mut shop = Mapped::new(context);
    let answer = shop.ask("live_changes", json!({}));
    assert_eq!(
        shown(&answer),
        ["modified shop/cart.py: Cart.__init__@5 old_total@15"]
    );
    assert_eq!(answer["changes"][0]["symbols_affected"][1]["gone"], true);
    // Only a line less: the function is there, and its baseline was changed.
    let context = committed();
    edit(&context, "shop/main.py", "    cart = Cart()\n", "");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("live_changes", json!({}));
    assert_eq!(shown(&answer), ["modified shop/main.py: start@4"]);
}

#[test]
fn added_deleted_renamed_and_untracked_files() {
    let context = committed();
    git(&context, &["mv", "shop/money.py", "shop/cash.py"]);
    edit(
        &context,
        "shop/cash.py",
        "return [sum_ / parts]",
        "return [sum_ // parts]",
    );
    git(&context, &["rm", "-q", "tests/test_money.py"]);
    context.write(
        "shop/new.py",
        "class New:\n    def m(self):\n        pass\n",
    );
    git(&context, &["add", "shop"]);
    context.write("shop/untracked.py", "def u():\n    pass\n");
    context.write("notes.txt", "one\ntwo\n");
    context.write("empty.py", "");
    context.write(".gitignore", "*.log\n");
    context.write("x.log", "no\n");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("live_changes", json!({"baseline": "main"}));
    assert_eq!(
        shown(&answer),
        [
            "added .gitignore: ",
            "added empty.py: ",
            "added notes.txt: ",
            "renamed shop/cash.py: split@8",
            "added shop/new.py: New.m@2",
            "added shop/untracked.py: u@1",
            "deleted tests/test_money.py: test_split@4",
        ]
    );
    let change = |file: &str| {
        let all = answer["changes"].as_array().unwrap();
        all.iter().find(|change| change["file"] == file).unwrap()
    };
    assert_eq!(change("shop/cash.py")["old_file"], "shop/money.py");
    let whole = json!([{"old_start": 0, "old_count": 0, "new_start": 1, "new_count": 2}]);
    assert_eq!(change("shop/untracked.py")["hunks"], whole);
    assert_eq!(change("notes.txt")["hunks"], whole);
    assert_eq!(change("empty.py")["hunks"], json!([]));
}

#[test]
fn a_repository_without_commits_has_everything_new() {
    let context = shop();
    git(&context, &["init", "-q"]);
    git(&context, &["add", "shop"]);
    let mut shop = Mapped::new(context);
    let answer = shop.ask("live_changes", json!({"baseline": "HEAD"}));
    assert_eq!(answer["total_files"], 7);
    assert!(
        answer["changes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["status"] == "added")
    );
    assert!(shown(&answer).contains(&"added shop/money.py: add@4 split@8".to_owned()));
}

#[test]
fn detached_heads_worktrees_and_merges() {
    let context = committed();
    git(&context, &["checkout", "-q", "-b", "side"]);
    edit(&context, "shop/money.py", "* RATE", "* RATE * 3");
    git(&context, &["commit", "-qam", "side"]);
    git(&context, &["checkout", "-q", "main"]);
    edit(&context, "shop/money.py", "* RATE", "* RATE * 2");
    git(&context, &["commit", "-qam", "main"]);
    // A merge that stops half way.
    let mut merge = context.command("git");
    merge.current_dir(&context.project);
    merge.args([
        "-c",
        "user.name=it",
        "-c",
        "user.email=it@localhost",
        "merge",
        "side",
    ]);
    assert_ne!(pillion_testing::CommandOutput::of(merge).code, Some(0));
    let mut shop = Mapped::new(context);
    let answer = shop.ask("live_changes", json!({}));
    assert_eq!(shown(&answer), ["modified shop/money.py: add@4"]);
    // The same of a merge that is done, against its other parent.
    edit(&shop.context, "shop/money.py", "=======", "    # merged");
    let text = fs::read_to_string(shop.context.project.join("shop/money.py")).unwrap();
    let marks = ["<<<<<<<", ">>>>>>>", "* RATE * 3"];
    let kept = text
        .lines()
        .filter(|line| !marks.iter().any(|mark| line.contains(mark)));
    let kept: Vec<&str> = kept.collect();
    shop.context
        .write("shop/money.py", &format!("{}\n", kept.join("\n")));
    git(&shop.context, &["commit", "-qam", "merged"]);
    git(&shop.context, &["checkout", "-q", "--detach"]);
    assert_eq!(shop.ask("live_changes", json!({}))["changes"], json!([]));
    let answer = shop.ask("live_changes", json!({"baseline": "HEAD^2"}));
    assert_eq!(shown(&answer), ["modified shop/money.py: add@4"]);

    git(&shop.context, &["worktree", "add", "-q", "tree", "side"]);
    edit(&shop.context, "tree/shop/main.py", "Cart()", "Cart( )");
    let tree = shop.context.project.join("tree");
    let answer = shop.ask("live_changes", json!({"project": tree}));
    assert_eq!(shown(&answer), ["modified shop/main.py: start@4"]);
}

#[test]
fn a_submodule_is_looked_into() {
    let context = committed();
    context.write("../lib/deep.py", "def deep():\n    return 1\n");
    git_in(&context, "../lib", &["init", "-q"]);
    git_in(&context, "../lib", &["add", "."]);
    git_in(&context, "../lib", &["commit", "-qm", "lib"]);
    let lib = context.project.join("../lib").canonicalize().unwrap();
    git(
        &context,
        &["submodule", "add", "-q", lib.to_str().unwrap(), "vendor"],
    );
    git(&context, &["commit", "-qam", "two"]);
    edit(&context, "vendor/deep.py", "return 1", "return 2");
    let mut shop = Mapped::new(context);
    let answer = shop.ask("live_changes", json!({}));
    assert_eq!(shown(&answer), ["modified vendor/deep.py: deep@1"]);
    // As a project of its own, too.
    let vendor = shop.context.project.join("vendor");
    let answer = shop.ask("live_changes", json!({"project": vendor}));
    assert_eq!(shown(&answer), ["modified deep.py: deep@1"]);
}

#[test]
fn unknown_commits_and_folders_without_git_are_mistakes() {
    let mut shop = Mapped::new(committed());
    let error = shop
        .try_ask("live_changes", json!({"baseline": "nosuch"}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
    let error = shop.try_ask("live_changes", json!({"baseline": "--output=x"}));
    assert_eq!(error.unwrap_err()["code"], "invalid_params");
    let mut bare = Mapped::new(empty());
    let error = bare.try_ask("live_changes", json!({})).unwrap_err();
    assert!(
        error["message"].as_str().unwrap().contains("git"),
        "{error}"
    );
}

#[test]
fn people_read_it_line_by_line() {
    let context = committed();
    edit(&context, "shop/money.py", "* RATE", "* RATE * 1");
    let text = context.pillion(&["map", "live-changes", "--text"]).stdout;
    assert_eq!(
        text,
        "M shop/money.py  +1 -1\n    4  function add\n1 files differ from HEAD, 1 functions and classes\n"
    );
}
