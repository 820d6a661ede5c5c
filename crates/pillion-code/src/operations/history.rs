//! `code.history`: the changes that were carried out.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope, work};
use pillion_changes::Past;
use pillion_index::answers::Answer;
use pillion_index::text::{Text, shown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CodeService;

/// List the refactorings that were applied and can be taken back.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "History")]
#[serde(deny_unknown_fields)]
pub struct ListRefactorings {}

/// Changes that were carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pasts {
    /// The changes, newest first.
    pub history: Vec<Past>,
    /// The moment this is true for.
    pub clock: String,
}

impl Operation for ListRefactorings {
    const NAME: &'static str = "code.history";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("history", 260);
    type Service = CodeService;
    type Output = Answer<Pasts>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Pasts>> {
        let view = CodeService::view(&cx, cx.caller(), None).await?;
        let journal = view.project.journal().clone();
        let pasts = Pasts {
            history: work(move |_| journal.history()).await??,
            clock: view.clock(),
        };
        Ok(Answer::one(pasts, None).in_format(cx.caller().format()))
    }
}

impl Text for Pasts {
    fn text(&self) -> String {
        let line = |past: &Past| {
            let state = if past.undone { "  (taken back)" } else { "" };
            let count = past.files.len();
            format!(
                "{}  {}  {}  {count} files{state}",
                past.id, past.when, past.title
            )
        };
        let lines: Vec<String> = self.history.iter().map(line).collect();
        if lines.is_empty() {
            "nothing was changed yet".into()
        } else {
            lines.join("\n")
        }
    }
}
