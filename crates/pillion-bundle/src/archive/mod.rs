//! Archives: how a bundle travels.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

pub use read::{NoSink, Sink, Verified, read};
pub use write::write;

/// How an archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// `.tar.zst`.
    Zstd,
    /// `.tar.gz`.
    Gzip,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Zstd, Self::Gzip];

    /// By the end of a file's name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            name if name.ends_with(".tar.zst") => Some(Self::Zstd),
            name if name.ends_with(".tar.gz") || name.ends_with(".tgz") => Some(Self::Gzip),
            _ => None,
        }
    }

    /// By how the bytes begin.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            _ => None,
        }
    }

    /// The end of the names of such archives.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Zstd => "tar.zst",
            Self::Gzip => "tar.gz",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ending())
    }
}
