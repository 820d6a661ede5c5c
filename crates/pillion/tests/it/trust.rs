//! A folder from elsewhere: nothing of it runs outside of walls, and nothing opens them, until
//! its user has said so.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pillion_testing::project::bare;
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

/// A folder whose every program leaves a mark outside of it when it runs outside of walls.
fn downloaded(toml: &str) -> TestContext {
    // With the tools that questions about code need.
    let context = bare();
    context.write(
        "things.py",
        "import math\n\n\ndef add(a, b):\n    return a + b\n",
    );
    let mark = context.base.join("ran");
    fs::create_dir(&mark).unwrap();
    fs::set_permissions(&mark, fs::Permissions::from_mode(0o777)).unwrap();
    for program in [".venv/bin/python", "tools/python", "tools/server"] {
        let path = context.write(
            program,
            &format!(
                "#!/bin/sh\necho ran > {}/$$ 2>/dev/null\nexec python3 \"$@\"\n",
                mark.display()
            ),
        );
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    context.write(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.1\n");
    fs::copy(
        context.project.join("tools/server"),
        context.project.join(".venv/bin/basedpyright-langserver"),
    )
    .unwrap();
    if toml.is_empty() {
        context
    } else {
        context.config(toml)
    }
}

fn ran(context: &TestContext) -> usize {
    fs::read_dir(context.base.join("ran")).unwrap().count()
}

fn refused(output: &CommandOutput, setting: &str) {
    assert_eq!(output.code, Some(1), "{output}");
    let error = output.json();
    assert_eq!(error["code"], "untrusted", "{output}");
    assert!(
        error["message"].as_str().unwrap().contains(setting),
        "{output}"
    );
    assert!(
        error["hint"].as_str().unwrap().contains("pillion trust"),
        "{output}"
    );
}

/// A real environment, whose `python` is started by a link: what runs is the machine's own.
fn environment(context: &TestContext) -> PathBuf {
    let venv = context.project.join(".venv");
    let _ = fs::remove_dir_all(&venv);
    let mut make = context.command("python3");
    make.args(["-m", "venv", "--without-pip"]).arg(&venv);
    let made = CommandOutput::of(make);
    assert_eq!(made.code, Some(0), "{made}");
    venv
}

#[test]
fn nothing_of_a_folder_runs_outside_of_walls_for_a_question_or_a_run() {
    let context = downloaded("");
    for words in [
        &["exec", "-c", "print(1)"][..],
        &["exec", "--lane", "expert", "-c", "print(1)"],
        &["list", "things.py"],
        &["defs", "things.py", "1", "8"],
        &["map", "structure"],
        &["diagnostics", "things.py"],
        &["doctor"],
        &["status"],
    ] {
        let output = context.pillion(words);
        assert_eq!(ran(&context), 0, "{words:?}\n{output}");
    }
    // It would have been seen.
    let mut python = context.command(context.project.join(".venv/bin/python"));
    python.args(["-c", ""]);
    assert_eq!(CommandOutput::of(python).code, Some(0));
    assert_eq!(ran(&context), 1);
}

#[test]
fn a_python_that_lies_about_itself_shows_nothing_of_the_machine() {
    let context = downloaded("");
    let secret = context.base.join("outside");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "secret").unwrap();
    let lie = json!({"executable": context.project.join(".venv/bin/python"), "version": "3.12.1",
        "prefix": secret, "base_prefix": secret, "implementation": "cpython",
        "site_packages": [secret], "platform": "linux", "cache_tag": "cpython-312"});
    let python = context.project.join(".venv/bin/python");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *base_prefix*) echo '{lie}';; *) cat {}/key;; esac\n",
        secret.display()
    );
    fs::write(&python, script).unwrap();
    let output = context.pillion(&["--json", "exec", "-c", "print(1)"]);
    assert!(!output.to_string().contains("secret\n"), "{output}");
    let text = context.pillion(&["doctor"]).stdout;
    assert!(text.contains("does not answer like Python"), "{text}");
}

#[test]
fn the_projects_own_environment_serves_runs_without_trust() {
    let context = TestContext::new();
    let venv = environment(&context);
    let library = fs::read_dir(venv.join("lib")).unwrap().flatten().next();
    let packages = library.unwrap().path().join("site-packages");
    fs::write(packages.join("helper.py"), "VALUE = 'helped'\n").unwrap();
    let code = "import helper, sys; print(helper.VALUE, sys.executable)";
    let expected = format!("helped {}\n", venv.join("bin/python").display());
    let ran = context.pillion_json(&["--json", "exec", "-c", code]);
    assert_eq!(ran["stdout"], expected, "{ran}");
    assert_eq!(
        ran["start"], "spawn",
        "no zygote of a folder that nobody trusts: {ran}"
    );
    context.trust();
    let ran = context.pillion_json(&["--json", "exec", "-c", code]);
    assert_eq!(ran["stdout"], expected, "{ran}");
    assert_eq!(ran["start"], "fork", "{ran}");
}

#[test]
fn without_namespaces_it_is_asked_behind_the_walls_that_there_are() {
    let nobody = rustix::process::geteuid().is_root().then_some(65_534);
    let mut context = TestContext::new().for_user(nobody);
    context.set_env("PILLION_LANES_LEVEL", "L2");
    let venv = environment(&context);
    let code = "import sys; print(sys.executable)";
    let ran = context.pillion_json(&["--json", "exec", "-c", code]);
    let expected = format!("{}\n", venv.join("bin/python").display());
    assert_eq!(ran["stdout"], expected, "{ran}");
    context.pillion(&["stop"]);
    // Without any, it cannot be asked, and another Python is not what is wanted.
    fs::remove_file(context.base.join("pillion/cache/interpreters.json")).unwrap();
    context.set_env("PILLION_LANES_LEVEL", "L1");
    let output = context.pillion(&["--json", "exec", "-c", code]);
    assert_eq!(output.json()["code"], "python_not_found", "{output}");
    assert!(output.stdout.contains("pillion trust"), "{output}");
}

#[test]
fn an_environment_with_a_copy_of_python_is_one_too() {
    let context = TestContext::new();
    let mut make = context.command("python3");
    make.args(["-m", "venv", "--without-pip", "--copies", ".venv"]);
    let made = CommandOutput::of(make);
    assert_eq!(made.code, Some(0), "{made}");
    let code = "import sys; print(sys.executable)";
    let ran = context.pillion_json(&["--json", "exec", "-c", code]);
    let expected = format!("{}\n", context.project.join(".venv/bin/python").display());
    assert_eq!(ran["stdout"], expected, "{ran}");
}

#[test]
fn what_would_open_walls_is_refused_until_the_folder_is_trusted() {
    for (setting, toml) in [
        ("lanes.user.network", "[lanes.user]\nnetwork = true\n"),
        (
            "lanes.expert.allow_weaker",
            "[lanes.expert]\nallow_weaker = true\n",
        ),
        ("lanes.user.imports", "[lanes.user]\nimports = ['things']\n"),
        ("lanes.user.memory_mb", "[lanes.user]\nmemory_mb = 4096\n"),
        ("lanes.user.processes", "[lanes.user]\nprocesses = 4000\n"),
        (
            "python.interpreter",
            "[python]\ninterpreter = 'tools/python'\n",
        ),
    ] {
        let context = TestContext::new().config(toml);
        refused(
            &context.pillion(&["--json", "exec", "-c", "print(1)"]),
            setting,
        );
    }
    let context = TestContext::new().config("[lanes.user]\nmemory_mb = 100\nprocesses = 10\n");
    let ran = context.pillion_json(&["--json", "exec", "-c", "print(1)"]);
    assert_eq!(
        ran["outcome"], "ok",
        "less than usual needs no trust: {ran}"
    );
}

#[test]
fn programs_that_a_folder_configures_run_only_if_it_is_trusted() {
    let context = downloaded("[sidecar.mine]\ncommand = ['tools/server']\n");
    refused(
        &context.pillion(&["--json", "sidecar", "call", "mine", "x"]),
        "sidecar.mine",
    );
    assert_eq!(ran(&context), 0);
    let context = downloaded("[python]\ninterpreter = 'tools/python'\n");
    refused(
        &context.pillion(&["--json", "call", "math:hypot", "[3, 4]"]),
        "python.interpreter",
    );
    let named = context.pillion(&["call", "--python", "python3", "math:hypot", "[3, 4]"]);
    assert_eq!(
        named.stdout, "5.0\n",
        "who names one himself needs no trust: {named}"
    );
    context.pillion(&["defs", "things.py", "1", "8"]);
    assert_eq!(ran(&context), 0);
    for engine in ["basedpyright", "jedi"] {
        let context = downloaded(&format!("[code]\nengine = '{engine}'\n"));
        refused(
            &context.pillion(&["--json", "defs", "things.py", "1", "8"]),
            "code.engine",
        );
        assert_eq!(ran(&context), 0);
    }
    let context = TestContext::new().config("[python]\npass_env = ['AWS_SECRET']\n");
    refused(
        &context.pillion(&["--json", "call", "math:hypot", "[3, 4]"]),
        "python.pass_env",
    );
}

fn trust_records(context: &TestContext) -> Vec<PathBuf> {
    let folder = context.base.join("pillion/state/trust");
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn trust_is_given_seen_taken_back_and_lost_with_a_change() {
    let toml = "[sidecar.old]\ncommand = ['python3', '-u', 'old_sidecar.py', '--sidecar']\n";
    let context = TestContext::new().config(toml);
    context.write("old_sidecar.py", include_str!("old_sidecar.py"));
    let call = || context.pillion(&["--json", "sidecar", "call", "old", "pid"]);
    refused(&call(), "sidecar.old");
    let given = context.pillion(&["trust"]);
    assert!(given.stdout.contains("sidecar.old"), "{given}");
    assert_eq!(call().code, Some(0), "without a restart of anything");
    let records = trust_records(&context);
    assert_eq!(records.len(), 1);
    assert_eq!(
        (mode(&records[0]), mode(records[0].parent().unwrap())),
        (0o600, 0o700)
    );
    let list: Value = context.pillion_json(&["--json", "trust", "--list"]);
    assert_eq!(list, json!([{"root": context.project, "holds": true}]));

    context.write("pillion.toml", &format!("{toml}safe_commands = ['x']\n"));
    refused(&call(), "sidecar.old");
    let list = context.pillion(&["trust", "--list"]).stdout;
    assert!(list.contains("changed"), "{list}");
    context.trust();
    assert_eq!(call().code, Some(0));
    // Another folder with the same file is another folder.
    let copy = context.base.join("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(
        context.project.join("pillion.toml"),
        copy.join("pillion.toml"),
    )
    .unwrap();
    let mut elsewhere = context.pillion_command(&["--json", "sidecar", "call", "old", "pid"]);
    elsewhere.current_dir(&copy);
    refused(&CommandOutput::of(elsewhere), "sidecar.old");

    assert_eq!(context.pillion(&["trust", "--remove"]).code, Some(0));
    refused(&call(), "sidecar.old");
    assert!(trust_records(&context).is_empty());
}

#[test]
fn no_other_door_gives_trust() {
    let context = TestContext::new();
    let operations = context.pillion_json(&["--json", "operations"]);
    for operation in operations.as_array().unwrap() {
        let (name, params) = (&operation["name"], operation["params"].to_string());
        assert!(!name.as_str().unwrap().contains("trust"), "{name}");
        // Whose signature counts for one bundle is said with it, and nothing of that is kept.
        let about_bundles = ["bundle.", "registry."];
        let is_one = |area: &&str| name.as_str().unwrap().starts_with(*area);
        let is_about_bundles = about_bundles.iter().any(is_one);
        assert!(is_about_bundles || !params.contains("trust"), "{name}");
    }
}
