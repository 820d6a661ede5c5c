//! The map on the command line: trees for people, JSON for programs.

use super::shop;

#[test]
fn impact_is_drawn_as_a_tree() {
    let context = shop();
    let tree = context.pillion(&["map", "impact", "--text", "add"]);
    assert_eq!(
        tree.stdout,
        "add  shop/money.py:4  (1 callers)\n\
         └─ Cart.total  shop/cart.py:9\n\
         \x20  ├─ start  shop/main.py:6\n\
         \x20  └─ CartTest.test_total  tests/test_cart.py:11\n",
        "{tree}"
    );
    // From a folder of the project, too.
    let mut below = context.pillion_command(&["map", "impact", "split"]);
    below.current_dir(context.project.join("shop"));
    let below = pillion_testing::CommandOutput::of(below);
    assert_eq!(below.json()["total_targets"], 1, "{below}");
}

#[test]
fn all_questions_have_a_command() {
    let context = shop();
    let said = |args: &[&str]| {
        let mut all = vec!["map", args[0], "--text"];
        all.extend(&args[1..]);
        let output = context.pillion(&all);
        assert_eq!(output.code, Some(0), "{output}");
        output.stdout
    };
    assert!(said(&["structure"]).ends_with("6 python files\n"));
    assert!(said(&["extract", "shop/cart.py"]).contains("  15  old_total(cart)\n"));
    assert!(
        said(&["call-graph", "shop"]).contains("  start\n    -> Cart.__init__  shop/cart.py\n")
    );
    assert!(said(&["dead-code"]).contains("2 of 11 functions are not reached (18.2 %)"));
    let tests = said(&["architecture", "--tests"]);
    assert!(
        tests.contains("2 folders: 1 entry, 0 middle, 1 leaf"),
        "{tests}"
    );
    assert!(!said(&["architecture"]).contains("tests"));
    assert!(said(&["references"]).contains("shop/main.py:start\n  -> shop/cart.py:Cart\n"));
    let session = said(&["change-impact", "--use-git", "false"]);
    assert!(
        session.starts_with("0 files changed, 0 functions\n"),
        "{session}"
    );
    let json = context.pillion_json(&["map", "call_graph", "--project", "shop"]);
    assert_eq!(json["edges"][0][0], "cart.py");
}
