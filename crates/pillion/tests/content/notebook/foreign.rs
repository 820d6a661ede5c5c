//! Kernels of other languages behind the walls that Python's own has: that of bash from PyPI, as
//! it is, and one that has nothing in common with ipykernel (`adder.py`).

use std::time::Duration;

use pillion_testing::kernels::{install_spec, python_with_kernels};
use pillion_testing::{TestContext, can_be_others, processes, set_up, wait_until};
use serde_json::{Value, json};

use super::{NOBODY, World};

/// A world whose Python has these kernels beside ipykernel, and their kernelspecs.
fn world() -> World {
    world_in(TestContext::new())
}

fn world_in(context: TestContext) -> World {
    let python = python_with_kernels(&context);
    let mut world = World::with(context);
    world.python = python;
    world
}

impl World {
    fn bash(&mut self, code: &str) -> Value {
        self.run_with(json!({ "code": code, "kernel": "bash" }))
    }
}

#[test]
fn cells_of_other_languages_keep_what_they_define_and_tell_their_errors() {
    let mut world = world();
    let ran = world.bash("x=42; echo $GREETING; [ -t 1 ] && echo a terminal");
    assert_eq!(ran["success"], true, "{ran}");
    assert_eq!(ran["stdout"], "hello lane\na terminal\n", "{ran}");
    // A session goes on with its kernel, whether it is named again or not.
    assert_eq!(world.run("echo $x")["stdout"], "42\n");
    let failed = world.run("ls /nowhere");
    assert_eq!(failed["outcome"], "error", "{failed}");
    assert!(failed["stdout"].as_str().unwrap().contains("/nowhere"));
    assert_eq!(world.run("echo $x")["stdout"], "42\n");

    let adder = |code: &str| json!({ "code": code, "kernel": "adder", "session": "s" });
    let ran = world.run_with(adder("40"));
    assert_eq!(ran["result_repr"], "40", "{ran}");
    let failed = world.run_with(adder("two"));
    assert_eq!(failed["error"]["ename"], "ValueError", "{failed}");
    assert_eq!(world.run_with(adder("2"))["result_repr"], "42");
    let id = world.start(adder("wait"));
    world.until(id, "stream");
    let mut other = world.daemon.connect();
    other
        .call("notebook.interrupt", json!({"session": "s"}))
        .unwrap();
    let ran = world.rpc.outcome(id).unwrap();
    assert_eq!(ran["error"]["ename"], "KeyboardInterrupt", "{ran}");
    assert_eq!(world.run_with(adder("1"))["result_repr"], "43");

    let status = world.ask("status", json!({}));
    let kinds: Vec<_> = status["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["kernel"].clone(), one["language"].clone()))
        .collect();
    let kind = |name: &str, language: &str| (json!(name), json!(language));
    assert_eq!(kinds, [kind("bash", "bash"), kind("adder", "adder")]);
    for operation in ["variables", "reset"] {
        let error = world
            .rpc
            .call(&format!("notebook.{operation}"), json!({}))
            .unwrap_err();
        assert_eq!(error["data"]["code"], "unsupported", "{error}");
    }
    let found = world.ask("complete", json!({"code": "echo $GREET"}));
    assert!(found.to_string().contains("GREETING"), "{found}");
}

#[test]
fn a_session_whose_kernel_runs_has_no_other() {
    let mut world = world();
    world.bash("x=1");
    let asked = |world: &mut World, kernel: &str| {
        let params = world.params(json!({"code": "1 + 1", "kernel": kernel}));
        world.rpc.call("notebook.run_cell", params)
    };
    let error = asked(&mut world, "python3").unwrap_err();
    assert_eq!(error["data"]["code"], "conflict", "{error}");
    let error = asked(&mut world, "unheard-of").unwrap_err();
    assert_eq!(error["data"]["code"], "not_found", "{error}");
    let hint = error["data"]["hint"].as_str().unwrap();
    assert!(
        hint.contains("`bash`") && hint.contains("`adder`"),
        "{hint}"
    );
    world.ask("shutdown", json!({}));
    assert_eq!(asked(&mut world, "python3").unwrap()["result_repr"], "2");
    // Another name for the same kernel.
    assert_eq!(asked(&mut world, "Own-Python").unwrap()["result_repr"], "2");
    let error = asked(&mut world, "bash").unwrap_err();
    assert_eq!(error["data"]["code"], "conflict", "{error}");
}

#[test]
fn a_shell_is_interrupted_by_signal_and_by_message_and_goes_on() {
    let mut world = world();
    for kernel in ["bash", "bash-by-message"] {
        let cell = |code: &str| json!({ "code": code, "kernel": kernel, "session": kernel });
        world.run_with(cell("x=1"));
        // The program that tells that it is on is the one that waits. Bash itself loses an
        // interrupt that comes while it starts a program, also by `exec`, and bash_kernel its
        // place with it.
        let id = world.start(cell("echo on > on; cat on -"));
        world.until(id, "stream");
        let mut other = world.daemon.connect();
        let touched = other.call("notebook.interrupt", json!({ "session": kernel }));
        assert_eq!(touched.unwrap()["done"], true);
        let ran = world.rpc.outcome(id).unwrap();
        assert_eq!(ran["success"], false, "{ran}");
        assert_eq!(world.run_with(cell("echo $x"))["stdout"], "1\n");
        let mut slow = cell("sleep 600");
        slow["timeout_seconds"] = json!(2);
        let ran = world.run_with(slow);
        assert_eq!(ran["outcome"], "timeout", "{ran}");
        assert_eq!(world.run_with(cell("echo $x"))["stdout"], "1\n");
    }
}

#[test]
fn a_foreign_kernel_is_restarted_and_its_death_is_told_at_once() {
    let mut world = world();
    world.bash("x=1");
    let first = world.kernel();
    let params = world.params(json!({}));
    world.ask("restart", params);
    assert!(!processes::is_alive(first));
    let again = world.run("echo \"[$x]\"");
    assert_eq!(again["stdout"], "[]\n", "{again}");
    assert!(again.get("notice").is_none(), "it was asked for: {again}");
    // The shell's parent is the kernel.
    let died = world.run("kill -9 $PPID; sleep 600");
    assert_eq!(died["outcome"], "killed", "{died}");
    assert!(
        died["notice"].as_str().unwrap().contains("SIGKILL"),
        "{died}"
    );
    let after = world.run("echo new");
    assert_eq!(after["stdout"], "new\n", "{after}");
    assert!(after["notice"].is_string(), "the loss is said: {after}");
    let id = world.start(json!({"code": "echo on; sleep 600"}));
    world.until(id, "stream");
    processes::kill(world.kernel());
    let died = world.rpc.outcome(id).unwrap();
    assert_eq!(died["outcome"], "killed", "{died}");
    assert_eq!(world.run("echo new")["stdout"], "new\n");
}

#[test]
fn a_kernel_that_ends_before_it_listens_says_why() {
    let mut world = world();
    let params = world.params(json!({"code": "", "kernel": "ends"}));
    let error = world.rpc.call("notebook.run_cell", params).unwrap_err();
    assert_eq!(error["data"]["code"], "start_failed", "{error}");
    let text = error.to_string();
    assert!(text.contains("exited with code 7"), "{error}");
    assert!(
        text.contains("share/jupyter/kernels/ends is all I say"),
        "{error}"
    );
}

#[test]
fn a_shell_sees_its_folder_and_reaches_nobody() {
    sees_its_folder_and_reaches_nobody(world());
}

#[test]
fn a_shell_of_an_ordinary_user_sees_its_folder_and_reaches_nobody() {
    if can_be_others("a shell of an ordinary user") {
        let context = TestContext::new().for_user(Some(NOBODY));
        sees_its_folder_and_reaches_nobody(world_in(context));
    }
}

fn sees_its_folder_and_reaches_nobody(mut world: World) {
    let secret = world.context.write("secret.txt", "TOP");
    let home = world.context.base.join("pillion");
    let ran = world.bash(&format!(
        "pwd; echo x > made.txt\n\
         cat {secret:?} 2> /dev/null; ls {home:?} /root /home 2> /dev/null\n\
         env | grep PILLION\n\
         (exec 3<> /dev/tcp/1.1.1.1/80) 2> /dev/null && echo ESCAPED by tcp\n\
         (exec 3<> /dev/udp/1.1.1.1/53) 2> /dev/null && echo ESCAPED by udp\n\
         python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2> /dev/null && echo ESCAPED\n\
         mount -t tmpfs none /tmp 2> /dev/null && echo ESCAPED by mount\n\
         ls /dev/pts; echo done"
    ));
    assert_eq!(ran["stdout"], "/lane/work\n0  ptmx\ndone\n", "{ran}");
    let made = world
        .context
        .base
        .join("pillion/data/sessions/default/user_workspace/made.txt");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "x\n");
}

#[test]
fn a_shell_over_its_memory_is_killed_and_the_reason_is_said() {
    let context = TestContext::new().config("[lanes.user]\nmemory_mb = 256\n");
    let mut world = world_in(context);
    let ran = world.bash(
        "for i in 1 2 3 4 5 6; do head -c 100000000 /dev/zero | tail -c 100000000 | sleep 600 & \
         done; wait",
    );
    assert_eq!(ran["outcome"], "memory", "{ran}");
    assert!(ran["notice"].as_str().unwrap().contains("memory"), "{ran}");
    assert_eq!(world.run("echo new")["stdout"], "new\n");
}

#[test]
fn nothing_of_a_shell_outlives_a_daemon_that_is_killed() {
    let mut world = world();
    world.bash("setsid sleep 600 & disown; echo on");
    let pid = world.kernel();
    world.daemon.kill();
    wait_until("the kernel to be gone", || !processes::is_alive(pid));
    world.context.wait_until_alone(Duration::from_secs(30));
    std::mem::forget(world);
}

#[test]
fn a_notebook_is_run_on_the_kernel_that_it_names() {
    let mut world = world();
    let notebook = |name: &str, metadata: Value| {
        let cell = json!({"cell_type": "code", "id": "a", "metadata": {}, "source": "echo $((6*7))",
            "execution_count": null, "outputs": []});
        let notebook = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata,
            "cells": [cell]});
        world.context.write(name, &notebook.to_string())
    };
    let bash = json!({"kernelspec": {"name": "bash", "language": "bash", "display_name": "Bash"}});
    let named = notebook("named.ipynb", bash);
    let lost = json!({"kernelspec": {"name": "fish", "language": "fish", "display_name": "F"}});
    let lost = notebook("lost.ipynb", lost);
    let run = |world: &mut World, more: Value| {
        let params = world.params(more);
        world.rpc.call("notebook.run", params)
    };
    let report = run(&mut world, json!({ "path": named })).unwrap();
    assert_eq!(report["success"], true, "{report}");
    let text = std::fs::read_to_string(&named).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        written["cells"][0]["outputs"][0]["text"],
        json!(["42\n"]),
        "{written}"
    );
    let error = run(&mut world, json!({ "path": lost })).unwrap_err();
    assert_eq!(error["data"]["code"], "unsupported", "{error}");
    assert!(
        error["data"]["hint"].as_str().unwrap().contains("--kernel"),
        "{error}"
    );
    let report = run(&mut world, json!({ "path": lost, "kernel": "bash" })).unwrap();
    assert_eq!(report["success"], true, "{report}");
    let given = json!({ "path": named, "parameters": {"x": 1} });
    let error = run(&mut world, given).unwrap_err();
    assert_eq!(error["data"]["code"], "unsupported", "{error}");
}

#[test]
fn clients_of_jupyter_start_kernels_by_their_names() {
    let mut world = world();
    let params = world.params(json!({ "name": "bash" }));
    let kernel = world.rpc.call("kernel.start", params).unwrap();
    assert_eq!(
        (&kernel["name"], &kernel["execution_state"]),
        (&json!("bash"), &json!("idle"))
    );
    let session = kernel["session"].as_str().unwrap().to_owned();
    let ran = world.run_with(json!({"code": "echo $GREETING", "session": session}));
    assert_eq!(ran["stdout"], "hello lane\n", "{ran}");
    let id = json!({ "kernel_id": kernel["id"] });
    let again = world.rpc.call("kernel.restart", id.clone()).unwrap();
    assert_eq!(again["name"], "bash", "{again}");
    let params = world.params(json!({"path": "a.ipynb", "kernel": {"name": "adder"}}));
    let opened = world.rpc.call("kernel.open_session", params).unwrap();
    assert_eq!(opened["kernel"]["name"], "adder", "{opened}");
    let params = world.params(json!({ "name": "unheard-of" }));
    let error = world.rpc.call("kernel.start", params).unwrap_err();
    assert_eq!(error["data"]["code"], "not_found", "{error}");
    world.rpc.call("kernel.shutdown", id).unwrap();
}

#[test]
fn kernelspecs_are_listed_with_those_that_cannot_be_used() {
    let mut context = TestContext::new();
    let data = context.base.join("jupyter");
    install_spec(
        &data,
        "Mine",
        &json!({"argv": ["x"], "display_name": "Mine", "language": "x"}),
    );
    let broken = install_spec(&data, "broken", &json!({"argv": "x"}));
    context.set_env("JUPYTER_PATH", &data);
    let listed = context.pillion_json(&["kernel", "specs", "--json"]);
    assert_eq!(listed["default"], "python3", "{listed}");
    assert_eq!(
        listed["kernelspecs"]["mine"]["spec"]["display_name"],
        "Mine"
    );
    assert_eq!(
        listed["kernelspecs"]["mine"]["resource_dir"],
        json!(data.join("kernels/Mine"))
    );
    assert!(listed["kernelspecs"]["python3"].is_object(), "{listed}");
    assert_eq!(listed["unreadable"][0]["name"], "broken", "{listed}");
    assert_eq!(
        listed["unreadable"][0]["path"],
        json!(broken.join("kernel.json"))
    );
    let shown = context.pillion(&["kernel", "specs"]).stdout;
    assert!(
        shown.contains("mine  Mine") && shown.contains("not usable: "),
        "{shown}"
    );
}

#[test]
fn the_kernelspec_of_a_folder_that_nobody_trusts_shows_nothing_beside_it() {
    let mut context = TestContext::new();
    let outside = context.base.join("outside.sh");
    std::fs::write(&outside, "#!/bin/sh\n").unwrap();
    let inside = context.write("inside.sh", "#!/bin/sh\necho as far as here >&2; exit 3\n");
    let data = context.project.join("jupyter");
    for (name, program) in [("outside", &outside), ("inside", &inside)] {
        // What is named behind the program is not shown either.
        let spec = json!({"argv": ["/bin/sh", program, outside], "language": "x"});
        install_spec(&data, name, &spec);
        let spec = json!({"argv": [program], "language": "x"});
        install_spec(&data, &format!("{name}-itself"), &spec);
    }
    context.set_env("JUPYTER_PATH", &data);
    let python = set_up("dev-python/bin/python");
    let run = |kernel: &str| {
        let python = python.to_str().unwrap();
        let args = [
            "notebook", "run-cell", "--python", python, "--kernel", kernel, "x",
        ];
        context.pillion(&args).stderr
    };
    let refused = run("outside-itself");
    assert!(refused.contains("do not trust"), "{refused}");
    let unseen = run("outside");
    assert!(
        !unseen.contains("do not trust") && unseen.contains("code 2 before"),
        "{unseen}"
    );
    let seen = run("inside");
    assert!(seen.contains("as far as here"), "{seen}");
}

#[test]
fn a_shell_is_typed_to() {
    use std::io::{Seek, Write};
    let world = world();
    let python = world.python.to_str().unwrap();
    let args = ["repl", "--python", python, "--kernel", "bash"];
    let mut command = world.context.pillion_command(&args);
    let mut input = tempfile::tempfile().unwrap();
    input
        .write_all(b"for i in 1 2\ndo\n  echo number $i\ndone\n")
        .unwrap();
    input.rewind().unwrap();
    command.stdin(input);
    let output = pillion_testing::CommandOutput::of(command);
    assert_eq!(output.stdout, "number 1\nnumber 2\n", "{output}");
}

#[test]
fn without_walls_that_hold_it_a_foreign_kernel_is_not_started() {
    let mut weak = TestContext::new();
    weak.set_env("PILLION_LANES_LEVEL", "L2");
    let open = TestContext::new().trusted_config("[lanes.user]\nnetwork = true\n");
    for (context, word) in [(weak, "namespaces"), (open, "network")] {
        let mut world = world_in(context);
        let params = world.params(json!({"code": "echo x", "kernel": "bash"}));
        let error = world.rpc.call("notebook.run_cell", params).unwrap_err();
        assert_eq!(error["data"]["code"], "start_failed", "{error}");
        assert!(
            error["data"]["message"].as_str().unwrap().contains(word),
            "{error}"
        );
        assert!(error["data"]["hint"].is_string(), "{error}");
    }
}

#[test]
fn too_much_output_of_a_shell_ends_its_cell_and_nothing_else() {
    let mut world = world();
    world.bash("x=1");
    let ran = world.bash("yes $(printf 'x%.0s' {1..10000})");
    assert_eq!(ran["outcome"], "output_limit", "{}", ran["outcome"]);
    assert_eq!(ran["truncated"], true);
    assert_eq!(world.run("echo $x")["stdout"], "1\n");
}

/// Joins a kernel by its connection file, with the client library of Jupyter.
const JOIN: &str = r#"
import sys
from jupyter_client import BlockingKernelClient

client = BlockingKernelClient(connection_file=sys.argv[1])
client.load_connection_file()
client.start_channels()
client.wait_for_ready(timeout=60)
said = []
hear = lambda message: said.append(message["content"].get("text"))
reply = client.execute_interactive("echo $x; x=joined", timeout=60, output_hook=hear)
assert reply["content"]["status"] == "ok", reply
assert "1\n" in said and client.is_alive(), said
print("as told")
"#;

#[test]
fn the_client_library_of_jupyter_joins_a_shell() {
    let mut world = world();
    world.bash("x=1");
    let params = world.params(json!({}));
    let file = world.rpc.call("kernel.connect_file", params).unwrap();
    let mut command = world.context.command(set_up("dev-python/bin/python"));
    command.args(["-c", JOIN, file["path"].as_str().unwrap()]);
    let output = pillion_testing::CommandOutput::of(command);
    assert_eq!(output.stdout, "as told\n", "{output}");
    assert_eq!(world.run("echo $x")["stdout"], "joined\n");
}
