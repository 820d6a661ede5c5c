//! What is written down about runs: a line for each in the log, and the history of sessions.
//!
//! Runs do not wait for it. They put what happened into a bounded queue, and one task writes
//! it down in the order in which runs ended.

pub(crate) mod code_history;
mod log;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Error, Result, work};
use pillion_lanes::{Asked, Lane, Limit, NO_SESSION, Program, Reply, RunRequest, ToolCalls, Used};
use pillion_runtime::Dirs;
use pillion_store::{NewRun, StoreHandle};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

/// Runs that wait to be written down; more are counted.
const QUEUE: usize = 1024;
/// Lines that are written at once.
const BATCH: usize = 64;
/// Program text up to this size is kept in the history.
const TEXT: usize = 4 << 10;
/// How long the end of a daemon waits for what is to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// One line of the log.
#[derive(Debug, Clone, Serialize)]
struct Line {
    /// When the run ended.
    time: String,
    run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
    lane: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    program: Ran,
    level: String,
    start: String,
    limits: serde_json::Map<String, serde_json::Value>,
    used: Used,
    outcome: String,
    returncode: i32,
    execution_time_ms: f64,
    tools: Vec<Asked>,
    /// How many tools were asked for, with those that are not listed.
    tool_calls: u32,
    /// Runs before this one that could not be written down.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's way")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What ran; never its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ran {
    kind: String,
    /// Of a file, a module or a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Of the text, or of the name.
    sha256: String,
    bytes: usize,
}

impl Ran {
    fn of(program: &Program) -> Self {
        let (kind, text) = match program {
            Program::Code(text) => ("code", text),
            Program::File(name) => ("file", name),
            Program::Module(name) => ("module", name),
            Program::Function { function, .. } => ("function", function),
        };
        Self {
            kind: kind.to_owned(),
            name: (kind != "code").then(|| text.clone()),
            sha256: hex::encode(Sha256::digest(text.as_bytes())),
            bytes: text.len(),
        }
    }
}

enum Note {
    Run(Box<Line>, Option<NewRun>),
    Flush(oneshot::Sender<()>),
}

/// Writes down what ran.
#[derive(Debug)]
pub(crate) struct Recorder {
    dirs: Dirs,
    store: StoreHandle,
    queue: Mutex<(Option<mpsc::Sender<Note>>, u64)>,
}

impl Recorder {
    pub(crate) fn new(dirs: Dirs, store: StoreHandle) -> Self {
        Self {
            dirs,
            store,
            queue: Mutex::default(),
        }
    }

    /// A run begins; it is written down when what this gives ends.
    pub(crate) fn begin(
        self: &Arc<Self>,
        request: &RunRequest,
        job: Option<&str>,
    ) -> Result<Recording> {
        let text = match &request.program {
            Program::Code(text) if text.len() <= TEXT => Some(text.clone()),
            _ => None,
        };
        let session = (request.lane == Lane::User).then(|| {
            let named = request.session.as_deref();
            named.unwrap_or(NO_SESSION).to_owned()
        });
        Ok(Recording {
            recorder: Arc::clone(self),
            text,
            line: Some(Box::new(Line {
                time: String::new(),
                run_id: pillion_store::new_id().map_err(Error::internal)?,
                job_id: job.map(ToOwned::to_owned),
                lane: request.lane.name(),
                session,
                program: Ran::of(&request.program),
                level: String::new(),
                start: String::new(),
                limits: serde_json::Map::new(),
                used: Used::default(),
                // Whoever asked for it went away, unless somebody says otherwise.
                outcome: "cancelled".to_owned(),
                returncode: -2,
                execution_time_ms: 0.0,
                tools: Vec::new(),
                tool_calls: 0,
                left_out: 0,
            })),
            began: std::time::Instant::now(),
        })
    }

    fn send(&self, note: Note) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, left_out) = &mut *queue;
        if sender.as_ref().is_none_or(mpsc::Sender::is_closed) {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else {
                return;
            };
            let (new, notes) = mpsc::channel(QUEUE);
            runtime.spawn(write_down(notes, self.dirs.clone(), self.store.clone()));
            *sender = Some(new);
        }
        let note = match note {
            Note::Run(mut line, run) => {
                line.left_out = *left_out;
                Note::Run(line, run)
            }
            flush => flush,
        };
        match sender.as_ref().map(|sender| sender.try_send(note)) {
            Some(Ok(())) => *left_out = 0,
            _ => *left_out += 1,
        }
    }

    /// Wait until all is written, but not for ever.
    pub(crate) async fn flush(&self) {
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.written()).await;
    }

    /// Wait until all is written. Who asks what ran waits as long as he likes: half of it would be
    /// a wrong answer.
    pub(crate) async fn written(&self) {
        let begun = {
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.0.is_some()
        };
        if begun {
            let (done, written) = oneshot::channel();
            self.send(Note::Flush(done));
            let _ = written.await;
        }
    }
}

/// A run that is going on. If it is dropped, the run was cancelled.
#[derive(Debug)]
pub(crate) struct Recording {
    recorder: Arc<Recorder>,
    text: Option<String>,
    line: Option<Box<Line>>,
    began: std::time::Instant,
}

impl Recording {
    pub(crate) fn run_id(&self) -> String {
        let line = self.line.as_ref();
        line.map(|line| line.run_id.clone()).unwrap_or_default()
    }

    /// Write down how the run ended.
    pub(crate) fn end(mut self, reply: &Reply, calls: ToolCalls) {
        if let Some(mut line) = self.line.take() {
            line.level.clone_from(&reply.level);
            line.start.clone_from(&reply.start);
            line.limits = reply.limits.iter().map(limit).collect();
            line.used = reply.used;
            line.outcome = reply.outcome.word().to_owned();
            line.returncode = reply.returncode;
            line.execution_time_ms = reply.execution_time_ms;
            line.tools = calls.first;
            line.tool_calls = calls.number;
            self.write(line);
        }
    }

    fn write(&mut self, mut line: Box<Line>) {
        line.time = jiff::Timestamp::now().to_string();
        let run = history(&line, self.text.take());
        self.recorder.send(Note::Run(line, run));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.execution_time_ms = self.began.elapsed().as_secs_f64() * 1e3;
            self.write(line);
        }
    }
}

fn limit(limit: &Limit) -> (String, serde_json::Value) {
    (limit.what.clone(), limit.value.into())
}

/// What the history keeps of what ran.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HistoryEntry {
    pub(crate) run_id: String,
    #[serde(default)]
    pub(crate) job_id: Option<String>,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) code: Option<String>,
    pub(crate) sha256: String,
    pub(crate) bytes: usize,
}

/// What the history keeps of what came out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CameOut {
    pub(crate) returncode: i32,
    pub(crate) execution_time_ms: f64,
}

fn history(line: &Line, code: Option<String>) -> Option<NewRun> {
    let session = line.session.clone()?;
    let kept = HistoryEntry {
        run_id: line.run_id.clone(),
        job_id: line.job_id.clone(),
        kind: line.program.kind.clone(),
        name: line.program.name.clone(),
        code,
        sha256: line.program.sha256.clone(),
        bytes: line.program.bytes,
    };
    let came_out = CameOut {
        returncode: line.returncode,
        execution_time_ms: line.execution_time_ms,
    };
    Some(NewRun {
        session,
        ran: to_raw_value(&kept).ok()?,
        outcome: line.outcome.clone(),
        result: to_raw_value(&came_out).ok(),
    })
}

async fn write_down(mut notes: mpsc::Receiver<Note>, dirs: Dirs, store: StoreHandle) {
    let mut batch = Vec::with_capacity(BATCH);
    while notes.recv_many(&mut batch, BATCH).await > 0 {
        let (mut lines, mut runs, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for note in batch.drain(..) {
            match note {
                Note::Run(line, run) => {
                    if let Ok(mut text) = serde_json::to_vec(&line) {
                        text.push(b'\n');
                        lines.extend_from_slice(&text);
                    }
                    runs.extend(run);
                }
                Note::Flush(done) => waiting.push(done),
            }
        }
        let state = dirs.clone();
        let written = work(move |_| log::append(&state, &lines)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "the log of runs cannot be written");
        }
        for run in runs {
            if let Err(error) = keep(&store, run).await {
                tracing::warn!(%error, "the history of a session cannot be written");
            }
        }
        for done in waiting {
            let _ = done.send(());
        }
    }
}

async fn keep(store: &StoreHandle, run: NewRun) -> Result<()> {
    Ok(store.store().await?.record_run(run).await?)
}
