//! The platforms that runtimes are made for.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An operating system and a kind of processor.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Platform {
    MacosX64,
    MacosArm64,
    WindowsX64,
    LinuxX64,
    LinuxArm64,
}

impl Platform {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::MacosX64,
        Self::MacosArm64,
        Self::WindowsX64,
        Self::LinuxX64,
        Self::LinuxArm64,
    ];

    /// The one that this program runs on, if runtimes are made for it.
    pub fn here() -> Option<Self> {
        match (std::env::consts::OS, std::env::consts::ARCH) {
            ("macos", "x86_64") => Some(Self::MacosX64),
            ("macos", "aarch64") => Some(Self::MacosArm64),
            ("windows", "x86_64") => Some(Self::WindowsX64),
            ("linux", "x86_64") => Some(Self::LinuxX64),
            ("linux", "aarch64") => Some(Self::LinuxArm64),
            _ => None,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MacosX64 => "macos-x64",
            Self::MacosArm64 => "macos-arm64",
            Self::WindowsX64 => "windows-x64",
            Self::LinuxX64 => "linux-x64",
            Self::LinuxArm64 => "linux-arm64",
        }
    }

    /// Whether it is a Windows, where names and links are another matter.
    pub fn is_windows(self) -> bool {
        self == Self::WindowsX64
    }

    /// What uv calls it, for wheels that run on most machines of this kind.
    pub fn uv_name(self) -> &'static str {
        match self {
            Self::MacosX64 => "x86_64-apple-darwin",
            Self::MacosArm64 => "aarch64-apple-darwin",
            Self::WindowsX64 => "x86_64-pc-windows-msvc",
            Self::LinuxX64 => "x86_64-manylinux_2_28",
            Self::LinuxArm64 => "aarch64-manylinux_2_28",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|known| known.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("`{text}` is no platform of runtimes: {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_wire() {
        for platform in Platform::ALL {
            let wire = serde_json::to_string(&platform).unwrap();
            assert_eq!(wire, format!("\"{platform}\""));
            assert_eq!(platform.as_str().parse(), Ok(platform));
        }
        assert!("linux-x86".parse::<Platform>().is_err());
    }
}
