//! A change set as callers see it.

use std::collections::{BTreeMap, BTreeSet};

use pillion_catalogue::Result;
use pillion_index::source::Source;
use pillion_index::text::{Text, location};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::content::{Content, PathChange};
use super::diff::{self, Fate};
use super::set::{ChangeSet, LeftAlone, Planned};

/// What stands before the text of a file that says with it that it is UTF-8.
const MARK: char = '\u{feff}';
/// Bytes of patches that an answer shows; the files of the others are only named.
const MAX_PATCHES: usize = 16 << 20;

/// How a change is shown.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum PatchFormat {
    /// A unified diff for each file, which `git apply` and `patch -p1` take.
    #[default]
    Diff,
    /// The whole new text of each file.
    Full,
}

/// A file with another name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renamed {
    /// Its name before.
    pub from: String,
    /// Its name after.
    pub to: String,
}

/// A change: shown, and carried out if that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Patched {
    /// A patch or the new text for each file, by its path after the change; deleted files
    /// have a patch, but no text. A text is what the file holds if it is written as UTF-8.
    pub patches: BTreeMap<String, String>,
    /// Which of the two.
    pub format: PatchFormat,
    /// Every file that is touched, by its path after the change.
    pub files: Vec<String>,
    /// Those of them that are new.
    pub created: Vec<String>,
    /// Those of them that are gone.
    pub deleted: Vec<String>,
    /// Those of them that have another name.
    pub renamed: Vec<Renamed>,
    /// How many places in texts are changed.
    pub edits: usize,
    /// What the caller should know.
    pub warnings: Vec<String>,
    /// Places that may belong to the change, but were not touched.
    pub possible: Vec<LeftAlone>,
    /// Whether the files are changed.
    pub applied: bool,
    /// What `undo` takes to take it back.
    pub undo: Option<String>,
    /// The moment this is true for.
    pub clock: String,
    /// Whether its text shows the patches although the files are changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_diff: bool,
}

impl ChangeSet {
    /// The change as callers see it. Nothing is written.
    pub fn patched(&self, format: PatchFormat, clock: String) -> Result<Patched> {
        let changes = self.changes()?;
        let mut patched = Patched {
            patches: BTreeMap::new(),
            format,
            files: Vec::new(),
            created: Vec::new(),
            deleted: Vec::new(),
            renamed: Vec::new(),
            edits: 0,
            warnings: self.warnings.clone(),
            possible: self.left.clone(),
            applied: false,
            undo: None,
            clock,
            with_diff: false,
        };
        let (mut shown_bytes, mut hidden) = (0, 0);
        let renamed = self.renames(&changes);
        let sources: BTreeSet<&str> = renamed.values().map(|(from, _)| *from).collect();
        for change in &changes {
            let path = change.path.as_str();
            if sources.contains(path) {
                continue;
            }
            let planned = self.files.get(path);
            let is_new = planned.is_none_or(|planned| planned.origin.is_none());
            if !is_new {
                patched.edits += planned.map_or(0, Planned::edit_count);
            }
            let rename = renamed.get(path);
            let before = rename.map_or(change.before.as_ref(), |(_, content)| Some(content));
            let after = change.after.as_ref();
            let fate = match (rename, before, after) {
                (Some((from, _)), _, _) => Fate::Renamed { from },
                (None, None, _) => Fate::Created,
                (None, Some(was), None) => Fate::Deleted {
                    executable: was.is_executable(),
                },
                (None, Some(_), Some(_)) => Fate::Changed,
            };
            match fate {
                Fate::Changed => {}
                Fate::Created => patched.created.push(path.into()),
                Fate::Deleted { .. } => patched.deleted.push(path.into()),
                Fate::Renamed { from } => patched.renamed.push(Renamed {
                    from: from.into(),
                    to: path.into(),
                }),
            }
            patched.files.push(path.into());
            // Rendering takes several times as much as it gives: what has no room is not.
            let [old_size, new_size] = [before, after].map(|c| c.map_or(0, |c| c.bytes.len()));
            let least = match format {
                PatchFormat::Diff => old_size.abs_diff(new_size),
                PatchFormat::Full => new_size,
            };
            if shown_bytes + least > MAX_PATCHES {
                hidden += 1;
                continue;
            }
            let text = match format {
                PatchFormat::Diff => {
                    let (old, new) = (shown(before), shown(after));
                    for content in [before, after].into_iter().flatten() {
                        patched.warnings.extend(unfaithful(path, content));
                    }
                    diff::patch(path, fate, &old, &new)
                }
                PatchFormat::Full if after.is_none() => continue,
                PatchFormat::Full => {
                    patched
                        .warnings
                        .extend(after.and_then(|content| unfaithful(path, content)));
                    shown(after)
                }
            };
            if shown_bytes + text.len() > MAX_PATCHES {
                hidden += 1;
                continue;
            }
            shown_bytes += text.len();
            patched.patches.insert(path.into(), text);
        }
        if hidden > 0 {
            let mib = MAX_PATCHES >> 20;
            patched.warnings.push(format!(
                "{hidden} files are changed as well, but their patches would make more than {mib} MiB"
            ));
        }
        let mut said = BTreeSet::new();
        patched.warnings.retain(|text| said.insert(text.clone()));
        Ok(patched)
    }

    /// The files that can be shown as renamed: nothing was where they go, and nothing takes
    /// their place. By their new names.
    fn renames<'a>(
        &'a self,
        changes: &'a [PathChange],
    ) -> BTreeMap<&'a str, (&'a str, &'a Content)> {
        let find = |path: &str| {
            let at = changes.binary_search_by(|change| change.path.as_str().cmp(path));
            at.ok().map(|at| &changes[at])
        };
        let planned = self.files.iter().filter_map(|(to, planned)| {
            let (from, content) = planned.origin.as_ref()?;
            let is_new = find(to)?.before.is_none();
            let is_gone = find(from)?.after.is_none();
            (from != to && is_new && is_gone).then_some((to.as_str(), (from.as_str(), content)))
        });
        planned.collect()
    }
}

/// The text of a file for a patch: with its mark, without which the patch would not fit.
fn shown(content: Option<&Content>) -> String {
    let Some(content) = content else {
        return String::new();
    };
    let source = Source::decode(&content.bytes);
    if source.is_marked() {
        format!("{MARK}{}", source.text())
    } else {
        source.text().to_owned()
    }
}

/// Why writing the text as UTF-8 would not give the file.
fn unfaithful(path: &str, content: &Content) -> Option<String> {
    let source = Source::decode(&content.bytes);
    if source.is_utf8() && std::str::from_utf8(&content.bytes).is_ok() || content.bytes.is_ascii() {
        return None;
    }
    let encoding = source.encoding();
    Some(if source.is_utf8() {
        format!("`{path}` has bytes that are not UTF-8: its patch does not fit the file")
    } else {
        format!("`{path}` is written in {encoding}, but its patch is UTF-8: let pillion apply it")
    })
}

impl Patched {
    /// A line for each file: what became of it, and in how many lines.
    fn summary(&self) -> String {
        let mut out = String::new();
        for path in &self.files {
            let renamed = self.renamed.iter().find(|one| one.to == *path);
            let what = match renamed {
                Some(Renamed { from, .. }) => format!("renamed {from} to {path}"),
                None if self.created.contains(path) => format!("created {path}"),
                None if self.deleted.contains(path) => format!("deleted {path}"),
                None => format!("changed {path}"),
            };
            out.push_str(&what);
            let patch = self.patches.get(path);
            if let Some(patch) = patch.filter(|_| self.format == PatchFormat::Diff) {
                let lines = |sign: char, head: &str| {
                    let lines = patch.lines();
                    let lines = lines.filter(|l| l.starts_with(sign) && !l.starts_with(head));
                    lines.count()
                };
                out.push_str(&format!(
                    "  +{} -{}",
                    lines('+', "+++ "),
                    lines('-', "--- ")
                ));
            }
            out.push('\n');
        }
        out
    }
}

impl Text for Patched {
    fn text(&self) -> String {
        let mut out = String::new();
        // What is done is told in a few lines; what would be done has to be seen.
        let is_shown = !self.applied || self.with_diff;
        if !is_shown {
            out.push_str(&self.summary());
        }
        for (path, patch) in self.patches.iter().filter(|_| is_shown) {
            if self.format == PatchFormat::Full {
                out.push_str(&format!("==> {path}\n"));
            }
            out.push_str(patch);
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        if self.files.is_empty() {
            out.push_str("nothing to change\n");
        }
        for warning in &self.warnings {
            out.push_str(&format!("warning: {warning}\n"));
        }
        for left in &self.possible {
            out.push_str(&format!(
                "left alone: {}: {}\n",
                location(&left.location),
                left.why
            ));
        }
        if let (true, Some(id)) = (self.applied, &self.undo) {
            let count = self.files.len();
            out.push_str(&format!(
                "applied to {count} files; `undo {id}` takes it back\n"
            ));
        }
        out.truncate(out.trim_end_matches('\n').len());
        out
    }
}
