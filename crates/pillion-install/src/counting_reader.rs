//! A reader that tells how much went through it.

use std::io::{self, Read};

use pillion_runtime::managed::ProgressListener;

/// So many bytes pass between two pieces of news.
const STEP: u64 = 1 << 20;

/// A reader that tells how much went through it.
pub(crate) struct Counting<'a, R> {
    inner: R,
    progress: &'a dyn ProgressListener,
    done: u64,
    told: u64,
    total: Option<u64>,
}

impl<'a, R> Counting<'a, R> {
    /// Tell of what is read from `inner`.
    pub(crate) fn new(inner: R, total: Option<u64>, progress: &'a dyn ProgressListener) -> Self {
        Self {
            inner,
            progress,
            done: 0,
            told: 0,
            total,
        }
    }
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done += count as u64;
        if self.done - self.told >= STEP {
            self.told = self.done;
            self.progress.bytes(self.done, self.total);
        }
        Ok(count)
    }
}

impl<R> std::fmt::Debug for Counting<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Counting({} of {:?})", self.done, self.total)
    }
}
