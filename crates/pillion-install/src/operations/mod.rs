//! The operations `bundle.*` and `registry.*`.
//!
//! Which runtime a machine runs and whose signature counts is for people to say, and for the
//! programs that they wrote for it: what changes a store is no tool of agents.

mod change;
mod inspect;
mod registry;

use std::path::PathBuf;

use pillion_bundle::{BundleType, Version};
use pillion_catalogue::{Context, Operations, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use change::{Activate, Gc, InstallBundle, RepairBundles, Rollback};
pub use inspect::{ListBundles, Verify};
pub use registry::{BuildRegistry, Choose, nothing_fits};

use crate::store::VersionFilter;
use crate::{BundleStore, InstallService};

/// All operations of the service.
pub fn operations() -> Operations<InstallService> {
    Operations::default()
        .with::<Verify>()
        .with::<InstallBundle>()
        .with::<Activate>()
        .with::<Rollback>()
        .with::<ListBundles>()
        .with::<Gc>()
        .with::<RepairBundles>()
        .with::<BuildRegistry>()
        .with::<Choose>()
}

/// Which installed bundles are meant.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
// `--version` is that of the bundle here.
#[command(disable_version_flag = true)]
pub struct Selection {
    /// The store; your own if not given.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<PathBuf>,
    /// Only bundles of this type: `python_runtime`, `app_agents`, `experts_shared`, `experts` or
    /// `chapter`.
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<BundleType>,
    /// Only bundles of this scope, such as `core`.
    #[arg(long, value_name = "SCOPE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Only this version.
    #[arg(long = "version", value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Selection {
    fn store(&self, cx: &Context<InstallService>) -> Result<BundleStore> {
        let from = cx.folder()?;
        Ok(cx.service().store(self.store.as_deref(), &from))
    }

    fn which(&self) -> VersionFilter {
        VersionFilter {
            kind: self.kind,
            scope: self.scope.clone(),
            version: self.version.clone(),
        }
    }
}

/// Whose bundles are taken.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct TrustArgs {
    /// Trust this public key, or the file of one, beside those of your `config.toml`. Can be
    /// given several times.
    #[arg(long = "trust", value_name = "PUBLIC_KEY")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trust: Vec<String>,
    /// Take bundles that nobody signed, or somebody unknown.
    #[arg(long)]
    #[serde(default)]
    pub allow_unsigned: bool,
}

/// Bytes as people read them.
pub fn readable_size(count: u64) -> String {
    let mega = count as f64 / 1e6;
    match count {
        0..1000 => format!("{count} bytes"),
        1000..50_000 => format!("{:.0} kB", count as f64 / 1e3),
        _ => format!("{mega:.1} MB"),
    }
}
