//! Kernels under more than anybody would ask of them: many at once, floods of output, messages
//! and questions, and a machine that sleeps.

use std::time::Duration;

use pillion_testing::{TestContext, processes, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::World;

const MANY: usize = 20;

impl World {
    /// Run a cell in each of many sessions, at once; the replies, by session.
    fn run_in_each(&mut self, code: impl Fn(usize) -> String) -> Vec<Value> {
        let asked: Vec<u64> = (0..MANY)
            .map(|number| {
                let cell = json!({"session": format!("s{number}"), "code": code(number)});
                let params = self.params(cell);
                self.rpc.send("notebook.run_cell", params)
            })
            .collect();
        let replies = asked.into_iter().map(|id| self.rpc.outcome(id).unwrap());
        replies.collect()
    }

    /// A kernel that can flood, with memory for what it says faster than it is read.
    fn of_flood() -> Self {
        let context = TestContext::new().trusted_config("[lanes.user]\nmemory_mb = 2048\n");
        let mut world = Self::with(context);
        let comm =
            "from comm import create_comm\ncomm = create_comm(target_name='flood')\nkept = 1";
        assert_eq!(world.run(comm)["success"], true);
        world
    }

    fn is_as_before(&mut self) {
        let ran = self.run("kept");
        assert_eq!(ran["result_repr"], "1", "{ran}\n{}", self.daemon.log());
        assert!(ran.get("notice").is_none(), "{ran}");
    }

    /// Bytes that the daemon has in memory.
    fn memory(&mut self) -> u64 {
        let status = self.rpc.call("system.status", json!({})).unwrap();
        status["memory_bytes"].as_u64().unwrap()
    }
}

#[test]
fn twenty_kernels_work_at_once_and_none_is_left() {
    let context = TestContext::new().config("[notebook]\nspare = false\n");
    let mut world = World::with(context);
    for ran in world.run_in_each(|number| format!("own = {number}")) {
        assert_eq!(ran["success"], true, "{ran}");
    }
    for (number, ran) in world
        .run_in_each(|_| "own".to_owned())
        .into_iter()
        .enumerate()
    {
        assert_eq!(ran["result_repr"], number.to_string(), "{ran}");
    }
    let status = world.ask("status", json!({}));
    let kernels = status["kernels"].as_array().unwrap();
    let idle = kernels.iter().filter(|kernel| kernel["state"] == "idle");
    assert_eq!((kernels.len(), idle.count()), (MANY, MANY), "{status}");
    for number in 0..MANY {
        let touched = world.ask("shutdown", json!({"session": format!("s{number}")}));
        assert_eq!(touched["done"], true, "{touched}");
    }
    let left = world.daemon.sidecars();
    assert!(left.iter().all(|one| one["kind"] != "kernel"), "{left:?}");
}

#[test]
fn a_flood_of_comm_messages_is_bounded_and_its_kernel_stays() {
    let mut world = World::of_flood();
    let some = world.run("for number in range(3000): comm.send({'number': number})");
    assert_eq!(some["outcome"], "ok", "{some}");
    let flood = "for _ in range(10_000): comm.send({'padding': 'x' * 3000})";
    let more = world.run_with(json!({"code": flood, "timeout_seconds": 120}));
    // Too much of it, or too late: something is missing, and that is said.
    assert_eq!(more["truncated"], true, "{more}");
    world.is_as_before();
}

#[test]
fn a_flood_that_nobody_reads_does_not_fill_the_daemon() {
    let mut world = World::of_flood();
    let before = world.memory();
    let flood = "for _ in range(40_000): comm.send({'padding': 'x' * 3900})\n\
                 open('done', 'w').close()";
    let mut params = world.params(json!({ "code": flood }));
    params["stream"] = true.into();
    // It asks, and never looks at what comes.
    let deaf = world.daemon.raw();
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "notebook.run_cell", "params": params});
    let text = request.to_string();
    std::io::Write::write_all(
        &mut &deaf,
        format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes(),
    )
    .unwrap();
    let done = world
        .context
        .base
        .join("pillion/data/sessions/default/user_workspace/done");
    wait_until("the flood to be over", || done.exists());
    let grown = world.memory().saturating_sub(before);
    assert!(grown < 150 << 20, "the daemon kept it: {grown} bytes");
    drop(deaf);
    world.is_as_before();
}

#[test]
fn one_print_of_a_hundred_megabytes_is_cut_and_said_to_be() {
    let mut world = World::new();
    world.run("kept = 1");
    let print = "print('begin' + 'x' * 100_000_000)";
    let ran = world.run_with(json!({"code": print, "timeout_seconds": 120}));
    assert_eq!(ran["outcome"], "output_limit", "{}", ran["outcome"]);
    assert_eq!(ran["truncated"], true);
    let printed = ran["stdout"].as_str().unwrap();
    assert!(printed.starts_with("beginxxx"), "what fits is there");
    assert!(printed.len() <= 16 << 20, "{} bytes", printed.len());
    world.is_as_before();
    let shorter = world.run("print('x' * 3_000_000 + 'end', end='')");
    let printed = shorter["stdout"].as_str().unwrap();
    assert!(printed.ends_with("xend") && printed.len() == 3_000_003);
    assert_eq!(shorter["truncated"], false);
}

#[test]
fn questions_without_end_are_ended_by_the_clock_or_by_a_person() {
    let mut world = World::new();
    world.run("kept = 1");
    let forever =
        "while True:\n    try:\n        input('more? ')\n    except EOFError:\n        pass";
    // Nobody answers.
    let id = world.start(json!({"code": forever, "timeout_seconds": 2}));
    world.until(id, "input_request");
    let silent = world.rpc.outcome(id).unwrap();
    assert_eq!(silent["outcome"], "timeout", "{silent}");
    world.is_as_before();
    // The input that was given ahead is used up, and its end is read again and again.
    let ended = world.run_with(json!({"code": forever, "inputs": ["x"], "timeout_seconds": 2}));
    assert_eq!(ended["outcome"], "timeout", "{ended}");
    world.is_as_before();
    // Somebody answers, as long as he likes.
    let id = world.start(json!({ "code": format!("count = 0\n{forever}\n    count += 1") }));
    let mut other = world.daemon.connect();
    for _ in 0..100 {
        wait_until("the next question to be answered", || {
            let answered = other.call("notebook.input", json!({"value": "again"}));
            answered.is_ok()
        });
    }
    other.call("notebook.interrupt", json!({})).unwrap();
    let ran = world.rpc.outcome(id).unwrap();
    assert_eq!(ran["error"]["ename"], "KeyboardInterrupt", "{ran}");
    let count: u64 = world.run("count")["result_repr"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(count >= 99, "{count}");
    world.is_as_before();
}

#[test]
fn a_machine_that_sleeps_loses_no_kernel() {
    let mut world = World::new();
    world.run("kept = 1");
    let kernel = world.kernel();
    let cell = "import time\nprint('on', flush=True)\ntime.sleep(2)\n'awake'";
    for with_daemon in [true, false] {
        let id = world.start(json!({ "code": cell }));
        world.until(id, "stream");
        let mut asleep = processes::below(world.daemon.pid);
        asleep.extend(with_daemon.then_some(world.daemon.pid));
        for pid in &asleep {
            processes::stop(*pid);
        }
        // Longer than the cell takes.
        std::thread::sleep(Duration::from_secs(4));
        for pid in &asleep {
            processes::signal(*pid, Signal::CONT);
        }
        let ran = world.rpc.outcome(id).unwrap();
        assert_eq!(ran["result_repr"], "'awake'", "{ran}");
        assert!(ran.get("notice").is_none(), "{ran}");
        world.is_as_before();
        assert_eq!(world.kernel(), kernel);
    }
}
