//! Requests that are being read or worked on, in bytes: of all connections together.
//!
//! A request can be 100 MiB long, and a connection may have many. Whoever would pass the
//! limit is refused with `busy`; small requests are not counted, and always get in.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use pillion_catalogue::{Code, Error};
use tokio_util::codec::Decoder;

/// Bytes of large requests, of all connections.
const ALL: usize = 256 << 20;
/// A request is large from here on.
const LARGE: usize = 64 * 1024;

static CLAIMED: AtomicUsize = AtomicUsize::new(0);

/// What one request takes of it. Dropping it gives that back.
#[derive(Debug, Default)]
pub(crate) struct Claim(usize);

impl Claim {
    /// Claim so many bytes in all; says whether there is room for them.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> bool {
        if bytes <= LARGE || bytes <= self.0 {
            return true;
        }
        let more = bytes - self.0;
        let claimed = CLAIMED.fetch_add(more, Ordering::Relaxed);
        self.0 = bytes;
        claimed + more <= ALL
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// What is said to who does not get in.
pub(crate) fn too_much() -> Error {
    Error::new(
        Code::Busy,
        "too many large requests are being read and worked on",
    )
    .hint("wait for answers before sending more; large data is better put into a file")
}

/// A framing whose frames are claimed while they arrive.
#[derive(Debug)]
pub(crate) struct Claimed<D> {
    inner: D,
    claim: Claim,
}

impl<D> Claimed<D> {
    pub(crate) fn new(inner: D) -> Self {
        Self {
            inner,
            claim: Claim::default(),
        }
    }

    fn claimed(&mut self, frame: Option<Bytes>, rest: usize) -> io::Result<Option<(Bytes, Claim)>> {
        let bytes = frame.as_ref().map_or(rest, Bytes::len);
        if !self.claim.grow_to(bytes) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(frame.map(|frame| (frame, std::mem::take(&mut self.claim))))
    }
}

impl<D: Decoder<Item = Bytes, Error = io::Error>> Decoder for Claimed<D> {
    type Item = (Bytes, Claim);
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<(Bytes, Claim)>> {
        let frame = self.inner.decode(buffer)?;
        self.claimed(frame, buffer.len())
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<(Bytes, Claim)>> {
        let frame = self.inner.decode_eof(buffer)?;
        self.claimed(frame, buffer.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_requests_are_counted_and_given_back() {
        let mut first = Claim::default();
        assert!(first.grow_to(10) && first.0 == 0, "small ones are not");
        assert!(first.grow_to(ALL - 1));
        let mut second = Claim::default();
        assert!(second.grow_to(LARGE) && !second.grow_to(LARGE + 1));
        drop(second);
        drop(first);
        assert!(Claim::default().grow_to(ALL));
        assert_eq!(CLAIMED.load(Ordering::Relaxed), 0);
    }
}
