//! How the output of a sidecar is cut into frames.

use std::io;

use bytes::{Bytes, BytesMut};
use pillion_protocol::frame::{ContentLength, FrameError, Lines};
use tokio_util::codec::Decoder;

use crate::Dialect;

/// The framing of a sidecar's output.
#[derive(Debug)]
pub(crate) enum Frames {
    Lines(Lines),
    ContentLength(ContentLength),
}

impl Frames {
    /// The framing of `dialect`, refusing frames over `limit` bytes.
    pub(crate) fn of(dialect: Dialect, limit: usize) -> Self {
        match dialect {
            Dialect::Worker | Dialect::Line | Dialect::Held => Self::Lines(Lines::new(limit)),
            Dialect::Lsp => Self::ContentLength(ContentLength::new(limit)),
        }
    }
}

impl Decoder for Frames {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        match self {
            Self::Lines(lines) => lines.decode(buffer),
            Self::ContentLength(bodies) => bodies.decode(buffer),
        }
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        match self {
            Self::Lines(lines) => lines.decode_eof(buffer),
            Self::ContentLength(bodies) => {
                let body = bodies.decode(buffer)?;
                if body.is_none() {
                    // Cut off in the middle: why it ended tells more than that.
                    buffer.clear();
                }
                Ok(body)
            }
        }
    }
}

/// Whether a stream ended because a frame was larger than it may be.
pub(crate) fn is_too_large(error: &io::Error) -> bool {
    let frame_error = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<FrameError>());
    match frame_error {
        Some(FrameError::LineTooLong(_)) => true,
        Some(FrameError::BadLength(length, limit)) => length
            .parse::<u128>()
            .is_ok_and(|length| length > *limit as u128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &[u8]) -> io::Result<Option<Bytes>> {
        Frames::of(Dialect::Lsp, 100).decode(&mut BytesMut::from(bytes))
    }

    #[test]
    fn only_a_length_over_the_limit_is_too_large() {
        let large = first(b"Content-Length: 101\r\n\r\n").unwrap_err();
        assert!(is_too_large(&large));
        for garbage in ["Content-Length: -1\r\n\r\n", "Traceback\r\n\r\n"] {
            assert!(!is_too_large(&first(garbage.as_bytes()).unwrap_err()));
        }
    }

    #[test]
    fn a_frame_that_is_cut_off_by_the_end_is_no_mistake() {
        let mut frames = Frames::of(Dialect::Lsp, 100);
        let mut buffer =
            BytesMut::from(&b"Content-Length: 2\r\n\r\n{}Content-Length: 9\r\n\r\n{"[..]);
        assert_eq!(frames.decode_eof(&mut buffer).unwrap().unwrap(), "{}");
        assert_eq!(frames.decode_eof(&mut buffer).unwrap(), None);
    }
}
