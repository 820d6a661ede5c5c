//! What a bundle is made of: its kind, its files and links, and the hash of all of them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::{Digest, Result, Sha256};

/// What kind of bundle it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum BundleType {
    /// An interpreter with packages and the pillion binary, for one platform.
    PythonRuntime,
    /// Agents of an app.
    AppAgents,
    /// What experts share.
    ExpertsShared,
    /// Experts.
    Experts,
    /// A chapter of a course.
    Chapter,
}

impl BundleType {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::PythonRuntime,
        Self::AppAgents,
        Self::ExpertsShared,
        Self::Experts,
        Self::Chapter,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PythonRuntime => "python_runtime",
            Self::AppAgents => "app_agents",
            Self::ExpertsShared => "experts_shared",
            Self::Experts => "experts",
            Self::Chapter => "chapter",
        }
    }
}

impl fmt::Display for BundleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for BundleType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|known| known.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("`{text}` is no type of bundle: {known}")
        })
    }
}

/// Whether a file can be run. Written as in `chmod`, and nothing else is kept of a mode: the
/// rest depends on the machine that a bundle was made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum FileMode {
    /// A file.
    #[default]
    #[serde(rename = "0644")]
    Plain,
    /// A program.
    #[serde(rename = "0755")]
    Executable,
}

impl FileMode {
    /// The mode of a file with these bits.
    pub fn of_bits(bits: u32) -> Self {
        match bits & 0o111 {
            0 => Self::Plain,
            _ => Self::Executable,
        }
    }

    /// Its bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::Plain => 0o644,
            Self::Executable => 0o755,
        }
    }
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.bits())
    }
}

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleFile {
    /// Where it is, from the root of the bundle.
    pub path: String,
    /// The hash of its content.
    pub sha256: Digest,
    /// Its size.
    pub size_bytes: u64,
    /// Its mode. Runtimes say it of each file; content bundles do not, and have no programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FileMode>,
}

impl BundleFile {
    /// Its mode.
    pub fn mode(&self) -> FileMode {
        self.mode.unwrap_or_default()
    }
}

/// A symbolic link of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleLink {
    /// Where it is, from the root of the bundle.
    pub path: String,
    /// Where it leads, from its own folder.
    pub target: String,
}

impl Digest {
    /// The digest of a tree: of one line for each entry, sorted by path. A line names all that
    /// the manifest says about the entry, with its parts divided by NUL, which no path has.
    pub fn of_tree<'a>(
        files: impl IntoIterator<Item = &'a BundleFile>,
        links: impl IntoIterator<Item = &'a BundleLink>,
    ) -> Self {
        let files = files.into_iter().map(|file| {
            let mode = file.mode();
            let line = format!(
                "file\0{mode}\0{}\0{}\0{}\n",
                file.size_bytes, file.sha256, file.path
            );
            (file.path.as_str(), line)
        });
        let links = links.into_iter().map(|link| {
            let line = format!("link\0{}\0{}\n", link.target, link.path);
            (link.path.as_str(), line)
        });
        let mut lines: Vec<_> = files.chain(links).collect();
        lines.sort();
        let mut hasher = Sha256::new();
        for (_, line) in lines {
            hasher.update(line.as_bytes());
        }
        hasher.into()
    }
}
