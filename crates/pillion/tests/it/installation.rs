//! What an installation is made of: `pillion self`, and the npm package's launcher.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pillion_testing::{DEADLINE, TestContext, wait_for};
use serde_json::{Value, json};

#[test]
fn completions_and_pages_lie_where_systems_look_for_them() {
    let context = TestContext::at_first_use();
    let share = context.base.join("made/share");
    let output = context.pillion(&["self", "share", "--out", share.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{output}");
    let text = |name: &str| fs::read_to_string(share.join(name)).unwrap();
    assert!(text("bash-completion/completions/pillion").contains("complete -F _pillion"));
    assert!(text("zsh/site-functions/_pillion").starts_with("#compdef pillion"));
    assert!(text("fish/vendor_completions.d/pillion.fish").contains("complete -c pillion"));
    let page = text("man/man1/pillion.1");
    assert!(page.contains(".TH pillion 1"), "{page}");
    assert!(page.contains("Call a Python function in a warm worker"));
    assert!(text("man/man1/pillion-self-check.1").contains("exit code is 1"));
    assert!(text("man/man1/pillion-code-defs.1").contains(".SH OPTIONS"));
    assert!(
        !context.base.join("pillion").exists(),
        "nothing else is written"
    );
}

#[test]
fn a_whole_installation_is_told_from_a_broken_one() {
    let mut context = TestContext::at_first_use();
    let bin = context.base.join("usr/bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("pillion");
    fs::hard_link(env!("CARGO_BIN_EXE_pillion"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_pillion"), &program).map(drop))
        .unwrap();
    context.set_env("SHELL", "/bin/bash");
    let check = |context: &TestContext| {
        let mut command = context.command(&program);
        command.args(["self", "check", "--json"]);
        pillion_testing::CommandOutput::of(command)
    };

    let bare = check(&context);
    assert_eq!(bare.code, Some(0), "{bare}");
    let told = bare.json();
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(told["program"], program.to_str().unwrap());
    assert_eq!(told["completions"], Value::Null);
    assert_eq!(told["daemon"]["is"], "absent");
    assert_eq!(told["problems"], json!([]));
    let worker = PathBuf::from(told["worker"].as_str().unwrap());
    assert!(worker.join("pillion/worker.py").is_file());

    let share = context.base.join("usr/share");
    let mut command = context.command(&program);
    command.args(["self", "share", "--out", share.to_str().unwrap()]);
    assert_eq!(pillion_testing::CommandOutput::of(command).code, Some(0));
    let found = share.join("bash-completion/completions/pillion");
    assert_eq!(
        check(&context).json()["completions"],
        found.to_str().unwrap()
    );

    // What somebody changed is told once, and put right.
    let module = worker.join("pillion/worker.py");
    fs::write(&module, "raise SystemExit\n").unwrap();
    let damaged = check(&context);
    assert_eq!(damaged.code, Some(1), "{damaged}");
    let problem = damaged.json()["problems"][0]["what"].clone();
    assert!(problem.as_str().unwrap().contains("worker.py"), "{problem}");
    assert_eq!(check(&context).code, Some(0));

    // A daemon of this program.
    assert_eq!(context.pillion(&["ping"]).code, Some(0));
    let told = check(&context).json();
    assert_eq!(told["daemon"]["is"], "running");
    assert_eq!(told["daemon"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(told["problems"], json!([]));

    context.set_env("PATH", context.base.join("nowhere"));
    let without_python = check(&context);
    assert_eq!(without_python.code, Some(1), "{without_python}");
    let mut command = context.command(&program);
    command.args(["self", "check"]);
    let text = pillion_testing::CommandOutput::of(command).stdout;
    assert!(text.contains("python      none that can be used"), "{text}");
    assert!(text.contains("PATH        has no `pillion`"), "{text}");
    assert!(
        text.contains("problem: no usable Python was found"),
        "{text}"
    );
}

/// The npm package as npm lays it out, with the program under test as the package of this
/// platform.
struct Npm {
    context: TestContext,
    launcher: PathBuf,
    platform: PathBuf,
}

impl Npm {
    fn new() -> Self {
        let context = TestContext::new();
        let modules = context.base.join("node_modules");
        let (main, platform) = (modules.join("pillion"), modules.join("@pillion"));
        let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/npm");
        fs::create_dir_all(&main).unwrap();
        fs::create_dir_all(modules.join(".bin")).unwrap();
        fs::copy(packaging.join("pillion.js"), main.join("pillion.js")).unwrap();
        let named = json!({"optionalDependencies": {"@pillion/linux-x64": "1", "@pillion/linux-arm64": "1"}});
        fs::write(main.join("package.json"), named.to_string()).unwrap();
        let launcher = modules.join(".bin/pillion");
        symlink("../pillion/pillion.js", &launcher).unwrap();
        let machine = match std::env::consts::ARCH {
            "aarch64" => "arm64",
            _ => "x64",
        };
        let platform = platform.join(format!("linux-{machine}"));
        fs::create_dir_all(platform.join("bin")).unwrap();
        Self {
            context,
            launcher,
            platform,
        }
    }

    /// With this program as the platform's.
    fn with(program: &Path) -> Self {
        let npm = Self::new();
        symlink(program, npm.platform.join("bin/pillion")).unwrap();
        npm
    }

    fn command(&self, args: &[&str]) -> Command {
        let node = pillion_testing::set_up("dev-node/node");
        let mut command = self.context.command(node);
        command.arg(&self.launcher).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> pillion_testing::CommandOutput {
        pillion_testing::CommandOutput::of(self.command(args))
    }
}

#[test]
fn the_npm_launcher_is_the_program() {
    let npm = Npm::with(Path::new(env!("CARGO_BIN_EXE_pillion")));
    let version = npm.run(&["--version"]);
    assert_eq!(version.code, Some(0), "{version}");
    assert_eq!(
        version.stdout,
        concat!("pillion ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let wrong = npm.run(&["no-such-command"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    let called = npm.run(&["call", "math:hypot", "[3, 4]"]);
    assert_eq!(
        (called.code, called.stdout.trim()),
        (Some(0), "5.0"),
        "{}",
        called.stderr
    );

    // An agent's first words.
    let mut agent = npm.command(&["mcp"]);
    let mut agent = agent
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    writeln!(agent.stdin.take().unwrap(), "{hello}").unwrap();
    let output = agent.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "pillion");
}

#[test]
fn signals_and_ends_pass_through_the_npm_launcher() {
    // The launcher cannot tell what it launches: this is no pillion, and says when it is there.
    let npm = Npm::new();
    let program = npm.platform.join("bin/pillion");
    let there = npm.context.base.join("there");
    let script = format!(
        "#!/bin/sh\ntrap 'exit 43' TERM\ntrap 'trap - INT; kill -INT $$' INT\n: > {}\nwhile :; do sleep 0.05; done\n",
        there.display()
    );
    fs::write(&program, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let ended = |signal| {
        let _ = fs::remove_file(&there);
        let mut child = npm.command(&[]).spawn().unwrap();
        wait_for(DEADLINE, "the program", || {
            fs::metadata(&there).map(drop).map_err(|e| e.to_string())
        });
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        child.wait().unwrap()
    };
    assert_eq!(ended(rustix::process::Signal::TERM).code(), Some(43));
    assert_eq!(ended(rustix::process::Signal::INT).signal(), Some(2));
}

#[test]
fn a_missing_platform_is_explained() {
    let npm = Npm::new();
    let output = npm.run(&["--version"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output
            .stderr
            .contains("is not installed\nhint: npm left it out"),
        "{output}"
    );
}
