//! A process that is recognised, whoever has its pid by then.

/// A process that can be recognised later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The process id.
    pub pid: u32,
    /// When it started, in whatever the system counts.
    pub start: u64,
}

impl Identity {
    /// The identity of the process that has this pid now.
    pub fn of(pid: u32) -> Option<Self> {
        let start = super::facts(pid)?.start;
        Some(Self { pid, start })
    }

    /// SIGKILL to that very process; whether it was there.
    pub fn kill(&self) -> bool {
        self.is_alive()
            && i32::try_from(self.pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw)
                .is_some_and(|pid| {
                    rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok()
                })
    }

    /// Whether that very process still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        super::facts(self.pid).is_some_and(|facts| facts.start == self.start && !facts.is_zombie)
    }
}
