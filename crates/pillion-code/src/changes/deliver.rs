//! The end of every refactoring: the change is shown, or carried out and shown.

use std::sync::Arc;

use pillion_catalogue::{Error, Result};

use super::{ChangeSet, PatchFormat, Patched};
use crate::project::View;

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
    let work = tokio::task::spawn_blocking(move || {
        let mut patched = set.patched(format, clock)?;
        if apply {
            let applied = journal.apply(&set, &title)?;
            patched.applied = true;
            patched.undo = applied.id;
        }
        Ok::<_, Error>(patched)
    });
    let mut patched = work.await.map_err(Error::internal)??;
    if patched.applied {
        let project = Arc::clone(&view.project);
        patched.clock = project.view().await?.clock();
    }
    Ok(patched)
}
