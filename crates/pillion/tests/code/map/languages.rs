//! Small projects in other languages than Python, asked through the socket.

use std::fs;

use serde_json::{Value, json};

use super::{Mapped, empty, git, texts};

const TYPESCRIPT: &[(&str, &str)] = &[
    (
        "package.json",
        "{\"devDependencies\": {\"vitest\": \"1\"}}\n",
    ),
    (".gitignore", "node_modules\n"),
    ("node_modules/x/index.js", "export function ignored() {}\n"),
    (
        "src/money.ts",
        "export const RATE = 2;\n\nexport function add(items: number[], ...more: number[]) {\n  return items.length * RATE;\n}\n\nfunction unused() {}\n",
    ),
    (
        "src/cart.ts",
        "import { add } from './money';\n\nexport class Cart {\n  items: number[] = [];\n\n  total() {\n    return add(this.items);\n  }\n}\n",
    ),
    ("src/index.ts", "export * from './cart';\n"),
    (
        "src/cart.test.ts",
        "import { Cart } from '.';\n\nit('adds', () => {\n  const cart = new Cart();\n  cart.total();\n});\n",
    ),
    ("src/other.test.ts", "it('is', () => {});\n"),
];

const GO: &[(&str, &str)] = &[
    ("go.mod", "module example.com/shop\n"),
    (
        "money/money.go",
        "package money\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n\nfunc unused() {}\n",
    ),
    (
        "cart/cart.go",
        "package cart\n\nimport \"example.com/shop/money\"\n\ntype Cart struct{}\n\nfunc (c *Cart) Total() int {\n\treturn money.Add(1, 2)\n}\n",
    ),
    (
        "cart/cart_test.go",
        "package cart\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tc := &Cart{}\n\tc.Total()\n}\n\nfunc TestOther(t *testing.T) {}\n",
    ),
];

const RUST: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"shop\"\n"),
    ("src/lib.rs", "pub mod cart;\nmod money;\n"),
    (
        "src/money.rs",
        "pub(crate) fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\nfn unused() {}\n",
    ),
    (
        "src/cart.rs",
        "use crate::money::add;\n\npub struct Cart;\n\nimpl Cart {\n    pub fn total(&self) -> u32 {\n        add(1, 2)\n    }\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn totals() {\n        let cart = Cart {};\n        assert_eq!(cart.total(), 3);\n    }\n\n    #[test]\n    fn other() {}\n}\n",
    ),
];

const JAVA: &[(&str, &str)] = &[
    ("pom.xml", "<project/>\n"),
    (
        "src/main/java/shop/Money.java",
        "package shop;\n\nfinal class Money {\n    static int add(int a, int b) {\n        return a + b;\n    }\n\n    private static void unused() {}\n}\n",
    ),
    (
        "src/main/java/shop/Cart.java",
        "package shop;\n\npublic class Cart {\n    public int total() {\n        return Money.add(1, 2);\n    }\n}\n",
    ),
    (
        "src/test/java/shop/CartTest.java",
        "package shop;\n\nimport org.junit.jupiter.api.Test;\n\nclass CartTest {\n    private final Cart cart = new Cart();\n\n    @Test\n    void totals() {\n        cart.total();\n    }\n}\n",
    ),
];

const C: &[(&str, &str)] = &[
    ("Makefile", "test: all\n\t./test_cart\n"),
    ("money.h", "int add(int a, int b);\n"),
    (
        "money.c",
        "#include \"money.h\"\n\nint add(int a, int b) {\n    return a + b;\n}\n\nstatic void unused(void) {}\n",
    ),
    ("cart.h", "int total(void);\n"),
    (
        "cart.c",
        "#include \"cart.h\"\n#include \"money.h\"\n\nint total(void) {\n    return add(1, 2);\n}\n",
    ),
    (
        "test_cart.c",
        "#include \"cart.h\"\n\nvoid test_total(void) {\n    total();\n}\n\nint main(void) {\n    test_total();\n    return 0;\n}\n",
    ),
];

/// A project, committed, with a daemon.
fn project(files: &[(&str, &str)]) -> Mapped {
    let context = empty();
    for (name, text) in files {
        context.write(name, text);
    }
    git(&context, &["init", "-q"]);
    git(&context, &["add", "-A"]);
    git(&context, &["commit", "-q", "-m", "one"]);
    Mapped::new(context)
}

/// Change `add` in a file, and ask what that can reach.
fn changed(project: &mut Mapped, language: &str, file: &str, from: &str, to: &str) -> Value {
    let path = project.context.project.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    project.context.write(file, &text.replace(from, to));
    project.ask(
        "change_impact",
        json!({"language": language, "git_base": "HEAD"}),
    )
}

/// `caller -> callee` of all edges, with `?>` for those that are only possible.
fn calls(project: &mut Mapped, language: &str) -> Vec<String> {
    let graph = project.ask("call_graph", json!({"language": language}));
    assert_eq!(graph["precision"], "syntactic");
    let certainties = texts(&graph["certainties"]);
    let edges = graph["edges"].as_array().unwrap().iter().zip(certainties);
    let edges = edges.map(|(edge, certainty)| {
        let mark = if certainty == "resolved" { "->" } else { "?>" };
        format!(
            "{} {mark} {}",
            edge[1].as_str().unwrap(),
            edge[3].as_str().unwrap()
        )
    });
    edges.collect()
}

fn dead(project: &mut Mapped, language: &str) -> Vec<String> {
    let dead = project.ask("dead_code", json!({"language": language}));
    let all = dead["dead_functions"].as_array().unwrap().iter();
    all.map(|one| one["function"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn typescript() {
    let mut shop = project(TYPESCRIPT);
    let all = shop.ask("structure", json!({"language": "auto"}));
    assert_eq!(
        (&all["language"], &all["total"]),
        (&json!("typescript"), &json!(5))
    );
    assert_eq!(
        all["files"][1],
        json!({
            "path": "src/cart.ts", "functions": [], "classes": ["Cart"], "imports": ["./money"],
        })
    );
    let file = shop.ask("extract", json!({"file": "src/money.ts"}));
    assert_eq!(
        file["functions"],
        json!([
            {"name": "add", "line": 3, "params": ["items", "...more"]},
            {"name": "unused", "line": 7, "params": []},
        ])
    );
    assert_eq!(
        calls(&mut shop, "typescript"),
        [
            "<module> -> Cart",
            "<module> -> Cart.total",
            "Cart.total -> add"
        ]
    );
    let impact = shop.ask("impact", json!({"language": "typescript", "target": "add"}));
    let total = &impact["targets"]["src/money.ts:add"]["callers"][0];
    assert_eq!(total["function"], "Cart.total");
    assert_eq!(total["callers"][0]["file"], "src/cart.test.ts");
    assert_eq!(dead(&mut shop, "typescript"), ["unused"]);
    let reach = changed(
        &mut shop,
        "typescript",
        "src/money.ts",
        "items.length",
        "items.length + 1",
    );
    assert_eq!(
        reach["changed_functions"],
        json!([{"file": "src/money.ts", "function": "add"}])
    );
    assert_eq!(reach["affected_tests"], json!(["src/cart.test.ts"]));
    assert_eq!(
        (&reach["total_tests"], &reach["skipped_count"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(reach["test_command"], "npx vitest run src/cart.test.ts");
}

#[test]
fn go() {
    let mut shop = project(GO);
    assert_eq!(
        calls(&mut shop, "go"),
        ["Cart.Total -> Add", "TestTotal -> Cart.Total"]
    );
    let file = shop.ask("extract", json!({"file": "cart/cart.go"}));
    assert_eq!(
        file["classes"],
        json!([{"name": "Cart", "line": 5, "methods": [{"name": "Total", "line": 7, "params": []}]}])
    );
    assert_eq!(file["imports"], json!(["example.com/shop/money"]));
    assert_eq!(dead(&mut shop, "go"), ["unused"]);
    let layers = shop.ask("architecture", json!({"language": "go"}));
    assert_eq!(layers["entry_layer"], json!(["cart"]));
    assert_eq!(layers["leaf_layer"], json!(["money"]));
    let reach = changed(&mut shop, "auto", "money/money.go", "a + b", "b + a");
    assert_eq!(
        reach["affected_test_ids"],
        json!(["cart/cart_test.go::TestTotal"])
    );
    assert_eq!(reach["test_command"], "go test ./cart -run '^(TestTotal)$'");
}

#[test]
fn rust() {
    let mut shop = project(RUST);
    assert_eq!(
        calls(&mut shop, "rust"),
        ["Cart.total -> add", "tests.totals -> Cart.total"]
    );
    assert_eq!(dead(&mut shop, "rust"), ["unused"]);
    let all = shop.ask("references", json!({}));
    assert_eq!(all["language"], "rust");
    let edge = json!({
        "src_file": "src/cart.rs", "src_symbol": "Cart.total",
        "dst_file": "src/money.rs", "dst_symbol": "add",
    });
    assert!(all["edges"].as_array().unwrap().contains(&edge), "{all:#}");
    let reach = changed(&mut shop, "rust", "src/money.rs", "a + b", "b + a");
    assert_eq!(
        reach["affected_test_ids"],
        json!(["src/cart.rs::tests::totals"])
    );
    assert_eq!(reach["test_command"], "cargo test --workspace -- totals");
}

#[test]
fn java() {
    let mut shop = project(JAVA);
    assert_eq!(
        calls(&mut shop, "java"),
        [
            "Cart.total -> Money.add",
            "CartTest -> Cart",
            "CartTest.totals -> Cart.total"
        ]
    );
    assert_eq!(dead(&mut shop, "java"), ["Money.unused"]);
    let reach = changed(
        &mut shop,
        "java",
        "src/main/java/shop/Money.java",
        "a + b",
        "b + a",
    );
    assert_eq!(
        reach["affected_tests"],
        json!(["src/test/java/shop/CartTest.java"])
    );
    assert_eq!(reach["test_command"], "mvn test -Dtest=CartTest");
}

#[test]
fn c() {
    let mut shop = project(C);
    assert_eq!(
        calls(&mut shop, "c"),
        ["total -> add", "test_total -> total", "main -> test_total"]
    );
    assert_eq!(dead(&mut shop, "c"), ["unused"]);
    let reach = changed(&mut shop, "c", "money.c", "a + b", "b + a");
    assert_eq!(
        reach["affected_test_ids"],
        json!(["test_cart.c::test_total"])
    );
    assert_eq!(reach["test_command"], "make test");
}

#[test]
fn edits_are_seen_at_once_and_deletions_reach_tests() {
    let mut shop = project(TYPESCRIPT);
    assert_eq!(calls(&mut shop, "typescript").len(), 3);
    shop.context
        .write("src/more.ts", "import { add } from './money';\nadd([]);\n");
    assert_eq!(calls(&mut shop, "typescript").len(), 4);
    fs::remove_file(shop.context.project.join("src/more.ts")).unwrap();
    assert_eq!(calls(&mut shop, "typescript").len(), 3);
    fs::remove_file(shop.context.project.join("src/money.ts")).unwrap();
    let by_git = shop.ask(
        "change_impact",
        json!({"language": "typescript", "git_base": "HEAD"}),
    );
    assert_eq!(by_git["affected_tests"], json!(["src/cart.test.ts"]));
    let session = shop.ask(
        "change_impact",
        json!({"language": "typescript", "use_git": false}),
    );
    assert_eq!(session["changed_files"], json!(["src/money.ts"]));
    assert_eq!(session["affected_tests"], json!(["src/cart.test.ts"]));
}

#[test]
fn what_cannot_be_mapped_is_an_error() {
    let mut shop = project(GO);
    let error = shop
        .try_ask("structure", json!({"language": "cobol"}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
    let text = error.to_string();
    for name in [
        "python",
        "typescript",
        "javascript",
        "go",
        "rust",
        "java",
        "c",
        "auto",
    ] {
        assert!(text.contains(&format!("`{name}`")), "{text}");
    }
    shop.context.write("a.rb", "def f; end\n");
    let error = shop
        .try_ask("extract", json!({"file": "a.rb"}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
    assert!(
        error.to_string().contains("typescript, javascript, go"),
        "{error}"
    );
    // A file that is half written has what can be read of it, and says so.
    shop.context.write(
        "half.go",
        "package shop\n\nfunc Whole() {}\n\nfunc Half( {\n",
    );
    let file = shop.ask("extract", json!({"file": "half.go"}));
    assert_eq!(file["functions"][0]["name"], "Whole");
    assert_eq!(file["parse_errors"][0]["file"], "half.go");
}

#[test]
fn changed_lines_lead_to_functions() {
    let mut shop = project(GO);
    let file = shop.context.project.join("cart/cart.go");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("money.Add(1, 2)", "money.Add(2, 3)")).unwrap();
    let live = shop.ask("live_changes", json!({ "language": "go" }));
    assert_eq!(live["changes"][0]["file"], "cart/cart.go", "{live:#}");
    assert_eq!(
        live["changes"][0]["symbols_affected"],
        json!([{ "name": "Cart.Total", "type": "method", "line": 7 }])
    );
}

/// The kinds and places of patterns.
fn patterns(shop: &mut Mapped) -> Vec<String> {
    let answer = shop.ask("patterns", json!({ "language": "auto" }));
    let all = answer["patterns"].as_array().unwrap().iter();
    let all: Vec<String> = all
        .map(|one| {
            let sure = one["confidence"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&sure) && one["description"].is_string());
            let [kind, place] = ["type", "location"].map(|key| one[key].as_str().unwrap());
            format!("{kind} {place}")
        })
        .collect();
    assert_eq!(answer["total_patterns"], all.len());
    all
}

#[test]
fn patterns_are_found_and_follow_the_files() {
    let mut shop = project(GO);
    assert_eq!(patterns(&mut shop), [""; 0]);
    shop.context.write(
        "cmd/serve/main.go",
        "package main\n\nimport \"net/http\"\n\nfunc main() {\n\thttp.HandleFunc(\"/cart\", cart)\n}\n",
    );
    shop.context.write(
        "money/rates.go",
        "package money\n\ntype Rates interface {\n\tOf(day int) int\n\tDays() int\n}\n",
    );
    let flat = "package money\n\ntype flat struct{}\n\nfunc (f flat) Of(day int) int { return 1 }\n\nfunc (f flat) Days() int { return 1 }\n";
    shop.context.write("money/flat.go", flat);
    shop.context
        .write("cart/own.go", &flat.replace("flat", "own"));
    assert_eq!(
        patterns(&mut shop),
        [
            "cli_commands cmd/serve/main.go:5",
            "cli_entry_point cmd/serve/main.go:5",
            "http_handler cmd/serve/main.go:6",
            "http_handlers cmd/serve/main.go:6",
            "interface money/rates.go:3",
            "interface_impl money/rates.go:3",
        ]
    );
    shop.context.write(
        "cart/own.go",
        &flat.replace("flat", "own").replace("Days", "Weeks"),
    );
    fs::remove_file(shop.context.project.join("cmd/serve/main.go")).unwrap();
    assert_eq!(patterns(&mut shop), [""; 0]);

    let mut shop = project(TYPESCRIPT);
    shop.context.write(
        "package.json",
        "{\n  \"bin\": {\n    \"shop\": \"dist/cli.js\"\n  }\n}\n",
    );
    shop.context.write(
        "src/serve.js",
        "const app = require('express')();\n\napp.get('/cart', (req, res) => res.send());\n",
    );
    shop.context
        .write("node_modules/x/cli.js", "#!/usr/bin/env node\n");
    assert_eq!(
        patterns(&mut shop),
        [
            "cli_commands package.json:3",
            "cli_entry_point package.json:3",
            "http_handler src/serve.js:3",
            "http_handlers src/serve.js:3",
        ]
    );

    let mut shop = project(RUST);
    shop.context.write("src/main.rs", "fn main() {}\n");
    assert_eq!(
        patterns(&mut shop),
        [
            "cli_commands src/main.rs:1",
            "cli_entry_point src/main.rs:1"
        ]
    );
}

#[test]
fn what_is_no_syntax_is_told() {
    let mut shop = project(GO);
    let all = shop.ask("diagnostics", json!({ "language": "auto" }));
    assert_eq!(
        (&all["tools"], &all["error_count"], &all["file_count"]),
        (&json!(["tree-sitter"]), &json!(0), &json!(3))
    );
    shop.context
        .write("cart/half.go", "package cart\n\nfunc Half() { ) }\n");
    let all = shop.ask("diagnostics", json!({ "language": "go", "path": "cart" }));
    assert_eq!(
        all["diagnostics"],
        json!([{
            "file": "cart/half.go", "line": 3, "column": 15, "severity": "error",
            "message": "`)` is not understood", "rule": "syntax", "source": "tree-sitter",
        }])
    );
    assert_eq!(
        (&all["error_count"], &all["file_count"]),
        (&json!(1), &json!(3))
    );
    let other = shop.ask("diagnostics", json!({ "language": "go", "path": "money" }));
    assert_eq!(other["total"], 0);
}

#[test]
fn every_tool_of_agents_answers_on_projects_of_other_languages() {
    for (language, files, target, used) in [
        ("go", GO, "Add", "money/money.go"),
        ("typescript", TYPESCRIPT, "add", "src/money.ts"),
        ("rust", RUST, "add", "src/money.rs"),
    ] {
        let shop = project(files);
        shop.context.write(used, "");
        let mut agent = shop.context.agent(&[]);
        let root = shop.context.project.display().to_string();
        let mut tool = |name: &str, more: Value| {
            let mut arguments = json!({ "project": root, "language": language });
            if matches!(
                name,
                "project_registry" | "agent_map" | "cross_project_deps"
            ) {
                arguments = json!({ "root": root });
            }
            for (key, value) in more.as_object().unwrap() {
                arguments[key] = value.clone();
            }
            let answer = agent.tool(name, arguments);
            assert_eq!(answer["isError"], false, "{language} {name}: {answer}");
            let text = answer["content"][0]["text"].as_str().unwrap();
            serde_json::from_str::<Value>(text).unwrap()
        };
        let none = json!({});
        assert_eq!(
            tool("project_registry", none.clone())[0]["language"],
            language
        );
        assert_eq!(tool("agent_map", none.clone())["project_count"], 1);
        assert_eq!(
            tool("cross_project_deps", none.clone())["total_projects"],
            1
        );
        assert_eq!(tool("detect_patterns", none.clone())["language"], language);
        let live = tool("live_changes", none.clone());
        assert_eq!(live["changes"][0]["file"], used, "{live}");
        let reached = tool("change_impact", json!({ "git_base": "HEAD" }));
        assert_eq!(reached["changed_files"], json!([used]), "{reached}");
        let text = files.iter().find(|(path, _)| *path == used).unwrap().1;
        shop.context.write(used, text);
        let files = tool("code_structure", none.clone())["total"].as_u64();
        assert!(files > Some(2), "{language}: {files:?}");
        let impact = tool("impact_analysis", json!({ "target": target }));
        assert_eq!(impact["total_targets"], 1, "{impact}");
        let edges = tool("reference_edges", none)["edge_count"].as_u64();
        assert!(edges > Some(0), "{language}: {edges:?}");
        let found = agent.tool("resolve_project", json!({ "path": root }));
        assert_eq!(found["structuredContent"]["language"], language, "{found}");
    }
}
