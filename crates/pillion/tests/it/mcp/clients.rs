//! The official libraries, on both transports. What they check is in `tests/clients/`.

use std::path::Path;

use pillion_testing::{CommandOutput, TestContext, set_up};

use super::with_tools;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

/// Drive pillion with the Python library.
fn python(context: &TestContext, mode: &str, transport: &str, server: &str) -> String {
    let mut command = context.command(set_up("dev-python/bin/python"));
    command
        .arg(Path::new(SCRIPTS).join("mcp_client.py"))
        .args([mode, transport, server])
        .arg(&context.project);
    let output = CommandOutput::of(command);
    assert_eq!(output.code, Some(0), "{output}");
    output.stdout.trim().to_owned()
}

/// Drive pillion with the TypeScript library.
fn typescript(context: &TestContext, transport: &str, server: &str) {
    let mut command = context.command(set_up("dev-node/node"));
    command
        .arg(Path::new(SCRIPTS).join("mcp_client.mjs"))
        .arg(set_up("dev-node"))
        .args([transport, server])
        .arg(&context.project);
    let output = CommandOutput::of(command);
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), "ok"),
        "{output}"
    );
}

fn context() -> TestContext {
    let mut context = with_tools();
    context.set_env("PYTHONDONTWRITEBYTECODE", "1");
    // The tools as programs want them: all of them, each with the schema of its answers.
    context.set_env("PILLION_TOOL_PROFILE", "full");
    context
}

#[test]
fn python_on_stdio() {
    let context = context();
    let pillion = env!("CARGO_BIN_EXE_pillion");
    assert_eq!(python(&context, "legacy", "stdio", pillion), "2025-11-25");
    assert_eq!(python(&context, "auto", "stdio", pillion), "2026-07-28");
}

#[test]
fn python_on_http() {
    let context = context();
    let web = context.serve();
    let url = format!("http://127.0.0.1:{}/mcp", web.port);
    assert_eq!(python(&context, "legacy", "http", &url), "2025-11-25");
    assert_eq!(python(&context, "auto", "http", &url), "2026-07-28");
}

#[test]
fn typescript_on_both() {
    let context = context();
    typescript(&context, "stdio", env!("CARGO_BIN_EXE_pillion"));
    let web = context.serve();
    typescript(
        &context,
        "http",
        &format!("http://127.0.0.1:{}/mcp", web.port),
    );
}
