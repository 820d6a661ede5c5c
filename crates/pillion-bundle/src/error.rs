//! Why a bundle is refused: one variant for each reason.

use std::io;

/// What fallible functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a bundle is refused.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says itself what it is about")]
pub enum Error {
    #[error("cannot read the archive: {0}")]
    Read(#[source] io::Error),
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    #[error("this is neither a .tar.zst nor a .tar.gz archive")]
    UnknownFormat,
    #[error("the archive ends too early")]
    Truncated,
    #[error("the archive is damaged: {0}")]
    Broken(String),
    #[error("something follows the end of the archive")]
    TrailingData,
    #[error("{what} is larger than {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    #[error("there are more than {limit} entries")]
    TooMany { limit: usize },
    #[error("{unpacked} bytes come out of {packed}: this archive is made to fill a disk")]
    Bomb { unpacked: u64, packed: u64 },

    #[error("`{path}` is an absolute path")]
    AbsolutePath { path: String },
    #[error("`{path}` leads out of the bundle")]
    Traversal { path: String },
    #[error("`{path}` is no path of a bundle: {why}")]
    BadPath { path: String, why: &'static str },
    #[error("`{path}` is longer than {limit} bytes")]
    LongPath { path: String, limit: usize },
    #[error("`{path}` has a name that Windows keeps for itself")]
    ReservedName { path: String },
    #[error("`{path}` is there twice")]
    Duplicate { path: String },
    #[error("`{path}` and `{other}` are the same name where capitals do not count")]
    CaseCollision { path: String, other: String },
    #[error("`{path}` is below `{parent}`, which is no folder")]
    BelowFile { path: String, parent: String },
    #[error("the link `{path}` leads out of the bundle, to `{target}`")]
    LinkOutside { path: String, target: String },
    #[error("the link `{path}` leads nowhere: `{target}`")]
    DanglingLink { path: String, target: String },
    #[error("`{path}` is a link, which a bundle of this kind has not")]
    LinkNotAllowed { path: String },
    #[error("`{path}` is a hard link")]
    HardLink { path: String },
    #[error("`{path}` is neither a file nor a folder nor a link")]
    SpecialFile { path: String },

    #[error("the archive does not begin with a manifest")]
    NoManifest,
    #[error("the manifest is wrong: {0}")]
    InvalidManifest(String),
    #[error("the manifest has format `{found}`, and only `{expected}` is known")]
    FormatVersion {
        found: String,
        expected: &'static str,
    },
    #[error("`{path}` is not in the manifest")]
    Unlisted { path: String },
    #[error("`{path}` is missing")]
    Missing { path: String },
    #[error("`{path}` has {found} bytes and should have {expected}")]
    FileSize {
        path: String,
        expected: u64,
        found: u64,
    },
    #[error("`{path}` is not what the manifest says: its hash is another")]
    FileHash { path: String },
    #[error("`{path}` has mode {found} and should have {expected}")]
    FileMode {
        path: String,
        expected: String,
        found: String,
    },
    #[error("the link `{path}` leads to `{found}` and should lead to `{expected}`")]
    LinkTarget {
        path: String,
        expected: String,
        found: String,
    },
    #[error("the hash of the whole tree is not the one of the manifest")]
    TreeHash,

    #[error("the archive is not the one of its checksum")]
    ArchiveHash,
    #[error("the checksum beside the archive cannot be read: {0}")]
    Checksum(String),
    #[error("the bundle is not signed")]
    Unsigned,
    #[error("the signature cannot be read: {0}")]
    InvalidSignature(String),
    #[error("no key that you trust made the signature")]
    UnknownKey,
    #[error("the signature does not belong to this archive: one of them was changed")]
    WrongSignature,
    #[error("this is no key: {0}")]
    InvalidKey(String),
    #[error("`{path}` is a secret key: who has it can sign in your name")]
    SecretKey { path: String },
    #[error("the bundle is for {found}, and this is {expected}")]
    Platform { found: String, expected: String },
    #[error("this is {found}, and {expected} was asked for")]
    Unexpected { found: String, expected: String },
}

impl Error {
    /// The stable word that programs branch on.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Read(_) => "unreadable",
            Self::Write(_) => "write_failed",
            Self::UnknownFormat => "unknown_format",
            Self::Truncated => "truncated",
            Self::Broken(_) => "broken_archive",
            Self::TrailingData => "trailing_data",
            Self::TooLarge { .. } => "too_large",
            Self::TooMany { .. } => "too_many_entries",
            Self::Bomb { .. } => "bomb",
            Self::AbsolutePath { .. } => "absolute_path",
            Self::Traversal { .. } => "path_traversal",
            Self::BadPath { .. } => "bad_path",
            Self::LongPath { .. } => "long_path",
            Self::ReservedName { .. } => "reserved_name",
            Self::Duplicate { .. } => "duplicate_path",
            Self::CaseCollision { .. } => "case_collision",
            Self::BelowFile { .. } => "below_file",
            Self::LinkOutside { .. } => "link_outside",
            Self::DanglingLink { .. } => "dangling_link",
            Self::LinkNotAllowed { .. } => "link_not_allowed",
            Self::HardLink { .. } => "hard_link",
            Self::SpecialFile { .. } => "special_file",
            Self::NoManifest => "no_manifest",
            Self::InvalidManifest(_) => "invalid_manifest",
            Self::FormatVersion { .. } => "format_version",
            Self::Unlisted { .. } => "unlisted_file",
            Self::Missing { .. } => "missing_file",
            Self::FileSize { .. } => "file_size",
            Self::FileHash { .. } => "file_hash",
            Self::FileMode { .. } => "file_mode",
            Self::LinkTarget { .. } => "link_target",
            Self::TreeHash => "tree_hash",
            Self::ArchiveHash => "archive_hash",
            Self::Checksum(_) => "invalid_checksum",
            Self::Unsigned => "unsigned",
            Self::InvalidSignature(_) => "invalid_signature",
            Self::UnknownKey => "unknown_key",
            Self::WrongSignature => "wrong_signature",
            Self::InvalidKey(_) => "invalid_key",
            Self::SecretKey { .. } => "secret_key",
            Self::Platform { .. } => "wrong_platform",
            Self::Unexpected { .. } => "unexpected_bundle",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read(_) | Self::Write(_) => "look at the disk and its permissions",
            Self::UnknownFormat | Self::NoManifest | Self::FormatVersion { .. } => {
                "make the bundle with `pillion bundle build`, of this pillion or a newer one"
            }
            Self::Truncated | Self::Broken(_) | Self::ArchiveHash => {
                "get the archive again from where it came from"
            }
            Self::Unsigned => {
                "get its `.minisig` file; `--allow-unsigned` takes the bundle without one"
            }
            Self::UnknownKey => {
                "if you know whose key it is, name its public key with `--trust` or in your \
                 `config.toml`"
            }
            Self::InvalidSignature(_) | Self::WrongSignature | Self::Checksum(_) => {
                "get the archive and its signature again; do not use this one"
            }
            Self::InvalidKey(_) => "name a key file that `pillion bundle keygen` wrote",
            Self::Platform { .. } => "get the bundle for this platform",
            Self::CaseCollision { .. } | Self::DanglingLink { .. } | Self::LinkOutside { .. } => {
                "leave one out of the bundle: `pillion bundle build --exclude PATH`"
            }
            _ => "do not use this bundle; get another one from where it came from",
        }
    }
}
