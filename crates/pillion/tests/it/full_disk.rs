//! A disk that is full, or loses something, does no lasting harm: what pillion wrote once is
//! looked at, and written again if it is not what it was.

use std::fs;
use std::path::PathBuf;

use pillion_testing::{CommandOutput, TestContext, wait_until};

/// Runs in a mount namespace of its own: a small disk at first, then a larger one.
const STORY: &str = "\
set -u
mount -t tmpfs -o size=$SIZE tmpfs \"$PILLION_HOME\" || exit 90
\"$PILLION\" --no-daemon call math:hypot '[3, 4]'
echo \"first $?\"
\"$PILLION\" --no-daemon exec -c 'print(1)'
echo \"run $?\"
mount -o remount,size=50m \"$PILLION_HOME\" || exit 91
for again in 1 2; do
    \"$PILLION\" --no-daemon call math:hypot '[3, 4]' || exit 92
    \"$PILLION\" --no-daemon exec -c 'print(2)' || exit 93
done
\"$PILLION\" doctor || \"$PILLION\" doctor || exit 94
";

#[test]
fn a_disk_that_was_full_at_first_use_is_forgotten_when_there_is_room() {
    let mut context = TestContext::at_first_use();
    fs::create_dir_all(context.base.join("pillion")).unwrap();
    context.set_env("PILLION", env!("CARGO_BIN_EXE_pillion"));
    // From too small for the sources to almost enough for their byte-code.
    for kilobytes in [200, 420, 460, 520] {
        context.set_env("SIZE", format!("{kilobytes}k"));
        let mut story = context.command("unshare");
        match rustix::process::geteuid().is_root() {
            true => story.arg("--mount"),
            false => story.args(["--user", "--map-root-user", "--mount"]),
        };
        story.args(["sh", "-c", STORY]);
        let output = CommandOutput::of(story);
        assert_eq!(output.code, Some(0), "{kilobytes} kB\n{output}");
        assert!(output.stdout.ends_with("all is well\n"), "{output}");
    }
}

fn package(context: &TestContext) -> PathBuf {
    let all = context.base.join("pillion/cache/worker");
    let mut found = fs::read_dir(all).unwrap().flatten();
    found.next().unwrap().path()
}

/// A file of the package's byte-code, once there is one.
fn bytecode(context: &TestContext) -> PathBuf {
    let package = package(context);
    let record = || {
        fs::read_dir(&package).unwrap().flatten().any(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(".compiled-")
        })
    };
    wait_until("the package to be compiled", record);
    let folder = package.join("pillion/__pycache__");
    let mut all = fs::read_dir(folder).unwrap().flatten();
    let calls = all.find(|entry| entry.file_name().to_string_lossy().starts_with("calls."));
    calls.unwrap().path()
}

#[test]
fn what_was_damaged_is_written_again_and_the_doctor_tells() {
    let context = TestContext::at_first_use();
    let call = || context.pillion_json(&["call", "math:hypot", "[3, 4]"]);
    assert_eq!(call(), 5.0);
    let source = package(&context).join("pillion/calls.py");
    let compiled = bytecode(&context);
    let damages: [(&str, &dyn Fn()); 5] = [
        ("a cut source", &|| {
            let text = fs::read(&source).unwrap();
            fs::write(&source, &text[..text.len() / 2]).unwrap();
        }),
        ("an edited source", &|| {
            fs::write(&source, "raise SystemExit('edited')\n").unwrap();
        }),
        ("a missing source", &|| fs::remove_file(&source).unwrap()),
        ("cut byte-code", &|| {
            let code = fs::read(&compiled).unwrap();
            fs::write(&compiled, &code[..code.len() / 2]).unwrap();
        }),
        ("other byte-code", &|| {
            // A whole file, by its header that of this source, which does something else.
            let mut code = fs::read(&compiled).unwrap();
            let at = code.len() - 40;
            code[at..].reverse();
            fs::write(&compiled, code).unwrap();
        }),
    ];
    for (what, damage) in damages {
        bytecode(&context);
        context.pillion(&["stop"]);
        if what.contains("cut") {
            damage();
            let told = context.pillion(&["doctor"]);
            assert_eq!(told.code, Some(1), "{what}: {told}");
            assert!(told.stdout.contains("written"), "{what}: {told}");
            let told = context.pillion(&["doctor"]);
            assert_eq!(told.code, Some(0), "{what}: {told}");
            if !compiled.exists() {
                assert_eq!(call(), 5.0, "{what}");
                bytecode(&context);
                context.pillion(&["stop"]);
            }
        }
        damage();
        assert_eq!(call(), 5.0, "{what}");
    }
}
