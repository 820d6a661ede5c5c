//! What of whose environment reaches a child: what the caller's project asks for, and nothing
//! that nobody asked for.

use std::fs;

use pillion_testing::{CommandOutput, TestContext, processes};
use serde_json::{Value, json};

/// Credentials as they are found in shells: known by their name, by their value, or by neither.
const SECRETS: &[(&str, &str)] = &[
    ("GITHUB_PAT", "held-back-1"),
    ("DB_PASS", "held-back-2"),
    ("MYSQL_PWD", "held-back-3"),
    ("DATABASE_URL", "postgres://me:held-back-4@db/shop"),
    ("TLS_PEM", "-----BEGIN PRIVATE KEY-----\nheld-back-5\n"),
    ("ACCESS_TOKEN_2", "held-back-6"),
    ("OPENAI", "sk-held-back-7"),
    ("SLACK_HOOK", "https://hooks.slack.com/services/held-back-8"),
    ("NOBODY_WOULD_GUESS", "held-back-9"),
    ("https_proxy", "http://me:held-back-10@proxy:8080"),
    ("LC_SNEAKY", "ghp_held-back-11"),
    ("PYTHON_TOKEN", "sk-held-back-12"),
    ("XDG_SESSION_TOKEN", "eyJheld-back-13.e30.c2ln"),
];

const MODULE: &str = "\
import os

def seen():
    return dict(os.environ)
";

fn context() -> TestContext {
    let context = TestContext::new();
    context.write("envs.py", MODULE);
    context
}

fn with_secrets() -> TestContext {
    let mut context = context();
    for (name, value) in SECRETS {
        context.set_env(name, value);
    }
    context
}

/// A second project, beside the first.
fn other_project(context: &TestContext) -> std::path::PathBuf {
    let other = context.base.join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("envs.py"), MODULE).unwrap();
    other
}

fn seen(context: &TestContext) -> Value {
    context.pillion_json(&["--json", "call", "envs:seen"])["result"].clone()
}

fn daemon_pid(context: &TestContext) -> u32 {
    let status = context.pillion_json(&["--json", "status"]);
    u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
}

fn environment_of(pid: u32) -> String {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    String::from_utf8_lossy(&environ).replace('\0', "\n")
}

#[test]
fn what_nobody_asked_for_reaches_no_child() {
    let context = with_secrets();
    context.write("old_sidecar.py", include_str!("old_sidecar.py"));
    context.write(
        "pillion.toml",
        "[sidecar.old]\ncommand = ['python3', '-u', 'old_sidecar.py', '--sidecar']\n",
    );
    context.trust();
    let result = seen(&context);
    assert!(!result.to_string().contains("held-back"), "{result}");
    for name in ["PATH", "HOME", "LANG", "TMPDIR"] {
        assert!(result[name].is_string(), "{name}: {result}");
    }
    context.pillion_json(&["--json", "sidecar", "call", "old", "pid"]);
    context.pillion_json(&["--json", "exec", "-c", "print(1)"]);
    // Whoever runs, the daemon that was started for all of this included.
    let mut all = vec![daemon_pid(&context)];
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        all.extend(processes::children_of(pid));
        at += 1;
    }
    assert!(all.len() >= 6, "{all:?}");
    for pid in all {
        let environment = environment_of(pid);
        assert!(
            !environment.contains("held-back") || is_for_fetching(&environment),
            "pid {pid}: {environment}"
        );
    }
    let log = context.pillion(&["logs"]).stdout;
    assert!(!log.contains("held-back"), "{log}");
}

/// The daemon itself needs what it fetches packages with: the proxy, and nothing else.
fn is_for_fetching(environment: &str) -> bool {
    let mut lines = environment
        .lines()
        .filter(|line| line.contains("held-back"));
    lines.all(|line| line.starts_with("https_proxy=")) && environment.contains("PILLION_HOME")
}

#[test]
fn an_engine_of_its_own_has_the_same_rules() {
    let context = with_secrets();
    let result = context.pillion_json(&["--json", "--no-daemon", "call", "envs:seen"]);
    assert!(!result.to_string().contains("held-back"), "{result}");
    let daemon = context.daemon();
    let result = daemon.connect().py("envs:seen", json!([])).unwrap();
    assert!(!result.to_string().contains("held-back"), "{result}");
}

#[test]
fn a_worker_has_its_callers_variables_and_not_those_of_the_daemons_starter() {
    let mut context = context();
    // Somebody else's shell, in another project, starts the daemon.
    let other = other_project(&context);
    let mut first = context.pillion_command(&["--json", "call", "envs:seen"]);
    first
        .current_dir(&other)
        .env("PYTHONPATH", "/of/the/other")
        .env("DJANGO_SETTINGS_MODULE", "other.settings")
        .env("TZ", "Asia/Tokyo");
    let theirs = CommandOutput::of(first).json()["result"].clone();
    assert_eq!(theirs["PYTHONPATH"], "/of/the/other", "{theirs}");
    assert_eq!(theirs["DJANGO_SETTINGS_MODULE"], "other.settings");
    // Ours has nothing of theirs.
    context.set_env("DJANGO_SETTINGS_MODULE", "shop.settings");
    let ours = seen(&context);
    assert_eq!(ours["DJANGO_SETTINGS_MODULE"], "shop.settings", "{ours}");
    assert_eq!(
        (&ours["PYTHONPATH"], &ours["TZ"]),
        (&Value::Null, &Value::Null)
    );
    // Nor has the daemon, which works for both.
    let daemon = environment_of(daemon_pid(&context));
    assert!(!daemon.contains("other.settings") && !daemon.contains("/of/the/other"));
}

#[test]
fn an_environment_that_was_active_for_the_starter_is_no_other_projects() {
    let context = context();
    let venv = context.base.join("their-venv");
    let made = CommandOutput::of({
        let mut make = context.command("python3");
        make.args(["-m", "venv", "--without-pip"]).arg(&venv);
        make
    });
    assert_eq!(made.code, Some(0), "{made}");
    let path = std::env::join_paths(
        [venv.join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let mut first = context.pillion_command(&["ping"]);
    first.env("VIRTUAL_ENV", &venv).env("PATH", path);
    assert_eq!(CommandOutput::of(first).code, Some(0));
    let prefix = context.pillion_json(&["--json", "call", "envs:os.path.realpath", r#"["/"]"#]);
    assert_eq!(prefix["result"], "/");
    let status = context.pillion_json(&["--json", "status"]).to_string();
    assert!(!status.contains("their-venv"), "{status}");
    let workers = context.processes();
    let worker = workers.iter().find(|process| process.is_worker()).unwrap();
    assert!(
        !worker.command[0].contains("their-venv"),
        "{:?}",
        worker.command
    );
}

#[test]
fn what_a_project_asks_for_has_the_value_of_whoever_calls() {
    let mut context = context()
        .trusted_config("[python]\npass_env = ['SHOP_TOKEN']\n[python.env]\nSHOP_MODE = 'test'\n");
    let of = |context: &TestContext| seen(context)["SHOP_TOKEN"].clone();
    assert_eq!(of(&context), Value::Null);
    context.set_env("SHOP_TOKEN", "one");
    assert_eq!(of(&context), "one", "also where the daemon runs already");
    context.set_env("SHOP_TOKEN", "two");
    assert_eq!(of(&context), "two");
    context.set_env("SHOP_TOKEN", "one");
    assert_eq!(of(&context), "one");
    assert_eq!(seen(&context)["SHOP_MODE"], "test");
    // Another project gets none of it.
    let other = other_project(&context);
    let mut call = context.pillion_command(&["--json", "call", "envs:seen"]);
    call.current_dir(&other);
    let theirs = CommandOutput::of(call).json()["result"].clone();
    assert_eq!(
        (&theirs["SHOP_TOKEN"], &theirs["SHOP_MODE"]),
        (&Value::Null, &Value::Null)
    );
    // Through the client in one file as well.
    let mut client = context.command("python3");
    client
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../clients/python/pillion_client.py"
        ))
        .args(["call", "envs:seen"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SHOP_TOKEN", "three");
    let output = CommandOutput::of(client);
    assert_eq!(output.json()["SHOP_TOKEN"], "three", "{output}");
}

#[test]
fn the_doctor_says_what_is_held_back_and_never_its_value() {
    let context = with_secrets().trusted_config("[python]\npass_env = ['DB_PASS']\n");
    let output = context.pillion(&["--json", "doctor"]);
    let report = output.json();
    let names: Vec<&str> = report["held_back"]
        .as_array()
        .unwrap_or_else(|| panic!("{output}"))
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for (name, _) in SECRETS {
        assert_eq!(
            names.contains(name),
            *name != "DB_PASS",
            "{name}: {names:?}"
        );
    }
    assert!(!names.contains(&"PATH") && !names.contains(&"PILLION_HOME"));
    assert!(!output.stdout.contains("held-back-"), "{output}");
    let text = context.pillion(&["doctor"]);
    assert!(text.stdout.contains("GITHUB_PAT"), "{text}");
    assert!(!text.to_string().contains("held-back-"), "{text}");
}
