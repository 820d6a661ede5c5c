//! The life of a sidecar as a pure state machine.
//!
//! [`Life::step`] takes what happened and the time, and gives back what to do. It owns
//! the rules: start on first use, drain before a stop, wait longer after each crash, open
//! the breaker after three deaths in ten seconds, probe once after a cool-down, go idle.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Deaths within this span count together.
const WINDOW: Duration = Duration::from_secs(10);
/// So many of them open the breaker.
const DEATHS: usize = 3;
/// The wait before the second start in a row; each further one doubles it.
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
/// How long the breaker stays open before a probe; each failed probe doubles it.
const FIRST_COOLDOWN: Duration = Duration::from_secs(5);
/// But never longer than this.
const MAX_COOLDOWN: Duration = Duration::from_secs(300);

/// Where a sidecar is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SidecarState {
    /// No process; one starts with the next call.
    Idle,
    /// A process was started and has not said hello yet.
    Starting,
    /// Waiting for calls.
    Ready,
    /// Working on calls.
    Busy,
    /// Finishing its calls, taking no new ones.
    Draining,
    /// Died; the next start waits a little.
    Backoff,
    /// Died too often; calls run in a child of their own until a probe succeeds.
    Broken,
    /// Over for good.
    Stopped,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// A call waits.
    Demand,
    /// The process said hello.
    Hello,
    /// A call was handed to the process.
    CallBegan,
    /// A call handed to the process is over.
    CallEnded,
    /// The process is gone.
    Died,
    /// There was no process, or it ended before it said hello; what waited was told.
    StartFailed,
    /// Somebody wants a fresh process.
    Restart,
    /// Somebody wants it to end.
    Stop,
    /// Time passed.
    Tick,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeAction {
    /// Start a process.
    Start,
    /// Close its input, and kill it if that does not end it.
    Close,
    /// Serve what waits by a child per call.
    FallBack,
    /// Nothing more will happen: answer what waits with an error.
    GiveUp,
}

/// The state of one sidecar's life.
#[derive(Debug, Clone)]
pub struct Life {
    state: SidecarState,
    idle_after: Option<Duration>,
    /// A start that failed opens the breaker at once.
    cautious: bool,
    /// Calls in the hands of the process.
    calls: usize,
    /// Calls waiting for one.
    wanted: bool,
    /// When the last thing happened that counts as use.
    used: Instant,
    deaths: VecDeque<Instant>,
    /// End of a backoff or a cool-down.
    until: Option<Instant>,
    cooldown: Duration,
    /// The running start is the breaker's probe.
    probing: bool,
    /// What a drained or closed process is followed by.
    after_close: SidecarState,
    /// Its input is closed; its death is expected.
    closing: bool,
}

impl Life {
    /// A life that has not begun.
    pub fn new(now: Instant, idle_after: Option<Duration>) -> Self {
        Self {
            state: SidecarState::Idle,
            idle_after,
            cautious: false,
            calls: 0,
            wanted: false,
            used: now,
            deaths: VecDeque::new(),
            until: None,
            cooldown: FIRST_COOLDOWN,
            probing: false,
            after_close: SidecarState::Idle,
            closing: false,
        }
    }

    /// The same for a process whose callers have another way: after a start that failed they
    /// take that until a probe succeeds, instead of waiting for the next one to fail.
    #[must_use]
    pub fn cautious(mut self) -> Self {
        self.cautious = true;
        self
    }

    /// Go idle after so long from now on.
    pub fn set_idle(&mut self, idle_after: Option<Duration>) {
        self.idle_after = idle_after;
    }

    /// Where it is.
    pub fn state(&self) -> SidecarState {
        self.state
    }

    /// Whether calls may be handed to the process now.
    pub fn takes_calls(&self) -> bool {
        matches!(self.state, SidecarState::Ready | SidecarState::Busy) && !self.closing
    }

    /// Whether the death of the process is what was asked for.
    pub fn expects_death(&self) -> bool {
        self.closing
    }

    /// When [`Happening::Tick`] is due, if ever.
    pub fn next_tick(&self) -> Option<Instant> {
        match self.state {
            SidecarState::Backoff | SidecarState::Broken => self.until,
            SidecarState::Ready if !self.closing => self.idle_after.map(|span| self.used + span),
            _ => None,
        }
    }

    /// Take in what happened; says what to do, if anything.
    pub fn step(&mut self, happening: Happening, now: Instant) -> Option<LifeAction> {
        match happening {
            Happening::Demand => self.demand(now),
            Happening::Hello => {
                self.hello(now);
                None
            }
            Happening::CallBegan => {
                self.calls += 1;
                self.wanted = false;
                self.used = now;
                if self.state == SidecarState::Ready {
                    self.state = SidecarState::Busy;
                }
                None
            }
            Happening::CallEnded => self.call_ended(now),
            Happening::Died => self.died(now, false),
            Happening::StartFailed => {
                self.wanted = false;
                self.died(now, self.cautious)
            }
            Happening::Restart => self.close(SidecarState::Idle),
            Happening::Stop => self.close(SidecarState::Stopped),
            Happening::Tick => self.tick(now),
        }
    }

    fn demand(&mut self, now: Instant) -> Option<LifeAction> {
        self.wanted = true;
        self.used = now;
        match self.state {
            SidecarState::Idle => self.start(),
            SidecarState::Backoff | SidecarState::Broken
                if self.until.is_none_or(|until| now >= until) =>
            {
                self.probing = self.state == SidecarState::Broken;
                self.start()
            }
            SidecarState::Broken => {
                self.wanted = false;
                Some(LifeAction::FallBack)
            }
            SidecarState::Stopped => Some(LifeAction::GiveUp),
            _ => None,
        }
    }

    fn start(&mut self) -> Option<LifeAction> {
        self.state = SidecarState::Starting;
        self.until = None;
        self.closing = false;
        Some(LifeAction::Start)
    }

    fn hello(&mut self, now: Instant) {
        if self.state != SidecarState::Starting {
            return;
        }
        self.state = SidecarState::Ready;
        self.used = now;
        // What waits is handed over now; a process started ahead of any call waits for none.
        self.wanted = false;
        if std::mem::take(&mut self.probing) {
            // The probe answered: the past is forgiven.
            self.deaths.clear();
            self.cooldown = FIRST_COOLDOWN;
        }
    }

    fn call_ended(&mut self, now: Instant) -> Option<LifeAction> {
        self.calls = self.calls.saturating_sub(1);
        self.used = now;
        if self.calls > 0 {
            return None;
        }
        match self.state {
            SidecarState::Busy => {
                self.state = SidecarState::Ready;
                None
            }
            SidecarState::Draining if !self.closing => {
                self.closing = true;
                Some(LifeAction::Close)
            }
            _ => None,
        }
    }

    fn died(&mut self, now: Instant, give_up: bool) -> Option<LifeAction> {
        self.calls = 0;
        if std::mem::take(&mut self.closing) || self.state == SidecarState::Draining {
            self.state = self.after_close;
            return match self.state {
                SidecarState::Stopped => Some(LifeAction::GiveUp),
                _ if self.wanted => self.start(),
                _ => None,
            };
        }
        if self.state == SidecarState::Stopped {
            return Some(LifeAction::GiveUp);
        }
        self.deaths.push_back(now);
        self.deaths
            .retain(|death| now.duration_since(*death) < WINDOW);
        let failed_probe = std::mem::take(&mut self.probing);
        if failed_probe || give_up || self.deaths.len() >= DEATHS {
            if failed_probe {
                self.cooldown = (self.cooldown * 2).min(MAX_COOLDOWN);
            }
            self.state = SidecarState::Broken;
            self.until = Some(now + self.cooldown);
            return std::mem::take(&mut self.wanted).then_some(LifeAction::FallBack);
        }
        self.state = SidecarState::Backoff;
        // The first death in a while is answered at once.
        let wait = match self.deaths.len() {
            0 | 1 => Duration::ZERO,
            n => FIRST_BACKOFF * 2u32.saturating_pow(u32::try_from(n).unwrap_or(2) - 2),
        };
        self.until = Some(now + wait);
        if self.wanted && wait.is_zero() {
            self.start()
        } else {
            None
        }
    }

    fn close(&mut self, then: SidecarState) -> Option<LifeAction> {
        if self.state == SidecarState::Stopped {
            return None;
        }
        // A stop is never taken back by a later restart.
        if self.after_close != SidecarState::Stopped {
            self.after_close = then;
        }
        match self.state {
            SidecarState::Ready | SidecarState::Starting if !self.closing => {
                self.state = SidecarState::Draining;
                self.closing = true;
                Some(LifeAction::Close)
            }
            SidecarState::Busy => {
                self.state = SidecarState::Draining;
                None
            }
            SidecarState::Idle | SidecarState::Backoff | SidecarState::Broken => {
                self.deaths.clear();
                self.until = None;
                self.state = then;
                match then {
                    SidecarState::Stopped => Some(LifeAction::GiveUp),
                    _ if self.wanted => self.start(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn tick(&mut self, now: Instant) -> Option<LifeAction> {
        let due = self.next_tick().is_some_and(|at| now >= at);
        match self.state {
            SidecarState::Backoff if due && self.wanted => self.start(),
            SidecarState::Backoff if due => {
                self.state = SidecarState::Idle;
                self.until = None;
                None
            }
            SidecarState::Broken if due && self.wanted => {
                self.probing = true;
                self.start()
            }
            SidecarState::Broken if due => {
                // The next call probes; until then there is nothing to wake up for.
                self.until = None;
                None
            }
            SidecarState::Ready if due => {
                self.state = SidecarState::Draining;
                self.after_close = SidecarState::Idle;
                self.closing = true;
                Some(LifeAction::Close)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IDLE: Duration = Duration::from_secs(60);

    struct Fake {
        life: Life,
        now: Instant,
    }

    impl Fake {
        fn new() -> Self {
            let now = Instant::now();
            Self {
                life: Life::new(now, Some(IDLE)),
                now,
            }
        }

        fn say(&mut self, happening: Happening) -> Option<LifeAction> {
            self.life.step(happening, self.now)
        }

        fn pass(&mut self, millis: u64) -> Option<LifeAction> {
            self.now += Duration::from_millis(millis);
            self.say(Happening::Tick)
        }

        fn up(&mut self) {
            assert_eq!(self.say(Happening::Demand), Some(LifeAction::Start));
            self.say(Happening::Hello);
            self.say(Happening::CallBegan);
            assert_eq!(self.life.state(), SidecarState::Busy);
        }
    }

    #[test]
    fn many_first_callers_make_one_start() {
        let mut fake = Fake::new();
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::Start));
        for _ in 0..50 {
            assert_eq!(fake.say(Happening::Demand), None);
        }
    }

    #[test]
    fn the_first_death_is_answered_at_once_and_the_third_opens_the_breaker() {
        let mut fake = Fake::new();
        fake.up();
        assert_eq!(fake.say(Happening::Died), None);
        assert_eq!(
            fake.say(Happening::Demand),
            Some(LifeAction::Start),
            "no wait after one death"
        );
        fake.say(Happening::Hello);
        fake.say(Happening::CallBegan);
        assert_eq!(fake.say(Happening::Died), None);
        assert_eq!(fake.say(Happening::Demand), None, "a short wait after two");
        assert_eq!(fake.pass(50), Some(LifeAction::Start));
        fake.say(Happening::Hello);
        fake.say(Happening::CallBegan);
        assert_eq!(fake.say(Happening::Died), None);
        assert_eq!(fake.life.state(), SidecarState::Broken);
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::FallBack));
        fake.pass(5_000);
        assert_eq!(
            fake.say(Happening::Demand),
            Some(LifeAction::Start),
            "the probe"
        );
        fake.say(Happening::Hello);
        assert_eq!(
            fake.life.state(),
            SidecarState::Ready,
            "one good probe closes the breaker"
        );
    }

    #[test]
    fn a_failed_probe_waits_twice_as_long() {
        let mut fake = Fake::new();
        for _ in 0..3 {
            fake.say(Happening::Demand);
            fake.pass(50);
            fake.say(Happening::Died);
        }
        assert_eq!(fake.life.state(), SidecarState::Broken);
        fake.pass(5_000);
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::Start));
        assert_eq!(
            fake.say(Happening::Died),
            Some(LifeAction::FallBack),
            "the waiting call is served"
        );
        fake.pass(9_999);
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::FallBack));
        fake.pass(1);
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::Start));
    }

    #[test]
    fn deaths_far_apart_never_open_the_breaker() {
        let mut fake = Fake::new();
        for _ in 0..20 {
            fake.up();
            fake.say(Happening::Died);
            fake.pass(11_000);
        }
        assert_eq!(fake.life.state(), SidecarState::Idle);
    }

    #[test]
    fn idleness_counts_from_the_last_use_and_never_during_a_call() {
        let mut fake = Fake::new();
        fake.up();
        assert_eq!(fake.pass(600_000), None, "busy is not idle");
        fake.say(Happening::CallEnded);
        assert_eq!(fake.pass(59_999), None);
        assert_eq!(fake.pass(1), Some(LifeAction::Close));
        assert_eq!(fake.say(Happening::Died), None);
        assert_eq!(
            fake.life.state(),
            SidecarState::Idle,
            "an expected death is no crash"
        );
        fake.up();
    }

    #[test]
    fn one_started_ahead_goes_idle_for_good() {
        let mut fake = Fake::new();
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::Start));
        fake.say(Happening::Hello);
        assert_eq!(fake.pass(60_000), Some(LifeAction::Close));
        assert_eq!(fake.say(Happening::Died), None, "nobody wants it");
        assert_eq!(fake.life.state(), SidecarState::Idle);
    }

    #[test]
    fn a_call_that_arrives_while_it_closes_starts_the_next() {
        let mut fake = Fake::new();
        fake.up();
        fake.say(Happening::CallEnded);
        assert_eq!(fake.pass(60_000), Some(LifeAction::Close));
        assert_eq!(fake.say(Happening::Demand), None);
        assert_eq!(fake.say(Happening::Died), Some(LifeAction::Start));
    }

    #[test]
    fn a_stop_waits_for_the_call_and_is_final() {
        let mut fake = Fake::new();
        fake.up();
        assert_eq!(fake.say(Happening::Stop), None);
        assert!(!fake.life.takes_calls());
        assert_eq!(fake.say(Happening::CallEnded), Some(LifeAction::Close));
        assert_eq!(fake.say(Happening::Died), Some(LifeAction::GiveUp));
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::GiveUp));
    }

    #[test]
    fn a_restart_while_broken_forgives() {
        let mut fake = Fake::new();
        for _ in 0..3 {
            fake.say(Happening::Demand);
            fake.pass(100);
            fake.say(Happening::Died);
        }
        assert_eq!(fake.life.state(), SidecarState::Broken);
        fake.say(Happening::Restart);
        assert_eq!(fake.say(Happening::Demand), Some(LifeAction::Start));
    }

    /// What a process and its callers could really do next.
    fn happenings() -> impl Strategy<Value = Vec<(u8, u64)>> {
        prop::collection::vec((0u8..8, 0u64..20_000), 0..200)
    }

    proptest! {
        /// Whatever happens in whatever order: never two processes at once, calls only go
        /// to a live one, and after a stop nothing is started.
        #[test]
        fn invariants(script in happenings()) {
            let mut fake = Fake::new();
            let (mut alive, mut calls, mut stopped) = (false, 0usize, false);
            for (choice, millis) in script {
                let happening = match choice {
                    0 => Happening::Demand,
                    1 if alive && fake.life.state() == SidecarState::Starting => Happening::Hello,
                    2 if fake.life.takes_calls() => { calls += 1; Happening::CallBegan }
                    3 if calls > 0 => { calls -= 1; Happening::CallEnded }
                    4 if alive => { alive = false; calls = 0; Happening::Died }
                    5 => Happening::Restart,
                    6 if millis > 19_000 => { stopped = true; Happening::Stop }
                    7 => { fake.now += Duration::from_millis(millis); Happening::Tick }
                    _ => continue,
                };
                let was_closing = fake.life.expects_death();
                let action = fake.say(happening);
                match action {
                    Some(LifeAction::Start) => {
                        prop_assert!(!alive, "two processes at once");
                        prop_assert!(!stopped, "a start after the stop");
                        alive = true;
                    }
                    Some(LifeAction::Close) => {
                        prop_assert!(alive && !was_closing, "closing what is not open");
                        prop_assert_eq!(calls, 0, "closing during a call");
                    }
                    _ => {}
                }
                prop_assert!(!fake.life.takes_calls() || alive, "takes calls without a process");
                if let Some(at) = fake.life.next_tick() && action.is_none() && happening == Happening::Tick {
                    prop_assert!(at > fake.now, "a tick that is due again at once: {:?}", fake.life.state());
                }
            }
        }
    }

    #[test]
    fn a_cautious_life_gives_up_after_one_failed_start_and_probes_later() {
        let start = Instant::now();
        let mut life = Life::new(start, None).cautious();
        assert_eq!(life.step(Happening::Demand, start), Some(LifeAction::Start));
        assert_eq!(life.step(Happening::StartFailed, start), None);
        assert_eq!(life.state(), SidecarState::Broken);
        // Callers take their other way at once.
        assert_eq!(
            life.step(Happening::Demand, start),
            Some(LifeAction::FallBack)
        );
        let later = start + FIRST_COOLDOWN;
        assert_eq!(life.step(Happening::Demand, later), Some(LifeAction::Start));
        assert_eq!(life.step(Happening::StartFailed, later), None);
        let again = later + FIRST_COOLDOWN;
        assert_eq!(
            life.step(Happening::Demand, again),
            Some(LifeAction::FallBack)
        );
        let again = later + FIRST_COOLDOWN * 2;
        assert_eq!(life.step(Happening::Demand, again), Some(LifeAction::Start));
        life.step(Happening::Hello, again);
        // One that has worked may die without that.
        life.step(Happening::Died, again);
        assert_eq!(life.state(), SidecarState::Backoff);
    }
}
