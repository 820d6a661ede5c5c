//! Cells on real kernels, through the socket and HTTP: ipykernel, numpy and matplotlib as they
//! are, behind their walls.

mod cells;
mod faults;
mod jupyter;
mod walls;

use serde_json::{Value, json};

use crate::context::daemon::Daemon;
use crate::context::rpc::Rpc;
use crate::context::{PATIENCE, TestContext};
use crate::mcp::set_up;

/// A daemon whose kernels run the Python that has all that is needed.
struct World {
    rpc: Rpc,
    daemon: Daemon,
    context: TestContext,
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
        }
    }

    /// Parameters with the Python that has ipykernel.
    fn params(&self, more: Value) -> Value {
        let mut params = json!({
            "root": self.context.project,
            "python": set_up("dev-python/bin/python"),
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
        let sidecars = self.daemon.sidecars();
        let kernel = sidecars.iter().find(|sidecar| sidecar["kind"] == "kernel");
        let pid = kernel.and_then(|kernel| kernel["pid"].as_u64());
        let pid = pid.unwrap_or_else(|| panic!("no kernel: {sidecars:?}"));
        u32::try_from(pid).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.daemon.terminate();
            self.daemon.wait_for(PATIENCE);
            self.context.wait_until_alone(PATIENCE);
        }
    }
}
