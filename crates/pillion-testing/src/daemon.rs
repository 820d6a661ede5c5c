//! A daemon of the test's own, in the foreground.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};
use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::{DEADLINE, TestContext, processes, wait_for};

/// A running daemon. Dropping it ends it and asserts that it ended well.
pub struct Daemon {
    child: Child,
    /// Its process.
    pub pid: u32,
    socket: PathBuf,
    log: PathBuf,
    /// The project that its connections are about.
    pub project: PathBuf,
    /// Who runs it, if not we.
    user: Option<u32>,
    ended: Option<ExitStatus>,
}

impl TestContext {
    /// A daemon that listens.
    pub fn daemon(&self) -> Daemon {
        self.daemon_with(&["--no-timeout"])
    }

    /// A daemon with these arguments that listens.
    pub fn daemon_with(&self, args: &[&str]) -> Daemon {
        let daemon = self.start_daemon(args);
        wait_for(DEADLINE, "the daemon's socket", || {
            UnixStream::connect(&daemon.socket).map_err(|e| format!("{e}\n{}", daemon.log()))
        });
        daemon
    }

    /// A daemon that may or may not come to listen.
    pub fn start_daemon(&self, args: &[&str]) -> Daemon {
        let log = self.base.join("daemon.log");
        let errors = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let child = self
            .pillion_command(&["daemon"])
            .args(args)
            .current_dir(&self.base)
            .stderr(errors)
            .spawn()
            .unwrap();
        Daemon {
            pid: child.id(),
            child,
            socket: self.socket(),
            log,
            project: self.project.clone(),
            user: self.user,
            ended: None,
        }
    }
}

impl Daemon {
    /// A new connection.
    pub fn connect(&self) -> Rpc {
        let stream = self
            .stream()
            .unwrap_or_else(|e| panic!("cannot connect: {e}\n{}", self.log()));
        Rpc::socket(stream, &self.project)
    }

    /// A new connection without anything around it.
    pub fn raw(&self) -> UnixStream {
        let stream = self.stream().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// A connection of the user that runs it: it takes no others. Who one is can be changed for
    /// one thread.
    fn stream(&self) -> std::io::Result<UnixStream> {
        let Some(user) = self.user else {
            return UnixStream::connect(&self.socket);
        };
        let connect = || {
            let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
            set_thread_res_gid(gid, gid, gid)?;
            set_thread_res_uid(uid, uid, uid)?;
            UnixStream::connect(&self.socket)
        };
        std::thread::scope(|scope| scope.spawn(connect).join().unwrap())
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The sidecars of its only workspace.
    pub fn sidecars(&self) -> Vec<Value> {
        let status = self.connect().call("system.status", json!({})).unwrap();
        status["workspaces"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|workspace| workspace["sidecars"].as_array().unwrap().clone())
            .collect()
    }

    /// Kill it, as the kernel would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.ended = Some(self.child.wait().unwrap());
    }

    /// Ask it to end.
    pub fn terminate(&self) {
        processes::terminate(self.pid);
    }

    /// Wait for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.wait_for(DEADLINE)
    }

    /// Wait so long for its end.
    pub fn wait_for(&mut self, limit: Duration) -> ExitStatus {
        let log = self.log.clone();
        let child = &mut self.child;
        let status = wait_for(limit, "the daemon's end", || {
            child.try_wait().unwrap().ok_or_else(|| {
                format!(
                    "it runs\n{}",
                    std::fs::read_to_string(&log).unwrap_or_default()
                )
            })
        });
        self.ended = Some(status);
        status
    }

    /// Assert that every child that ended was also waited for.
    fn assert_no_zombies(&self) {
        wait_for(
            DEADLINE,
            "the daemon's zombies to be reaped",
            || match processes::zombies_of(self.pid) {
                none if none.is_empty() => Ok(()),
                some => Err(format!("{some:?}")),
            },
        );
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("----- the daemon's log -----\n{}", self.log());
            let _ = self.child.kill();
            let _ = self.child.wait();
            return;
        }
        if self.ended.is_some() {
            return;
        }
        self.assert_no_zombies();
        self.terminate();
        let status = self.wait();
        assert!(
            status.success(),
            "the daemon ended with {status}\n{}",
            self.log()
        );
    }
}
