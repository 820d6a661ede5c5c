//! One process of a sidecar and the streams to it.

use std::collections::{HashMap, VecDeque};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use pillion_catalogue::{Lease, Part};
use pillion_process::{Exit, Running, StreamTarget};
use pillion_protocol::line::Ready;
use pillion_protocol::{Code, Error, Result};
use pillion_sandbox::{InitMessage, message};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use crate::frames::{Frames, is_too_large};
use crate::message::InFlight;
use crate::streams::{
    Control, ReaderGone, at, control_pair, deliver_held, places, read_control, write_backlog,
};
use crate::tail::Tail;
use crate::{Ended, Events, Notice, SidecarSpec, StartMode};

/// How long the output of an ended process may take to reach its end.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long its stderr may: mostly it is there already, and it says why a process died. What
/// the process left behind may keep it open for ever.
const LAST_CRY: Duration = Duration::from_millis(100);
/// Frames that a process may leave unread.
const UNREAD: usize = 4096;

/// The number of the next process.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// What a process did.
#[derive(Debug)]
pub(crate) enum Did {
    /// Wrote a frame.
    Wrote(Bytes),
    /// Answered on its control socket.
    Signalled,
    /// Wrote something that ends all understanding.
    Broke(Broke),
    /// Ended.
    Ended(Exit),
}

/// Why nothing that a process writes is understood any more.
#[derive(Debug)]
pub(crate) struct Broke {
    pub(crate) reason: String,
    /// It wrote an answer larger than it may.
    pub(crate) too_large: bool,
}

impl From<String> for Broke {
    fn from(reason: String) -> Self {
        Self {
            reason,
            too_large: false,
        }
    }
}

/// What a language server was told and has to be told.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// What came while it was starting.
    pub(crate) kept: Vec<Notice>,
    /// The last change that its replay carried.
    pub(crate) replayed: u64,
    /// The id of its `shutdown`.
    pub(crate) farewell: Option<u64>,
}

/// One process of a sidecar. Dropping it kills the process and all it started.
#[derive(Debug)]
pub(crate) struct Child {
    running: Running,
    input: Option<ChildStdin>,
    /// Bytes that the pipe had no room for yet.
    backlog: VecDeque<Bytes>,
    output: FramedRead<ChildStdout, Frames>,
    output_open: bool,
    /// When a process that closed its output or input, but did not end, is given up.
    closed_by: Option<Instant>,
    /// It closed its input: what is sent now never reaches it.
    deaf: bool,
    /// A part that its reader had no room for yet; reading stops until it has.
    held: Option<(mpsc::Sender<Part>, Part)>,
    control: Option<Control>,
    /// The socket of one that is held.
    channel: Option<Arc<UnixStream>>,
    /// Where the init of one behind walls speaks.
    walls: Option<Walls>,
    /// Tells whoever holds it that it ended, and how.
    pub(crate) over: watch::Sender<Option<Ended>>,
    exit: Option<Exit>,
    pub(crate) stderr: Tail,
    /// Reads what it writes to stderr.
    draining: Option<JoinHandle<()>>,
    pub(crate) generation: u64,
    /// Its number among all processes that were ever started here.
    pub(crate) number: u64,
    pub(crate) started: Instant,
    pub(crate) hello: Option<Ready>,
    /// The program's process, found when it said hello without naming it.
    program: Option<u32>,
    pub(crate) in_flight: HashMap<u64, InFlight>,
    next_id: u64,
    /// When it last said something.
    pub(crate) heard: Instant,
    /// What it did that ended all understanding.
    pub(crate) broke: Option<String>,
    pub(crate) talk: Conversation,
    /// A living process keeps the daemon from going idle.
    _lease: Lease,
}

impl Child {
    /// Start a process of `spec`.
    pub(crate) fn start(
        spec: &SidecarSpec,
        generation: u64,
        events: &Events,
        lease: Lease,
    ) -> Result<Self> {
        let Started {
            mut running,
            control,
            channel,
            walls,
        } = Started::new(spec)?;
        let stdin = running.take_stdin();
        let (Some(stdout), Some(stderr)) = (running.take_stdout(), running.take_stderr()) else {
            return Err(Error::internal("a child was started without its pipes"));
        };
        let tail = Tail::default();
        let draining = tokio::spawn(
            tail.clone()
                .drain(stderr, spec.name.clone(), events.clone()),
        );
        Ok(Self {
            running,
            input: stdin,
            backlog: VecDeque::new(),
            output: FramedRead::with_capacity(
                stdout,
                Frames::of(spec.dialect, spec.limits.frame),
                64 * 1024,
            ),
            output_open: true,
            closed_by: None,
            deaf: false,
            held: None,
            control,
            channel,
            walls,
            over: watch::Sender::new(None),
            exit: None,
            stderr: tail,
            draining: Some(draining),
            generation,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            started: Instant::now(),
            hello: None,
            program: None,
            in_flight: HashMap::new(),
            next_id: 1,
            heard: Instant::now(),
            broke: None,
            talk: Conversation::default(),
            _lease: lease,
        })
    }

    /// A number that no earlier request of this process had.
    pub(crate) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Take in the hello of the process.
    pub(crate) fn greet(&mut self, ready: Ready) {
        self.program = ready.pid.or_else(|| {
            let child = self.running.program_id()?;
            // Behind walls that is its init, which has the program as its first child.
            match self.walls {
                Some(_) => pillion_process::first_child(child),
                None => Some(child),
            }
        });
        self.hello = Some(ready);
    }

    /// The process that answers: as it said itself, or as the system says.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.program
    }

    /// Whether it can still be asked something. A dying process cannot.
    pub(crate) fn is_open(&self) -> bool {
        self.output_open && !self.deaf
    }

    /// Send a frame; what the pipe has no room for is sent by [`next`](Self::next). Says
    /// `false` if nothing of it can have reached the process.
    pub(crate) fn send(&mut self, frame: Bytes) -> bool {
        self.backlog.push_back(frame);
        // The common case: it fits, and nobody has to wake up for it.
        match write_backlog(&mut self.input, &mut self.backlog).now_or_never() {
            Some(Err(ReaderGone)) => {
                self.went_deaf();
                false
            }
            Some(Ok(())) | None => true,
        }
    }

    /// Whether it has left more unread than `limit` bytes or [`UNREAD`] frames.
    pub(crate) fn is_clogged(&self, limit: usize) -> bool {
        let bytes: usize = self.backlog.iter().map(Bytes::len).sum();
        self.backlog.len() > UNREAD || bytes > limit
    }

    /// Whether all that was sent has reached the pipe.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.backlog.is_empty()
    }

    fn went_deaf(&mut self) {
        self.deaf = true;
        self.closed_by
            .get_or_insert_with(|| Instant::now() + OUTPUT_TIMEOUT);
    }

    /// Send a frame on the control path. A full control socket drops it: the peer is
    /// stuck, and what matters has a deadline of its own.
    pub(crate) fn signal(&mut self, frame: &[u8]) {
        match &self.control {
            Some(control) => drop(control.write.try_write(frame)),
            None => drop(self.send(Bytes::copy_from_slice(frame))),
        }
    }

    /// The socket of one that is held.
    pub(crate) fn channel(&self) -> Option<Arc<UnixStream>> {
        self.channel.clone()
    }

    /// Close its input: it should finish and end.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
        self.channel = None;
        self.backlog.clear();
    }

    /// Kill it and everything it started; [`Did::Ended`] follows.
    pub(crate) fn kill(&mut self) {
        self.running.kill();
        // Nobody reads what it had to say.
        self.held = None;
    }

    /// Hand a part to its reader, or hold it until the reader has room.
    pub(crate) fn deliver(&mut self, to: &mpsc::Sender<Part>, part: Part) -> bool {
        let permits = to.try_reserve_many(places(to, &part));
        match permits.map(|mut permits| permits.next()) {
            Ok(Some(permit)) => permit.send(part),
            Ok(None) | Err(mpsc::error::TrySendError::Full(())) => {
                self.held = Some((to.clone(), part));
            }
            Err(mpsc::error::TrySendError::Closed(())) => return false,
        }
        true
    }

    /// What it does next. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Did {
        loop {
            if let Some(exit) = self.exit {
                return self.last_words(exit).await;
            }
            tokio::select! {
                line = self.output.next(), if self.output_open && self.held.is_none() => match line {
                    Some(Ok(line)) => {
                        self.heard = Instant::now();
                        return Did::Wrote(line);
                    }
                    Some(Err(error)) => {
                        self.output_open = false;
                        return Did::Broke(Broke {
                            too_large: is_too_large(&error),
                            reason: format!("wrote what cannot be understood: {error}"),
                        });
                    }
                    None => {
                        self.output_open = false;
                        // Mostly it is about to end, and its exit tells more.
                        self.closed_by = Some(Instant::now() + OUTPUT_TIMEOUT);
                    }
                },
                Some(Ok(_)) = read_control(&mut self.control) => return Did::Signalled,
                sent = write_backlog(&mut self.input, &mut self.backlog), if !self.backlog.is_empty() => {
                    if sent.is_err() {
                        self.went_deaf();
                    }
                }
                () = deliver_held(&mut self.held), if self.held.is_some() => {}
                () = at(self.closed_by), if self.closed_by.is_some() && self.input.is_some() => {
                    self.closed_by = None;
                    return Did::Broke("closed its input or output".to_owned().into());
                }
                Some(said) = next_said(&mut self.walls) => {
                    if let Some(why) = self.hear_walls(&said) {
                        return Did::Broke(why.into());
                    }
                }
                exit = self.running.wait() => self.exit = Some(exit),
            }
        }
    }

    /// Lines that were written before the end still count.
    async fn last_words(&mut self, exit: Exit) -> Did {
        if self.held.is_some() {
            deliver_held(&mut self.held).await;
        }
        if self.output_open
            && let Ok(Some(Ok(line))) =
                tokio::time::timeout(OUTPUT_TIMEOUT, self.output.next()).await
        {
            return Did::Wrote(line);
        }
        self.output_open = false;
        if let Some(draining) = &mut self.draining {
            let _ = tokio::time::timeout(LAST_CRY, draining).await;
            self.draining = None;
        }
        while let Ok(Some(said)) = tokio::time::timeout(LAST_CRY, next_said(&mut self.walls)).await
        {
            self.hear_walls(&said);
        }
        // What ended is the box; how its program ended, init has said.
        let said = self.walls.as_ref().and_then(|walls| walls.exit);
        Did::Ended(said.unwrap_or(exit))
    }

    /// The limit for passing which its init killed it: `memory`, `processes` or `disk`.
    pub(crate) fn limit(&self) -> Option<&str> {
        self.walls.as_ref()?.limit.as_deref()
    }

    /// What init says: that the program is on its way, and how it ended. Gives back why it
    /// could not be confined.
    fn hear_walls(&mut self, said: &InitMessage) -> Option<String> {
        if let Some(why) = &said.failed {
            return Some(format!("could not be confined: {why}"));
        }
        if let Some(walls) = &mut self.walls
            && (said.exit.is_some() || said.signal.is_some())
        {
            walls.limit.clone_from(&said.killed);
            walls.exit = Some(Exit {
                code: said.exit,
                signal: said.signal,
                not_started: false,
            });
        }
        None
    }
}

/// Where the init of a confined child speaks.
#[derive(Debug)]
struct Walls {
    said: FramedRead<tokio::net::UnixStream, LengthDelimitedCodec>,
    /// How its program ended.
    exit: Option<Exit>,
    /// The limit that it passed, if it was killed for that.
    limit: Option<String>,
}

/// The next message of init; `None` when there are no more. Cancel-safe.
async fn next_said(walls: &mut Option<Walls>) -> Option<InitMessage> {
    let body = walls.as_mut()?.said.next().await?.ok()?;
    message::decode(&body).ok()
}

/// A process that was just started.
struct Started {
    running: Running,
    control: Option<Control>,
    channel: Option<Arc<UnixStream>>,
    walls: Option<Walls>,
}

impl Started {
    fn new(spec: &SidecarSpec) -> Result<Self> {
        let stdin = match spec.dialect.is_held() {
            true => StreamTarget::Null,
            false => StreamTarget::Piped,
        };
        let launch = match (spec.launch)()? {
            StartMode::Plain(launch) => *launch,
            StartMode::Confined { confine, channel } => {
                let streams = [stdin, StreamTarget::Piped, StreamTarget::Piped];
                let confined = confine.stdio(streams).spawn();
                let confined = confined.map_err(|e| refused(spec, &e))?;
                channel
                    .set_nonblocking(true)
                    .map_err(|e| refused(spec, &e))?;
                let said = LengthDelimitedCodec::builder()
                    .max_frame_length(message::MAX)
                    .new_read(confined.control);
                return Ok(Self {
                    running: confined.held.into_running(),
                    control: None,
                    channel: Some(Arc::new(channel)),
                    walls: Some(Walls {
                        said,
                        exit: None,
                        limit: None,
                    }),
                });
            }
        };
        let mut launch = launch
            .stdin(stdin)
            .stdout(StreamTarget::Piped)
            .stderr(StreamTarget::Piped);
        let mut control = None;
        if spec.dialect.has_control() {
            let (ours, theirs) = control_pair().map_err(|e| refused(spec, &e))?;
            control = Some(ours);
            launch = launch
                .arg("--control-fd")
                .arg(theirs.as_raw_fd().to_string())
                .inherit(theirs);
        }
        Ok(Self {
            running: launch.spawn().map_err(|e| refused(spec, &e))?,
            control,
            channel: None,
            walls: None,
        })
    }
}

fn refused(spec: &SidecarSpec, error: &dyn std::fmt::Display) -> Error {
    Error::new(
        Code::StartFailed,
        format!("cannot start sidecar `{}`: {error}", spec.name),
    )
    .hint("`pillion doctor` shows what is wrong and what to do")
}
