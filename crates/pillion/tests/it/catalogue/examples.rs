//! Requests for every operation, made from the names of its parameters.

use pillion::Definition;
use pillion_testing::TestContext;
use serde_json::{Map, Value, json};

/// A package in which every operation finds something to do.
const SHOP: &[(&str, &str)] = &[
    (
        "shop/__init__.py",
        "import sys\nimport os\nfrom .cart import Cart\n",
    ),
    (
        "shop/cart.py",
        "import sys\nimport os\nfrom .money import add\n\n\nclass Cart:\n    def __init__(self):\n        self.items = []\n\n    def total(self, rate=1, more=0):\n        base = add(self.items)\n        return base * rate + more\n\n    def forgotten(self):\n        return old_total(self)\n\n\ndef old_total(cart):\n    return cart\n",
    ),
    (
        "shop/money.py",
        "import sys\nimport os\n\nRATE = 2\n\n\ndef add(items):\n    return sum(items) * RATE\n\n\ndef unused():\n    return 1\n",
    ),
    (
        "shop/main.py",
        "import sys\nimport os\nfrom shop import Cart\n\n\nclass Large(Cart):\n    pass\n\n\ndef start():\n    return Large().total()\n",
    ),
    (
        "shop/other.py",
        "import sys\nimport os\n\n\ndef other():\n    return os.sep\n",
    ),
    (
        "tests/test_cart.py",
        "import sys\nimport os\nfrom shop import Cart\n\n\ndef test_total():\n    assert Cart().total() == 0\n",
    ),
    (
        "web/app.ts",
        "import { b } from './b';\nexport function a() { return b(); }\n",
    ),
    ("web/b.ts", "export function b() { return 1; }\n"),
    (
        "notes.ipynb",
        r#"{"cells": [{"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#,
    ),
    (
        "endless.ipynb",
        r#"{"cells": [{"cell_type": "code", "source": "while True: pass", "metadata": {}, "outputs": [], "execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#,
    ),
];

/// Write the package that the examples are about.
pub(super) fn write_shop(context: &TestContext) {
    for (name, text) in SHOP {
        context.write(name, text);
    }
}

/// A request that the operation must be able to answer about the package.
pub(super) fn example(definition: &Definition, context: &TestContext) -> Value {
    let mut params = Map::new();
    for name in properties(definition).keys() {
        if let Some(value) = value(definition.name, name, context) {
            params.insert(name.clone(), value);
        }
    }
    let schema = definition.params_schema().to_value();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for name in required.iter().filter_map(Value::as_str) {
        assert!(
            params.contains_key(name),
            "`{}` needs `{name}`: give an example of it in `{}`",
            definition.name,
            file!(),
        );
    }
    Value::Object(params)
}

/// The same request with each of its flags set and each of its choices made.
pub(super) fn variations(definition: &Definition, context: &TestContext) -> Vec<Value> {
    let plain = example(definition, context);
    let schema = definition.params_schema().to_value();
    let mut all = Vec::new();
    for (name, property) in properties(definition) {
        // What applies a change is no preview any more.
        let values = match name.as_str() {
            "apply" => Vec::new(),
            _ => choices(&property, &schema),
        };
        for value in values {
            let mut one = plain.clone();
            one[&name] = value;
            all.push(one);
        }
    }
    // Where nothing is named, other tools are asked what is meant.
    for name in ["path", "target"] {
        if plain.get(name).is_some() {
            let mut one = plain.clone();
            one.as_object_mut().unwrap().remove(name);
            all.push(one);
        }
    }
    all
}

/// The same request with odd values, one at a time: nothing, far too much, another place.
pub(super) fn oddities(definition: &Definition, context: &TestContext) -> Vec<Value> {
    /// What all operations understand in the same way, by the same code.
    const SHARED: &[&str] = &["near", "python", "virtual_env", "conda_prefix", "apply"];
    let plain = example(definition, context);
    let schema = definition.params_schema().to_value();
    let mut all = Vec::new();
    for (name, property) in properties(definition) {
        if SHARED.contains(&name.as_str()) && definition.name != "code.defs" {
            continue;
        }
        let kinds = property["type"].to_string();
        let values = match &property {
            _ if kinds.contains("integer") => vec![json!(0), json!(u32::MAX), json!(-1)],
            _ if kinds.contains("string") => vec![
                json!(""),
                json!("../../.."),
                json!("/nosuch\u{1b}[31m"),
                json!("a\u{0}b"),
                json!("(".repeat(100_000)),
            ],
            _ if kinds.contains("array") => {
                vec![json!([]), json!([null]), json!(vec!["x"; 10_000])]
            }
            property if choices(property, &schema).is_empty() => vec![json!({}), json!(null)],
            _ => vec![json!("nosuch")],
        };
        for value in values {
            // That would be the whole machine, which is nobody's test.
            if ["root", "project"].contains(&name.as_str()) && value == "../../.." {
                continue;
            }
            let mut one = plain.clone();
            one[&name] = value;
            all.push(one);
        }
    }
    all
}

/// A request that would never be answered by itself, or not soon; `None` if there is none
/// but that the project is large.
pub(super) fn endless(definition: &Definition, context: &TestContext) -> Option<Value> {
    let own = match definition.name {
        "py.call" => json!({"function": "things:sleep", "params": [600]}),
        "py.invoke" => json!({"name": "sleep", "params": {"seconds": 600}}),
        "py.describe" => json!({"module": "slow"}),
        "py.expose" => json!({"modules": ["slow"]}),
        "sidecar.call" => json!({"command": "late", "args": {"seconds": 600}}),
        "exec.run" => json!({"code": "while True: pass"}),
        "exec.stream" => json!({}),
        "notebook.run_cell" | "notebook.stream" => json!({"code": "while True: pass"}),
        "notebook.run" => json!({"path": "endless.ipynb"}),
        "system.subscribe" => json!({"max": null}),
        _ => return None,
    };
    let mut params = example(definition, context);
    params.as_object_mut()?.extend(own.as_object()?.clone());
    Some(params)
}

/// Whether it changes files only if it is asked to.
pub(super) fn previews(definition: &Definition) -> bool {
    properties(definition).contains_key("apply")
}

fn properties(definition: &Definition) -> Map<String, Value> {
    let schema = definition.params_schema().to_value();
    schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default()
}

/// The values of a flag or of a choice.
fn choices(property: &Value, schema: &Value) -> Vec<Value> {
    let property = match property["$ref"].as_str() {
        Some(name) => schema.pointer(&name[1..]).unwrap_or(property),
        None => property,
    };
    if property["type"] == "boolean" {
        return vec![json!(true), json!(false)];
    }
    let branches = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|of| property[of].as_array());
    let below = branches
        .flatten()
        .flat_map(|branch| choices(branch, schema));
    let named = property["enum"].as_array().into_iter().flatten().cloned();
    let constant = property.get("const").cloned();
    named.chain(constant).chain(below).collect()
}

/// What a parameter is given; `None` is left to its default.
fn value(operation: &str, name: &str, context: &TestContext) -> Option<Value> {
    let (area, _) = operation.split_once('.')?;
    let at = |line: u32, column: u32| match name {
        "line" => Some(json!(line)),
        "column" => Some(json!(column)),
        _ => None,
    };
    // Where a name means something else than elsewhere.
    let own = match (operation, name) {
        ("code.inline", _) => at(11, 9),
        ("code.type_hierarchy" | "code.implementations", _) => at(6, 7),
        ("code.move", _) => at(18, 5),
        ("code.extract_method" | "code.extract_var", "start_line" | "end_line") => Some(json!(11)),
        ("code.extract_var", "start_column") => Some(json!(16)),
        ("code.extract_var", "end_column") => Some(json!(31)),
        ("code.change_signature", "order") => Some(json!(["more", "rate"])),
        ("code.safe_delete", "at") => Some(json!("unused")),
        ("code.replace_body", "source") => {
            Some(json!("def total(self, rate=1, more=0):\n    return 2\n"))
        }
        (
            "code.read_symbol" | "code.replace_body" | "code.insert_before" | "code.insert_after",
            "at",
        ) => Some(json!("Cart/total")),
        ("code.codemod", "rule") => Some(json!(
            "id: sep\nlanguage: python\nrule: {pattern: os.sep}\nfix: os.altsep\n"
        )),
        // They are named instead.
        (
            "code.replace_body" | "code.insert_before" | "code.insert_after" | "code.safe_delete",
            "file" | "line" | "column",
        ) => return None,
        ("map.extract", "file") => Some(json!("shop/cart.py")),
        ("map.graph", "target") => None,
        ("py.invoke", "name") => Some(json!("echo")),
        ("py.invoke", "params") => Some(json!({"value": 1})),
        ("py.call", "params") => Some(json!([1])),
        ("sidecar.call", "command") => Some(json!("echo")),
        ("sidecar.call", _) if name != "sidecar" && name != "root" => return None,
        ("system.subscribe", "max") => Some(json!(0)),
        ("system.operations", "query") => Some(json!("code.rename")),
        ("exec.start" | "exec.run", "code") => Some(json!("print(1)")),
        ("notebook.input", "value") => Some(json!("yes")),
        ("notebook.inspect", "source") => Some(json!(false)),
        // It has a list of them.
        ("notebook.new", "code") => return None,
        ("kernel.spec", "name") => Some(json!("python3")),
        _ => None,
    };
    own.or_else(|| match (area, name) {
        ("notebook", "code") => Some(json!("1")),
        ("notebook", "path" | "old" | "new") => Some(json!("notes.ipynb")),
        ("notebook", "cell" | "to") => Some(json!(0)),
        ("notebook", "revision") => match operation {
            "notebook.run" => None,
            _ => Some(json!("0")),
        },
        ("exec", "file" | "module" | "function") => None,
        (_, "root") => Some(json!(context.project)),
        (_, "project") if area == "map" => Some(json!(context.project)),
        (_, "file") => Some(json!("shop/cart.py")),
        (_, "line") => Some(json!(10)),
        (_, "column") => Some(json!(9)),
        (_, "path") if area == "code" || area == "map" => Some(json!(".")),
        (_, "source") => Some(json!("def fresh():\n    return 2\n")),
        (_, "new_name" | "method_name" | "var_name") => Some(json!("renamed")),
        (_, "dest_file") => Some(json!("shop/other.py")),
        (_, "pattern" | "query") => Some(json!("total")),
        (_, "target") => Some(json!("Cart.total")),
        (_, "function") => Some(json!("things:echo")),
        (_, "module") => Some(json!("things")),
        (_, "modules") => Some(json!(["things"])),
        (_, "sidecar") => Some(json!("old")),
        (_, "job_id") => Some(json!("job")),
        ("session", "session_id") => Some(json!("none")),
        ("session", "chapter_id") => Some(json!("nosuch")),
        ("session", "message") => Some(json!("hello")),
        ("session", "name") => Some(json!("notes.md")),
        ("session", "content") => Some(json!("text")),
        ("session", "files") => Some(json!([])),
        ("session", "path") => Some(json!("session.tar")),
        ("registry", "folder") => Some(json!(".")),
        ("course", "path") => Some(json!(".")),
        ("course", "title") => Some(json!("A course")),
        ("kernel", "kernel_id" | "session_id") => Some(json!("none")),
        ("kernel", "connection_file") => Some(json!("/nosuch/connection.json")),
        _ => None,
    })
}
