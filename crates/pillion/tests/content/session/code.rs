//! Code of learners: runs, jobs and cells, as routes of a session.

use pillion_testing::set_up;
use serde_json::{Value, json};

use super::client::{detail, good, refused};
use super::world::{CHAPTER, World, eventually};

#[test]
fn code_runs_and_says_how_it_ended() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let run = |code: &str| client.run(&session, json!({ "code": code }));
    let fine = run("import sys\nprint('out')\nprint('err', file=sys.stderr)");
    assert_eq!(
        (&fine["success"], &fine["returncode"]),
        (&json!(true), &json!(0)),
        "{fine}"
    );
    assert_eq!(
        (&fine["stdout"], &fine["stderr"]),
        (&json!("out\n"), &json!("err\n"))
    );
    assert_eq!(
        (&fine["cancelled"], &fine["outcome"]),
        (&json!(false), &json!("ok"))
    );
    assert_eq!(fine["truncated"], false, "{fine}");
    assert!(fine["execution_time_ms"].is_number(), "{fine}");
    assert!(!fine["limits"].is_null(), "{fine}");
    let failed = run("1/0");
    assert_eq!(
        (&failed["success"], &failed["outcome"]),
        (&json!(false), &json!("error"))
    );
    assert_eq!(failed["returncode"], 1, "{failed}");
    assert!(
        failed["stderr"]
            .as_str()
            .unwrap()
            .contains("ZeroDivisionError")
    );
    assert_eq!(run("raise SystemExit(7)")["returncode"], 7);
    let slow = json!({ "code": "while True: pass", "timeout_seconds": 1 });
    let slow = client.run(&session, slow);
    assert_eq!(
        (&slow["returncode"], &slow["outcome"]),
        (&json!(-1), &json!("timeout")),
        "{slow}"
    );
    let greedy = json!({ "code": "x = bytearray(900 << 20)", "memory_limit_mb": 128 });
    let greedy = client.run(&session, greedy);
    assert_eq!(greedy["success"], false, "{greedy}");
    assert!(
        ["memory", "error"].contains(&greedy["outcome"].as_str().unwrap()),
        "{greedy}"
    );
    let killed = run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)");
    assert_eq!(
        (&killed["success"], &killed["outcome"]),
        (&json!(false), &json!("killed"))
    );
    assert!(killed["returncode"].as_i64().unwrap() <= -100, "{killed}");
    let much = run("while True: print('x' * 10000)");
    assert_eq!(
        (&much["returncode"], &much["outcome"]),
        (&json!(-5), &json!("output_limit")),
        "{}",
        much["outcome"]
    );
    assert_eq!(much["truncated"], true);
}

#[test]
fn the_last_ten_runs_are_kept() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    for number in 1..=12 {
        client.run(
            &session,
            json!({ "code": format!("print('run {number}')") }),
        );
    }
    let history = world.folder(&session).join("code_history");
    let kept = eventually("the last run", || {
        let entries = history.read_dir().ok()?.flatten();
        let mut kept: Vec<_> = entries.map(|entry| entry.path()).collect();
        kept.sort();
        let last = std::fs::read_to_string(kept.last()?).ok()?;
        last.contains("run 12").then_some(kept)
    });
    assert_eq!(kept.len(), 10, "{kept:?}");
    for (number, path) in (3..).zip(&kept) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let ms = name.strip_prefix("run_").unwrap();
        let ms = ms.strip_suffix(".json").unwrap();
        assert!(ms.parse::<u64>().is_ok(), "{name}");
        let run: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(run["stdout"], format!("run {number}\n"), "{run}");
    }
}

#[test]
fn what_is_asked_of_a_run_is_checked() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let path = format!("/api/session/{session}/code/run");
    for (body, place) in [
        (json!({}), "code"),
        (json!({ "code": "" }), "code"),
        (json!({ "code": 1 }), "code"),
        (json!({ "code": "#".repeat(20_001) }), "code"),
        (
            json!({ "code": "1", "timeout_seconds": 0 }),
            "timeout_seconds",
        ),
        (
            json!({ "code": "1", "timeout_seconds": 121 }),
            "timeout_seconds",
        ),
        (
            json!({ "code": "1", "memory_limit_mb": 63 }),
            "memory_limit_mb",
        ),
        (
            json!({ "code": "1", "memory_limit_mb": 16385 }),
            "memory_limit_mb",
        ),
    ] {
        let reply = client.post(&path, body);
        assert_eq!(refused(&reply), [json!(["body", place])], "{reply:?}");
    }
    let most = json!({ "code": "#".repeat(20_000), "timeout_seconds": 120,
        "memory_limit_mb": null, "colour": "green" });
    assert_eq!(client.run(&session, most)["outcome"], "ok");
}

#[test]
fn jobs_run_beside_everything_else() {
    let world = World::new();
    let client = world.serve();
    let (session, other) = (client.create(CHAPTER), client.create(CHAPTER));
    let jobs = format!("/api/session/{session}/code/jobs");
    let start = |code: &str| {
        let reply = client.post(&jobs, json!({ "code": code }));
        assert!([200, 201, 202].contains(&reply.status), "{reply:?}");
        let job = reply.json();
        assert_eq!(job["session_id"], session, "{job}");
        for member in ["status", "created_at", "started_at", "ended_at"] {
            assert!(job.get(member).is_some(), "{member}: {job}");
        }
        job["job_id"].as_str().unwrap().to_owned()
    };
    let wait = |id: &str, status: &str| -> Value {
        eventually(status, || {
            let job = good(&client.get(&format!("{jobs}/{id}")));
            (job["status"] == status).then_some(job)
        })
    };
    let done = wait(&start("print('from a job')"), "succeeded");
    assert_eq!(done["result"]["stdout"], "from a job\n", "{done}");
    assert!(
        done["started_at"].is_string() && done["ended_at"].is_string(),
        "{done}"
    );
    wait(&start("1/0"), "failed");
    let endless = start("print('begun', flush=True)\nwhile True: pass");
    wait(&endless, "running");
    detail(
        &client.get(&format!("/api/session/{other}/code/jobs/{endless}")),
        404,
    );
    let theirs = format!("/api/session/{other}/code/jobs/{endless}/cancel");
    detail(&client.post(&theirs, json!({})), 404);
    good(&client.post(&format!("{jobs}/{endless}/cancel"), json!({})));
    let cancelled = wait(&endless, "cancelled");
    let result = &cancelled["result"];
    assert_eq!(
        (
            &result["returncode"],
            &result["outcome"],
            &result["cancelled"]
        ),
        (&json!(-2), &json!("cancelled"), &json!(true)),
        "{cancelled}"
    );
    detail(&client.get(&format!("{jobs}/none")), 404);
    // What a job printed is streamed, also to who comes later.
    let streamed = client.get(&format!("{jobs}/{endless}/stream"));
    assert_eq!(streamed.status, 200);
    assert!(
        streamed
            .header("content-type")
            .unwrap()
            .starts_with("text/event-stream")
    );
    assert!(streamed.body.contains("begun"), "{streamed:?}");
    for line in streamed.body.lines().filter(|line| !line.is_empty()) {
        assert!(
            line.starts_with("data: {") || line.starts_with(':'),
            "{line}"
        );
    }
}

#[test]
fn a_job_is_lost_with_the_server() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let jobs = format!("/api/session/{session}/code/jobs");
    let endless = json!({ "code": "while True: pass" });
    let id = client.post(&jobs, endless).json()["job_id"]
        .as_str()
        .unwrap()
        .to_owned();
    eventually("the job to run", || {
        let job = good(&client.get(&format!("{jobs}/{id}")));
        (job["status"] == "running").then_some(())
    });
    client.kill();
    world.context.wait_until_alone(pillion_testing::DEADLINE);
    let client = world.serve();
    let job = good(&client.get(&format!("{jobs}/{id}")));
    assert_eq!(job["status"], "lost", "{job}");
}

#[test]
fn cells_run_on_the_sessions_kernel() {
    let mut world = World::new();
    let python = set_up("dev-python/bin/python");
    world.context.set_env("PILLION_PYTHON", python);
    let client = world.serve();
    let session = client.create(CHAPTER);
    let path = |rest: &str| format!("/api/session/{session}/notebook{rest}");
    let cell = |code: &str| good(&client.post(&path("/cell/run"), json!({ "code": code })));
    let first = cell("x = 40\nprint('out')\nx + 2");
    assert_eq!(
        (&first["success"], &first["result_repr"]),
        (&json!(true), &json!("42")),
        "{first}"
    );
    assert_eq!(
        (&first["stdout"], &first["stderr"]),
        (&json!("out\n"), &json!(""))
    );
    assert_eq!(first["execution_count"], 1);
    assert!(
        first["outputs"].is_array() && first["execution_time_ms"].is_number(),
        "{first}"
    );
    assert_eq!(cell("x")["result_repr"], "40", "it remembers");
    let failed = cell("1/0");
    assert_eq!(failed["success"], false, "{failed}");
    let kernel = good(&client.get(&path("")))["kernels"][0].clone();
    assert_eq!(
        (&kernel["session"], &kernel["state"]),
        (&json!(session), &json!("idle"))
    );
    good(&client.post(&path("/reset"), json!({})));
    assert_eq!(cell("x")["success"], false, "it has forgotten");
    good(&client.post(&path("/shutdown"), json!({})));
    // Of a session that nobody made there is no kernel.
    let nobodys = client.post(
        "/api/session/nobodys/notebook/cell/run",
        json!({ "code": "1" }),
    );
    detail(&nobodys, 404);
}

#[test]
fn a_cell_is_followed_asked_interrupted_and_its_kernel_restarted() {
    let mut world = World::new();
    let python = set_up("dev-python/bin/python");
    world.context.set_env("PILLION_PYTHON", python);
    let client = world.serve();
    let session = client.create(CHAPTER);
    let path = |rest: &str| format!("/api/session/{session}/notebook{rest}");
    let cell = |code: &str| good(&client.post(&path("/cell/run"), json!({ "code": code })));
    let follow = |code: &str| {
        let body = json!({ "code": code, "cell_id": "c1", "timeout_seconds": 120 });
        let stream = client.stream("POST", &path("/cell/stream"), &body.to_string());
        stream.unwrap_or_else(|reply| panic!("{reply:?}"))
    };
    // What it prints comes as it prints, and what it asks is answered over another request.
    let mut asking = follow("print('before', flush=True)\nname = input('who? ')\nf'hi {name}'");
    asking.until_printed("before\n");
    let question = asking.until_any("input_request");
    assert_eq!(question["prompt"], "who? ", "{question}");
    good(&client.post(&path("/input"), json!({ "value": "Ada" })));
    let reply = asking.until_any("complete");
    assert_eq!(
        (&reply["success"], &reply["result_repr"], &reply["cell_id"]),
        (&json!(true), &json!("'hi Ada'"), &json!("c1")),
        "{reply}"
    );
    assert!(asking.next_of_any().is_none(), "nothing after it");
    // One that never ends is interrupted, and the kernel stays.
    let mut endless = follow("print('begun', flush=True)\nwhile True: pass");
    endless.until_any("stream");
    let kernel = good(&client.get(&path("")))["kernels"][0].clone();
    assert_eq!(kernel["state"], "busy", "{kernel}");
    good(&client.post(&path("/interrupt"), json!({})));
    let reply = endless.until_any("complete");
    assert_eq!(reply["success"], false, "{reply}");
    assert_eq!(reply["error"]["ename"], "KeyboardInterrupt", "{reply}");
    assert_eq!(cell("name")["result_repr"], "'Ada'", "it remembers");
    let restarted = good(&client.post(&path("/restart"), json!({})));
    assert_eq!(restarted["state"], "idle", "{restarted}");
    let forgotten = cell("name");
    assert_eq!(forgotten["error"]["ename"], "NameError", "{forgotten}");
    assert_eq!(forgotten["execution_count"], 1, "a new kernel");
    // Nothing waits for an answer.
    let nobody = client.post(&path("/input"), json!({ "value": "x" }));
    assert!((400..500).contains(&nobody.status), "{nobody:?}");
}

#[test]
fn a_notebook_of_the_workspace_is_run_and_gets_its_outputs() {
    let mut world = World::new();
    let python = set_up("dev-python/bin/python");
    world.context.set_env("PILLION_PYTHON", python);
    let client = world.serve();
    let session = client.create(CHAPTER);
    let path = |rest: &str| format!("/api/session/{session}{rest}");
    let notebook = json!({
        "nbformat": 4, "nbformat_minor": 5, "metadata": {},
        "cells": [
            { "cell_type": "code", "id": "a", "metadata": {}, "execution_count": null,
                "outputs": [], "source": "import os\nx = 6 * 7" },
            { "cell_type": "code", "id": "b", "metadata": {}, "execution_count": null,
                "outputs": [], "source": "x" },
        ],
    });
    let body = json!({ "content": notebook.to_string() });
    let written = client.put(&path("/workspace/files/lesson.ipynb"), body);
    assert!([200, 201].contains(&written.status), "{written:?}");
    let run = |body: Value| client.post(&path("/notebook/run"), body);
    let report = good(&run(json!({ "path": "lesson.ipynb" })));
    assert_eq!(
        (&report["success"], &report["ran"], &report["written"]),
        (&json!(true), &json!(2), &json!(true)),
        "{report}"
    );
    let read = good(&client.get(&path("/workspace/files/lesson.ipynb")));
    let outputs: Value = serde_json::from_str(read["content"].as_str().unwrap()).unwrap();
    let result = &outputs["cells"][1]["outputs"][0]["data"]["text/plain"];
    assert!(result.to_string().contains("42"), "{outputs}");
    // It ran on the session's kernel.
    let cell = client.post(&path("/notebook/cell/run"), json!({ "code": "x + 1" }));
    assert_eq!(good(&cell)["result_repr"], "43");
    // Neither what is not there nor what lies elsewhere is a notebook of it.
    detail(&run(json!({ "path": "missing.ipynb" })), 404);
    for elsewhere in ["../session_state.json", "../../a.ipynb", "sub/a.ipynb", "."] {
        let reply = run(json!({ "path": elsewhere }));
        assert!((400..500).contains(&reply.status), "{elsewhere}: {reply:?}");
    }
    // Code of the learner can make links; what they lead to is not touched.
    let secret = world.context.base.join("secret.ipynb");
    std::fs::write(&secret, notebook.to_string()).unwrap();
    let link = world.folder(&session).join("user_workspace/link.ipynb");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    detail(&run(json!({ "path": "link.ipynb" })), 404);
    let aside = json!({ "path": "lesson.ipynb", "output": "link.ipynb" });
    assert_eq!(good(&run(aside))["success"], true);
    assert!(
        link.symlink_metadata().unwrap().is_file(),
        "it was replaced"
    );
    assert_eq!(
        std::fs::read_to_string(&secret).unwrap(),
        notebook.to_string()
    );
}
