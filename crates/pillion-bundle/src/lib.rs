//! Bundles: the format, without any files of its own.
//!
//! # Theory of operation
//!
//! A bundle is a tar archive, compressed with zstd or gzip, whose first entry is a manifest
//! ([`Manifest`]) that lists every other entry with its size, mode and hash. Beside it lie a
//! checksum and a minisign signature of the whole archive ([`signature`]).
//!
//! - [`write()`] makes an archive from a manifest and the contents it lists. The same manifest and
//!   contents give the same bytes: entries are sorted, and owner, modes and times are fixed.
//! - [`read()`] checks an archive while it goes through it once, and hands over one file after the
//!   other ([`Sink`]). The manifest comes first, so nothing has to be believed before it is
//!   checked: no entry is larger than it said, and what it did not list is refused.
//! - [`paths`] says which paths are safe, and [`BundleLimits`] how much there may be.
//! - [`registry`] is the list of artifacts that a host offers, and the choice among them;
//!   [`ActiveIndex`] is the list of what is installed.
//!
//! Everything that is refused has an [`Error`] of its own, with a stable word for programs
//! ([`Error::reason`]).
//!
//! Invariant: nothing here opens a file, a socket or a clock. Archives are readers and writers
//! that a caller brings.

mod archive;
mod by_type;
mod digest;
mod entry;
mod error;
mod index;
mod limits;
mod manifest;
pub mod paths;
mod platform;
pub mod registry;
pub mod signature;
mod strict_json;
mod version;

pub use archive::{Compression, NoSink, Sink, Verified, read, write};
pub use by_type::ByType;
pub use digest::{Digest, Hashing, Sha256, checksum_line, parse_checksum};
pub use entry::{BundleFile, BundleLink, BundleType, FileMode};
pub use error::{Error, Result};
pub use index::{Active, ActiveIndex, Installed, UnknownBundle};
pub use limits::BundleLimits;
pub use manifest::{
    ChapterManifest, ContentManifest, FORMAT_VERSION, Manifest, PythonPart, RuntimeManifest,
    SidecarPart,
};
pub use platform::Platform;
pub use version::Version;
