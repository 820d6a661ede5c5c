//! Questions and changes by name instead of file, line and column, on every door.

use pillion_testing::project::{bare, places, post};
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

const CART: &str = "\
from shop.base import Base


class Cart(Base):
    def total(self, rate=1):
        return sum(self.items) * rate


def total(cart):
    return cart.total()
";

const BASE: &str = "\
from typing import overload


class Base:
    items = []

    def save(self):
        return self.items

    @overload
    def find(self, key: int) -> int: ...
    @overload
    def find(self, key: str) -> str: ...
    def find(self, key):
        return key

    @property
    def size(self):
        return len(self.items)

    @size.setter
    def size(self, value):
        self.items = [None] * value
";

/// A shop whose package offers a class under another name, and a class of the same name in a
/// test.
fn shop() -> TestContext {
    let context = bare();
    context.write(
        "pyproject.toml",
        "[project]\nname = 'shop'\nversion = '1'\n",
    );
    context.write(
        "src/shop/__init__.py",
        "from .cart import Cart as Cart\nfrom .cart import total\n",
    );
    context.write("src/shop/base.py", BASE);
    context.write("src/shop/cart.py", CART);
    context.write("src/shop/deep/tool.py", "def helper():\n    return 1\n");
    context.write(
        "tests/test_cart.py",
        "from shop.cart import Cart\nimport shop.deep.tool\n\n\ndef test_total():\n    \
         assert Cart().total() == 0\n    shop.deep.tool.helper()\n",
    );
    context
}

/// Where a name leads, as `code.defs` says.
fn defs(context: &TestContext, at: &str) -> Vec<String> {
    let answer = context.pillion_json(&["defs", at]);
    places(&answer["locations"])
}

#[test]
fn a_name_means_what_it_would_in_python() {
    let context = shop();
    for (at, place) in [
        ("Cart", "src/shop/cart.py:4:7"),
        ("Cart.total", "src/shop/cart.py:5:9"),
        ("Cart/total", "src/shop/cart.py:5:9"),
        ("/total", "src/shop/cart.py:9:5"),
        ("shop.cart.Cart.total", "src/shop/cart.py:5:9"),
        ("shop.cart:Cart/total", "src/shop/cart.py:5:9"),
        ("shop.cart:total", "src/shop/cart.py:9:5"),
        ("cart.total", "src/shop/cart.py:9:5"),
        ("src/shop/cart.py::Cart.total", "src/shop/cart.py:5:9"),
        ("src/shop/cart.py::Cart::total", "src/shop/cart.py:5:9"),
        ("src/shop/cart.py::total", "src/shop/cart.py:9:5"),
        ("cart.py::total", "src/shop/cart.py:9:5"),
        ("src/shop/cart.py:5:9", "src/shop/cart.py:5:9"),
        ("src/shop/cart.py:5", "src/shop/cart.py:5:9"),
        // Through what a package takes from its modules, and through base classes.
        ("shop.Cart", "src/shop/cart.py:4:7"),
        ("shop.Cart.total", "src/shop/cart.py:5:9"),
        ("shop.total", "src/shop/cart.py:9:5"),
        ("Cart.save", "src/shop/base.py:7:9"),
        ("shop.Cart.save", "src/shop/base.py:7:9"),
        ("src/shop/cart.py::Cart.save", "src/shop/base.py:7:9"),
        ("Cart.items", "src/shop/base.py:5:5"),
        // Definitions that belong together are one.
        ("Base.size", "src/shop/base.py:18:9"),
        // A parameter by the name of its function.
        ("Cart.total.rate", "src/shop/cart.py:5:21"),
        // Modules, with and without a package around them.
        ("shop.cart", "src/shop/cart.py:1:1"),
        ("shop", "src/shop/__init__.py:1:1"),
        ("shop.deep.tool.helper", "src/shop/deep/tool.py:1:5"),
        ("shop.deep.tool", "src/shop/deep/tool.py:1:1"),
    ] {
        assert_eq!(defs(&context, at), [place], "{at}");
    }
    let overloaded = defs(&context, "Base.find");
    assert!(
        overloaded.contains(&"src/shop/base.py:14:9".to_owned()),
        "{overloaded:?}"
    );
}

#[test]
fn a_name_that_fits_several_is_answered_with_all_of_them() {
    let context = shop();
    let refused = context.pillion(&["refs", "total"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    let error = refused.json();
    assert_eq!(error["code"], "conflict");
    let candidates = error["data"]["candidates"].as_array().unwrap().clone();
    let named: Vec<&Value> = candidates.iter().map(|one| &one["at"]).collect();
    assert_eq!(
        named,
        ["src/shop/cart.py::total", "src/shop/cart.py::Cart.total"]
    );
    assert_eq!(
        places(&error["data"]["candidates"]),
        ["src/shop/cart.py:9:5", "src/shop/cart.py:5:9"]
    );
    // What it offers to write means each of them alone.
    for (one, place) in candidates.iter().zip(places(&error["data"]["candidates"])) {
        assert_eq!(defs(&context, one["at"].as_str().unwrap()), [place]);
    }
    let text = context.pillion(&["refs", "--text", "total"]);
    assert!(
        text.stderr.contains("src/shop/cart.py:9:5  function"),
        "{text}"
    );
    assert!(text.stderr.contains("`src/shop/cart.py::total`"), "{text}");
    // From another folder they are places that can be opened there.
    let mut command = context.pillion_command(&["refs", "--text", "total"]);
    command.current_dir(context.project.join("src"));
    let text = CommandOutput::of(command);
    assert!(
        text.stderr.contains("\n  shop/cart.py:9:5  function"),
        "{text}"
    );
    // Nothing is changed where nobody knows what is meant.
    let renamed = context.pillion(&["rename", "total", "sum_up", "--apply"]);
    assert_eq!(
        (renamed.code, &renamed.json()["code"]),
        (Some(1), &json!("conflict"))
    );
}

#[test]
fn a_name_that_fits_nothing_is_answered_with_near_ones() {
    let context = shop();
    let refused = context.pillion(&["refs", "Cart.totl"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    let error = refused.json();
    assert_eq!(error["code"], "not_found");
    let near = &error["data"]["candidates"][0]["at"];
    assert_eq!(near, "src/shop/cart.py::Cart.total", "{error:#}");
    assert!(
        error["hint"].as_str().unwrap().contains("did you mean"),
        "{error:#}"
    );
    let text = context.pillion(&["read-symbol", "--text", "Cart.totl"]);
    assert!(text.stderr.contains("src/shop/cart.py:5:9"), "{text}");
    for wrong in ["a b", "Cart..total", "1x"] {
        let error = context.pillion(&["refs", wrong]).json();
        assert_eq!(error["code"], "invalid_params", "{wrong}");
    }
}

/// Every operation that is about a place takes a name, because places are one type.
#[test]
fn every_operation_about_a_place_takes_a_name() {
    let context = shop();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let operations = context.pillion_json(&["operations", "--json"]);
    let mut asked = 0;
    for operation in operations.as_array().unwrap() {
        let name = operation["name"].as_str().unwrap();
        let members = &operation["params"]["properties"];
        let is_about_a_place = members["line"].is_object() && name.starts_with("code.");
        if !is_about_a_place {
            continue;
        }
        assert!(members["at"].is_object(), "{name} takes no name");
        let mut params = json!({"at": "Cart.total"});
        for (member, value) in [("new_name", "sum_up"), ("dest_file", "src/shop/other.py")] {
            if members[member].is_object() {
                params[member] = json!(value);
            }
        }
        if name == "code.change_signature" {
            params["add"] = json!(["tax=0"]);
        }
        let outcome = rpc.call(name, params);
        let known = match outcome {
            Ok(_) => true,
            // What stands there is known, and cannot be changed this way.
            Err(error) => ["conflict", "invalid_params"]
                .contains(&error["data"]["code"].as_str().unwrap_or_default()),
        };
        assert!(known, "{name}");
        asked += 1;
    }
    assert!(asked >= 10, "{asked} operations are about places");
}

/// What edits a definition takes it by name, by place, and in three words; a use is no definition.
#[test]
fn edits_of_definitions_take_places_and_know_a_use_from_a_definition() {
    let context = shop();
    for place in [
        &["Cart.total"][..],
        &["src/shop/cart.py:5:9"],
        &["src/shop/cart.py:5"],
        &["src/shop/cart.py", "5", "9"],
        // Within the definition, on nothing that has another name.
        &["src/shop/cart.py:6:1"],
    ] {
        for command in ["replace-body", "insert-before", "insert-after"] {
            let source = "def total(self, rate=1):\n    return rate";
            let source = match command {
                "replace-body" => source.to_owned(),
                _ => source.replace("total", "other"),
            };
            let output = context.pillion(&[&[command], place, &[&source]].concat());
            assert_eq!(output.code, Some(0), "{command} {place:?}: {output}");
            let files = &output.json()["files"];
            assert_eq!(files, &json!(["src/shop/cart.py"]), "{command} {place:?}");
        }
    }
    // `total` of `cart.total()` stands in the function `total`: which of them is meant?
    for args in [
        &["replace-body", "src/shop/cart.py:10:17", "return 1"][..],
        &["replace-body", "tests/test_cart.py:6:19", "return 1"],
        &["safe-delete", "tests/test_cart.py:6:19", "--apply"],
    ] {
        let error = context.pillion(args).json();
        assert_eq!(error["code"], "conflict", "{args:?}: {error:#}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("is not defined at this place"),
            "{message}"
        );
    }
}

/// The map names functions in its own way, and takes what every other question takes.
#[test]
fn the_map_takes_the_same_names_and_places() {
    let context = shop();
    let targets = |params: Value| -> Vec<String> {
        let answer = context.pillion_json(&[
            "stdio",
            "--command",
            "map.impact",
            "--args",
            &params.to_string(),
        ]);
        let targets = answer["targets"].as_object();
        let targets = targets.unwrap_or_else(|| panic!("{params}: {answer:#}"));
        targets.keys().cloned().collect()
    };
    for at in [
        "Cart.total",
        "Cart/total",
        "src/shop/cart.py:Cart.total",
        "src/shop/cart.py::Cart.total",
        "cart.py::Cart.total",
        "shop.cart.Cart.total",
        "shop.cart:Cart.total",
        "shop.Cart.total",
        // Its definition, its line, and a use of it.
        "src/shop/cart.py:5:9",
        "src/shop/cart.py:5",
        "tests/test_cart.py:6:19",
    ] {
        for word in ["target", "at"] {
            let params = json!({ word: at, "project": context.project });
            let found = targets(params);
            assert_eq!(found, ["src/shop/cart.py:Cart.total"], "{word} {at}");
        }
    }
    // On a command line a file is meant from here.
    let mut command = context.pillion_command(&["map", "impact", "cart.py:5:9"]);
    command.current_dir(context.project.join("src/shop"));
    let here = CommandOutput::of(command).json();
    assert!(
        here["targets"]["src/shop/cart.py:Cart.total"].is_object(),
        "{here:#}"
    );
    for args in [
        &[
            "map",
            "graph",
            "calls",
            "shop.cart:Cart.total",
            "--format",
            "mermaid",
        ][..],
        &[
            "map",
            "graph",
            "impact",
            "src/shop/cart.py:5:9",
            "--format",
            "mermaid",
        ],
        &["map", "dead-code", "shop.deep.tool.helper"],
    ] {
        let output = context.pillion(args);
        assert_eq!(output.code, Some(0), "{args:?}: {output}");
    }
    for (at, why) in [
        ("src/shop/cart.py:2:1", "line 2 is blank"),
        ("src/shop/cart.py:99:1", "line 99 is missing"),
        ("Base.items", "is an attribute"),
        ("shop.cart.nosuch", "no function or class is called"),
    ] {
        let error = context.pillion(&["map", "impact", at]).json();
        assert_eq!(error["code"], "not_found", "{at}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(why), "{at}: {message}");
    }
}

#[test]
fn names_are_understood_on_every_door() {
    let context = shop();
    let web = context.serve();
    for body in [
        json!({"at": "Cart.total"}),
        json!({"at": "src/shop/cart.py:5:9"}),
        json!({"at": "Cart.total", "file": "src/shop/cart.py"}),
        json!({"file": "src/shop/cart.py", "line": 5, "column": 9}),
    ] {
        let reply = post(&web, "/defs", &body);
        assert_eq!(reply.status, 200, "{body}: {reply:?}");
        assert_eq!(
            places(&reply.json()["locations"]),
            ["src/shop/cart.py:5:9"],
            "{body}"
        );
    }
    let reply = post(
        &web,
        "/defs",
        &json!({"positions": ["Cart.total", {"file": "src/shop/cart.py", "line": 9, "col": 5}, "nosuch"]}),
    );
    let results = reply.json()["results"].clone();
    assert_eq!(places(&results[0]["locations"]), ["src/shop/cart.py:5:9"]);
    assert_eq!(places(&results[1]["locations"]), ["src/shop/cart.py:9:5"]);
    assert_eq!(results[2]["error"]["code"], "not_found");
    for (body, status) in [
        (json!({"at": "nosuch"}), 400),
        (json!({"at": "total"}), 409),
        (json!({"at": "a b"}), 422),
        (json!({"at": "Cart", "line": 1}), 422),
        (json!({"file": "src/shop/cart.py"}), 422),
    ] {
        let reply = post(&web, "/defs", &body);
        assert_eq!(reply.status, status, "{body}: {reply:?}");
    }
}

#[test]
fn a_file_before_a_name_is_meant_from_where_one_stands() {
    let context = shop();
    for (folder, at) in [
        ("src/shop", "cart.py::total"),
        ("src/shop", "cart.py:9:5"),
        ("src", "shop/cart.py:total"),
        ("src", "src/shop/cart.py::total"),
        ("tests", "shop.cart:total"),
    ] {
        let mut command = context.pillion_command(&["defs", at]);
        command.current_dir(context.project.join(folder));
        let answer = CommandOutput::of(command).json();
        assert_eq!(
            places(&answer["locations"]),
            ["src/shop/cart.py:9:5"],
            "{folder} {at}"
        );
    }
}

#[test]
fn changes_are_asked_for_by_name() {
    let context = shop();
    let applied = |args: &[&str]| {
        let answer = context.pillion_json(args);
        assert_eq!(answer["applied"], json!(true), "{args:?}: {answer:#}");
        answer
    };
    let text = |name: &str| std::fs::read_to_string(context.project.join(name)).unwrap();
    applied(&["rename", "Cart.total", "sum_up", "--apply"]);
    assert!(text("src/shop/cart.py").contains("def sum_up(self, rate=1)"));
    assert!(text("tests/test_cart.py").contains("Cart().sum_up()"));
    applied(&["rename", "Cart.sum_up.rate", "factor", "--apply"]);
    assert!(text("src/shop/cart.py").contains("* factor"));
    applied(&["rename", "shop.deep.tool", "gear", "--apply"]);
    assert!(text("tests/test_cart.py").contains("shop.deep.gear.helper()"));
    applied(&[
        "change-signature",
        "Cart.sum_up",
        "--add",
        "tax=0",
        "--apply",
    ]);
    assert!(text("src/shop/cart.py").contains("def sum_up(self, factor=1, tax=0)"));
    applied(&["move", "shop.cart:total", "src/shop/sums.py", "--apply"]);
    assert!(text("src/shop/sums.py").contains("def total(cart)"));
    applied(&[
        "code",
        "replace-body",
        "sums.py::total",
        "def total(cart):\n    return 0",
        "--apply",
    ]);
    assert!(text("src/shop/sums.py").contains("return 0"));
    let kept = context.pillion(&["move", "src/shop/sums.py", "src/shop/deep/sums.py"]);
    assert_eq!(
        kept.json()["renamed"][0]["to"],
        "src/shop/deep/sums.py",
        "{kept}"
    );
    let kept = context.pillion(&["move", "src/shop/deep", "src/shop/deeper"]);
    assert_eq!(kept.code, Some(0), "{kept}");
}

#[test]
fn names_of_others_are_asked_about_where_the_workspace_spells_them() {
    let context = bare();
    context.write(
        "user.py",
        "import json\nimport os.path\nfrom collections import OrderedDict as Ordered\n\n\
         json.dumps(1)\nOrdered()\nos.path.join('a')\n",
    );
    context.write("other.py", "import json\n\nprint(json.dumps(2))\n");
    for (at, place) in [
        ("json.dumps", "user.py:5:6"),
        ("collections.OrderedDict", "user.py:3:25"),
        ("os.path.join", "user.py:7:9"),
    ] {
        let answer = context.pillion_json(&["refs", at]);
        assert!(
            places(&answer["locations"]).contains(&place.to_owned()),
            "{at}: {answer:#}"
        );
        assert_eq!(
            context.pillion_json(&["defs", at])["locations"][0]["external"],
            true,
            "{at}"
        );
    }
    let answer = context.pillion_json(&["refs", "json.dumps"]);
    assert!(
        places(&answer["locations"]).contains(&"other.py:3:12".to_owned()),
        "{answer:#}"
    );
    let refused = context.pillion(&["rename", "json.dumps", "x", "--apply"]);
    assert_eq!(refused.json()["code"], "invalid_params", "{refused}");
    assert_eq!(
        context.pillion(&["refs", "json.nosuch"]).json()["code"],
        "not_found"
    );
}

/// Questions about the map take the same names, and places, too.
#[test]
fn the_map_takes_names_as_everything_else_does() {
    let context = shop();
    let total = "src/shop/cart.py:Cart.total";
    for (at, target) in [
        // As older hosts write it.
        ("Cart.total", total),
        ("src/shop/cart.py:Cart.total", total),
        ("shop.cart:Cart/total", total),
        ("shop.Cart.total", total),
        ("src/shop/cart.py::Cart.total", total),
        ("cart.py::Cart::total", total),
        ("src/shop/cart.py:5:9", total),
        ("src/shop/cart.py:5", total),
        ("Cart.total()", total),
        // A use means what is used, not what is around it.
        ("tests/test_cart.py:7:20", "src/shop/deep/tool.py:helper"),
        ("tests/test_cart.py:6:12", "src/shop/cart.py:Cart"),
        // What a class has from its base, and what a package has from its modules.
        ("Cart.save", "src/shop/base.py:Base.save"),
        ("shop.Cart.save", "src/shop/base.py:Base.save"),
        ("shop.total", "src/shop/cart.py:total"),
        ("shop.deep.tool.helper", "src/shop/deep/tool.py:helper"),
    ] {
        let answer = context.pillion_json(&["map", "impact", at]);
        let found: Vec<&String> = answer["targets"].as_object().unwrap().keys().collect();
        assert!(found.contains(&&target.to_owned()), "{at}: {found:?}");
        let drawn = context.pillion(&["map", "graph", "calls", at, "--format", "mermaid"]);
        assert_eq!(drawn.code, Some(0), "{at}: {drawn}");
    }
    // From a folder of the project, on its own path.
    let mut command = context.pillion_command(&["map", "impact", "cart.py::Cart.total"]);
    command.current_dir(context.project.join("src/shop"));
    assert_eq!(CommandOutput::of(command).json()["total_targets"], 1);
    let mut command = context.pillion_command(&["map", "impact", "cart.py:total"]);
    command.current_dir(context.project.join("src/shop"));
    let answer = CommandOutput::of(command).json();
    assert!(
        answer["targets"]["src/shop/cart.py:total"].is_object(),
        "{answer:#}"
    );
    // The doors call it `at`, as they do elsewhere.
    let web = context.serve();
    let reply = web.post("map.impact", &json!({"at": "shop.Cart.save"}));
    assert_eq!(reply.json()["total_targets"], 1, "{reply:?}");
    for (wrong, said) in [
        ("Base.items", "is an attribute"),
        ("src/shop/cart.py:99:1", "line 99 is missing"),
        ("nosuch.py:1:1", "no file"),
        ("nosuch", "no function or class"),
    ] {
        let refused = context.pillion(&["map", "impact", wrong]);
        assert_eq!(refused.code, Some(1), "{wrong}: {refused}");
        let error = refused.json();
        assert_eq!(error["code"], "not_found", "{wrong}: {error}");
        assert!(
            error["message"].as_str().unwrap().contains(said),
            "{wrong}: {error}"
        );
    }
}

#[test]
fn a_parameter_of_several_functions_is_told_with_all_of_them() {
    let context = bare();
    context.write(
        "shop.py",
        "class Cart:\n    def make(self, count, *items, **more): ...\n\n\n\
         def make(count, flag=False, *items): ...\n",
    );
    let refused = context.pillion(&["refs", "make.count"]).json();
    assert_eq!(refused["code"], "conflict", "{refused:#}");
    assert_eq!(
        places(&refused["data"]["candidates"]),
        ["shop.py:5:10", "shop.py:2:20"],
        "{refused:#}"
    );
    for one in refused["data"]["candidates"].as_array().unwrap() {
        let place = format!("shop.py:{}:{}", one["line"], one["column"]);
        assert_eq!(defs(&context, one["at"].as_str().unwrap()), [place]);
    }
    // Only one of them has these.
    assert_eq!(defs(&context, "make.flag"), ["shop.py:5:17"]);
    assert_eq!(defs(&context, "make.more"), ["shop.py:2:37"]);
}

#[test]
fn colons_between_names_and_names_of_imports_are_understood() {
    let context = shop();
    context.write(
        "src/shop/api.py",
        "from . import cart as engine\nfrom .cart import Cart as Basket\n",
    );
    for (at, place) in [
        ("Cart::total", "src/shop/cart.py:5:9"),
        ("shop.cart.Cart:total", "src/shop/cart.py:5:9"),
        ("shop.Cart:save", "src/shop/base.py:7:9"),
        ("shop.api.engine", "src/shop/cart.py:1:1"),
        ("shop.api.engine.Cart", "src/shop/cart.py:4:7"),
        ("shop.api.Basket", "src/shop/cart.py:4:7"),
    ] {
        assert_eq!(defs(&context, at), [place], "{at}");
    }
    // It is told whose other name that is, and not taken for it: a rename would mean another.
    let refused = context.pillion(&["rename", "Basket", "Box"]).json();
    assert_eq!(refused["code"], "not_found", "{refused:#}");
    assert_eq!(
        refused["data"]["candidates"][0]["at"], "src/shop/cart.py::Cart",
        "{refused:#}"
    );
}

#[test]
fn definitions_are_searched_by_names_with_dots() {
    let context = shop();
    for query in [
        "Cart.total",
        "shop.cart.Cart.total",
        "cart.py::Cart.total",
        "Cart/total",
    ] {
        let answer = context.pillion_json(&["symbols", query]);
        assert_eq!(
            answer["symbols"][0]["name_path"], "Cart/total",
            "{query}: {answer:#}"
        );
        assert_eq!(answer["total"], 1, "{query}: {answer:#}");
    }
    let answer = context.pillion_json(&["symbols", "Cart.tot"]);
    assert_eq!(
        answer["symbols"][0]["name_path"], "Cart/total",
        "{answer:#}"
    );
    let answer = context.pillion_json(&["symbols", "Cart.total", "--kind", "class"]);
    assert_eq!(answer["total"], 0, "{answer:#}");
}

/// A module is a name as any other: questions about it say what it is and who names it, and
/// those about a definition say that it is none.
#[test]
fn a_module_is_asked_about_by_its_name() {
    let context = bare();
    context.write(
        "shapes.py",
        "\"\"\"Shapes.\"\"\"\nfrom typing import overload\n\n\n@overload\ndef read(x: int) -> int: ...\n\
         @overload\ndef read(x: str) -> str: ...\ndef read(x):\n    return x\n",
    );
    context.write(
        "use.py",
        "import shapes\nimport shapes as sh\n\n\ndef use():\n    return shapes.read(1) + sh.read(2)\n",
    );
    for at in ["shapes", "use.py:1:8"] {
        let hover = context.pillion_json(&["hover", at]);
        assert_eq!(hover["type"], "module", "{at}: {hover}");
        assert_eq!(hover["name"], "shapes", "{at}");
        assert_eq!(hover["docstring"], "Shapes.", "{at}");
        let everything = context.pillion_json(&["at", at]);
        assert_eq!(everything["type"], "module", "{at}: {everything}");
        assert!(everything["confirmed"].as_u64() > Some(2), "{everything}");
        let named = context.pillion_json(&["occurrences", at]);
        assert_eq!(
            places(&named["locations"]),
            ["use.py:1:8", "use.py:2:8", "use.py:6:12"],
            "{at}"
        );
        let none = context.pillion_json(&["callers", at]);
        assert_eq!(none["why"], "`shapes` is a module, no function", "{at}");
    }
    for (at, why) in [
        ("shapes", "is the module `shapes.py`"),
        ("read.x", "is a parameter of `read`"),
    ] {
        let refused = context.pillion(&["read-symbol", at]);
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(refused.stdout.contains(why), "{refused}");
    }
    // Each overload has the same callers.
    let callers = context.pillion_json(&["callers", "shapes.read"]);
    assert_eq!(callers["total"], 1, "{callers}");
    let sites = callers["calls"][0]["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 2, "{callers}");
}
