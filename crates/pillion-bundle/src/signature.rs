//! Signatures: minisign's, so that anybody can check them with a tool they have.
//!
//! A signature is of the whole archive, and lies beside it; its trusted comment says which
//! archive was meant. Archives are the same each time that they are made; signatures are not,
//! because making one takes chance.

use std::io::{Cursor, Read};

use minisign::{KeyPair, SecretKeyBox};
use minisign_verify::{PublicKey, Signature};

use crate::{Error, Result};

/// What follows an archive's name in that of its signature.
pub const ENDING: &str = ".minisig";
/// The largest signature: four short lines.
pub const MAX_SIZE: u64 = 8 << 10;

/// A key that one signs with. Nothing shows it.
pub struct SecretKey(minisign::SecretKey);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// A new pair of keys, each as the content of its file.
pub struct Pair {
    /// What is kept secret.
    pub secret: String,
    /// What others get.
    pub public: String,
    /// The same in one line, for `--trust` and for configuration.
    pub public_line: String,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pair({})", self.public_line)
    }
}

impl Pair {
    /// Make one. With a password the secret key is of no use without it.
    pub fn generate(password: Option<String>) -> Result<Self> {
        let wrong = |error: minisign::PError| Error::InvalidKey(error.to_string());
        let comment = Some("pillion bundle secret key");
        let pair = match password {
            Some(password) => KeyPair::generate_encrypted_keypair(Some(password)),
            None => KeyPair::generate_unencrypted_keypair(),
        };
        let pair = pair.map_err(wrong)?;
        Ok(Self {
            secret: pair.sk.to_box(comment).map_err(wrong)?.into_string(),
            public: pair.pk.to_box().map_err(wrong)?.into_string(),
            public_line: pair.pk.to_base64(),
        })
    }
}

impl SecretKey {
    /// Read the content of a secret key's file.
    pub fn parse(text: &str, password: Option<String>) -> Result<Self> {
        // What the library says about a key may quote it.
        let wrong = |what: &str| Error::InvalidKey(what.to_owned());
        let parsed = SecretKeyBox::from_string(text).map_err(|_| wrong("it cannot be read"))?;
        let key = match password {
            Some(password) => parsed.into_secret_key(Some(password)),
            None => parsed.into_unencrypted_secret_key(),
        };
        key.map(Self)
            .map_err(|_| wrong("it cannot be read, or its password is another"))
    }

    /// Sign an archive; `about` says which one, in one line.
    pub fn sign(&self, archive: impl Read, about: &str) -> Result<String> {
        let about: String = about.chars().filter(|c| !c.is_control()).collect();
        let untrusted = Some("signature from pillion bundle build");
        let signed = minisign::sign(None, &self.0, archive, Some(&about), untrusted);
        signed
            .map(minisign::SignatureBox::into_string)
            .map_err(|error| Error::InvalidKey(error.to_string()))
    }

    /// The public key to it, in one line.
    pub fn public_line(&self) -> Result<String> {
        minisign::PublicKey::from_secret_key(&self.0)
            .map(|key| key.to_base64())
            .map_err(|error| Error::InvalidKey(error.to_string()))
    }
}

/// The public keys that are trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustedKeys(Vec<(PublicKey, String)>);

impl TrustedKeys {
    /// Trust a key: its line, or the whole content of its file.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let text = text.trim();
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        let line = line.unwrap_or_default().trim();
        let key = PublicKey::from_base64(line).map_err(|error| {
            Error::InvalidKey(format!("a public key has 56 characters ({error})"))
        })?;
        self.0.push((key, line.to_owned()));
        Ok(())
    }

    /// Whether nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is that of a signature, as far as that can be said without the archive.
    pub fn may_have_made(&self, signature: &str) -> Result<()> {
        let invalid = |error: minisign_verify::Error| Error::InvalidSignature(error.to_string());
        let signature = Signature::decode(signature).map_err(invalid)?;
        for (key, _) in &self.0 {
            match key.verify_stream(&signature) {
                Ok(_) => return Ok(()),
                Err(minisign_verify::Error::UnexpectedKeyId) => {}
                Err(error) => return Err(invalid(error)),
            }
        }
        Err(Error::UnknownKey)
    }

    /// Check the signature of an archive; gives the key that made it.
    pub fn verify(&self, signature: &str, mut archive: impl Read) -> Result<String> {
        let invalid = |error: minisign_verify::Error| Error::InvalidSignature(error.to_string());
        let signature = Signature::decode(signature).map_err(invalid)?;
        for (key, line) in &self.0 {
            let mut stream = match key.verify_stream(&signature) {
                Ok(stream) => stream,
                Err(minisign_verify::Error::UnexpectedKeyId) => continue,
                Err(error) => return Err(invalid(error)),
            };
            let mut buffer = vec![0; 1 << 16];
            loop {
                match archive.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => stream.update(&buffer[..count]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(Error::Read(error)),
                }
            }
            return match stream.finalize() {
                Ok(()) => Ok(line.clone()),
                Err(_) => Err(Error::WrongSignature),
            };
        }
        Err(Error::UnknownKey)
    }
}

/// Whether a text is a signature at all.
pub fn is_signature(text: &str) -> bool {
    Signature::decode(text).is_ok()
}

/// Whether a text is the content of a secret key's file, with or without a password.
pub fn is_secret_key(text: &str) -> bool {
    // The only line of this length that any file of minisign has.
    const LENGTH: usize = 212;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| line.len() == LENGTH && line.starts_with("RW") && line.bytes().all(is_base64))
}

/// Sign bytes that are at hand.
pub fn sign_bytes(key: &SecretKey, bytes: &[u8], about: &str) -> Result<String> {
    key.sign(Cursor::new(bytes), about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_that_signed_and_what_was_signed_count() {
        let (ours, other) = (Pair::generate(None).unwrap(), Pair::generate(None).unwrap());
        let key = SecretKey::parse(&ours.secret, None).unwrap();
        let signature = sign_bytes(&key, b"archive", "core 1").unwrap();
        assert!(is_signature(&signature) && !is_signature("no"));

        let mut trusted = TrustedKeys::default();
        let reason = |trusted: &TrustedKeys, signature: &str, bytes: &[u8]| {
            trusted
                .verify(signature, bytes)
                .map_or_else(|error| error.reason(), |_| "fine")
        };
        assert_eq!(reason(&trusted, &signature, b"archive"), "unknown_key");
        trusted.add(&other.public).unwrap();
        assert_eq!(reason(&trusted, &signature, b"archive"), "unknown_key");
        let early = trusted.may_have_made(&signature).unwrap_err();
        assert_eq!(early.reason(), "unknown_key");
        trusted.add(&ours.public_line).unwrap();
        trusted.may_have_made(&signature).unwrap();
        let early = trusted.may_have_made("no").unwrap_err();
        assert_eq!(early.reason(), "invalid_signature");
        assert_eq!(
            trusted.verify(&signature, &b"archive"[..]).unwrap(),
            ours.public_line
        );
        assert_eq!(reason(&trusted, &signature, b"Archive"), "wrong_signature");
        assert_eq!(reason(&trusted, "no", b"archive"), "invalid_signature");
        // The comment is signed as well.
        let moved = signature.replace("core 1", "core 2");
        assert_eq!(reason(&trusted, &moved, b"archive"), "wrong_signature");
    }

    #[test]
    fn a_key_with_a_password_needs_it_and_nothing_shows_a_key() {
        let pair = Pair::generate(Some("horse".to_owned())).unwrap();
        assert!(SecretKey::parse(&pair.secret, None).is_err());
        assert!(SecretKey::parse(&pair.secret, Some("cow".to_owned())).is_err());
        let key = SecretKey::parse(&pair.secret, Some("horse".to_owned())).unwrap();
        assert_eq!(key.public_line().unwrap(), pair.public_line);
        assert_eq!(format!("{key:?}"), "SecretKey(..)");
        let plain = Pair::generate(None).unwrap();
        assert!(is_secret_key(&pair.secret) && is_secret_key(&plain.secret));
        let signature = sign_bytes(&key, b"archive", "core 1").unwrap();
        assert!(!is_secret_key(&pair.public) && !is_secret_key(&signature));
        let line = pair.secret.lines().last().unwrap();
        assert!(!format!("{pair:?}").contains(line));
        assert_eq!(
            TrustedKeys::default().add("nonsense").unwrap_err().reason(),
            "invalid_key"
        );
    }
}
