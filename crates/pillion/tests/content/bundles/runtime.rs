//! A runtime bundle of a real Python: pillion runs from it, with no other Python, no `PATH` and
//! no network.

use std::fs;
use std::path::{Path, PathBuf};

use pillion_testing::{CommandOutput, skipped};
use serde_json::json;

use super::world::World;

/// Makes a tree of the Python that runs it.
const RELOCATABLE: &str = include_str!("relocatable.py");
/// What is done from the bundle.
const OFFLINE: &str = include_str!("offline.py");
/// What is done below a root folder that has nothing but the bundle.
const BARE_ROOT: &str = include_str!("bare_root.py");
/// Tells which Python runs.
const THINGS: &str = "import sys\n\n\ndef executable():\n    return sys.executable\n";

/// A world with a runtime of a real Python, which is installed. Its program is pillion itself.
fn with_runtime() -> (World, PathBuf) {
    let world = World::new();
    let mut make = world.context.command("python3");
    make.args(["-c", RELOCATABLE, "tree"]);
    let made = CommandOutput::of(make);
    assert_eq!(made.code, Some(0), "{made}");
    // Without what is for debuggers, it is half the size.
    let mut strip = world.context.command("strip");
    strip.args([env!("CARGO_BIN_EXE_pillion"), "-o", "pillion"]);
    let stripped = CommandOutput::of(strip);
    assert_eq!(stripped.code, Some(0), "{stripped}");
    world.build(&[
        "--type",
        "python_runtime",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--python",
        "tree",
        "--binary",
        "pillion",
        "--out",
        "runtime.tar.zst",
    ]);
    // Nothing of what it was made of is needed any more.
    fs::remove_dir_all(world.path("tree")).unwrap();
    fs::remove_file(world.path("pillion")).unwrap();
    world.write("work/things.py", THINGS);
    let trusted = ["runtime.tar.zst", "--trust", "keys/bundle.pub"];
    let mut args = vec!["bundle", "install"];
    args.extend(trusted);
    let installed = world.done(&args);
    let folder = PathBuf::from(installed["path"].as_str().unwrap());
    (world, folder)
}

#[test]
fn pillion_runs_from_an_installed_runtime_without_path_network_and_machine() {
    let (world, folder) = with_runtime();
    let python = folder.join("python/bin/python3");
    let program = folder.join("sidecar/bin/pillion");
    let unshare = ["/usr/bin/unshare", "/bin/unshare"];
    let unshare = unshare.into_iter().find(|path| Path::new(path).is_file());
    let Some(unshare) = unshare else {
        return skipped("there is no `unshare` for a place without network");
    };
    let mut inside = world.context.command(unshare);
    inside
        .args(["--user", "--map-root-user", "--net"])
        .arg(&python)
        .args(["-c", OFFLINE])
        .arg(&program)
        .env("PATH", "")
        .current_dir(world.path("work"));
    let output = CommandOutput::of(inside);
    if output.stderr.contains("unshare failed") {
        return skipped("this machine lets nobody have a network of their own");
    }
    assert_eq!(output.code, Some(0), "{output}");
    let seen = output.json();
    assert_eq!(seen["path"], "");
    assert_eq!(seen["interfaces"], json!(["lo"]));
    assert_eq!(seen["hypot"], "5.0", "{seen}");
    let own = python.to_str().unwrap();
    let is_own = |text: &str| text.trim_matches('"').starts_with(folder.to_str().unwrap());
    assert!(
        is_own(seen["executable"].as_str().unwrap()),
        "{own}: {seen}"
    );
    assert!(is_own(seen["served"].as_str().unwrap()), "{own}: {seen}");
    assert_eq!(seen["health"]["status"], "healthy");

    // The Python that makes the folder is the machine's: the one of the bundle is below it.
    let mut bare = world.context.command(unshare);
    bare.args(["--user", "--map-root-user", "--net", "--mount", "python3"])
        .args(["-c", BARE_ROOT])
        .args([&folder, &world.path("root")]);
    let output = CommandOutput::of(bare);
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), "5.0"),
        "{output}"
    );
}

#[test]
fn an_installed_runtime_is_a_candidate_and_a_damaged_one_is_told() {
    let (mut world, folder) = with_runtime();
    let call = ["call", "things:executable", "--root", "work"];
    let executable = |world: &World, more: &[&str]| {
        let mut args = more.to_vec();
        args.extend(call);
        let output = world.run(&args);
        assert_eq!(output.code, Some(0), "{output}");
        output.stdout
    };
    let folder_text = folder.to_str().unwrap().to_owned();
    // The active one of the user's store comes before what is on `PATH`.
    assert!(executable(&world, &[]).contains(&folder_text));
    // By its folder, wherever it is; by the variable.
    let moved = world.path("moved");
    let mut copy = world.context.command("cp");
    copy.args(["-r", "-P"]).args([&folder, &moved]);
    assert_eq!(CommandOutput::of(copy).code, Some(0));
    let named = ["--runtime", "moved"];
    assert!(executable(&world, &named).contains(moved.to_str().unwrap()));
    world.context.set_env("PILLION_RUNTIME", &moved);
    assert!(executable(&world, &[]).contains(moved.to_str().unwrap()));
    world.context.remove_env("PILLION_RUNTIME");
    let error = world.refused(&["--runtime", "work", "call", "math:hypot", "[3, 4]"]);
    assert_eq!(error["code"], "not_found", "{error}");

    // A file that was changed, with the same size: found at the start, told, repaired.
    let minor = folder.join("python/lib").read_dir().unwrap().flatten();
    let library = minor
        .map(|entry| entry.path())
        .find(|path| path.join("os.py").is_file());
    let file = library.unwrap().join("this.py");
    let mut text = fs::read(&file).unwrap();
    text[0] ^= 1;
    fs::write(&file, &text).unwrap();
    let error = world.refused(&["call", "math:hypot", "[3, 4]"]);
    assert_eq!(error["code"], "bundle_damaged", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("this.py"),
        "{error}"
    );
    assert!(
        error["hint"]
            .as_str()
            .unwrap()
            .contains("pillion bundle repair"),
        "{error}"
    );
    let doctor = world.run(&["doctor"]);
    assert!(
        doctor.to_string().contains("pillion bundle repair"),
        "{doctor}"
    );
    let repaired = world.done(&["bundle", "repair"]);
    assert_eq!(repaired["bundles"][0]["state"], "repaired", "{repaired}");
    assert!(executable(&world, &[]).contains(&folder_text));

    // Where nobody knows which runtime is active, no other Python is taken in silence.
    let index = folder.ancestors().nth(3).unwrap().join("active_index.json");
    for text in [Some("{"), None] {
        match text {
            Some(text) => fs::write(&index, text).unwrap(),
            None => fs::remove_file(&index).unwrap(),
        }
        let error = world.refused(&["call", "math:hypot", "[3, 4]"]);
        assert_eq!(error["code"], "bundle_damaged", "{error}");
        let doctor = world.run(&["doctor"]);
        assert!(
            doctor.to_string().contains("pillion bundle repair"),
            "{doctor}"
        );
        world.done(&["bundle", "repair"]);
        assert!(executable(&world, &[]).contains(&folder_text));
    }
}
