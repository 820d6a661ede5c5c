//! The shapes of the answers, and that they are never old.

use std::fs;

use serde_json::{Value, json};

use super::{Mapped, texts};

#[test]
fn the_structure_lists_files_with_what_is_in_them() {
    let mut shop = Mapped::shop();
    let all = shop.ask("structure", json!({}));
    assert_eq!(all["language"], "python");
    assert_eq!(all["root"], json!(shop.context.project));
    assert_eq!(
        (&all["total"], &all["truncated"]),
        (&json!(6), &json!(false))
    );
    assert_eq!(
        all["files"][1],
        json!({
            "path": "shop/cart.py", "functions": ["old_total"], "classes": ["Cart"],
            "imports": [".money"],
        })
    );
    let few = shop.ask("structure", json!({"max_results": 2, "path": "shop"}));
    assert_eq!(few["files"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&few["total"], &few["truncated"]),
        (&json!(4), &json!(true))
    );
}

#[test]
fn a_file_is_extracted_with_parameters_and_methods() {
    let mut shop = Mapped::shop();
    let file = shop.ask("extract", json!({"file": "shop/cart.py"}));
    assert_eq!(
        file["functions"],
        json!([{"name": "old_total", "line": 15, "params": ["cart"]}])
    );
    let class = &file["classes"][0];
    assert_eq!(
        (&class["name"], &class["line"]),
        (&json!("Cart"), &json!(4))
    );
    assert_eq!(
        class["methods"][1],
        json!({"name": "total", "line": 8, "params": ["self"]})
    );
    assert_eq!(file["imports"], json!([".money"]));
    let error = shop
        .try_ask("extract", json!({"file": "../x.py"}))
        .unwrap_err();
    assert_eq!(error["code"], "outside_root");
}

#[test]
fn the_call_graph_lists_edges_with_their_certainty() {
    let mut shop = Mapped::shop();
    shop.context
        .write("shop/any.py", "def use(x):\n    x.forgotten()\n");
    let graph = shop.ask("call_graph", json!({"path": "shop"}));
    assert_eq!(
        graph["edges"],
        json!([
            ["shop/any.py", "use", "shop/cart.py", "Cart.forgotten"],
            ["shop/cart.py", "Cart.total", "shop/money.py", "add"],
            [
                "shop/cart.py",
                "Cart.forgotten",
                "shop/cart.py",
                "old_total"
            ],
            ["shop/main.py", "start", "shop/cart.py", "Cart.__init__"],
            ["shop/main.py", "start", "shop/cart.py", "Cart.total"],
        ])
    );
    let certain = texts(&graph["certainties"]);
    assert_eq!(certain[0], "possible");
    assert!(certain[1..].iter().all(|c| *c == "resolved"), "{certain:?}");
    assert_eq!(graph["edge_count"], 5);
    let few = shop.ask("call_graph", json!({"resolved_only": true, "max_edges": 1}));
    assert_eq!(few["edges"].as_array().unwrap().len(), 1);
    assert_eq!(few["truncated"], true);
    assert!(few["edge_count"].as_u64().unwrap() > 4);
}

/// A tree as `function(caller, caller)`.
fn tree(node: &Value) -> String {
    let below: Vec<String> = node["callers"]
        .as_array()
        .unwrap()
        .iter()
        .map(tree)
        .collect();
    let name = node["function"].as_str().unwrap();
    match below.is_empty() {
        true => name.to_owned(),
        false => format!("{name}({})", below.join(" ")),
    }
}

#[test]
fn impact_is_a_tree_of_callers() {
    let mut shop = Mapped::shop();
    let impact = shop.ask("impact", json!({"target": "add"}));
    assert_eq!(impact["total_targets"], 1);
    let add = &impact["targets"]["shop/money.py:add"];
    assert_eq!(tree(add), "add(Cart.total(start CartTest.test_total))");
    assert_eq!(
        (&add["file"], &add["caller_count"]),
        (&json!("shop/money.py"), &json!(1))
    );
    assert_eq!(add["callers"][0]["certainty"], "resolved");
    let near = shop.ask(
        "impact",
        json!({"target": "shop/money.py:add", "max_depth": 1}),
    );
    let total = &near["targets"]["shop/money.py:add"]["callers"][0];
    assert_eq!(
        (&total["truncated"], &total["caller_count"]),
        (&json!(true), &json!(2))
    );
    for target in ["Cart.total", "cart.py:Cart.total", "Cart/total"] {
        let found = shop.ask("impact", json!({"target": target}));
        assert_eq!(found["total_targets"], 1, "{target}");
    }
    let error = shop
        .try_ask("impact", json!({"target": "totl"}))
        .unwrap_err();
    assert_eq!(error["code"], "not_found");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("shop/cart.py:Cart.total"), "{hint}");
}

#[test]
fn overrides_are_affected_by_calls_of_what_they_override() {
    let mut shop = Mapped::shop();
    shop.context.write(
        "shop/gift.py",
        "from .cart import Cart\n\n\nclass Gift(Cart):\n    def total(self):\n        return 0\n",
    );
    let impact = shop.ask("impact", json!({"target": "Gift.total"}));
    let gift = &impact["targets"]["shop/gift.py:Gift.total"];
    assert_eq!(tree(gift), "Gift.total(start CartTest.test_total)");
    assert_eq!(gift["callers"][0]["via"], "override");
    assert_eq!(gift["callers"][0]["certainty"], "possible");
}

#[test]
fn an_edit_is_seen_by_the_next_question() {
    let mut shop = Mapped::shop();
    let callers = |shop: &mut Mapped| {
        let impact = shop.ask("impact", json!({"target": "split", "max_depth": 1}));
        tree(&impact["targets"]["shop/money.py:split"])
    };
    assert_eq!(callers(&mut shop), "split(test_split)");
    shop.context.write(
        "shop/main.py",
        "from shop import money\n\n\ndef start():\n    money.split(1, 2)\n",
    );
    assert_eq!(callers(&mut shop), "split(start test_split)");
    fs::remove_file(shop.context.project.join("tests/test_money.py")).unwrap();
    assert_eq!(callers(&mut shop), "split(start)");
    let from = shop.context.project.join("shop/main.py");
    fs::rename(from, shop.context.project.join("shop/program.py")).unwrap();
    let impact = shop.ask("impact", json!({"target": "split"}));
    let caller = &impact["targets"]["shop/money.py:split"]["callers"][0];
    assert_eq!(caller["file"], "shop/program.py");
}

#[test]
fn dead_code_is_what_nobody_reaches() {
    let mut shop = Mapped::shop();
    let dead = shop.ask("dead_code", json!({}));
    // `start` is a script of `pyproject.toml`, `split` is used by a test.
    assert_eq!(
        dead["dead_functions"],
        json!([
            {"file": "shop/cart.py", "function": "Cart.forgotten", "line": 11, "certainty": "likely"},
            {"file": "shop/cart.py", "function": "old_total", "line": 15, "certainty": "likely"},
        ])
    );
    assert_eq!(
        dead["by_file"],
        json!({"shop/cart.py": ["Cart.forgotten", "old_total"]})
    );
    assert_eq!(
        (&dead["total_dead"], &dead["total_functions"]),
        (&json!(2), &json!(11))
    );
    assert_eq!(dead["dead_percentage"], 18.2);
    let dead = shop.ask("dead_code", json!({"entry_points": ["Cart.forgotten"]}));
    assert_eq!(dead["total_dead"], 0);
}

#[test]
fn what_others_may_call_is_not_dead() {
    let mut shop = Mapped::shop();
    shop.context.write(
        "shop/alive.py",
        "import framework\n__all__ = ['offered']\n\n\ndef offered(): pass\n\n\n\
         @framework.route('/')\ndef registered(): pass\n\n\n\
         class View(framework.View):\n    def get_context(self): pass\n\n\n\
         class Own:\n    def __len__(self): return 0\n    def by_string(self): pass\n\n\
         \x20   def by_attribute(self): pass\n    def never(self): pass\n\n\n\
         def use(x):\n    getattr(x, 'by_string')\n    return x.by_attribute\n\n\n\
         def by_call(): pass\n\n\nTABLE = {1: use, 2: 'by_call(1)'}\n",
    );
    let sphinx = "def setup(app):\n    app.add_role('x', link)\n\n\ndef link(): pass\n\n\ndef never(): pass\n";
    shop.context.write("docs/conf.py", sphinx);
    let dead = shop.ask("dead_code", json!({}));
    assert_eq!(dead["by_file"]["shop/alive.py"], json!(["Own.never"]));
    assert_eq!(dead["by_file"]["docs/conf.py"], json!(["never"]));
}

#[test]
fn names_of_several_pieces_are_not_dead() {
    let mut shop = Mapped::shop();
    shop.context.write(
        "shop/pieces.py",
        "class Pieces:\n    def aget_one(self): pass\n    def run_two_now(self): pass\n    \
         def never(self): pass\n\n\n\
         def use(x, kind):\n    getattr(x, 'a' + 'get_' + kind)\n    \
         getattr(x, 'run_' + kind + f'_now')\n\n\nTABLE = {1: use}\n",
    );
    let dead = shop.ask("dead_code", json!({}));
    assert_eq!(dead["by_file"]["shop/pieces.py"], json!(["Pieces.never"]));
}

#[test]
fn folders_are_layers() {
    let mut shop = Mapped::shop();
    shop.context.write("base/__init__.py", "");
    shop.context.write("base/a.py", "def low():\n    pass\n");
    shop.context.write(
        "shop/money.py",
        "from base.a import low\n\n\ndef add(items):\n    low()\n\n\ndef split(a, b):\n    low()\n",
    );
    let layers = shop.ask("architecture", json!({ "tests": true }));
    assert_eq!(layers["entry_layer"], json!(["tests"]));
    assert_eq!(layers["leaf_layer"], json!(["base"]));
    assert_eq!(layers["middle_layer_count"], 1);
    assert_eq!(
        layers["directory_layers"][0],
        json!({
            "directory": "base", "calls_out": 0, "calls_in": 2, "inferred_layer": "leaf",
            "function_count": 1,
        })
    );
    assert_eq!(layers["circular_dependencies"], json!([]));
    shop.context.write(
        "base/a.py",
        "def low():\n    from shop.cart import old_total\n    old_total(1)\n",
    );
    let layers = shop.ask("architecture", json!({}));
    // Tests call everything, and say nothing about layers.
    assert_eq!(layers["directory_layers"].as_array().unwrap().len(), 2);
    assert_eq!(
        layers["circular_dependencies"],
        json!([{"a": "base", "b": "shop"}])
    );
}

#[test]
fn references_are_definitions_and_edges() {
    let mut shop = Mapped::shop();
    let all = shop.ask("references", json!({}));
    let definitions = all["definitions"].as_array().unwrap();
    let total = json!({
        "file": "shop/cart.py", "name": "total", "line": 8, "kind": "method", "scope": "Cart",
    });
    assert!(definitions.contains(&total), "{all:#}");
    let edges = all["edges"].as_array().unwrap();
    let named = json!({
        "src_file": "shop/main.py", "src_symbol": "start",
        "dst_file": "shop/cart.py", "dst_symbol": "Cart",
    });
    assert!(edges.contains(&named), "{all:#}");
    assert_eq!(all["edge_count"], edges.len());
    assert_eq!(
        (&all["files_scanned"], &all["truncated"]),
        (&json!(6), &json!(false))
    );
    let few = shop.ask("references", json!({"max_files": 1}));
    assert_eq!(
        (&few["files_scanned"], &few["truncated"]),
        (&json!(1), &json!(true))
    );
}

#[test]
fn a_language_that_is_not_mapped_is_an_error() {
    let mut shop = Mapped::shop();
    let error = shop
        .try_ask("structure", json!({"language": "cobol"}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params", "{error}");
    let told = error.to_string();
    assert!(told.contains("cobol") && told.contains("python"), "{told}");
    let auto = shop.ask("structure", json!({"language": "auto"}));
    assert_eq!(auto["language"], "python");
    let error = shop
        .try_ask("structure", json!({"project": "/no/such"}))
        .unwrap_err();
    assert_eq!(error["code"], "not_found");
}

#[test]
fn ignored_files_are_no_part_of_the_map() {
    let mut shop = Mapped::shop();
    shop.context.write(".gitignore", "build/\n");
    shop.context.write(
        "build/copy.py",
        "from shop.money import split\nsplit(1, 2)\n",
    );
    let impact = shop.ask("impact", json!({"target": "split"}));
    assert_eq!(
        tree(&impact["targets"]["shop/money.py:split"]),
        "split(test_split)"
    );
}
