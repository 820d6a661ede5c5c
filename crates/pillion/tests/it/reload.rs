//! Edits of the user's modules: the next call runs the new code, and never the old.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use pillion_testing::{TestContext, wait_for_file, wait_until};
use serde_json::json;

fn answer(text: &str) -> String {
    format!("def answer():\n    return {text}\n")
}

#[test]
fn the_call_after_an_edit_runs_the_new_code() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for n in 0..20 {
        context.write("edited.py", &answer(&n.to_string()));
        assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), n);
        assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), n, "and again");
    }
}

#[test]
fn an_edit_of_the_same_size_in_the_same_second_is_seen() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let when = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for n in 10..20 {
        let file = context.write("edited.py", &answer(&n.to_string()));
        // Not a nanosecond of difference in the time that an editor can set.
        let file = fs::File::options().append(true).open(file).unwrap();
        file.set_modified(when).unwrap();
        assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), n);
    }
}

#[test]
fn a_file_that_replaces_another_is_seen() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for n in 10..20 {
        // As most editors save: under another name first.
        let new = context.write("edited.py.new", &answer(&n.to_string()));
        fs::rename(new, context.project.join("edited.py")).unwrap();
        assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), n);
    }
}

#[test]
fn a_module_that_appears_in_an_earlier_folder_is_taken() {
    let context = TestContext::new();
    context.write("src/late.py", &answer("'src'"));
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert_eq!(rpc.py("late:answer", json!([])).unwrap(), "src");
    context.write("late.py", &answer("'root'"));
    assert_eq!(rpc.py("late:answer", json!([])).unwrap(), "root");
    fs::remove_file(context.project.join("late.py")).unwrap();
    assert_eq!(rpc.py("late:answer", json!([])).unwrap(), "src");
}

#[test]
fn a_folder_that_imports_pass_over_retires_nobody() {
    let context = TestContext::new();
    context.write("src/data.py", &answer("1"));
    context.write("data/table.csv", "");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for _ in 0..3 {
        assert_eq!(rpc.py("data:answer", json!([])).unwrap(), 1);
        let sidecars = daemon.sidecars();
        assert_eq!(sidecars.len(), 1, "{sidecars:?}");
        assert_eq!(sidecars[0]["generation"], 1, "{sidecars:?}");
    }
}

#[test]
fn an_optional_module_that_appears_is_imported() {
    let context = TestContext::new();
    context.write(
        "main.py",
        "try:\n    import extra\nexcept ImportError:\n    extra = None\n\
         def answer():\n    return extra and extra.answer()\n",
    );
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert!(rpc.py("main:answer", json!([])).unwrap().is_null());
    context.write("extra.py", &answer("7"));
    assert_eq!(rpc.py("main:answer", json!([])).unwrap(), 7);
    fs::remove_file(context.project.join("extra.py")).unwrap();
    assert!(rpc.py("main:answer", json!([])).unwrap().is_null());
}

#[test]
fn a_change_far_down_the_imports_is_seen() {
    let context = TestContext::new();
    context.write(
        "a.py",
        "import pkg.b\ndef answer():\n    return pkg.b.value()\n",
    );
    context.write("pkg/__init__.py", "");
    context.write(
        "pkg/b.py",
        "from . import c\ndef value():\n    return c.VALUE\n",
    );
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for n in 10..15 {
        context.write("pkg/c.py", &format!("VALUE = {n}\n"));
        assert_eq!(rpc.py("a:answer", json!([])).unwrap(), n);
    }
    context.write("pkg/b.py", "def value():\n    return 'changed'\n");
    assert_eq!(rpc.py("a:answer", json!([])).unwrap(), "changed");
}

#[test]
fn an_import_inside_a_function_is_known_from_then_on() {
    let context = TestContext::new();
    context.write(
        "late.py",
        "def answer():\n    import deep\n    return deep.VALUE\n",
    );
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for n in 10..15 {
        context.write("deep.py", &format!("VALUE = {n}\n"));
        assert_eq!(rpc.py("late:answer", json!([])).unwrap(), n);
    }
}

#[test]
fn a_mistake_is_reported_and_its_repair_is_seen() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    context.write("edited.py", &answer("1"));
    assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), 1);
    context.write("edited.py", "def answer(:\n");
    let error = rpc.py("edited:answer", json!([])).unwrap_err();
    assert_eq!(error["data"]["data"]["type"], "SyntaxError", "{error}");
    context.write("edited.py", &answer("2"));
    assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), 2);
    fs::remove_file(context.project.join("edited.py")).unwrap();
    let error = rpc.py("edited:answer", json!([])).unwrap_err();
    assert_eq!(error["data"]["code"], "not_found", "{error}");
    context.write("edited.py", &answer("3"));
    assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), 3);
}

#[test]
fn a_running_call_ends_undisturbed_while_others_get_the_new_code() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    context.write("edited.py", &answer("1"));
    let (started, go) = (context.path("started"), context.path("go"));
    assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), 1);
    let running = rpc.send_py("things:block", json!([started, go]), json!({}));
    let pid = wait_for_file(&started);
    context.write("edited.py", &answer("2"));
    assert_eq!(
        rpc.py("edited:answer", json!([])).unwrap(),
        2,
        "it need not wait"
    );
    fs::write(go, "").unwrap();
    assert_eq!(
        rpc.outcome(running).unwrap()["result"].to_string(),
        pid.trim()
    );
    wait_until("the old worker to be gone", || {
        !context
            .processes()
            .iter()
            .any(|p| p.pid.to_string() == pid.trim())
    });
}

/// The first call is still running, so nobody knows yet what it has imported; then a file
/// changes, and a second call comes and waits behind the first.
#[test]
fn a_call_that_waited_behind_an_import_never_runs_the_old_code() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    context.write(
        "slow.py",
        "import things\nVALUE = 1\n\
         def work(started, go):\n    return things.block(started, go)\n\
         def answer():\n    return VALUE\n",
    );
    let first = rpc.send_py("slow:work", json!([started, go]), json!({}));
    wait_for_file(&started);
    context.write("slow.py", "def answer():\n    return 2\n");
    let second = rpc.send_py("slow:answer", json!([]), json!({}));
    // Both are in the daemon's hands now: requests of one connection are read in order.
    rpc.call("system.ping", json!({})).unwrap();
    fs::write(go, "").unwrap();
    assert!(rpc.outcome(first).is_ok());
    assert_eq!(rpc.outcome(second).unwrap()["result"], 2);
}

#[test]
fn a_preloaded_module_is_no_exception() {
    let context = TestContext::new().config("[python]\npreload = ['edited']\n");
    context.write("edited.py", &answer("0"));
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for n in 10..20 {
        context.write("edited.py", &answer(&n.to_string()));
        assert_eq!(rpc.py("edited:answer", json!([])).unwrap(), n);
    }
}

#[test]
fn every_worker_of_a_pool_is_replaced() {
    let context = TestContext::new().config("[python]\nworkers = 3\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for round in 0..3 {
        context.write("edited.py", &answer(&round.to_string()));
        let ids: Vec<u64> = (0..12)
            .map(|_| rpc.send_py("edited:answer", json!([]), json!({})))
            .collect();
        for id in ids {
            assert_eq!(rpc.outcome(id).unwrap()["result"], round);
        }
    }
}

#[test]
fn installed_packages_and_configuration_count_too() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pid = rpc.py("things:pid", json!([])).unwrap();
    assert_eq!(
        rpc.py("things:pid", json!([])).unwrap(),
        pid,
        "nothing changed"
    );
    let library = context.base.join("library");
    fs::create_dir(&library).unwrap();
    fs::write(library.join("outside.py"), answer("'from outside'")).unwrap();
    assert!(rpc.py("outside:answer", json!([])).is_err());
    context.write("pillion.toml", "[python]\npath = ['../library']\n");
    assert_eq!(rpc.py("outside:answer", json!([])).unwrap(), "from outside");
    edit_and_see(&mut rpc, &library.join("outside.py"));
}

fn edit_and_see(rpc: &mut pillion_testing::rpc::Rpc, file: &Path) {
    fs::write(file, answer("'edited'")).unwrap();
    assert_eq!(rpc.py("outside:answer", json!([])).unwrap(), "edited");
}

/// Many files are watched instead of asked, so every way to change one has to be noticed.
#[test]
fn one_of_many_modules_is_seen_however_it_is_changed() {
    let context = TestContext::new();
    let value = |n: usize, value: usize| {
        context.write(&format!("many/m{n}.py"), &format!("VALUE = {value}\n"))
    };
    context.write("many/__init__.py", "");
    for n in 0..40 {
        value(n, 1000);
    }
    let link = context.base.join("linked.py");
    fs::write(&link, "VALUE = 1000\n").unwrap();
    std::os::unix::fs::symlink(&link, context.project.join("many/m40.py")).unwrap();
    context.write(
        "total.py",
        "import importlib\nALL = [importlib.import_module(f'many.m{n}') for n in range(41)]\n\
         def answer():\n    return sum(module.VALUE for module in ALL)\n",
    );
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut values = vec![1000; 41];
    let when = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for round in 0..24 {
        let n = (round * 17) % 40;
        values[n] += round + 1;
        match round % 4 {
            0 => {
                value(n, values[n]);
            }
            1 => {
                let new = context.write("many/new", &format!("VALUE = {}\n", values[n]));
                fs::rename(new, context.project.join(format!("many/m{n}.py"))).unwrap();
            }
            2 => {
                let file = fs::File::options().append(true).open(value(n, values[n]));
                file.unwrap().set_modified(when).unwrap();
            }
            _ => {
                values[n] -= round + 1;
                values[40] += 1;
                fs::write(&link, format!("VALUE = {}\n", values[40])).unwrap();
            }
        }
        let total: usize = values.iter().sum();
        assert_eq!(
            rpc.py("total:answer", json!([])).unwrap(),
            total,
            "round {round}"
        );
        assert_eq!(
            rpc.py("total:answer", json!([])).unwrap(),
            total,
            "round {round}, again"
        );
    }
    // Another folder in the place of the whole package.
    let package = context.project.join("many");
    fs::rename(&package, context.base.join("old")).unwrap();
    for n in 0..41 {
        value(n, 1);
    }
    assert_eq!(rpc.py("total:answer", json!([])).unwrap(), 41);
}
