//! Archives that were changed on their way, through the whole command: each is refused for its
//! own reason, and nothing is installed. All other ways to change one are tried where archives
//! are read, in `pillion-bundle`.

use std::fs;

use pillion_testing::CommandOutput;
use serde_json::Value;

use super::world::World;

const TRUSTED: [&str; 2] = ["--trust", "keys/bundle.pub"];
const UNSIGNED: [&str; 1] = ["--allow-unsigned"];

#[test]
fn every_changed_byte_is_refused_by_the_signature() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    let sound = fs::read(world.path(&archive)).unwrap();
    let checksum = world.path(&format!("{archive}.sha256"));
    let line = fs::read_to_string(&checksum).unwrap();
    // With its checksum a changed archive is refused before its signature is looked at.
    for at in [0, sound.len() / 2, sound.len() - 1] {
        let mut changed = sound.clone();
        changed[at] ^= 1;
        fs::write(world.path(&archive), &changed).unwrap();
        fs::write(&checksum, &line).unwrap();
        assert_eq!(world.refusal(&archive, &TRUSTED), "archive_hash");
        fs::remove_file(&checksum).unwrap();
        assert_eq!(world.refusal(&archive, &TRUSTED), "wrong_signature");
    }
    fs::write(world.path(&archive), &sound[..sound.len() / 2]).unwrap();
    assert_eq!(world.refusal(&archive, &TRUSTED), "wrong_signature");
    fs::remove_file(world.path(&format!("{archive}.minisig"))).unwrap();
    assert_eq!(world.refusal(&archive, &TRUSTED), "unsigned");
    assert_eq!(world.refusal(&archive, &UNSIGNED), "truncated");
}

#[test]
fn each_part_of_an_unsigned_archive_is_checked_by_itself() {
    let world = World::new();
    world.small_tree("1.0.0", 3);
    let archive = "runtime.tar.gz";
    world.build(&[
        "--type",
        "python_runtime",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--python",
        "tree-1.0.0",
        "--binary",
        "program-1.0.0",
        "--out",
        archive,
    ]);
    // Whoever takes unsigned archives still gets only what the manifest says.
    for (change, expected) in CHANGES {
        let out = "changed.tar.gz";
        let script = format!("{PACK}\n{change}\npack()\n");
        let mut python = world.context.command("python3");
        python.args(["-c", &script, archive, out]);
        let made = CommandOutput::of(python);
        assert_eq!(made.code, Some(0), "{change}\n{made}");
        let reason = world.refusal(out, &UNSIGNED);
        assert_eq!(reason, *expected, "{change}");
    }
    assert!(!world.path("store/python_runtime").exists());
}

#[test]
fn what_is_no_file_is_not_opened() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    let mut pipes = world.context.command("mkfifo");
    pipes.args(["pipe", "beside.tar.zst.minisig"]);
    assert_eq!(CommandOutput::of(pipes).code, Some(0));
    fs::copy(world.path(&archive), world.path("beside.tar.zst")).unwrap();
    for (verb, file) in [
        ("verify", "pipe"),
        ("install", "pipe"),
        ("verify", "beside.tar.zst"),
        ("install", "beside.tar.zst"),
        ("verify", "keys"),
    ] {
        let args = ["bundle", verb, file, "--store", "store"];
        let error = world.refused(&[&args[..], &UNSIGNED].concat());
        assert_eq!(error["code"], "invalid_params", "{verb} {file}: {error}");
    }
    assert!(world.installed().is_empty());
}

#[test]
fn a_bundle_for_another_platform_or_of_another_kind_is_refused() {
    let world = World::new();
    world.small_tree("1.0.0", 1);
    let other = match std::env::consts::ARCH {
        "aarch64" => "linux-x64",
        _ => "linux-arm64",
    };
    world.build(&[
        "--type",
        "python_runtime",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--platform",
        other,
        "--python",
        "tree-1.0.0",
        "--binary",
        "program-1.0.0",
        "--out",
        "other.tar.zst",
    ]);
    assert_eq!(world.refusal("other.tar.zst", &TRUSTED), "wrong_platform");
    let experts = world.experts("1.0.0");
    let chapter = ["--trust", "keys/bundle.pub", "--type", "chapter"];
    assert_eq!(world.refusal(&experts, &chapter), "unexpected_bundle");
    let scope = ["--trust", "keys/bundle.pub", "--scope", "extra"];
    assert_eq!(world.refusal(&experts, &scope), "unexpected_bundle");
    let version = ["--trust", "keys/bundle.pub", "--version", "1.0.1"];
    assert_eq!(world.refusal(&experts, &version), "unexpected_bundle");
    let verify = [&["bundle", "verify", &experts][..], &version].concat();
    let error = world.refused(&verify);
    assert_eq!(error["data"]["reason"], "unexpected_bundle", "{error}");
    fs::write(world.path("text.tar.zst"), "no archive").unwrap();
    assert_eq!(world.refusal("text.tar.zst", &UNSIGNED), "unknown_format");
    let error: Value = world.refused(&["bundle", "install", "missing.tar.zst", "--store", "store"]);
    assert_eq!(error["code"], "not_found", "{error}");
}

/// Takes an archive apart and puts it together again, as gzip.
const PACK: &str = r#"
import gzip, io, json, sys, tarfile

source, out = sys.argv[1:]
tar = tarfile.open(source)
entries = [(m, tar.extractfile(m).read() if m.isreg() else b"") for m in tar.getmembers()]
manifest = json.loads(entries[0][1])

def find(end):
    return next(i for i, (m, _) in enumerate(entries) if m.name.endswith(end))

def add(name, kind=tarfile.REGTYPE, target="", content=b""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size, member.mode = kind, target, len(content), 0o644
    entries.append((member, content))

def replace(end, content):
    member, _ = entries[find(end)]
    member.size = len(content)
    entries[find(end)] = (member, content)

def pack():
    replace("runtime.manifest.json", json.dumps(manifest).encode())
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as packed:
        for member, content in entries:
            packed.addfile(member, io.BytesIO(content))
    data = globals().get("cut", lambda data: data)(gzip.compress(buffer.getvalue()))
    open(out, "wb").write(data)
"#;

/// What is changed, and why it is refused.
const CHANGES: &[(&str, &str)] = &[
    ("cut = lambda data: data[: len(data) // 2]", "truncated"),
    ("cut = lambda data: data + b'more'", "trailing_data"),
    ("manifest['format_version'] = 'bundle-v1'", "format_version"),
    ("manifest['sha256'] = '0' * 64", "tree_hash"),
    ("manifest['files'][0]['sha256'] = '0' * 64", "tree_hash"),
    ("manifest['files'][0]['size_bytes'] += 1", "tree_hash"),
    (
        "manifest['entrypoint'] = '../../bin/sh'",
        "invalid_manifest",
    ),
    ("manifest['version'] = '../2'", "invalid_manifest"),
    ("manifest['scope_id'] = '..'", "invalid_manifest"),
    ("del manifest['platform']", "invalid_manifest"),
    ("manifest['files'][0]['path'] = '/etc/x'", "absolute_path"),
    (
        "manifest['links'][0]['target'] = '/etc/passwd'",
        "link_outside",
    ),
    ("replace('os.py', b'import os \\n')", "file_hash"),
    ("replace('os.py', b'longer than before')", "file_size"),
    (
        "a, b = find('module_0.py'), find('module_1.py'); x, y = entries[a][1], entries[b][1]; entries[a] = (entries[a][0], y); entries[b] = (entries[b][0], x)",
        "file_hash",
    ),
    ("entries[find('os.py')][0].mode = 0o755", "file_mode"),
    (
        "entries[find('bin/python3')][0].linkname = '../../../x'",
        "link_target",
    ),
    ("del entries[find('os.py')]", "missing_file"),
    (
        "del entries[0]; entries.insert(1, (tarfile.TarInfo('runtime.manifest.json'), b''))",
        "no_manifest",
    ),
    ("add('python/lib/python3.11/more.py')", "unlisted_file"),
    ("add('python/' + 'n' * 300)", "long_path"),
    ("add('../../escaped')", "path_traversal"),
    ("add('/tmp/escaped')", "absolute_path"),
    (
        "add('sidecar/hard', tarfile.LNKTYPE, 'python/bin/python3.11')",
        "hard_link",
    ),
    (
        "add('sidecar/soft', tarfile.SYMTYPE, '/etc')",
        "unlisted_file",
    ),
    ("add('sidecar/null', tarfile.CHRTYPE)", "special_file"),
    ("add('sidecar/pipe', tarfile.FIFOTYPE)", "special_file"),
    ("entries.append(entries[find('os.py')])", "duplicate_path"),
    (
        "new = dict(manifest['files'][-1]); new['path'] = new['path'].upper(); manifest['files'].append(new)",
        "case_collision",
    ),
    (
        "manifest['files'].append(dict(manifest['files'][0]))",
        "duplicate_path",
    ),
    (
        "manifest['files'] += [dict(manifest['files'][0], path=f'x/{n}') for n in range(200001)]",
        "too_many_entries",
    ),
    ("manifest['files'][0]['size_bytes'] = 1 << 50", "too_large"),
];
