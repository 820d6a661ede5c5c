//! Kernels that hang, die, are interrupted, restarted, and forgotten.

use std::time::Duration;

use pillion_testing::{TestContext, processes, wait_until};
use serde_json::json;

use super::World;

#[test]
fn a_loop_is_interrupted_and_the_kernel_goes_on() {
    let mut world = World::new();
    world.run("kept = 1");
    for code in ["while True: pass", "import time\ntime.sleep(600)"] {
        let id = world.start(json!({ "code": format!("print('on', flush=True)\n{code}") }));
        // Not earlier: a signal that comes before the code runs is nobody's.
        world.until(id, "stream");
        let mut other = world.daemon.connect();
        let status = other.call("notebook.status", json!({})).unwrap();
        assert_eq!(status["kernels"][0]["state"], "busy", "{status}");
        let touched = other.call("notebook.interrupt", json!({})).unwrap();
        assert_eq!(touched["done"], true, "{touched}");
        let ran = world.rpc.outcome(id).unwrap();
        assert_eq!(ran["error"]["ename"], "KeyboardInterrupt", "{ran}");
    }
    assert_eq!(world.run("kept")["result_repr"], "1");
}

#[test]
fn a_cell_that_takes_too_long_is_interrupted_and_one_that_does_not_listen_is_killed() {
    let mut world = World::new();
    world.run("kept = 1");
    let slow = world.run_with(json!({"code": "while True: pass", "timeout_seconds": 0.5}));
    assert_eq!(slow["outcome"], "timeout", "{slow}");
    assert_eq!(
        world.run("kept")["result_repr"],
        "1",
        "it was only interrupted"
    );
    let deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nwhile True: pass";
    let killed = world.run_with(json!({"code": deaf, "timeout_seconds": 0.5}));
    assert_eq!(killed["outcome"], "timeout", "{killed}");
    assert!(
        killed["notice"].as_str().unwrap().contains("killed"),
        "{killed}"
    );
    let after = world.run("kept");
    assert_eq!(after["error"]["ename"], "NameError", "{after}");
}

#[test]
fn a_caller_who_cancels_interrupts_his_cell() {
    let mut world = World::new();
    world.run("kept = 1");
    let id = world.start(json!({"code": "import time\ntime.sleep(600)"}));
    world.until(id, "started");
    world.rpc.cancel(id);
    let error = world.rpc.outcome(id).unwrap_err();
    assert_eq!(error["data"]["code"], "cancelled", "{error}");
    assert_eq!(world.run("kept")["result_repr"], "1");
}

#[test]
fn a_death_is_told_at_once_and_the_next_cell_has_a_new_kernel_that_says_so() {
    let mut world = World::new();
    for (code, words) in [
        ("import os\nos._exit(3)", "exited with code 3"),
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    ] {
        world.run("kept = 1");
        let died = world.run(code);
        assert_eq!(died["outcome"], "killed", "{died}");
        assert!(died["notice"].as_str().unwrap().contains(words), "{died}");
        let after = world.run("'kept' in globals()");
        assert_eq!(after["result_repr"], "False", "{after}");
    }
    let id = world.start(json!({"code": "import time\ntime.sleep(600)"}));
    world.until(id, "started");
    processes::kill(world.kernel());
    let died = world.rpc.outcome(id).unwrap();
    assert_eq!(died["outcome"], "killed", "{died}");
    assert_eq!(world.run("1 + 1")["result_repr"], "2");
}

#[test]
fn a_kernel_is_restarted_reset_and_shut_down() {
    let mut world = World::new();
    world.run("kept = 1");
    let first = world.kernel();
    let params = world.params(json!({}));
    let touched = world.ask("reset", json!({}));
    assert_eq!(touched["done"], true);
    assert_eq!(world.run("kept")["error"]["ename"], "NameError");
    assert_eq!(world.kernel(), first, "a reset keeps the process");
    world.run("kept = 1");
    let touched = world.ask("restart", params);
    assert_eq!(
        (&touched["done"], &touched["state"]),
        (&json!(true), &json!("idle"))
    );
    assert!(!processes::is_alive(first));
    let again = world.run("'kept' in globals()");
    assert_eq!(again["result_repr"], "False");
    assert!(again.get("notice").is_none(), "it was asked for: {again}");
    let pid = world.kernel();
    let touched = world.ask("shutdown", json!({}));
    assert_eq!(
        (&touched["done"], &touched["state"]),
        (&json!(true), &json!("absent"))
    );
    assert!(!processes::is_alive(pid));
    let none = world.rpc.call("notebook.complete", json!({"code": "a"}));
    assert_eq!(none.unwrap_err()["data"]["code"], "not_found");
    assert_eq!(world.run("2")["execution_count"], 1);
}

#[test]
fn too_much_output_ends_its_cell_and_nothing_else() {
    let context = TestContext::new().trusted_config("[lanes.user]\nmemory_mb = 2048\n");
    let mut world = World::with(context);
    world.run("kept = 1");
    for code in [
        "while True: print('x' * 100_000)",
        "from IPython.display import display\nwhile True: display({'text/plain': 'y' * 100_000}, raw=True)",
    ] {
        let ran = world.run_with(json!({"code": code, "timeout_seconds": 60}));
        assert_eq!(ran["outcome"], "output_limit", "{}", ran["outcome"]);
        assert_eq!(ran["truncated"], true, "{code}");
        assert!(ran.to_string().len() < 64 << 20);
    }
    let status = world.rpc.call("system.status", json!({})).unwrap();
    let used = status["memory_bytes"].as_u64().unwrap();
    assert!(used < 400 << 20, "the daemon kept it: {used} bytes");
    let after = world.run("kept");
    assert_eq!(after["result_repr"], "1", "{after}");
    assert!(after.get("notice").is_none(), "{after}");
}

#[test]
fn a_cell_that_cleans_up_after_its_interrupt_is_not_interrupted_again() {
    let mut world = World::new();
    world.run("kept = 1");
    let code = "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    \
                time.sleep(2)\n    print('cleaned')";
    let ran = world.run_with(json!({"code": code, "timeout_seconds": 0.5}));
    assert_eq!(ran["stdout"], "cleaned\n", "{ran}");
    assert_eq!(world.run("kept")["result_repr"], "1");
}

#[test]
fn what_comes_after_an_error_is_run_and_what_waited_behind_it_is_not() {
    let mut world = World::new();
    // A kernel turns away what waits behind an error, and goes on with that for a moment after
    // the cell that failed has ended: usually a very short one.
    let slow = "kernel = get_ipython().kernel\nstop = kernel._post_dummy_stop_aborting_message\n\
                loop = kernel.shell_channel_thread.io_loop\n\
                kernel._post_dummy_stop_aborting_message = \
                lambda subshell: loop.call_later(0.3, stop, subshell)";
    assert_eq!(world.run(slow)["success"], true);
    let failed = world.run("1 / 0");
    assert_eq!(failed["outcome"], "error", "{failed}");
    let after = world.run("2 + 2");
    assert_eq!(after["result_repr"], "4", "{after}");
    assert_eq!(after["execution_count"], 3, "it ran once: {after}");

    let first = world.start(json!({"code": "input('go on? ')\n1 / 0"}));
    world.until(first, "input_request");
    let second = world.start(json!({"code": "ran = True"}));
    // What the kernel is asked afterwards, beside its cell, shows that the second has come to it.
    let mut other = world.daemon.connect();
    other.call("notebook.variables", json!({})).unwrap();
    world.ask("input", json!({"value": "yes"}));
    assert_eq!(world.rpc.outcome(first).unwrap()["outcome"], "error");
    assert_eq!(world.rpc.outcome(second).unwrap()["outcome"], "cancelled");
    assert_eq!(world.run("'ran' in globals()")["result_repr"], "False");
}

#[test]
fn a_cell_that_is_cancelled_before_its_turn_ends_nobody_elses() {
    let mut world = World::new();
    // It ends when we answer it.
    let first = world.start(json!({"code": "import time\ninput('go on? ')"}));
    world.until(first, "input_request");
    // It waits behind the first, and is interrupted when its turn comes.
    let params = world.params(json!({"code": "time.sleep(600)"}));
    let mut other = world.daemon.connect();
    let second = other.send("notebook.run_cell", params);
    // What the kernel is asked afterwards, beside its cell, shows that the second has come to it.
    other.call("notebook.variables", json!({})).unwrap();
    other.cancel(second);
    assert!(other.outcome(second).is_err());
    world.ask("input", json!({"value": "mine"}));
    let ran = world.rpc.outcome(first).unwrap();
    assert_eq!(ran["result_repr"], "'mine'", "{ran}");
    let after = world.run("'time' in globals()");
    assert_eq!(after["result_repr"], "True", "{after}");
}

#[test]
fn a_kernel_over_its_memory_is_killed_and_the_reason_is_said() {
    let context = TestContext::new().config("[lanes.user]\nmemory_mb = 256\n");
    let mut world = World::with(context);
    world.run("kept = 1");
    // Alone it is refused what it asks for; with children it takes more than all may have.
    let alone = world.run("x = bytearray(10)\nwhile True: x += bytes(10_000_000)");
    assert_eq!(alone["error"]["ename"], "MemoryError", "{alone}");
    // What it got is given back, or its children would be refused theirs.
    let many = "del x\nimport os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        \
                kept = b'x' * 100_000_000\n        time.sleep(600)\ntime.sleep(600)";
    let ran = world.run(many);
    assert_eq!(ran["outcome"], "memory", "{ran}");
    assert!(ran["notice"].as_str().unwrap().contains("memory"), "{ran}");
    assert_eq!(world.run("1")["success"], true);
}

#[test]
fn an_unused_kernel_ends_and_the_daemon_with_it() {
    let context = TestContext::new().config("[notebook]\nidle_minutes = 0.02\n");
    let mut world = World::with(context);
    world.run("kept = 1");
    let pid = world.kernel();
    let id = world.start(json!({"code": "import time\ntime.sleep(3)\n5"}));
    let ran = world.rpc.outcome(id).unwrap();
    assert_eq!(ran["result_repr"], "5", "who is at work is not idle: {ran}");
    wait_until("the idle kernel to end", || !processes::is_alive(pid));
    let after = world.run("'kept' in globals()");
    assert_eq!(after["result_repr"], "False");
    assert!(after["notice"].is_string(), "the loss is said: {after}");
}

#[test]
fn nothing_outlives_a_daemon_that_is_killed() {
    let mut world = World::new();
    world.run("import os\nif os.fork() == 0:\n    import time\n    time.sleep(600)");
    let pid = world.kernel();
    world.daemon.kill();
    wait_until("the kernel to be gone", || !processes::is_alive(pid));
    world.context.wait_until_alone(Duration::from_secs(30));
    std::mem::forget(world);
}
