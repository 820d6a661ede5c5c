//! Jobs: started, followed, cancelled, lost; and what is written down about runs.

use std::fs;
use std::path::Path;

use pillion_testing::daemon::Daemon;
use pillion_testing::rpc::Rpc;
use pillion_testing::{DEADLINE, TWO_SECONDS, TestContext, wait_for, wait_until};
use serde_json::{Value, json};

/// Runs until somebody ends it.
const ENDLESS: &str = "import time\nprint('begun', flush=True)\ntime.sleep(600)";

fn start(rpc: &mut Rpc, project: &Path, code: &str, more: Value) -> String {
    let mut params = json!({"code": code, "root": project, "timeout_seconds": 600});
    let all = params.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    let job = rpc.call("exec.start", params).unwrap();
    assert!(job["created_at"].as_str().unwrap().ends_with('Z'), "{job}");
    assert!(["queued", "running"].contains(&job["status"].as_str().unwrap()));
    job["job_id"].as_str().unwrap().to_owned()
}

fn job(rpc: &mut Rpc, id: &str) -> Value {
    rpc.call("exec.job", json!({"job_id": id})).unwrap()
}

/// Wait until a job stands so.
fn wait(rpc: &mut Rpc, id: &str, status: &str) -> Value {
    wait_for(DEADLINE, status, || {
        let job = job(rpc, id);
        match job["status"] == status {
            true => Ok(job),
            false => Err(job.to_string()),
        }
    })
}

fn cancel(rpc: &mut Rpc, id: &str) -> Value {
    rpc.call("exec.cancel", json!({"job_id": id})).unwrap()
}

/// What the items of a stream say, put together.
fn printed(items: &[Value], stream: &str) -> String {
    let texts = items.iter().filter(|item| item["stream"] == stream);
    texts.map(|item| item["text"].as_str().unwrap()).collect()
}

fn items(rpc: &Rpc, id: u64) -> Vec<Value> {
    rpc.parts(id)
        .iter()
        .map(|part| part["item"].clone())
        .collect()
}

#[test]
fn a_job_is_started_looked_at_and_has_its_result() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let good = start(
        &mut rpc,
        &context.project,
        "print('hi')",
        json!({"session": "s"}),
    );
    let done = wait(&mut rpc, &good, "succeeded");
    assert_eq!(done["session_id"], "s");
    assert_eq!(done["label"], "print('hi')");
    let result = &done["result"];
    assert_eq!(result["stdout"], "hi\n", "{done}");
    assert_eq!(
        (&result["success"], &result["outcome"]),
        (&json!(true), &json!("ok"))
    );
    let times = ["created_at", "started_at", "ended_at"].map(|time| done[time].as_str().unwrap());
    assert!(times.is_sorted(), "{times:?}");
    let cases = [
        ("raise SystemExit(3)", json!({}), "error"),
        (
            "while True: pass",
            json!({"timeout_seconds": 0.5}),
            "timeout",
        ),
        (
            "1",
            json!({"root": "/", "python": "/no/such/python"}),
            "start_failed",
        ),
    ];
    for (code, more, outcome) in cases {
        let id = start(&mut rpc, &context.project, code, more);
        let done = wait(&mut rpc, &id, "failed");
        assert_eq!(done["result"]["outcome"], outcome, "{done}");
    }
    let all = rpc.call("exec.jobs", json!({"limit": 2})).unwrap();
    assert_eq!(
        (all["total"].as_u64(), all["jobs"].as_array().unwrap().len()),
        (Some(4), 2)
    );
    assert!(all["jobs"][0].get("result").is_none());
    let mine = rpc.call("exec.jobs", json!({"session": "s"})).unwrap();
    assert_eq!(mine["jobs"][0]["job_id"], good.as_str());
    let failed = json!({"status": ["failed", "lost"]});
    assert_eq!(rpc.call("exec.jobs", failed).unwrap()["total"], 3);
}

#[test]
fn a_job_is_followed_from_its_beginning_by_several() {
    let context = TestContext::new();
    let web = context.serve();
    let code = "import sys, time, os\nprint('one', flush=True)\n\
        while not os.path.exists('go'): time.sleep(0.01)\n\
        print('two'); print('err', file=sys.stderr)";
    let params = json!({"code": code, "session": "s", "timeout_seconds": 60});
    let id = web.post("exec.start", &params).json()["job_id"].clone();
    let follow = json!({"job_id": id});
    let mut listeners = [0, 1].map(|_| web.stream("exec.stream", &follow));
    for listener in &mut listeners {
        let first = listener.next().unwrap();
        assert_eq!(
            first["item"],
            json!({"stream": "stdout", "text": "one\n"}),
            "{first}"
        );
    }
    let go = json!({"code": "open('go', 'w')", "session": "s"});
    assert_eq!(web.post("exec.run", &go).json()["outcome"], "ok");
    for listener in listeners {
        let events = listener.collect::<Vec<_>>();
        let items: Vec<Value> = events.iter().map(|event| event["item"].clone()).collect();
        assert_eq!(printed(&items, "stdout"), "two\n", "{events:?}");
        assert_eq!(printed(&items, "stderr"), "err\n", "{events:?}");
        let end = &events.last().unwrap()["result"];
        assert_eq!(end["status"], "succeeded", "{events:?}");
        assert_eq!(end["result"]["stdout"], "one\ntwo\n");
    }
    // The same to who comes later.
    let events = web.stream("exec.stream", &follow).collect::<Vec<_>>();
    assert_eq!(events[0]["item"]["text"], "one\ntwo\n");
    assert_eq!(events.last().unwrap()["result"]["status"], "succeeded");
    assert_eq!(web.post("exec.job", &follow).json()["status"], "succeeded");
    let none = web.post("exec.stream", &json!({"job_id": "none"}));
    assert!(none.body.contains("not_found"), "{none:?}");
}

#[test]
fn a_slow_listener_stops_nobody_and_is_told_what_it_missed() {
    let context = TestContext::new().trusted_config("[lanes.user]\noutput_kb = 65536\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    // More than there is room for on the way to somebody who does not read: 16 MiB, and what
    // the job and the kernel keep. How fast it comes does not matter then.
    let lines = 24_000;
    let code = format!(
        "import os, time\nprint('begun', flush=True)\n\
        while not os.path.exists('go'): time.sleep(0.01)\n\
        for n in range({lines}): print(f'{{n:01000}}')"
    );
    let id = start(&mut rpc, &context.project, &code, json!({"session": "s"}));
    // It hears the beginning, and then reads nothing.
    let mut slow = daemon.raw();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "exec.stream",
        "params": {"job_id": id}})
    .to_string();
    let request = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    std::io::Write::write_all(&mut slow, request.as_bytes()).unwrap();
    let mut reader = std::io::BufReader::new(slow);
    let first = pillion_testing::rpc::read_frame(&mut reader).unwrap();
    assert_eq!(first["params"]["item"]["text"], "begun\n", "{first}");
    let go = json!({"code": "open('go', 'w')", "session": "s", "root": context.project});
    assert_eq!(rpc.call("exec.run", go).unwrap()["outcome"], "ok");
    let done = wait(&mut rpc, &id, "succeeded");
    assert_eq!(done["result"]["truncated"], true);
    let (mut text, mut left_out) = (0, 0);
    loop {
        let frame = pillion_testing::rpc::read_frame(&mut reader).unwrap();
        let item = &frame["params"]["item"];
        text += item["text"].as_str().map_or(0, str::len);
        left_out += item["left_out"].as_u64().unwrap_or(0);
        if frame.get("result").is_some() {
            assert_eq!(frame["result"]["status"], "succeeded");
            break;
        }
    }
    assert!(left_out > 0, "{text}");
    assert_eq!(text as u64 + left_out, lines * 1001);
}

#[test]
fn jobs_are_cancelled_while_they_run_and_while_they_wait() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let running = start(&mut rpc, &context.project, ENDLESS, json!({}));
    let mut other = daemon.connect();
    let follow = other.send("exec.stream", json!({"job_id": running}));
    other.part(follow, 0);
    let answer = cancel(&mut rpc, &running);
    assert_eq!(
        (&answer["cancelled"], &answer["status"]),
        (&json!(true), &json!("cancelled"))
    );
    let end = other.outcome(follow).unwrap();
    assert_eq!(end["status"], "cancelled");
    assert_eq!(printed(&items(&other, follow), "stdout"), "begun\n");
    assert_eq!(end["result"]["outcome"], "cancelled");
    assert_eq!(end["result"]["returncode"], -2);
    let again = cancel(&mut rpc, &running);
    assert_eq!(
        (&again["cancelled"], &again["status"]),
        (&json!(false), &json!("cancelled"))
    );
    let unknown = rpc
        .call("exec.cancel", json!({"job_id": "none"}))
        .unwrap_err();
    assert_eq!(unknown["data"]["code"], "not_found");
    // As many as there can be, and one more that waits.
    let (mut all, waiting) = fill(&mut rpc, &context.project);
    let answer = cancel(&mut rpc, &waiting);
    assert_eq!(answer["cancelled"], true, "{answer}");
    assert_eq!(answer["started_at"], Value::Null);
    let never = job(&mut rpc, &waiting);
    assert_eq!(
        (&never["status"], &never["result"]),
        (&json!("cancelled"), &Value::Null)
    );
    // There is always a turn for who waits for a run.
    let run = json!({"code": "print(1)", "root": context.project});
    assert_eq!(rpc.call("exec.run", run).unwrap()["outcome"], "ok");
    all.retain(|id| *id != waiting);
    for id in all {
        assert_eq!(cancel(&mut rpc, &id)["cancelled"], true);
    }
}

/// Start jobs until one has to wait; all of them, and that one.
fn fill(rpc: &mut Rpc, project: &Path) -> (Vec<String>, String) {
    let mut all = Vec::new();
    loop {
        let id = start(rpc, project, ENDLESS, json!({}));
        all.push(id.clone());
        // Those that can run do so before those that came later.
        let running = json!({"status": ["running"]});
        let turn = std::thread::available_parallelism().map_or(2, usize::from) * 2;
        let most = turn.max(4) as u64 - 1;
        if all.len() as u64 > most {
            wait_for(DEADLINE, "jobs to run", || {
                let total = rpc.call("exec.jobs", running.clone()).unwrap()["total"].as_u64();
                if total == Some(most) {
                    Ok(())
                } else {
                    Err(format!("{total:?}"))
                }
            });
            assert_eq!(job(rpc, &id)["status"], "queued");
            return (all, id);
        }
    }
}

#[test]
fn a_run_goes_on_beside_other_zygotes() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let modules = [
        "json",
        "csv",
        "decimal",
        "fractions",
        "statistics",
        "textwrap",
    ];
    let projects = modules.map(|module| {
        let toml = format!("[lanes.expert]\nimports = [\"{module}\"]\nslots = 1\n");
        let file = context.write(&format!("{module}/pillion.toml"), &toml);
        let given = context.pillion(&["trust", file.parent().unwrap().to_str().unwrap()]);
        assert_eq!(given.code, Some(0), "{given}");
        file.parent().unwrap().to_owned()
    });
    let job = start(&mut rpc, &projects[0], ENDLESS, json!({"lane": "expert"}));
    let mut other = daemon.connect();
    let follow = other.send("exec.stream", json!({"job_id": job}));
    other.part(follow, 0);
    for project in &projects[1..] {
        let run = json!({"code": "1", "lane": "expert", "root": project});
        let reply = rpc.call("exec.run", run).unwrap();
        assert_eq!(
            (&reply["outcome"], &reply["start"]),
            (&json!("ok"), &json!("fork"))
        );
    }
    assert_eq!(cancel(&mut rpc, &job)["cancelled"], true);
    assert_eq!(other.outcome(follow).unwrap()["status"], "cancelled");
}

#[test]
fn a_full_queue_says_so_and_a_large_request_too() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let params = json!({"code": ENDLESS, "root": context.project, "timeout_seconds": 600});
    let mut started = 0;
    let full = loop {
        match rpc.call("exec.start", params.clone()) {
            Ok(_) => started += 1,
            Err(error) => break error,
        }
        assert!(started < 500, "the queue has no end");
    };
    assert_eq!(full["data"]["code"], "busy", "{full}");
    assert!(started >= 64, "{started}");
    let text = "x".repeat(2 << 20);
    let large = json!({"code": "1", "files": [{"name": "a", "text": text}]});
    let queued = json!({"status": ["queued"], "limit": 1});
    let waiting = rpc.call("exec.jobs", queued).unwrap()["jobs"][0]["job_id"].clone();
    cancel(&mut rpc, waiting.as_str().unwrap());
    let error = rpc.call("exec.start", large).unwrap_err();
    assert_eq!(error["data"]["code"], "invalid_params", "{error}");
    drop(rpc);
    // It ends in good time, and says of all of them that they were cancelled.
    drop(daemon);
    let daemon = context.daemon();
    let unfinished = json!({"status": ["queued", "running"]});
    let left = daemon.connect().call("exec.jobs", unfinished).unwrap();
    assert_eq!(left["total"], 0, "{left}");
    let cancelled = json!({"status": ["cancelled"], "limit": 1});
    let all = daemon.connect().call("exec.jobs", cancelled).unwrap();
    assert_eq!(all["total"], started, "{all}");
}

#[test]
fn what_a_killed_daemon_leaves_is_lost() {
    let context = TestContext::new();
    let mut daemon = context.daemon();
    let mut rpc = daemon.connect();
    let done = start(&mut rpc, &context.project, "print(1)", json!({}));
    wait(&mut rpc, &done, "succeeded");
    let (all, _) = fill(&mut rpc, &context.project);
    rpc.hang_up();
    daemon.kill();
    context.wait_until_alone(TWO_SECONDS);
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for id in &all {
        let job = job(&mut rpc, id);
        assert_eq!(
            (&job["status"], &job["result"]),
            (&json!("lost"), &Value::Null)
        );
        assert!(job["ended_at"].is_string());
        assert_eq!(cancel(&mut rpc, id)["cancelled"], false);
    }
    assert_eq!(job(&mut rpc, &done)["status"], "succeeded");
}

#[test]
fn two_daemons_share_the_list_and_keep_to_their_own() {
    let context = TestContext::new();
    let mut one = context.daemon();
    let mut rpc = one.connect();
    let mine = start(&mut rpc, &context.project, ENDLESS, json!({}));
    wait(&mut rpc, &mine, "running");
    let other = context.serve();
    let theirs = other.post("exec.job", &json!({"job_id": mine})).json();
    assert_eq!(theirs["status"], "running", "{theirs}");
    for operation in ["exec.cancel", "exec.stream"] {
        let refused = other.post(operation, &json!({"job_id": mine}));
        assert!(refused.body.contains("conflict"), "{refused:?}");
    }
    assert_eq!(job(&mut rpc, &mine)["status"], "running");
    rpc.hang_up();
    one.kill();
    // Nobody has to start again to see it.
    wait_until("the job to be lost", || {
        let all = other.post("exec.jobs", &json!({})).json();
        all["jobs"][0]["status"] == "lost"
    });
}

#[test]
fn a_job_keeps_the_daemon_and_old_ones_go() {
    // A zygote keeps the daemon as a worker does, for as long as it waits for the next run.
    let mut context = TestContext::new().config("[lanes.user]\nidle_minutes = 0.001\n");
    context.set_env("PILLION_JOBS_KEPT", "2");
    let mut daemon = context.daemon_with(&["--idle-timeout", "0.2"]);
    let mut rpc = daemon.connect();
    // It ends after the others, however slow those are, and long after the daemon is idle.
    let code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n\
        time.sleep(1); print('slept')";
    let more = json!({"session": "s", "timeout_seconds": 60});
    let last = start(&mut rpc, &context.project, code, more);
    for _ in 0..3 {
        let id = start(&mut rpc, &context.project, "1", json!({}));
        wait(&mut rpc, &id, "succeeded");
    }
    let go = json!({"code": "open('go', 'w')", "session": "s", "root": context.project});
    assert_eq!(rpc.call("exec.run", go).unwrap()["outcome"], "ok");
    rpc.hang_up();
    assert!(daemon.wait().success());
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert_eq!(job(&mut rpc, &last)["result"]["stdout"], "slept\n");
    assert_eq!(rpc.call("exec.jobs", json!({})).unwrap()["total"], 2);
}

#[test]
fn a_session_has_a_history() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let root = &context.project;
    let long = format!("# {}\nraise SystemExit(2)", "x".repeat(5000));
    for (session, code) in [("a", "print(1)"), ("b", "print(2)"), ("a", &long)] {
        let run = json!({"code": code, "session": session, "root": root});
        rpc.call("exec.run", run).unwrap();
    }
    let module = json!({"module": "this", "session": "a", "root": root});
    let reply = rpc.call("exec.run", module).unwrap();
    let past = rpc.call("exec.history", json!({"session": "a"})).unwrap();
    let runs = past["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3, "{past}");
    assert_eq!(runs[0]["run_id"], reply["run_id"]);
    let kinds: Vec<_> = runs
        .iter()
        .map(|run| (&run["kind"], &run["outcome"]))
        .collect();
    assert_eq!(kinds[0], (&json!("module"), &json!("ok")), "{past}");
    assert_eq!(kinds[1], (&json!("code"), &json!("error")), "{past}");
    assert_eq!(
        (runs[1].get("code"), &runs[1]["returncode"]),
        (None, &json!(2))
    );
    assert_eq!(
        (&runs[0]["name"], &runs[2]["code"]),
        (&json!("this"), &json!("print(1)"))
    );
    let one = rpc
        .call("exec.history", json!({"session": "a", "limit": 1}))
        .unwrap();
    assert_eq!(one["runs"].as_array().unwrap().len(), 1);
    let none = rpc.call("exec.history", json!({"session": "c"})).unwrap();
    assert_eq!(none["runs"], json!([]));
}

#[test]
fn every_run_leaves_a_line_in_the_log_without_its_text() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let run = |more: Value| {
        let mut params = json!({"root": context.project});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    let secret = "from pillion import tools; tools.read('a'); print('s3cret')";
    let tools = json!({"read": {"a": {"text": "x"}}});
    let params = run(json!({"code": secret, "lane": "expert", "tools": tools}));
    let reply = rpc.call("exec.run", params).unwrap();
    assert_eq!(reply["outcome"], "ok", "{reply}");
    rpc.call(
        "exec.run",
        run(json!({"code": "raise SystemExit(3)", "session": "s"})),
    )
    .unwrap();
    // Somebody goes away while it runs.
    let mut other = daemon.connect();
    let gone = run(json!({"code": ENDLESS, "stream": true, "session": "gone"}));
    let id = other.send("exec.run", gone);
    other.part(id, 0);
    other.hang_up();
    let lines = log(&context, 3, &daemon);
    assert!(
        !fs::read_to_string(log_file(&context))
            .unwrap()
            .contains("s3cret")
    );
    let first = &lines[0];
    assert_eq!(first["run_id"], reply["run_id"]);
    assert_eq!(first["program"]["kind"], "code");
    assert_eq!(first["program"]["bytes"], secret.len());
    assert_eq!(first["program"]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(
        first["tools"],
        json!([{"tool": "read", "name": "a", "outcome": "ok"}])
    );
    for field in ["time", "level", "start", "limits", "used"] {
        assert!(!first[field].is_null(), "{first}");
    }
    let ends: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["lane"].as_str().unwrap(),
                line["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        ends,
        [("expert", "ok"), ("user", "error"), ("user", "cancelled")]
    );
    assert_eq!(
        (&lines[1]["returncode"], &lines[1]["session"]),
        (&json!(3), &json!("s"))
    );
}

fn log_file(context: &TestContext) -> std::path::PathBuf {
    context.base.join("pillion/state/exec.jsonl")
}

/// The lines of the log, once there are so many.
fn log(context: &TestContext, number: usize, daemon: &Daemon) -> Vec<Value> {
    wait_for(DEADLINE, "lines in the log", || {
        let text = fs::read_to_string(log_file(context)).unwrap_or_default();
        match text.lines().count() >= number {
            true => Ok(text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()),
            false => Err(format!("{text}\n{}", daemon.log())),
        }
    })
}

#[test]
fn people_start_follow_and_cancel_jobs() {
    let context = TestContext::new();
    let started = context.pillion(&["job-start", "-c", "print('hi')"]);
    let id = started.stdout.trim();
    let followed = context.pillion(&["job-stream", id]);
    assert_eq!(followed.stdout, "hi\n", "{followed}");
    assert_eq!(followed.stderr, format!("{id} succeeded (code 0)\n"));
    let jobs = context.pillion(&["jobs"]);
    assert!(
        jobs.stdout.starts_with(&format!("{id}  succeeded")),
        "{jobs}"
    );
    let job = context.pillion(&["job", id]);
    assert!(job.stdout.contains("ok (code 0)") && job.stdout.ends_with("--- stdout\nhi\n"));
    context.write("sums.py", "def add(a, b):\n    return {'sum': a + b}\n");
    let started = context.pillion(&[
        "job-start",
        "--function",
        "sums:add",
        "--arguments",
        "[1, 2]",
    ]);
    let sum = started.stdout.trim();
    let followed = context.pillion(&["job-stream", sum]);
    assert_eq!(
        followed.stderr,
        format!("{sum} succeeded (code 0): {{\"sum\":3}}\n")
    );
    let job = context.pillion(&["job", sum]);
    assert!(job.stdout.ends_with("--- value\n{\"sum\":3}\n"), "{job}");
    let cancelled = context.pillion(&["job-cancel", id]);
    assert!(
        cancelled.stdout.starts_with("nothing to cancel"),
        "{cancelled}"
    );
    let runs = context.pillion(&["runs"]);
    assert!(runs.stdout.contains("print('hi')"), "{runs}");
    let wrong = context.pillion(&["job", "none"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("there is no job `none`"), "{wrong}");
}
