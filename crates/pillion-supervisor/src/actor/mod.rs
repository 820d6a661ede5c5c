//! The task that owns a sidecar.
//!
//! It listens to three things at once: its handles ([`handle`]; what they say is handled here), its process ([`incoming`], and
//! [`engine`] for language servers) and the clock ([`watching`]). What follows from them is decided by the pure life cycle.

mod engine;
mod handle;
mod incoming;
mod one_shot;
mod watching;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use pillion_catalogue::Activity;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::child::{Child, Did};
use crate::failure::{broken, stopped};
use crate::life::{Happening, Life, LifeAction, SidecarState};
use crate::message::{ActorMessage, Grant, InFlight, Pending};
use crate::status::Shared;
use crate::{Cause, Dialect, Event, Events, SidecarSpec};
use one_shot::one_shot;

pub use handle::Sidecar;

/// How often a working process is pinged and its memory read.
const WATCH_EVERY: Duration = Duration::from_millis(500);
/// Calls that run in a child of their own at the same time while the breaker is open.
const ONE_SHOTS: usize = 2;

/// What the sidecars of one pool have in common.
#[derive(Debug, Clone)]
pub(crate) struct ActorContext {
    pub(crate) events: Events,
    pub(crate) activity: Activity,
    /// Counts the processes of all sidecars of a pool.
    pub(crate) generations: Arc<AtomicU64>,
}

/// The owner of a sidecar's process.
pub(crate) struct Actor {
    spec: Arc<SidecarSpec>,
    shared: Arc<Shared>,
    around: ActorContext,
    messages: mpsc::UnboundedReceiver<ActorMessage>,
    /// What grants are given back on. Weak, because handles alone keep a sidecar.
    to_self: mpsc::WeakUnboundedSender<ActorMessage>,
    life: Life,
    /// Calls that wait. Bounded by the load that callers may make.
    queue: VecDeque<Pending>,
    child: Option<Child>,
    /// Why the process is being ended, if it is by us.
    cause: Option<Cause>,
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
    told: SidecarState,
    waiting_for_end: Vec<oneshot::Sender<()>>,
    /// Every handle is gone.
    abandoned: bool,
}

impl Actor {
    /// Start the task that owns a sidecar.
    pub(crate) fn spawn(
        spec: &Arc<SidecarSpec>,
        shared: &Arc<Shared>,
        around: ActorContext,
        (to_self, messages): (
            mpsc::WeakUnboundedSender<ActorMessage>,
            mpsc::UnboundedReceiver<ActorMessage>,
        ),
    ) {
        let life = Life::new(Instant::now(), spec.limits.idle);
        let actor = Self {
            // Who cannot have a zygote starts an interpreter.
            life: match spec.dialect.is_held() {
                true => life.cautious(),
                false => life,
            },
            to_self,
            spec: Arc::clone(spec),
            shared: Arc::clone(shared),
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
            told: SidecarState::Idle,
            waiting_for_end: Vec::new(),
            abandoned: false,
        };
        tokio::spawn(actor.run());
    }

    async fn run(mut self) {
        while self.life.state() != SidecarState::Stopped || self.child.is_some() {
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
                ActorMessage::Call(pending) => pending.fail(stopped(&self.spec)),
                ActorMessage::Stop(Some(done)) => drop(done.send(())),
                _ => {}
            }
        }
    }

    fn on_message(&mut self, message: Option<ActorMessage>) {
        match message {
            Some(ActorMessage::Call(pending)) => {
                self.queue.push_back(pending);
                self.pump();
            }
            Some(ActorMessage::Cancel(ticket)) => self.cancel(ticket),
            Some(ActorMessage::LetGo { process, id }) => self.let_go(process, id),
            Some(ActorMessage::Kill { process, cause }) => {
                let child = self.child.as_mut();
                if let Some(child) = child.filter(|child| child.number == process) {
                    self.cause.get_or_insert(cause);
                    child.kill();
                }
            }
            Some(ActorMessage::Notify(notice)) => self.notify(notice),
            Some(ActorMessage::Warm) => self.step(Happening::Demand),
            Some(ActorMessage::Restart) => {
                self.cause.get_or_insert(Cause::Restart);
                self.step(Happening::Restart);
            }
            Some(ActorMessage::Stop(done)) => {
                self.waiting_for_end.extend(done);
                self.cause.get_or_insert(Cause::Stop);
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
            if !pending.budget.is_free() {
                pending.put_back();
                continue;
            }
            if self.spec.dialect.is_held() {
                self.grant(pending);
                continue;
            }
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
            self.began(id, pending.ticket, Some(pending));
        }
        if !self.queue.is_empty() && !self.life.takes_calls() {
            self.step(Happening::Demand);
        }
    }

    /// Note that the process has a call, or that somebody holds it.
    fn began(&mut self, id: u64, ticket: u64, pending: Option<Pending>) {
        let Some(child) = &mut self.child else { return };
        let now = Instant::now();
        let in_flight = InFlight {
            ticket,
            pending,
            load: None,
            began: now,
            kill_at: None,
        };
        child.in_flight.insert(id, in_flight);
        self.shared.served.fetch_add(1, Ordering::Relaxed);
        self.watch_at.get_or_insert(now + WATCH_EVERY);
        self.step(Happening::CallBegan);
    }

    /// Hand over the process itself. It is at work until it is let go of.
    fn grant(&mut self, pending: Pending) {
        let Some(child) = &mut self.child else { return };
        let Some(channel) = child.channel() else {
            return pending.fail(stopped(&self.spec));
        };
        let (process, id) = (child.number, child.new_id());
        let over = child.over.subscribe();
        self.began(id, pending.ticket, None);
        let to_actor = self.to_self.clone();
        pending.grant(|load| Grant {
            channel,
            process,
            over,
            id,
            to_actor,
            _load: load,
        });
    }

    /// A hold is over. Its process may be so already, and another have come.
    fn let_go(&mut self, process: u64, id: u64) {
        let current = self.child.as_mut();
        let current = current.filter(|child| child.number == process);
        let Some(over) = current.and_then(|child| child.in_flight.remove(&id)) else {
            return;
        };
        self.shared.answered(over.began.elapsed());
        self.step(Happening::CallEnded);
        self.pump();
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
            self.cause.get_or_insert(Cause::Retired);
            self.step(Happening::Restart);
        }
    }

    fn step(&mut self, happening: Happening) {
        match self.life.step(happening, Instant::now()) {
            None => {}
            Some(LifeAction::Start) => self.start(),
            Some(LifeAction::Close) => {
                self.close_by = Some(Instant::now() + self.spec.limits.close);
                self.cause.get_or_insert(Cause::Idle);
                if self.spec.dialect == Dialect::Lsp {
                    self.farewell();
                } else if let Some(child) = &mut self.child {
                    child.close_input();
                }
            }
            Some(LifeAction::FallBack) => self.fall_back(),
            Some(LifeAction::GiveUp) => {
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
        self.life.set_idle(self.spec.limits.idle);
        let lease = self.around.activity.lease();
        match Child::start(&self.spec, generation, &self.around.events, lease) {
            Ok(child) => {
                tracing::info!(sidecar = self.spec.name, generation, "started");
                self.child = Some(child);
                if self.spec.dialect == Dialect::Lsp {
                    self.open();
                }
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
            if self.spec.dialect.is_held() {
                pending.fail(broken(&self.spec));
                continue;
            }
            let spec = SidecarSpec::clone(&self.spec);
            tokio::spawn(one_shot(
                spec,
                self.around.clone(),
                Arc::clone(&self.one_shots),
                pending,
            ));
        }
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
        let understands = self.spec.dialect != Dialect::Line
            || child
                .hello
                .as_ref()
                .is_some_and(|h| h.features.iter().any(|f| f == "cancel"));
        if understands {
            let mut frame = BytesMut::new();
            self.spec.dialect.cancel(id, &mut frame);
            child.signal(&frame);
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
        if state == SidecarState::Broken {
            tracing::warn!(
                sidecar = self.spec.name,
                "died too often: one child per call until it recovers"
            );
        }
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
