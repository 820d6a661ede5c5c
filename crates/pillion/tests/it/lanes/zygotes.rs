//! Zygotes are looked after like every other child: they know what they imported, keep nobody
//! waiting beyond his time, say why they do not start, are seen, and end.

use std::fs;
use std::path::PathBuf;

use pillion_testing::rpc::Rpc;
use pillion_testing::{CommandOutput, TestContext, processes, wait_until};
use serde_json::{Value, json};

/// A project with an environment of its own, whose packages are the test's.
struct Project {
    context: TestContext,
    packages: PathBuf,
}

impl Project {
    fn new(config: &str) -> Self {
        let context = TestContext::new();
        let folder = context.project.join(".venv");
        let mut venv = context.command("python3");
        venv.args(["-m", "venv", "--without-pip"]).arg(&folder);
        let made = CommandOutput::of(venv);
        assert_eq!(made.code, Some(0), "{made}");
        let library = fs::read_dir(folder.join("lib")).unwrap().next().unwrap();
        let packages = library.unwrap().path().join("site-packages");
        let context = context.trusted_config(config);
        Self { context, packages }
    }

    fn package(&self, name: &str, text: &str) {
        let path = self.packages.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn order(&self, code: &str, more: &Value) -> Value {
        let mut order = json!({"code": code, "lane": "expert", "root": self.context.project});
        let more = more.as_object().unwrap().clone();
        order.as_object_mut().unwrap().extend(more);
        order
    }

    fn run(&self, rpc: &mut Rpc, code: &str) -> Value {
        rpc.call("exec.run", self.order(code, &json!({}))).unwrap()
    }

    /// What such a run prints, which comes from a zygote.
    fn printed(&self, rpc: &mut Rpc, code: &str) -> String {
        let reply = self.run(rpc, code);
        assert_ne!(reply["start"], "spawn", "{reply}");
        assert_eq!(reply["outcome"], "ok", "{reply}");
        reply["stdout"].as_str().unwrap().to_owned()
    }
}

const HELPER: &str = "[lanes.expert]\nimports = ['helper']\nslots = 2\n";

/// The only zygote.
fn zygote(sidecars: &[Value]) -> Value {
    let mut zygotes = sidecars.iter().filter(|s| s["kind"] == "zygote");
    let found = zygotes.next().cloned().unwrap_or_default();
    assert!(zygotes.next().is_none(), "{sidecars:?}");
    found
}

fn pid(sidecar: &Value) -> u32 {
    u32::try_from(sidecar["pid"].as_u64().unwrap()).unwrap()
}

#[test]
fn an_edit_of_an_imported_module_is_seen_by_the_next_run() {
    let project = Project::new(HELPER);
    project.package("helper.py", "import deep.below\nx = 1\n");
    project.package("deep/__init__.py", "");
    project.package("deep/below.py", "y = 1\n");
    let daemon = project.context.daemon();
    let mut rpc = daemon.connect();
    let code = "import sys, helper\nprint('helper' in sys.modules, helper.x, helper.deep.below.y)";
    assert_eq!(project.printed(&mut rpc, code), "True 1 1\n");
    // Slots wait by now, of the same zygote.
    wait_until("warm slots", || {
        rpc.call("exec.lanes", json!({})).unwrap()["warm_slots"] == 2
    });
    for n in 2..8_u32 {
        // The same size, mostly in the same second.
        let (x, y) = (n / 2 + 1, n.div_ceil(2));
        project.package("helper.py", &format!("import deep.below\nx = {x}\n"));
        project.package("deep/below.py", &format!("y = {y}\n"));
        assert_eq!(project.printed(&mut rpc, code), format!("True {x} {y}\n"));
    }
    assert_eq!(project.printed(&mut rpc, code), "True 4 4\n");
    let generation = zygote(&daemon.sidecars())["generation"].clone();
    assert_eq!(project.printed(&mut rpc, code), "True 4 4\n");
    assert_eq!(
        zygote(&daemon.sidecars())["generation"],
        generation,
        "it is not replaced without a reason"
    );
}

#[test]
fn a_module_that_appears_is_seen_by_the_next_run() {
    let project = Project::new(HELPER);
    let text = "try:\n    from inner import value\nexcept ImportError:\n    value = 'none'\n";
    project.package("helper/__init__.py", &text.replace("inner", ".inner"));
    let daemon = project.context.daemon();
    let mut rpc = daemon.connect();
    let code = "import helper\nprint(helper.value)";
    assert_eq!(project.printed(&mut rpc, code), "none\n");
    // Below a package that was there: the folder of all packages is as it was.
    project.package("helper/inner.py", "value = 'inner'\n");
    assert_eq!(project.printed(&mut rpc, code), "inner\n");
    // Beside it, in the folder of all packages.
    let before = zygote(&daemon.sidecars())["generation"].clone();
    project.package("another.py", "");
    assert_eq!(project.printed(&mut rpc, "import another"), "");
    assert_ne!(zygote(&daemon.sidecars())["generation"], before);
}

#[test]
fn a_run_goes_on_while_its_zygote_is_replaced() {
    let project = Project::new(HELPER);
    project.package("helper.py", "x = 1\n");
    let daemon = project.context.daemon();
    let mut rpc = daemon.connect();
    let endless = "import helper, time\nprint(helper.x, flush=True)\nwhile True: time.sleep(1)";
    let more = json!({"timeout_seconds": 600, "stream": true});
    let long = rpc.send("exec.run", project.order(endless, &more));
    assert_eq!(rpc.part(long, 0)["item"]["text"], "1\n");
    let old = pid(&zygote(&daemon.sidecars()));
    // By an edit, and by who wants fresh processes.
    project.package("helper.py", "x = 2\n");
    let mut other = daemon.connect();
    let code = "import helper\nprint(helper.x)";
    assert_eq!(project.printed(&mut other, code), "2\n");
    let second = pid(&zygote(&daemon.sidecars()));
    let root = json!({"root": project.context.project});
    let restarted = other.call("py.restart", root).unwrap();
    assert_eq!(restarted["restarted"], 1);
    assert_eq!(project.printed(&mut other, code), "2\n");
    wait_until("the second one to end", || !processes::is_alive(second));
    assert!(processes::is_alive(old), "a run is in it");
    assert!(!rpc.is_answered(long));
    rpc.cancel(long);
    assert!(rpc.outcome(long).is_err());
    wait_until("the first one to end", || !processes::is_alive(old));
}

#[test]
fn a_zygote_that_starts_slowly_keeps_nobody_beyond_his_time() {
    let config = "[lanes.user]\nimports = ['helper']\n";
    let project = Project::new(config);
    let gate = "import os, time\n\
        while not os.path.exists(f'{os.path.dirname(__file__)}/gate/go'): time.sleep(0.01)\n";
    project.package("helper/__init__.py", gate);
    project.package("helper/gate/readme", "");
    let daemon = project.context.daemon();
    let mut rpc = daemon.connect();
    let more = json!({"lane": "user", "timeout_seconds": 1, "session": "s"});
    let ran = project.order("open('ran', 'w')", &more);
    for _ in 0..2 {
        let reply = rpc.call("exec.run", ran.clone()).unwrap();
        assert_eq!(
            (&reply["outcome"], &reply["returncode"], &reply["start"]),
            (&json!("timeout"), &json!(-1), &json!("none")),
            "{reply}"
        );
    }
    // Its start went on, for whoever comes next.
    assert_eq!(zygote(&daemon.sidecars())["state"], "starting");
    project.package("helper/gate/go", "");
    let more = json!({"lane": "user", "timeout_seconds": 60, "session": "s"});
    let look = project.order("import os; print(os.listdir())", &more);
    let reply = rpc.call("exec.run", look).unwrap();
    assert_eq!(reply["stdout"], "[]\n", "no code has run: {reply}");
    assert_eq!(reply["start"], "fork", "{reply}");
    let zygote = zygote(&daemon.sidecars());
    assert_eq!(
        (&zygote["generation"], &zygote["crashes"]),
        (&json!(1), &json!(0)),
        "one start for all: {zygote}"
    );
}

#[test]
fn a_zygote_that_cannot_start_says_why() {
    let project = Project::new(HELPER);
    let broken =
        "import sys\nprint('what it was about', file=sys.stderr)\nraise ValueError('boom')\n";
    project.package("helper.py", broken);
    let daemon = project.context.daemon();
    let mut rpc = daemon.connect();
    for _ in 0..3 {
        let reply = project.run(&mut rpc, "print(1)");
        assert_eq!(
            (&reply["stdout"], &reply["start"]),
            (&json!("1\n"), &json!("spawn")),
            "{reply}"
        );
    }
    let log = daemon.log();
    for said in [
        "cannot import `helper`: ValueError: boom",
        "what it was about",
        "Traceback",
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
    let state = zygote(&daemon.sidecars());
    assert_eq!(state["state"], "broken", "{state}");
    assert_eq!(
        state["generation"], 1,
        "it is not tried by every run: {state}"
    );
    // It is tried again in a while.
    project.package("helper.py", "");
    wait_until("a zygote again", || {
        project.run(&mut rpc, "1")["start"] != "spawn"
    });
}

#[test]
fn a_zygote_is_seen_and_heard_of() {
    let project = Project::new("");
    let daemon = project.context.daemon();
    let mut rpc = daemon.connect();
    let news = rpc.send("system.subscribe", json!({}));
    rpc.part(news, 0);
    let mut other = daemon.connect();
    assert_eq!(project.printed(&mut other, "print(1)"), "1\n");
    let zygote = zygote(&daemon.sidecars());
    let process = pid(&zygote);
    assert!(processes::is_alive(process));
    let command = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap();
    assert!(command.contains("lane/zygote.py"), "{command}");
    assert!(
        zygote["memory_bytes"].as_u64().unwrap() > 1 << 20,
        "{zygote}"
    );
    assert_eq!(zygote["name"], "zygote-expert");
    assert!(zygote["python"].as_str().unwrap().starts_with("3."));
    let status = other.call("system.status", json!({})).unwrap();
    let root = project.context.project.to_str().unwrap();
    assert_eq!(status["workspaces"][0]["root"], root, "{status}");
    let shown = project.context.pillion(&["status"]);
    assert!(shown.stdout.contains("zygote-expert"), "{shown}");
    assert!(shown.stdout.contains(&process.to_string()), "{shown}");
    let mut next = 1;
    let mut states = Vec::new();
    while states != ["starting", "busy", "ready"] {
        let item = rpc.part(news, next)["item"].clone();
        next += 1;
        if item["event"] == "sidecar_state" && item["sidecar"] == "zygote-expert" {
            states.push(item["state"].as_str().unwrap().to_owned());
        }
    }
    rpc.cancel(news);
    assert!(rpc.outcome(news).is_err());
}

#[test]
fn an_idle_zygote_ends_and_the_daemon_after_it() {
    let project = Project::new("[lanes.expert]\nidle_minutes = 0.005\n");
    let mut daemon = project.context.daemon_with(&["--idle-timeout", "1.5"]);
    let mut rpc = daemon.connect();
    for generation in 1..3 {
        assert_eq!(project.printed(&mut rpc, "print(1)"), "1\n");
        assert_eq!(zygote(&daemon.sidecars())["generation"], generation);
        wait_until("the zygote to go idle", || {
            zygote(&daemon.sidecars())["state"] == "idle"
        });
        let state = zygote(&daemon.sidecars());
        assert_eq!(
            (&state["pid"], &state["crashes"]),
            (&Value::Null, &json!(0))
        );
    }
    drop(rpc);
    assert!(daemon.wait().success());
}
