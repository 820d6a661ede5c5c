//! `code.rename`: another name for something, everywhere.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::spotted;
use super::refactored::{Writing, answer};
use crate::CodeService;
use crate::answers::Answer;
use crate::changes::Patched;
use crate::params::Spot;
use crate::refactor::rename;
use crate::text::shown;

/// Rename what is at this position, everywhere.
///
/// Overrides and what they override, `super()` calls, keyword arguments, imports and `__all__`
/// are renamed with it. Places that nobody can be sure of are left alone and listed. Nothing
/// is written unless `apply` says so.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// The file: relative to the workspace, or absolute inside of it.
    pub file: std::path::PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub col: u32,
    /// The new name.
    pub new_name: String,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for Rename {
    const NAME: &'static str = "code.rename";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("rename", 170)
        .routes(&[Route::older(Method::Post, "/rename")]);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let view = CodeService::view(&cx, cx.caller(), Some(&self.file)).await?;
        let spot = Spot {
            file: self.file,
            line: self.line,
            col: self.col,
        };
        let spot = spotted(&view, &spot)?;
        let engine = view.engine(None, cx.caller()).await?;
        let set = rename::rename(&engine, &spot, &self.new_name).await?;
        let title = format!("rename to {}", self.new_name);
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}
