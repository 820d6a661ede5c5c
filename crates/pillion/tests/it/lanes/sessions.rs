//! Folders that stay: what they may hold, how they are listed and emptied, and that none of them
//! becomes unusable by what a run did to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pillion_testing::wait_until;
use serde_json::{Value, json};

use super::world::{Way, Who, World};

const SLOT: Way = Way {
    lane: "user",
    fresh: false,
};
const FRESH: Way = Way {
    lane: "user",
    fresh: true,
};

/// Every world there can be, and the ways of the user lane in it.
fn worlds() -> Vec<(World, Vec<Way>)> {
    let boxed = [Who::Root, Who::Ordinary].map(|who| (World::of(who, "L3"), vec![SLOT, FRESH]));
    let alone = (World::of(Who::Ordinary, "L2"), vec![FRESH]);
    let all = boxed.into_iter().chain([alone]);
    all.filter_map(|(world, ways)| Some((world?, ways)))
        .collect()
}

fn run(world: &World, way: Way, session: &str, code: &str) -> Value {
    let more = json!({"session": session, "timeout_seconds": 30});
    let order = world.order(way, code, &[], more);
    world.daemon.connect().call("exec.run", order).unwrap()
}

fn ends(world: &World, way: Way, session: &str, code: &str, outcome: &str) -> Value {
    let reply = run(world, way, session, code);
    let level = world.level;
    assert_eq!(reply["outcome"], outcome, "{level} {way:?} {code}: {reply}");
    reply
}

/// Writes until it is ended.
const FILL: &str = "import time\nfor n in range(1000):\n    \
    open(f'{time.time_ns()}-{n}', 'wb').write(b'x' * (1 << 20))\n\
    time.sleep(30)";

#[test]
fn a_session_that_is_full_can_be_used_and_cleaned_up() {
    for (world, ways) in worlds() {
        for way in ways {
            let session = world.new_session();
            ends(&world, way, &session, FILL, "disk_limit");
            // Longer than any look takes.
            ends(&world, way, &session, "import time; time.sleep(1)", "ok");
            ends(&world, way, &session, FILL, "disk_limit");
            let some = "import time\nfor name in sorted(os.listdir('.'))[1:4]: os.unlink(name)\n\
                time.sleep(1)";
            ends(&world, way, &session, some, "ok");
            let all = "import time\nfor name in os.listdir('.'):\n    \
                if os.path.isfile(name): os.unlink(name)\ntime.sleep(1)";
            ends(&world, way, &session, all, "ok");
            let again = "import time; open('new', 'wb').write(b'x' * (1 << 20)); time.sleep(0.5)";
            ends(&world, way, &session, again, "ok");
        }
        world.end();
    }
}

#[test]
fn what_a_run_does_to_its_folder_spoils_it_for_nobody() {
    let folders = "for n in range(1000): os.mkdir(f'sub-{n}')";
    let closed = "os.makedirs('closed/below'); open('closed/file', 'w').close()\n\
        os.chmod('closed/below', 0); os.chmod('closed', 0o100)";
    for (world, ways) in worlds() {
        for way in ways {
            let session = world.new_session();
            ends(&world, way, &session, folders, "ok");
            ends(&world, way, &session, "import time; time.sleep(0.5)", "ok");
            let session = world.new_session();
            // Rights of files cannot be changed without namespaces, but given.
            let closed = match world.level {
                "L2" => "os.mkdir('closed', 0o300); open('closed/file', 'w').close()",
                _ => closed,
            };
            // Whoever looks meanwhile may end it for what he cannot see.
            run(&world, way, &session, closed);
            let look = "import time; time.sleep(0.5); os.listdir('.')";
            ends(&world, way, &session, look, "ok");
            if world.level == "L3" {
                ends(&world, way, &session, "os.chmod('.', 0)", "ok");
                ends(&world, way, &session, look, "ok");
            }
        }
        world.end();
    }
}

/// A folder that a run left behind is its process's, which is known by more than its pid.
#[test]
fn what_a_killed_daemon_left_goes_although_its_pid_runs_again() {
    let context = pillion_testing::TestContext::new();
    let sessions = context.base.join("pillion/data/sessions");
    fs::create_dir_all(&sessions).unwrap();
    for folder in [&sessions, sessions.parent().unwrap()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    // This process runs, but did not start with the machine.
    let pid = std::process::id();
    let reused = sessions.join(format!(".run-{pid}.1-0"));
    let ours = pillion_process::stat::Identity::of(pid).unwrap();
    let ours = sessions.join(format!(".run-{pid}.{}-0", ours.start));
    for folder in [&reused, &ours] {
        fs::create_dir(folder).unwrap();
    }
    let daemon = context.daemon();
    let run = json!({"code": "", "root": context.project});
    let reply = daemon.connect().call("exec.run", run).unwrap();
    assert_eq!(reply["outcome"], "ok", "{reply}");
    assert!(!reused.exists(), "another process had that pid");
    assert!(ours.exists(), "its process runs");
}

#[test]
fn sessions_are_listed_and_emptied() {
    let deep = "for n in range(1500):\n    os.mkdir('d'); os.chdir('d')";
    for (world, ways) in worlds() {
        let mut rpc = world.daemon.connect();
        let mut listed = |name: &str| -> Value {
            let list = rpc.call("exec.sessions", json!({})).unwrap();
            let all = list["sessions"].as_array().unwrap();
            assert_eq!(list["total"], all.len());
            let found = all.iter().find(|session| session["session_id"] == *name);
            found.unwrap_or_else(|| panic!("no {name}: {list}")).clone()
        };
        let mut rpc = world.daemon.connect();
        let mut clear = |name: &str| rpc.call("exec.session_clear", json!({"session": name}));
        for way in ways {
            let session = world.new_session();
            let write = "os.mkdir('sub'); open('sub/a', 'wb').write(b'x' * 500_000)";
            ends(&world, way, &session, write, "ok");
            let found = listed(&session);
            let files = if world.level == "L2" { 3 } else { 2 };
            assert_eq!(found["files"], files, "{found}");
            assert!(found["size_bytes"].as_u64().unwrap() >= 500_000, "{found}");
            assert_eq!(found["running"], false, "{found}");
            assert!(found["last_used_at"].as_str().unwrap().starts_with("20"));

            let wait = "import time\nopen('begun', 'w').close()\n\
                while not os.path.exists('go'): time.sleep(0.01)";
            let more = json!({"session": session, "timeout_seconds": 60});
            let mut other = world.daemon.connect();
            let waiting = other.send("exec.run", world.order(way, wait, &[], more));
            let folder = world.session(&session);
            wait_until("it to begin", || folder.join("begun").exists());
            assert_eq!(listed(&session)["running"], true);
            let error = clear(&session).unwrap_err();
            assert_eq!(error["data"]["code"], "busy", "{error}");
            assert!(folder.join("sub/a").exists());
            fs::write(folder.join("go"), "").unwrap();
            assert_eq!(other.outcome(waiting).unwrap()["outcome"], "ok");

            let cleared = clear(&session).unwrap();
            assert!(
                cleared["removed_bytes"].as_u64().unwrap() >= 500_000,
                "{cleared}"
            );
            assert_eq!(listed(&session)["files"], 0);
            let look = "print([name for name in os.listdir('.') if name != '.tmp'])";
            let reply = ends(&world, way, &session, look, "ok");
            assert_eq!(reply["stdout"], "[]\n", "{reply}");

            // One that cannot be looked through is not used, and can be emptied.
            let reply = run(&world, way, &session, deep);
            assert!(["ok", "disk_limit"].contains(&reply["outcome"].as_str().unwrap()));
            let more = json!({"session": session});
            let order = world.order(way, "", &[], more);
            let error = other.call("exec.run", order).unwrap_err();
            assert_eq!(error["data"]["code"], "start_failed", "{error}");
            assert!(
                error["data"]["hint"]
                    .as_str()
                    .unwrap()
                    .contains("session-clear")
            );
            clear(&session).unwrap();
            ends(&world, way, &session, "", "ok");
        }
        for (name, code) in [("no-such", "not_found"), ("../other", "invalid_params")] {
            assert_eq!(clear(name).unwrap_err()["data"]["code"], code);
        }
        world.end();
    }
}

/// Many names make it take longer to add a folder up. Whoever writes meanwhile does not get far.
#[test]
fn many_names_do_not_hide_what_is_written() {
    let config = "[lanes.user]\nslots = 2\ndisk_mb = 16\ndisk_files = 10000\n";
    let world = World::with(Who::Ordinary, "L3", config).unwrap();
    let links = "for half in 'ab':\n    open(half, 'w').close()\n    \
        for n in range(47_000): os.link(half, f'{half}{n}')";
    // Files without a name, which a walk would not meet.
    let write = "import time\npiece = b'x' * (8 << 20)\nkept = []\nfor n in range(190):\n    \
        kept.append(open('f', 'wb')); os.unlink('f'); kept[-1].write(piece); kept[-1].flush()\n    \
        print(n, flush=True)\ntime.sleep(30)";
    for way in [SLOT, FRESH] {
        let session = world.new_session();
        ends(&world, way, &session, links, "ok");
        let reply = ends(&world, way, &session, write, "disk_limit");
        let pieces = reply["stdout"].as_str().unwrap().lines().count();
        // The limit is two of them.
        assert!(pieces < 40, "{way:?}: {pieces} of 190 were written");
    }
    world.end();
}
