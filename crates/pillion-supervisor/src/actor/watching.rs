//! What the clock brings: deadlines, pings, memory.

use std::time::{Duration, Instant};

use super::{Actor, WATCH_EVERY};
use crate::life::Happening;
use crate::{Cause, Dialect};

/// A process that cannot drop its caches, and uses more than the soft limit, ends after this
/// long without a call: the next one starts with nothing.
const PAUSE: Duration = Duration::from_secs(60);

impl Actor {
    pub(super) fn next_wake(&self) -> Option<Instant> {
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

    pub(super) fn on_tick(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if let Some(child) = &mut self.child {
            let hello = child
                .hello
                .is_none()
                .then(|| child.started + self.spec.limits.hello);
            let stuck = child.in_flight.values().any(|call| due(call.kill_at));
            let alive =
                self.spec.dialect == Dialect::Lsp && child.heard + self.spec.limits.grace > now;
            if stuck && alive && !due(self.close_by) {
                return self.give_up_cancelled(now);
            }
            if due(hello) || stuck || due(self.close_by) {
                if !due(self.close_by) {
                    self.cause = Some(Cause::Hang);
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

    /// A language server that talks is not stuck, whatever became of the calls that it was
    /// to cancel: the others need it. A late answer finds nobody.
    fn give_up_cancelled(&mut self, now: Instant) {
        let Some(child) = &mut self.child else { return };
        let before = child.in_flight.len();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        child.in_flight.retain(|_, call| !is_due(call.kill_at));
        for _ in child.in_flight.len()..before {
            self.step(Happening::CallEnded);
        }
        self.pump();
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
            self.cause = Some(Cause::Memory);
            child.kill();
        } else if over(self.spec.limits.memory_soft) {
            if !self.trimmed && self.spec.dialect.has_control() {
                child.signal(b"{\"method\":\"trim\"}\n");
            } else if !self.trimmed {
                tracing::info!(
                    sidecar = self.spec.name,
                    used,
                    "uses much memory: ends at the next pause"
                );
                let idle = self.spec.limits.idle.map_or(PAUSE, |idle| idle.min(PAUSE));
                self.life.set_idle(Some(idle));
            }
            self.trimmed = true;
        } else {
            self.trimmed = false;
        }
    }
}
