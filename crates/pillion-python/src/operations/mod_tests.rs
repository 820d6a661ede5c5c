//! The operations as doors ask for them, answered by real workers and a real sidecar.

use std::fs;
use std::path::PathBuf;

use pillion_catalogue::Code;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::world::World;

const SHOP: &str = "\"\"\"Prices.\"\"\"
import time

def price(amount: int, tax: float = 0.5) -> float:
    \"\"\"What it costs.\"\"\"
    return amount * (1 + tax)

def count(up_to: int):
    yield from range(up_to)

def sleep():
    time.sleep(600)

def _hidden():
    pass
";

const SIDECAR: &str = "import json, sys
print(json.dumps({'status': 'ready'}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({'id': request['id'], 'result': request}), flush=True)
";

/// A project with a module.
fn shop(world: &World) -> PathBuf {
    let root = world.folder("shop", "");
    fs::write(root.join("shop.py"), SHOP).unwrap();
    root
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn a_function_is_called_by_places_and_by_names() {
    let world = World::new();
    let root = shop(&world);
    for params in [json!([2, 1]), json!({"amount": 2, "tax": 1})] {
        let asked = json!({"function": "shop:price", "params": params, "root": root});
        let called = world.call("py.call", asked).await.unwrap();
        assert_eq!(called["result"], 4, "{called}");
        assert_eq!(called["worker"]["generation"], 1, "both by the same worker");
        assert!(called["worker"]["pid"].is_u64() && called["elapsed_ms"].is_f64());
    }
    // Digits that no number of ours holds, as they are.
    let root = root.display();
    let (number, function) = ("123456789012345678901234567890", "builtins:str");
    let asked = format!(r#"{{"function": "{function}", "params": [{number}], "root": "{root}"}}"#);
    let asked = RawValue::from_string(asked).unwrap();
    assert_eq!(
        world.call("py.call", asked).await.unwrap()["result"],
        number
    );
}

#[tokio::test]
async fn a_module_where_the_caller_stands_can_be_called_and_from_elsewhere_it_cannot() {
    let world = World::new();
    let root = world.folder("one", "");
    let (here, there) = (root.join("tools"), root.join("other"));
    for folder in [&here, &there] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(here.join("helper_of_test.py"), "def f():\n    return 7\n").unwrap();
    let asked =
        |near: &PathBuf| json!({"function": "helper_of_test:f", "root": root, "near": near});
    assert_eq!(
        world.call("py.call", asked(&here)).await.unwrap()["result"],
        7
    );
    let error = world.call("py.call", asked(&there)).await.unwrap_err();
    assert_eq!(error.code, Code::NotFound, "{error:?}");
    assert!(
        error.hint.unwrap().contains("looked for in"),
        "where it was missing"
    );
    let path = json!({"function": "helper_of_test:f", "root": root, "path": ["tools"]});
    assert_eq!(world.call("py.call", path).await.unwrap()["result"], 7);
}

#[tokio::test]
async fn a_call_ends_with_the_time_of_its_caller_or_of_its_project() {
    let world = World::new();
    let root = shop(&world);
    let asked = json!({"function": "shop:sleep", "root": root, "timeout_ms": 300});
    let error = world.call("py.call", asked).await.unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error:?}");
    let root = world.folder("short", "[python]\ntimeout_s = 0.3\n");
    fs::write(root.join("shop.py"), SHOP).unwrap();
    let asked = json!({"function": "shop:sleep", "root": root});
    let error = world.call("py.call", asked).await.unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error:?}");
}

#[tokio::test]
async fn functions_are_described_exposed_and_invoked_by_the_same_names() {
    let world = World::new();
    let root = shop(&world);
    let asked = json!({"module": "shop", "root": root});
    let module = world.call("py.describe", asked).await.unwrap();
    let functions = module["functions"].as_array().unwrap();
    let names: Vec<&str> = functions.iter().map(|one| text(&one["name"])).collect();
    assert_eq!(
        (names, text(&module["doc"])),
        (vec!["price", "count", "sleep"], "Prices.")
    );
    assert_eq!(
        (&functions[0]["stream"], &functions[1]["stream"]),
        (&json!(false), &json!(true))
    );
    let asked = json!({"modules": ["shop", "no_such_module"], "root": root});
    let listed = world.call("py.expose", asked).await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let exposed: Vec<&str> = tools.iter().map(|one| text(&one["name"])).collect();
    assert_eq!(exposed, ["price", "count", "sleep"]);
    assert_eq!(tools[0]["input_schema"]["required"], json!(["amount"]));
    let failed = &listed["failed"][0];
    assert_eq!(
        (text(&failed["module"]), text(&failed["error"]["code"])),
        ("no_such_module", "not_found")
    );
    assert!(
        text(&failed["error"]["hint"]).contains("looked for in"),
        "{failed}"
    );
    let invoke = |name: &str, params: Value| json!({"name": name, "params": params, "modules": ["shop"], "root": root});
    let invoked = world
        .call("py.invoke", invoke("price", json!({"amount": 2})))
        .await
        .unwrap();
    assert_eq!(
        (&invoked["result"], &invoked["streams"]),
        (&json!(3.0), &json!(false))
    );
    let invoked = world
        .call("py.invoke", invoke("count", json!([3])))
        .await
        .unwrap();
    assert_eq!(
        (&invoked["result"], &invoked["streams"]),
        (&json!([0, 1, 2]), &json!(true))
    );
    for (name, params) in [("_hidden", json!([])), ("nothing", json!([]))] {
        let error = world
            .call("py.invoke", invoke(name, params))
            .await
            .unwrap_err();
        assert_eq!(error.code, Code::NotFound, "{name}: {error:?}");
    }
    let wrong = invoke("price", json!({"amount": "two"}));
    let error = world.call("py.invoke", wrong).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidParams, "{error:?}");
}

#[tokio::test]
async fn parameters_that_nobody_knows_are_refused() {
    let world = World::new();
    for (operation, params) in [
        ("py.call", json!({"function": "m:f", "parms": []})),
        ("py.call", json!({})),
        ("py.describe", json!({"module": "m", "stream": true})),
        ("py.expose", json!({"modules": "m"})),
        ("py.invoke", json!({"name": "f"})),
        ("py.restart", json!({"all": true})),
        ("py.workers", json!({"all": true})),
        ("sidecar.call", json!({"sidecar": "a"})),
    ] {
        let error = world.call(operation, params.clone()).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidParams, "{operation} {params}");
    }
}

#[tokio::test]
async fn a_command_reaches_its_sidecar_with_what_was_said_and_no_less() {
    let world = World::new();
    let config = "[sidecar.echo]\ncommand = ['python3', '-u', 'echo.py']\n";
    let root = world.trusted("one", config);
    fs::write(root.join("echo.py"), SIDECAR).unwrap();
    let asked = json!({"sidecar": "echo", "command": "list", "root": root});
    let called = world.call("sidecar.call", asked).await.unwrap();
    let heard = &called["result"];
    assert_eq!(
        (text(&heard["command"]), &heard["args"]),
        ("list", &json!({}))
    );
    assert_eq!(
        text(&heard["project"]),
        root.to_string_lossy(),
        "the folder unless it is said"
    );
    let asked = json!({"sidecar": "echo", "command": "list", "project": "p", "args": {"x": 1},
        "root": root});
    let called = world.call("sidecar.call", asked).await.unwrap();
    let heard = &called["result"];
    assert_eq!(
        (text(&heard["project"]), &heard["args"]),
        ("p", &json!({"x": 1}))
    );
    assert_eq!(called["worker"]["generation"], 1);
}

#[tokio::test]
async fn a_sidecar_of_a_folder_that_nobody_trusts_is_not_started() {
    let world = World::new();
    let config = "[sidecar.echo]\ncommand = ['touch', 'started']\n";
    let root = world.folder("one", config);
    let asked = |name: &str| json!({"sidecar": name, "command": "list", "root": root});
    let error = world.call("sidecar.call", asked("echo")).await.unwrap_err();
    assert_eq!(error.code, Code::Untrusted, "{error:?}");
    assert!(!root.join("started").exists());
    let error = world
        .call("sidecar.call", asked("other"))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::NotFound, "{error:?}");
}

#[tokio::test]
async fn a_restart_is_for_the_folder_that_is_named_or_for_all() {
    let world = World::new();
    let one = shop(&world);
    let two = world.folder("two", "");
    let call = |root: &PathBuf| json!({"function": "builtins:len", "params": [[]], "root": root});
    for root in [&one, &two] {
        world.call("py.call", call(root)).await.unwrap();
    }
    let restarted = world
        .call("py.restart", json!({"root": one}))
        .await
        .unwrap();
    assert_eq!(restarted["restarted"], 1);
    let generation = |called: Value| called["worker"]["generation"].clone();
    let first = world.call("py.call", call(&one)).await.unwrap();
    let second = world.call("py.call", call(&two)).await.unwrap();
    assert_eq!(
        (generation(first), generation(second)),
        (json!(2), json!(1))
    );
    let restarted = world.call("py.restart", json!({})).await.unwrap();
    assert_eq!(restarted["restarted"], 2);
    let missing = json!({"root": one.join("missing")});
    let error = world.call("py.restart", missing).await.unwrap_err();
    assert_eq!(error.code, Code::NotFound);
}

#[tokio::test]
async fn only_workers_are_listed_among_all_who_run() {
    let world = World::new();
    let config = "[sidecar.echo]\ncommand = ['python3', '-u', 'echo.py']\n";
    let (one, two) = (world.trusted("one", config), world.trusted("two", config));
    for root in [&one, &two] {
        fs::write(root.join("echo.py"), SIDECAR).unwrap();
        let asked = json!({"sidecar": "echo", "command": "list", "root": root});
        world.call("sidecar.call", asked).await.unwrap();
    }
    let asked = json!({"function": "os:getpid", "root": one});
    let called = world.call("py.call", asked).await.unwrap();
    assert_eq!(world.supervisor.workspaces().len(), 2);
    let listed = world.call("py.workers", json!({})).await.unwrap();
    let workspaces = listed["workspaces"].as_array().unwrap();
    assert_eq!(workspaces.len(), 1, "{listed}");
    assert_eq!(text(&workspaces[0]["root"]), one.to_string_lossy());
    let sidecars = workspaces[0]["sidecars"].as_array().unwrap();
    let kinds: Vec<_> = sidecars
        .iter()
        .map(|one| (text(&one["kind"]), &one["pid"]))
        .collect();
    assert_eq!(kinds, [("worker", &called["result"])]);
}
