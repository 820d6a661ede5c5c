//! `code.undo`: take back a change that was carried out.

use std::sync::Arc;

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope, commit};
use pillion_index::answers::Answer;
use pillion_index::text::{Text, shown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CodeService;

/// Take back the last refactoring, or the one named.
///
/// Every byte and mode is restored. If one of the files was changed since, nothing is.
/// Taking back an undo does the change again.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The change, as its answer or the history names it; the last one not taken back yet
    /// if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A change that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// What was taken back.
    pub undone: String,
    /// What it was for.
    pub title: String,
    /// The files that were restored, created or deleted by that.
    pub files: Vec<String>,
    /// What `undo` takes to do the change again.
    pub undo: Option<String>,
    /// The moment this is true for.
    pub clock: String,
}

impl Operation for Undo {
    const NAME: &'static str = "code.undo";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("undo", 250).everyday();
    type Service = CodeService;
    type Output = Answer<Undone>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Undone>> {
        let view = CodeService::view(&cx, cx.caller(), None).await?;
        let journal = view.project.journal().clone();
        let id = self.id;
        let applied = commit(move || journal.undo(id.as_deref())).await??;
        let view = Arc::clone(&view.project).view().await?;
        let undone = Undone {
            undone: applied.undoes.unwrap_or_default(),
            title: applied.title,
            files: applied.files,
            undo: applied.id,
            clock: view.clock(),
        };
        Ok(Answer::one(undone, None).in_format(cx.caller().format()))
    }
}

impl Text for Undone {
    fn text(&self) -> String {
        let mut lines = vec![self.title.clone()];
        lines.extend(self.files.iter().map(|file| format!("  {file}")));
        if let Some(id) = &self.undo {
            lines.push(format!("`undo {id}` does the change again"));
        }
        lines.join("\n")
    }
}
