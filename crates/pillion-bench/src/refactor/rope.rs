//! Rope in a plain Python process, the other side of every row.

use std::time::Instant;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::{Launch, Running};
use serde::Deserialize;
use serde_json::json;

use super::super::stage::{Stage, cannot};
use super::super::wire::Wire;
use super::{Set, Task};

const PROGRAM: &str = include_str!("rope_server.py");

/// A Rope that has the tree for its project.
pub(super) struct Rope {
    running: Running,
    wire: Wire,
}

#[derive(Deserialize)]
struct Reply {
    files: usize,
    failed: Option<String>,
}

impl Rope {
    pub(super) fn start(set: &Set<'_>) -> Result<Self> {
        let script = set.stage.path("rope_server.py");
        std::fs::write(&script, PROGRAM).map_err(|error| cannot(&error))?;
        let launch = Launch::new(&set.tools.executable)
            .cwd(set.stage.path("home"))
            .arg(script)
            .arg(&set.root)
            .unguarded();
        let (running, wire) = Stage::conversation(launch)?;
        Ok(Self { running, wire })
    }

    /// Ask for a refactoring; gives the seconds it took, and how many files it changes.
    pub(super) fn ask(&mut self, task: &Task) -> Result<(f64, usize)> {
        let message = json!({
            "method": task.method, "path": task.file, "start": task.start, "end": task.end,
            "name": task.name,
        });
        let message = format!("{message}\n");
        let asked = Instant::now();
        let answer = self.wire.ask(message.as_bytes());
        let took = asked.elapsed().as_secs_f64();
        let answer = answer.map_err(|error| cannot(&error))?;
        let reply: Reply = serde_json::from_slice(answer).map_err(Error::internal)?;
        match reply.failed {
            None => Ok((took, reply.files)),
            Some(why) => {
                let what = format!("Rope cannot do `{}`: {why}", task.method);
                Err(Error::new(Code::InternalError, what))
            }
        }
    }

    pub(super) async fn stop(mut self) {
        self.running.kill();
        self.running.wait().await;
    }
}
