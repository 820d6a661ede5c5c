//! Text that must not be shown: tokens, keys.
//!
//! The type keeps it from logs and errors: it has no `Display`, is not serialised, and its
//! `Debug` says only that there is one. Reading it takes a word that can be searched for. Its
//! bytes are wiped when it goes.

use std::fmt;
use std::io;

use zeroize::Zeroizing;

use crate::random::fill_random;

/// A token or a key.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// This text, from now on secret.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// 256 bits that nobody can guess, as 64 hexadecimal digits.
    pub fn random() -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        fill_random(&mut *bytes)?;
        Ok(Self::new(hex::encode(bytes.as_slice())))
    }

    /// The text itself: for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether this is it. Takes as long for a near miss as for a far one.
    pub fn is(&self, given: &str) -> bool {
        let (ours, given) = (self.0.as_bytes(), given.as_bytes());
        let differ = ours.iter().zip(given).fold(0, |d, (a, b)| d | (a ^ b));
        ours.len() == given.len() && differ == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_apart_and_never_shown() {
        let secret = Secret::new("key-123".to_owned());
        assert!(secret.is("key-123"));
        for other in ["", "key-12", "key-124", "key-1234"] {
            assert!(!secret.is(other), "{other}");
        }
        assert_eq!(
            format!("{secret:?} {:?}", Some(&secret)),
            "Secret Some(Secret)"
        );
        assert_eq!(secret.expose(), "key-123");
    }

    #[test]
    fn random_ones_differ() {
        let (one, two) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert!(!one.is(two.expose()));
        assert_eq!(one.expose().len(), 64);
    }
}
