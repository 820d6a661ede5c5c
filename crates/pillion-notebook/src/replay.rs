//! The cells that a session has run, to be run again on a new kernel when the old one was lost.
//!
//! Cells that ended well are kept, in their order, whichever process of the kernel ran them. What
//! is asked for (`restart`, `reset`, `shutdown`) forgets them. A replay is due for a process that
//! has not run all of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_kernel::{ExecuteRequest, Kernel, KernelClient, ReadyKernel};
use pillion_lanes::RunOutcome;
use tokio_util::sync::CancellationToken;

use crate::questions::Questions;
use crate::reply::word;
use crate::running_cell::{CellEvent, CellFollower, RunningCell};

/// Cells of a session that are kept, and bytes of their code; the oldest are let go.
const MOST_CELLS: usize = 1000;
const MOST_BYTES: usize = 1 << 20;
/// Sessions whose cells are kept; those that were not used for longest are let go.
const MOST_SESSIONS: usize = 64;

/// The cells of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Replays(Mutex<VecDeque<Past>>);

/// The cells of one session.
#[derive(Debug)]
struct Past {
    session: String,
    cells: VecDeque<PastCell>,
    bytes: usize,
    /// Cells that were let go.
    let_go: u64,
    /// The process that ran the last of them, and whether it ran all.
    process: Weak<KernelClient>,
    whole: bool,
    /// Held by who runs them again.
    gate: Arc<tokio::sync::Mutex<()>>,
}

/// One of them, as it was asked for.
#[derive(Debug, Clone)]
pub(crate) struct PastCell {
    pub(crate) code: String,
    pub(crate) inputs: Vec<String>,
}

/// What a process has not run.
#[derive(Debug)]
struct Due {
    cells: Vec<PastCell>,
    let_go: u64,
}

impl Past {
    fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            cells: VecDeque::new(),
            bytes: 0,
            let_go: 0,
            process: Weak::new(),
            whole: true,
            gate: Arc::default(),
        }
    }

    fn is_of(&self, client: &Arc<KernelClient>) -> bool {
        std::ptr::eq(self.process.as_ptr(), Arc::as_ptr(client))
    }

    fn add(&mut self, client: &Arc<KernelClient>, cell: PastCell) {
        if !self.is_of(client) {
            self.whole = self.cells.is_empty() && self.let_go == 0;
            self.process = Arc::downgrade(client);
        }
        self.keep(cell);
    }

    fn keep(&mut self, cell: PastCell) {
        self.bytes += cell.size();
        self.cells.push_back(cell);
        while self.cells.len() > MOST_CELLS || self.bytes > MOST_BYTES {
            let Some(oldest) = self.cells.pop_front() else {
                break;
            };
            self.bytes -= oldest.size();
            self.let_go += 1;
        }
    }
}

impl PastCell {
    /// A cell that asked for nothing.
    pub(crate) fn new(code: String) -> Self {
        let inputs = Vec::new();
        Self { code, inputs }
    }

    fn size(&self) -> usize {
        self.code.len() + self.inputs.iter().map(String::len).sum::<usize>()
    }
}

impl Replays {
    fn all(&self) -> MutexGuard<'_, VecDeque<Past>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something with the cells of a session, which becomes the one that was used last.
    fn with<T>(&self, session: &str, look: impl FnOnce(&mut Past) -> T) -> T {
        let mut all = self.all();
        let at = all.iter().position(|past| past.session == session);
        let past = at.and_then(|at| all.remove(at));
        let mut past = past.unwrap_or_else(|| Past::new(session));
        let seen = look(&mut past);
        all.push_back(past);
        if all.len() > MOST_SESSIONS {
            all.pop_front();
        }
        seen
    }

    /// A cell ended well.
    pub(crate) fn add(&self, session: &str, client: &Arc<KernelClient>, cell: PastCell) {
        self.with(session, |past| past.add(client, cell));
    }

    /// The code of the cells that are kept.
    pub(crate) fn codes(&self, session: &str) -> Vec<String> {
        let all = self.all();
        let past = all.iter().find(|past| past.session == session);
        let cells = past.into_iter().flat_map(|past| &past.cells);
        cells.map(|cell| cell.code.clone()).collect()
    }

    /// What the session's cells made is not wanted any more.
    pub(crate) fn forget(&self, session: &str) {
        self.all().retain(|past| past.session != session);
    }

    /// What this process has not run, if there is something.
    fn due(&self, session: &str, client: &Arc<KernelClient>) -> Option<Due> {
        self.with(session, |past| {
            let has_run_all = past.is_of(client) && past.whole;
            let is_due = !has_run_all && !past.cells.is_empty();
            is_due.then(|| Due {
                cells: past.cells.iter().cloned().collect(),
                let_go: past.let_go,
            })
        })
    }

    /// This process has run all of them.
    fn done(&self, session: &str, client: &Arc<KernelClient>) {
        self.with(session, |past| {
            past.process = Arc::downgrade(client);
            past.whole = true;
        });
    }

    fn gate(&self, session: &str) -> Arc<tokio::sync::Mutex<()>> {
        self.with(session, |past| Arc::clone(&past.gate))
    }
}

/// Nobody sees what a replay shows.
struct Nobody;

impl CellFollower for Nobody {
    async fn tell(&mut self, _: CellEvent) {}
}

/// Run the cells of a session again that this process of its kernel has not run; what people
/// should know of it.
pub(crate) async fn replay(
    replays: &Replays,
    questions: &Questions,
    kernel: &Arc<Kernel>,
    ready: &ReadyKernel,
    cancel: &CancellationToken,
) -> Result<Option<String>> {
    let session = kernel.session();
    let gate = replays.gate(session);
    let _held = gate.lock().await;
    let Some(due) = replays.due(session, &ready.client) else {
        return Ok(None);
    };
    let count = due.cells.len();
    for (at, cell) in due.cells.into_iter().enumerate() {
        let again = run_again(questions, kernel, ready, cell, cancel).await;
        again.map_err(|why| failed(at + 1, count, &why))?;
    }
    replays.done(session, &ready.client);
    let missing = match due.let_go {
        0 => String::new(),
        gone => format!("; the {gone} before them were not kept"),
    };
    let cells = if count == 1 { "cell was" } else { "cells were" };
    Ok(Some(format!("{count} earlier {cells} run again{missing}")))
}

/// Run one of them; why it did not end well.
async fn run_again(
    questions: &Questions,
    kernel: &Arc<Kernel>,
    ready: &ReadyKernel,
    cell: PastCell,
    cancel: &CancellationToken,
) -> std::result::Result<(), String> {
    let order = ExecuteRequest {
        code: cell.code,
        silent: false,
        allow_stdin: !cell.inputs.is_empty(),
        stop_on_error: true,
        timeout: kernel.config().timeout_s.map(Duration::from_secs_f64),
        output: kernel.most_output(),
    };
    let mut nobody = Nobody;
    let mut course = RunningCell::new(questions, kernel, ready, &mut nobody, order.output);
    course.inputs = cell.inputs.into();
    let ran = kernel.run(ready, order, cancel, &mut course).await;
    let ran = ran.map_err(|error| error.message)?;
    if ran.outcome == RunOutcome::Ok {
        return Ok(());
    }
    let reply = course.reply(&ran, None);
    Err(match (reply.error, ran.lost) {
        (Some(error), _) => format!("{}: {}", error.ename, error.evalue),
        (None, Some(lost)) => lost,
        (None, None) => word(ran.outcome),
    })
}

fn failed(at: usize, count: usize, why: &str) -> Error {
    let message =
        format!("the replay stopped at cell {at} of {count}: {why}; the cell was not run");
    Error::new(Code::Conflict, message)
        .hint("run it without `replay`, or begin anew with `notebook.restart`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_cells_are_let_go_and_counted() {
        let mut past = Past::new("s");
        for number in 0..MOST_CELLS + 3 {
            past.keep(PastCell::new(number.to_string()));
        }
        assert_eq!((past.cells.len(), past.let_go), (MOST_CELLS, 3));
        assert_eq!(past.cells[0].code, "3");
        past.keep(PastCell::new("x".repeat(MOST_BYTES)));
        assert_eq!((past.cells.len(), past.bytes), (1, MOST_BYTES));
        past.keep(PastCell::new("x".repeat(MOST_BYTES + 1)));
        assert_eq!((past.cells.len(), past.bytes), (0, 0));
    }

    #[test]
    fn sessions_that_were_not_used_for_longest_are_let_go() {
        let replays = Replays::default();
        for number in 0..MOST_SESSIONS {
            replays.gate(&number.to_string());
        }
        replays.gate("0");
        replays.gate("new");
        let all = replays.all();
        assert_eq!(all.len(), MOST_SESSIONS);
        assert!(all.iter().any(|past| past.session == "0"));
        assert!(all.iter().all(|past| past.session != "1"));
    }
}
