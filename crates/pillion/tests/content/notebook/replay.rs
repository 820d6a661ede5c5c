//! Cells that are run again on the kernel that takes the place of a lost one.

use serde_json::{Value, json};

use super::World;

const DIE: &str = "import os\nos._exit(3)";

impl World {
    fn replay(&mut self, code: &str) -> Value {
        self.run_with(json!({"code": code, "replay": true}))
    }
}

#[test]
fn what_a_lost_kernel_knew_is_made_again_by_who_asks_for_it() {
    let mut world = World::new();
    world.run("kept = 40\nprint('shown once')");
    world.run("1 / 0");
    world.run_with(json!({"code": "kept += int(input())", "inputs": ["2"]}));
    world.run(DIE);
    let again = world.replay("kept");
    assert_eq!(again["result_repr"], "42", "{again}");
    assert_eq!(again["stdout"], "", "{again}");
    assert_eq!(again["outputs"].as_array().unwrap().len(), 1, "{again}");
    let notice = again["notice"].as_str().unwrap();
    assert!(notice.contains("exited with code 3"), "{notice}");
    assert!(
        notice.contains("2 earlier cells were run again"),
        "{notice}"
    );
    let after = world.replay("kept");
    assert_eq!(after["result_repr"], "42", "{after}");
    assert!(after.get("notice").is_none(), "it knows all: {after}");
    // Who has run something else in between still gets everything, in its order.
    world.run("kept *= 2\nolder = kept");
    world.run(DIE);
    assert_eq!(world.run("kept = 1")["success"], true);
    let all = world.replay("kept, older");
    assert_eq!(all["result_repr"], "(1, 84)", "{all}");
}

#[test]
fn a_replay_says_where_it_stopped_and_restarts_forget() {
    let mut world = World::new();
    world.run("kept = 1");
    world.run("open('once', 'x').close()");
    world.run(DIE);
    let params = world.params(json!({"code": "kept", "replay": true}));
    let error = world.rpc.call("notebook.run_cell", params).unwrap_err();
    assert_eq!(error["data"]["code"], "conflict", "{error}");
    let said = error["message"].as_str().unwrap();
    assert!(said.contains("at cell 2 of 2: FileExistsError"), "{said}");
    world.ask("restart", world.params(json!({})));
    let after = world.replay("'kept' in globals()");
    assert_eq!(after["result_repr"], "False", "{after}");
    assert!(after.get("notice").is_none(), "{after}");
}
