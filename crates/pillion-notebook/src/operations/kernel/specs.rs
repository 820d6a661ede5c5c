//! `kernel.api`, `kernel.specs` and `kernel.spec`: what kinds of kernels there are.

use std::collections::BTreeMap;

use pillion_catalogue::{Code, Context, Error, Method, Offer, Operation, Result, Route, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NotebookService;

/// The kind of kernel that there is, by the name that notebooks have in their metadata.
pub const PYTHON: &str = "python3";
/// What people see of it.
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

/// Tell what kinds of kernels there are, as Jupyter's clients ask for them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Specs {}

/// The kinds there are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SpecsReport {
    /// The one that is meant where none is named.
    pub default: String,
    /// By name.
    pub kernelspecs: BTreeMap<String, SpecEntry>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SpecEntry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub spec: KernelSpec,
    /// Pictures and the like: there are none.
    pub resources: BTreeMap<String, String>,
}

/// What a kind of kernel is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KernelSpec {
    /// The command that starts one for a plain Jupyter.
    pub argv: Vec<String>,
    /// What people see.
    pub display_name: String,
    /// The language of its cells.
    pub language: String,
    /// How it is interrupted.
    pub interrupt_mode: String,
    /// Variables that it gets.
    pub env: BTreeMap<String, String>,
    /// More about it.
    pub metadata: BTreeMap<String, bool>,
}

impl SpecEntry {
    pub(super) fn python() -> Self {
        let argv = ["pillion", "kernel", "launch", "-f", "{connection_file}"];
        Self {
            name: PYTHON.to_owned(),
            spec: KernelSpec {
                argv: argv.map(ToOwned::to_owned).into(),
                display_name: DISPLAY_NAME.to_owned(),
                language: "python".to_owned(),
                interrupt_mode: "message".to_owned(),
                env: BTreeMap::new(),
                metadata: BTreeMap::from([("debugger".to_owned(), false)]),
            },
            resources: BTreeMap::new(),
        }
    }
}

impl Operation for Specs {
    const NAME: &'static str = "kernel.specs";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::new(Method::Get, "/api/kernelspecs")]);
    type Service = NotebookService;
    type Output = SpecsReport;

    async fn run(self, _: Context<NotebookService>) -> Result<SpecsReport> {
        Ok(SpecsReport {
            default: PYTHON.to_owned(),
            kernelspecs: BTreeMap::from([(PYTHON.to_owned(), SpecEntry::python())]),
        })
    }
}

/// Tell about one kind of kernel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Spec {
    /// Its name.
    pub name: String,
}

impl Operation for Spec {
    const NAME: &'static str = "kernel.spec";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::new(Method::Get, "/api/kernelspecs/{name}")]);
    type Service = NotebookService;
    type Output = SpecEntry;

    async fn run(self, _: Context<NotebookService>) -> Result<SpecEntry> {
        check(Some(&self.name))?;
        Ok(SpecEntry::python())
    }
}

/// Whether there is a kind of kernel of this name.
pub(super) fn check(name: Option<&str>) -> Result<()> {
    match name {
        None | Some("" | PYTHON) => Ok(()),
        Some(name) => Err(
            Error::new(Code::NotFound, format!("there is no kernel `{name}` here"))
                .hint(format!("`{PYTHON}` is the one there is")),
        ),
    }
}
