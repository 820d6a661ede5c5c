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

use pillion_testing::daemon::Daemon;
use pillion_testing::kernels::python_for_all;
use pillion_testing::rpc::Rpc;
use pillion_testing::{DEADLINE, TestContext, can_be_others, set_up};
use serde_json::{Value, json};

const NOBODY: u32 = 65_534;

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
