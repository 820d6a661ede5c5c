//! One question through every door: the same answer, and the same error object.

use pillion_client::{Client, Options};
use pillion_testing::daemon::Daemon;
use pillion_testing::web::Web;
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/rpc_client.py");

/// In the order in which they are closed.
struct Doors {
    web: Web,
    daemon: Daemon,
    context: TestContext,
}

impl Doors {
    fn open() -> Self {
        let context = TestContext::new();
        let (daemon, web) = (context.daemon(), context.serve());
        Self {
            context,
            daemon,
            web,
        }
    }

    /// What every door says, by its name; errors as the whole error object.
    fn ask(&self, operation: &str, params: &Value) -> Vec<(&'static str, Value)> {
        let context = &self.context;
        let mut with_root = params.clone();
        with_root["root"] = json!(context.project);
        let mut all = Vec::new();
        // Three crashes in a row open the breaker, and then another child is named.
        let forgive = || self.daemon.connect().call("py.restart", json!({})).unwrap();

        let mut stock = context.command("python3");
        stock
            .arg(CLIENT)
            .arg(context.socket())
            .arg(operation)
            .arg(with_root.to_string());
        let output = CommandOutput::of(stock);
        assert_eq!(output.code, Some(0), "{output}");
        let answer = output.json();
        let error = answer["data"]["code"].is_string();
        all.push((
            "a stock client",
            if error {
                answer["data"].clone()
            } else {
                answer
            },
        ));

        forgive();
        let mut rpc = self.daemon.connect();
        let outcome = rpc.call(operation, with_root.clone());
        all.push((
            "socket",
            outcome.unwrap_or_else(|error| error["data"].clone()),
        ));

        let mut rpc = context.rpc_stdio();
        let outcome = rpc.call(operation, params.clone());
        all.push((
            "rpc --stdio",
            outcome.unwrap_or_else(|error| error["data"].clone()),
        ));

        let mut host = context.stdio();
        let mut answer = host.ask(&json!({
            "id": 1, "command": operation, "project": context.project, "args": params,
        }));
        if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
            error.remove("type");
        }
        assert!(host.finish().success());
        let member = if answer.get("error").is_some() {
            "error"
        } else {
            "result"
        };
        all.push(("stdio", answer[member].clone()));

        all.push(("http", self.web.post(operation, params).json()));

        forgive();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let outcome = runtime.block_on(async {
            let options = Options::new().socket(context.socket()).start(false);
            let client = Client::connect_or_start(&options).await.unwrap();
            client.call_as::<Value>(operation, &with_root).await
        });
        all.push((
            "the Rust client",
            outcome.unwrap_or_else(|error| json!(error)),
        ));

        for (name, flags) in [
            ("cli", &["--json"][..]),
            ("cli, embedded", &["--json", "--no-daemon"]),
        ] {
            forgive();
            let args = cli_arguments(operation, params);
            let args: Vec<&str> = flags
                .iter()
                .copied()
                .chain(args.iter().map(String::as_str))
                .collect();
            all.push((name, context.pillion(&args).json()));
        }
        all
    }
}

/// `py.call {"function": f, "params": p}` as words of the command line.
fn cli_arguments(operation: &str, params: &Value) -> Vec<String> {
    let mut words: Vec<String> = operation.split('.').map(str::to_owned).collect();
    for name in ["function", "module", "params"] {
        match params.get(name) {
            Some(Value::String(text)) => words.push(text.clone()),
            Some(other) => words.push(other.to_string()),
            None => {}
        }
    }
    if let Some(ms) = params.get("timeout_ms") {
        words.extend(["--timeout-ms".to_owned(), ms.to_string()]);
    }
    words
}

/// All the same, but for what each process has of its own.
fn assert_same(answers: &[(&str, Value)], own: &[&str]) -> Value {
    let clean = |value: &Value| {
        let mut value = value.clone();
        for pointer in own {
            if let Some(part) = value.pointer_mut(pointer) {
                *part = Value::Null;
            }
        }
        value
    };
    let (first, expected) = &answers[0];
    for (door, answer) in answers {
        assert_eq!(
            clean(answer),
            clean(expected),
            "{door} and {first} do not agree"
        );
    }
    expected.clone()
}

const OWN: &[&str] = &["/worker/pid", "/worker/generation", "/elapsed_ms"];

#[test]
fn the_same_answer() {
    let doors = Doors::open();
    let value = json!({"text": "é\u{1F980}\n", "list": [1, 2.5, -3, null, true], "big": 12_345_678_901_234_u64});
    let params = json!({"function": "things:echo", "params": {"value": value}});
    let answer = assert_same(&doors.ask("py.call", &params), OWN);
    assert_eq!(answer["result"], value);
    let answer = assert_same(&doors.ask("py.describe", &json!({"module": "things"})), &[]);
    assert_eq!(answer["module"], "things");
}

#[test]
fn the_same_error_object() {
    let doors = Doors::open();
    for (params, code) in [
        (
            json!({"function": "things:raises", "params": ["no"]}),
            "exception",
        ),
        (
            json!({"function": "things:add", "params": {"x": 1}}),
            "invalid_params",
        ),
        (json!({"function": "things:unwritable"}), "invalid_result"),
        (json!({"function": "things:os_exit"}), "crashed"),
        (
            json!({"function": "things:sleep", "params": [60], "timeout_ms": 500}),
            "timeout",
        ),
        (json!({"function": "nosuch:f"}), "not_found"),
    ] {
        let answers = doors.ask("py.call", &params);
        let error = assert_same(&answers, &["/data/generation"]);
        assert_eq!(error["code"], code, "{error}");
        for member in ["kind", "message", "recoverable"] {
            assert!(!error[member].is_null(), "{member} in {error}");
        }
    }
}
