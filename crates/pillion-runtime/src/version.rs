//! Python versions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A version of Python; written and serialised as `3.11.7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PythonVersion {
    /// The 3 of 3.11.7.
    pub major: u32,
    /// The 11 of 3.11.7.
    pub minor: u32,
    /// The 7 of 3.11.7.
    pub micro: u32,
}

impl PythonVersion {
    /// The oldest Python that pillion's worker runs on.
    pub const MINIMUM: Self = Self::new(3, 10, 0);

    /// A version from its parts.
    pub const fn new(major: u32, minor: u32, micro: u32) -> Self {
        Self {
            major,
            minor,
            micro,
        }
    }

    /// Whether pillion's worker runs on it.
    pub fn is_supported(self) -> bool {
        self >= Self::MINIMUM
    }

    /// The first thing in a text that looks like a version, such as the 2.7.18 of
    /// `Python 2.7.18+`.
    pub(crate) fn find_in(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.')
            .find_map(|word| word.parse().ok())
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

/// The text is no version.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no version such as 3.11.7")]
pub struct NotAVersion(String);

impl FromStr for PythonVersion {
    type Err = NotAVersion;

    /// The last part may be missing.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || NotAVersion(text.to_owned());
        let parts: Vec<u32> = text
            .split('.')
            .map(|part| part.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        match parts[..] {
            [major, minor] => Ok(Self::new(major, minor, 0)),
            [major, minor, micro] => Ok(Self::new(major, minor, micro)),
            _ => Err(wrong()),
        }
    }
}

impl From<PythonVersion> for String {
    fn from(version: PythonVersion) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for PythonVersion {
    type Error = NotAVersion;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number() {
        let parse = |text: &str| text.parse::<PythonVersion>().unwrap();
        assert!(parse("3.9.18") < parse("3.10.0"));
        assert!(parse("3.10").is_supported() && !parse("3.9.99").is_supported());
        assert_eq!(parse("3.11.7").to_string(), "3.11.7");
        for wrong in ["", "3", "3.x", "3.1.2.3", "three"] {
            assert!(wrong.parse::<PythonVersion>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_version_is_found_in_a_sentence() {
        assert_eq!(
            PythonVersion::find_in("Python 2.7.18\n"),
            Some(PythonVersion::new(2, 7, 18))
        );
        assert_eq!(
            PythonVersion::find_in("cpython-3.12.1-linux-x86_64"),
            Some(PythonVersion::new(3, 12, 1))
        );
        assert_eq!(PythonVersion::find_in("no such option"), None);
    }
}
