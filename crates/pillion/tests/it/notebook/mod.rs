//! Cells on real kernels, through the socket and HTTP: ipykernel, numpy and matplotlib as they
//! are, behind their walls.

mod asking;
mod cells;
mod edits;
mod faults;
mod files;
mod foreign;
mod jupyter;
mod lab;
mod replay;
mod spare;
mod stress;
mod walls;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::context::daemon::Daemon;
use crate::context::rpc::Rpc;
use crate::context::{DEADLINE, TestContext, can_be_others, copy};
use crate::mcp::set_up;

const NOBODY: u32 = 65_534;
/// ipykernel, and what it imports.
const IPYKERNEL: &[&str] = &[
    "IPython",
    "asttokens",
    "comm",
    "dateutil",
    "executing",
    "ipykernel",
    "ipython_pygments_lexers.py",
    "jedi",
    "jupyter_client",
    "jupyter_core",
    "matplotlib_inline",
    "nest_asyncio2.py",
    "packaging",
    "parso",
    "pexpect",
    "platformdirs",
    "prompt_toolkit",
    "psutil",
    "ptyprocess",
    "pure_eval",
    "pygments",
    "pyzmq.libs",
    "stack_data",
    "tornado",
    "traitlets",
    "typing_extensions.py",
    "wcwidth",
    "zmq",
];

/// A daemon whose kernels run the Python that has all that is needed.
struct World {
    rpc: Rpc,
    daemon: Daemon,
    context: TestContext,
    python: PathBuf,
}

impl World {
    fn new() -> Self {
        Self::with(TestContext::new())
    }

    fn with(context: TestContext) -> Self {
        let daemon = context.daemon();
        Self {
            rpc: daemon.connect(),
            daemon,
            context,
            python: set_up("dev-python/bin/python"),
        }
    }

    /// The world of an ordinary user, if we can be one.
    fn ordinary() -> Option<Self> {
        if !can_be_others("kernels of an ordinary user") {
            return None;
        }
        let mut world = Self::with(TestContext::new().for_user(Some(NOBODY)));
        world.python = python_for_all(&world.context);
        Some(world)
    }

    /// Parameters with the Python that has ipykernel.
    fn params(&self, more: Value) -> Value {
        let mut params = json!({
            "root": self.context.project,
            "python": self.python,
        });
        let more = more.as_object().cloned().unwrap_or_default();
        params.as_object_mut().unwrap().extend(more);
        params
    }

    /// A cell that is run to its end.
    fn run(&mut self, code: &str) -> Value {
        self.run_with(json!({ "code": code }))
    }

    fn run_with(&mut self, cell: Value) -> Value {
        let params = self.params(cell);
        self.rpc.call("notebook.run_cell", params).unwrap()
    }

    /// A cell that is followed.
    fn start(&mut self, cell: Value) -> u64 {
        let mut params = self.params(cell);
        params["stream"] = true.into();
        self.rpc.send("notebook.run_cell", params)
    }

    /// Wait until this happens to a cell that is followed.
    fn until(&mut self, id: u64, event: &str) {
        let mut at = 0;
        while self.rpc.part(id, at)["item"]["type"] != event {
            at += 1;
        }
    }

    fn ask(&mut self, operation: &str, params: Value) -> Value {
        let answer = self.rpc.call(&format!("notebook.{operation}"), params);
        answer.unwrap_or_else(|error| panic!("{operation}: {error}"))
    }

    /// The process of the kernel.
    fn kernel(&self) -> u32 {
        let kernel = self.named("kernel-default");
        kernel.unwrap_or_else(|| panic!("no kernel: {:?}", self.daemon.sidecars()))
    }

    /// The process of a kernel that goes away with its run.
    fn throwaway(&self) -> u32 {
        let sidecars = self.daemon.sidecars();
        let name = |one: &Value| one["name"].as_str().unwrap().to_owned();
        let mut names = sidecars.iter().map(name);
        let name = names.find(|name| name.starts_with("kernel-.run-"));
        self.named(&name.unwrap()).unwrap()
    }

    /// The process of a child that people see under this name.
    fn named(&self, name: &str) -> Option<u32> {
        let sidecars = self.daemon.sidecars();
        let found = sidecars.iter().find(|sidecar| sidecar["name"] == name)?;
        u32::try_from(found["pid"].as_u64()?).ok()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.daemon.terminate();
            self.daemon.wait_for(DEADLINE);
            self.context.wait_until_alone(DEADLINE);
        }
    }
}

/// The same with a kernel for bash, and its kernelspec.
pub(crate) fn python_with_bash(context: &TestContext) -> PathBuf {
    foreign::python_with_kernels(context)
}

/// An environment of the system's Python with ipykernel: the Python that those were made with may be in a home that nobody else can enter.
pub(crate) fn python_for_all(context: &TestContext) -> PathBuf {
    let libraries = set_up("dev-python/lib").read_dir().unwrap().flatten();
    let version = libraries
        .map(|entry| entry.file_name().into_string().unwrap())
        .find(|name| name.starts_with("python3."))
        .unwrap();
    let folder = context.base.join("python-for-all");
    let packages = format!("lib/{version}/site-packages");
    let theirs = set_up(&format!("dev-python/{packages}"));
    let own = folder.join(&packages);
    std::fs::create_dir_all(&own).unwrap();
    // Copies: a second name for a file would change it, for all who have proof of it.
    for name in IPYKERNEL {
        copy(&theirs.join(name), &own.join(name));
    }
    std::fs::write(folder.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let python = folder.join("bin/python");
    std::fs::create_dir(folder.join("bin")).unwrap();
    std::os::unix::fs::symlink(format!("/usr/bin/{version}"), &python).unwrap();
    python
}
