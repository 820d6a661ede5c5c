//! The handle on a daemon that was started here.

use std::time::Duration;

use pillion_process::stat::{Identity, is_in_session_of};
use pillion_process::{Detached, Exit};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::connection::Connection;

/// The daemon that a client started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Its process id.
    pub pid: u32,
    /// The process itself, told apart from a later one with the same id; where the system
    /// does not tell, `None`.
    pub identity: Option<Identity>,
}

/// The handle on a daemon that was started here. Until it is [kept](Self::keep), dropping
/// it ends the daemon: a start that was given up leaves nothing behind.
pub(crate) struct Launched {
    /// Taken only when this is dropped.
    child: Option<Detached>,
    pub(crate) started: Started,
    kept: bool,
}

impl Launched {
    pub(crate) fn new(child: Detached) -> Self {
        let pid = child.id();
        let identity = Identity::of(pid);
        Self {
            child: Some(child),
            started: Started { pid, identity },
            kept: false,
        }
    }

    /// How it ended, if it has. Also reaps it.
    pub(crate) fn ended(&mut self) -> Option<Exit> {
        self.child.as_mut()?.ended()
    }

    /// Ask it to end, and everything in its session with it.
    pub(crate) fn terminate(&mut self) {
        if let Some(child) = &mut self.child {
            signal(child, Signal::TERM);
        }
    }

    /// Let the daemon live on.
    pub(crate) fn keep(mut self) -> Self {
        self.kept = true;
        self
    }

    /// Whether the process behind a connection is this daemon or runs in its session.
    pub(crate) fn listens(&mut self, connection: &Connection) -> bool {
        match connection.peer.and_then(positive) {
            Some(peer) => is_in_session_of(peer, self.started.pid),
            None => self.ended().is_none(),
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        self.terminate();
        if let (Some(child), Ok(runtime)) = (self.child.take(), Handle::try_current()) {
            runtime.spawn(bury(child));
        }
    }
}

/// See that a daemon that was told to end does, and leaves no zombie.
async fn bury(mut child: Detached) {
    for _ in 0..100 {
        if child.ended().is_some() {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    signal(&mut child, Signal::KILL);
    while child.ended().is_none() {
        sleep(Duration::from_millis(20)).await;
    }
}

/// Signal a daemon's whole group, of which it is the leader.
fn signal(child: &mut Detached, signal: Signal) {
    // Not reaped yet, so the number is still its own.
    if child.ended().is_none()
        && let Some(pid) = pid(child.id())
    {
        let _ = kill_process_group(pid, signal);
    }
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

/// The number of a process that this one can see; the kernel says 0 for others.
fn positive(pid: i32) -> Option<u32> {
    u32::try_from(pid).ok().filter(|pid| *pid > 0)
}
