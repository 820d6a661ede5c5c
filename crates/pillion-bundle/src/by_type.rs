//! Something for each type of bundle, and what is said of types that only others know.
//!
//! A store is shared with programs of other versions, and each of them replaces the whole list.
//! So what one of them says of a type that this crate does not know is kept as it was written.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::BundleType;

/// Something for each type of bundle. It is read with `serde_json` only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByType<T> {
    /// What is said of the types that are known.
    pub known: BTreeMap<BundleType, T>,
    /// What is said of others, each as it was written.
    unknown: BTreeMap<String, String>,
}

impl<T> Default for ByType<T> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            unknown: BTreeMap::new(),
        }
    }
}

impl<T> ByType<T> {
    /// Only what is said of types that are not known.
    pub fn only_unknown<U>(self) -> ByType<U> {
        ByType {
            known: BTreeMap::new(),
            unknown: self.unknown,
        }
    }

    /// The types that are not known, and what is said of each.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, serde_json::Value)> {
        self.unknown.iter().map(|(kind, text)| {
            // It was read as JSON before.
            let value = serde_json::from_str(text).unwrap_or_default();
            (kind.as_str(), value)
        })
    }
}

impl<T: Serialize> Serialize for ByType<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = self.known.len() + self.unknown.len();
        let mut map = serializer.serialize_map(Some(count))?;
        for (kind, value) in &self.known {
            map.serialize_entry(kind, value)?;
        }
        for (kind, text) in &self.unknown {
            let raw = RawValue::from_string(text.clone()).map_err(S::Error::custom)?;
            map.serialize_entry(kind, &raw)?;
        }
        map.end()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for ByType<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<String, Box<RawValue>>::deserialize(deserializer)?;
        let mut read = Self::default();
        for (kind, raw) in all {
            match kind.parse() {
                Ok(known) => {
                    let wrong = |error| D::Error::custom(format!("`{kind}`: {error}"));
                    let value = serde_json::from_str(raw.get()).map_err(wrong)?;
                    read.known.insert(known, value);
                }
                Err(_) => {
                    read.unknown.insert(kind, raw.get().to_owned());
                }
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_written_as_it_was_read() {
        let theirs = r#"{ "b": [1.0, 18446744073709551616, 1e400, "\u00e9"],  "a": null }"#;
        let text = format!(r#"{{"themes": {theirs}, "chapter": 3, "12": false}}"#);
        let read: ByType<u8> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.known[&BundleType::Chapter], 3);
        let written = serde_json::to_string_pretty(&read).unwrap();
        assert!(written.contains(theirs), "{written}");
        assert_eq!(serde_json::from_str::<ByType<u8>>(&written).unwrap(), read);
        let kinds: Vec<&str> = read.unknown().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["12", "themes"]);
        // What is known has to make sense all the same.
        let wrong = text.replace(": 3", ": \"three\"");
        let error = serde_json::from_str::<ByType<u8>>(&wrong).unwrap_err();
        assert!(error.to_string().contains("`chapter`"), "{error}");
    }
}
