//! What the clock brings: deadlines, pings, memory.

use std::time::{Duration, Instant};

use super::{Actor, WATCH_EVERY};
use crate::failure::Cause;
use crate::life::Happening;

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
                self.trimmed = true;
            }
        } else {
            self.trimmed = false;
        }
    }
}
