//! The official conformance suite, against the door over pillion's catalogue.
//!
//! Its scenarios call tools that only exist for them; those that an operation can be stand
//! here as operations, and go through the door like every other. What is left is in
//! `expected-failures.yml`: the suite fails when one of those passes, so it only shrinks.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion::{Catalogue, Code, Definition, Engine, EngineOptions, Error, Part, Result, Safety};
use pillion_catalogue::{Context, Operation, Operations, Streams};
use pillion_doors::{DoorState, http, mcp};
use pillion_runtime::Dirs;
use pillion_testing::{CommandOutput, TestContext, set_up};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

/// Say something.
#[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
struct SimpleText {}

impl Operation for SimpleText {
    const NAME: &'static str = "test.simple_text";
    const SAFETY: Safety = Safety::Read;
    type Service = ();
    type Output = String;

    async fn run(self, _: Context<()>) -> Result<String> {
        Ok("This is a simple text response for testing.".into())
    }
}

/// Fail.
#[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
struct ErrorHandling {}

impl Operation for ErrorHandling {
    const NAME: &'static str = "test.error_handling";
    const SAFETY: Safety = Safety::Read;
    type Service = ();
    type Output = bool;

    async fn run(self, _: Context<()>) -> Result<bool> {
        Err(Error::new(Code::Conflict, "this one always fails"))
    }
}

/// Tell how far it has come.
#[derive(Serialize, Deserialize, JsonSchema, clap::Args)]
struct WithProgress {
    /// Tell it.
    #[serde(default)]
    stream: bool,
}

impl Operation for WithProgress {
    const NAME: &'static str = "test.tool_with_progress";
    const SAFETY: Safety = Safety::Read;
    const STREAMS: Streams = Streams::OnRequest;
    type Service = ();
    type Output = bool;

    async fn run(self, cx: Context<()>) -> Result<bool> {
        for value in [1, 50, 100] {
            let news = to_raw_value(&json!({ "value": value, "total": 100 })).unwrap();
            if let Some(parts) = &cx.request().parts {
                let _ = parts.send(Part::Progress(news)).await;
            }
            // The suite's client loses news that come together with the result.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(self.stream)
    }
}

/// pillion's catalogue and the operations above.
fn state(engine: &Engine) -> DoorState {
    let mut catalogue = Catalogue::default();
    let answering = engine.clone();
    let relay = move |definition: Definition, params: Box<RawValue>, request| {
        let engine = answering.clone();
        async move {
            let answer = engine.call_raw(definition.name, Some(&params), request);
            answer.await
        }
    };
    catalogue.relay(pillion::definitions(), &Arc::new(relay));
    let tests = Operations::default()
        .with::<SimpleText>()
        .with::<ErrorHandling>()
        .with::<WithProgress>();
    catalogue.add(tests, &Arc::new(()));
    DoorState {
        catalogue: Arc::new(catalogue),
        ..engine.door_state()
    }
}

#[test]
fn the_official_suite_finds_nothing_new() {
    let context = TestContext::new();
    let dirs = Dirs::under(context.base.join("pillion"));
    let (tell, told) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            let engine = Engine::new(EngineOptions {
                dirs: Some(dirs),
                ..EngineOptions::default()
            });
            let listener = http::listen(0..=0).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            tell.send((port, engine.door_state().shutdown)).unwrap();
            let access = http::Access::everybody();
            let settings = mcp::McpSettings {
                profile: mcp::Profile::Full,
                ..mcp::McpSettings::default()
            };
            let served = http::serve(listener, state(&engine), settings, access);
            served.await.unwrap();
            engine.stop().await;
        });
    });
    let (port, shutdown) = told.recv().unwrap();

    let suite = set_up("dev-node/node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/expected-failures.yml");
    let mut command = context.command(set_up("dev-node/node"));
    command
        .arg(suite)
        .args(["server", "--url", &format!("http://127.0.0.1:{port}/mcp")])
        .arg("--expected-failures")
        .arg(expected);
    let output = CommandOutput::of(command);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stdout.contains("✓ dns-rebinding-protection"),
        "{output}"
    );

    shutdown.cancel();
    serving.join().unwrap();
}
