//! Any split of the bytes gives the same frames, and no frame is over its limit.

use bytes::{Bytes, BytesMut};
use pillion_protocol::frame::{ContentLength, FrameError, Lines};

/// Sizes of the pieces that a stream arrives in.
const PIECES: &[usize] = &[1, 2, 3, 7, 64, 4096];

/// Limits: one that most inputs exceed, and one that most do not.
const LIMITS: &[usize] = &[8, 10_000];

/// The frames of a whole stream, and the error that ended it.
type Decoded = (Vec<Bytes>, Option<FrameError>);

/// `Content-Length` frames.
pub fn content_length(data: &[u8]) {
    for limit in LIMITS {
        same_in_any_pieces(data, *limit, || ContentLength::new(*limit), |_, _| Ok(None));
    }
}

/// Lines, the last of which may lack its end.
pub fn lines(data: &[u8]) {
    for limit in LIMITS {
        same_in_any_pieces(data, *limit, || Lines::new(*limit), Lines::last);
    }
}

trait Framing {
    fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError>;
}

impl Framing for ContentLength {
    fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        Self::next(self, buffer)
    }
}

impl Framing for Lines {
    fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        Self::next(self, buffer)
    }
}

/// What a framing does at the end of input.
type Last<F> = fn(&mut F, &mut BytesMut) -> Result<Option<Bytes>, FrameError>;

fn same_in_any_pieces<F: Framing>(data: &[u8], limit: usize, new: impl Fn() -> F, last: Last<F>) {
    let whole = decode(&mut new(), data, data.len().max(1), last);
    for frame in &whole.0 {
        assert!(!frame.is_empty() && frame.len() <= limit, "{}", frame.len());
    }
    for size in PIECES {
        assert_eq!(
            decode(&mut new(), data, *size, last),
            whole,
            "pieces of {size}"
        );
    }
}

fn decode<F: Framing>(framing: &mut F, data: &[u8], size: usize, last: Last<F>) -> Decoded {
    let mut buffer = BytesMut::new();
    let mut frames = Vec::new();
    for piece in data.chunks(size) {
        buffer.extend_from_slice(piece);
        loop {
            match framing.next(&mut buffer) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    let ended = loop {
        match last(framing, &mut buffer) {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    (frames, ended)
}
