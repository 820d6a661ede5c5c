//! pillion as the kernels of Jupyter's own programs: their WebSockets, their server, their
//! client library and their console, as they are.

use std::path::Path;
use std::process::Command;

use pillion_testing::web::Web;
use pillion_testing::{CommandOutput, DEADLINE, TestContext, set_up, wait_until};
use serde_json::json;

use super::World;

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

/// A program of Jupyter's.
pub(super) fn jupyter(context: &TestContext, program: &str) -> Command {
    let mut command = context.command(set_up("dev-python/bin/python"));
    command.arg(Path::new(CLIENTS).join(program));
    command
}

pub(super) fn goes_as_told(command: Command) {
    let output = CommandOutput::of(command);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("as told"), "{output}");
}

/// A project whose Python has all that is needed, whoever asks.
pub(super) fn context() -> TestContext {
    let python = set_up("dev-python/bin/python");
    TestContext::new().trusted_config(&format!("[python]\ninterpreter = {python:?}\n"))
}

/// A server, and the token that it wants.
fn serve() -> (TestContext, Web, String) {
    let mut context = context();
    // All that we say ourselves; what libraries trace is every frame.
    context.set_env("PILLION_LOG", "debug");
    let web = context.serve();
    let token = token(&context, &web);
    (context, web, token)
}

pub(super) fn token(context: &TestContext, web: &Web) -> String {
    let name = format!("run/pillion/http-{}.token", web.port);
    let token = std::fs::read_to_string(context.base.join(name)).unwrap();
    token.trim().to_owned()
}

/// One of the stories of `jupyter_websocket.py`.
fn story(name: &str) {
    let (context, web, token) = serve();
    let said = || web.said().matches(&token).count();
    let before = said();
    let mut command = jupyter(&context, "jupyter_websocket.py");
    command.args([&web.port.to_string(), &token, name]);
    goes_as_told(command);
    assert_eq!(said(), before, "the token is in no log");
    drop(web);
    context.wait_until_alone(DEADLINE);
}

#[test]
fn kernels_and_sessions_are_listed_started_and_ended() {
    story("rest");
}

#[test]
fn the_folder_of_a_kernel_goes_with_it_unless_a_cell_left_a_file_there() {
    let mut context = context();
    context.set_env("PILLION_LOG", "debug");
    let sessions = context.base.join("pillion/data/sessions");
    let left = sessions.join("jupyter-left-by-one-that-was-killed");
    let workspace = left.join("user_workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let open = std::fs::File::open(&workspace).unwrap();
    open.set_modified(long_ago).unwrap();
    drop(open);
    let web = context.serve();
    for (code, stays) in [("1 + 1", false), ("open('mine.txt', 'w').close()", true)] {
        let started = web.post("kernel.start", &json!({}));
        let started = started.json();
        let id = started["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{started}"));
        let session = format!("jupyter-{id}");
        let ran = web.post(
            "notebook.run_cell",
            &json!({"code": code, "session": session}),
        );
        assert_eq!(ran.json()["success"], true, "{}", ran.body);
        assert!(sessions.join(&session).is_dir());
        let ended = web.post("kernel.shutdown", &json!({ "kernel_id": id }));
        assert!(ended.status < 300, "{}", ended.body);
        wait_until("the folder to go or to stay", || {
            sessions.join(&session).exists() == stays
        });
        let file = sessions.join(&session).join("user_workspace/mine.txt");
        assert_eq!(file.exists(), stays);
    }
    wait_until("what was left to be gone", || !left.exists());
}

#[test]
fn several_clients_share_a_kernel_in_both_forms() {
    story("cells");
}

#[test]
fn a_cell_is_interrupted_by_rest_and_by_message() {
    story("interrupts");
}

#[test]
fn the_death_of_a_kernel_is_announced_and_it_comes_back() {
    story("deaths");
}

#[test]
fn a_client_that_was_away_gets_what_it_missed() {
    story("returns");
}

#[test]
fn who_reads_slowly_loses_outputs_and_nothing_else() {
    story("slow");
}

#[test]
fn a_websocket_is_for_who_has_the_token_and_for_no_other_page() {
    story("access");
}

#[test]
fn what_is_no_message_ends_its_own_conversation() {
    story("nonsense");
}

#[test]
fn a_kernel_has_only_so_many_clients() {
    story("many");
}

#[test]
fn cells_of_notebook_operations_and_of_jupyter_share_a_kernel() {
    let (context, web, _) = serve();
    let run = |code: &str| {
        let cell = json!({ "code": code, "session": "both" });
        web.post("notebook.run_cell", &cell).json()
    };
    assert_eq!(run("x = 7")["success"], true);
    let listed = web.request("GET", "/api/kernels", &[], "").json();
    assert_eq!(listed[0]["session"], "both", "{listed}");
    let status = web.post("notebook.status", &json!({})).json();
    assert_eq!(status["kernels"][0]["session"], "both");
    let id = listed[0]["id"].as_str().unwrap();
    let named = web.post("kernel.start", &json!({ "session": "both" }));
    assert_eq!(named.json()["id"], id, "a session has one kernel");
    assert_eq!(run("x")["result_repr"], "7");
    let path = format!("/api/kernels/{id}");
    assert_eq!(web.request("DELETE", &path, &[], "").status, 204);
    let status = web.post("notebook.status", &json!({})).json();
    assert_eq!(status["kernels"][0]["state"], "absent", "{status}");
    drop(web);
    context.wait_until_alone(DEADLINE);
}

#[test]
fn a_real_jupyter_server_has_pillion_as_its_gateway() {
    let (context, web, token) = serve();
    let folder = context.base.join("jupyter");
    std::fs::create_dir(&folder).unwrap();
    let mut command = jupyter(&context, "jupyter_server.py");
    command.args([&web.port.to_string(), &token]).arg(&folder);
    goes_as_told(command);
    drop(web);
    context.wait_until_alone(DEADLINE);
}

#[test]
fn jupyter_client_and_console_join_a_kernel_by_its_file() {
    let mut world = World::new();
    world.run("joined = 1");
    let params = world.params(json!({}));
    let file = world
        .rpc
        .call("kernel.connect_file", params.clone())
        .unwrap();
    let path = file["path"].as_str().unwrap().to_owned();
    let again = world.rpc.call("kernel.connect_file", params).unwrap();
    assert_eq!(again["path"], path.as_str());
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().unwrap().permissions().mode() & 0o777
    };
    let folder = Path::new(&path).parent().unwrap();
    assert_eq!((mode(Path::new(&path)), mode(folder)), (0o600, 0o700));
    let mut command = jupyter(&world.context, "jupyter_kernel.py");
    command.args(["join", &path]);
    goes_as_told(command);
    let mut command = jupyter(&world.context, "jupyter_console.py");
    command.arg(&path);
    goes_as_told(command);
    assert_eq!(
        world.run("who, told, joined")["result_repr"],
        "('me', 1, 1)"
    );
    world.ask("shutdown", json!({}));
    wait_until("the file goes with the kernel", || !folder.exists());
}

#[test]
fn a_plain_jupyter_starts_a_sandboxed_kernel() {
    let mut context = context();
    context.set_env("JUPYTER_DATA_DIR", context.base.join("data"));
    let mut daemon = context.daemon();
    let installed = context.pillion(&["kernel", "install", "--name", "sandboxed"]);
    assert_eq!(installed.code, Some(0), "{installed}");
    assert!(
        context
            .base
            .join("data/kernels/sandboxed/kernel.json")
            .exists()
    );
    for mode in ["launch", "orphan"] {
        let mut command = jupyter(&context, "jupyter_kernel.py");
        command
            .args([mode, "sandboxed"])
            .current_dir(&context.project);
        goes_as_told(command);
        wait_until("the kernel ends with its Jupyter", || {
            // One that waits for the next session is nobody's.
            let sidecars = daemon.sidecars();
            let mut kernels = sidecars.iter().filter(|one| one["kind"] == "kernel");
            kernels.all(|kernel| kernel["name"] == "kernel-spare")
        });
    }
    daemon.terminate();
    daemon.wait_for(DEADLINE);
    context.wait_until_alone(DEADLINE);
}
