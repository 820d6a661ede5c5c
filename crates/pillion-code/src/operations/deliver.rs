//! The end of every refactoring: the change is shown, or carried out and shown.

use std::sync::Arc;

use pillion_catalogue::{Result, commit, work};
use pillion_changes::{ChangeSet, PatchFormat, Patched};
use pillion_symbols::project::View;

/// Show a change set, and carry it out if `apply` says so. What was carried out is in the
/// journal under `title`.
pub(crate) async fn deliver(
    view: &View,
    set: ChangeSet,
    format: PatchFormat,
    apply: bool,
    title: impl Into<String>,
) -> Result<Patched> {
    let (clock, title) = (view.clock(), title.into());
    let journal = view.project.journal().clone();
    let shown = work(move |_| set.patched(format, clock).map(|patched| (set, patched)));
    let (set, mut patched) = shown.await??;
    if apply {
        let applied = commit(move || journal.apply(&set, &title)).await??;
        patched.applied = true;
        patched.undo = applied.id;
        let project = Arc::clone(&view.project);
        patched.clock = project.view().await?.clock();
    }
    Ok(patched)
}

#[cfg(test)]
#[path = "deliver_tests.rs"]
mod tests;
