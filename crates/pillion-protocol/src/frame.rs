//! The two framings, as pure decoders with limits.
//!
//! A decoder is given a buffer that grows at its end, and takes whole frames from its
//! front. It never reads further than it must, so the same bytes give the same frames
//! however they were cut, and it remembers how far it has looked, so that a large frame
//! arriving in small pieces is not scanned again and again.

use bytes::{Buf, Bytes, BytesMut};

/// Most bytes of headers before a body.
pub const MAX_HEADER: usize = 8 * 1024;
/// Most bytes of a `Content-Length` body.
pub const MAX_BODY: usize = 100 * 1024 * 1024;
/// Most bytes of a line.
pub const MAX_LINE: usize = 64 * 1024 * 1024;

/// A buffer keeps this much after a frame; what a larger frame needed is given back.
const KEPT: usize = 256 * 1024;
/// Room for the header in front of a body whose length is not known yet.
pub const HEADER_ROOM: usize = 40;

/// Why a stream of bytes cannot be cut into frames. After this the stream is useless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The headers go on for too long.
    #[error("headers are longer than {MAX_HEADER} bytes")]
    HeaderTooLong,
    /// A header that is none.
    #[error("malformed header `{0}`")]
    MalformedHeader(String),
    /// Headers without the one that matters.
    #[error("no Content-Length header")]
    NoLength,
    /// The length is no number of bytes a frame may have.
    #[error("Content-Length `{0}` is not a number of bytes from 1 to {1}")]
    BadLength(String, usize),
    /// A line without end.
    #[error("a line is longer than {0} bytes")]
    LineTooLong(usize),
}

/// `Content-Length: N`, a blank line, N bytes.
#[derive(Debug, Clone)]
pub struct ContentLength {
    max_body: usize,
    /// Where the search for the end of the headers goes on.
    scanned: usize,
    /// The length of the body that is being waited for.
    body: Option<usize>,
}

impl Default for ContentLength {
    fn default() -> Self {
        Self::new(MAX_BODY)
    }
}

impl ContentLength {
    /// A decoder that refuses bodies over `max_body` bytes.
    pub fn new(max_body: usize) -> Self {
        Self {
            max_body,
            scanned: 0,
            body: None,
        }
    }

    /// Take the next body from the front of `buffer`, if it is there in full.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        if self.body.is_none() {
            self.body = self.headers(buffer)?;
        }
        let Some(length) = self.body else {
            return Ok(None);
        };
        if buffer.len() < length {
            // Room for the rest at once, but never more than was really announced.
            buffer.reserve(length - buffer.len());
            return Ok(None);
        }
        self.body = None;
        Ok(Some(cut(buffer, length).freeze()))
    }

    /// Take the headers, and give the length they announce.
    fn headers(&mut self, buffer: &mut BytesMut) -> Result<Option<usize>, FrameError> {
        let Some(end) = self.end_of_headers(buffer) else {
            return if buffer.len() > MAX_HEADER {
                Err(FrameError::HeaderTooLong)
            } else {
                Ok(None)
            };
        };
        if end > MAX_HEADER {
            return Err(FrameError::HeaderTooLong);
        }
        self.scanned = 0;
        let headers = buffer.split_to(end);
        let mut length = None;
        for line in headers[..].split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            if let Some(value) = content_length(line)? {
                length = Some(self.checked(value)?);
            }
        }
        length.map(Some).ok_or(FrameError::NoLength)
    }

    /// The index just after the blank line, searching on from where we were.
    fn end_of_headers(&mut self, buffer: &[u8]) -> Option<usize> {
        while let Some(found) = memchr::memchr(b'\n', &buffer[self.scanned..]) {
            let newline = self.scanned + found;
            let blank = match buffer.get(newline + 1)? {
                b'\n' => Some(newline + 2),
                b'\r' if *buffer.get(newline + 2)? == b'\n' => Some(newline + 3),
                _ => None,
            };
            if blank.is_some() {
                return blank;
            }
            self.scanned = newline + 1;
        }
        self.scanned = buffer.len();
        None
    }

    fn checked(&self, value: &str) -> Result<usize, FrameError> {
        match value.parse::<usize>() {
            Ok(length) if length > 0 && length <= self.max_body => Ok(length),
            _ => Err(FrameError::BadLength(shorten(value), self.max_body)),
        }
    }
}

/// The value of a `Content-Length` header; other headers are passed by.
fn content_length(line: &[u8]) -> Result<Option<&str>, FrameError> {
    let text = std::str::from_utf8(line)
        .map_err(|_| FrameError::MalformedHeader(shorten(&String::from_utf8_lossy(line))))?;
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| FrameError::MalformedHeader(shorten(text)))?;
    Ok(name
        .trim()
        .eq_ignore_ascii_case("content-length")
        .then(|| value.trim()))
}

/// Take a frame from the front. After a large one the buffer begins anew: it would keep the
/// room for as long as the stream lives.
fn cut(buffer: &mut BytesMut, length: usize) -> BytesMut {
    let frame = buffer.split_to(length);
    if length > KEPT {
        *buffer = BytesMut::from(&buffer[..]);
    }
    frame
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Write one `Content-Length` frame.
pub fn write_content_length(body: &[u8], out: &mut BytesMut) {
    use std::fmt::Write;
    out.reserve(body.len() + 32);
    // Writing into a BytesMut cannot fail: it grows.
    let _ = write!(out, "Content-Length: {}\r\n\r\n", body.len());
    out.extend_from_slice(body);
}

/// Write the header into the [`HEADER_ROOM`] in front of a body: a frame in one piece.
pub fn with_header(mut frame: Vec<u8>) -> Bytes {
    let header = format!(
        "Content-Length: {}\r\n\r\n",
        frame.len().saturating_sub(HEADER_ROOM)
    );
    // The longest header there can be is shorter than the room.
    let start = HEADER_ROOM - header.len();
    frame[start..HEADER_ROOM].copy_from_slice(header.as_bytes());
    let mut frame = Bytes::from(frame);
    frame.advance(start);
    frame
}

/// One frame per line.
#[derive(Debug, Clone)]
pub struct Lines {
    max: usize,
    scanned: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(MAX_LINE)
    }
}

impl Lines {
    /// A decoder that refuses lines over `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { max, scanned: 0 }
    }

    /// Take the next line from the front of `buffer`, without its end. Blank lines are
    /// passed by.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        while let Some(found) = memchr::memchr(b'\n', &buffer[self.scanned..]) {
            let end = self.scanned + found;
            if end > self.max {
                return Err(FrameError::LineTooLong(self.max));
            }
            self.scanned = 0;
            let line = cut(buffer, end);
            buffer.advance(1);
            if let Some(line) = without_blanks(&line.freeze()) {
                return Ok(Some(line));
            }
        }
        self.scanned = buffer.len();
        if buffer.len() > self.max {
            return Err(FrameError::LineTooLong(self.max));
        }
        Ok(None)
    }

    /// The last line, at the end of input: it counts although its newline is missing.
    pub fn last(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        if let Some(line) = self.next(buffer)? {
            return Ok(Some(line));
        }
        self.scanned = 0;
        Ok(without_blanks(&buffer.split().freeze()))
    }
}

fn without_blanks(line: &Bytes) -> Option<Bytes> {
    let trimmed = line.trim_ascii();
    (!trimmed.is_empty()).then(|| line.slice_ref(trimmed))
}

/// Write one line. Newlines inside can only be white space between JSON tokens, so they
/// become spaces.
pub fn write_line(json: &[u8], out: &mut BytesMut) {
    out.reserve(json.len() + 1);
    let start = out.len();
    out.extend_from_slice(json);
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    out.extend_from_slice(b"\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(bytes: &[u8]) -> Result<Vec<Bytes>, FrameError> {
        let mut decoder = ContentLength::default();
        let mut buffer = BytesMut::from(bytes);
        let mut found = Vec::new();
        while let Some(body) = decoder.next(&mut buffer)? {
            found.push(body);
        }
        Ok(found)
    }

    #[test]
    fn headers_are_read_as_the_contract_says() {
        for header in [
            "Content-Length: 2\r\n\r\n",
            "content-length:2\n\n",
            "X-Other: a:b\r\nCONTENT-LENGTH : 2\r\nContent-Type: x\r\n\r\n",
        ] {
            let found = bodies(format!("{header}{{}}").as_bytes()).unwrap();
            assert_eq!(found, [Bytes::from_static(b"{}")], "{header:?}");
        }
    }

    #[test]
    fn bad_headers_are_refused() {
        for length in ["0", "-1", "1e3", "", "104857601", "99999999999999999999999"] {
            let error = bodies(format!("Content-Length: {length}\r\n\r\n").as_bytes()).unwrap_err();
            assert!(
                matches!(error, FrameError::BadLength(..)),
                "{length}: {error}"
            );
        }
        assert!(matches!(
            bodies(b"nonsense\r\n\r\n"),
            Err(FrameError::MalformedHeader(_))
        ));
        assert_eq!(bodies(b"A: b\r\n\r\n"), Err(FrameError::NoLength));
        let giant = format!("A: {}", "b".repeat(MAX_HEADER));
        assert_eq!(bodies(giant.as_bytes()), Err(FrameError::HeaderTooLong));
        assert_eq!(
            bodies(format!("{giant}\r\n\r\n").as_bytes()),
            Err(FrameError::HeaderTooLong)
        );
    }

    #[test]
    fn lines_are_cut_trimmed_and_limited() {
        let mut decoder = Lines::new(8);
        let mut buffer = BytesMut::from(&b"\n  \r\n{\"a\"}\r\nrest"[..]);
        assert_eq!(decoder.next(&mut buffer).unwrap().unwrap(), "{\"a\"}");
        assert_eq!(decoder.next(&mut buffer).unwrap(), None);
        assert_eq!(decoder.last(&mut buffer).unwrap().unwrap(), "rest");
        let mut long = BytesMut::from(&b"123456789"[..]);
        assert_eq!(
            Lines::new(8).next(&mut long),
            Err(FrameError::LineTooLong(8))
        );
    }

    #[test]
    fn a_written_line_is_one_line() {
        let mut out = BytesMut::new();
        write_line(b"{\n \"a\":\r\n1}", &mut out);
        assert_eq!(out, "{  \"a\":  1}\n");
    }
}
