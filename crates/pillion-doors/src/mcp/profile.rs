//! Which tools an agent gets: all of them, or a short list that a contract fixes.

use std::fmt;
use std::str::FromStr;

/// A choice of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// Every tool there is.
    #[default]
    Full,
    /// Six tools about projects.
    Core,
    /// The first three of them.
    Minimal,
}

/// The tools of `core`; those of `minimal` come first.
const CORE: &[&str] = &[
    "project_registry",
    "resolve_project",
    "code_structure",
    "impact_analysis",
    "change_impact",
    "detect_patterns",
];
/// How many of them are `minimal`.
const MINIMAL: usize = 3;

impl Profile {
    /// All profiles.
    pub const ALL: &'static [Self] = &[Self::Full, Self::Core, Self::Minimal];

    /// Whether it has this tool.
    pub(super) fn has(self, tool: &str) -> bool {
        match self {
            Self::Full => true,
            Self::Core => CORE.contains(&tool),
            Self::Minimal => CORE[..MINIMAL].contains(&tool),
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Core => "core",
            Self::Minimal => "minimal",
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
        let known = Self::ALL
            .iter()
            .find(|profile| profile.as_str().eq_ignore_ascii_case(name.trim()));
        known.copied().ok_or_else(|| {
            format!("there is no tool profile `{name}`; there are `full`, `core` and `minimal`")
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
        assert!("big".parse::<Profile>().unwrap_err().contains("`big`"));
    }

    #[test]
    fn the_short_lists_are_exact() {
        let all = [CORE, &["code_defs", "py_call", "fetch_output"]].concat();
        let of = |profile: Profile| all.iter().filter(|tool| profile.has(tool)).count();
        assert_eq!(of(Profile::Full), 9);
        assert_eq!(of(Profile::Core), 6);
        assert_eq!(of(Profile::Minimal), 3);
        assert!(Profile::Minimal.has("code_structure"));
    }
}
