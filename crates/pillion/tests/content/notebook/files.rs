//! Whole notebook files on real kernels: as nbclient runs them, written without touching what
//! did not change, stopped, cancelled, edited meanwhile, and several at once.

use std::fs;
use std::path::PathBuf;

use pillion_testing::{CommandOutput, TestContext, set_up, wait_until};
use serde_json::{Value, json};

use super::World;

const SAMPLES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/content/notebook/samples"
);

impl World {
    fn notebook(&self, name: &str, cells: &[&str]) -> PathBuf {
        notebook(&self.context, name, cells)
    }

    /// A copy of a sample in the project.
    fn sample(&self, name: &str) -> PathBuf {
        let text = fs::read_to_string(format!("{SAMPLES}/{name}.ipynb")).unwrap();
        self.context.write(&format!("{name}.ipynb"), &text)
    }

    fn run_file(&mut self, more: Value) -> Value {
        let params = self.params(more);
        self.rpc.call("notebook.run", params).unwrap()
    }

    fn command(&self, args: &[&str]) -> CommandOutput {
        let mut command = self.context.pillion_command(args);
        command.env("PILLION_PYTHON", set_up("dev-python/bin/python"));
        CommandOutput::of(command)
    }
}

/// A notebook in the project: its cells of code, and what they gave before.
pub(super) fn notebook(context: &TestContext, name: &str, cells: &[&str]) -> PathBuf {
    let before = json!([{"output_type": "stream", "name": "stdout", "text": "from before\n"}]);
    let cells = cells.iter().enumerate().map(|(at, source)| {
        json!({
            "cell_type": "code", "id": format!("c{at}"), "metadata": {}, "source": source,
            "execution_count": 7, "outputs": before,
        })
    });
    let cells: Vec<Value> = cells.collect();
    let all = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    context.write(name, &serde_json::to_string_pretty(&all).unwrap())
}

fn read(path: &PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The texts of a cell's outputs, in one.
fn shown(notebook: &Value, cell: usize) -> String {
    let outputs = notebook["cells"][cell]["outputs"].as_array().unwrap();
    let texts = outputs.iter().map(|output| match &output["text"] {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => output["ename"].as_str().unwrap_or_default().to_owned(),
    });
    texts.collect()
}

/// Run samples by pillion, all at once, and by nbclient.
fn as_nbclient_does(names: &[&str]) {
    let world = World::new();
    let files: Vec<String> = names.iter().map(|name| format!("{name}.ipynb")).collect();
    for name in names {
        world.sample(name);
    }
    let mut args = vec!["notebook", "run", "--allow-errors", "--jobs", "2"];
    args.extend(files.iter().map(String::as_str));
    let ran = world.command(&args);
    let rows = ran.stdout.lines().filter(|line| line.contains(".ipynb"));
    assert_eq!(rows.count(), names.len(), "{ran}");
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut python = world.context.command(set_up("dev-python/bin/python"));
    python
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/content/notebook/by_nbclient.py"
        ))
        .arg(SAMPLES)
        .arg(&world.context.project)
        .args(&files);
    let compared = CommandOutput::of(python);
    assert_eq!(compared.code, Some(0), "{compared}");
}

#[test]
fn words_errors_arrays_and_waiting_are_what_nbclient_gives() {
    as_nbclient_does(&["first_steps", "errors", "arrays", "waiting", "magics"]);
}

#[test]
fn plots_displays_updates_and_streams_are_what_nbclient_gives() {
    as_nbclient_does(&["plots", "displays", "updates", "progress", "streams"]);
}

#[test]
fn widgets_are_kept_as_nbclient_does_and_those_of_other_cells_stay() {
    as_nbclient_does(&["widgets"]);
    let mut world = World::new();
    let path = world.sample("widgets");
    let state = |path: &PathBuf| {
        let form = "application/vnd.jupyter.widget-state+json";
        read(path)["metadata"]["widgets"][form]["state"].clone()
    };
    world.run_file(json!({"path": path, "session": "w"}));
    let all = state(&path).as_object().unwrap().clone();
    assert!(
        all.values().any(|one| one["state"]["value"] == 7),
        "{all:?}"
    );
    world.run_file(json!({"path": path, "session": "w", "cells": [1]}));
    let after = state(&path).as_object().unwrap().clone();
    assert!(
        after.len() > all.len(),
        "a cell that ran again has new ones"
    );
    assert!(all.keys().all(|id| after.contains_key(id)), "{after:?}");
}

#[test]
fn a_second_run_changes_nothing_and_a_file_keeps_its_style() {
    let mut world = World::new();
    for (name, indent) in [
        ("displays", "    \"cells\""),
        ("updates", " \"cells\""),
        ("streams", "\t\"cells\""),
    ] {
        let path = world.sample(name);
        let first = world.run_file(json!({"path": path}));
        assert_eq!(
            (&first["outcome"], &first["written"]),
            (&json!("ok"), &json!(true)),
            "{first}"
        );
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(&format!("\n{indent}")), "{text}");
        let is_list = read(&path)["cells"][0]["source"].is_array();
        assert_eq!(
            is_list,
            name != "updates",
            "sources stay as they were spelled"
        );
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let second = world.run_file(json!({"path": path}));
        // A warning has the name of the file that its cell was compiled as, which has the
        // number of the kernel's process.
        if name == "streams" {
            assert_eq!(second["repaired"], 0, "it is of version 4.5 by now");
            continue;
        }
        assert_eq!(second["written"], false, "{second}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
    }
}

#[test]
fn the_first_error_ends_a_run_and_what_was_not_run_stays() {
    let mut world = World::new();
    let path = world.notebook("a.ipynb", &["x = 1\nprint(x)", "1 / 0", "print('later')"]);
    let id = world.rpc.send(
        "notebook.run",
        world.params(json!({"path": path, "stream": true})),
    );
    let ran = world.rpc.outcome(id).unwrap();
    assert_eq!(
        (&ran["success"], &ran["outcome"]),
        (&json!(false), &json!("error")),
        "{ran}"
    );
    assert_eq!((&ran["cells"], &ran["ran"]), (&json!(3), &json!(2)));
    assert_eq!(ran["failed"][0]["cell"], 1);
    assert_eq!(ran["failed"][0]["ename"], "ZeroDivisionError");
    let parts: Vec<_> = world
        .rpc
        .parts(id)
        .iter()
        .map(|part| part["item"].clone())
        .collect();
    let states: Vec<_> = parts
        .iter()
        .map(|part| (&part["cell"], &part["state"]))
        .collect();
    let expected = [(0, "started"), (0, "ended"), (1, "started"), (1, "ended")];
    let expected: Vec<_> = expected
        .map(|(cell, state)| (json!(cell), json!(state)))
        .into();
    let expected: Vec<_> = expected.iter().map(|(cell, state)| (cell, state)).collect();
    assert_eq!(states, expected);
    let file = read(&path);
    assert_eq!(shown(&file, 0), "1\n");
    assert_eq!(shown(&file, 1), "ZeroDivisionError");
    assert_eq!(shown(&file, 2), "from before\n");
    assert_eq!(file["cells"][2]["execution_count"], 7);

    let out = world.context.project.join("out.ipynb");
    let more = json!({"path": path, "output": out, "allow_errors": true});
    let ran = world.run_file(more);
    assert_eq!(
        (&ran["ran"], &ran["success"]),
        (&json!(3), &json!(false)),
        "{ran}"
    );
    assert_eq!(shown(&read(&out), 2), "later\n");
    assert_eq!(shown(&read(&path), 2), "from before\n");
}

#[test]
fn parameters_are_set_and_every_cell_has_its_time() {
    let mut world = World::new();
    let path = world.notebook("a.ipynb", &["print(rate * 2)", "while True: pass"]);
    let out = world.context.project.join("out.ipynb");
    let ran = world.run_file(json!({
        "path": "a.ipynb", "output": "out.ipynb", "parameters": {"rate": 21}, "timeout_seconds": 2,
    }));
    assert_eq!(
        (&ran["outcome"], &ran["ran"]),
        (&json!("timeout"), &json!(3)),
        "{ran}"
    );
    let file = read(&out);
    assert_eq!(
        file["cells"][0]["metadata"]["tags"],
        json!(["injected-parameters"])
    );
    assert_eq!(shown(&file, 1), "42\n");
    assert_eq!(read(&path)["cells"].as_array().unwrap().len(), 2);
    let wrong = world.params(json!({"path": "a.ipynb", "output": "a.txt"}));
    let error = world.rpc.call("notebook.run", wrong).unwrap_err();
    assert_eq!(error["data"]["code"], "invalid_params", "{error}");
}

#[test]
fn what_somebody_saves_during_a_run_is_kept() {
    let mut world = World::new();
    let wait = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('ran')";
    let path = world.notebook("a.ipynb", &["print('first')", wait, "print('last')"]);
    let more = json!({"path": path, "stream": true, "session": "edited"});
    let params = world.params(more);
    let id = world.rpc.send("notebook.run", params);
    // The second cell has begun.
    world.rpc.part(id, 2);
    let mut theirs = read(&path);
    theirs["cells"][2]["source"] = json!("print('other code')");
    theirs["cells"].as_array_mut().unwrap().insert(
        0,
        json!({"cell_type": "markdown", "id": "new", "metadata": {}, "source": "their words"}),
    );
    fs::write(&path, theirs.to_string()).unwrap();
    let go = world.context.pillion(&[
        "exec",
        "--session",
        "edited",
        "--lane",
        "user",
        "-c",
        "open('go', 'w')",
    ]);
    assert_eq!(go.code, Some(0), "{go}");
    let ran = world.rpc.outcome(id).unwrap();
    assert_eq!(ran["left_out"], json!(["c2"]), "{ran}");
    let file = read(&path);
    assert_eq!(file["cells"][0]["source"], "their words");
    assert_eq!(
        (shown(&file, 1), shown(&file, 2)),
        ("first\n".into(), "ran\n".into())
    );
    assert_eq!(file["cells"][3]["source"], "print('other code')");
    assert_eq!(shown(&file, 3), "from before\n");
}

#[test]
fn a_caller_who_goes_away_ends_the_run_and_its_kernel() {
    let world = World::new();
    let path = world.notebook("a.ipynb", &["print(1)", "import time\ntime.sleep(600)"]);
    let before = fs::read_to_string(&path).unwrap();
    let mut other = world.daemon.connect();
    let params = world.params(json!({"path": path, "stream": true}));
    let id = other.send("notebook.run", params);
    other.part(id, 2);
    let kernel = world.throwaway();
    let left = || {
        let sessions = fs::read_dir(world.context.base.join("pillion/data/sessions"));
        sessions.map_or(0, Iterator::count)
    };
    assert_eq!(left(), 1);
    other.hang_up();
    wait_until("the kernel to be gone", || {
        !pillion_testing::processes::is_alive(kernel)
    });
    wait_until("its folder to be gone", || left() == 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn several_notebooks_have_a_table_and_an_exit_code() {
    let world = World::new();
    world.notebook("good.ipynb", &["print('fine')"]);
    world.notebook("bad.ipynb", &["print(1)", "raise ValueError('too much')"]);
    let ran = world.command(&[
        "notebook",
        "run",
        "-j",
        "2",
        "good.ipynb",
        "bad.ipynb",
        "none.ipynb",
    ]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let row = |name: &str| {
        let mut lines = ran.stdout.lines();
        let line = lines.find(|line| line.contains(name));
        line.unwrap_or_else(|| panic!("no {name} in {ran}"))
            .to_owned()
    };
    assert!(row("good.ipynb").contains("1/1"), "{ran}");
    assert!(
        row("bad.ipynb").contains("cell 1: ValueError: too much"),
        "{ran}"
    );
    assert!(row("none.ipynb").contains("not_found"), "{ran}");
    assert!(ran.stderr.contains("good.ipynb  [1/1] cell 0: ok"), "{ran}");
    let all = world.command(&[
        "notebook",
        "run",
        "--json",
        "good.ipynb",
        "bad.ipynb",
        "-o",
        "made",
    ]);
    assert_eq!(all.code, Some(1), "{all}");
    assert_eq!(all.json()["notebooks"][1]["failed"][0]["cell"], 1, "{all}");
    assert!(world.context.project.join("made/bad.ipynb").exists());
    let one = world.command(&["notebook", "run", "good.ipynb"]);
    assert_eq!(one.code, Some(0), "{one}");
    assert!(one.stdout.contains("ok: 1 of 1 cells"), "{one}");
}

#[test]
fn the_route_of_a_session_runs_a_file_on_its_kernel() {
    let context = TestContext::new();
    let path = notebook(&context, "a.ipynb", &["x = 41", "print(x + 1)"]);
    let web = context.serve();
    let python = set_up("dev-python/bin/python");
    let json = [("Content-Type", "application/json")];
    let ask = |route: &str, body: Value| {
        let route = format!("/api/session/learner/notebook/{route}");
        let reply = web.request("POST", &route, &json, &body.to_string());
        (reply.status, reply.json())
    };
    let (status, ran) = ask("run", json!({"path": path, "python": python}));
    assert_eq!((status, &ran["session"]), (200, &json!("learner")), "{ran}");
    assert_eq!(shown(&read(&path), 1), "42\n");
    let (_, known) = ask("cell/run", json!({"code": "x", "python": python}));
    assert_eq!(known["result_repr"], "41", "{known}");
    let (status, missing) = ask("run", json!({"path": "none.ipynb", "python": python}));
    assert_eq!(status, 404, "{missing}");
    assert!(missing["detail"].is_string(), "{missing}");
}
