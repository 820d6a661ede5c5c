//! What a model's endpoint streams: cuts change nothing, and events are bounded.

use pillion_model::sse::{EventDecoder, MAX_EVENT_BYTES, SseError};

/// A stream of events, whole and in pieces of several sizes.
pub fn sse(data: &[u8]) {
    let whole = decode([data]);
    for size in [1, 2, 3, 7] {
        assert_eq!(decode(data.chunks(size)), whole);
    }
}

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, SseError> {
    let mut decoder = EventDecoder::new();
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, |event| {
            assert!(event.len() <= MAX_EVENT_BYTES);
            events.push(event.to_owned());
            Ok::<_, SseError>(())
        })?;
    }
    Ok(events)
}
