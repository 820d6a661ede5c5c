//! Bytes that nobody can guess.

use std::fs::File;
use std::io::{self, Read};

/// Fill a buffer with what the system has for this.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}
