//! What a kernel, and the code around it, can be asked: completion, inspection, variables.

use pillion_testing::project::bare;
use pillion_testing::{DEADLINE, wait_for};
use serde_json::{Value, json};

use super::World;

#[test]
fn what_a_kernel_knows_can_be_asked() {
    let mut world = World::new();
    world.run(
        "import numpy as np\nspread = np.zeros((3, 4))\nspring = 'a' * 1000\ndef spin(x): 'Turn.'",
    );
    let completed = world.ask("complete", json!({"code": "spr"}));
    assert_eq!(
        completed["matches"],
        json!(["spread", "spring"]),
        "{completed}"
    );
    let members = world.ask("complete", json!({"code": "spread.sha"}));
    assert!(
        members["matches"].to_string().contains("shape"),
        "{members}"
    );
    let inspected = world.ask("inspect", json!({"code": "spin"}));
    assert_eq!(inspected["found"], true);
    assert!(
        inspected["text"].as_str().unwrap().contains("Turn."),
        "{inspected}"
    );
    let variables = world.ask("variables", json!({}));
    let all = variables["variables"].as_array().unwrap();
    let names: Vec<_> = all.iter().map(|variable| &variable["name"]).collect();
    assert_eq!(
        names,
        ["spread", "spring", "spin"],
        "no modules: {variables}"
    );
    assert_eq!(all[0]["shape"], json!([3, 4]));
    assert_eq!(all[1]["length"], 1000);
    assert!(all[1]["repr"].as_str().unwrap().len() <= 120);
    let count = world.run("1")["execution_count"].clone();
    assert_eq!(count, 2, "questions are no cells");
}

#[test]
fn a_kernel_at_work_answers_questions() {
    let mut world = World::new();
    world.run("import json\ndef spin(x): 'Turn.'");
    let id = world.start(json!({
        "code": "spread = [1, 2]\nprint('on', flush=True)\nwhile True: spread.append(3); del spread[2:]",
    }));
    world.until(id, "stream");
    let mut other = world.daemon.connect();
    let mut ask = |what: &str, params: Value| {
        let asked = other.call(&format!("notebook.{what}"), params);
        asked.unwrap_or_else(|error| panic!("{what}: {error}"))
    };
    let completed = ask("complete", json!({"code": "spr"}));
    assert_eq!(completed["matches"][0], "spread", "{completed}");
    let members = ask("complete", json!({"code": "json.dump"}));
    assert!(
        members["matches"].to_string().contains("dumps"),
        "{members}"
    );
    let inspected = ask("inspect", json!({"code": "spin"}));
    let text = inspected["text"].as_str().unwrap_or_default();
    assert!(text.contains("Turn."), "{inspected}");
    let variables = ask("variables", json!({}));
    let names = variables["variables"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|variable| &variable["name"]).collect();
    assert_eq!(names, ["spin", "spread"], "{variables}");
    // All this was beside the cell, which still runs, and is interrupted as ever.
    let status = ask("status", json!({}));
    assert_eq!(status["kernels"][0]["state"], "busy", "{status}");
    ask("interrupt", json!({}));
    let ran = world.rpc.outcome(id).unwrap();
    assert_eq!(ran["error"]["ename"], "KeyboardInterrupt", "{ran}");
    assert_eq!(world.run("len(spread) in (2, 3)")["result_repr"], "True");
}

/// A daemon with the engine that reads cells.
fn world_with_engine() -> World {
    World::with(bare())
}

#[test]
fn what_no_cell_has_run_is_completed_from_its_text() {
    let mut world = world_with_engine();
    world.run("import json\nfrom pathlib import Path");
    // Nothing of this lives: it is only typed.
    let typed = "import textwrap\nfolder = Path('.')\ndef walk(alpha_one, alpha_two):\n    ";
    let mut complete = |code: &str| {
        wait_for(DEADLINE, "an engine that reads cells", || {
            let found = world.ask("complete", json!({ "code": format!("{typed}{code}") }));
            let from_text = found["sources"].to_string().contains("text");
            if from_text { Ok(found) } else { Err(found) }
        })
    };
    let names = complete("alpha_");
    assert_eq!(
        names["matches"],
        json!(["alpha_one", "alpha_two"]),
        "{names}"
    );
    let start = typed.chars().count();
    assert_eq!(
        (&names["start"], &names["end"]),
        (&json!(start), &json!(start + 6))
    );
    let members = complete("folder.is_d");
    assert!(
        members["matches"].to_string().contains("is_dir"),
        "{members}"
    );
    let modules = complete("textwrap.ded");
    assert_eq!(modules["matches"], json!(["dedent"]), "{modules}");
    // What lives comes first, and what has it says best what it has.
    let lives = world.ask("complete", json!({"code": "json.dump"}));
    assert_eq!(lives["sources"], json!(["kernel"]), "{lives}");
    let code = "import textwrap\ntextwrap.dedent";
    let told = world.ask("inspect", json!({ "code": code }));
    assert_eq!(told["source"], "text", "{told}");
    assert!(told["text"].as_str().unwrap().contains("dedent"), "{told}");
    let nothing = world.ask("inspect", json!({"code": "no_such_name"}));
    assert_eq!(nothing["found"], false, "{nothing}");
}

#[test]
fn who_reads_cells_does_not_keep_their_words_or_see_their_folder() {
    let mut world = world_with_engine();
    world.run("open('helper.py', 'w').write('secret_name = 1')");
    let ask = |world: &mut World, code: &str| world.ask("complete", json!({ "code": code }));
    wait_for(DEADLINE, "an engine that reads cells", || {
        let found = ask(&mut world, "def f(beta_one):\n    beta_");
        if found["matches"] == json!(["beta_one"]) {
            Ok(())
        } else {
            Err(found)
        }
    });
    let gone = ask(&mut world, "beta_");
    assert_eq!(gone["matches"], json!([]), "{gone}");
    // The kernel is dead: what is left is the text.
    world.run_with(json!({"code": "import os\nos._exit(3)"}));
    let left = ask(&mut world, "gamma_one = 1\ngamma_");
    assert_eq!(left["matches"], json!(["gamma_one"]), "{left}");
    assert_eq!(left["sources"], json!(["text"]), "{left}");
}
