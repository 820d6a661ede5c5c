//! Every operation is answered when its caller's time is over, also one that only computes;
//! and its work stops.

use std::fs;
use std::time::Duration;

use pillion_testing::project::{bare, git};
use pillion_testing::{DEADLINE, THINGS, TestContext, wait_for};
use serde_json::json;

use super::examples::{endless, example, write_shop};

/// Milliseconds that every operation is given.
const SHORT: u64 = 400;

/// A project that is worked on for much longer than any test waits.
fn large() -> TestContext {
    let context = bare();
    context.write("things.py", THINGS);
    context.write("slow.py", "import time\n\ntime.sleep(600)\n");
    context.write("old_sidecar.py", include_str!("../old_sidecar.py"));
    write_shop(&context);
    let line = "values = [f(a, b=[1, 2, {'x': (c.d[0], not e)}]) for a, (b, c) in g(x) if a < b]\n";
    let many = line.repeat(4_000);
    for number in 0..160 {
        let text = format!(
            "from shop.money import add\n\n\ndef f{number}(x):\n    return add(x)\n\n\n{many}"
        );
        context.write(&format!("large/m{number}.py"), &text);
    }
    let line = "export function f(a: number) { return [1, 2].map((x) => { return g(x, a); }); }\n";
    for number in 0..40 {
        context.write(&format!("web/m{number}.ts"), &line.repeat(4_000));
    }
    git(&context, &["init", "-q", "-b", "main"]);
    context.trusted_config(
        "[sidecar.old]\ncommand = ['python3', '-u', 'old_sidecar.py', '--sidecar']\n",
    )
}

/// Processor time of a process, in clock ticks.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = fields.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn every_operation_keeps_the_time_of_its_caller() {
    let context = large();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut other = daemon.connect();
    let (mut late, mut wrong) = (0, Vec::new());
    for definition in pillion::definitions() {
        if definition.name == "system.shutdown" {
            continue;
        }
        let endless = endless(&definition, &context);
        let is_endless = endless.is_some();
        let mut params = endless.unwrap_or_else(|| example(&definition, &context));
        if params.get("job_id").is_some() {
            let job = json!({"code": "while True: pass", "root": context.project});
            params["job_id"] = rpc.call("exec.start", job).unwrap()["job_id"].clone();
        }
        params["timeout_ms"] = json!(SHORT);
        // The answer must come while the helper waits; others are served meanwhile.
        let id = rpc.send(definition.name, params);
        other.call("system.ping", json!({})).unwrap();
        let outcome = rpc.outcome(id);
        let code = outcome
            .as_ref()
            .err()
            .map(|error| error["data"]["code"].clone());
        match code {
            Some(code) if code == "timeout" => late += 1,
            _ if is_endless => wrong.push(format!("{}: {outcome:?}", definition.name)),
            _ => {}
        }
        if late == 1 {
            // This one's work is far from done, and nobody waits for it any more.
            wait_for(DEADLINE, "the work to stop", || {
                let before = ticks(daemon.pid);
                std::thread::sleep(Duration::from_millis(500));
                match ticks(daemon.pid) - before {
                    0..10 => Ok(()),
                    used => Err(format!("{used} ticks in half a second")),
                }
            });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        late > 20,
        "only {late} were late: the project is not large enough"
    );
    rpc.call("system.shutdown", json!({"timeout_ms": SHORT}))
        .unwrap();
}
