//! `kernel.api`, `kernel.specs` and `kernel.spec`: what kinds of kernels there are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pillion_catalogue::{
    Code, Context, Error, Method, Offer, Operation, Result, Route, Safety, Scope,
};
use pillion_kernel::{InstalledSpec, InterruptMode, KernelSpec, PYTHON, SearchPath, Unreadable};
use pillion_lanes::Whereabouts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::NotebookService;
use crate::service::variable;

/// What people see of the kernel that pillion brings along.
const DISPLAY_NAME: &str = "Python (pillion, sandboxed)";
/// The version of Jupyter Server whose API for kernels is spoken here.
const VERSION: &str = "2.14.0";

/// Tell which version of Jupyter's API for kernels is spoken.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Api {}

/// Which API is spoken.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ApiVersion {
    /// That of the Jupyter Server whose API it is.
    pub version: String,
    /// That of pillion.
    pub pillion: String,
}

impl Operation for Api {
    const NAME: &'static str = "kernel.api";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::new(Method::Get, "/api")]);
    type Service = NotebookService;
    type Output = ApiVersion;

    async fn run(self, _: Context<NotebookService>) -> Result<ApiVersion> {
        Ok(ApiVersion {
            version: VERSION.to_owned(),
            pillion: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

/// Tell what kinds of kernels there are: pillion's own, and the kernelspecs of Jupyter.
///
/// They are looked for where Jupyter does: in `JUPYTER_PATH`, the user's data folder, that of the
/// project's Python, and those of the machine. Earlier ones win.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Specs")]
pub struct ListKernelSpecs {}

/// The kinds there are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SpecsReport {
    /// The one that is meant where none is named.
    pub default: String,
    /// By name.
    pub kernelspecs: BTreeMap<String, SpecEntry>,
    /// What was found and cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Unreadable>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SpecEntry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub spec: KernelSpec,
    /// The folder that it was found in; pillion's own is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_dir: Option<PathBuf>,
    /// Pictures and the like: there are none.
    pub resources: BTreeMap<String, String>,
}

impl SpecEntry {
    /// What pillion brings along.
    pub(super) fn python() -> Self {
        let argv = ["pillion", "kernel", "launch", "-f", "{connection_file}"];
        Self {
            name: PYTHON.to_owned(),
            spec: KernelSpec {
                argv: argv.map(ToOwned::to_owned).into(),
                display_name: DISPLAY_NAME.to_owned(),
                language: "python".to_owned(),
                interrupt_mode: InterruptMode::Message,
                env: BTreeMap::new(),
                metadata: Map::from_iter([("debugger".to_owned(), false.into())]),
            },
            resource_dir: None,
            resources: BTreeMap::new(),
        }
    }

    fn found(found: InstalledSpec) -> Self {
        Self {
            name: found.name,
            spec: found.spec,
            resource_dir: Some(found.folder),
            resources: BTreeMap::new(),
        }
    }
}

impl SpecsReport {
    /// What the caller can name here.
    async fn for_caller(cx: &Context<NotebookService>) -> Result<Self> {
        let search = SearchPath::of(|name| variable(cx, name));
        let whereabouts = Whereabouts::of_caller(cx)?;
        let specs = cx.service().kernels().specs(whereabouts, &search).await?;
        let found = specs.found.into_values().map(SpecEntry::found);
        // Its own name means pillion's own kernel, whatever else has it.
        let all = found.chain([SpecEntry::python()]);
        Ok(Self {
            default: PYTHON.to_owned(),
            kernelspecs: all.map(|entry| (entry.name.clone(), entry)).collect(),
            unreadable: specs.unreadable,
        })
    }
}

impl Operation for ListKernelSpecs {
    const NAME: &'static str = "kernel.specs";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::new(Method::Get, "/api/kernelspecs")]);
    type Service = NotebookService;
    type Output = SpecsReport;

    fn text(result: &str) -> Option<String> {
        let report: SpecsReport = serde_json::from_str(result).ok()?;
        let mut lines = Vec::new();
        for SpecEntry {
            name,
            spec,
            resource_dir,
            ..
        } in report.kernelspecs.values()
        {
            let place = resource_dir.as_ref().map(|path| path.display().to_string());
            let place = place.unwrap_or_else(|| "built in".to_owned());
            lines.push(format!("{name}  {}  {place}", spec.display_name));
        }
        for Unreadable { path, why, .. } in &report.unreadable {
            lines.push(format!("not usable: {}: {why}", path.display()));
        }
        Some(lines.join("\n"))
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<SpecsReport> {
        SpecsReport::for_caller(&cx).await
    }
}

/// Tell about one kind of kernel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Spec")]
pub struct ShowKernelSpec {
    /// Its name.
    pub name: String,
}

impl Operation for ShowKernelSpec {
    const NAME: &'static str = "kernel.spec";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::new(Method::Get, "/api/kernelspecs/{name}")]);
    type Service = NotebookService;
    type Output = SpecEntry;

    async fn run(self, cx: Context<NotebookService>) -> Result<SpecEntry> {
        let mut all = SpecsReport::for_caller(&cx).await?.kernelspecs;
        let name = self.name.to_lowercase();
        all.remove(&name).ok_or_else(|| {
            let what = format!("there is no kernel `{name}` here");
            Error::new(Code::NotFound, what).hint("`pillion kernel specs` tells which there are")
        })
    }
}
