//! Archives that somebody made to do harm, or that a careless program made: each is refused with
//! its own word, and the store is afterwards what it was before, to the last byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pillion_bundle::Digest;
use serde_json::Value;

use super::world::World;
use pillion_testing::CommandOutput;

const TRUSTED: [&str; 2] = ["--trust", "keys/bundle.pub"];
const UNSIGNED: [&str; 1] = ["--allow-unsigned"];

/// Everything below a folder: what it is, its mode, and the hash of its content.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (u32, String)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let content = match (meta.is_dir(), meta.is_file()) {
                (true, _) => {
                    folders.push(path.clone());
                    String::new()
                }
                (_, true) => Digest::of(&fs::read(&path).unwrap()).to_string(),
                _ => fs::read_link(&path).unwrap().display().to_string(),
            };
            all.insert(path, (meta.mode(), content));
        }
    }
    all
}

#[test]
fn archives_that_are_made_to_do_harm_are_refused_and_leave_nothing() {
    let world = World::new();
    world.small_tree("2.0.0", 2);
    let runtime = "runtime.tar.gz";
    let identity = [
        "--type",
        "python_runtime",
        "--scope",
        "core",
        "--version",
        "2.0.0",
    ];
    let from = [
        "--python",
        "tree-2.0.0",
        "--binary",
        "program-2.0.0",
        "--out",
        runtime,
    ];
    world.build(&[&identity[..], &from].concat());
    world.experts("2.0.0");
    let identity = ["--type", "experts", "--scope", "core", "--version", "2.0.0"];
    let from = ["--from", "experts-2.0.0", "--out", "experts.tar.gz"];
    world.build(&[&identity[..], &from].concat());
    // What is installed already must survive all of it.
    world.install(&world.small_runtime("1.0.0", 1));
    world.install(&world.experts("1.0.0"));
    fs::create_dir(world.path("hostile")).unwrap();
    let mut python = world.context.command("python3");
    python.args([
        "-c",
        include_str!("hostile.py"),
        runtime,
        "experts.tar.gz",
        "hostile",
    ]);
    let made = CommandOutput::of(python);
    assert_eq!(made.code, Some(0), "{made}");
    let cases: Vec<Value> = made
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert!(cases.len() > 130, "{}", cases.len());
    let before = (
        snapshot(&world.store()),
        snapshot(&world.context.base.join("pillion")),
    );
    let mut wrong = Vec::new();
    for case in &cases {
        let [what, file, expected] =
            ["what", "file", "expected"].map(|key| case[key].as_str().unwrap());
        let reason = world.refusal(file, &UNSIGNED);
        if reason != expected {
            wrong.push(format!("{what}: `{reason}` instead of `{expected}`"));
        }
        assert_eq!(snapshot(&world.store()), before.0, "{what}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(snapshot(&world.context.base.join("pillion")), before.1);
    assert!(!world.path("escaped").exists() && !world.context.base.join("escaped").exists());
    assert_eq!(world.bundle("verify", &[])["ok"], true);
}

#[test]
fn a_signature_is_of_one_archive_and_of_what_it_says_about_it() {
    let world = World::new();
    let (one, two) = (world.experts("1.0.0"), world.experts("2.0.0"));
    world.install(&one);
    let before = snapshot(&world.store());
    let beside = world.path(&format!("{two}.minisig"));
    let sound = fs::read_to_string(&beside).unwrap();
    let lines: Vec<&str> = sound.lines().collect();
    let comment = lines[2].strip_prefix("trusted comment: ").unwrap();
    let of_the_other = fs::read_to_string(world.path(&format!("{one}.minisig"))).unwrap();
    let other_lines: Vec<&str> = of_the_other.lines().collect();
    for (what, changed, expected) in [
        (
            "of another archive",
            of_the_other.clone(),
            "wrong_signature",
        ),
        (
            "trusted comment",
            sound.replace(comment, "experts/core 9"),
            "wrong_signature",
        ),
        (
            "a part of another",
            sound.replace(lines[1], other_lines[1]),
            "wrong_signature",
        ),
        (
            "its own signature",
            sound.replace(lines[3], other_lines[3]),
            "wrong_signature",
        ),
        ("no last line", lines[..3].join("\n"), "invalid_signature"),
        ("empty", String::new(), "invalid_signature"),
        ("zeros", "\0".repeat(300), "invalid_signature"),
        ("long", "x".repeat(100_000), "invalid_signature"),
        (
            "not base64",
            sound.replace(lines[1], "no signature"),
            "invalid_signature",
        ),
    ] {
        fs::write(&beside, changed).unwrap();
        assert_eq!(world.refusal(&two, &TRUSTED), expected, "{what}");
        assert_eq!(snapshot(&world.store()), before, "{what}");
    }
    // The first line is nobody's word, and is not signed.
    let first = sound.replacen(lines[0], "untrusted comment: trust me", 1);
    fs::write(&beside, first).unwrap();
    let checksum = world.path(&format!("{two}.sha256"));
    let line = fs::read_to_string(&checksum).unwrap();
    for (what, changed, expected) in [
        ("empty", String::new(), "invalid_checksum"),
        ("capitals", line.to_uppercase(), "invalid_checksum"),
        ("short", line[1..].to_owned(), "invalid_checksum"),
        (
            "of nothing",
            format!("{}  {two}\n", Digest::of(b"")),
            "archive_hash",
        ),
    ] {
        fs::write(&checksum, changed).unwrap();
        assert_eq!(world.refusal(&two, &TRUSTED), expected, "{what}");
        assert_eq!(snapshot(&world.store()), before, "{what}");
    }
    fs::write(&checksum, line).unwrap();
    assert_eq!(world.install(&two)["version"], "2.0.0");
}

#[test]
fn an_archive_that_is_too_large_is_refused_before_it_is_read() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    fs::copy(world.path(&archive), world.path("large.tar.zst")).unwrap();
    fs::copy(
        world.path(&format!("{archive}.minisig")),
        world.path("large.tar.zst.minisig"),
    )
    .unwrap();
    let file = fs::File::options()
        .write(true)
        .open(world.path("large.tar.zst"))
        .unwrap();
    // It takes no room, and nobody reads so much of nothing.
    file.set_len(1 << 40).unwrap();
    assert_eq!(world.refusal("large.tar.zst", &TRUSTED), "too_large");
    let error = world.refused(&[&["bundle", "verify", "large.tar.zst"][..], &TRUSTED].concat());
    assert_eq!(error["data"]["reason"], "too_large", "{error}");
}
