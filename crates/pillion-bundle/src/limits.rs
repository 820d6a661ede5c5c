//! How much there may be in a bundle.

/// How much there may be. What goes over is refused before it is unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleLimits {
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

impl BundleLimits {
    /// So many bytes may come out of an archive whatever its ratio: small archives of texts
    /// are smaller than one would think.
    pub const SMALL: u64 = 16 << 20;
}

impl Default for BundleLimits {
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
