//! JSON that means the same to everybody who reads it.
//!
//! Of a name that is there twice some readers take the first value and some the last, and what is
//! nested without end is more than some can read. Whoever made such a text wants one reader to
//! check what another will not use. So it is refused as a whole, also in members that nobody
//! here knows.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Check a text. How deep it may be nested is what `serde_json` bounds.
pub(crate) fn check(bytes: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice::<Strict>(bytes).map(|_| ())
}

/// Any value in which no object has a name twice.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self, A::Error> {
        while values.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            members.next_value::<Self>()?;
            if let Some(twice) = names.replace(name) {
                return Err(A::Error::custom(format!("`{twice}` is there twice")));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_may_understand_differently_is_refused() {
        let twice = r#"{"a": [{"b": 1, "c": {}, "b": 1}]}"#;
        let escaped = r#"{"ab": 1, "\u0061b": 1}"#;
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        for text in [
            twice,
            escaped,
            &deep,
            "1e999",
            "{} {}",
            "NaN",
            "\u{feff}{}",
            "",
        ] {
            assert!(check(text.as_bytes()).is_err(), "{text}");
        }
        let flat = "[".repeat(100) + &"]".repeat(100);
        let sound = r#"{"a": {"a": [1, -1, 1.5, null, true, "a"]}, "b": {"a": 1}}"#;
        for text in [sound, &flat] {
            check(text.as_bytes()).unwrap();
        }
    }
}
