//! `code.organize_imports`: imports sorted and grouped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::{
    Code, Context, Error, Method, Offer, Operation, Result, Route, Safety, Scope,
};
use pillion_changes::Patched;
use pillion_engines::surroundings::Pythons;
use pillion_index::answers::Answer;
use pillion_index::place;
use pillion_index::text::shown;
use pillion_refactor::organize::{self, Organize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::refactoring::{Writing, answer, set_of};
use crate::CodeService;

/// Sort and group the imports of a file, or of all files of a folder.
///
/// By ruff, under the project's own rules. A file with a syntax error is left alone. Imports
/// that nothing uses stay, unless `remove_unused` says otherwise, and always in `__init__.py`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct OrganizeImports {
    /// The file or folder.
    #[serde(alias = "file")]
    pub path: PathBuf,
    /// Take imports away that nothing uses.
    #[arg(long)]
    #[serde(default)]
    pub remove_unused: bool,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for OrganizeImports {
    const NAME: &'static str = "code.organize_imports";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("organize-imports", 230)
        .routes(&[Route::older(Method::Post, "/organize-imports")]);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let view = CodeService::view(&cx, cx.caller(), Some(&self.path)).await?;
        let path = place::inside(view.root(), &self.path)?;
        let files = organize::below(view.index.iter().map(|(file, _)| file), Path::new(&path));
        if files.is_empty() {
            return Err(Error::new(
                Code::InvalidParams,
                format!("there is no Python file at `{path}`"),
            )
            .hint("name a Python file, or a folder with some that are not ignored"));
        }
        let engines = view.project.engines();
        let around = engines.surroundings(&Pythons::of(cx.caller())).await?;
        let organize = Organize {
            root: view.root().to_owned(),
            ruff: organize::program(engines.dirs()).await?,
            config: Vec::new(),
            remove_unused: self.remove_unused,
            timeout: std::time::Duration::from_secs_f64(around.project.config.code.timeout_s),
        };
        // Such a file would be the end of ruff, and of its answer about the others.
        let is_too_deep = |file: &Arc<str>| view.index.get(file).is_some_and(|f| f.is_too_deep);
        let (deep, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_too_deep);
        let mut done = organize.run(&files).await?;
        let left = deep
            .iter()
            .map(|file| format!("{file}: left alone, it nests too deeply"));
        done.warnings.extend(left);
        let set = set_of(&view, done).await?;
        let title = format!("organize imports of {path}");
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}
