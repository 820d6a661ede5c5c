//! A program that plays the daemon, to see how it is started.
#![expect(clippy::unwrap_used, reason = "test support")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use pillion_client::{Endpoint, Options};
use pillion_process::stat::Identity;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct FakeDaemon {
    temp: TempDir,
}

impl FakeDaemon {
    pub(crate) fn new(behaviour: &Value) -> Self {
        let fake = Self {
            temp: tempfile::tempdir().unwrap(),
        };
        fake.behave(behaviour);
        let program = fake.program();
        std::fs::write(&program, include_str!("fake_daemon.py")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        fake
    }

    pub(crate) fn behave(&self, behaviour: &Value) {
        std::fs::write(self.temp.path().join("behaviour"), behaviour.to_string()).unwrap();
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.temp.path().join("pillion")
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint {
            socket: self.temp.path().join("run/daemon.sock"),
        }
    }

    pub(crate) fn options(&self) -> Options {
        // Python's own start must not decide a test on a busy machine.
        Options::at(self.endpoint())
            .program(self.program())
            .start_timeout(crate::server::LONG)
    }

    /// What each start of the program noted down.
    pub(crate) fn spawns(&self) -> Vec<Value> {
        let notes = std::fs::read_to_string(self.temp.path().join("spawns")).unwrap_or_default();
        notes
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The processes that were started and still run.
    pub(crate) fn running(&self) -> Vec<u32> {
        let pids = self
            .spawns()
            .into_iter()
            .map(|s| u32::try_from(s["pid"].as_u64().unwrap()).unwrap());
        pids.filter(|pid| Identity::of(*pid).is_some_and(|i| i.is_alive()))
            .collect()
    }
}

impl Drop for FakeDaemon {
    fn drop(&mut self) {
        for pid in self.running() {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
