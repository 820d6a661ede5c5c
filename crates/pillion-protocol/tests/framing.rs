//! Properties of the framings: any split of the bytes gives the same frames, nothing
//! panics, and the limits hold.

use bytes::{Bytes, BytesMut};
use pillion_protocol::frame::{ContentLength, FrameError, Lines, write_content_length, write_line};
use pillion_protocol::{jsonrpc, line};
use proptest::prelude::*;

/// One decoder seen from outside: bytes in, frames or an error out.
trait Framing {
    fn step(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError>;
}

impl Framing for ContentLength {
    fn step(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        self.next(buffer)
    }
}

impl Framing for Lines {
    fn step(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        self.next(buffer)
    }
}

/// All frames of a stream that arrives in the given pieces, up to the first error.
fn decode<'a>(
    mut framing: impl Framing,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Bytes>, Option<FrameError>) {
    let mut buffer = BytesMut::new();
    let mut frames = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match framing.step(&mut buffer) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

/// `bytes` cut at arbitrary places.
fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn stream_bytes() -> impl Strategy<Value = Vec<u8>> {
    let headerish = prop::collection::vec(
        prop_oneof![
            Just(&b"Content-Length: 5\r\n\r\n"[..]),
            Just(&b"content-length:0\n\n"[..]),
            Just(&b"X: y\r\n"[..]),
            Just(&b"\r\n"[..]),
            Just(&b"\n\n"[..]),
            Just(&b"{\"a\":1}"[..]),
            Just(&b"Content-Length: -5\r\n\r\n"[..]),
        ],
        0..12,
    )
    .prop_map(|parts| parts.concat());
    prop_oneof![prop::collection::vec(any::<u8>(), 0..400), headerish]
}

proptest! {
    #[test]
    fn any_split_gives_the_same_content_length_frames(
        bytes in stream_bytes(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)
    ) {
        let whole = decode(ContentLength::new(64), [&bytes[..]]);
        let pieces = decode(ContentLength::new(64), cut(&bytes, &cuts));
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn any_split_gives_the_same_lines(
        bytes in stream_bytes(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)
    ) {
        let whole = decode(Lines::new(64), [&bytes[..]]);
        let pieces = decode(Lines::new(64), cut(&bytes, &cuts));
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn what_is_written_is_read_again(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 0..8)) {
        let mut wire = BytesMut::new();
        for body in &bodies {
            write_content_length(body, &mut wire);
        }
        let (frames, error) = decode(ContentLength::default(), wire.chunks(1));
        prop_assert_eq!(error, None);
        prop_assert_eq!(frames, bodies);
    }

    #[test]
    fn written_json_lines_are_read_again(values in prop::collection::vec(json(), 0..8)) {
        let mut wire = BytesMut::new();
        for value in &values {
            write_line(serde_json::to_string_pretty(value).unwrap().as_bytes(), &mut wire);
        }
        let (frames, error) = decode(Lines::default(), wire.chunks(3));
        prop_assert_eq!(error, None);
        let read: Vec<serde_json::Value> =
            frames.iter().map(|frame| serde_json::from_slice(frame).unwrap()).collect();
        prop_assert_eq!(read, values);
    }

    #[test]
    fn limits_hold(bytes in stream_bytes(), max in 1usize..64) {
        for frame in decode(ContentLength::new(max), [&bytes[..]]).0 {
            prop_assert!(frame.len() <= max);
        }
        for frame in decode(Lines::new(max), [&bytes[..]]).0 {
            prop_assert!(frame.len() <= max);
        }
    }

    #[test]
    fn readers_of_messages_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = jsonrpc::read(&bytes);
        let _ = jsonrpc::FromServer::read(&bytes);
        let _ = line::read(&bytes);
    }

    #[test]
    fn requests_in_any_json_get_an_answer_or_a_call(value in json()) {
        let text = value.to_string();
        let _ = jsonrpc::read(text.as_bytes());
        let _ = line::read(text.as_bytes());
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map("(id|method|params|jsonrpc|[a-z]{1,3})", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
