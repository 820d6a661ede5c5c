//! `kernel.install`: a kernelspec, so that a plain Jupyter offers pillion's kernels.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, commit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::specs::SpecEntry;
use crate::NotebookService;

/// The name of the kernelspec, unless another is given.
const NAME: &str = "pillion";

/// Write a kernelspec, so that JupyterLab and other Jupyters offer a sandboxed Python.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Install {
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
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
}

impl Operation for Install {
    const NAME: &'static str = "kernel.install";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = NotebookService;
    type Output = Installed;

    fn text(result: &str) -> Option<String> {
        let installed: Installed = serde_json::from_str(result).ok()?;
        Some(format!("wrote {}", installed.path.display()))
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<Installed> {
        let name = self.name.unwrap_or_else(|| NAME.to_owned());
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 100 || name.starts_with('.') || !name.chars().all(fits) {
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
                let theirs = cx.request().peer.variables();
                let variable = |name: &str| match theirs {
                    Some(theirs) => theirs.get(OsStr::new(name)).cloned(),
                    None => std::env::var_os(name),
                };
                user_data(variable).ok_or_else(|| {
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
        Ok(Installed { name, path })
    }
}

/// Where the Jupyter of a user keeps its data, by the rules of its own.
fn user_data(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| Some(PathBuf::from(variable(name)?)).filter(|path| path.is_absolute());
    set("JUPYTER_DATA_DIR")
        .or_else(|| Some(set("XDG_DATA_HOME")?.join("jupyter")))
        .or_else(|| Some(set("HOME")?.join(".local/share/jupyter")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_a_user_is_where_their_jupyter_has_it() {
        let data = |set: &'static [(&str, &str)]| {
            let found = move |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            user_data(found).map(|path| path.display().to_string())
        };
        assert_eq!(data(&[("HOME", "/h")]).unwrap(), "/h/.local/share/jupyter");
        let xdg = data(&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")]);
        assert_eq!(xdg.unwrap(), "/x/jupyter");
        let own = data(&[("JUPYTER_DATA_DIR", "/j"), ("XDG_DATA_HOME", "/x")]);
        assert_eq!(own.unwrap(), "/j");
        assert_eq!(data(&[("HOME", "")]), None);
    }
}
