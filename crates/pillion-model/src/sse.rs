//! Server-sent events out of bytes that were cut anywhere.
//!
//! Pure and bounded: an event's data is given out when its empty line came. Lines end with LF,
//! CRLF or CR; a cut may be between the two of a CRLF or inside a character. Names, ids and
//! comments are passed over: both providers repeat the name inside of the data. What the stream
//! ends with before its empty line is only given out when that is asked for.

/// The largest data of one event.
pub const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// An event is larger than [`MAX_EVENT_BYTES`], or is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// Larger than the decoder keeps.
    #[error("an event is larger than {MAX_EVENT_BYTES} bytes")]
    TooLarge,
    /// Not text.
    #[error("an event is not UTF-8")]
    NotUtf8,
}

/// Takes bytes, gives the data of events.
#[derive(Debug, Default)]
pub struct EventDecoder {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet.
    data: Vec<u8>,
    /// Whether the event has a data line: one with empty data is an event too.
    has_data: bool,
    /// Whether the last byte was CR: an LF that follows belongs to it.
    after_return: bool,
    /// Whether a line ended before, so that a byte order mark is none.
    begun: bool,
}

impl EventDecoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take these bytes, and give the data of every event that ends in them to `event`.
    pub fn push<E: From<SseError>>(
        &mut self,
        bytes: &[u8],
        mut event: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&rest[..end])?;
            let returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if returned {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            self.end_line(&mut event)?;
        }
        self.extend_line(rest)?;
        Ok(())
    }

    /// The data of an event whose empty line never came: some servers leave it out at the end of
    /// their stream. What is cut off there looks the same, so it may be half an event.
    pub fn rest(mut self) -> Result<Option<String>, SseError> {
        let mut rest = None;
        for _ in 0..2 {
            self.end_line(&mut |data| {
                rest = Some(data.to_owned());
                Ok::<_, SseError>(())
            })?;
        }
        Ok(rest)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + self.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(SseError::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line<E: From<SseError>>(
        &mut self,
        event: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line = self.line.as_slice();
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.line.clear();
            if !std::mem::take(&mut self.has_data) {
                return Ok(());
            }
            let data = std::mem::take(&mut self.data);
            let text = std::str::from_utf8(&data).map_err(|_| SseError::NotUtf8)?;
            return event(text);
        }
        let value = match line.strip_prefix(b"data") {
            Some(b"") => Some(&b""[..]),
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => Some(value),
            _ => None,
        };
        if let Some(value) = value {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value);
        }
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, SseError> {
        let mut decoder = EventDecoder::new();
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece, |data| {
                events.push(data.to_owned());
                Ok::<_, SseError>(())
            })?;
        }
        Ok(events)
    }

    #[test]
    fn fields_are_read_as_the_standard_says() {
        let stream = "\u{feff}data: a\n\n: comment\nevent: x\ndata:b\r\ndata:  c\r\rid: 1\n\n\
                      data\n\ndatabase: no\n\ndata: never ended";
        assert_eq!(decode([stream.as_bytes()]).unwrap(), ["a", "b\n c", ""]);
    }

    #[test]
    fn an_event_at_the_end_may_be_asked_for() {
        for (stream, expected) in [
            ("data: a\n\ndata: b", Some("b")),
            ("data: a\n\ndata: b\n", Some("b")),
            ("data: a\n\ndata: b\r", Some("b")),
            ("data: b\ndata: c", Some("b\nc")),
            ("data: a\n\n", None),
            ("data: a\n\n: bye", None),
            ("", None),
        ] {
            let mut decoder = EventDecoder::new();
            let pushed = decoder.push(stream.as_bytes(), |_| Ok::<_, SseError>(()));
            pushed.unwrap();
            assert_eq!(decoder.rest().unwrap().as_deref(), expected, "{stream:?}");
        }
        let mut decoder = EventDecoder::new();
        let pushed = decoder.push(b"data: \xc3", |_| Ok::<_, SseError>(()));
        pushed.unwrap();
        assert_eq!(decoder.rest(), Err(SseError::NotUtf8));
    }

    #[test]
    fn an_endless_event_is_refused() {
        let line = vec![b'x'; 1024 * 1024];
        let endless = std::iter::repeat_n(line.as_slice(), 5);
        assert_eq!(decode(endless), Err(SseError::TooLarge));
        let mut lines = b"data: ".to_vec();
        lines.extend(&line);
        lines.push(b'\n');
        let many = std::iter::repeat_n(lines.as_slice(), 5);
        assert_eq!(decode(many), Err(SseError::TooLarge));
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert_eq!(decode([&b"data: \xff\n\n"[..]]), Err(SseError::NotUtf8));
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            events in prop::collection::vec("[^\r\n]{0,12}", 0..6),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 12),
            cuts in prop::collection::vec(0..200_usize, 0..20),
        ) {
            let mut stream = String::new();
            for (at, event) in events.iter().enumerate() {
                let (one, two) = (ends[2 * at], ends[2 * at + 1]);
                // CR and LF in a row would be one end, not two.
                let two = if one == "\r" && two == "\n" { "\r" } else { two };
                stream.push_str(&format!("data: {event}{one}{two}"));
            }
            let bytes = stream.as_bytes();
            let mut at: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces = at.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
            prop_assert_eq!(decode(pieces).unwrap(), events);
        }

        #[test]
        fn any_bytes_in_any_cut_give_the_same(
            bytes in prop::collection::vec(prop::sample::select(b"data: \r\n\xc3\xa4x".to_vec()), 0..80),
            size in 1..7_usize,
        ) {
            prop_assert_eq!(decode(bytes.chunks(size)), decode([bytes.as_slice()]));
        }
    }
}
