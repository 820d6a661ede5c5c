//! `registry.build` and `registry.choose`: the list of a folder of artifacts, and the choice
//! that a desktop would get.

use std::path::PathBuf;

use pillion_bundle::registry::{ArtifactQuery, Offered};
use pillion_bundle::{BundleType, Platform, Version};
use pillion_catalogue::{
    Code, Context, Error, Offer, Operation, Result, Safety, Scope, Streams, commit, work,
};
use pillion_runtime::managed::ToCaller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TrustArgs, readable_size};
use crate::{InstallService, registry};

/// Check every artifact of a folder, and write the `index.json` that a host serves with them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct BuildRegistry {
    /// The folder of the artifacts.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its parts say it")]
    pub trust: TrustArgs,
    /// Desktops must take this version. Can be given several times.
    #[arg(long = "mandatory", value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mandatory: Vec<Version>,
    /// Only check, and write nothing.
    #[arg(long)]
    #[serde(default)]
    pub dry_run: bool,
    /// Send progress while it works.
    #[arg(long, hide = true)]
    #[serde(default)]
    pub stream: bool,
}

/// What is in the list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RegistryBuilt {
    /// The list's file.
    pub index: String,
    /// Nothing was written.
    pub dry_run: bool,
    /// The artifacts, sorted.
    pub bundles: Vec<ListedArtifact>,
}

/// An artifact of the list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListedArtifact {
    /// Its type.
    pub bundle_type: BundleType,
    /// Its scope.
    pub scope_id: String,
    /// Its version.
    pub version: Version,
    /// The platform that it is for, if not for all.
    pub platform: Option<Platform>,
    /// Its file.
    pub artifact_url: String,
    /// Its size.
    pub size_bytes: u64,
    /// Whether desktops must take it.
    pub mandatory: bool,
}

impl Operation for BuildRegistry {
    const NAME: &'static str = "registry.build";
    const SAFETY: Safety = Safety::Write;
    const STREAMS: Streams = Streams::OnRequest;
    const SCOPE: Scope = Scope::Folder;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = InstallService;
    type Output = RegistryBuilt;

    fn typed(self, json: bool) -> Self {
        Self {
            stream: !json,
            ..self
        }
    }

    fn text(result: &str) -> Option<String> {
        let built: RegistryBuilt = serde_json::from_str(result).ok()?;
        let mut lines: Vec<String> = built
            .bundles
            .iter()
            .map(|one| {
                let platform = one.platform.map_or("all platforms", Platform::as_str);
                let must = if one.mandatory { ", mandatory" } else { "" };
                let (kind, scope, size) = (
                    one.bundle_type,
                    &one.scope_id,
                    readable_size(one.size_bytes),
                );
                format!(
                    "{kind}/{scope} {} for {platform}: {} ({size}{must})",
                    one.version, one.artifact_url
                )
            })
            .collect();
        lines.push(match built.dry_run {
            true => format!("would write {}", built.index),
            false => format!("wrote {}", built.index),
        });
        Some(lines.join("\n"))
    }

    async fn run(self, cx: Context<InstallService>) -> Result<RegistryBuilt> {
        let from = cx.folder()?;
        let folder = from.join(&self.folder);
        let TrustArgs {
            trust,
            allow_unsigned,
        } = self.trust;
        let trust = cx.service().trust(&trust, &from, allow_unsigned)?;
        let progress = ToCaller::of(&cx);
        let (mandatory, dry_run) = (self.mandatory, self.dry_run);
        let build = move || {
            let built = registry::build(&folder, &trust, &mandatory, dry_run, &progress)?;
            let bundles = built.bundles.into_iter().map(|one| ListedArtifact {
                bundle_type: one.bundle_type,
                scope_id: one.scope_id,
                version: one.version,
                platform: one.platform,
                artifact_url: one.artifact_url,
                size_bytes: one.size_bytes,
                mandatory: one.mandatory,
            });
            Ok(RegistryBuilt {
                index: folder
                    .join(pillion_bundle::registry::NAME)
                    .display()
                    .to_string(),
                dry_run,
                bundles: bundles.collect(),
            })
        };
        match dry_run {
            true => work(move |_| build()).await?,
            false => commit(build).await?,
        }
    }
}

/// Tell which artifact of a folder a desktop would get.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    /// The folder of the artifacts, with its `index.json`.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The type of bundle.
    #[arg(long = "type", value_name = "TYPE", default_value_t = BundleType::PythonRuntime)]
    #[serde(default = "runtime", rename = "type")]
    pub kind: BundleType,
    /// The scope, if it matters.
    #[arg(long, value_name = "SCOPE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The platform of the desktop, such as `macos-arm64`; this one if not given.
    #[arg(long, value_name = "PLATFORM")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// The version of the desktop; what needs a newer one is not chosen.
    #[arg(long, value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop_version: Option<Version>,
    /// Versions before a release will do.
    #[arg(long)]
    #[serde(default)]
    pub pre_releases: bool,
}

fn runtime() -> BundleType {
    BundleType::PythonRuntime
}

impl Operation for Choose {
    const NAME: &'static str = "registry.choose";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    type Service = InstallService;
    type Output = Offered;

    async fn run(self, cx: Context<InstallService>) -> Result<Offered> {
        let folder = cx.folder()?.join(&self.folder);
        work(move |_| {
            let registry = registry::read(&folder)?;
            let question = ArtifactQuery {
                bundle_type: self.kind,
                scope_id: self.scope.as_deref(),
                platform: self.platform.or_else(Platform::here),
                desktop_version: self.desktop_version.as_ref(),
                pre_releases: self.pre_releases,
                compression: None,
            };
            let chosen = registry.choose(&question);
            let chosen = chosen.ok_or_else(|| nothing_fits(&question))?;
            let mut offered = Offered::of(chosen, "");
            offered.artifact_url = folder.join(chosen.file_name()).display().to_string();
            Ok(offered)
        })
        .await?
    }
}

/// No artifact is for this desktop.
pub fn nothing_fits(question: &ArtifactQuery<'_>) -> Error {
    let platform = question.platform.map_or("any platform", Platform::as_str);
    let desktop = question.desktop_version;
    let desktop = desktop.map_or_else(String::new, |version| format!(" and desktop {version}"));
    let message = format!("no {} is for {platform}{desktop}", question.bundle_type);
    Error::new(Code::NotFound, message)
        .hint("`pillion registry build DIR` lists what there is, and for which platforms")
}
