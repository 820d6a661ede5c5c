//! Closed lists of words, and the tolerant readers that all types of this crate share.
//!
//! Files come from older programs and answers come from models, so reading is tolerant: a
//! missing or `null` member has its default, an unknown word is the safe one of its list.
//! Writing is exact. A value of the wrong type stays an error.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A closed list of words in an answer or a file.
pub trait ClosedList: Sized + Copy + Default + 'static {
    /// All of them, as they are written.
    const WORDS: &'static [&'static str];

    /// The one that is written so. Case and surrounding blanks do not matter.
    fn from_word(word: &str) -> Option<Self>;

    /// How it is written.
    fn as_str(self) -> &'static str;
}

/// An enum whose variants are words. Unknown words are read as the default.
macro_rules! words {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$outer])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, schemars::JsonSchema,
        )]
        pub enum $name {
            $($(#[$inner])* #[serde(rename = $word)] $variant,)+
        }

        impl $crate::words::ClosedList for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn from_word(word: &str) -> Option<Self> {
                let word = word.trim().to_ascii_lowercase();
                match word.as_str() {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::words::ClosedList::as_str(*self))
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
                Ok(<Self as $crate::words::ClosedList>::from_word(&word).unwrap_or_default())
            }
        }
    };
}
pub(crate) use words;

/// A member that may be `null`, which is its default.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A member whose shape was another one in older files: what cannot be read is its default.
pub(crate) fn or_ignored<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A list of texts. One text alone is a list of one, and other values are their JSON.
pub(crate) fn texts<'de, D>(deserializer: D) -> Result<Vec<String>, D::Error>
where
    D: Deserializer<'de>,
{
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(one_text(text)),
        Value::Array(items) => Ok(items.into_iter().filter_map(text_of).collect()),
        _ => Err(serde::de::Error::custom("expected a list of texts")),
    }
}

fn one_text(text: String) -> Vec<String> {
    if text.trim().is_empty() {
        Vec::new()
    } else {
        vec![text]
    }
}

/// The text of an item in a list of texts.
pub(crate) fn text_of(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

/// The beginning of a text, at most so many characters.
pub(crate) fn clip(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
