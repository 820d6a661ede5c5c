//! Messages of Jupyter's protocol 5 as they travel: signed parts of a ZeroMQ message.
//!
//! Contents stay text, so that what passes through, such as comms, comes out as it came in;
//! who wants to know more decodes what it needs. What a kernel writes is code of others': every
//! part is checked, and the first mistake makes the whole message one that is left out.

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::Sha256;

use crate::zmtp::MessagePart;

/// Between identities and the message proper.
const DELIMITER: &[u8] = b"<IDS|MSG>";
/// The version of the protocol that is spoken here.
pub const VERSION: &str = "5.4";

/// Why parts are no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Something is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// It is not from the kernel that has our key.
    #[error("it is not signed as agreed")]
    Signature,
    /// A part is no JSON, or not what it should be.
    #[error("its {0} cannot be read")]
    Unreadable(&'static str),
}

/// What a message is, and whose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// No two messages have the same.
    pub msg_id: String,
    /// Who sent it, for as long as it runs.
    pub session: String,
    /// For people.
    pub username: String,
    /// When, as in ISO 8601.
    pub date: String,
    /// What kind it is.
    pub msg_type: String,
    /// The version of the protocol.
    pub version: String,
}

/// A message.
#[derive(Debug, Clone)]
pub struct JupyterMessage {
    /// What it is.
    pub header: Header,
    /// The header as it came.
    pub raw_header: Box<RawValue>,
    /// The header of what it answers, as it came: `{}` if it answers nothing.
    pub parent: Box<RawValue>,
    /// The id of what it answers.
    pub parent_id: Option<String>,
    /// What kind of message that was.
    pub parent_type: String,
    /// More about it.
    pub metadata: Box<RawValue>,
    /// What it says; none if that was too large to be read.
    pub content: Option<Box<RawValue>>,
    /// Bytes that go along.
    pub buffers: Vec<Bytes>,
}

/// Signs, and checks signatures. An empty key signs nothing.
#[derive(Clone)]
pub struct Signer(Option<Hmac<Sha256>>);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// One with this key.
    pub fn new(key: &[u8]) -> Self {
        // Keys of any length are taken.
        Self(Hmac::new_from_slice(key).ok().filter(|_| !key.is_empty()))
    }

    /// The signature of these parts, in hexadecimal.
    fn sign<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> String {
        let Some(mut mac) = self.0.clone() else {
            return String::new();
        };
        parts.for_each(|part| mac.update(part));
        hex::encode(mac.finalize().into_bytes())
    }

    /// Whether this is the signature of these parts, in a time that tells nothing.
    fn is_signed<'a>(&self, parts: impl Iterator<Item = &'a [u8]>, signature: &[u8]) -> bool {
        let Some(mut mac) = self.0.clone() else {
            return true;
        };
        parts.for_each(|part| mac.update(part));
        hex::decode(signature).is_ok_and(|signature| mac.verify_slice(&signature).is_ok())
    }
}

/// The parts of a message: its header, the header of what it answers, metadata and content,
/// each as JSON text, and buffers.
pub fn encode(signer: &Signer, texts: [&str; 4], buffers: &[Bytes]) -> Vec<Bytes> {
    let signature = signer.sign(texts.iter().map(|text| text.as_bytes()));
    let mut parts = vec![Bytes::from_static(DELIMITER), Bytes::from(signature)];
    parts.extend(texts.map(|text| Bytes::copy_from_slice(text.as_bytes())));
    parts.extend(buffers.iter().cloned());
    parts
}

/// The message that these parts are.
pub fn decode(signer: &Signer, parts: &[MessagePart]) -> Result<JupyterMessage, MessageError> {
    let is_delimiter = |part: &MessagePart| part.bytes().is_some_and(|bytes| bytes == DELIMITER);
    let delimiter = parts
        .iter()
        .position(is_delimiter)
        .ok_or(MessageError::Missing("its delimiter"))?;
    let rest = parts.get(delimiter + 1..).unwrap_or_default();
    let [signature, header, parent, metadata, content, buffers @ ..] = rest else {
        return Err(MessageError::Missing("a part"));
    };
    let short =
        |part: &MessagePart, what| part.bytes().cloned().ok_or(MessageError::Unreadable(what));
    let signature = short(signature, "signature")?;
    let header = short(header, "header")?;
    let parent = short(parent, "parent header")?;
    let metadata = short(metadata, "metadata")?;
    let content = content.bytes();
    // What is missing cannot be checked, and is not shown to anybody either.
    if let Some(content) = content {
        let signed = [&header, &parent, &metadata, content].map(AsRef::as_ref);
        if !signer.is_signed(signed.into_iter(), &signature) {
            return Err(MessageError::Signature);
        }
    }
    let raw_header = object(&header, "header")?;
    let parent = object(&parent, "parent header")?;
    let answered: Header = read(&parent, "parent header")?;
    Ok(JupyterMessage {
        header: read(&raw_header, "header")?,
        raw_header,
        parent_id: Some(answered.msg_id).filter(|id| !id.is_empty()),
        parent_type: answered.msg_type,
        parent,
        metadata: object(&metadata, "metadata")?,
        content: content.map(|bytes| object(bytes, "content")).transpose()?,
        buffers: buffers
            .iter()
            .filter_map(|part| part.bytes().cloned())
            .collect(),
    })
}

fn object(bytes: &[u8], what: &'static str) -> Result<Box<RawValue>, MessageError> {
    let unreadable = || MessageError::Unreadable(what);
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable())?;
    let raw = RawValue::from_string(text.trim().to_owned()).map_err(|_| unreadable())?;
    match raw.get().starts_with('{') {
        true => Ok(raw),
        false => Err(unreadable()),
    }
}

fn read<T: for<'de> Deserialize<'de>>(
    raw: &RawValue,
    what: &'static str,
) -> Result<T, MessageError> {
    serde_json::from_str(raw.get()).map_err(|_| MessageError::Unreadable(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"msg_id":"1","msg_type":"stream","session":"s","extra":1}"#;
    const CONTENT: &str = r#"{"name":"stdout","text":"ä","big":123456789012345678901234567890}"#;

    fn parts(signer: &Signer) -> Vec<MessagePart> {
        let mut parts = vec![MessagePart::Whole(Bytes::from_static(b"topic"))];
        let texts = [HEADER, r#"{"msg_id":"7"}"#, "{}", CONTENT];
        let encoded = encode(signer, texts, &[Bytes::from_static(b"\0\xff")]);
        parts.extend(encoded.into_iter().map(MessagePart::Whole));
        parts
    }

    #[test]
    fn a_message_comes_back_as_it_was() {
        let signer = Signer::new(b"key");
        let message = decode(&signer, &parts(&signer)).unwrap();
        assert_eq!(message.header.msg_type, "stream");
        assert_eq!(message.raw_header.get(), HEADER);
        assert_eq!(message.parent_id.as_deref(), Some("7"));
        assert_eq!(message.content.unwrap().get(), CONTENT);
        assert_eq!(message.buffers, [Bytes::from_static(b"\0\xff")]);
    }

    #[test]
    fn only_whoever_has_the_key_is_heard() {
        let signer = Signer::new(b"key");
        let theirs = parts(&Signer::new(b"other"));
        assert_eq!(
            decode(&signer, &theirs).unwrap_err(),
            MessageError::Signature
        );
        let unsigned = parts(&Signer::new(b""));
        assert_eq!(
            decode(&signer, &unsigned).unwrap_err(),
            MessageError::Signature
        );
        assert!(decode(&Signer::new(b""), &unsigned).is_ok());
        let mut changed = parts(&signer);
        changed[6] = MessagePart::Whole(Bytes::from_static(b"{}"));
        assert_eq!(
            decode(&signer, &changed).unwrap_err(),
            MessageError::Signature
        );
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_signature_is_the_one_that_everybody_computes() {
        let signer = Signer::new(b"Jefe");
        let text: &[u8] = b"what do ya want for nothing?";
        assert_eq!(
            signer.sign(std::iter::once(text)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn what_was_passed_by_leaves_the_rest_of_its_message() {
        let signer = Signer::new(b"key");
        let mut large = parts(&signer);
        large[6] = MessagePart::PassedBy(100 << 20);
        let message = decode(&signer, &large).unwrap();
        assert!(message.content.is_none());
        assert_eq!(message.parent_id.as_deref(), Some("7"));
    }

    #[test]
    fn parts_that_are_no_message_are_told_apart() {
        let signer = Signer::new(b"");
        let with = |at: usize, bytes: &'static [u8]| {
            let mut parts = parts(&signer);
            parts[at] = MessagePart::Whole(Bytes::from_static(bytes));
            decode(&signer, &parts).unwrap_err()
        };
        assert_eq!(with(1, b"x"), MessageError::Missing("its delimiter"));
        assert_eq!(with(3, b"[]"), MessageError::Unreadable("header"));
        assert_eq!(with(4, b"\xff"), MessageError::Unreadable("parent header"));
        assert_eq!(with(6, b"{"), MessageError::Unreadable("content"));
        let few = &parts(&signer)[..5];
        assert_eq!(
            decode(&signer, few).unwrap_err(),
            MessageError::Missing("a part")
        );
    }
}
