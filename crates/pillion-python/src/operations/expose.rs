//! `py.expose`: the functions of modules as tools.

use std::path::PathBuf;

use pillion_catalogue::{Context, Error, Operation, Result, Safety, Scope};
use pillion_protocol::line::ErrorMember;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// What some modules expose.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Exposed {
    /// The functions.
    pub tools: Vec<Tool>,
    /// The modules' source files.
    pub files: Vec<PathBuf>,
    /// Modules that could not be imported.
    pub failed: Vec<Failed>,
    /// Changes when the tools do.
    pub version: String,
}

/// An exposed function.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name; with that of its module where several have the same.
    pub name: String,
    /// Its name with that of its module, which means it too.
    pub qualified: String,
    /// The module it is in.
    pub module: String,
    /// Its name there.
    pub function: String,
    /// Its documentation, without what is said about parameters.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The schema of what it returns, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// Whether it is a generator, whose values can be streamed.
    pub streams: bool,
    /// What it may do: anything, unless it was marked to change nothing.
    pub safety: Safety,
}

/// A module that could not be imported.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Failed {
    /// Its name.
    pub module: String,
    /// Why.
    pub error: Error,
}

impl Exposed {
    /// What there is, or why there is nothing.
    pub fn or_failure(mut self) -> Result<Self> {
        match self.failed.is_empty() || !self.tools.is_empty() {
            true => Ok(self),
            false => Err(self.failed.swap_remove(0).error),
        }
    }
}

/// A listing as the worker writes it.
#[derive(Deserialize)]
struct Listed {
    tools: Vec<Tool>,
    files: Vec<PathBuf>,
    failed: Vec<ListedFailure>,
    version: String,
}

#[derive(Deserialize)]
struct ListedFailure {
    module: String,
    error: ErrorMember,
}

impl Operation for Expose {
    const NAME: &'static str = "py.expose";
    // Importing a module runs its code, but only as every call into it would.
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    type Service = PythonService;
    type Output = Exposed;

    async fn run(self, cx: Context<PythonService>) -> Result<Exposed> {
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
        Ok(Exposed {
            tools: listed.tools,
            files: listed.files,
            failed: failed.collect(),
            version: listed.version,
        })
    }
}
