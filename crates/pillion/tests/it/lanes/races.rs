//! What happens beside a run: zygotes are replaced, and folders change under the daemon's hands.

use std::fs;
use std::os::unix::fs::MetadataExt;

use pillion_testing::wait_until;
use serde_json::json;

use super::world::{Way, Who, World};

/// More runs than a zygote makes slots for.
const MANY: usize = 510;

/// A zygote is replaced now and then; whoever still runs in the old one is not disturbed.
#[test]
fn a_run_outlives_its_zygote() {
    let world = World::of(Who::Ordinary, "L3").unwrap();
    let way = Way {
        lane: "user",
        fresh: false,
    };
    let code = "import time\nprint('begun', flush=True)\nopen('begun', 'w').close()\n\
                while not os.path.exists('go'): time.sleep(0.01)\nprint('ended')";
    let order = world.order(way, code, &[], json!({"timeout_seconds": 120}));
    let folder = world.session(order["session"].as_str().unwrap());
    let mut rpc = world.daemon.connect();
    let long = rpc.send("exec.run", order);
    wait_until("it to begin", || folder.join("begun").exists());
    let short = world.order(way, "", &[], json!({}));
    for _ in 0..MANY {
        let reply = rpc.call("exec.run", short.clone()).unwrap();
        assert_eq!(reply["outcome"], "ok", "{reply}");
        assert_ne!(reply["start"], "spawn", "{reply}");
    }
    assert!(!rpc.is_answered(long), "it ended with its zygote");
    fs::write(folder.join("go"), "").unwrap();
    let reply = rpc.outcome(long).unwrap();
    assert_eq!(reply["stdout"], "begun\nended\n", "{reply}");
    drop(rpc);
    world.end();
}

/// Where pillion is root it gives a session's files to whoever runs code. A run that puts links
/// in its way meanwhile does not get anything else.
#[test]
fn links_do_not_lead_the_daemon_astray() {
    let Some(world) = World::of(Who::Root, "L3") else {
        return;
    };
    let way = Way {
        lane: "user",
        fresh: false,
    };
    let swap = r#"
import ctypes, time
libc = ctypes.CDLL(None)
os.makedirs("folder", exist_ok=True)
open("folder/secret.txt", "w").close()
os.symlink(given["outside"], "link")
end = time.monotonic() + 10
while time.monotonic() < end and not os.path.exists("enough"):
    for _ in range(200):
        libc.renameat2(-100, b"folder", -100, b"link", 2)
"#;
    let order = world.order(way, swap, &[], json!({}));
    let session = order["session"].clone();
    let folder = world.session(session.as_str().unwrap());
    let mut rpc = world.daemon.connect();
    let swapping = rpc.send("exec.run", order);
    wait_until("it to begin", || {
        folder.join("link").is_symlink() || folder.join("folder").is_symlink()
    });
    let more = json!({"session": session});
    for _ in 0..100 {
        let reply = rpc.call("exec.run", world.order(way, "", &[], more.clone()));
        assert_eq!(reply.unwrap()["outcome"], "ok");
    }
    fs::write(folder.join("enough"), "").unwrap();
    rpc.outcome(swapping).unwrap();
    drop(rpc);
    for name in ["outside", "outside/secret.txt"] {
        let owner = fs::metadata(world.context.base.join(name)).unwrap().uid();
        assert_eq!(owner, 0, "{name} was given away");
    }
    world.end();
}

/// What a run made is listed afterwards, while another one puts links in the way of the list.
#[test]
fn links_do_not_lead_the_list_of_artifacts_out() {
    let world = World::of(Who::Ordinary, "L3").unwrap();
    let swap = r#"
import ctypes, time
libc = ctypes.CDLL(None)
for number in range(50):
    os.makedirs(f"folder-{number}", exist_ok=True)
    os.symlink(given["outside"], f"link-{number}")
open("begun", "w").close()
end = time.monotonic() + 60
while time.monotonic() < end and not os.path.exists("enough"):
    for number in range(50):
        folder, link = f"folder-{number}".encode(), f"link-{number}".encode()
        libc.renameat2(-100, folder, -100, link, 2)
"#;
    for fresh in [false, true] {
        let way = Way {
            lane: "user",
            fresh,
        };
        let order = world.order(way, swap, &[], json!({"timeout_seconds": 60}));
        let session = order["session"].clone();
        let folder = world.session(session.as_str().unwrap());
        let mut rpc = world.daemon.connect();
        let swapping = rpc.send("exec.run", order);
        wait_until("it to begin", || folder.join("begun").exists());
        let more = json!({"session": session, "outputs": ["**/secret.txt", "*/secret.txt"]});
        for number in 0..60 {
            let code = format!("open('made', 'w').write('{number}')");
            let reply = rpc.call("exec.run", world.order(way, &code, &[], more.clone()));
            let reply = reply.unwrap();
            assert_eq!(reply["outcome"], "ok", "{reply}");
            let listed = reply["artifacts"].as_array().unwrap();
            let names: Vec<_> = listed.iter().map(|file| &file["name"]).collect();
            assert_eq!(json!(names), json!(["made"]), "{reply}");
            assert!(reply["outputs"].is_null(), "{reply}");
        }
        fs::write(folder.join("enough"), "").unwrap();
        rpc.outcome(swapping).unwrap();
    }
    world.end();
}
