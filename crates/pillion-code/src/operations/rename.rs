//! `code.rename`: another name for something, everywhere.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope};
use pillion_changes::Patched;
use pillion_index::answers::Answer;
use pillion_index::text::shown;
use pillion_refactor::rename::{self, Included};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions;
use super::refactoring::{Writing, answer};
use crate::CodeService;
use crate::params::Place;

/// Rename what is at this position, everywhere.
///
/// Overrides and what they override, `super()` calls, keyword arguments, imports, `__all__` and
/// names in strings that are looked up are renamed with it. Places that nobody can be sure of
/// are left alone and listed, unless `possible`, `strings` or `comments` say that they are meant
/// too. Nothing is written unless `apply` says so.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub place: Place,
    /// The new name.
    pub new_name: String,
    /// Also rename the places in code that may mean it, but of which nobody is sure.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub possible: bool,
    /// Also rename it in the strings that are otherwise listed.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strings: bool,
    /// Also rename it in the comments and docstrings that are otherwise listed.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub comments: bool,
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
        .everyday()
        .routes(&[Route::older(Method::Post, "/rename")]);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let (view, spot) = positions::one(&cx, &self.place).await?;
        let engine = view.engine(None, cx.caller()).await?;
        let included = Included {
            possible: self.possible,
            strings: self.strings,
            comments: self.comments,
        };
        let set = rename::rename(&engine, &spot, &self.new_name, included).await?;
        let title = format!("rename to {}", self.new_name);
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}
