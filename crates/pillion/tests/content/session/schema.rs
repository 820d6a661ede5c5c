//! schemathesis, which makes requests from the OpenAPI document, finds no answer that the document
//! does not describe.

use std::process::Stdio;

use pillion_testing::{CommandOutput, set_up};

use super::world::{CHAPTER, World};

/// Requests for each operation and phase: more of them find little more, and take long.
const EXAMPLES: &str = "6";
/// What no server errors and no undocumented answers are called there.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance";
/// What the contract is about. Operations by their own names are tested by other means: their
/// answers depend on code that a caller brings along.
const PATHS: &str = "^/(api/(session|sessions|courses|chapters|contract)|health)";
/// Kernels have tests of their own and take a second each, as have streams; and the session that
/// is asked about must not be deleted meanwhile.
const EXCLUDED: &str = "/notebook|/stream|^/api/session/.session_id.$";

#[test]
fn answers_are_as_the_openapi_document_says() {
    let world = World::new();
    let client = world.serve();
    // There is something to ask about.
    let session = client.create(CHAPTER);
    client.turn(&session, "hello");
    // Names that are made up are not found, and the shapes of good answers would go unseen.
    let names = format!(
        "[parameters]\n\"path.session_id\" = \"{session}\"\n\"path.name\" = \"starter.py\"\n"
    );
    let config = world.context.write("schemathesis.toml", &names);
    let url = format!("http://127.0.0.1:{}", client.web.port);
    let mut command = world.context.command(set_up("dev-python/bin/schemathesis"));
    command
        .arg("--config-file")
        .arg(&config)
        .args(["run", &format!("{url}/openapi.json"), "--no-color"])
        .args(["--include-path-regex", PATHS])
        .args(["--exclude-path-regex", EXCLUDED])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES])
        .args(["--phases", "examples,coverage,fuzzing", "--seed", "13"])
        .args([
            "--generation-database",
            "none",
            "--request-timeout",
            "30",
            "--no-shrink",
        ])
        .args(["--suppress-health-check", "all"])
        .stdin(Stdio::null());
    let output = CommandOutput::of(command);
    assert_eq!(output.code, Some(0), "{output}");
    // It has seen more than sessions that there are not.
    assert!(!output.stdout.contains("Missing test data"), "{output}");
    assert!(output.stdout.contains("Fuzzing"), "{output}");
    assert_eq!(client.get("/health").json()["status"], "healthy");
}
