//! How long things may take.

use std::time::Duration;

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The wait after the first try in vain; it doubles with each further one.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// A connection is there within this time.
    pub connect: Duration,
    /// A request is answered within this time.
    pub request: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(5 * 60),
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
        }
    }
}
