//! SHA-256 of bytes that go by, and the `.sha256` file beside an archive.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

pub use sha2::Sha256;

use crate::{Error, Result};

/// A SHA-256 in 64 lower-case hexadecimal digits.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Digest(String);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from(Sha256::new_with_prefix(bytes))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Sha256> for Digest {
    fn from(hasher: Sha256) -> Self {
        Self(hex::encode(hasher.finalize()))
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 64 && text.bytes().all(is_hex) {
            true => Ok(Self(text.to_owned())),
            false => Err("a SHA-256 is 64 lower-case hexadecimal digits".to_owned()),
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A reader that knows the hash and the number of the bytes that went through it.
#[derive(Debug)]
pub struct Hashing<R> {
    inner: R,
    hasher: Sha256,
    count: u64,
}

impl<R> Hashing<R> {
    /// Hash what is read from `inner`.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            hasher: Sha256::new(),
            count: 0,
        }
    }

    /// The number of bytes so far, and their hash.
    pub fn finish(self) -> (u64, Digest) {
        (self.count, self.hasher.into())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.count += count as u64;
        Ok(count)
    }
}

/// The content of the `.sha256` file beside an archive, as `sha256sum` writes it.
pub fn checksum_line(digest: &Digest, name: &str) -> String {
    format!("{digest}  {name}\n")
}

/// The digest of such a file.
pub fn parse_checksum(text: &str) -> Result<Digest> {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.parse().map_err(Error::Checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").as_str(), empty);
        let mut reader = Hashing::new(&b"pillion"[..]);
        io::copy(&mut reader, &mut io::sink()).unwrap();
        assert_eq!(reader.finish(), (7, Digest::of(b"pillion")));
        assert!("E3B0".parse::<Digest>().is_err());
        assert!(empty.to_uppercase().parse::<Digest>().is_err());
    }

    #[test]
    fn a_checksum_file_can_be_read_again() {
        let digest = Digest::of(b"x");
        let line = checksum_line(&digest, "core.tar.zst");
        assert_eq!(parse_checksum(&line).unwrap(), digest);
        assert_eq!(
            parse_checksum("no\n").unwrap_err().reason(),
            "invalid_checksum"
        );
    }
}
