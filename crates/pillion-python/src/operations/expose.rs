//! `py.expose`: the functions of modules as tools.

use std::path::PathBuf;

use pillion_catalogue::{
    Context, Error, ExposedFunction, Failed, Listing, Operation, Result, Safety, Scope,
};
use pillion_protocol::line::LineError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::question::{Question, name_python};
use crate::PythonService;

/// List the functions of modules as tools, with the schemas of their arguments.
///
/// Listed are the public functions of each module, or those of its `__all__`, and those
/// marked by `@pillion.method`. Schemas come from annotations, descriptions from
/// docstrings. `py.invoke` calls them by these names.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Expose {
    /// The modules, such as `pkg.mod`.
    #[arg(required = true, value_name = "MODULE")]
    pub modules: Vec<String>,
    /// More folders to import from.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathBuf>,
}

/// A listing as the worker writes it.
#[derive(Deserialize)]
struct Listed {
    tools: Vec<ExposedFunction>,
    files: Vec<PathBuf>,
    failed: Vec<ListedFailure>,
    version: String,
}

#[derive(Deserialize)]
struct ListedFailure {
    module: String,
    error: LineError,
}

impl Operation for Expose {
    const NAME: &'static str = "py.expose";
    // Importing a module runs its code, but only as every call into it would.
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    type Service = PythonService;
    type Output = Listing;

    async fn run(self, cx: Context<PythonService>) -> Result<Listing> {
        let question = Question {
            modules: self.modules.clone(),
            path: self.path,
            is_safe: true,
            streams: false,
        };
        let params = serde_json::json!({ "modules": self.modules });
        let (project, answer) = question.ask(&cx, "expose", &params).await?;
        let listed: Listed = serde_json::from_str(answer.result.get()).map_err(Error::internal)?;
        let failed = listed.failed.into_iter().map(|failed| Failed {
            module: failed.module,
            error: name_python(failed.error.into(), &project),
        });
        Ok(Listing {
            tools: listed.tools,
            files: listed.files,
            failed: failed.collect(),
            version: listed.version,
        })
    }
}
