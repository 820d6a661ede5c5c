//! Imports in order after a move: files whose imports were in order, by the project's own
//! rules, are in order again, and new files are.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Result, work};
use pillion_changes::ChangeSet;
use pillion_index::is_python;
use pillion_symbols::project::View;

use crate::organize::{self, Organize};
use crate::syntax_error;

/// Files whose imports are put in order; more would take longer than the move.
const MAX_FILES: usize = 64;
const RUFF_TIMEOUT: Duration = Duration::from_secs(20);

/// Put the imports of the files of a change in order. Where ruff is not at hand they stay as
/// the move wrote them: what they mean does not depend on it.
pub(super) async fn put_in_order(view: &View, set: &mut ChangeSet) -> Result<()> {
    let changed: Vec<(String, Option<Arc<str>>)> = set
        .texts()
        .filter(|(path, _)| is_python(path))
        .map(|(path, before)| (path.to_owned(), before.map(Into::into)))
        .collect();
    if changed.len() > MAX_FILES || changed.iter().any(|(path, _)| is_unknown(view, path)) {
        return Ok(());
    }
    let Ok(ruff) = organize::program(view.project.engines().dirs()).await else {
        return Ok(());
    };
    let root = view.root().to_owned();
    let organize = Organize {
        config: work(move |_| isort_options(&root)).await?,
        root: view.root().to_owned(),
        ruff,
        remove_unused: false,
        timeout: RUFF_TIMEOUT,
    };
    let known: Vec<Arc<str>> = changed.iter().filter_map(|(_, b)| b.clone()).collect();
    let Ok(suspects) = organize.suspects(&known).await else {
        return Ok(());
    };
    let suspects: HashSet<Arc<str>> = suspects.into_iter().collect();
    for (path, before) in changed {
        if before.is_some_and(|before| suspects.contains(&before)) {
            continue;
        }
        let Some(text) = set.text_after(&path) else {
            continue;
        };
        let sorted = organize.fixed(&path, &text).await.ok().flatten();
        let fits = |new: &String| *new != text && syntax_error(new, &path).is_none();
        if let Some(sorted) = sorted.filter(fits) {
            set.set_text(&path, &sorted)?;
        }
    }
    Ok(())
}

/// Whether ruff would not know that a module of this path is one of the workspace.
fn is_unknown(view: &View, path: &str) -> bool {
    let mut at = PathBuf::new();
    for part in Path::new(path).components() {
        at.push(part);
        if part.as_os_str() != "src" {
            return !view.root().join(&at).exists();
        }
    }
    true
}

/// What a project tells isort, as ruff would be told.
fn isort_options(root: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root.join("pyproject.toml")).unwrap_or_default();
    let Ok(config) = text.parse::<toml::Table>() else {
        return Vec::new();
    };
    let tool = |name: &str| config.get("tool")?.get(name)?.as_table();
    let Some(isort) = tool("isort").filter(|_| tool("ruff").is_none()) else {
        return Vec::new();
    };
    const SAME: &[&str] = &[
        "force_single_line",
        "force_sort_within_sections",
        "known_first_party",
        "known_third_party",
        "lines_after_imports",
        "order_by_type",
        "case_sensitive",
        "combine_as_imports",
        "from_first",
        "no_sections",
        "length_sort",
    ];
    let known = isort.iter().filter(|(key, _)| SAME.contains(&&***key));
    known
        .map(|(key, value)| format!("lint.isort.{}={value}", key.replace('_', "-")))
        .collect()
}
