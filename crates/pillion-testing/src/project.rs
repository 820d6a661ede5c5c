//! A fixture project, copied to a place of its own, and a daemon to ask about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::prerequisites::kept;
use crate::rpc::{Rpc, RpcOutcome};
use crate::web::{HttpReply, Web};
use crate::{CommandOutput, TestContext};

const FIXTURES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../pillion/tests/fixtures/code"
);

/// A project that questions are asked about. The fields are in the order in which they end.
pub struct TestProject {
    rpc: Rpc,
    /// Whom it asks.
    pub daemon: Daemon,
    /// Where the project is.
    pub context: TestContext,
}

impl TestProject {
    /// The fixture with this name.
    pub fn open(topic: &str) -> Self {
        Self::converted(topic, |_, text| text.into_bytes())
    }

    /// A fixture whose files are written in another way.
    pub fn converted(topic: &str, convert: impl Fn(&str, String) -> Vec<u8>) -> Self {
        Self::new(copied(topic, convert))
    }

    /// A project with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let context = bare();
        for (name, text) in files {
            context.write(name, text);
        }
        Self::new(context)
    }

    /// A daemon for a project that is there.
    pub fn new(context: TestContext) -> Self {
        let daemon = context.daemon();
        let rpc = daemon.connect();
        Self {
            rpc,
            daemon,
            context,
        }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.context.project
    }

    /// What an operation answers, or its error object.
    pub fn try_ask(&mut self, operation: &str, mut params: Value) -> RpcOutcome {
        if params.get("root").is_none() {
            params["root"] = json!(self.context.project);
        }
        let outcome = self.rpc.call(&format!("code.{operation}"), params);
        outcome.map_err(|error| error["data"].clone())
    }

    /// What an operation answers; it must.
    pub fn ask(&mut self, operation: &str, params: Value) -> Value {
        let told = params.to_string();
        self.try_ask(operation, params)
            .unwrap_or_else(|error| panic!("code.{operation} {told}: {error:#}"))
    }

    /// What an operation answers about a place.
    pub fn ask_at(&mut self, operation: &str, place: (&str, u32, u32)) -> Value {
        let (file, line, col) = place;
        self.ask(operation, json!({"file": file, "line": line, "col": col}))
    }

    /// Where the cursor `|` of a needle stands in a file, from 1.
    pub fn find<'a>(&self, file: &'a str, needle: &str) -> (&'a str, u32, u32) {
        let text = fs::read_to_string(self.root().join(file)).unwrap();
        let (line, column) = find(&text, needle);
        (file, line, column)
    }

    /// The definitions of what stands at a needle, as `file:line:column`.
    pub fn defs(&mut self, file: &str, needle: &str) -> Vec<String> {
        let place = self.find(file, needle);
        places(&self.ask_at("defs", place)["locations"])
    }

    /// Kill the engine, as the kernel would when memory runs out; whether one ran.
    pub fn kill_engine(&mut self) -> bool {
        let pid = self.engine_pid();
        pid.into_iter().for_each(crate::processes::kill);
        pid.is_some()
    }

    /// The process of the engine, if one runs.
    pub fn engine_pid(&mut self) -> Option<u32> {
        let status = self.rpc.call("system.status", json!({})).unwrap();
        let pid = status["workspaces"][0]["sidecars"][0]["pid"].as_u64()?;
        u32::try_from(pid).ok()
    }
}

/// Where the cursor `|` of a needle, which must be there once, stands in a text, from 1.
pub fn find(text: &str, needle: &str) -> (u32, u32) {
    let cursor = needle.find('|').unwrap_or(0);
    let needle = needle.replacen('|', "", 1);
    let mut found = text.match_indices(&needle);
    let (start, _) = found.next().unwrap_or_else(|| panic!("no `{needle}`"));
    assert!(found.next().is_none(), "`{needle}` is there twice");
    let before = &text[..start + cursor];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
    (line.try_into().unwrap(), column.try_into().unwrap())
}

/// Locations as `file:line:column`.
pub fn places(locations: &Value) -> Vec<String> {
    let all = locations
        .as_array()
        .unwrap_or_else(|| panic!("{locations}"));
    all.iter().map(place).collect()
}

/// A location as `file:line:column`.
pub fn place(location: &Value) -> String {
    let file = location["file"].as_str().unwrap();
    format!("{file}:{}:{}", location["line"], location["column"])
}

/// Members of each object of a list, as text.
pub fn members(list: &Value, name: &str) -> Vec<String> {
    let all = list.as_array().unwrap_or_else(|| panic!("{list}"));
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    all.iter().map(|one| text(&one[name])).collect()
}

/// A context with an empty project, and ty at hand.
pub fn bare() -> TestContext {
    let context = TestContext::new();
    fs::remove_file(context.project.join("things.py")).unwrap();
    let data = context.base.join("pillion/data");
    fs::create_dir_all(&data).unwrap();
    std::os::unix::fs::symlink(tools(), data.join("env")).unwrap();
    context
}

/// A context with a fixture.
pub fn fixture(topic: &str) -> TestContext {
    copied(topic, |_, text| text.into_bytes())
}

fn copied(topic: &str, convert: impl Fn(&str, String) -> Vec<u8>) -> TestContext {
    let context = bare();
    let from = Path::new(FIXTURES).join(topic);
    for name in files_below(&from) {
        let text = fs::read_to_string(from.join(&name)).unwrap();
        let to = context.project.join(&name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, convert(&name, text)).unwrap();
    }
    context
}

/// The files below a folder, by their relative paths; links are left alone.
pub fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(next) = open.pop() {
        let entries = fs::read_dir(folder.join(&next))
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries.map(Result::unwrap) {
            let path = next.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The managed environments, with ty and ruff in them: built by the first test that needs
/// them, and kept between runs. pillion's own lock lets one process build at a time.
fn tools() -> &'static Path {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let home = kept("code-tools");
        let context = TestContext::new();
        let mut build = context.pillion_command(&["env", "ensure"]);
        // Where packages come from is the machine's own affair.
        for (name, value) in std::env::vars_os() {
            let text = name.to_string_lossy().to_ascii_uppercase();
            let is_source = ["PIP_", "UV_", "SSL_"].iter().any(|p| text.starts_with(p));
            if is_source || text.ends_with("_PROXY") {
                build.env(name, value);
            }
        }
        build.env("PILLION_HOME", &home);
        let status = build.status().unwrap();
        assert!(status.success(), "the tools could not be built: {status}");
        home.join("data/env")
    })
}

/// The old routes of `pillion serve`.
pub fn post(web: &Web, route: &str, params: &Value) -> HttpReply {
    let kind = [("Content-Type", "application/json")];
    web.request("POST", route, &kind, &params.to_string())
}

/// Run git in a folder; it must succeed.
pub fn git(context: &TestContext, args: &[&str]) {
    let mut git = context.command("git");
    git.args(["-c", "user.name=it", "-c", "user.email=it@localhost"])
        .args(args);
    let output = CommandOutput::of(git);
    assert_eq!(output.code, Some(0), "git {args:?}\n{output}");
}
