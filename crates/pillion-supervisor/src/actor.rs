//! The task that owns a sidecar, and the handle that talks to it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::BytesMut;
use pillion_catalogue::{Activity, Part};
use pillion_process::Exit;
use pillion_protocol::line::{FromSidecar, Ready};
use pillion_protocol::{Code, Error, Result};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::call::{InFlight, Pending};
use crate::child::{Child, Did, is_too_large};
use crate::life::{Happening, Life, State, Todo};
use crate::status::Shared;
use crate::{Answer, Call, Dialect, Event, Events, SidecarStatus, Spec};

/// How often a working process is pinged and its memory read.
const WATCH_EVERY: Duration = Duration::from_millis(500);
/// Calls that run in a child of their own at the same time while the breaker is open.
const ONE_SHOTS: usize = 2;
/// Lines of stderr that an error carries.
const TAIL_LINES: usize = 20;

#[derive(Debug)]
enum Message {
    Call(Pending),
    Cancel(u64),
    Warm,
    Restart,
    Stop(Option<oneshot::Sender<()>>),
}

/// A handle on a sidecar. The sidecar ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Sidecar {
    to_actor: mpsc::UnboundedSender<Message>,
    spec: Arc<Spec>,
    shared: Arc<Shared>,
    tickets: Arc<AtomicU64>,
}

/// What the sidecars of one pool have in common.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    pub(crate) events: Events,
    pub(crate) activity: Activity,
    /// Counts the processes of all sidecars of a pool.
    pub(crate) generations: Arc<AtomicU64>,
}

impl Sidecar {
    /// A sidecar that starts with its first call.
    pub(crate) fn new(spec: Spec, around: Surroundings) -> Self {
        let (to_actor, messages) = mpsc::unbounded_channel();
        let spec = Arc::new(spec);
        let shared = Arc::new(Shared::new());
        let actor = Actor {
            life: Life::new(Instant::now(), spec.limits.idle),
            spec: Arc::clone(&spec),
            shared: Arc::clone(&shared),
            around,
            messages,
            queue: VecDeque::new(),
            child: None,
            cause: None,
            close_by: None,
            watch_at: None,
            trimmed: false,
            unproven: false,
            one_shots: Arc::new(Semaphore::new(ONE_SHOTS)),
            told: State::Idle,
            waiting_for_end: Vec::new(),
            abandoned: false,
        };
        tokio::spawn(actor.run());
        Self {
            to_actor,
            spec,
            shared,
            tickets: Arc::default(),
        }
    }

    /// Ask it something. Dropping the future cancels the call.
    pub async fn call(&self, call: Call) -> Result<Answer> {
        let load = LoadToken::take(
            &self.shared,
            self.spec.limits.queue + self.spec.limits.in_flight,
        )
        .ok_or_else(|| busy(&self.spec))?;
        let deadline = Instant::now() + call.timeout;
        let (way_back, answer) = oneshot::channel();
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let pending = Pending {
            ticket,
            came: Instant::now(),
            ask: call.ask,
            safe: call.safe,
            repeated: false,
            parts: call.parts,
            way_back,
            load,
        };
        if self.to_actor.send(Message::Call(pending)).is_err() {
            return Err(stopped(&self.spec));
        }
        let mut cancel = CancelOnDrop {
            to_actor: &self.to_actor,
            ticket,
            armed: true,
        };
        match tokio::time::timeout_at(deadline.into(), answer).await {
            Ok(outcome) => {
                cancel.armed = false;
                outcome.unwrap_or_else(|_| Err(stopped(&self.spec)))
            }
            Err(_) => Err(too_slow(&self.spec, call.timeout)),
        }
    }

    /// Start it before its first call.
    pub(crate) fn warm(&self) {
        let _ = self.to_actor.send(Message::Warm);
    }

    /// Let it finish what it does, then go on with a fresh process.
    pub fn restart(&self) {
        let _ = self.to_actor.send(Message::Restart);
    }

    /// Let it finish what it does, then end it for good.
    pub(crate) fn retire(&self) {
        let _ = self.to_actor.send(Message::Stop(None));
    }

    /// End it for good; returns when its process is gone.
    pub async fn stop(&self) {
        let (done, ended) = oneshot::channel();
        if self.to_actor.send(Message::Stop(Some(done))).is_ok() {
            let _ = ended.await;
        }
    }

    /// What people see of it.
    pub fn status(&self) -> SidecarStatus {
        self.shared.status(&self.spec.name, self.spec.kind)
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        self.shared.state()
    }

    /// When it last answered.
    pub(crate) fn used(&self) -> SystemTime {
        self.shared.used()
    }

    /// Calls that wait or run.
    pub(crate) fn load(&self) -> usize {
        self.shared.load.load(Ordering::Relaxed)
    }

    /// A source file that changed since its process imported it.
    pub(crate) fn changed_file(&self) -> Option<String> {
        self.shared.changed_file()
    }
}

/// Counts a call as load from the moment it is made until the process is done with it.
#[derive(Debug)]
pub(crate) struct LoadToken(Arc<Shared>);

impl LoadToken {
    fn take(shared: &Arc<Shared>, limit: usize) -> Option<Self> {
        let token = Self(Arc::clone(shared));
        (shared.load.fetch_add(1, Ordering::Relaxed) < limit).then_some(token)
    }
}

impl Drop for LoadToken {
    fn drop(&mut self) {
        self.0.load.fetch_sub(1, Ordering::Relaxed);
    }
}

struct CancelOnDrop<'a> {
    to_actor: &'a mpsc::UnboundedSender<Message>,
    ticket: u64,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.armed {
            let _ = self.to_actor.send(Message::Cancel(self.ticket));
        }
    }
}

/// The owner of a sidecar's process.
struct Actor {
    spec: Arc<Spec>,
    shared: Arc<Shared>,
    around: Surroundings,
    messages: mpsc::UnboundedReceiver<Message>,
    life: Life,
    /// Calls that wait. Bounded by the load that callers may make.
    queue: VecDeque<Pending>,
    child: Option<Child>,
    /// Why the process is being ended, if it is by us.
    cause: Option<&'static str>,
    /// When a closed process is killed.
    close_by: Option<Instant>,
    /// When the working process is looked at next.
    watch_at: Option<Instant>,
    /// It was asked to drop caches, and has not been below the soft limit since.
    trimmed: bool,
    /// It told of files it had imported before anybody could look whether they changed.
    unproven: bool,
    one_shots: Arc<Semaphore>,
    /// The state that was announced last.
    told: State,
    waiting_for_end: Vec<oneshot::Sender<()>>,
    /// Every handle is gone.
    abandoned: bool,
}

impl Actor {
    async fn run(mut self) {
        while self.life.state() != State::Stopped || self.child.is_some() {
            let wake = self.next_wake();
            tokio::select! {
                message = self.messages.recv(), if !self.abandoned => self.on_message(message),
                did = next_of(&mut self.child) => self.on_child(did),
                () = sleep_until(wake) => self.on_tick(Instant::now()),
            }
            self.tell_state();
        }
        for done in self.waiting_for_end.drain(..) {
            let _ = done.send(());
        }
        // Late messages find a closed channel or an answer.
        self.messages.close();
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Message::Call(pending) => pending.fail(stopped(&self.spec)),
                Message::Stop(Some(done)) => drop(done.send(())),
                _ => {}
            }
        }
    }

    fn on_message(&mut self, message: Option<Message>) {
        match message {
            Some(Message::Call(pending)) => {
                self.queue.push_back(pending);
                self.pump();
            }
            Some(Message::Cancel(ticket)) => self.cancel(ticket),
            Some(Message::Warm) => self.step(Happening::Demand),
            Some(Message::Restart) => {
                self.cause.get_or_insert("restart");
                self.step(Happening::Restart);
            }
            Some(Message::Stop(done)) => {
                self.waiting_for_end.extend(done);
                self.cause.get_or_insert("stop");
                self.step(Happening::Stop);
            }
            // Every handle is gone.
            None => {
                self.abandoned = true;
                self.step(Happening::Stop);
                if let Some(child) = &mut self.child {
                    child.kill();
                }
            }
        }
    }

    /// Hand over what waits, or see to it that somebody will take it.
    fn pump(&mut self) {
        self.prove();
        while self.life.takes_calls()
            && let Some(child) = &mut self.child
            && child.is_open()
            && child.in_flight.len() < self.spec.limits.in_flight
            && let Some(pending) = self.queue.pop_front()
        {
            let id = child.new_id();
            let mut frame = BytesMut::new();
            let progress = pending.parts.is_some();
            self.spec
                .dialect
                .request(id, &pending.ask, progress, &mut frame);
            if !child.send(frame.freeze()) {
                // It has not even begun: its successor can have it, safe or not.
                self.queue.push_front(pending);
                break;
            }
            let now = Instant::now();
            let in_flight = InFlight {
                ticket: pending.ticket,
                pending: Some(pending),
                load: None,
                began: now,
                kill_at: None,
            };
            child.in_flight.insert(id, in_flight);
            self.watch_at.get_or_insert(now + WATCH_EVERY);
            self.step(Happening::CallBegan);
        }
        if !self.queue.is_empty() && !self.life.takes_calls() {
            self.step(Happening::Demand);
        }
    }

    /// A call that waited must not run code older than itself: when it came, nobody knew
    /// yet of the files that the process was importing. One that has waited since before the
    /// process started need not fear that.
    fn prove(&mut self) {
        let Some(child) = &self.child else { return };
        let newer = self.queue.iter().any(|call| call.came > child.started);
        if !self.unproven || !newer || !self.life.takes_calls() {
            return;
        }
        self.unproven = false;
        if let Some(file) = self.shared.changed_file() {
            tracing::info!(
                sidecar = self.spec.name,
                file,
                "restarted: a source file changed"
            );
            self.cause.get_or_insert("retired");
            self.step(Happening::Restart);
        }
    }

    fn step(&mut self, happening: Happening) {
        match self.life.step(happening, Instant::now()) {
            None => {}
            Some(Todo::Start) => self.start(),
            Some(Todo::Close) => {
                self.close_by = Some(Instant::now() + self.spec.limits.close);
                self.cause.get_or_insert("idle");
                if let Some(child) = &mut self.child {
                    child.close_input();
                }
            }
            Some(Todo::FallBack) => self.fall_back(),
            Some(Todo::GiveUp) => {
                for pending in self.queue.drain(..) {
                    pending.fail(stopped(&self.spec));
                }
            }
        }
    }

    fn start(&mut self) {
        let generation = self.around.generations.fetch_add(1, Ordering::Relaxed) + 1;
        self.shared.generation.store(generation, Ordering::Relaxed);
        self.cause = None;
        self.trimmed = false;
        let lease = self.around.activity.lease();
        match Child::start(&self.spec, generation, &self.around.events, lease) {
            Ok(child) => {
                tracing::info!(sidecar = self.spec.name, generation, "started");
                self.child = Some(child);
            }
            Err(error) => {
                tracing::warn!(sidecar = self.spec.name, %error, "not started");
                for pending in self.queue.drain(..) {
                    pending.fail(error.clone());
                }
                self.step(Happening::StartFailed);
            }
        }
    }

    /// The breaker is open: every waiting call gets a child of its own.
    fn fall_back(&mut self) {
        tracing::debug!(
            sidecar = self.spec.name,
            calls = self.queue.len(),
            "one child per call"
        );
        for pending in self.queue.drain(..) {
            let spec = Spec::clone(&self.spec);
            tokio::spawn(one_shot(
                spec,
                self.around.clone(),
                Arc::clone(&self.one_shots),
                pending,
            ));
        }
    }

    fn on_child(&mut self, did: Did) {
        match did {
            Did::Wrote(line) => self.on_line(&line),
            Did::Signalled => self.shared.ping_answered(),
            Did::Broke(reason) => self.on_broken(&reason),
            Did::Ended(exit) => self.on_end(exit),
        }
    }

    fn on_line(&mut self, line: &[u8]) {
        let Some(child) = &mut self.child else { return };
        if child.hello.is_none() {
            return self.on_hello(line);
        }
        let Ok(message) = serde_json::from_slice::<FromSidecar>(line) else {
            // A stray print of a foreign sidecar. Its answer may still come.
            tracing::warn!(sidecar = self.spec.name, "wrote a line that is no answer");
            return;
        };
        let Some(id) = message.id else { return };
        let part = match (message.item, message.progress) {
            (Some(item), _) => Some(Part::Item(item.to_owned())),
            (None, Some(progress)) => Some(Part::Progress(progress.to_owned())),
            (None, None) => None,
        };
        if let Some(part) = part {
            return self.on_part(id, part);
        }
        // Before the answer: its caller may change a file at once.
        if let Some(files) = message.files {
            self.shared.add_files(files);
            self.unproven = true;
        }
        let outcome = match (message.result, message.error) {
            (_, Some(error)) => Err(error.into()),
            (Some(result), None) => Ok(result.to_owned()),
            (None, None) => Err(Error::internal(
                "a sidecar answered without result and error",
            )),
        };
        let Some(mut done) = child.in_flight.remove(&id) else {
            return;
        };
        let (generation, pid) = (child.generation, child.pid());
        let took = done.began.elapsed();
        self.shared.answered(took);
        if let Some(pending) = done.pending.take() {
            pending.answer(outcome.map(|result| Answer {
                result,
                generation,
                pid,
                took,
            }));
        }
        self.step(Happening::CallEnded);
        self.pump();
    }

    fn on_hello(&mut self, line: &[u8]) {
        let Some(child) = &mut self.child else { return };
        match serde_json::from_slice::<Ready>(line) {
            Ok(mut ready) if ready.status == "ready" => {
                self.shared.add_files(std::mem::take(&mut ready.files));
                self.unproven = true;
                let python = ready.python.clone();
                child.greet(ready);
                self.shared.born(child.pid(), python);
                self.step(Happening::Hello);
                self.pump();
            }
            _ => {
                let text: String = String::from_utf8_lossy(line).chars().take(200).collect();
                self.on_broken(&format!("wrote `{text}` where its ready line should be"));
            }
        }
    }

    fn on_part(&mut self, id: u64, part: Part) {
        let Some(child) = &mut self.child else { return };
        if let Part::Progress(progress) = &part
            && self.around.events.has_listeners()
            && let Ok(progress) = serde_json::from_str(progress.get())
        {
            let sidecar = self.spec.name.clone();
            self.around
                .events
                .announce(Event::Progress { sidecar, progress });
        }
        let Some(in_flight) = child.in_flight.get(&id) else {
            return;
        };
        let ticket = in_flight.ticket;
        let Some(parts) = in_flight.pending.as_ref().and_then(|p| p.parts.clone()) else {
            return;
        };
        if !child.deliver(&parts, part) {
            self.cancel(ticket);
        }
    }

    /// Its output cannot be understood any more: it has to go.
    fn on_broken(&mut self, reason: &str) {
        tracing::warn!(sidecar = self.spec.name, reason, "broken");
        let Some(child) = &mut self.child else { return };
        if is_too_large(reason, self.spec.limits.frame) {
            for in_flight in child.in_flight.values_mut() {
                if let Some(pending) = in_flight.pending.take() {
                    pending.fail(too_large(&self.spec));
                }
            }
        }
        self.cause.get_or_insert("broken");
        child.kill();
    }

    fn on_end(&mut self, exit: Exit) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let expected = self.life.expects_death();
        let cause = self.cause.take().unwrap_or("crash");
        self.close_by = None;
        self.watch_at = None;
        self.shared.died();
        if !expected {
            self.shared.crashes.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(sidecar = self.spec.name, generation = child.generation, cause, %exit, "ended");
        }
        self.around.events.announce(Event::SidecarEnded {
            sidecar: self.spec.name.clone(),
            workspace: self.spec.workspace.display().to_string(),
            generation: child.generation,
            cause: cause.into(),
            exit: exit.to_string(),
        });
        let error = crashed(&self.spec, &child, exit, cause);
        let mut interrupted: Vec<_> = child.in_flight.drain().collect();
        // Repeated calls keep their order at the front of the queue.
        interrupted.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        for (_, in_flight) in interrupted {
            match in_flight.pending {
                Some(mut pending) if pending.safe && !pending.repeated && cause != "memory" => {
                    pending.repeated = true;
                    self.queue.push_front(pending);
                }
                Some(pending) => pending.fail(error.clone()),
                None => {}
            }
        }
        if child.hello.is_some() || expected {
            self.step(Happening::Died);
        } else {
            self.on_failed_start(exit, &error);
        }
        self.pump();
    }

    /// It ended before it said hello. A kill from outside gets another chance; a process
    /// that ends by itself would only do so again.
    fn on_failed_start(&mut self, exit: Exit, error: &Error) {
        for mut pending in std::mem::take(&mut self.queue) {
            if exit.signal.is_some() && !pending.repeated && self.cause.is_none() {
                pending.repeated = true;
                self.queue.push_back(pending);
            } else {
                pending.fail(error.clone());
            }
        }
        let again = !self.queue.is_empty();
        self.step(if again {
            Happening::Died
        } else {
            Happening::StartFailed
        });
    }

    /// The caller has gone. A waiting call is dropped, a running one interrupted.
    fn cancel(&mut self, ticket: u64) {
        self.queue.retain(|pending| pending.ticket != ticket);
        let Some(child) = &mut self.child else { return };
        let found = child
            .in_flight
            .iter_mut()
            .find(|(_, call)| call.ticket == ticket);
        let Some((id, in_flight)) = found else { return };
        let id = *id;
        // Its load stays until the process is done with it.
        in_flight.load = in_flight.pending.take().map(|pending| pending.load);
        in_flight
            .kill_at
            .get_or_insert(Instant::now() + self.spec.limits.grace);
        let understands = self.spec.dialect == Dialect::Worker
            || child
                .hello
                .as_ref()
                .is_some_and(|h| h.features.iter().any(|f| f == "cancel"));
        if understands {
            let mut frame = BytesMut::new();
            Dialect::cancel(id, &mut frame);
            child.signal(&frame);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let child = self.child.as_ref();
        let hello = child
            .filter(|c| c.hello.is_none())
            .map(|c| c.started + self.spec.limits.hello);
        let kill = child.and_then(|c| c.in_flight.values().filter_map(|call| call.kill_at).min());
        let watch = child.and(self.watch_at);
        [hello, kill, watch, self.close_by, self.life.next_tick()]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_tick(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if let Some(child) = &mut self.child {
            let hello = child
                .hello
                .is_none()
                .then(|| child.started + self.spec.limits.hello);
            let stuck = child.in_flight.values().any(|call| due(call.kill_at));
            if due(hello) || stuck || due(self.close_by) {
                if !due(self.close_by) {
                    self.cause = Some("hang");
                }
                for call in child.in_flight.values_mut() {
                    call.kill_at = None;
                }
                // `Did::Ended` follows; ticking again before would be in vain.
                child.started = now + Duration::from_secs(3600);
                self.close_by = None;
                child.kill();
                return;
            }
        }
        if due(self.watch_at) {
            self.watch(now);
        }
        self.step(Happening::Tick);
    }

    /// Look after a working process: does it live, and how much memory does it use?
    fn watch(&mut self, now: Instant) {
        self.watch_at = None;
        let Some(child) = &mut self.child else { return };
        if !child.in_flight.is_empty() {
            self.watch_at = Some(now + WATCH_EVERY);
            if self.spec.dialect.has_control() {
                self.shared.ping_sent(now);
                child.signal(b"{\"id\":0,\"method\":\"ping\"}\n");
            }
        }
        let Some(used) = child.pid().and_then(pillion_process::stat::resident_bytes) else {
            return;
        };
        let over = |limit: Option<u64>| limit.is_some_and(|limit| used > limit);
        if over(self.spec.limits.memory_hard) {
            self.cause = Some("memory");
            child.kill();
        } else if over(self.spec.limits.memory_soft) {
            if !self.trimmed && self.spec.dialect.has_control() {
                child.signal(b"{\"method\":\"trim\"}\n");
                self.trimmed = true;
            }
        } else {
            self.trimmed = false;
        }
    }

    fn tell_state(&mut self) {
        let state = self.life.state();
        if state == self.told {
            return;
        }
        // Ready and busy alternate with every call; only listeners want to hear of it.
        self.told = state;
        self.shared.set_state(state);
        if self.around.events.has_listeners() {
            self.around.events.announce(Event::SidecarState {
                sidecar: self.spec.name.clone(),
                workspace: self.spec.workspace.display().to_string(),
                state,
                generation: self.shared.generation.load(Ordering::Relaxed),
            });
        }
        if state == State::Broken {
            tracing::warn!(
                sidecar = self.spec.name,
                "died too often: one child per call until it recovers"
            );
        }
    }
}

/// Run one call in a process of its own.
async fn one_shot(spec: Spec, around: Surroundings, permits: Arc<Semaphore>, pending: Pending) {
    let Pending {
        ask,
        safe,
        parts,
        mut way_back,
        load,
        ..
    } = pending;
    let _load = load;
    let mut spec = spec;
    spec.name = format!("{} (one-shot)", spec.name);
    let work = async {
        let _permit = permits.acquire().await;
        let sidecar = Sidecar::new(spec, around);
        // The caller's own deadline ends it: then its way back closes.
        let timeout = Duration::from_secs(24 * 3600);
        let outcome = Box::pin(sidecar.call(Call {
            ask,
            safe,
            timeout,
            parts,
        }))
        .await;
        sidecar.retire();
        outcome
    };
    tokio::select! {
        outcome = work => drop(way_back.send(outcome)),
        () = way_back.closed() => {}
    }
}

async fn next_of(child: &mut Option<Child>) -> Did {
    match child {
        Some(child) => child.next().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn busy(spec: &Spec) -> Error {
    Error::new(
        Code::Busy,
        format!(
            "`{}` has {} calls waiting already",
            spec.name, spec.limits.queue
        ),
    )
    .hint("try again later, or allow more workers in `pillion.toml` (`[python] workers = N`)")
}

fn stopped(spec: &Spec) -> Error {
    Error::new(
        Code::ShuttingDown,
        format!("`{}` is shutting down", spec.name),
    )
    .hint("send the request again: a new one starts by itself")
}

fn too_slow(spec: &Spec, timeout: Duration) -> Error {
    Error::new(
        Code::Timeout,
        format!("`{}` gave no answer within {} s", spec.name, timeout.as_secs_f64()),
    )
    .hint("the call was interrupted; give it more time with `timeout_ms` (`--timeout-ms` on the command line)")
}

fn too_large(spec: &Spec) -> Error {
    Error::new(
        Code::ResponseTooLarge,
        format!(
            "the answer of `{}` is larger than {} bytes",
            spec.name, spec.limits.frame
        ),
    )
    .hint("return less, or write it to a file and return its path")
}

fn crashed(spec: &Spec, child: &Child, exit: Exit, cause: &str) -> Error {
    let tail = child.stderr.last(TAIL_LINES);
    let data = json!({
        "cause": cause,
        "exit_code": exit.code,
        "signal": exit.signal,
        "generation": child.generation,
        "stderr": tail,
    });
    let error = if cause == "memory" {
        Error::new(
            Code::Memory,
            format!(
                "`{}` used more memory than it may and was stopped",
                spec.name
            ),
        )
        .hint("raise `memory_hard_mb` in `pillion.toml`, or work in smaller pieces")
    } else if child.hello.is_none() {
        let what = if cause == "hang" {
            format!(
                "`{}` did not get ready within {} s",
                spec.name,
                spec.limits.hello.as_secs()
            )
        } else {
            format!("`{}` {exit} before it was ready", spec.name)
        };
        Error::new(Code::StartFailed, with_last_line(what, &tail))
            .hint("`pillion doctor` shows what is wrong and what to do")
    } else if cause == "hang" {
        Error::new(
            Code::Crashed,
            format!("`{}` hung and was stopped during the call", spec.name),
        )
        .hint("another call blocked it; the state it held in memory is lost")
    } else {
        Error::new(Code::Crashed, with_last_line(format!("`{}` {exit} during the call", spec.name), &tail))
            .hint("it was not repeated because it may have had effects; a call that is safe to repeat can say `idempotent`")
    };
    error.data(data)
}

/// The most telling line of a dying process is its last.
fn with_last_line(what: String, tail: &str) -> String {
    match tail.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{what}: {}", line.trim()),
        None => what,
    }
}
