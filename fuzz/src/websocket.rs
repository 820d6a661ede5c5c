//! Frames of Jupyter's clients: what is read can be written and read again.

use bytes::Bytes;
use pillion_protocol::websocket::{Form, Framed, MAX_BUFFERS, decode, encode};

/// A frame, in every form.
pub fn websocket(data: &[u8]) {
    let text = std::str::from_utf8(data).map(|text| Framed::Text(text.to_owned()));
    let bytes = Framed::Binary(Bytes::copy_from_slice(data));
    for frame in text.into_iter().chain([bytes]) {
        for form in [Form::Json, Form::V1] {
            let Ok(said) = decode(form, &frame) else {
                continue;
            };
            assert!(said.buffers.len() <= MAX_BUFFERS);
            let [header, parent, metadata, content] = &said.texts;
            let texts = [&**header, &**parent, &**metadata, &**content];
            let Ok(again) = encode(form, &said.channel, texts, &said.buffers) else {
                panic!("what was read cannot be written");
            };
            let again = decode(form, &again).map(|said| (said.channel, said.buffers));
            assert_eq!(again, Ok((said.channel, said.buffers)));
        }
    }
}
