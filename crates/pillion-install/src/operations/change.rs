//! What changes a store: `bundle.install`, `activate`, `rollback`, `gc`, `repair`.

use std::path::PathBuf;

use pillion_bundle::paths::excerpt;
use pillion_bundle::{BundleType, Version};
use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope, Streams, commit, work};
use pillion_runtime::managed::ToCaller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inspect::{BundleHealth, BundleState, InstalledBundle};
use super::{Selection, TrustArgs, readable_size};
use crate::InstallService;
use crate::error::Error;
use crate::fetch::{self, ArchiveLocation};
use crate::store::{StoreChange, StoreOutcome, WaitLimit};

/// Check a bundle, install it and make it the active version.
///
/// One that is not signed by a key that you trust is refused. Until the new version is whole and
/// in its place, the old one stays active.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Install")]
#[serde(deny_unknown_fields)]
pub struct InstallBundle {
    /// The archive: a file, or an `https://` address. Its `.minisig` and `.sha256` lie beside it.
    /// Or a registry, by its folder or its `index.json`: the newest artifact that fits is taken.
    #[arg(value_name = "FILE")]
    pub file: String,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its parts say it")]
    pub which: Selection,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its parts say it")]
    pub trust: TrustArgs,
    /// Send progress while it works.
    #[arg(long, hide = true)]
    #[serde(default)]
    pub stream: bool,
}

/// The active version, and what was done.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// What was done.
    pub outcome: ChangeOutcome,
    /// The type.
    pub bundle_type: BundleType,
    /// The scope.
    pub scope_id: String,
    /// The version that is active now.
    pub version: Version,
    /// The version that was active before.
    pub before: Option<Version>,
    /// The folder of the active version.
    pub path: String,
    /// The trusted key that signed it, where it was just installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ChangeOutcome {
    /// A version was installed, and is active.
    Installed,
    /// It was installed already and is whole; it is active now.
    Kept,
    /// Another version became active.
    Switched,
    /// It was active already.
    Unchanged,
}

impl From<StoreChange> for Changed {
    fn from(change: StoreChange) -> Self {
        Self {
            outcome: match change.outcome {
                StoreOutcome::Installed => ChangeOutcome::Installed,
                StoreOutcome::Kept => ChangeOutcome::Kept,
                StoreOutcome::Switched => ChangeOutcome::Switched,
                StoreOutcome::Unchanged => ChangeOutcome::Unchanged,
            },
            bundle_type: change.kind,
            scope_id: change.scope,
            version: change.version,
            before: change.before,
            path: change.path.display().to_string(),
            signed_by: change.signed_by,
        }
    }
}

/// A change in one or two lines.
fn drawn(result: &str) -> Option<String> {
    let changed: Changed = serde_json::from_str(result).ok()?;
    let name = format!(
        "{}/{} {}",
        changed.bundle_type, changed.scope_id, changed.version
    );
    let before = changed.before.as_ref().filter(|v| **v != changed.version);
    let before = before.map_or_else(String::new, |before| format!(", before it {before}"));
    Some(match changed.outcome {
        ChangeOutcome::Installed => {
            let signed = match &changed.signed_by {
                Some(key) => format!("signed by {key}"),
                None => "not signed by anybody you trust".to_owned(),
            };
            let path = &changed.path;
            format!("installed {name}, which is active now{before}\n{signed}\n{path}")
        }
        ChangeOutcome::Kept => format!("{name} is installed already; it is active{before}"),
        ChangeOutcome::Switched => format!("{name} is active now{before}"),
        ChangeOutcome::Unchanged => format!("{name} is active already"),
    })
}

impl Operation for InstallBundle {
    const NAME: &'static str = "bundle.install";
    const SAFETY: Safety = Safety::Write;
    const STREAMS: Streams = Streams::OnRequest;
    const SCOPE: Scope = Scope::Folder;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = InstallService;
    type Output = Changed;

    fn typed(self, json: bool) -> Self {
        Self {
            stream: !json,
            ..self
        }
    }

    fn text(result: &str) -> Option<String> {
        drawn(result)
    }

    async fn run(self, cx: Context<InstallService>) -> Result<Changed> {
        let (limit, progress) = (WaitLimit::of(&cx), ToCaller::of(&cx));
        let from = cx.folder()?;
        let store = self.which.store(&cx)?;
        let mut which = self.which.which();
        let TrustArgs {
            trust,
            allow_unsigned,
        } = self.trust;
        let trust = cx.service().trust(&trust, &from, allow_unsigned)?;
        let mut place = ArchiveLocation::parse(&self.file, &from)?;
        let mut listed = None;
        if place.is_list() {
            let (artifact, about) = fetch::choose(&place, &which).await?;
            // What is not what the list says it is was not asked for.
            which.kind = Some(about.bundle_type);
            which.scope = Some(about.scope_id.clone());
            which.version = Some(about.version.clone());
            (place, listed) = (artifact, Some(about));
        }
        let fetched = fetch::fetch(&place, listed, &store, &trust, limit, &progress).await?;
        let lock = store.lock(limit, &progress).await?;
        commit(move || {
            let installed = store.install(&lock, &fetched.source, &trust, &which, &progress);
            // What was refused would be refused again.
            if matches!(installed, Ok(_) | Err(Error::Refused { .. })) {
                fetched.done();
            }
            Ok(installed?.into())
        })
        .await?
    }
}

/// An operation that makes another installed version the active one: what it says about itself, its
/// names, and what the store does.
macro_rules! switch_operation {
    ($(#[$about:meta])* $type:ident, $name:literal, $switch:ident) => {
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
        $(#[$about])*
        #[serde(deny_unknown_fields)]
        pub struct $type {
            #[command(flatten)]
            #[serde(flatten)]
            #[expect(missing_docs, reason = "its parts say it")]
            pub which: Selection,
            /// Send progress while it works.
            #[arg(long, hide = true)]
            #[serde(default)]
            pub stream: bool,
        }

        impl Operation for $type {
            const NAME: &'static str = $name;
            const SAFETY: Safety = Safety::Write;
            const STREAMS: Streams = Streams::OnRequest;
            const SCOPE: Scope = Scope::Folder;
            const OFFER: Offer = Offer::PLAIN.no_tool();
            type Service = InstallService;
            type Output = Changed;

            fn typed(self, json: bool) -> Self {
                Self {
                    stream: !json,
                    ..self
                }
            }

            fn text(result: &str) -> Option<String> {
                drawn(result)
            }

            async fn run(self, cx: Context<InstallService>) -> Result<Changed> {
                let (limit, progress) = (WaitLimit::of(&cx), ToCaller::of(&cx));
                let (store, which) = (self.which.store(&cx)?, self.which.which());
                let lock = store.lock_there(limit, &progress).await?;
                commit(move || Ok(store.$switch(&lock, &which)?.into())).await?
            }
        }
    };
}

switch_operation!(
    /// Make an installed version the active one: the newest, unless one is named.
    Activate,
    "bundle.activate",
    activate
);

switch_operation!(
    /// Make the version active that was so before.
    Rollback,
    "bundle.rollback",
    rollback
);

/// Remove versions that are not active, but for those that were so last, and leftovers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Gc {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its parts say it")]
    pub which: Selection,
    /// Keep so many versions that were active before, to go back to.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[serde(default = "one")]
    pub keep: usize,
    /// Only tell what would be removed.
    #[arg(long)]
    #[serde(default)]
    pub dry_run: bool,
    /// Send progress while it works.
    #[arg(long, hide = true)]
    #[serde(default)]
    pub stream: bool,
}

fn one() -> usize {
    1
}

/// What was removed, or would be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GcReport {
    /// Nothing was removed: this is what would be.
    pub dry_run: bool,
    /// Versions that are gone.
    pub removed: Vec<InstalledBundle>,
    /// Versions that stay because a process runs from them.
    pub in_use: Vec<InstalledBundle>,
    /// Archives and leftovers that are gone.
    pub others: Vec<String>,
    /// How many bytes all of them had.
    pub bytes: u64,
}

impl Operation for Gc {
    const NAME: &'static str = "bundle.gc";
    const SAFETY: Safety = Safety::Write;
    const STREAMS: Streams = Streams::OnRequest;
    const SCOPE: Scope = Scope::Folder;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = InstallService;
    type Output = GcReport;

    fn typed(self, json: bool) -> Self {
        Self {
            stream: !json,
            ..self
        }
    }

    fn text(result: &str) -> Option<String> {
        let report: GcReport = serde_json::from_str(result).ok()?;
        let word = match report.dry_run {
            true => "would remove",
            false => "removed",
        };
        let mut lines: Vec<String> = Vec::new();
        lines.extend(
            report
                .removed
                .iter()
                .map(|one| format!("{word} {}", one.title())),
        );
        lines.extend(report.others.iter().map(|path| format!("{word} {path}")));
        let in_use = report.in_use.iter();
        lines.extend(in_use.map(|one| format!("kept {}: a process runs from it", one.title())));
        lines.push(format!("{word} {} in all", readable_size(report.bytes)));
        Some(lines.join("\n"))
    }

    async fn run(self, cx: Context<InstallService>) -> Result<GcReport> {
        let (limit, progress) = (WaitLimit::of(&cx), ToCaller::of(&cx));
        let (store, which) = (self.which.store(&cx)?, self.which.which());
        let (keep, dry_run) = (self.keep, self.dry_run);
        // Where there is no store, none is made.
        let lock = match !dry_run && store.root().is_dir() {
            true => Some(store.lock(limit, &progress).await?),
            false => None,
        };
        let collect = move || {
            let done = store.collect(lock.as_ref(), &which, keep)?;
            let versions = done.versions.iter();
            let others = done.others.iter();
            Ok(GcReport {
                dry_run,
                removed: versions.map(|one| (&one.entry).into()).collect(),
                in_use: done.in_use.iter().map(Into::into).collect(),
                others: others.map(|path| path.display().to_string()).collect(),
                bytes: done.bytes,
            })
        };
        match dry_run {
            true => work(move |_| collect()).await?,
            false => commit(collect).await?,
        }
    }
}

/// Make damaged bundles whole again, from the archives that they came in.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Repair")]
#[serde(deny_unknown_fields)]
pub struct RepairBundles {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its parts say it")]
    pub which: Selection,
    /// Send progress while it works.
    #[arg(long, hide = true)]
    #[serde(default)]
    pub stream: bool,
}

/// How each bundle is now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RepairReport {
    /// Whether all are whole, and in the list of what is installed.
    pub ok: bool,
    /// The bundles that were looked at.
    pub bundles: Vec<BundleHealth>,
    /// Folders of bundles that are not in the list: the archive that each came in is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
    /// Folders of bundles of types that this pillion does not know and that the list has lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl Operation for RepairBundles {
    const NAME: &'static str = "bundle.repair";
    const SAFETY: Safety = Safety::Write;
    const STREAMS: Streams = Streams::OnRequest;
    const SCOPE: Scope = Scope::Folder;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = InstallService;
    type Output = RepairReport;

    fn typed(self, json: bool) -> Self {
        Self {
            stream: !json,
            ..self
        }
    }

    fn is_failure(result: &str) -> bool {
        serde_json::from_str::<RepairReport>(result).is_ok_and(|report| !report.ok)
    }

    fn text(result: &str) -> Option<String> {
        let report: RepairReport = serde_json::from_str(result).ok()?;
        let mut lines: Vec<String> = report.bundles.iter().map(BundleHealth::drawn).collect();
        lines.extend(report.unlisted.iter().map(|folder| {
            format!(
                "{folder} is not in the list: the archive that it came in is gone\nhint: install \
                 it again: `pillion bundle install FILE`"
            )
        }));
        lines.extend(report.unknown.iter().map(|folder| {
            let folder = excerpt(folder);
            format!(
                "{folder} is not in the list any more, and is of a type that this pillion does not \
                 know\nhint: install it again with the program that installed it"
            )
        }));
        Some(lines.join("\n"))
    }

    async fn run(self, cx: Context<InstallService>) -> Result<RepairReport> {
        let (limit, progress) = (WaitLimit::of(&cx), ToCaller::of(&cx));
        let (store, which) = (self.which.store(&cx)?, self.which.which());
        let lock = store.lock_there(limit, &progress).await?;
        commit(move || {
            let mended = store.repair(&lock, &which, &progress)?;
            let bundles: Vec<BundleHealth> = mended.bundles.iter().map(Into::into).collect();
            let shown = |folders: &[PathBuf]| -> Vec<String> {
                let folders = folders.iter();
                folders.map(|one| one.display().to_string()).collect()
            };
            let (unlisted, unknown) = (shown(&mended.unlisted), shown(&mended.unknown));
            let is_whole = |one: &BundleHealth| one.state != BundleState::Damaged;
            Ok(RepairReport {
                ok: unlisted.is_empty() && unknown.is_empty() && bundles.iter().all(is_whole),
                bundles,
                unlisted,
                unknown,
            })
        })
        .await?
    }
}
