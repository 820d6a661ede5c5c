//! Where it was measured.

use std::fs;

use pillion_runtime::Interpreter;
use serde::Serialize;

/// The machine, without which no number means anything.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    python: String,
    pillion: &'static str,
    /// Over the last minute, before the bench: what else there was to do.
    load: String,
}

impl Machine {
    /// This one.
    pub(super) fn new(interpreter: &Interpreter) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo")
            .lines()
            .find_map(|line| {
                Some(
                    line.strip_prefix("model name")?
                        .split_once(':')?
                        .1
                        .trim()
                        .to_owned(),
                )
            })
            .unwrap_or_else(|| std::env::consts::ARCH.into());
        Self {
            cpu,
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            python: interpreter.version.to_string(),
            pillion: pillion_engine::VERSION,
            load: read("/proc/loadavg")
                .split_whitespace()
                .next()
                .unwrap_or("?")
                .to_owned(),
        }
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        format!(
            "{}, {} cores, Linux {}, Python {}, pillion {}{}; load {} before",
            self.cpu,
            self.cores,
            self.kernel,
            self.python,
            self.pillion,
            if cfg!(debug_assertions) {
                " (debug build)"
            } else {
                ""
            },
            self.load,
        )
    }
}
