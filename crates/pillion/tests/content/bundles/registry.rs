//! Registries: the list, the question, and downloads that break off.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::world::World;

/// A registry that is served, until it is dropped.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(world: &World, folder: &str) -> Self {
        let args = ["registry", "serve", folder, "--port", "0"];
        let mut command = world.context.pillion_command(&args);
        command.stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap().to_owned();
        Self { child, address }
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.ask(path, "");
        (status, serde_json::from_str(&body).unwrap_or_default())
    }

    /// A part of a file: the status, and how much came.
    fn part(&self, path: &str, range: &str) -> (u16, usize) {
        let (status, body) = self.ask(path, &format!("Range: {range}\r\n"));
        (status, body.len())
    }

    fn ask(&self, path: &str, head: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\n{head}Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        let body = text.split_once("\r\n\r\n").unwrap().1;
        (status, body.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder of runtimes: platform, version, the desktop that they need.
fn registry(world: &World) {
    world.small_tree("1", 1);
    for (platform, version, desktop) in [
        ("linux-x64", "1.0.0", "1.0.0"),
        ("linux-x64", "1.1.0", "2.0.0"),
        ("linux-x64", "2.0.0-rc.1", "1.0.0"),
        ("macos-arm64", "1.0.0", "1.0.0"),
    ] {
        let out = format!("registry/core-{version}-{platform}.tar.zst");
        world.build(&[
            "--type",
            "python_runtime",
            "--scope",
            "core",
            "--version",
            version,
            "--platform",
            platform,
            "--python",
            "tree-1",
            "--binary",
            "program-1",
            "--desktop-min-version",
            desktop,
            "--out",
            &out,
        ]);
    }
}

#[test]
fn a_desktop_gets_the_newest_runtime_that_it_can_use() {
    let world = World::new();
    registry(&world);
    let error = world.refused(&["registry", "build", "registry"]);
    assert_eq!(error["data"]["reason"], "unknown_key", "{error}");
    let trusted = ["--trust", "keys/bundle.pub", "--mandatory", "1.1.0"];
    let mut args = vec!["registry", "build", "registry"];
    args.extend(trusted);
    let built = world.done(&args);
    assert_eq!(built["bundles"].as_array().unwrap().len(), 4, "{built}");
    let list = std::fs::read(world.path("registry/index.json")).unwrap();
    world.done(&args);
    assert_eq!(
        list,
        std::fs::read(world.path("registry/index.json")).unwrap()
    );

    let unknown = [&args[..], &["--mandatory", "7.7.7"]].concat();
    let error = world.refused(&unknown);
    assert!(
        error["message"].as_str().unwrap().contains("7.7.7"),
        "{error}"
    );

    let served = Served::start(&world, "registry");
    let ask = |query: &str| served.get(&format!("/v1/bundles/python_runtime?{query}"));
    let (status, offered) = ask("platform=linux-x64&desktop_version=1.5.0");
    assert_eq!(
        (status, &offered["version"]),
        (200, &"1.0.0".into()),
        "{offered}"
    );
    assert_eq!(offered["mandatory"], false);
    let names: Vec<&String> = offered.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "bundle_type",
            "scope_id",
            "version",
            "artifact_url",
            "sha256",
            "size_bytes",
            "mandatory",
            "signature"
        ]
    );
    assert!(
        offered["signature"]
            .as_str()
            .unwrap()
            .contains("trusted comment")
    );
    let (_, newer) = ask("platform=linux-x64&desktop_version=2.0.0");
    assert_eq!(
        (&newer["version"], &newer["mandatory"]),
        (&"1.1.0".into(), &true.into())
    );
    let (_, early) = ask("platform=linux-x64&desktop_version=2.0.0&prerelease=true");
    assert_eq!(early["version"], "2.0.0-rc.1");
    assert_eq!(ask("platform=windows-x64&desktop_version=9.0.0").0, 404);
    assert_eq!(ask("platform=linux-x64&desktop_version=0.1.0").0, 404);
    assert_eq!(ask("platform=amiga&desktop_version=1.0.0").0, 422);
    assert_eq!(ask("platform=linux-x64").0, 422);
    let (status, error) = ask("platform=linux-x64&desktop_version=1.0.0&prerelease=maybe");
    assert_eq!((status, &error["code"]), (422, &"invalid_params".into()));
    let list_path = "/artifacts/index.json";
    assert_eq!(served.part(list_path, "bytes=5-2").0, 200);
    assert_eq!(served.part(list_path, "bytes=2-5"), (206, 4));
    assert_eq!(served.part(list_path, "bytes=99999999-").0, 416);
    assert_eq!(served.get("/artifacts/..%2Fkeys%2Fbundle.key").0, 404);
    assert_eq!(served.get("/artifacts/index.json").0, 200);
    let chosen = world.done(&[
        "registry",
        "choose",
        "registry",
        "--platform",
        "linux-x64",
        "--desktop-version",
        "2",
    ]);
    assert_eq!(chosen["version"], "1.1.0");

    // What is offered can be installed from there.
    if std::env::consts::ARCH == "x86_64" {
        let url = offered["artifact_url"].as_str().unwrap();
        let installed = world.install(url);
        assert_eq!(installed["version"], "1.0.0", "{installed}");
        assert_eq!(
            world.path("store/.downloads").read_dir().unwrap().count(),
            0
        );
    }
    // So can what fits best, where only the registry is named.
    if std::env::consts::ARCH == "x86_64" {
        let address = &served.address;
        for list in [
            "registry".to_owned(),
            "registry/index.json".to_owned(),
            format!("http://{address}/artifacts/"),
            format!("http://{address}/artifacts/index.json"),
        ] {
            let installed = world.install(&list);
            assert_eq!(installed["version"], "1.1.0", "{list}: {installed}");
        }
        let early = ["registry", "--version", "2.0.0-rc.1"];
        let early = [&early[..], &["--trust", "keys/bundle.pub"]].concat();
        assert_eq!(world.bundle("install", &early)["version"], "2.0.0-rc.1");
    }
    let chapter = ["bundle", "install", "registry", "--type", "chapter"];
    let error = world.refused(&chapter);
    assert_eq!(error["code"], "not_found", "{error}");
    // The list says which archive it is.
    let path = world.path("registry/index.json");
    let mut changed: Value = serde_json::from_slice(&list).unwrap();
    for artifact in changed["bundles"].as_array_mut().unwrap() {
        artifact["sha256"] = "0".repeat(64).into();
    }
    std::fs::write(&path, changed.to_string()).unwrap();
    if std::env::consts::ARCH == "x86_64" {
        let trusted = ["--trust", "keys/bundle.pub"];
        assert_eq!(world.refusal("registry", &trusted), "archive_hash");
    }
    // So it does which version, type and scope.
    let mut changed: Value = serde_json::from_slice(&list).unwrap();
    for artifact in changed["bundles"].as_array_mut().unwrap() {
        artifact["version"] = "9.9.9".into();
    }
    std::fs::write(&path, changed.to_string()).unwrap();
    if std::env::consts::ARCH == "x86_64" {
        let trusted = ["--trust", "keys/bundle.pub"];
        assert_eq!(world.refusal("registry", &trusted), "unexpected_bundle");
    }
    // A list of another format is none.
    changed["format_version"] = "registry-v9".into();
    std::fs::write(&path, changed.to_string()).unwrap();
    let error = world.refused(&["bundle", "install", "registry"]);
    assert!(
        error["message"].as_str().unwrap().contains("registry-v1"),
        "{error}"
    );
    std::fs::write(&path, &list).unwrap();
    let error = world.refused(&[
        "bundle",
        "install",
        &format!("http://{}/artifacts/no.tar.zst", served.address),
        "--store",
        "store",
    ]);
    assert_eq!(error["code"], "unreachable", "{error}");
}

#[test]
fn an_artifact_may_have_any_name_that_a_file_can_have() {
    let world = World::new();
    let names = ["a b", "a%20b", "a#b", "a?b", "a:b", "\u{e4}", "a+b", "..b"];
    for (number, name) in names.iter().enumerate() {
        world.write("content/prompts/expert.md", name);
        world.build(&[
            "--type",
            "experts",
            "--scope",
            "core",
            "--version",
            &format!("1.0.{number}"),
            "--from",
            "content",
            "--out",
            &format!("registry/{name}.tar.zst"),
        ]);
    }
    let trusted = ["--trust", "keys/bundle.pub"];
    let built = world.done(&[&["registry", "build", "registry"], &trusted[..]].concat());
    let built = built["bundles"].as_array().unwrap().len();
    assert_eq!(built, names.len() - 1, "what is hidden is not offered");
    let served = Served::start(&world, "registry");
    for (number, name) in names.iter().enumerate().take(names.len() - 1) {
        let version = format!("1.0.{number}");
        let artifacts = format!("http://{}/artifacts/", served.address);
        for place in ["registry", &artifacts] {
            let more = [place, "--type", "experts", "--version", &version];
            let installed = world.bundle("install", &[&more[..], &trusted].concat());
            assert_eq!(installed["version"], *version, "{name} of {place}");
        }
    }
    // Desktops get an address that they can ask for as it is.
    let (_, offered) = served.get("/v1/bundles/experts");
    let url = offered["artifact_url"].as_str().unwrap();
    assert!(url.ends_with("/artifacts/a+b.tar.zst"), "{url}");
    let chosen = world.done(&["registry", "choose", "registry", "--type", "experts"]);
    let path = chosen["artifact_url"].as_str().unwrap();
    assert_eq!(path, world.path("registry/a+b.tar.zst").to_str().unwrap());
}

#[test]
fn of_several_scopes_none_is_chosen() {
    let world = World::new();
    for (scope, version) in [("one", "1.0.0"), ("other", "2.0.0")] {
        world.write("content/prompts/expert.md", scope);
        let out = format!("registry/{scope}.tar.zst");
        world.build(&[
            "--type",
            "experts",
            "--scope",
            scope,
            "--version",
            version,
            "--from",
            "content",
            "--out",
            &out,
        ]);
    }
    let trusted = ["--trust", "keys/bundle.pub"];
    world.done(&[&["registry", "build", "registry"], &trusted[..]].concat());
    let install = ["registry", "--type", "experts"];
    let install = [&install[..], &trusted].concat();
    let args = [&["bundle", "install"], &install[..], &["--store", "store"]].concat();
    let error = world.refused(&args);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("experts/one"), "{error}");
    assert!(message.contains("experts/other"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--scope"));
    assert!(world.installed().is_empty());
    let named = [&install[..], &["--scope", "one"]].concat();
    assert_eq!(world.bundle("install", &named)["version"], "1.0.0");
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_was() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    let bytes = std::fs::read(world.path(&archive)).unwrap();
    let signature = std::fs::read(world.path(&format!("{archive}.minisig"))).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let (total, count) = (bytes.len(), Arc::clone(&sent));
    // A host that gives a hundred bytes and hangs up.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let path = lines.next().unwrap().unwrap();
            let mut first = 0;
            for line in lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
            {
                let line = line.to_lowercase();
                if let Some(range) = line.strip_prefix("range: bytes=") {
                    first = range.trim_end_matches('-').parse().unwrap();
                }
            }
            let head = "Connection: close\r\nETag: \"one\"\r\n";
            let answer = match path.split(' ').nth(1).unwrap() {
                path if path.ends_with(".minisig") => {
                    let length = signature.len();
                    let mut answer =
                        format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {length}\r\n\r\n")
                            .into_bytes();
                    answer.extend(&signature);
                    answer
                }
                path if path.ends_with(".sha256") => {
                    format!("HTTP/1.1 404 Not Found\r\n{head}Content-Length: 0\r\n\r\n")
                        .into_bytes()
                }
                _ => {
                    let left = total - first;
                    let end = total.min(first + 100);
                    count.fetch_add(end - first, Ordering::SeqCst);
                    let status = match first {
                        0 => "200 OK".to_owned(),
                        _ => format!(
                            "206 Partial Content\r\nContent-Range: bytes {first}-{}/{total}",
                            total - 1
                        ),
                    };
                    let mut answer =
                        format!("HTTP/1.1 {status}\r\n{head}Content-Length: {left}\r\n\r\n")
                            .into_bytes();
                    answer.extend(&bytes[first..end]);
                    answer
                }
            };
            let _ = stream.write_all(&answer);
        }
    });
    let url = format!("http://{address}/{archive}");
    assert_eq!(world.install(&url)["outcome"], "installed");
    assert_eq!(sent.load(Ordering::SeqCst), total, "every byte came once");
}
