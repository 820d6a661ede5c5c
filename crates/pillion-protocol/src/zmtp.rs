//! The client's half of ZMTP 3.0, the framing of ZeroMQ, as a pure decoder with limits.
//!
//! Kernels speak it. What runs in a kernel is code of others, which can write any bytes to these
//! sockets: a length is a claim until the bytes are there, a part that is too large is passed by
//! and said to be missing, and a message has only so many parts. The libraries for Rust believe
//! the length and reserve it, with which a kernel could end the whole daemon; hence this one.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The most bytes of one part of a message; larger ones are passed by.
pub const MAX_PART: usize = 64 * 1024 * 1024;
/// The most bytes of a whole message; parts that do not fit any more are passed by.
pub const MAX_MESSAGE: usize = 96 * 1024 * 1024;
/// The most parts of a message. Jupyter's have six, and one for each buffer.
pub const MAX_PARTS: usize = 1024;

const GREETING: usize = 64;
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;
/// Commands say who one is, and little else.
const MAX_COMMAND: u64 = 64 * 1024;

/// Why a stream cannot be cut into messages. After this it is useless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZmtpError {
    /// The other side does not speak ZMTP 3.
    #[error("no ZeroMQ peer: {0}")]
    Greeting(&'static str),
    /// A frame that cannot be.
    #[error("malformed frame: {0}")]
    Frame(&'static str),
}

/// The kind of socket that one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Socket {
    /// Asks and hears; the other side is a `ROUTER`.
    Dealer,
    /// Hears everything; the other side is a `PUB`.
    Sub,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagePart {
    /// As it came.
    Whole(Bytes),
    /// It had so many bytes and was passed by.
    PassedBy(u64),
}

impl MessagePart {
    /// Its bytes, if it has not been passed by.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::PassedBy(_) => None,
        }
    }
}

/// What one says first: the greeting, and who one is. Nothing more may be said before the other
/// side has done the same.
pub fn opening(socket: Socket, identity: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(160);
    out.put_slice(&[0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]);
    let mut mechanism = [0; 20];
    mechanism[..4].copy_from_slice(b"NULL");
    out.put_slice(&mechanism);
    out.put_bytes(0, 32);
    let mut ready = BytesMut::new();
    ready.put_slice(b"\x05READY");
    let name = match socket {
        Socket::Dealer => "DEALER",
        Socket::Sub => "SUB",
    };
    property(&mut ready, "Socket-Type", name.as_bytes());
    property(&mut ready, "Identity", identity);
    frame(COMMAND, &ready, &mut out);
    out.freeze()
}

/// What a subscriber says next: it wants to hear everything.
pub fn subscription() -> Bytes {
    // The empty prefix.
    message(&[Bytes::from_static(&[1])])
}

fn property(out: &mut BytesMut, name: &str, value: &[u8]) {
    // Names and values here are short.
    out.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.put_slice(name.as_bytes());
    out.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
    out.put_slice(value);
}

fn frame(flags: u8, body: &[u8], out: &mut BytesMut) {
    match u8::try_from(body.len()) {
        Ok(length) => {
            out.put_u8(flags);
            out.put_u8(length);
        }
        Err(_) => {
            out.put_u8(flags | LONG);
            out.put_u64(body.len() as u64);
        }
    }
    out.put_slice(body);
}

/// A message as bytes.
pub fn message(parts: &[Bytes]) -> Bytes {
    let length: usize = parts.iter().map(|part| part.len() + 9).sum();
    let mut out = BytesMut::with_capacity(length);
    for (index, part) in parts.iter().enumerate() {
        let more = if index + 1 < parts.len() { MORE } else { 0 };
        frame(more, part, &mut out);
    }
    out.freeze()
}

#[derive(Debug, Clone, Copy)]
enum State {
    Greeting,
    /// Between frames.
    Flags,
    /// In a frame with these flags and so many bytes to come.
    Body {
        flags: u8,
        left: u64,
    },
    /// In a frame that is passed by: its size, and how much of it is to come.
    Passing {
        more: bool,
        size: u64,
        left: u64,
    },
}

/// Cuts a stream into messages.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    parts: Vec<MessagePart>,
    bytes: usize,
    is_ready: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            state: State::Greeting,
            parts: Vec::new(),
            bytes: 0,
            is_ready: false,
        }
    }
}

impl Decoder {
    /// Whether the other side has said who it is.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Take the next message from the front of `buffer`, if it is there in full.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Vec<MessagePart>>, ZmtpError> {
        loop {
            match self.state {
                State::Greeting => {
                    if buffer.len() < GREETING {
                        return Ok(None);
                    }
                    greeted(&buffer.split_to(GREETING))?;
                    self.state = State::Flags;
                }
                State::Flags => {
                    if !self.header(buffer)? {
                        return Ok(None);
                    }
                }
                State::Passing { more, size, left } => {
                    let here = (buffer.len() as u64).min(left);
                    // It is at most as long as the buffer.
                    buffer.advance(usize::try_from(here).unwrap_or(buffer.len()));
                    if here < left {
                        let left = left - here;
                        self.state = State::Passing { more, size, left };
                        return Ok(None);
                    }
                    if let Some(whole) = self.end_part(MessagePart::PassedBy(size), more) {
                        return Ok(Some(whole));
                    }
                }
                State::Body { flags, left } => {
                    let length = usize::try_from(left).unwrap_or(usize::MAX);
                    if buffer.len() < length {
                        return Ok(None);
                    }
                    let body = buffer.split_to(length).freeze();
                    if flags & COMMAND != 0 {
                        self.command(&body)?;
                        self.state = State::Flags;
                    } else if let Some(whole) =
                        self.end_part(MessagePart::Whole(body), flags & MORE != 0)
                    {
                        return Ok(Some(whole));
                    }
                }
            }
        }
    }

    /// Read the head of a frame, if it is there.
    fn header(&mut self, buffer: &mut BytesMut) -> Result<bool, ZmtpError> {
        let Some(&flags) = buffer.first() else {
            return Ok(false);
        };
        if flags & !(MORE | LONG | COMMAND) != 0 {
            return Err(ZmtpError::Frame("unknown flags"));
        }
        let is_long = flags & LONG != 0;
        let head = if is_long { 9 } else { 2 };
        if buffer.len() < head {
            return Ok(false);
        }
        buffer.advance(1);
        let left = match is_long {
            true => buffer.get_u64(),
            false => buffer.get_u8().into(),
        };
        if flags & COMMAND != 0 && left > MAX_COMMAND {
            return Err(ZmtpError::Frame("a command is too long"));
        }
        if flags & COMMAND == 0 && !self.is_ready {
            return Err(ZmtpError::Frame("a message before READY"));
        }
        if self.parts.len() >= MAX_PARTS {
            return Err(ZmtpError::Frame("a message has too many parts"));
        }
        let room = MAX_PART.min(MAX_MESSAGE.saturating_sub(self.bytes)) as u64;
        let more = flags & MORE != 0;
        self.state = match left > room {
            true => State::Passing {
                more,
                size: left,
                left,
            },
            false => State::Body { flags, left },
        };
        Ok(true)
    }

    /// A part is complete; gives the message if that is, too.
    fn end_part(&mut self, part: MessagePart, more: bool) -> Option<Vec<MessagePart>> {
        self.bytes += part.bytes().map_or(0, Bytes::len);
        self.parts.push(part);
        self.state = State::Flags;
        if more {
            return None;
        }
        self.bytes = 0;
        Some(std::mem::take(&mut self.parts))
    }

    fn command(&mut self, body: &[u8]) -> Result<(), ZmtpError> {
        let name = body.split_first().and_then(|(length, rest)| {
            let length = usize::from(*length);
            rest.get(..length)
        });
        match name {
            Some(b"READY") => self.is_ready = true,
            Some(b"ERROR") => return Err(ZmtpError::Greeting("it refuses us")),
            // Others, such as pings of newer versions, are not for us.
            Some(_) => {}
            None => return Err(ZmtpError::Frame("a command without a name")),
        }
        Ok(())
    }
}

fn greeted(greeting: &[u8]) -> Result<(), ZmtpError> {
    let is_zmtp = greeting.first() == Some(&0xff) && greeting.get(9) == Some(&0x7f);
    if !is_zmtp {
        return Err(ZmtpError::Greeting("it says something else"));
    }
    if greeting.get(10).is_none_or(|major| *major < 3) {
        return Err(ZmtpError::Greeting("its version is too old"));
    }
    let mechanism = greeting.get(12..32).unwrap_or_default();
    match mechanism.starts_with(b"NULL\0") {
        true => Ok(()),
        false => Err(ZmtpError::Greeting("it wants credentials")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a peer says first.
    fn peer() -> Vec<u8> {
        opening(Socket::Dealer, b"").to_vec()
    }

    fn decode(decoder: &mut Decoder, bytes: &[u8]) -> Result<Vec<Vec<MessagePart>>, ZmtpError> {
        let mut buffer = BytesMut::from(bytes);
        let mut all = Vec::new();
        while let Some(message) = decoder.next(&mut buffer)? {
            all.push(message);
        }
        Ok(all)
    }

    #[test]
    fn the_opening_says_who_one_is_and_a_subscription_wants_everything() {
        let dealer = opening(Socket::Dealer, b"me");
        assert_eq!(dealer[..12], [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]);
        assert_eq!(
            dealer[64..],
            *b"\x04\x2b\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\x02me"
        );
        assert_eq!(subscription(), b"\0\x01\x01"[..]);
    }

    #[test]
    fn a_length_is_not_believed() {
        let mut decoder = Decoder::default();
        assert!(decode(&mut decoder, &peer()).unwrap().is_empty());
        let mut huge = vec![LONG | MORE];
        huge.extend(u64::MAX.to_be_bytes());
        let mut buffer = BytesMut::from(&huge[..]);
        assert_eq!(decoder.next(&mut buffer), Ok(None));
        assert!(buffer.capacity() < 1 << 20);
    }

    #[test]
    fn a_part_that_is_too_large_is_passed_by_and_the_rest_is_there() {
        let mut decoder = Decoder::default();
        decode(&mut decoder, &peer()).unwrap();
        let size = MAX_PART as u64 + 1;
        let mut head = vec![MORE, 1, b'a', LONG | MORE];
        head.extend(size.to_be_bytes());
        assert!(decode(&mut decoder, &head).unwrap().is_empty());
        let piece = vec![0; 1 << 20];
        for _ in 0..64 {
            assert!(decode(&mut decoder, &piece).unwrap().is_empty());
        }
        let got = decode(&mut decoder, b"\0\0\x01b\0\x01c").unwrap();
        let whole = |text: &'static [u8]| MessagePart::Whole(Bytes::from_static(text));
        assert_eq!(
            got,
            [
                vec![whole(b"a"), MessagePart::PassedBy(size), whole(b"b")],
                vec![whole(b"c")]
            ]
        );
    }

    #[test]
    fn what_is_no_peer_is_refused() {
        let cases: [(&[u8], &str); 3] = [
            (&[b'H'; 64], "it says something else"),
            (&[0xff; 64], "it says something else"),
            (
                &{
                    let mut old = [0; 64];
                    (old[0], old[9], old[10]) = (0xff, 0x7f, 1);
                    old
                },
                "its version is too old",
            ),
        ];
        for (bytes, why) in cases {
            let error = decode(&mut Decoder::default(), bytes).unwrap_err();
            assert_eq!(error, ZmtpError::Greeting(why));
        }
        let mut early = peer()[..64].to_vec();
        early.extend(b"\0\x01x");
        let error = decode(&mut Decoder::default(), &early).unwrap_err();
        assert_eq!(error, ZmtpError::Frame("a message before READY"));
    }

    #[test]
    fn parts_without_end_are_no_message() {
        let mut decoder = Decoder::default();
        decode(&mut decoder, &peer()).unwrap();
        let endless = [MORE, 0].repeat(MAX_PARTS + 1);
        let error = decode(&mut decoder, &endless).unwrap_err();
        assert_eq!(error, ZmtpError::Frame("a message has too many parts"));
    }

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in_however_they_are_cut(
            messages in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 1..5), 0..6),
            cut in 1usize..700,
        ) {
            let mut stream = peer();
            for parts in &messages {
                let parts: Vec<Bytes> = parts.iter().cloned().map(Bytes::from).collect();
                stream.extend_from_slice(&message(&parts));
            }
            let (mut decoder, mut buffer, mut got) = (Decoder::default(), BytesMut::new(), Vec::new());
            for piece in stream.chunks(cut) {
                buffer.extend_from_slice(piece);
                while let Some(parts) = decoder.next(&mut buffer).unwrap() {
                    let parts = parts.iter().map(|part| part.bytes().unwrap().to_vec());
                    got.push(parts.collect::<Vec<_>>());
                }
            }
            prop_assert_eq!(got, messages);
        }

        #[test]
        fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mut stream = peer();
            stream.extend_from_slice(&bytes);
            let _ = decode(&mut Decoder::default(), &stream);
        }
    }
}
