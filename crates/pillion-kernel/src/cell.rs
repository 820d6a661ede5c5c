//! Running one cell: what it prints and shows, what it asks, and how it ends.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result};
use pillion_lanes::RunOutcome;
use pillion_supervisor::{Cause, Ended};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::attach::AttachedKernel;
use crate::failures::{ASK_AGAIN, Failures, TURNED_AWAY, Turn};
use crate::interrupt::{GRACE, Unattended};
use crate::kernel::{Kernel, ReadyKernel};
use crate::received::{Channel, Heard};

/// How long a kernel may say nothing after a reply, before the outputs that are missing are given
/// up.
const LATE: Duration = Duration::from_secs(10);
/// How long its outputs may come after its reply at all: a kernel may say things without end.
const LATEST: Duration = Duration::from_secs(60);

/// What is to be run.
#[derive(Debug, Clone)]
pub struct ExecuteRequest {
    /// The code.
    pub code: String,
    /// Nothing of it is counted, shown or kept.
    pub silent: bool,
    /// Somebody answers if it asks for input.
    pub allow_stdin: bool,
    /// An error of it ends those that wait behind it.
    pub stop_on_error: bool,
    /// How long it may run, from when it begins.
    pub timeout: Option<Duration>,
    /// Bytes that it may write and show.
    pub output: u64,
}

impl ExecuteRequest {
    fn request(&self) -> Value {
        json!({
            "code": self.code,
            "silent": self.silent,
            "store_history": !self.silent,
            "user_expressions": {},
            "allow_stdin": self.allow_stdin,
            "stop_on_error": self.stop_on_error,
        })
    }
}

/// Hears what a cell does while it runs.
pub trait CellListener {
    /// An output, a question, or the beginning of its work.
    fn hear(&mut self, heard: &Heard) -> impl Future<Output = ()> + Send;
}

/// How a cell ended.
#[derive(Debug, Clone)]
pub struct Ran {
    /// In one word.
    pub outcome: RunOutcome,
    /// The content of its reply, if it came to that.
    pub reply: Option<Value>,
    /// The kernel was killed for it, or died: what it knew is lost.
    pub lost: Option<String>,
    /// How long it took, from its beginning.
    pub took: Duration,
    /// Messages that were dropped, because they were too large or too many.
    pub dropped: u64,
    /// Its code did not begin, by the kernel's own word. Some kernels say of a cell that they
    /// interrupted what others say of one that they turned away.
    turned_away: bool,
}

impl Ran {
    /// Whether the kernel turned it away though no cell has failed since it was asked: it does
    /// that for a moment after a failure.
    fn may_be_asked_again(&self, failures: &Failures, turn: &Turn, asked: Instant) -> bool {
        self.outcome == RunOutcome::Cancelled
            && self.turned_away
            && failures.none_since(turn)
            && asked.elapsed() < TURNED_AWAY
    }
}

/// Why a cell is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    Timeout,
    Cancelled,
    Output,
}

impl Stopping {
    fn outcome(self) -> RunOutcome {
        match self {
            Self::Timeout => RunOutcome::Timeout,
            Self::Cancelled => RunOutcome::Cancelled,
            Self::Output => RunOutcome::OutputLimit,
        }
    }
}

/// What is known of a cell so far.
#[derive(Debug)]
struct Course {
    asked: Instant,
    began: Option<Instant>,
    reply: Option<Value>,
    replied: Option<Instant>,
    idle: Option<Instant>,
    /// Its code has begun, or has been replied to: it was not turned away.
    runs: bool,
    written: u64,
    dropped: u64,
    stopping: Option<Stopping>,
    /// When something was heard last.
    heard: Instant,
}

impl Course {
    fn new() -> Self {
        Self {
            asked: Instant::now(),
            began: None,
            reply: None,
            replied: None,
            idle: None,
            runs: false,
            written: 0,
            dropped: 0,
            stopping: None,
            heard: Instant::now(),
        }
    }

    /// Take note; says whether others should hear it, too.
    fn note(&mut self, heard: &Heard, most: u64) -> bool {
        self.heard = Instant::now();
        if heard.message.content.is_none() {
            self.dropped += 1;
            return false;
        }
        match (heard.channel, heard.kind()) {
            (Channel::Shell, _) => {
                let reply = heard.content();
                self.runs |= !is_turned_away(&reply);
                self.reply = Some(reply);
                self.replied = Some(Instant::now());
                false
            }
            (Channel::Iopub, "status") => {
                match heard.content()["execution_state"].as_str() {
                    Some("busy") => self.begin(),
                    Some("idle") => self.idle = Some(Instant::now()),
                    _ => {}
                }
                false
            }
            (Channel::Iopub, "execute_input") => {
                self.begin();
                self.runs = true;
                true
            }
            (Channel::Iopub, _) => {
                let content = heard.message.content.as_deref();
                self.written += content.map_or(0, |raw| raw.get().len() as u64);
                // What is over the limit is not shown: it may never end.
                let fits = self.written <= most;
                self.dropped += u64::from(!fits);
                fits
            }
            (Channel::Stdin, _) => true,
            (Channel::Control, _) => false,
        }
    }

    fn begin(&mut self) {
        self.began.get_or_insert_with(Instant::now);
    }

    fn is_over(&self) -> bool {
        let Some(late) = self.late() else {
            return false;
        };
        // What is over the limit is not waited for.
        let is_full = self.stopping == Some(Stopping::Output);
        let is_told = self.replied.is_some() && (self.idle.is_some() || is_full);
        is_told || Instant::now() >= late
    }

    /// When no more is waited for, after one of its two last words.
    fn late(&self) -> Option<Instant> {
        match (self.replied, self.idle) {
            (Some(replied), _) => Some((replied.max(self.heard) + LATE).min(replied + LATEST)),
            // An interrupt at a bad moment takes the reply away from a kernel.
            (None, Some(idle)) => Some(idle + GRACE),
            (None, None) => None,
        }
    }

    /// When the next thing happens that nobody says.
    fn next(&self, timeout: Option<Duration>) -> Option<Instant> {
        match (self.late(), self.stopping) {
            (Some(late), _) => Some(late),
            (None, Some(_)) => None,
            (None, None) => Some(self.began? + timeout?),
        }
    }

    fn end(self, outcome: RunOutcome, lost: Option<String>) -> Ran {
        // Without its last word some of its outputs are missing.
        let is_short = self.reply.is_some() && self.idle.is_none();
        Ran {
            outcome,
            turned_away: !self.runs && self.reply.as_ref().is_some_and(is_turned_away),
            reply: self.reply,
            lost,
            took: self.began.unwrap_or(self.asked).elapsed(),
            dropped: self.dropped + u64::from(is_short),
        }
    }
}

impl Kernel {
    /// Run a cell on a kernel that is ready, and wait for its end. If nobody waits for that any
    /// more the cell is interrupted.
    pub async fn run(
        self: &Arc<Self>,
        ready: &ReadyKernel,
        cell: ExecuteRequest,
        cancel: &CancellationToken,
        listener: &mut impl CellListener,
    ) -> Result<Ran> {
        let failures = ready.client.failures();
        let asked = Instant::now();
        let mut turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Course::new().end(RunOutcome::Cancelled, None)),
            turn = failures.turn() => turn,
        };
        loop {
            let ran = self
                .run_once(ready, &cell, cancel, listener, &mut turn)
                .await?;
            if !ran.may_be_asked_again(failures, &turn, asked) {
                return Ok(ran);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(ran),
                () = tokio::time::sleep(ASK_AGAIN) => {}
            }
        }
    }

    async fn run_once(
        self: &Arc<Self>,
        ready: &ReadyKernel,
        cell: &ExecuteRequest,
        cancel: &CancellationToken,
        listener: &mut impl CellListener,
        turn: &mut Turn,
    ) -> Result<Ran> {
        let failures = ready.client.failures();
        let asked = ready
            .client
            .ask(Channel::Shell, "execute_request", &cell.request())
            .await;
        let mut answer = asked.map_err(|error| not_asked(&error))?;
        failures.asked(turn);
        let id = answer.id().to_owned();
        let unattended = Unattended::new(self, ready, &id);
        let mut course = Course::new();
        let mut ending = None;
        let ended = ready.hold.ended();
        tokio::pin!(ended);
        loop {
            course.heard = course.heard.max(answer.heard_last());
            if course.is_over() {
                unattended.done();
                course.dropped += answer.dropped();
                if course.idle.is_none() || course.replied.is_none() {
                    tracing::warn!(
                        replied = course.replied.is_some(), silent_for = ?course.heard.elapsed(),
                        "a cell's last outputs or its reply did not come, and were given up",
                    );
                }
                let outcome = outcome(&course);
                return Ok(course.end(outcome, None));
            }
            let before = course.stopping;
            tokio::select! {
                // Outputs come last: those of a cell that prints without end are always there.
                biased;
                () = cancel.cancelled(), if course.stopping.is_none() => {
                    course.stopping = Some(Stopping::Cancelled);
                    if course.began.is_none() {
                        // It is interrupted when its turn comes: what runs is somebody else's.
                        return Ok(course.end(RunOutcome::Cancelled, None));
                    }
                }
                in_time = finished(&mut ending) => {
                    ending = None;
                    if let (false, Some(why)) = (in_time, course.stopping) {
                        // It does not listen to interrupts.
                        unattended.done();
                        self.kill(&ready.hold).await;
                        let lost = "it did not end when it was interrupted, so its kernel was killed";
                        return Ok(course.end(why.outcome(), Some(lost.to_owned())));
                    }
                }
                () = at(course.next(cell.timeout)) => {
                    if course.late().is_none() {
                        course.stopping = Some(Stopping::Timeout);
                    }
                }
                heard = answer.next() => match heard {
                    Some(heard) => {
                        if course.note(&heard, cell.output) {
                            listener.hear(&heard).await;
                            // Who listens may take long.
                            course.heard = Instant::now();
                        } else if course.written > cell.output && course.stopping.is_none() {
                            course.stopping = Some(Stopping::Output);
                        }
                        if course.runs {
                            failures.runs(turn);
                        }
                    }
                    None => break,
                },
            }
            // After its last words only its outputs are still on their way.
            if course.stopping != before && course.late().is_none() {
                ending = Some(Box::pin(self.end_cell(ready, &id)) as Ending<'_>);
            }
        }
        // Its sockets are closed, so its process has ended, or is about to.
        unattended.done();
        let ended = tokio::time::timeout(LATE, ended).await.ok().flatten();
        let (outcome, why) = death(ended.as_ref(), course.stopping);
        Ok(course.end(outcome, Some(why)))
    }
}

/// A cell is being ended; says whether that came in time.
type Ending<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

async fn finished(ending: &mut Option<Ending<'_>>) -> bool {
    match ending {
        Some(ending) => ending.await,
        None => pending().await,
    }
}

impl AttachedKernel {
    /// Run a cell, and wait for its end. It has no limits here: whose kernel it is decides. What
    /// is more than `cell.output` is not shown.
    pub async fn run(
        &self,
        cell: &ExecuteRequest,
        listener: &mut impl CellListener,
    ) -> Result<Ran> {
        let failures = self.client().failures();
        let asked = Instant::now();
        let mut turn = failures.turn().await;
        loop {
            let ran = self.run_once(cell, listener, &mut turn).await?;
            if !ran.may_be_asked_again(failures, &turn, asked) {
                return Ok(ran);
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn run_once(
        &self,
        cell: &ExecuteRequest,
        listener: &mut impl CellListener,
        turn: &mut Turn,
    ) -> Result<Ran> {
        let client = self.client();
        let request = cell.request();
        let asked = client.ask(Channel::Shell, "execute_request", &request);
        let mut answer = asked.await.map_err(|error| not_asked(&error))?;
        client.failures().asked(turn);
        let mut course = Course::new();
        loop {
            course.heard = course.heard.max(answer.heard_last());
            if course.is_over() {
                break;
            }
            tokio::select! {
                heard = answer.next() => match heard {
                    Some(heard) => {
                        if course.note(&heard, cell.output) {
                            listener.hear(&heard).await;
                            course.heard = Instant::now();
                        }
                        if course.runs {
                            client.failures().runs(turn);
                        }
                    }
                    None => {
                        let lost = "the kernel is gone".to_owned();
                        return Ok(course.end(RunOutcome::Killed, Some(lost)));
                    }
                },
                () = at(course.next(None)) => {}
            }
        }
        course.dropped += answer.dropped();
        let outcome = outcome(&course);
        Ok(course.end(outcome, None))
    }
}

/// Whether a reply says that a cell was not run, or not to its end.
fn is_turned_away(reply: &Value) -> bool {
    matches!(reply["status"].as_str(), Some("aborted" | "abort"))
}

fn outcome(course: &Course) -> RunOutcome {
    let status = course
        .reply
        .as_ref()
        .and_then(|reply| reply["status"].as_str());
    match (status, course.stopping) {
        // It ended by itself just then.
        (Some("ok"), None | Some(Stopping::Timeout | Stopping::Cancelled)) => RunOutcome::Ok,
        (_, Some(why)) => why.outcome(),
        // Those that waited behind an error are not run, and some that somebody else interrupted
        // are not replied to.
        (Some("aborted" | "abort") | None, None) => RunOutcome::Cancelled,
        (_, None) => RunOutcome::Error,
    }
}

/// The word for a cell whose kernel died, and what people are told.
fn death(ended: Option<&Ended>, stopping: Option<Stopping>) -> (RunOutcome, String) {
    let Some(ended) = ended else {
        return (RunOutcome::Killed, "the kernel is gone".to_owned());
    };
    let outcome = match (ended.limit.as_deref(), ended.cause, stopping) {
        (Some("memory"), ..) | (None, Cause::Memory, _) => RunOutcome::Memory,
        (Some("processes"), ..) => RunOutcome::ProcessLimit,
        (Some("disk"), ..) => RunOutcome::DiskLimit,
        (_, _, Some(why)) => why.outcome(),
        _ => RunOutcome::Killed,
    };
    let why = match ended.limit.as_deref() {
        Some(limit) => format!("the kernel was killed: it passed its limit of {limit}"),
        None => format!("the kernel {}", ended.exit),
    };
    (outcome, why)
}

fn not_asked(error: &std::io::Error) -> Error {
    Error::new(Code::Crashed, format!("the kernel is gone: {error}"))
        .hint("run the cell again: a new kernel starts, which knows nothing of earlier cells")
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when.into()).await,
        None => pending().await,
    }
}
