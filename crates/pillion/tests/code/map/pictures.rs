//! Pictures of a project.

use serde_json::json;

use super::Mapped;

#[test]
fn packages_calls_and_impact_are_drawn_in_every_format() {
    let mut shop = Mapped::shop();
    let data = shop.ask("graph", json!({ "format": "json" }));
    let labels: Vec<&str> = data["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["label"].as_str().unwrap())
        .collect();
    assert_eq!(
        labels,
        [
            "shop/__init__.py",
            "shop/cart.py",
            "shop/main.py",
            "shop/money.py"
        ]
    );
    let leads = |from: usize, to: usize| {
        let edges = data["edges"].as_array().unwrap();
        edges.iter().any(|e| e["from"] == from && e["to"] == to)
    };
    assert!(leads(2, 1) && leads(1, 3) && !leads(3, 1), "{data:#}");

    let few = shop.ask(
        "graph",
        json!({ "format": "json", "max_nodes": 2, "tests": true }),
    );
    assert_eq!(few["node_count"], 2, "{few:#}");

    for what in ["packages", "calls", "impact"] {
        let svg = shop.ask(
            "graph",
            json!({ "what": what, "target": "shop/money.py:add" }),
        );
        let text = svg["text"].as_str().unwrap();
        assert!(
            text.starts_with("<svg ") && text.contains("money"),
            "{text}"
        );
    }
    let impact = json!({ "what": "impact", "target": "add", "format": "mermaid" });
    let text = shop.ask("graph", impact)["text"].to_string();
    for name in ["add", "Cart.total", "start"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(
        !text.contains("test_total"),
        "tests are only shown if asked for: {text}"
    );

    let error = shop
        .try_ask("graph", json!({ "what": "impact" }))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params", "{error}");
    let unknown = json!({ "what": "calls", "target": "nosuch" });
    assert_eq!(
        shop.try_ask("graph", unknown).unwrap_err()["code"],
        "not_found"
    );
}

#[test]
fn the_command_prints_the_picture_itself() {
    let shop = Mapped::shop();
    let svg = shop.context.pillion(&["map", "graph"]);
    assert!(svg.stdout.starts_with("<svg "), "{svg}");
    let dot = shop
        .context
        .pillion(&["map", "graph", "calls", "--format", "dot"]);
    assert!(dot.stdout.starts_with("digraph "), "{dot}");
    let data = shop.context.pillion(&["map", "graph", "--format", "json"]);
    assert!(data.stdout.contains("\"nodes\""), "{data}");
}
