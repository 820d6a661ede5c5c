//! Call a Python function from Rust: `cargo run -p pillion-client --example quickstart`.
//!
//! Prints `5.0`. The daemon is started if none runs; `PILLION_BIN` names its program if
//! it is not on `PATH`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use pillion_client::{Client, Error, Options};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    match hypot(3.0, 4.0).await {
        Ok(length) => println!("{length}"),
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = &error.hint {
                eprintln!("hint: {hint}");
            }
            return std::process::ExitCode::FAILURE;
        }
    }
    std::process::ExitCode::SUCCESS
}

async fn hypot(x: f64, y: f64) -> Result<Value, Error> {
    let client = Client::connect_or_start(&Options::new()).await?;
    let params = json!({"function": "math:hypot", "params": [x, y]});
    let answer: Value = client.call_as("py.call", params).await?;
    Ok(answer["result"].clone())
}
