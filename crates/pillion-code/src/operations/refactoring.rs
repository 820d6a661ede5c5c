//! What the refactorings share: how a change is wanted, and how new texts become one.

use std::time::Duration;

use pillion_catalogue::{Caller, Code, Context, Error, Result, wanted, work};
use pillion_changes::{ChangeSet, PatchFormat, Patched};
use pillion_engines::surroundings::Pythons;
use pillion_engines::tools;
use pillion_index::answers::Answer;
use pillion_refactor::Refactored;
use pillion_refactor::rope::Rope;
use pillion_symbols::project::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deliver::deliver;
use crate::CodeService;

/// How a change is wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Writing {
    /// Patches as diffs, or whole new texts.
    #[arg(long, default_value = "diff")]
    #[serde(default)]
    pub output_format: PatchFormat,
    /// Write the change; `undo` takes it back.
    #[arg(long)]
    #[serde(default)]
    pub apply: bool,
    /// Show the diff of a change that is written, too, not only a summary.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff: bool,
}

/// The end of a refactoring: its change, shown or written.
pub(crate) async fn answer(
    view: &View,
    set: ChangeSet,
    writing: &Writing,
    caller: &Caller,
    title: String,
) -> Result<Answer<Patched>> {
    let mut patched = deliver(view, set, writing.output_format, writing.apply, title).await?;
    patched.with_diff = writing.diff;
    Ok(Answer::one(patched, view.unread()).in_format(caller.format()))
}

/// New texts as a change set.
pub(crate) async fn set_of(view: &View, done: Refactored) -> Result<ChangeSet> {
    let mut set = ChangeSet::new(view.root().to_owned());
    let compare = work(move |token| {
        for file in done.files {
            wanted(token)?;
            set.set_text(&file.path, &file.text)?;
        }
        for warning in done.warnings {
            set.warn(warning);
        }
        Ok(set)
    });
    compare.await?
}

/// Rope for the workspace of a view, and how long it may take.
pub(crate) async fn rope(
    cx: &Context<CodeService>,
    view: &View,
    caller: &Caller,
) -> Result<(Rope, Duration)> {
    let engines = view.project.engines();
    let around = engines.surroundings(&Pythons::of(caller)).await?;
    let config = &around.project.config.code;
    let limits = tools::limits(config);
    let timeout = match caller.timeout_ms {
        Some(0) => {
            let what = "`timeout_ms` must be at least 1";
            return Err(Error::new(Code::InvalidParams, what));
        }
        Some(ms) => Duration::from_millis(ms.min(3_600_000)),
        None => Duration::from_secs_f64(config.timeout_s),
    };
    let supervisor = cx.service().supervisor();
    let rope = Rope::new(view.root(), limits, supervisor, engines.dirs()).await?;
    Ok((rope, timeout))
}
