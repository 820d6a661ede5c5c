//! The engine inside another program.

use std::path::Path;

use pillion::{Code, Door, Engine, EngineOptions, Part, Request};
use pillion_runtime::Dirs;
use pillion_testing::lines::LineProcess;
use pillion_testing::{TWO_SECONDS, TestContext, processes, wait_until};
use serde_json::{Value, json};

/// A host that embeds the engine and can be killed: the example `embed`.
fn host(context: &TestContext, function: &str, params: &Value) -> LineProcess {
    let program = Path::new(env!("CARGO_BIN_EXE_pillion")).with_file_name("examples/embed");
    assert!(
        program.exists(),
        "no `{}`: `cargo test -p pillion` or `cargo build --example embed` builds it",
        program.display()
    );
    let mut command = context.command(program);
    command
        .arg(&context.project)
        .arg(function)
        .arg(params.to_string());
    LineProcess::start(command)
}

fn engine(context: &TestContext) -> Engine {
    Engine::new(EngineOptions {
        dirs: Some(Dirs::under(context.base.join("pillion"))),
        root: Some(context.project.clone()),
        ..EngineOptions::default()
    })
}

fn as_pids(pids: &Value) -> Vec<u32> {
    let pids = pids.as_array().unwrap_or_else(|| panic!("{pids}"));
    pids.iter()
        .map(|pid| u32::try_from(pid.as_u64().unwrap()).unwrap())
        .collect()
}

#[test]
fn a_host_calls_and_its_worker_stays_warm() {
    let context = TestContext::new();
    let mut host = host(&context, "things:count", &json!([]));
    assert_eq!(host.json()["result"], 1);
    let second = host.json();
    assert_eq!(second["result"], 2);
    assert_eq!(second["worker"]["generation"], 1);
    assert!(host.finish().success());
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn nothing_outlives_a_killed_host() {
    let context = TestContext::new();
    let mut host = host(
        &context,
        "things:grandchildren",
        &json!([context.path("pids")]),
    );
    let mut pids = as_pids(&host.json()["result"]);
    let second = host.json();
    pids.extend(as_pids(&second["result"]));
    pids.push(u32::try_from(second["worker"]["pid"].as_u64().unwrap()).unwrap());
    assert!(pids.iter().all(|pid| processes::is_alive(*pid)), "{pids:?}");
    host.child.kill().unwrap();
    host.wait();
    pillion_testing::wait_for(TWO_SECONDS, "all children to be gone", || {
        let left: Vec<_> = pids
            .iter()
            .filter(|pid| processes::is_alive(**pid))
            .collect();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?} live"))
        }
    });
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn nothing_outlives_a_host_that_simply_ends() {
    let context = TestContext::new();
    let mut host = host(
        &context,
        "things:grandchildren",
        &json!([context.path("pids")]),
    );
    let pids = as_pids(&host.json()["result"]);
    host.json();
    assert!(host.finish().success());
    wait_until("the grandchildren to be gone", || {
        !pids.iter().any(|pid| processes::is_alive(*pid))
    });
    context.wait_until_alone(TWO_SECONDS);
}

/// This program has not called `guard::init`: an orderly stop still takes the worker's
/// process group along.
#[tokio::test]
async fn without_a_guard_an_orderly_stop_takes_the_process_group_along() {
    let context = TestContext::new();
    let engine = engine(&context);
    let params = json!({"function": "things:grandchildren", "params": [context.path("pids")]});
    let called = engine.call("py.call", &params).await.unwrap();
    let mut pids = as_pids(&called["result"]);
    pids.push(u32::try_from(called["worker"]["pid"].as_u64().unwrap()).unwrap());
    engine.stop().await;
    wait_until("the worker and its process group to be gone", || {
        !processes::is_alive(pids[0]) && !processes::is_alive(pids[3])
    });
    // Those that moved to a session of their own are what the guard is for.
    processes::kill(pids[1]);
    processes::kill(pids[2]);
}

#[tokio::test]
async fn two_engines_in_one_program_do_not_know_each_other() {
    let context = TestContext::new();
    let (one, two) = (engine(&context), engine(&context));
    let params = json!({"function": "things:pid"});
    let first = one.call("py.call", &params).await.unwrap();
    let second = two.call("py.call", &params).await.unwrap();
    assert_ne!(first["result"], second["result"]);
    one.stop().await;
    let again = two.call("py.call", &params).await.unwrap();
    assert_eq!(again["result"], second["result"]);
    two.stop().await;
    let error = two
        .call("py.call", &json!({"function": 1}))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::InvalidParams);
}

#[tokio::test]
async fn parts_cancel_and_deadline_are_in_the_callers_hands() {
    let context = TestContext::new();
    let engine = engine(&context);
    let raw = |value: Value| serde_json::value::to_raw_value(&value).unwrap();
    let (sender, mut parts) = tokio::sync::mpsc::channel(4);
    let request = Request::new(Door::Embedded).root(Some(context.project.clone()));
    let params = raw(json!({"function": "things:numbers", "params": [100], "stream": true}));
    let call = engine.call_raw("py.call", Some(&params), request.clone().parts(sender));
    let reading = async {
        let mut items = Vec::new();
        while let Some(part) = parts.recv().await {
            if let Part::Item(item) = part {
                items.push(item.get().to_owned());
            }
        }
        items
    };
    let (outcome, items) = tokio::join!(call, reading);
    assert!(outcome.unwrap().get().contains("done"));
    assert_eq!(items.len(), 100);

    let params = raw(json!({"function": "things:sleep", "params": [60]}));
    let cancelled = request.clone();
    let cancel = cancelled.cancel.clone();
    let call = engine.call_raw("py.call", Some(&params), cancelled);
    let cancelling = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(call, cancelling);
    assert_eq!(outcome.unwrap_err().code, Code::Cancelled);

    let mut late = Request::new(Door::Embedded).root(Some(context.project.clone()));
    late.deadline = Some(std::time::Instant::now() + std::time::Duration::from_millis(200));
    let outcome = engine.call_raw("py.call", Some(&params), late).await;
    assert_eq!(outcome.unwrap_err().code, Code::Timeout);
    engine.stop().await;
}

#[tokio::test]
async fn an_engine_without_calls_starts_nothing() {
    let context = TestContext::new();
    let engine = engine(&context);
    assert_eq!(
        engine.call("system.ping", &json!({})).await.unwrap()["pong"],
        true
    );
    let status = engine.call("system.status", &json!({})).await.unwrap();
    assert_eq!(status["workspaces"], json!([]));
    let version = engine.call("system.version", &json!({})).await.unwrap();
    assert_eq!(version["transport"], "embedded");
    let error = engine.call("system.pong", &json!({})).await.unwrap_err();
    assert_eq!(error.code, Code::UnknownOperation);
    assert_eq!(error.hint.as_deref(), Some("did you mean `system.ping`?"));
}
