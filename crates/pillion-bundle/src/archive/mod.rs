//! Archives: how a bundle travels.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

pub use read::{NoSink, Sink, Verified, read};
pub use write::write;

/// How much there may be. What goes over is refused before it is unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of an archive.
    pub packed: u64,
    /// The bytes of all files together.
    pub unpacked: u64,
    /// The bytes of a manifest.
    pub manifest: u64,
    /// The entries of an archive.
    pub entries: usize,
    /// How many times larger it may become.
    pub ratio: u64,
}

impl Limits {
    /// So many bytes may come out of an archive whatever its ratio: small archives of texts
    /// are smaller than one would think.
    pub const SMALL: u64 = 16 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            packed: 4 << 30,
            unpacked: 12 << 30,
            manifest: 64 << 20,
            entries: 200_000,
            ratio: 250,
        }
    }
}

/// How an archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// `.tar.zst`.
    Zstd,
    /// `.tar.gz`.
    Gzip,
}

impl Compression {
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
