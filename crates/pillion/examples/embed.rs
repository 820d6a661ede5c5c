//! pillion inside another program: `embed ROOT FUNCTION [PARAMS]`.
//!
//! Calls the function twice, in a warm worker, prints both answers as JSON lines, and stays
//! until its input ends. Nothing it started outlives it, however it ends.

use std::io::Read;

use pillion::{Engine, EngineOptions};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // First of all: this process may be a guard or a box, which does nothing else.
    pillion::init();
    let mut args = std::env::args().skip(1);
    let root = args.next().ok_or("name a folder")?;
    let function = args.next().ok_or("name a function, such as `math:hypot`")?;
    let params: Value = serde_json::from_str(&args.next().unwrap_or_else(|| "[]".into()))?;

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let engine = Engine::new(EngineOptions {
            root: Some(root.into()),
            ..EngineOptions::default()
        });
        let call = json!({ "function": function, "params": params });
        for _ in 0..2 {
            let line = match engine.call("py.call", &call).await {
                Ok(answer) => answer,
                Err(error) => json!({ "error": error }),
            };
            say(&line.to_string());
        }
        let wait = || std::io::stdin().read_to_end(&mut Vec::new());
        #[expect(clippy::disallowed_methods, reason = "no request is at work here")]
        let _ = tokio::task::spawn_blocking(wait).await;
        engine.stop().await;
    });
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example talks to a person")]
fn say(line: &str) {
    println!("{line}");
}
