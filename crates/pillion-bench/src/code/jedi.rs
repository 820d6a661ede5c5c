//! Jedi, the other side of most rows: one warm process, or a new one for each question.

use std::time::{Duration, Instant};

use pillion_catalogue::{Error, Result};
use pillion_process::{Launch, Running, stat};
use serde::Deserialize;
use serde_json::json;

use super::super::stage::{Stage, cannot};
use super::super::wire::Wire;
use super::Set;
use super::sample::Question;

pub(super) const SERVER: &str = "Jedi server";
pub(super) const ONE_SHOT: &str = "python -c with Jedi";

const PROGRAM: &str = include_str!("jedi_server.py");
const ONCE: &str = "\
import sys, jedi
root, path, line, col = sys.argv[1:]
script = jedi.Script(path=path, project=jedi.Project(root))
print(script.goto(int(line), int(col) - 1, follow_imports=True))
";

/// A warm Jedi.
pub(super) struct Jedi {
    running: Running,
    wire: Wire,
    /// Questions to which it found something.
    pub(super) found: usize,
}

#[derive(Deserialize)]
struct Reply {
    found: usize,
    given_up: bool,
}

impl Jedi {
    /// Start it for the tree of a set.
    pub(super) fn start(set: &Set<'_>) -> Result<Self> {
        let script = set.stage.path("jedi_server.py");
        std::fs::write(&script, PROGRAM).map_err(|error| cannot(&error))?;
        let launch = set.jedi_python().arg(script).arg(&set.root).unguarded();
        let (running, wire) = Stage::conversation(launch)?;
        Ok(Self {
            running,
            wire,
            found: 0,
        })
    }

    /// Ask it; gives the seconds it took, `most` if it was given up.
    pub(super) fn ask(
        &mut self,
        set: &Set<'_>,
        method: &str,
        question: &Question,
        most: Duration,
    ) -> Result<f64> {
        let Question {
            file, line, col, ..
        } = question;
        let (path, seconds) = (set.root.join(file), most.as_secs_f64());
        let message = json!({
            "method": method, "path": path, "line": line, "col": col, "seconds": seconds,
        });
        let message = format!("{message}\n");
        let asked = Instant::now();
        let answer = self.wire.ask(message.as_bytes());
        let took = asked.elapsed().as_secs_f64();
        let answer = answer.map_err(|error| cannot(&error))?;
        let reply: Reply = serde_json::from_slice(answer).map_err(Error::internal)?;
        self.found += usize::from(reply.found > 0);
        Ok(if reply.given_up { seconds } else { took })
    }

    /// Resident megabytes, with its own children.
    pub(super) fn megabytes(&self) -> f64 {
        let bytes = self.running.id().map_or(0, stat::resident_bytes_of_tree);
        bytes as f64 / 1e6
    }

    pub(super) async fn stop(mut self) {
        self.running.kill();
        self.running.wait().await;
    }
}

/// A Python that answers one question and ends.
pub(super) fn one_shot(set: &Set<'_>, question: &Question) -> Launch {
    set.jedi_python()
        .args(["-c", ONCE])
        .arg(&set.root)
        .arg(set.root.join(&question.file))
        .args([question.line.to_string(), question.col.to_string()])
        .unguarded()
}
