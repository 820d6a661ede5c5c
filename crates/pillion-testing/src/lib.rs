//! What the black-box tests of pillion share. Tests use it, and nothing else does.
//!
//! Every test has a [`TestContext`] of its own: folders, environment and daemon are shared with
//! nobody, and when it goes it asserts that none of its processes is left. Waiting is always for
//! a condition, with a generous deadline; no test measures time.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test's helper fails its test by a panic"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!(...)` is written where it is used, and read better without a `&`"
)]

pub mod agent;
pub mod daemon;
pub mod kernels;
pub mod lines;
pub mod package;
pub mod prerequisites;
pub mod processes;
pub mod project;
pub mod rpc;
mod wait;
pub mod web;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

pub use prerequisites::set_up;
use processes::Process;
pub use wait::{Wait, wait_for, wait_for_file, wait_until};

/// How long anything may take before a test gives up on it.
pub const DEADLINE: Duration = Duration::from_secs(40);
/// What the faults must be over by: "every child gone within 2 s". Only time in which the
/// machine had a processor for everybody counts ([`Wait`]).
pub const TWO_SECONDS: Duration = Duration::from_secs(2);
/// Marks every process of a context. pillion hands it on to all its children: its name makes it
/// one of the variables that do not depend on a project.
const MARKER: &str = "XDG_IT_CONTEXT";
/// The functions that tests call, as module `things`.
pub const THINGS: &str = include_str!("things.py");

/// The program under test. Cargo builds it for the tests of `pillion`, and tells its place to them
/// and to nobody else: it is above the folder of the test that runs.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let program = folder.join(format!("pillion{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "`{}` is missing: `cargo test -p pillion` builds it",
        program.display()
    );
    program
}

/// How often a test does what it does `most` times in a long run (`cargo xtask test --long`).
pub fn rounds(most: usize) -> usize {
    match std::env::var("PILLION_TESTS").as_deref() {
        Ok("long") => most,
        _ => most / 4,
    }
}

/// Folders, environment and processes of one test.
pub struct TestContext {
    _folder: tempfile::TempDir,
    /// Everything is below this folder, which is also the home.
    pub base: PathBuf,
    /// The project's folder, with `things.py` in it.
    pub project: PathBuf,
    id: String,
    env: BTreeMap<OsString, OsString>,
    /// The program under test.
    binary: PathBuf,
    /// Who runs it, if not we.
    user: Option<u32>,
    /// Whether it was given the worker package already; none if it is not given one.
    package: Option<Once>,
}

impl Default for TestContext {
    fn default() -> Self {
        Self::new()
    }
}

impl TestContext {
    /// A context in which pillion was used before, and found what it needs to run Python.
    pub fn new() -> Self {
        let mut context = Self::at_first_use();
        context.package = Some(Once::new());
        context
    }

    /// A context in which pillion was never used.
    pub fn at_first_use() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::Builder::new()
            .prefix("it-")
            .tempdir_in("/tmp")
            .unwrap();
        let base = folder.path().canonicalize().unwrap();
        let project = base.join("project");
        for name in ["project", "run", "tmp"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        fs::set_permissions(base.join("run"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(project.join("things.py"), THINGS).unwrap();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = base.file_name().unwrap().to_string_lossy();
        let id = format!("{}-{count}-{name}", std::process::id());
        let mut context = Self {
            _folder: folder,
            project,
            id: id.clone(),
            env: BTreeMap::new(),
            base: base.clone(),
            binary: program(),
            user: None,
            package: None,
        };
        context.set_env("PATH", std::env::var_os("PATH").unwrap());
        context.set_env("HOME", &base);
        context.set_env("PILLION_HOME", base.join("pillion"));
        context.set_env("XDG_RUNTIME_DIR", base.join("run"));
        context.set_env("TMPDIR", base.join("tmp"));
        context.set_env("LANG", "C.UTF-8");
        context.set_env(MARKER, id);
        context
    }

    /// With an executable of its own, by which its processes are known; and run by `user`, to
    /// whom everything then belongs.
    pub fn for_user(mut self, user: Option<u32>) -> Self {
        let binary = self.base.join("pillion-of-test");
        if fs::hard_link(&self.binary, &binary).is_err() {
            fs::copy(&self.binary, &binary).unwrap();
        }
        self.binary = binary;
        self.user = user;
        fs::set_permissions(&self.base, fs::Permissions::from_mode(0o755)).unwrap();
        if user.is_some() {
            for name in ["", "project", "project/things.py", "run", "tmp"] {
                std::os::unix::fs::chown(self.base.join(name), user, user).unwrap();
            }
            // What is on our own path may be in a home that others cannot enter.
            self.set_env("PATH", "/usr/local/bin:/usr/bin:/bin");
        }
        self
    }

    /// With this `pillion.toml`.
    pub fn config(self, toml: &str) -> Self {
        self.write("pillion.toml", toml);
        self
    }

    /// With this `pillion.toml`, by somebody who trusts it.
    pub fn trusted_config(self, toml: &str) -> Self {
        let context = self.config(toml);
        context.trust();
        context
    }

    /// Say that the project is trusted as it is now.
    pub fn trust(&self) {
        let output = self.pillion(&["trust"]);
        assert_eq!(output.code, Some(0), "{output}");
    }

    /// Change a variable for the processes that are started from now on.
    pub fn set_env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.env
            .insert(name.as_ref().to_owned(), value.as_ref().to_owned());
    }

    /// Take a variable away from the processes that are started from now on.
    pub fn remove_env(&mut self, name: &str) {
        self.env.remove(OsStr::new(name));
    }

    /// Write a file of the project.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A path below the base folder, as text for Python.
    pub fn path(&self, name: &str) -> String {
        self.base.join(name).to_str().unwrap().to_owned()
    }

    /// Where the daemon's socket is.
    pub fn socket(&self) -> PathBuf {
        self.base.join("run/pillion/daemon.sock")
    }

    /// A command with this context's environment, in its project.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        if let Some(given) = &self.package {
            given.call_once(|| package::give(&self.base, self.user));
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a test looks at pillion from outside"
        )]
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(&self.env)
            .current_dir(&self.project)
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// The program under test, about to be started.
    pub fn pillion_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.binary);
        command.args(args);
        command
    }

    /// Run pillion to its end.
    pub fn pillion(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::of(self.pillion_command(args))
    }

    /// Run pillion, which must succeed, and read its output as JSON.
    pub fn pillion_json(&self, args: &[&str]) -> Value {
        let output = self.pillion(args);
        assert_eq!(output.code, Some(0), "pillion {args:?}\n{output}");
        output.json()
    }

    /// The processes of this context that live now.
    pub fn processes(&self) -> Vec<Process> {
        processes::marked(&format!("{MARKER}={}", self.id))
    }

    /// Wait until no process of this context is left.
    pub fn wait_until_alone(&self, limit: Duration) {
        wait_for(limit, "all processes of the test to be gone", || {
            let left = self.processes();
            if left.is_empty() {
                Ok(())
            } else {
                Err(processes::table(&left))
            }
        });
    }

    /// Run pillion and write down what it said, with the base folder shortened.
    pub fn transcript(&self, args: &[&str]) -> String {
        let text = self.pillion(args).to_string();
        text.replace(self.base.to_str().unwrap(), "[BASE]")
    }
}

/// What else varies from run to run, and what stands for it in a transcript.
pub const FILTERS: &[(&str, &str)] = &[
    (r"pid \d+", "pid [PID]"),
    (r#""pid":\d+"#, r#""pid":[PID]"#),
    (r"\d+\.\d+ ms", "[MS]"),
    (r"\d+\.\d+ MB", "[MB]"),
    (r"up \d+ s", "up [TIME]"),
    (r"since \d+ s", "since [TIME]"),
    (r"last used \d+ s ago", "last used [TIME] ago"),
    (r#""elapsed_ms":[0-9.e-]+"#, r#""elapsed_ms":[MS]"#),
    (r"3\.1\d\.\d+", "3.X.Y"),
    (r"(worker|env)/[0-9a-f]{12,16}", "$1/[HASH]"),
    // Columns are as wide as the numbers in them.
    (r" {3,}", "  "),
    (r" +\n", "\n"),
    (r"ready  (\d+)  \d+", "ready  $1  [PID]"),
];

impl Drop for TestContext {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "left of {}: {}",
                self.id,
                processes::table(&self.processes())
            );
            processes::kill_all(|| self.processes());
            return;
        }
        // Daemons that clients started end now; all else must have ended with its owner.
        for process in self.processes() {
            if process.is_daemon() {
                processes::terminate(process.pid);
            }
        }
        let mut wait = Wait::new(DEADLINE);
        while !wait.is_over() {
            if self.processes().is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let left = processes::table(&self.processes());
        processes::kill_all(|| self.processes());
        panic!("the test is over, but these processes are left:\n{left}");
    }
}

/// What a finished program left.
#[derive(Debug)]
pub struct CommandOutput {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said to people.
    pub stderr: String,
}

impl CommandOutput {
    /// Run a command to its end, which must come.
    pub fn of(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = lines::read_all(child.stdout.take().unwrap());
        let stderr = lines::read_all(child.stderr.take().unwrap());
        let deadline = Instant::now() + 3 * DEADLINE;
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    let _ = child.kill();
                    let _ = child.wait();
                    panic!("{command:?} does not end");
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        Self {
            code: status.code(),
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        }
    }

    /// Its standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{self}"))
    }
}

impl std::fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.code.map_or("none".into(), |code| code.to_string());
        write!(f, "exit: {code}")?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "\n----- {name} -----\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

/// Copy a file, or a folder with all that is below it.
pub fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().flatten() {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Whether we are root, who can be anybody else.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether we can be others; if not, that this part of a test is left out is said. `what` is
/// that part.
pub fn can_be_others(what: &str) -> bool {
    if !is_root() {
        skipped(&format!("{what}: only root can be others"));
    }
    is_root()
}

/// From now on permissions of files hold for what this thread starts, also if we are root.
pub fn mind_permissions() {
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
    for right in [CapabilitySet::DAC_OVERRIDE, CapabilitySet::DAC_READ_SEARCH] {
        if is_root() {
            remove_capability_from_bounding_set(right).unwrap();
        }
    }
}

/// Say that something of this test is not done here, and why. `cargo xtask test` counts and
/// lists it, and for root, who can do everything, it is a failure.
pub fn skipped(why: &str) {
    use std::io::Write;
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    // Past the harness, which keeps what passing tests print to itself; on a line of its own.
    let _ = writeln!(std::io::stdout(), "\nskipped: {name}: {why}");
}

/// A number in a file, once it has stopped changing.
pub fn standing_still(note: impl AsRef<Path>) -> u64 {
    let mut last = (String::new(), 0);
    wait_until("the stream to stand still", || {
        let now = wait_for_file(&note);
        last = if now == last.0 {
            (now, last.1 + 1)
        } else {
            (now, 0)
        };
        std::thread::sleep(Duration::from_millis(20));
        last.1 == 20
    });
    last.0.parse().unwrap()
}
