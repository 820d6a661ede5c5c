//! What a kernel writes to its sockets, which code of others can write itself.

use bytes::BytesMut;
use pillion_protocol::jupyter::{self, JupyterMessage, Signer};
use pillion_protocol::zmtp::{Decoder, MAX_MESSAGE, MAX_PARTS, MessagePart, ZmtpError};

/// Sizes of the pieces that a stream arrives in.
const PIECES: &[usize] = &[1, 3, 64, 4096];

/// A greeting and whatever follows it: any split gives the same messages, none is over its
/// limits, and each is a message of Jupyter's or no message, whoever signed it.
pub fn kernel_stream(data: &[u8]) {
    let whole = decode(data, data.len().max(1));
    for parts in &whole.0 {
        assert!(parts.len() <= MAX_PARTS, "{}", parts.len());
        let bytes: usize = parts
            .iter()
            .filter_map(MessagePart::bytes)
            .map(|b| b.len())
            .sum();
        assert!(bytes <= MAX_MESSAGE.min(data.len()), "{bytes}");
        if let Ok(message) = jupyter::decode(&Signer::new(b""), parts) {
            comes_back(&message);
        }
        // A key that the peer does not know lets nothing through that has a content.
        if let Ok(message) = jupyter::decode(&Signer::new(b"key"), parts) {
            assert!(message.content.is_none(), "a signature was guessed");
        }
    }
    for size in PIECES {
        assert_eq!(decode(data, *size), whole, "pieces of {size}");
    }
}

/// What is read and written again says the same.
fn comes_back(message: &JupyterMessage) {
    let Some(content) = &message.content else {
        return;
    };
    let texts = [
        message.raw_header.get(),
        message.parent.get(),
        message.metadata.get(),
        content.get(),
    ];
    let signer = Signer::new(b"key");
    let parts = jupyter::encode(&signer, texts, &message.buffers);
    let parts: Vec<MessagePart> = parts.into_iter().map(MessagePart::Whole).collect();
    let again = jupyter::decode(&signer, &parts).expect("our own message is one");
    assert_eq!(again.header.msg_id, message.header.msg_id);
    assert_eq!(again.parent_id, message.parent_id);
    assert_eq!(again.buffers, message.buffers);
}

type Decoded = (Vec<Vec<MessagePart>>, Option<ZmtpError>);

fn decode(data: &[u8], size: usize) -> Decoded {
    let (mut decoder, mut buffer) = (Decoder::default(), BytesMut::new());
    let mut messages = Vec::new();
    for piece in data.chunks(size) {
        buffer.extend_from_slice(piece);
        loop {
            match decoder.next(&mut buffer) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
    }
    (messages, None)
}
