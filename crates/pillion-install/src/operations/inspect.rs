//! `bundle.list` and `bundle.verify`: what is installed, and whether it is whole.

use pillion_bundle::paths::shown;
use pillion_bundle::{BundleType, Digest, Platform, UnknownBundle, Version};
use pillion_catalogue::{Context, Operation, Result, Safety, Scope, Streams, work};
use pillion_runtime::managed::ToCaller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Selection, TrustArgs, readable_size};
use crate::InstallService;
use crate::fetch::ArchiveLocation;
use crate::store::{self, ArchiveFile, Expected, InstalledVersion, VersionHealth, VersionState};

/// List the bundles that are installed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "List")]
#[serde(deny_unknown_fields)]
pub struct ListBundles {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its parts say it")]
    pub which: Selection,
}

/// What is installed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Listed")]
pub struct ListedBundles {
    /// The store.
    pub store: String,
    /// Every version, by type and scope.
    pub bundles: Vec<InstalledBundle>,
    /// What other programs installed of types that this pillion does not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownType>,
}

/// What is installed of a type that this pillion does not know.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UnknownType {
    /// Its type.
    pub bundle_type: String,
    /// Its scope, if there are scopes.
    pub scope_id: Option<String>,
    /// Its active version, if it says one.
    pub version: Option<String>,
}

impl From<UnknownBundle> for UnknownType {
    fn from(one: UnknownBundle) -> Self {
        Self {
            bundle_type: one.bundle_type,
            scope_id: one.scope_id,
            version: one.version,
        }
    }
}

impl UnknownType {
    fn drawn(&self) -> String {
        let mut title = shown(&self.bundle_type);
        if let Some(scope) = &self.scope_id {
            title += &format!("/{}", shown(scope));
        }
        if let Some(version) = &self.version {
            title += &format!(" {}", shown(version));
        }
        format!("{title:40} unknown  a type of a newer pillion or of another program")
    }
}

/// A version that is installed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InstalledBundle {
    /// Its type.
    pub bundle_type: BundleType,
    /// Its scope.
    pub scope_id: String,
    /// Its version.
    pub version: Version,
    /// Whether it is the active one.
    pub active: bool,
    /// Whether a rollback would go to it.
    pub previous: bool,
    /// Its folder.
    pub path: String,
    /// The hash of its archive.
    pub sha256: Digest,
    /// When it was installed.
    pub installed_at: String,
}

impl From<&InstalledVersion> for InstalledBundle {
    fn from(entry: &InstalledVersion) -> Self {
        Self {
            bundle_type: entry.kind,
            scope_id: entry.scope.clone(),
            version: entry.version.clone(),
            active: entry.active,
            previous: entry.previous,
            path: entry.path.display().to_string(),
            sha256: entry.sha256.clone(),
            installed_at: entry.installed_at.clone(),
        }
    }
}

impl InstalledBundle {
    pub(super) fn title(&self) -> String {
        format!("{}/{} {}", self.bundle_type, self.scope_id, self.version)
    }
}

impl Operation for ListBundles {
    const NAME: &'static str = "bundle.list";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    type Service = InstallService;
    type Output = ListedBundles;

    fn text(result: &str) -> Option<String> {
        let listed: ListedBundles = serde_json::from_str(result).ok()?;
        if listed.bundles.is_empty() && listed.unknown.is_empty() {
            return Some(format!("no bundles are installed in {}", listed.store));
        }
        let lines = listed.bundles.iter().map(|bundle| {
            let mark = match (bundle.active, bundle.previous) {
                (true, _) => "active",
                (_, true) => "previous",
                _ => "",
            };
            format!("{:40} {mark:8} {}", bundle.title(), bundle.path)
        });
        let unknown = listed.unknown.iter().map(UnknownType::drawn);
        Some(lines.chain(unknown).collect::<Vec<_>>().join("\n"))
    }

    async fn run(self, cx: Context<InstallService>) -> Result<ListedBundles> {
        let store = self.which.store(&cx)?;
        let which = self.which.which();
        work(move |_| {
            let entries = store.list(&which)?;
            Ok(ListedBundles {
                store: store.root().display().to_string(),
                bundles: entries.iter().map(InstalledBundle::from).collect(),
                unknown: store.unknown(&which)?.into_iter().map(Into::into).collect(),
            })
        })
        .await?
    }
}

/// Check an archive of a bundle, or every byte of those that are installed. Changes nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// The archive; what is installed if not given.
    #[arg(value_name = "FILE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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

/// What was looked at, and how it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// Whether all is well.
    pub ok: bool,
    /// The archive, if one was checked. One that is not well is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<VerifiedArchive>,
    /// The installed bundles that were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bundles: Vec<BundleHealth>,
    /// What was not looked at: only newer pillions or other programs know its type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownType>,
}

/// An archive that is what it says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedArchive {
    /// Its type.
    pub bundle_type: BundleType,
    /// Its scope.
    pub scope_id: String,
    /// Its version.
    pub version: Version,
    /// The platform that it is for, if not for all.
    pub platform: Option<Platform>,
    /// The hash of the archive.
    pub sha256: Digest,
    /// The size of the archive.
    pub size_bytes: u64,
    /// The size of its files.
    pub unpacked_bytes: u64,
    /// How many files it has.
    pub files: usize,
    /// The trusted key that signed it; null where unsigned ones are taken.
    pub signed_by: Option<String>,
}

/// How an installed bundle is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BundleHealth {
    /// Which one.
    #[serde(flatten)]
    pub bundle: InstalledBundle,
    /// How it is.
    pub state: BundleState,
    /// What is or was wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How an installed bundle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum BundleState {
    /// As it was installed.
    Whole,
    /// It was damaged, and is whole again.
    Repaired,
    /// It is damaged.
    Damaged,
}

impl From<&VersionHealth> for BundleHealth {
    fn from(health: &VersionHealth) -> Self {
        let (state, problem, hint) = match &health.state {
            VersionState::Whole => (BundleState::Whole, None, None),
            VersionState::Repaired(damage) => {
                (BundleState::Repaired, Some(damage.to_string()), None)
            }
            VersionState::Damaged(damage) => {
                let (what, hint) = (damage.to_string(), damage.hint());
                (BundleState::Damaged, Some(what), Some(hint))
            }
            VersionState::Beyond(damage, why) => {
                let what = format!("{damage}\nit cannot be repaired: {why}");
                (BundleState::Damaged, Some(what), Some(why.hint()))
            }
        };
        Self {
            bundle: (&health.entry).into(),
            state,
            problem,
            hint,
        }
    }
}

impl BundleHealth {
    pub(super) fn drawn(&self) -> String {
        let word = match self.state {
            BundleState::Whole => "whole",
            BundleState::Repaired => "repaired",
            BundleState::Damaged => "damaged",
        };
        let mut text = format!("{:40} {word}", self.bundle.title());
        if let Some(problem) = &self.problem {
            text += &format!("\n{problem}");
        }
        if let Some(hint) = &self.hint {
            text += &format!("\nhint: {hint}");
        }
        text
    }
}

impl Operation for Verify {
    const NAME: &'static str = "bundle.verify";
    const SAFETY: Safety = Safety::Read;
    const STREAMS: Streams = Streams::OnRequest;
    const SCOPE: Scope = Scope::Folder;
    type Service = InstallService;
    type Output = VerifyReport;

    fn typed(self, json: bool) -> Self {
        Self {
            stream: !json,
            ..self
        }
    }

    fn is_failure(result: &str) -> bool {
        serde_json::from_str::<VerifyReport>(result).is_ok_and(|report| !report.ok)
    }

    fn text(result: &str) -> Option<String> {
        let report: VerifyReport = serde_json::from_str(result).ok()?;
        if let Some(archive) = report.archive {
            let platform = archive.platform.map(|platform| format!(" for {platform}"));
            let signed = match &archive.signed_by {
                Some(key) => format!("signed by {key}"),
                None => "not signed by anybody you trust".to_owned(),
            };
            return Some(format!(
                "{}/{} {}{}: {} files, {} in {}\n{signed}\nsha256 {}",
                archive.bundle_type,
                archive.scope_id,
                archive.version,
                platform.unwrap_or_default(),
                archive.files,
                readable_size(archive.unpacked_bytes),
                readable_size(archive.size_bytes),
                archive.sha256
            ));
        }
        let lines = report.bundles.iter().map(BundleHealth::drawn);
        let unknown = report.unknown.iter().map(UnknownType::drawn);
        Some(lines.chain(unknown).collect::<Vec<_>>().join("\n"))
    }

    async fn run(self, cx: Context<InstallService>) -> Result<VerifyReport> {
        let progress = ToCaller::of(&cx);
        let which = self.which.which();
        let Some(file) = self.file else {
            let store = self.which.store(&cx)?;
            return work(move |_| {
                let all = store.verify(&which, &progress)?;
                let unknown = store.unknown(&which)?;
                Ok(VerifyReport {
                    ok: all
                        .iter()
                        .all(|one| matches!(one.state, VersionState::Whole)),
                    archive: None,
                    bundles: all.iter().map(BundleHealth::from).collect(),
                    unknown: unknown.into_iter().map(Into::into).collect(),
                })
            })
            .await?;
        };
        let from = cx.folder()?;
        let (trust, allow) = (self.trust.trust, self.trust.allow_unsigned);
        let trust = cx.service().trust(&trust, &from, allow)?;
        let path = match ArchiveLocation::parse(&file, &from)? {
            ArchiveLocation::File(path) => path,
            ArchiveLocation::Url(_) => {
                let what = "an archive is checked when it is here".to_owned();
                let hint = "`pillion bundle install` checks what it downloads".to_owned();
                return Err(crate::error::Error::Input { what, hint }.into());
            }
        };
        work(move |_| {
            let source = ArchiveFile::beside(&path)?;
            let expected = Expected {
                kind: which.kind,
                scope: which.scope,
                version: which.version,
                platform: None,
            };
            let checked = store::check(&source, &trust, &expected, &progress)?;
            let verified = checked.verified;
            let manifest = &verified.manifest;
            Ok(VerifyReport {
                ok: true,
                bundles: Vec::new(),
                unknown: Vec::new(),
                archive: Some(VerifiedArchive {
                    bundle_type: manifest.bundle_type(),
                    scope_id: manifest.scope_id().to_owned(),
                    version: manifest.version().clone(),
                    platform: manifest.platform(),
                    unpacked_bytes: manifest.size(),
                    files: manifest.files().len(),
                    sha256: verified.sha256,
                    size_bytes: verified.size_bytes,
                    signed_by: checked.signed_by,
                }),
            })
        })
        .await?
    }
}
