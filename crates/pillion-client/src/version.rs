//! What a daemon says about itself.

use serde::{Deserialize, Serialize};

/// What the daemon says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonVersion {
    /// Its version, such as `0.1.0`.
    pub version: String,
    /// `json-rpc-2.0`.
    #[serde(default)]
    pub protocol: String,
    /// `unix-socket`.
    #[serde(default)]
    pub transport: String,
    /// The hash of its operations' schemas.
    #[serde(default)]
    pub contract: String,
}
