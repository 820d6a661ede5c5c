//! `code.inline`: put a definition where it is used, and take it away.

use std::path::PathBuf;

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::spotted;
use super::refactored::{Writing, answer, rope, set_of};
use crate::CodeService;
use crate::answers::{Answer, Confidence};
use crate::changes::{LeftAlone, Patched};
use crate::definitions;
use crate::params::Spot;
use crate::refactor::rope::File;
use crate::references;
use crate::text::shown;

/// Put the function or variable at this position where it is used, and take it away.
///
/// Uses that nobody can be sure of are left alone and listed; what cannot be inlined without
/// changing what the program does is refused, with the reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Inline {
    /// The file: relative to the workspace, or absolute inside of it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub col: u32,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for Inline {
    const NAME: &'static str = "code.inline";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("inline", 220);
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
        let found = definitions::find(&engine, &spot).await?;
        let (Some(home), Some((path, at))) = (found.locations.first(), found.places.first()) else {
            return Err(
                Error::new(Code::NotFound, "nobody knows what is at this position")
                    .hint("point at a function or a variable of this workspace"),
            );
        };
        if home.external {
            return Err(Error::new(
                Code::InvalidParams,
                format!("it is not defined in this workspace: {}", home.file),
            ));
        }
        let uses = references::find(&engine, &spot, true).await?;
        let mut others: Vec<String> = uses
            .references
            .iter()
            .filter(|use_| use_.confidence == Confidence::Confirmed && !use_.location.external)
            .map(|use_| use_.location.file.clone())
            .filter(|file| *file != home.file)
            .collect();
        others.dedup();
        let mut sources = Vec::new();
        for file in &others {
            sources.push((file, crate::place::readable(&view, file)?));
        }
        let source = view
            .source(path)
            .ok_or_else(|| Error::new(Code::NotFound, format!("`{}` cannot be read", home.file)))?;
        let (rope, timeout) = rope(&cx, &view, cx.caller()).await?;
        let other_files: Vec<File<'_>> = sources
            .iter()
            .map(|(path, source)| File { path, source })
            .collect();
        let file = File {
            path: &home.file,
            source: &source,
        };
        let done = rope.inline(file, at.start, &other_files, timeout).await?;
        let mut set = set_of(&view, done).await?;
        let possible = uses.references.into_iter();
        for use_ in possible.filter(|use_| use_.confidence == Confidence::Possible) {
            set.leave(LeftAlone {
                location: use_.location,
                why: "the type of what stands before the dot is not known".into(),
            });
        }
        let title = format!("inline {}", home.name.as_deref().unwrap_or("it"));
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}
