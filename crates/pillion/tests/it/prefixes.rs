//! Of an environment its programs and libraries are shown to lanes, whatever else lies in its
//! folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pillion_testing::{CommandOutput, TestContext};
use serde_json::json;

/// Tries to read everything that it is told, and says what it could.
const READER: &str = "\
import os, sys
def read(path):
    try:
        return os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError as error:
        return None
print({path: found for path in sys.argv[1:] if (found := read(path)) is not None})
import helper
print(helper.VALUE)
";

fn make(context: &TestContext, at: &Path) {
    let mut venv = context.command("python3");
    venv.args(["-m", "venv", "--without-pip"]).arg(at);
    let made = CommandOutput::of(venv);
    assert_eq!(made.code, Some(0), "{made}");
    let library = fs::read_dir(at.join("lib")).unwrap().flatten().next();
    let packages = library.unwrap().path().join("site-packages");
    fs::write(packages.join("helper.py"), "VALUE = 'helped'\n").unwrap();
}

fn assert_hidden(context: &TestContext, python: &Path, secrets: &[&Path]) {
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let args: Vec<&str> = secrets.iter().map(|path| path.to_str().unwrap()).collect();
    for (lane, fresh) in [
        ("expert", false),
        ("expert", true),
        ("user", false),
        ("user", true),
    ] {
        let order = json!({"code": READER, "lane": lane, "fresh": fresh, "args": args,
            "python": python, "root": context.project});
        let reply = rpc.call("exec.run", order).unwrap();
        assert_eq!(reply["outcome"], "ok", "{reply}");
        assert_eq!(reply["stdout"], "{}\nhelped\n", "{lane} {fresh}: {reply}");
    }
}

/// As whoever we are with all walls, and as an ordinary user without namespaces.
fn contexts() -> [TestContext; 2] {
    let nobody = rustix::process::geteuid().is_root().then_some(65_534);
    let mut weak = TestContext::new().for_user(nobody);
    weak.set_env("PILLION_LANES_LEVEL", "L2");
    [TestContext::new(), weak]
}

#[test]
fn an_environment_in_the_project_itself_shows_nothing_else_of_it() {
    for context in contexts() {
        make(&context, &context.project);
        let env = context.write(".env", "TOKEN=secret");
        let key = context.write("keys/id_rsa", "secret");
        let own = context.write("lib/private/notes.txt", "secret");
        let script = context.write("bin/deploy", "secret");
        let things = context.project.join("things.py");
        let python = context.project.join("bin/python");
        let secrets = [env, key, own, script, things];
        let secrets: Vec<&Path> = secrets.iter().map(AsRef::as_ref).collect();
        assert_hidden(&context, &python, &secrets);
    }
}

#[test]
fn an_environment_in_the_home_shows_nothing_else_of_it() {
    let context = TestContext::new();
    let home = context.base.clone();
    make(&context, &home);
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_rsa"), "secret").unwrap();
    fs::write(home.join(".netrc"), "secret").unwrap();
    let key = home.join(".ssh/id_rsa");
    let netrc = home.join(".netrc");
    let things = context.project.join("things.py");
    assert_hidden(
        &context,
        &home.join("bin/python"),
        &[&key, &netrc, &things, &home.join(".ssh")],
    );
}

#[test]
fn a_library_that_is_a_link_shows_nothing_that_it_leads_to() {
    let context = TestContext::new();
    let venv = context.project.join(".venv");
    make(&context, &venv);
    let outside = context.base.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    for name in ["lib32", "include"] {
        let _ = fs::remove_dir_all(venv.join(name));
        symlink(&outside, venv.join(name)).unwrap();
    }
    let through = venv.join("lib32/secret.txt");
    let included = venv.join("include/secret.txt");
    let direct = outside.join("secret.txt");
    assert_hidden(
        &context,
        &venv.join("bin/python"),
        &[
            &through,
            &included,
            &direct,
            &context.project.join("things.py"),
        ],
    );
}
