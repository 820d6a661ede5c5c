//! Many callers, several workspaces, engines that die or stand still.

use pillion_testing::processes;
use pillion_testing::project::{TestProject, bare, members, places};
use pillion_testing::rpc::Rpc;
use serde_json::{Value, json};

/// A folder with a module of its own and a use of it.
fn workspace(project: &TestProject, name: &str, line: usize) -> std::path::PathBuf {
    let write = |file: &str, text: &str| project.context.write(&format!("{name}/{file}"), text);
    write("pyproject.toml", "[project]\nname = 'x'\nversion = '1'\n");
    let before = "# one line\n".repeat(line - 1);
    write("lib.py", &format!("{before}def {name}_thing(): ...\n"));
    let user = format!("from lib import {name}_thing\n{name}_thing()\n");
    write("user.py", &user);
    project.root().join(name)
}

fn definition(rpc: &mut Rpc, root: &std::path::Path) -> Value {
    let params = json!({ "root": root, "file": "user.py", "line": 2, "col": 1 });
    rpc.call("code.defs", params).unwrap()["locations"].clone()
}

#[test]
fn sixteen_callers_on_three_workspaces_each_get_their_own_answers() {
    let project = TestProject::new(bare());
    let roots: Vec<_> = ["one", "two", "three"]
        .iter()
        .enumerate()
        .map(|(n, name)| (name, n + 1, workspace(&project, name, n + 1)))
        .collect();
    std::thread::scope(|scope| {
        for caller in 0..16 {
            let (daemon, roots) = (&project.daemon, &roots);
            scope.spawn(move || {
                let mut rpc = daemon.connect();
                for round in 0..25 {
                    let (name, line, root) = &roots[(caller + round) % roots.len()];
                    let found = definition(&mut rpc, root);
                    assert_eq!(places(&found), [format!("lib.py:{line}:5")]);
                    let query = json!({ "root": root, "query": "thing" });
                    let found = rpc.call("code.symbols", query).unwrap();
                    assert_eq!(
                        members(&found["symbols"], "name"),
                        [format!("{name}_thing")]
                    );
                    let params = json!({ "root": root, "pattern": "thing" });
                    let found = rpc.call("code.grep", params).unwrap();
                    assert_eq!(found["total"], 3);
                }
            });
        }
    });
}

#[test]
fn nested_roots_are_workspaces_of_their_own() {
    let mut project = TestProject::new(bare());
    let inner = workspace(&project, "inner", 3);
    let from_inner = json!({ "root": inner, "query": "thing" });
    let found = project.ask("symbols", from_inner);
    assert_eq!(members(&found["symbols"], "file"), ["lib.py"]);
    let found = project.ask("symbols", json!({ "query": "thing" }));
    assert_eq!(members(&found["symbols"], "file"), ["inner/lib.py"]);
}

#[test]
fn an_engine_that_is_killed_mid_question_costs_no_answer() {
    let project = TestProject::new(bare());
    let root = workspace(&project, "one", 2);
    let mut rpc = project.daemon.connect();
    for _ in 0..5 {
        definition(&mut rpc, &root);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let mut rpc = project.daemon.connect();
                (0..20)
                    .map(|_| definition(&mut rpc, &root))
                    .collect::<Vec<_>>()
            });
            let status = rpc.call("system.status", json!({})).unwrap();
            let pid = status["workspaces"][0]["sidecars"][0]["pid"].as_u64();
            if let Some(pid) = pid {
                processes::kill(u32::try_from(pid).unwrap());
            }
            for found in asking.join().unwrap() {
                assert_eq!(places(&found), ["lib.py:2:5"]);
            }
        });
    }
}

#[test]
fn an_engine_that_stands_still_holds_nobody_up_but_its_own_callers() {
    let mut project = TestProject::new(bare());
    let root = workspace(&project, "one", 2);
    let mut rpc = project.daemon.connect();
    assert_eq!(places(&definition(&mut rpc, &root)), ["lib.py:2:5"]);
    let engine = project.engine_pid().unwrap();
    processes::stop(engine);
    // Another place: what was asked before is answered without the engine.
    let late = json!({ "root": root, "file": "user.py", "line": 1, "col": 18, "timeout_ms": 300 });
    let error = rpc.call("code.defs", late.clone()).unwrap_err();
    assert_eq!(error["data"]["code"], "timeout", "{error}");
    let found = project.ask("symbols", json!({ "root": root, "query": "thing" }));
    assert_eq!(found["total"], 1);
    let found = project.ask("grep", json!({ "root": root, "pattern": "thing" }));
    assert_eq!(found["total"], 3);
    processes::signal(engine, rustix::process::Signal::CONT);
    let mut in_time = late;
    in_time["timeout_ms"] = json!(60_000);
    let found = rpc.call("code.defs", in_time).unwrap();
    assert_eq!(places(&found["locations"]), ["lib.py:2:5"]);
}

#[test]
fn an_idle_engine_ends_and_the_next_question_starts_one() {
    let context = bare().config("[code]\nidle_minutes = 0.005\n");
    context.write("a.py", "def f(): ...\nf()\n");
    let mut project = TestProject::new(context);
    assert_eq!(project.defs("a.py", "\n|f()"), ["a.py:1:5"]);
    pillion_testing::wait_until("the engine ends", || project.engine_pid().is_none());
    project.context.write("a.py", "\ndef f(): ...\nf()\n");
    assert_eq!(project.defs("a.py", "\n|f()"), ["a.py:2:5"]);
}
