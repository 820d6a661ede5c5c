//! Which operations agents are shown as tools, and what those tools have in common.
//!
//! An agent pays for every word of every tool before it asks anything, so it is shown a short
//! table. An operation says in its offer whether it is on that table; everything else is found
//! by asking and called by name.

use std::fmt;
use std::str::FromStr;

/// A table of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// What an agent does most.
    #[default]
    Default,
    /// All about code.
    Code,
    /// All about projects.
    Map,
    /// All that runs Python.
    Exec,
    /// Every tool there is.
    Full,
    /// Six tools about projects, which a contract fixes.
    Core,
    /// The first three of them.
    Minimal,
}

/// Parameters that mean the same wherever they are, so that agents are told once. A parameter of
/// one of these names means nothing else anywhere.
pub const SHARED: &[(&str, &str)] = &[
    (
        "at",
        "a name such as `Class.method` or `pkg/mod.py::name`, or a place such as `pkg/mod.py:12:5`; instead of `file`, `line` and `column`",
    ),
    ("line", "counts from 1"),
    ("column", "counts characters from 1; put it on the name"),
    ("positions", "several places in one question"),
    (
        "limit",
        "at most so many; the answer says how many there are",
    ),
    (
        "apply",
        "writes the change; without it the answer is the patch and nothing is written",
    ),
    ("project", "the folder of the project; yours if not given"),
    ("root", "the folder of another project than yours"),
    (
        "format",
        "`json` gives the whole answer as JSON instead of text",
    ),
    ("timeout_ms", "how long it may take"),
];

/// Parameters that most agents never need: understood, and not shown on the short tables.
pub const UNSHOWN: &[&str] = &["engine", "output_format", "stream"];

impl Profile {
    /// All profiles.
    pub const ALL: &'static [Self] = &[
        Self::Default,
        Self::Code,
        Self::Map,
        Self::Exec,
        Self::Full,
        Self::Core,
        Self::Minimal,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Code => "code",
            Self::Map => "map",
            Self::Exec => "exec",
            Self::Full => "full",
            Self::Core => "core",
            Self::Minimal => "minimal",
        }
    }

    /// Whether a contract fixes what its tools are called, take and answer. Agents of the others
    /// read text, and may call what they are not shown.
    pub fn is_contract(self) -> bool {
        matches!(self, Self::Full | Self::Core | Self::Minimal)
    }

    /// The areas whose operations are all on the table.
    pub(crate) fn areas(self) -> &'static [&'static str] {
        match self {
            Self::Code => &["code"],
            Self::Map => &["map"],
            Self::Exec => &["exec", "notebook", "py", "sidecar"],
            _ => &[],
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.iter();
        let known = all.find(|profile| profile.as_str().eq_ignore_ascii_case(name.trim()));
        known.copied().ok_or_else(|| {
            let all: Vec<String> = Self::ALL.iter().map(|one| format!("`{one}`")).collect();
            format!(
                "there is no tool profile `{name}`; there are {}",
                all.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_refused() {
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(*profile));
        }
        assert_eq!(" Core ".parse(), Ok(Profile::Core));
        let refused = "big".parse::<Profile>().unwrap_err();
        assert!(refused.contains("`big`") && refused.contains("`minimal`"));
    }
}
