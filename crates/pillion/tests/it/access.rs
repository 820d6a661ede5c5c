//! Who is let in over HTTP: the server's own user outside of lanes, and who has the token.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use pillion_testing::web::Web;
use pillion_testing::{CommandOutput, TestContext, can_be_others, is_root};
use serde_json::{Value, json};

/// A user whom nobody is, and one that is somebody else.
const NOBODY: u32 = 65_534;
const SOMEBODY_ELSE: u32 = 65_533;

/// An answer: status, headers, body.
type Answer = (u16, BTreeMap<String, String>, String);

/// Ask as curl does, as this user if we can be anybody.
fn ask(context: &TestContext, user: Option<u32>, port: u16, words: &[&str]) -> Answer {
    let mut command = context.command("python3");
    command.args(["-c", include_str!("ask.py"), &port.to_string()]);
    command.args(words).current_dir("/");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let output = CommandOutput::of(command);
    assert_eq!(output.code, Some(0), "{words:?}: {output}");
    serde_json::from_value(output.json()).unwrap()
}

/// Somebody else, if we can be anybody; else requests are our own.
fn somebody_else() -> Option<u32> {
    can_be_others("requests of another user").then_some(SOMEBODY_ELSE)
}

/// A server of root's or of an ordinary user's.
fn server(context: &TestContext, more: &[&str]) -> Web {
    let mut words = vec!["serve", "--port", "0", "--root", "."];
    words.extend(more);
    Web::start(context.pillion_command(&words))
}

/// The word behind `before` in what a server said.
fn word(said: &str, before: &str) -> String {
    let (_, rest) = said.split_once(before).unwrap_or_else(|| panic!("{said}"));
    rest.split_whitespace().next().unwrap().to_owned()
}

/// Contexts for the servers of all users that we can be.
fn contexts() -> Vec<TestContext> {
    let ordinary = is_root().then(|| TestContext::new().for_user(Some(NOBODY)));
    std::iter::once(TestContext::new())
        .chain(ordinary)
        .collect()
}

#[test]
fn its_own_user_is_let_in_and_others_are_not() {
    for context in contexts() {
        let web = server(&context, &[]);
        for path in ["/health", "/docs", "/metrics", "/stats"] {
            let (status, _, body) = ask(&context, None, web.port, &["GET", path]);
            assert_eq!(status, 200, "{path}: {body}");
        }
        let call = ["POST", "/v1/system.ping"];
        assert_eq!(ask(&context, None, web.port, &call).0, 200);
        if !can_be_others("requests of another user") {
            continue;
        }
        for words in [
            &["POST", "/v1/system.ping"][..],
            &["POST", "/v1/py.call"],
            &["POST", "/mcp"],
            &["GET", "/mcp"],
            &["POST", "/shutdown"],
            &["GET", "/health"],
            &["GET", "/docs"],
            &["GET", "/metrics"],
            &["GET", "/no/such/page"],
            &["GET", "/open"],
            &["POST", "/open"],
            &["GET", "/open?once="],
            &["POST", "/v1/system.ping", "Authorization:Bearer wrong"],
            &["POST", "/v1/system.ping", "Authorization:Bearer "],
        ] {
            let (status, headers, body) = ask(&context, Some(SOMEBODY_ELSE), web.port, words);
            assert_eq!(status, 401, "{words:?}: {body}");
            let error: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(error["code"], "unauthorized", "{words:?}");
            assert!(error["hint"].as_str().unwrap().contains("Bearer"), "{body}");
            assert!(headers["www-authenticate"].starts_with("Bearer"));
        }
        assert_eq!(ask(&context, None, web.port, &call).0, 200, "it still runs");
    }
}

#[test]
fn the_token_lets_anybody_in() {
    for context in contexts() {
        let web = server(&context, &[]);
        let said = web.said();
        let (token, file) = (word(&said, "the token "), word(&said, "also in "));
        assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), token);
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
        assert!(Path::new(&file).starts_with(context.base.join("run/pillion")));
        let other = somebody_else();
        for header in [
            format!("Authorization:Bearer {token}"),
            format!("authorization:bearer  {token} "),
        ] {
            let words = ["POST", "/v1/system.ping", &header];
            assert_eq!(ask(&context, other, web.port, &words).0, 200, "{header}");
        }
        // Not in the address, where others would see it.
        let path = format!("/health?token={token}");
        let expected = if is_root() { 401 } else { 200 };
        assert_eq!(ask(&context, other, web.port, &["GET", &path]).0, expected);
        drop(web);
        assert!(!Path::new(&file).exists(), "it goes with its server");
        let next = server(&context, &[]);
        assert_ne!(word(&next.said(), "the token "), token);
    }
}

#[test]
fn a_link_lets_a_browser_in_once() {
    let context = TestContext::new();
    let web = server(&context, &[]);
    let link = word(&web.said(), "a browser, once and soon: ");
    let path = |link: &str| {
        let at = link.find("/open?once=").unwrap();
        link[at..].to_owned()
    };
    // Nobody that the kernel knows: who can be somebody else is.
    let other = somebody_else();
    let (status, headers, _) = ask(&context, other, web.port, &["GET", &path(&link)]);
    assert_eq!((status, headers["location"].as_str()), (303, "/docs"));
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["referrer-policy"], "no-referrer");
    let cookie = &headers["set-cookie"];
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(cookie.starts_with(&format!("pillion-{}=", web.port)));
    let (status, headers, _) = ask(&context, other, web.port, &["GET", &path(&link)]);
    assert_eq!(status, 401, "a second time");
    assert!(!headers.contains_key("set-cookie"));

    // Who is let in can ask for another.
    let (status, _, body) = ask(&context, None, web.port, &["POST", "/open"]);
    assert_eq!(status, 200, "{body}");
    let again: Value = serde_json::from_str(&body).unwrap();
    let again = path(again["url"].as_str().unwrap());
    assert_ne!(again, path(&link));
    let (status, headers, _) = ask(&context, other, web.port, &["GET", &again]);
    assert_eq!(status, 303);
    let second = headers["set-cookie"].clone();
    assert_ne!(second.split(';').next(), cookie.split(';').next());

    // A cookie is for browsers of our own user; what others saw of it is worth nothing.
    let pair = cookie.split(';').next().unwrap();
    let given = format!("Cookie:a=b; {pair}");
    let expected = if is_root() { 401 } else { 200 };
    assert_eq!(
        ask(&context, other, web.port, &["GET", "/docs", &given]).0,
        expected
    );
    assert_eq!(
        ask(&context, None, web.port, &["GET", "/docs", &given]).0,
        200
    );
}

#[test]
fn without_a_token_everybody_is_let_in_and_people_are_warned() {
    let context = TestContext::new();
    let web = server(&context, &["--no-token"]);
    let said = web.said();
    assert!(said.contains("warning: `--no-token`"), "{said}");
    assert!(!said.contains("the token "), "{said}");
    let other = somebody_else();
    assert_eq!(ask(&context, other, web.port, &["GET", "/health"]).0, 200);
    let run = context.base.join("run/pillion");
    let tokens = std::fs::read_dir(run).into_iter().flatten().flatten();
    assert_eq!(
        tokens
            .filter(|f| f.path().extension() == Some("token".as_ref()))
            .count(),
        0
    );
}

#[test]
fn exposed_functions_are_guarded_too() {
    let context = TestContext::new();
    let command = context.pillion_command(&["expose", "things", "--http", "0"]);
    let web = Web::start(command);
    let call = ["POST", "/pid"];
    assert_eq!(ask(&context, None, web.port, &call).0, 200);
    let token = word(&web.said(), "the token ");
    if can_be_others("requests of another user") {
        assert_eq!(ask(&context, Some(SOMEBODY_ELSE), web.port, &call).0, 401);
        let header = format!("Authorization:Bearer {token}");
        let words = ["POST", "/pid", &header];
        assert_eq!(ask(&context, Some(SOMEBODY_ELSE), web.port, &words).0, 200);
    }
    drop(web);
    let command = context.pillion_command(&["expose", "things", "--http", "0", "--no-token"]);
    let web = Web::start(command);
    assert!(web.said().contains("warning: `--no-token`"));
    let other = somebody_else();
    assert_eq!(ask(&context, other, web.port, &call).0, 200);
}

/// Code in a lane that may use the network reaches the port, and gets nothing there; nor by
/// any other way that leads to its own user's rights.
fn a_lane_is_not_let_in(user: Option<u32>, level: &str, fresh: bool) {
    let mut context = TestContext::new()
        .config("[lanes.user]\nnetwork = true\nslots = 1\n")
        .for_user(user);
    context.set_env("PILLION_LANES_LEVEL", level);
    context.trust();
    let daemon = context.daemon();
    let web = server(&context, &[]);
    let said = web.said();
    let (token, file) = (word(&said, "the token "), word(&said, "also in "));
    let run = |code: &str, args: &[&str]| {
        let order = json!({"code": code, "args": args, "lane": "user", "session": "s",
            "fresh": fresh, "root": context.project, "timeout_seconds": 60});
        // We may be another user than the server's.
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", &bearer),
        ];
        let reply = web.request("POST", "/v1/exec.run", &headers, &order.to_string());
        let reply = reply.json();
        assert_eq!(reply["level"], level, "{reply}");
        assert_eq!(reply["outcome"], "ok", "{reply}");
        reply["stdout"].as_str().unwrap().to_owned()
    };
    let port = web.port.to_string();
    let asked = |words: &[&str]| -> u16 {
        let words: Vec<&str> = [port.as_str()].iter().chain(words).copied().collect();
        let printed = run(include_str!("ask.py"), &words);
        let answer: Answer = serde_json::from_str(&printed).unwrap();
        answer.0
    };
    assert_eq!(asked(&["POST", "/v1/system.ping"]), 401);
    assert_eq!(asked(&["GET", "/health"]), 401);
    let header = format!("Authorization:Bearer {token}");
    assert_eq!(
        asked(&["POST", "/v1/system.ping", &header]),
        200,
        "handed to it"
    );

    // Nor does it help to hide who holds the socket.
    let tricks = run(
        include_str!("lane_tricks.py"),
        &[&port, &file, daemon_socket(&context).to_str().unwrap()],
    );
    let bad: Vec<&str> = tricks
        .lines()
        .filter(|line| line.starts_with("ESCAPED"))
        .collect();
    assert!(bad.is_empty(), "{tricks}");
    assert!(tricks.ends_with("tried all\n"), "{tricks}");
    drop((web, daemon));
}

fn daemon_socket(context: &TestContext) -> PathBuf {
    let socket = context.socket();
    assert!(socket.exists());
    socket
}

fn ordinary() -> Option<u32> {
    is_root().then_some(NOBODY)
}

#[test]
fn a_lane_of_an_ordinary_user_is_not_let_in() {
    a_lane_is_not_let_in(ordinary(), "L3", false);
    a_lane_is_not_let_in(ordinary(), "L3", true);
}

#[test]
fn a_lane_without_namespaces_is_not_let_in() {
    a_lane_is_not_let_in(ordinary(), "L2", true);
}

#[test]
fn a_lane_of_root_is_not_let_in() {
    if can_be_others("a lane of a server that root runs") {
        a_lane_is_not_let_in(None, "L3", false);
        a_lane_is_not_let_in(None, "L3", true);
    }
}

#[test]
fn the_token_of_a_server_that_was_killed_goes_with_the_next_start() {
    for context in contexts() {
        let (living, killed) = (server(&context, &[]), server(&context, &[]));
        let file_of = |web: &Web| PathBuf::from(word(&web.said(), "also in "));
        let (kept, stale) = (file_of(&living), file_of(&killed));
        killed.kill();
        assert!(stale.exists(), "nobody removed it yet");
        // What is no file of a token, and what is no token of ours, is left alone.
        let elsewhere = context.write("elsewhere", "precious");
        let link = kept.with_file_name("http-1.token");
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let next = server(&context, &[]);
        assert!(!stale.exists() && kept.exists() && file_of(&next).exists());
        assert!(link.symlink_metadata().is_ok() && elsewhere.exists());
        let token = std::fs::read_to_string(&kept).unwrap();
        let header = format!("Authorization:Bearer {}", token.trim());
        let (status, ..) = ask(
            &context,
            somebody_else(),
            living.port,
            &["GET", "/health", &header],
        );
        assert_eq!(status, 200);
    }
}
