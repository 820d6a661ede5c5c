//! `kernel.install`: a kernelspec, so that a plain Jupyter offers pillion's kernels.

use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, commit};
use pillion_kernel::{is_name, user_data};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::specs::SpecEntry;
use crate::NotebookService;
use crate::service::variable;

/// The name of the kernelspec, unless another is given.
const NAME: &str = "pillion";

/// Write a kernelspec, so that JupyterLab and other Jupyters offer a sandboxed Python.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Install")]
#[serde(deny_unknown_fields)]
pub struct InstallKernelSpec {
    /// For this user, which is what is done where no prefix is named.
    #[arg(long, conflicts_with = "prefix")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user: bool,
    /// For the Jupyter of this environment: the folder that has its `bin` and `share`.
    #[arg(long, value_name = "FOLDER")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<PathBuf>,
    /// The name that it gets.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A kernelspec that was written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InstallReply {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
}

impl Operation for InstallKernelSpec {
    const NAME: &'static str = "kernel.install";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = NotebookService;
    type Output = InstallReply;

    fn text(result: &str) -> Option<String> {
        let installed: InstallReply = serde_json::from_str(result).ok()?;
        Some(format!("wrote {}", installed.path.display()))
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<InstallReply> {
        let name = self.name.unwrap_or_else(|| NAME.to_owned());
        if !is_name(&name) {
            let what = format!("`{name}` is no name of a kernelspec");
            return Err(Error::new(Code::InvalidParams, what)
                .hint("letters, digits, `-`, `_` and `.`, at most 100"));
        }
        let data = match self.prefix {
            Some(prefix) if prefix.is_absolute() && prefix.is_dir() => prefix.join("share/jupyter"),
            Some(prefix) => {
                let what = format!("`{}` is no folder with an absolute path", prefix.display());
                return Err(Error::new(Code::InvalidParams, what)
                    .hint("name the folder of an environment, the one that `bin` is in"));
            }
            None => {
                // What the caller's own Jupyter would read.
                user_data(|name| variable(&cx, name)).ok_or_else(|| {
                    Error::new(Code::InvalidParams, "nobody says where your home is")
                        .hint("name a `prefix`, or set `HOME`")
                })?
            }
        };
        let program = std::env::current_exe().map_err(Error::internal)?;
        let folder = data.join("kernels").join(&name);
        let path = folder.join("kernel.json");
        let mut spec = SpecEntry::python().spec;
        if let Some(first) = spec.argv.first_mut() {
            *first = program.to_string_lossy().into_owned();
        }
        let text = serde_json::to_string_pretty(&spec).map_err(Error::internal)? + "\n";
        let written = path.clone();
        commit(move || write(&folder, &written, &text)).await??;
        Ok(InstallReply { name, path })
    }
}

fn write(folder: &Path, path: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| {
        let what = format!("cannot write `{}`: {error}", path.display());
        Error::new(Code::WriteFailed, what).hint("`--prefix` names another place")
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Whoever reads it meanwhile finds one or the other, whole.
    let beside = folder.join(format!(".kernel.json.{}", std::process::id()));
    std::fs::write(&beside, text).map_err(failed)?;
    std::fs::rename(&beside, path).map_err(failed)
}
