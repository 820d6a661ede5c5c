//! Hosts that change a file under way, and machines on which there is no room.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use pillion_testing::{CommandOutput, skipped};

use super::world::World;

/// What is asked of a host.
struct Asked {
    path: String,
    /// From which byte on.
    first: Option<usize>,
}

/// A host with this behaviour; its address.
fn host(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || one(stream, &*answer));
        }
    });
    format!("http://{address}")
}

fn one(mut stream: TcpStream, answer: &dyn Fn(&Asked) -> Vec<u8>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(line)) = lines.next() else {
        return;
    };
    let mut asked = Asked {
        path: line.split(' ').nth(1).unwrap().to_owned(),
        first: None,
    };
    for line in lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
    {
        if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
            asked.first = range.trim_end_matches('-').parse().ok();
        }
    }
    let _ = stream.write_all(&answer(&asked));
}

/// An answer that promises `length` bytes.
fn reply(status: &str, head: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {status}\r\n{head}Connection: close\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// An archive, and the files beside it by the ends of their names.
struct Files {
    archive: Vec<u8>,
    beside: [(&'static str, Vec<u8>); 2],
}

impl Files {
    fn of(world: &World, archive: &str) -> Self {
        let read = |name: String| fs::read(world.path(&name)).unwrap();
        Self {
            archive: read(archive.to_owned()),
            beside: [".minisig", ".sha256"].map(|end| (end, read(format!("{archive}{end}")))),
        }
    }

    /// What lies beside the archive, if that is asked for.
    fn beside(&self, asked: &Asked) -> Option<Vec<u8>> {
        let found = self
            .beside
            .iter()
            .find(|(end, _)| asked.path.ends_with(end));
        found.map(|(_, bytes)| reply("200 OK", "", bytes.len(), bytes))
    }
}

#[test]
fn a_host_that_ignores_the_condition_of_a_part_is_asked_for_all_of_it() {
    let world = World::new();
    let (old, new) = (world.experts("1.0.0"), world.experts("2.0.0"));
    let (old, new) = (Files::of(&world, &old), Files::of(&world, &new));
    let count = AtomicUsize::new(0);
    let address = host(move |asked| {
        if let Some(answer) = new.beside(asked) {
            return answer;
        }
        let (before, after) = (&old.archive, &new.archive);
        match (count.fetch_add(1, Ordering::SeqCst), asked.first) {
            // It breaks off, and then it is another file.
            (0, _) => reply("200 OK", "ETag: \"one\"\r\n", before.len(), &before[..100]),
            (_, Some(first)) => {
                let range = format!("{first}-{}/{}", after.len() - 1, after.len());
                let head = format!("ETag: \"two\"\r\nContent-Range: bytes {range}\r\n");
                let rest = &after[first..];
                reply("206 Partial Content", &head, rest.len(), rest)
            }
            (_, None) => reply("200 OK", "ETag: \"two\"\r\n", after.len(), after),
        }
    });
    let installed = world.install(&format!("{address}/experts.tar.zst"));
    assert_eq!(installed["version"], "2.0.0", "{installed}");
}

#[test]
fn who_downloads_the_same_waits_for_whoever_does_already() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    let files = Files::of(&world, &archive);
    let (began, begun) = channel();
    let (go, gone) = channel::<()>();
    let (began, gone) = (Mutex::new(began), Mutex::new(gone));
    let address = host(move |asked| {
        files.beside(asked).unwrap_or_else(|| {
            let _ = began.lock().unwrap().send(());
            let _ = gone.lock().unwrap().recv();
            let bytes = &files.archive;
            reply("200 OK", "", bytes.len(), bytes)
        })
    });
    let url = format!("{address}/{archive}");
    let args = ["bundle", "install", &url, "--store", "store"];
    let args = [&args[..], &["--trust", "keys/bundle.pub"]].concat();
    let start = || {
        let mut command = world.context.pillion_command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let first = start();
    begun.recv().unwrap();
    let mut second = start();
    let mut said = String::new();
    let mut lines = BufReader::new(second.stderr.take().unwrap());
    while !said.contains("waiting for another download") {
        let read = lines.read_line(&mut said).unwrap();
        assert!(read > 0, "{said}");
    }
    drop(go);
    for child in [first, second] {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(said.contains("experts/core 1.0.0"), "{said}");
    }
    let downloads = world.path("store/.downloads");
    assert_eq!(downloads.read_dir().unwrap().count(), 0);
}

/// Runs a program that can write no larger files than these bytes, as on a disk that is full.
const NARROW: &str = "import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
os.execv(sys.argv[1], sys.argv[1:])";

#[test]
fn an_archive_for_which_there_is_no_room_is_not_refused_and_need_not_come_again() {
    let world = World::new();
    world.write("large/prompts/large.md", &"x".repeat(1_000_000));
    world.build(&[
        "--type",
        "experts",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--from",
        "large",
        "--out",
        "large.tar.zst",
    ]);
    let files = Files::of(&world, "large.tar.zst");
    let size = files.archive.len();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let address = host(move |asked| {
        files.beside(asked).unwrap_or_else(|| {
            if asked.first == Some(size) {
                let head = format!("Content-Range: bytes */{size}\r\n");
                return reply("416 Range Not Satisfiable", &head, 0, b"");
            }
            count.fetch_add(1, Ordering::SeqCst);
            reply("200 OK", "ETag: \"one\"\r\n", size, &files.archive)
        })
    });
    let url = format!("{address}/large.tar.zst");
    let mut narrow = world.context.command("python3");
    narrow
        .args(["-c", NARROW, env!("CARGO_BIN_EXE_pillion")])
        .args(["--json", "bundle", "install", &url, "--store", "store"])
        .args(["--trust", "keys/bundle.pub"]);
    let output = CommandOutput::of(narrow);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.to_string().contains("\"write_failed\""), "{output}");
    assert!(!world.path("store/active_index.json").exists());
    assert!(!world.path("store/.staging").exists());
    assert_eq!(world.install(&url)["outcome"], "installed");
    assert_eq!(sent.load(Ordering::SeqCst), 1, "the archive came once");
}

#[test]
fn a_host_that_gives_parts_of_parts_is_asked_for_the_rest() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    let files = Files::of(&world, &archive);
    let address = host(move |asked| {
        files.beside(asked).unwrap_or_else(|| {
            let bytes = &files.archive;
            let Some(first) = asked.first else {
                return reply("200 OK", "ETag: \"one\"\r\n", bytes.len(), &bytes[..100]);
            };
            let end = bytes.len().min(first + 100);
            let range = format!("{first}-{}/{}", end - 1, bytes.len());
            let head = format!("ETag: \"one\"\r\nContent-Range: bytes {range}\r\n");
            reply(
                "206 Partial Content",
                &head,
                end - first,
                &bytes[first..end],
            )
        })
    });
    let installed = world.install(&format!("{address}/{archive}"));
    assert_eq!(installed["outcome"], "installed", "{installed}");
    // A part that nobody asked for and that begins elsewhere is none of it.
    let files = Files::of(&world, &archive);
    let address = host(move |asked| {
        files.beside(asked).unwrap_or_else(|| {
            let head = "Content-Range: bytes 5-9/100\r\n";
            reply("206 Partial Content", head, 5, &files.archive[5..10])
        })
    });
    let url = format!("{address}/{archive}");
    let error = world.refused(&["bundle", "install", &url, "--trust", "keys/bundle.pub"]);
    assert_eq!(error["code"], "unreachable", "{error}");
}

#[test]
fn what_nobody_signed_who_is_trusted_is_not_downloaded() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    let files = Files::of(&world, &archive);
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let address = host(move |asked| {
        files.beside(asked).unwrap_or_else(|| {
            if asked.path.contains("missing") {
                return reply("404 Not Found", "", 0, b"");
            }
            count.fetch_add(1, Ordering::SeqCst);
            reply("200 OK", "", files.archive.len(), &files.archive)
        })
    });
    let url = format!("{address}/{archive}");
    assert_eq!(world.refusal(&url, &[]), "unknown_key");
    assert!(!world.path("store/.downloads").exists());
    world.install(&url);
    // The look whether it is there at all, and the download.
    assert_eq!(sent.load(Ordering::SeqCst), 2);
    let url = format!("{address}/missing.tar.zst");
    let error = world.refused(&["bundle", "install", &url, "--store", "store"]);
    assert_eq!(error["code"], "unreachable", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("address"), "nothing has arrived: {hint}");
}

/// Fills a small disk, and makes room on it.
const FULL: &str = "import os, subprocess, sys
program, folder, store = sys.argv[1:]
os.makedirs(folder)
subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=400k', 'none', folder], check=True)
subprocess.run(['cp', '-a', store, folder], check=True)
try:
    with open(folder + '/fill', 'wb', buffering=0) as fill:
        while True:
            fill.write(b'x' * 512)
except OSError:
    pass
sys.exit(subprocess.run([program, '--json', 'bundle', 'gc', '--keep', '0', '--store', folder + '/store']).returncode)";

#[test]
fn a_collection_makes_room_on_a_disk_that_is_full() {
    let world = World::new();
    for version in ["1.0.0", "2.0.0"] {
        world.install(&world.experts(version));
    }
    let mut inside = world.context.command("unshare");
    inside
        .args(["--user", "--map-root-user", "--mount", "python3"])
        .args(["-c", FULL, env!("CARGO_BIN_EXE_pillion")])
        .args([world.path("small"), world.store()]);
    let output = CommandOutput::of(inside);
    if output.stderr.contains("unshare failed") {
        return skipped("this machine lets nobody have mounts of their own");
    }
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["removed"][0]["version"], "1.0.0", "{output}");
}
