//! What is known of a project is what is there: its root, its `pillion.toml`, its Python and
//! the packages of that, however they were changed, and whoever asked meanwhile.

use std::fs;
use std::path::{Path, PathBuf};

use pillion_testing::project::{TestProject, bare};
use pillion_testing::rpc::Rpc;
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

fn answer(text: &str) -> String {
    format!("def answer():\n    return '{text}'\n")
}

/// A virtual environment; gives the folder of its packages.
fn environment(context: &TestContext, at: &Path) -> PathBuf {
    let mut venv = context.command("python3");
    venv.args(["-m", "venv", "--without-pip"]).arg(at);
    let made = CommandOutput::of(venv);
    assert_eq!(made.code, Some(0), "{made}");
    let library = fs::read_dir(at.join("lib")).unwrap().flatten().next();
    library.unwrap().path().join("site-packages")
}

/// Change what is at a path, and set its modification time back, as `touch -r` does.
fn unnoticed(path: &Path, change: impl FnOnce()) {
    let before = path.metadata().unwrap().modified().unwrap();
    change();
    let file = fs::File::open(path).unwrap();
    file.set_modified(before).unwrap();
    assert_eq!(path.metadata().unwrap().modified().unwrap(), before);
}

#[test]
fn a_path_file_that_is_edited_in_place_is_read_again() {
    let context = TestContext::new();
    let packages = environment(&context, &context.project.join(".venv"));
    for name in ["one", "two"] {
        let folder = context.base.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("linked.py"), answer(name)).unwrap();
    }
    // As an editable install leaves it.
    let link = packages.join("linked.pth");
    fs::write(&link, context.path("one")).unwrap();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert_eq!(rpc.py("linked:answer", json!([])).unwrap(), "one");
    // Neither its folder, nor its size, nor its time tells of it.
    unnoticed(&link, || fs::write(&link, context.path("two")).unwrap());
    assert_eq!(rpc.py("linked:answer", json!([])).unwrap(), "two");
}

#[test]
fn an_active_environment_that_changes_its_mind_is_asked_again() {
    let context = TestContext::new();
    let active = context.base.join("active");
    environment(&context, &active);
    context.write(
        "kind.py",
        "import sys\n\n\ndef answer():\n    return len([p for p in sys.path if 'packages' in p])\n",
    );
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut count = || {
        let active = json!({"virtual_env": active});
        rpc.py_with("kind:answer", json!([]), active).unwrap()
    };
    let alone = count();
    let settings = active.join("pyvenv.cfg");
    let text = fs::read_to_string(&settings).unwrap();
    let system = text.replace("packages = false", "packages = true");
    assert_ne!(text, system);
    fs::write(&settings, system).unwrap();
    assert!(
        count().as_u64() > alone.as_u64(),
        "with those of the system"
    );
}

#[test]
fn a_nearer_root_that_appears_is_taken() {
    let context = TestContext::new();
    context.write("pyproject.toml", "");
    context.write("inner/where.py", &answer("inner"));
    context.write("where.py", &answer("outer"));
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let inner = json!({"root": context.project.join("inner")});
    let mut call = || rpc.py_with("where:answer", json!([]), inner.clone());
    assert_eq!(call().unwrap(), "outer");
    context.write("inner/pillion.toml", "");
    assert_eq!(call().unwrap(), "inner");
}

#[test]
fn questions_about_many_other_folders_do_not_make_old_workers_answer() {
    let context = TestContext::new().config("[python]\nenv = { WHAT = 'old' }\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert_eq!(rpc.py("things:env", json!(["WHAT"])).unwrap(), "old");
    crowd(&context, &mut rpc);
    context.write("pillion.toml", "[python]\nenv = { WHAT = 'new' }\n");
    assert_eq!(rpc.py("things:env", json!(["WHAT"])).unwrap(), "new");
}

/// Ask something about more folders than are remembered. Nothing is started for it.
fn crowd(context: &TestContext, rpc: &mut Rpc) {
    for number in 0..300 {
        let root = context.base.join(format!("crowd/{number}"));
        fs::create_dir_all(&root).unwrap();
        let more = json!({"root": root});
        let id = rpc.send_sidecar("nobody", "hello", json!({}), more);
        let error = rpc.outcome(id).unwrap_err();
        assert_eq!(error["data"]["code"], "not_found", "{error}");
    }
}

#[test]
fn a_package_that_is_replaced_unseen_is_imported_anew_by_lanes() {
    let context = TestContext::new();
    let packages = environment(&context, &context.project.join(".venv"));
    fs::write(packages.join("tool.py"), "VALUE = 'old'\n").unwrap();
    let context = context.trusted_config("[lanes.expert]\nimports = ['tool']\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut run = || {
        let order = json!({"code": "import tool; print(tool.VALUE)", "lane": "expert",
            "root": context.project});
        let reply = rpc.call("exec.run", order).unwrap();
        assert_eq!(reply["outcome"], "ok", "{reply}");
        reply["stdout"].as_str().unwrap().trim().to_owned()
    };
    assert_eq!(run(), "old");
    unnoticed(&packages, || {
        let new = packages.join("tool.new");
        fs::write(&new, "VALUE = 'new'\n").unwrap();
        fs::rename(new, packages.join("tool.py")).unwrap();
        let _ = fs::remove_dir_all(packages.join("__pycache__"));
    });
    assert_eq!(run(), "new");
}

#[test]
fn a_file_that_a_run_changes_unseen_is_among_what_it_made() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for fresh in [false, true] {
        let mut made = |code: &str| {
            let order = json!({"code": code, "session": "one", "fresh": fresh,
                "root": context.project});
            let reply = rpc.call("exec.run", order).unwrap();
            assert_eq!(reply["outcome"], "ok", "{reply}");
            reply["artifacts"].clone()
        };
        let file = json!([{"name": "a.txt", "size_bytes": 4}]);
        assert_eq!(made("open('a.txt', 'w').write('kept')"), file);
        let nothing = made("print(open('a.txt').read())");
        assert!(nothing.as_array().is_none_or(Vec::is_empty), "{nothing}");
        let unseen = "import os\nfound = os.stat('a.txt')\nopen('a.txt', 'w').write('lost')\n\
            os.utime('a.txt', ns=(found.st_atime_ns, found.st_mtime_ns))\n";
        assert_eq!(made(unseen), file);
    }
}

#[test]
fn a_python_that_was_missing_is_seen_by_questions_when_it_comes() {
    let context = bare();
    context.write("main.py", "import plugin\n\nplugin.answer()\n");
    let context = context.trusted_config("[python]\ninterpreter = '../later'\n");
    let mut project = TestProject::new(context);
    let found = |project: &mut TestProject| {
        let place = project.find("main.py", "plugin.ans|wer");
        let told: Value = project.ask_at("defs", place);
        told["locations"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(found(&mut project), 0);
    let later = project.context.base.join("later");
    let packages = environment(&project.context, &later);
    fs::write(packages.join("plugin.py"), answer("there")).unwrap();
    assert_eq!(found(&mut project), 1);
}
