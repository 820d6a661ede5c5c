//! What files define: lists, symbols by a part of their name, and their source.

use pillion_testing::project::{TestProject, members};
use serde_json::{Value, json};

fn names(project: &mut TestProject, params: Value) -> Vec<String> {
    members(&project.ask("list", params)["symbols"], "name_path")
}

#[test]
fn a_file_is_listed_with_async_functions_and_nested_definitions() {
    let mut project = TestProject::open("outline");
    let answer = project.ask("list", json!({"path": "pkg/service.py"}));
    let told: Vec<Value> = answer["symbols"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            json!([
                s["name_path"],
                s["kind"],
                s["line"],
                s["end_line"],
                s["container"]
            ])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["TIMEOUT", "variable", 5, 5, null]),
            json!(["fetch", "function", 8, 10, null]),
            json!(["QuerySet", "class", 13, 34, null]),
            json!(["QuerySet/model", "attribute", 16, 16, "QuerySet"]),
            json!(["QuerySet/filter", "method", 18, 24, "QuerySet"]),
            json!([
                "QuerySet/filter/clause",
                "function",
                21,
                22,
                "QuerySet/filter"
            ]),
            json!(["QuerySet/afilter", "method", 26, 27, "QuerySet"]),
            json!(["QuerySet/count", "property", 29, 31, "QuerySet"]),
            json!(["QuerySet/Meta", "class", 33, 34, "QuerySet"]),
            json!([
                "QuerySet/Meta/ordering",
                "attribute",
                34,
                34,
                "QuerySet/Meta"
            ]),
            json!(["old_style", "function", 37, 39, null]),
            json!(["Rows", "type", 42, 42, null]),
        ],
        "{answer:#}"
    );
    let old = &answer["symbols"][10];
    assert_eq!((&old["name_line"], &old["column"]), (&json!(38), &json!(5)));
    let fetch = &answer["symbols"][1];
    assert_eq!(fetch["signature"], "async def fetch(url: str) -> bytes");
    assert_eq!(fetch["summary"], "Fetch a page.");
    assert_eq!(
        (&answer["total"], &answer["truncated"]),
        (&json!(12), &json!(false))
    );
}

#[test]
fn folders_are_listed_flat_or_with_all_below_and_to_a_depth() {
    let mut project = TestProject::open("outline");
    let below = names(&mut project, json!({"path": "pkg", "depth": 1}));
    assert_eq!(below, ["TIMEOUT", "fetch", "QuerySet", "old_style", "Rows"]);
    let all = names(
        &mut project,
        json!({"path": "pkg", "depth": 1, "recursive": true}),
    );
    assert_eq!(
        all,
        [
            "filter_rows",
            "TIMEOUT",
            "fetch",
            "QuerySet",
            "old_style",
            "Rows"
        ]
    );
    assert_eq!(names(&mut project, json!({})), ["at_the_top"]);
    let everything = names(&mut project, json!({"recursive": true, "depth": 2}));
    assert!(
        everything.contains(&"QuerySet/filter".to_owned()),
        "{everything:?}"
    );
    assert!(!everything.contains(&"QuerySet/filter/clause".to_owned()));
    assert!(everything.contains(&"filter_rows".to_owned()));
    let two = project.ask("list", json!({"path": "pkg", "limit": 2}));
    assert_eq!(
        (&two["total"], &two["truncated"]),
        (&json!(12), &json!(true))
    );
    let error = project
        .try_ask("list", json!({"path": "nosuch"}))
        .unwrap_err();
    assert_eq!(error["code"], "not_found");
}

#[test]
fn virtual_environments_and_ignored_folders_are_not_walked() {
    let noise = "def noise():\n    return 1\n";
    let mut project = TestProject::with(&[
        ("app.py", "def mine():\n    return 1\n"),
        (".venv/pyvenv.cfg", "home = /usr/bin\n"),
        (".venv/lib/python3.12/site-packages/dep.py", noise),
        ("other-env/pyvenv.cfg", "home = /usr/bin\n"),
        ("other-env/lib/python3.12/site-packages/dep.py", noise),
        ("node_modules/tool/setup.py", noise),
        ("__pycache__/app.py", noise),
        ("secret/gen.py", noise),
        (".gitignore", "secret/\n*.tmp.py\n!keep.tmp.py\n"),
        ("a.tmp.py", noise),
        ("keep.tmp.py", "def kept():\n    return 1\n"),
        (".pillionignore", "vendored\n"),
        ("vendored/lib.py", noise),
    ]);
    let all = names(&mut project, json!({"recursive": true}));
    assert_eq!(all, ["mine", "kept"]);
    let found = project.ask("symbols", json!({"query": "noise"}));
    assert_eq!(found["total"], 0, "{found:#}");
    let found = project.ask("grep", json!({"pattern": "noise"}));
    assert_eq!(found["total"], 0, "{found:#}");
}

#[test]
fn a_file_that_is_named_is_meant_also_if_it_is_ignored() {
    let mut project = TestProject::with(&[
        (".gitignore", "gen.py\n"),
        ("gen.py", "def generated():\n    return 1\n"),
    ]);
    assert_eq!(names(&mut project, json!({})), Vec::<String>::new());
    assert_eq!(
        names(&mut project, json!({"path": "gen.py"})),
        ["generated"]
    );
    let found = project.ask("grep", json!({"pattern": "generated", "path": "gen.py"}));
    assert_eq!(found["total"], 1, "{found}");
    let answer = project.ask_at("defs", ("gen.py", 1, 5));
    assert_eq!(
        pillion_testing::project::places(&answer["locations"]),
        ["gen.py:1:5"]
    );
}

#[test]
fn symbols_are_found_by_a_part_of_their_name_best_first() {
    let mut project = TestProject::open("outline");
    let mut find = |params: Value| {
        let answer = project.ask("symbols", params);
        members(&answer["symbols"], "name_path")
    };
    assert_eq!(
        find(json!({"query": "filter"})),
        ["QuerySet/filter", "filter_rows", "QuerySet/afilter"]
    );
    assert_eq!(find(json!({"query": "qset"})), ["QuerySet"]);
    assert_eq!(
        find(json!({"query": "qs/filter"}))[0],
        "QuerySet/filter",
        "a name path"
    );
    assert_eq!(
        find(json!({"query": "filter", "kinds": ["function"]})),
        ["filter_rows"]
    );
    let mut classes = find(json!({"query": "e", "kinds": ["class", "type"]}));
    classes.sort();
    assert_eq!(classes, ["QuerySet", "QuerySet/Meta"]);
    assert_eq!(find(json!({"query": "zzz"})), Vec::<String>::new());
    let one = project.ask("symbols", json!({"query": "filter", "limit": 1}));
    assert_eq!(
        (&one["total"], &one["truncated"]),
        (&json!(3), &json!(true))
    );
    let error = project
        .try_ask("symbols", json!({"query": "x", "kinds": ["wish"]}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
}

#[test]
fn the_source_of_a_symbol_is_read_by_its_name_path() {
    let mut project = TestProject::open("outline");
    let answer = project.ask("read_symbol", json!({"name_path": "QuerySet/count"}));
    assert_eq!(answer["total"], 1);
    let found = &answer["matches"][0];
    assert_eq!(found["file"], "pkg/service.py");
    assert_eq!(
        found["source"],
        "    @property\n    def count(self) -> int:\n        return 0"
    );
    let ends = project.ask("read_symbol", json!({"name_path": "filter"}));
    assert_eq!(members(&ends["matches"], "name_path"), ["QuerySet/filter"]);
    let top = project.try_ask("read_symbol", json!({"name_path": "/filter"}));
    assert_eq!(top.unwrap_err()["code"], "not_found");
    let elsewhere = json!({"name_path": "filter", "path": "pkg/deeper"});
    let error = project.try_ask("read_symbol", elsewhere).unwrap_err();
    assert_eq!(error["code"], "not_found");
    assert!(error["hint"].is_string());
}
