//! Kernels that have started before anybody asks for one.

use pillion_testing::{TestContext, processes, wait_until};
use serde_json::json;

use super::World;

const SPARE: &str = "kernel-spare";

impl World {
    /// Wait until a kernel waits for its session; its process.
    fn spare(&mut self) -> u32 {
        let mut found = None;
        wait_until("a kernel that waits for its session", || {
            let status = self.rpc.call("notebook.status", json!({})).unwrap();
            found = (status["spares"] == 1).then(|| self.named(SPARE)).flatten();
            found.is_some()
        });
        found.unwrap()
    }
}

/// What holds for a kernel of a session, whether it had waited for it or not.
fn use_spares(mut world: World) {
    let cell = |session: &str, code: &str| json!({"session": session, "code": code});
    let wrote = world.run_with(cell("first", "open('mine.txt', 'w').write('first')"));
    assert_eq!(wrote["success"], true, "{wrote}");
    let spare = world.spare();
    let look = "import os\nfound = [os.getcwd(), os.listdir('.'), sorted(os.listdir('/lane')), \
                os.listdir('/lane/folders')]\n\
                hidden = [path for line in open('/proc/self/mountinfo') for path in line.split() \
                if 'first' in path]\n\
                open('made.txt', 'w').write('second')\nprint(found, hidden)";
    let ran = world.run_with(cell("second", look));
    let expected = "['/lane/work', [], ['folders', 'tmp', 'work'], []] []\n";
    assert_eq!(ran["stdout"], expected, "{ran}");
    assert_eq!(ran["execution_count"], 1);
    assert_eq!(world.named("kernel-second"), Some(spare), "it had waited");
    let made = world
        .context
        .base
        .join("pillion/data/sessions/second/user_workspace/made.txt");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "second");
    // One that has lost its kernel gets the next, with the files that it had.
    let next = world.spare();
    assert_ne!(next, spare);
    processes::kill(world.named("kernel-first").unwrap());
    wait_until("the death to be noticed", || {
        let status = world.ask("status", json!({"session": "first"}));
        status["kernels"][0]["state"] == "dead"
    });
    let after = world.run_with(cell(
        "first",
        "print(open('mine.txt').read(), 'kept' in globals())",
    ));
    assert_eq!(after["stdout"], "first False\n", "{after}");
    assert!(after["notice"].is_string(), "the loss is said: {after}");
    assert_eq!(world.named("kernel-first"), Some(next));
    // And what took the place of a spare is started anew as any other.
    let touched = world.ask("restart", world.params(json!({"session": "second"})));
    assert_eq!(touched["done"], true);
    let again = world.run_with(cell("second", "import os\nprint(sorted(os.listdir('.')))"));
    assert_eq!(again["stdout"], "['made.txt']\n", "{again}");
    assert!(!processes::is_alive(spare));
}

#[test]
fn the_next_session_takes_the_kernel_that_waits() {
    use_spares(World::new());
}

#[test]
fn the_next_session_takes_the_kernel_that_waits_as_an_ordinary_user() {
    World::ordinary().into_iter().for_each(use_spares);
}

#[test]
fn a_spare_that_died_is_in_nobodys_way() {
    let mut world = World::new();
    world.run("1");
    let spare = world.spare();
    processes::kill(spare);
    wait_until("the death to be noticed", || {
        world.named(SPARE) != Some(spare) && world.ask("status", json!({}))["spares"] == 0
    });
    let ran = world.run_with(json!({"session": "next", "code": "1 + 1"}));
    assert_eq!(ran["result_repr"], "2", "{ran}");
    assert!(ran.get("notice").is_none(), "nothing was lost: {ran}");
}

#[test]
fn who_wants_another_kernel_does_not_get_the_one_that_waits() {
    let mut world = World::new();
    world.run("1");
    let spare = world.spare();
    let other = json!({"session": "small", "code": "1", "memory_limit_mb": 300});
    assert_eq!(world.run_with(other)["success"], true);
    assert_ne!(world.named("kernel-small"), Some(spare));
}

#[test]
fn the_folder_that_a_spare_gets_has_its_limit() {
    let context = TestContext::new().config("[lanes.user]\ndisk_mb = 16\n");
    let mut world = World::with(context);
    world.run("1");
    let spare = world.spare();
    let fill = "with open('large', 'wb') as file:\n    while True:\n        \
                file.write(b'x' * (1 << 20))\n        file.flush()";
    let ran = world.run_with(json!({"session": "full", "code": fill}));
    assert_eq!(ran["outcome"], "disk_limit", "{ran}");
    assert!(!processes::is_alive(spare), "it was the spare");
}

#[test]
fn nobody_has_a_spare_who_wants_none() {
    let context = TestContext::new().config("[notebook]\nspare = false\n");
    let mut world = World::with(context);
    for session in ["a", "b", "c"] {
        world.run_with(json!({"session": session, "code": "1"}));
    }
    assert_eq!(world.named(SPARE), None);
}
