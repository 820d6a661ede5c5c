//! The owner's handle on a running child.

use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::{guard, tree};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The program never ran: exec failed under the guard.
    pub not_started: bool,
}

impl Exit {
    /// Whether it ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: status.signal(),
            not_started: guard::available() && guard::was_not_started(status),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.signal, self.code) {
            (Some(9), _) => f.write_str("was killed (SIGKILL)"),
            (Some(11), _) => f.write_str("crashed (SIGSEGV)"),
            (Some(6), _) => f.write_str("aborted (SIGABRT)"),
            (Some(15), _) => f.write_str("was terminated (SIGTERM)"),
            (Some(signal), _) => write!(f, "was ended by signal {signal}"),
            (None, Some(code)) => write!(f, "exited with code {code}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

/// A running child. Dropping it kills the child and everything below it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Whose group it leads.
    group: Option<u32>,
    /// Closing this makes the guard kill everything.
    life: Option<OwnedFd>,
    guarded: bool,
    ended: bool,
}

impl Running {
    pub(crate) fn new(child: Child, life: Option<OwnedFd>) -> Self {
        Self {
            group: child.id(),
            child,
            guarded: life.is_some(),
            life,
            ended: false,
        }
    }

    /// The process id of the guard, or of the child where there is no guard.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The process id of the program itself, which a guard has as its first child.
    pub fn program_id(&self) -> Option<u32> {
        let id = self.id()?;
        match self.life {
            Some(_) => tree::first_child(id),
            None => Some(id),
        }
    }

    /// The child's standard input, once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The child's standard output, once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The child's standard error, once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Wait for the end. Cancel-safe; all descendants are gone when it returns, or without a
    /// guard at least those that stayed in its process group.
    pub async fn wait(&mut self) -> Exit {
        let status = self.child.wait().await;
        if let Some(group) = self.group.take().filter(|_| !self.guarded) {
            tree::kill_group(group);
        }
        self.ended = true;
        status.map_or(
            Exit {
                code: None,
                signal: None,
                not_started: false,
            },
            Exit::from,
        )
    }

    /// Kill the child and everything below it. [`wait`](Self::wait) then reaps it.
    pub fn kill(&mut self) {
        if self.ended {
            return;
        }
        match self.life.take() {
            Some(life) => drop(life),
            None => {
                if let Some(pid) = self.child.id() {
                    tree::kill_tree(pid);
                }
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
