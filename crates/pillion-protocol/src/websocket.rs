//! Jupyter's messages as they travel in frames of a WebSocket, in both forms that there are.
//!
//! The older one is a JSON object, and if the message has buffers, bytes that begin with the
//! places of that object and of each buffer. The newer one, `v1.kernel.websocket.jupyter.org`,
//! is always bytes: the places of all parts, then the channel and the parts of the message as
//! the kernel has them. What a client sends is checked part by part before a kernel hears of it.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::jupyter::Header;

/// The name of the newer form.
pub const V1: &str = "v1.kernel.websocket.jupyter.org";
/// The most buffers of a message.
pub const MAX_BUFFERS: usize = 1000;

/// Channel, header, parent header, metadata and content.
const PARTS: usize = 5;

/// Why a frame is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebSocketError {
    /// Its parts are not where it says.
    #[error("its parts are not where it says")]
    Places,
    /// It has too many buffers.
    #[error("it has more than {MAX_BUFFERS} buffers")]
    Buffers,
    /// A part is not what it should be.
    #[error("its {0} cannot be read")]
    Unreadable(&'static str),
}

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As JSON, the older one.
    Json,
    /// As bytes, the newer one.
    V1,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Bytes),
}

/// What a client says to a kernel.
#[derive(Debug, Clone)]
pub struct ClientMessage {
    /// The name of the channel it goes to.
    pub channel: String,
    /// What it is.
    pub header: Header,
    /// Its header, the header of what it answers, metadata and content, as they came.
    pub texts: [Box<RawValue>; 4],
    /// Bytes that go along.
    pub buffers: Vec<Bytes>,
}

/// A message as the older form has it.
#[derive(Deserialize)]
struct Plain<'a> {
    channel: Option<String>,
    #[serde(borrow)]
    header: &'a RawValue,
    #[serde(borrow, default)]
    parent_header: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

/// The same on its way to a client, which finds id and kind outside of the header, too.
#[derive(Serialize)]
struct Shown<'a> {
    header: &'a RawValue,
    msg_id: &'a str,
    msg_type: &'a str,
    parent_header: &'a RawValue,
    metadata: &'a RawValue,
    content: &'a RawValue,
    buffers: [(); 0],
    channel: &'a str,
}

/// The message of a client that a frame holds.
pub fn decode(form: Form, frame: &Framed) -> Result<ClientMessage, WebSocketError> {
    match (form, frame) {
        (Form::Json, Framed::Text(text)) => plain(text.as_bytes(), Vec::new()),
        (Form::Json, Framed::Binary(bytes)) => {
            let mut parts = older_parts(bytes)?.into_iter();
            let message = parts.next().ok_or(WebSocketError::Places)?;
            plain(&message, parts.collect())
        }
        (Form::V1, Framed::Binary(bytes)) => newer(bytes),
        // Clients that agreed on bytes and send text mean the older form.
        (Form::V1, Framed::Text(text)) => plain(text.as_bytes(), Vec::new()),
    }
}

/// A frame with a message of a kernel: its header, the header of what it answers, metadata and
/// content, and buffers.
pub fn encode(
    form: Form,
    channel: &str,
    texts: [&RawValue; 4],
    buffers: &[Bytes],
) -> Result<Framed, WebSocketError> {
    match form {
        Form::V1 => {
            let texts = texts.map(|text| text.get().as_bytes());
            let parts = std::iter::once(channel.as_bytes()).chain(texts);
            let parts: Vec<&[u8]> = parts.chain(buffers.iter().map(AsRef::as_ref)).collect();
            Ok(Framed::Binary(newer_bytes(&parts)))
        }
        Form::Json => {
            let [header, parent_header, metadata, content] = texts;
            let Header {
                msg_id, msg_type, ..
            } = read(header)?;
            let shown = Shown {
                header,
                msg_id: &msg_id,
                msg_type: &msg_type,
                parent_header,
                metadata,
                content,
                buffers: [],
                channel,
            };
            let text =
                serde_json::to_string(&shown).map_err(|_| WebSocketError::Unreadable("content"))?;
            if buffers.is_empty() {
                return Ok(Framed::Text(text));
            }
            let parts = std::iter::once(text.as_bytes());
            let parts: Vec<&[u8]> = parts.chain(buffers.iter().map(AsRef::as_ref)).collect();
            older_bytes(&parts).map(Framed::Binary)
        }
    }
}

fn plain(text: &[u8], buffers: Vec<Bytes>) -> Result<ClientMessage, WebSocketError> {
    let unreadable = |_| WebSocketError::Unreadable("JSON");
    let message: Plain<'_> = serde_json::from_slice(text).map_err(unreadable)?;
    let nothing = || RawValue::from_string("{}".to_owned()).map_err(unreadable);
    let part = |raw: Option<&RawValue>, what| match raw.map(RawValue::get) {
        None | Some("null") => nothing(),
        Some(text) => object(text.as_bytes(), what),
    };
    let texts = [
        part(Some(message.header), "header")?,
        part(message.parent_header, "parent header")?,
        part(message.metadata, "metadata")?,
        part(message.content, "content")?,
    ];
    // Clients of long ago named none.
    let channel = message.channel.unwrap_or_else(|| "shell".to_owned());
    said(channel, texts, buffers)
}

fn newer(bytes: &Bytes) -> Result<ClientMessage, WebSocketError> {
    let mut head = bytes.clone();
    let mut number = || {
        let here = head.try_get_u64_le().map_err(|_| WebSocketError::Places)?;
        usize::try_from(here).map_err(|_| WebSocketError::Places)
    };
    let places = number()?;
    if places > PARTS + 1 + MAX_BUFFERS {
        return Err(WebSocketError::Buffers);
    }
    let places = (0..places)
        .map(|_| number())
        .collect::<Result<Vec<_>, _>>()?;
    let mut parts = cut(bytes, &places)?.into_iter();
    let mut part = || parts.next().ok_or(WebSocketError::Places);
    let channel = part()?;
    let channel =
        std::str::from_utf8(&channel).map_err(|_| WebSocketError::Unreadable("channel"))?;
    let texts = [
        object(&part()?, "header")?,
        object(&part()?, "parent header")?,
        object(&part()?, "metadata")?,
        object(&part()?, "content")?,
    ];
    said(channel.to_owned(), texts, parts.collect())
}

fn said(
    channel: String,
    texts: [Box<RawValue>; 4],
    buffers: Vec<Bytes>,
) -> Result<ClientMessage, WebSocketError> {
    let header: Header = read(&texts[0])?;
    match header.msg_id.is_empty() || header.msg_type.is_empty() {
        true => Err(WebSocketError::Unreadable("header")),
        false => Ok(ClientMessage {
            channel,
            header,
            texts,
            buffers,
        }),
    }
}

/// The parts of an older frame: so many, where each begins, and they themselves.
fn older_parts(bytes: &Bytes) -> Result<Vec<Bytes>, WebSocketError> {
    let mut head = bytes.clone();
    let mut number = || {
        let here = head.try_get_u32().map_err(|_| WebSocketError::Places)?;
        usize::try_from(here).map_err(|_| WebSocketError::Places)
    };
    let parts = number()?;
    if parts > 1 + MAX_BUFFERS {
        return Err(WebSocketError::Buffers);
    }
    let mut places = (0..parts)
        .map(|_| number())
        .collect::<Result<Vec<_>, _>>()?;
    // The last one goes to the end.
    places.push(bytes.len());
    cut(bytes, &places)
}

fn older_bytes(parts: &[&[u8]]) -> Result<Bytes, WebSocketError> {
    let long = |number: usize| u32::try_from(number).map_err(|_| WebSocketError::Places);
    let length: usize = parts.iter().map(|part| part.len() + 4).sum();
    let mut out = BytesMut::with_capacity(length + 4);
    out.put_u32(long(parts.len())?);
    let mut place = 4 * (1 + parts.len());
    for part in parts {
        out.put_u32(long(place)?);
        place += part.len();
    }
    parts.iter().for_each(|part| out.put_slice(part));
    Ok(out.freeze())
}

fn newer_bytes(parts: &[&[u8]]) -> Bytes {
    let length: usize = parts.iter().map(|part| part.len() + 8).sum();
    let mut out = BytesMut::with_capacity(length + 16);
    let places = parts.len() + 1;
    out.put_u64_le(places as u64);
    let mut place = 8 * (1 + places);
    out.put_u64_le(place as u64);
    for part in parts {
        place += part.len();
        out.put_u64_le(place as u64);
    }
    parts.iter().for_each(|part| out.put_slice(part));
    out.freeze()
}

/// What lies between each two places. They are a client's word.
fn cut(bytes: &Bytes, places: &[usize]) -> Result<Vec<Bytes>, WebSocketError> {
    let between = |pair: &[usize]| match pair {
        [from, to] if from <= to && *to <= bytes.len() => Ok(bytes.slice(*from..*to)),
        _ => Err(WebSocketError::Places),
    };
    places.windows(2).map(between).collect()
}

fn object(bytes: &[u8], what: &'static str) -> Result<Box<RawValue>, WebSocketError> {
    let unreadable = || WebSocketError::Unreadable(what);
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable())?;
    let raw = RawValue::from_string(text.trim().to_owned()).map_err(|_| unreadable())?;
    match raw.get().starts_with('{') {
        true => Ok(raw),
        false => Err(unreadable()),
    }
}

fn read(header: &RawValue) -> Result<Header, WebSocketError> {
    serde_json::from_str(header.get()).map_err(|_| WebSocketError::Unreadable("header"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: &str = r#"{"msg_id":"1","msg_type":"comm_msg","session":"s","extra":[1]}"#;
    const CONTENT: &str = r#"{"text":"ä","big":123456789012345678901234567890}"#;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn encoded(form: Form, buffers: &[Bytes]) -> Framed {
        let texts = [HEADER, r#"{"msg_id":"0"}"#, "{}", CONTENT].map(raw);
        let texts = [&*texts[0], &*texts[1], &*texts[2], &*texts[3]];
        encode(form, "shell", texts, buffers).unwrap()
    }

    #[test]
    fn a_message_comes_back_as_it_was_in_both_forms() {
        let buffers = [Bytes::from_static(b"\0\xff"), Bytes::new()];
        for form in [Form::Json, Form::V1] {
            for buffers in [&buffers[..], &[]] {
                let said = decode(form, &encoded(form, buffers)).unwrap();
                assert_eq!(said.channel, "shell");
                assert_eq!(said.header.msg_type, "comm_msg");
                assert_eq!(said.texts[0].get(), HEADER);
                assert_eq!(said.texts[3].get(), CONTENT);
                assert_eq!(said.buffers, buffers);
            }
        }
    }

    #[test]
    fn the_bytes_are_those_that_other_programs_write() {
        let text = [0_u8, 0, 0, 2, 0, 0, 0, 12, 0, 0, 0, 14];
        let older = older_bytes(&[b"{}", b"b"]).unwrap();
        assert_eq!(older, [&text[..], b"{}b"].concat());
        let newer = newer_bytes(&[b"io", b"{}"]);
        let places = [3_u64, 32, 34, 36].map(u64::to_le_bytes).concat();
        assert_eq!(newer, [&places[..], b"io{}"].concat());
    }

    #[test]
    fn a_client_that_names_no_channel_means_shell() {
        let text = r#"{"header": {"msg_id": "a", "msg_type": "b"}, "parent_header": null}"#;
        let said = decode(Form::Json, &Framed::Text(text.to_owned())).unwrap();
        assert_eq!(said.channel, "shell");
        assert_eq!(said.texts[1].get(), "{}");
    }

    #[test]
    fn frames_that_are_no_message_are_told_apart() {
        let text = |text: &str| decode(Form::Json, &Framed::Text(text.to_owned())).unwrap_err();
        assert_eq!(text("[]"), WebSocketError::Unreadable("JSON"));
        assert_eq!(
            text(r#"{"header": []}"#),
            WebSocketError::Unreadable("header")
        );
        assert_eq!(
            text(r#"{"header": {}}"#),
            WebSocketError::Unreadable("header")
        );
        let bytes = |form, bytes: &[u8]| {
            decode(form, &Framed::Binary(Bytes::copy_from_slice(bytes))).unwrap_err()
        };
        assert_eq!(bytes(Form::Json, &[0, 0]), WebSocketError::Places);
        assert_eq!(bytes(Form::Json, &[0, 0, 0, 0]), WebSocketError::Places);
        assert_eq!(bytes(Form::Json, &[0xff; 8]), WebSocketError::Buffers);
        assert_eq!(bytes(Form::V1, &[0xff; 8]), WebSocketError::Buffers);
        assert_eq!(bytes(Form::V1, &[0; 8]), WebSocketError::Places);
        let backwards = [2_u64, 24, 8].map(u64::to_le_bytes).concat();
        assert_eq!(bytes(Form::V1, &backwards), WebSocketError::Places);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let frame = Framed::Binary(bytes.into());
            let _ = decode(Form::Json, &frame);
            let _ = decode(Form::V1, &frame);
        }

        #[test]
        fn a_frame_that_was_changed_is_refused_or_read(at in 0usize..400, byte in any::<u8>()) {
            for form in [Form::Json, Form::V1] {
                let Framed::Binary(bytes) = encoded(form, &[Bytes::from_static(b"xyz")]) else {
                    unreachable!("it has buffers");
                };
                let mut bytes = bytes.to_vec();
                let at = at % bytes.len();
                bytes[at] = byte;
                let _ = decode(form, &Framed::Binary(bytes.into()));
            }
        }
    }
}
