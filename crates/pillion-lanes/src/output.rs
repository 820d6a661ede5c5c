//! What a program writes: kept head and tail, passed on as it comes, and counted.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// Bytes of a stream that are kept from its beginning, and as many from its end.
const KEPT: usize = 256 << 10;
/// Bytes that are read at once.
const CHUNK: usize = 32 << 10;

/// One of a program's streams.
#[derive(Debug)]
pub(crate) struct ProgramStream {
    reader: pipe::Receiver,
    printed: Printed,
}

/// What came from it: as text in pieces, and as a whole.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    kept: Kept,
    /// The beginning of a character whose end is not here yet.
    half: Vec<u8>,
}

impl ProgramStream {
    /// Read from this end of a pipe.
    pub(crate) fn new(reader: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            reader: pipe::Receiver::from_owned_fd(reader)?,
            printed: Printed::default(),
        })
    }

    /// The next piece of text; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let mut bytes = vec![0; CHUNK];
        let read = self.reader.read(&mut bytes).await.unwrap_or(0);
        self.printed.piece(bytes.get(..read).unwrap_or_default())
    }

    /// How much there was.
    pub(crate) fn total(&self) -> u64 {
        self.printed.kept.total
    }

    /// All of it, or its head and tail; and whether something is left out.
    pub(crate) fn finish(self) -> (String, bool) {
        self.printed.finish()
    }
}

impl Printed {
    /// The text of the bytes that came; no bytes are the end. `None` if there is no more.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> Option<String> {
        self.kept.add(bytes);
        if bytes.is_empty() {
            let rest = std::mem::take(&mut self.half);
            return (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned());
        }
        let mut all = std::mem::take(&mut self.half);
        all.extend_from_slice(bytes);
        let whole = all.len() - unfinished(&all);
        self.half = all.split_off(whole);
        Some(String::from_utf8_lossy(&all).into_owned())
    }

    /// All of it, or its head and tail; and whether something is left out.
    pub(crate) fn finish(self) -> (String, bool) {
        self.kept.finish()
    }
}

/// Bytes at the end that may be the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let tail = bytes.get(tail..).unwrap_or_default();
    for (back, byte) in tail.iter().rev().enumerate() {
        let needs = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if needs > back + 1 { back + 1 } else { 0 };
    }
    0
}

/// The beginning and the end of what may be very long.
#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = KEPT.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..over);
    }

    fn finish(mut self) -> (String, bool) {
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        let tail = self.tail.make_contiguous();
        if left_out == 0 {
            self.head.extend_from_slice(tail);
            return (String::from_utf8_lossy(&self.head).into_owned(), false);
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(tail);
        let text = format!("{head}\n... {left_out} bytes left out ...\n{tail}");
        (text, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept() {
        let mut kept = Kept::default();
        kept.add(b"begin");
        for _ in 0..100 {
            kept.add(&[b'x'; 10_000]);
        }
        kept.add(b"end");
        let (text, cut) = kept.finish();
        assert!(cut && text.starts_with("beginx") && text.ends_with("xend"));
        let left_out = 1_000_008 - 2 * KEPT;
        assert!(text.contains(&format!("\n... {left_out} bytes left out ...\n")));
    }

    #[test]
    fn short_output_is_whole() {
        let mut kept = Kept::default();
        kept.add(&vec![b'a'; KEPT + 10]);
        let (text, cut) = kept.finish();
        assert_eq!((text.len(), cut), (KEPT + 10, false));
    }

    #[test]
    fn characters_are_not_torn() {
        for text in ["ä", "€", "𝄞"] {
            for cut in 1..text.len() {
                let bytes = &text.as_bytes()[..cut];
                assert_eq!(unfinished(bytes), cut, "{text} {cut}");
            }
            assert_eq!(unfinished(text.as_bytes()), 0);
        }
        assert_eq!(unfinished(&[0xff]), 0);
        assert_eq!(unfinished(&[0x80, 0x80, 0x80]), 0);
    }
}
