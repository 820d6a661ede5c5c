//! Waiting for something to happen, on a machine that may have much else to do.
//!
//! A limit is for what pillion takes, not for what others take from it: time counts only while
//! there is a processor for everybody who wants one.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::DEADLINE;

/// When a wait ends, however busy the machine is: before what hangs for a minute ends by itself.
const LONGEST: Duration = Duration::from_secs(55);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// A wait that has begun.
pub struct Wait {
    limit: Duration,
    began: Instant,
    looked: Instant,
    counted: Duration,
}

impl Wait {
    /// A wait that begins now.
    pub fn new(limit: Duration) -> Self {
        let now = Instant::now();
        Self {
            limit,
            began: now,
            looked: now,
            counted: Duration::ZERO,
        }
    }

    /// Whether it took too long. Asked again and again, each time for what passed since.
    pub fn is_over(&mut self) -> bool {
        let passed = self.looked.elapsed();
        self.looked += passed;
        if !is_busy() {
            self.counted += passed;
        }
        self.counted > self.limit || self.began.elapsed() > self.limit.max(LONGEST)
    }
}

/// Whether more want a processor now than there are: `0.2 0.3 0.4 RUNNING/ALL LAST`.
fn is_busy() -> bool {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load
        .split(' ')
        .nth(3)
        .and_then(|counts| counts.split('/').next());
    let running = running.and_then(|count| count.parse::<usize>().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    running.is_some_and(|running| running > processors)
}

/// Wait until `ready` gives something. What it says while it does not is the failure's.
pub fn wait_for<T, W: std::fmt::Display>(
    limit: Duration,
    what: &str,
    mut ready: impl FnMut() -> Result<T, W>,
) -> T {
    let mut wait = Wait::new(limit);
    loop {
        match ready() {
            Ok(value) => return value,
            Err(why) if wait.is_over() => {
                panic!("waited {limit:?} for {what}, in vain: {why}")
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Wait until something holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(DEADLINE, what, || if holds() { Ok(()) } else { Err("no") });
}

/// Wait for a file to hold something.
pub fn wait_for_file(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    wait_for(
        DEADLINE,
        &format!("`{}`", path.display()),
        || match fs::read_to_string(path) {
            Ok(text) if !text.is_empty() => Ok(text),
            Ok(_) => Err("it is empty".to_owned()),
            Err(error) => Err(error.to_string()),
        },
    )
}
