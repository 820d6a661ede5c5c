//! Versions of bundles and desktops, and which of two is newer.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest text of a version: it is the name of a folder.
const MAX_LENGTH: usize = 64;

/// A version such as `1.4.0`, `2.0.0-beta.2` or `2026.11.1+build`: numbers, perhaps a
/// pre-release, perhaps a build.
///
/// The order is that of semantic versioning, for any count of numbers: `1.4` is `1.4.0`, and a
/// pre-release comes before its release. Builds do not count; versions that differ in nothing
/// else are ordered by their text, so that the order is total.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Version {
    text: String,
    numbers: Vec<u64>,
    pre: Vec<Part>,
}

/// A part of a pre-release. Numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    /// Whether it comes before a release.
    pub fn is_pre_release(&self) -> bool {
        !self.pre.is_empty()
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Which is newer, where equal means that only text or build differ.
    pub fn precedence(&self, other: &Self) -> Ordering {
        let count = self.numbers.len().max(other.numbers.len());
        let number = |version: &Self, at| version.numbers.get(at).copied().unwrap_or(0);
        let numbers = (0..count)
            .map(|at| number(self, at).cmp(&number(other, at)))
            .find(|order| order.is_ne());
        numbers.unwrap_or_else(|| match (self.is_pre_release(), other.is_pre_release()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => self.pre.cmp(&other.pre),
        })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.precedence(other)
            .then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no version such as `1.4.0` or `2.0.0-beta.1`");
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
        if text.is_empty() || text.len() > MAX_LENGTH || !text.bytes().all(is_known) {
            return Err(wrong());
        }
        let (rest, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (text, None),
        };
        if build.is_some_and(|build| build.is_empty() || build.contains('+')) {
            return Err(wrong());
        }
        let (numbers, pre) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, Some(pre)),
            None => (rest, None),
        };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let numbers: Option<Vec<u64>> = numbers
            .split('.')
            .map(|part| is_number(part).then(|| part.parse().ok()).flatten())
            .collect();
        let pre: Option<Vec<Part>> = pre.map_or(Some(Vec::new()), |pre| {
            pre.split('.')
                .map(|part| match (part.is_empty(), is_number(part)) {
                    (true, _) => None,
                    (_, true) => part.parse().ok().map(Part::Number),
                    _ => Some(Part::Word(part.to_owned())),
                })
                .collect()
        });
        Ok(Self {
            numbers: numbers.ok_or_else(wrong)?,
            pre: pre.ok_or_else(wrong)?,
            text: text.to_owned(),
        })
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.text
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_come_in_the_order_of_semantic_versioning() {
        let sorted = [
            "0.9",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.9.0",
            "1.10",
            "2026.11.18",
        ];
        for (at, older) in sorted.iter().enumerate() {
            for newer in &sorted[at + 1..] {
                assert!(version(older) < version(newer), "{older} < {newer}");
            }
        }
        assert!(version("1.0").precedence(&version("1.0.0+build")).is_eq());
        assert!(version("1.0-a-b").is_pre_release());
    }

    #[test]
    fn what_cannot_be_a_folder_or_an_order_is_no_version() {
        for text in [
            "",
            "1.",
            ".1",
            "a",
            "1..2",
            "1.0-",
            "1.0+",
            "1.0-a..b",
            "../1",
            "1/2",
            "1 0",
            "1_0",
            "99999999999999999999",
            "1.0-\u{e4}",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
        assert!("1".repeat(65).parse::<Version>().is_err());
    }

    proptest! {
        #[test]
        fn the_order_is_total(texts in proptest::collection::vec("[0-2](\\.[0-2]){0,2}(-[0-9a-b](\\.[0-2a])?)?(\\+[ab])?", 3)) {
            let [a, b, c] = [&texts[0], &texts[1], &texts[2]].map(|text| version(text));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a == b, a.cmp(&b).is_eq());
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }
    }
}
