//! A change set: all that a refactoring wants, before anything is written.

use std::collections::BTreeMap;
#[cfg(test)]
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_index::answers::Location;
use pillion_index::preview;
use pillion_index::source::{LineColumn, Source, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::content::{Content, PathChange};
use super::place;
use super::splice::{self, Splice};

/// Bytes of all files of a change together, before and after: they are held several times.
pub const MAX_CHANGE: usize = 128 << 20;

/// The error of a change that is too large to be held.
pub fn too_large() -> Error {
    let mib = MAX_CHANGE >> 20;
    Error::new(
        Code::OutputLimit,
        format!("the change is too large: its files have more than {mib} MiB before and after"),
    )
    .hint("do it in parts: name a folder or a file with `path`")
}

/// A piece of a file, and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// Where, in the decoded text.
    pub span: Span,
    /// What, with `\n` for line ends: it gets those of the file.
    pub text: String,
}

/// A place that may belong to the change, but was not touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftAlone {
    /// The place.
    #[serde(flatten)]
    pub location: Location,
    /// Why it was left alone.
    pub why: String,
}

/// What a refactoring wants to change.
///
/// A file that is renamed is named by its new name from then on. Its old name is understood
/// too, unless the set creates another file there.
#[derive(Debug, Clone)]
pub struct ChangeSet {
    pub(super) root: PathBuf,
    /// Files as they will be, by the path they will have.
    pub(super) files: BTreeMap<String, Planned>,
    /// Files that will be gone.
    pub(super) deleted: BTreeMap<String, Content>,
    pub(super) warnings: Vec<String>,
    pub(super) left: Vec<LeftAlone>,
}

/// A file as it will be.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    /// The file as it is, and where; nothing if it is new.
    pub(super) origin: Option<(String, Content)>,
    /// The text that edits count in: of the file, or what was set instead.
    base: Source,
    edits: Vec<Splice>,
    /// How many places differ from the file, if its text was set.
    set: Option<usize>,
    /// Whether nothing of the old text is left, as the file was deleted and created anew.
    is_anew: bool,
}

impl Planned {
    fn text(&self) -> String {
        splice::apply(self.base.text(), &self.edits)
    }

    /// The places that are changed.
    pub(super) fn edit_count(&self) -> usize {
        self.set.unwrap_or(0) + self.edits.len()
    }

    /// The text, in the encoding that it will have.
    pub(super) fn source(&self) -> Source {
        self.base.with_text(&self.text())
    }

    fn content(&self) -> Result<Content> {
        let Some((path, content)) = &self.origin else {
            return Ok(Content::new(self.source().encode()?));
        };
        if self.edits.is_empty() && self.set.is_none() {
            return Ok(content.clone());
        }
        let was = Source::decode(&content.bytes);
        // Replaced characters would be written as such: the file would be damaged.
        if !self.is_anew && was.encode().ok().as_deref() != Some(&*content.bytes) {
            return Err(Error::new(
                Code::ParseError,
                format!("`{path}` has bytes that are not {}", was.encoding()),
            )
            .hint("save the file in the encoding that it names, or name the one it has"));
        }
        Ok(content.with_bytes(self.source().encode()?))
    }
}

impl ChangeSet {
    /// Nothing yet, for the workspace at `root`, an absolute path without links.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            files: BTreeMap::new(),
            deleted: BTreeMap::new(),
            warnings: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Edit a file. All places are those of the file as it is now, whatever was edited
    /// before; or those of the text that this set gave it.
    ///
    /// Nothing is written through a link that leads out of the workspace: its places are left
    /// alone, and listed.
    pub fn edit(&mut self, path: &str, edits: Vec<TextEdit>) -> Result<()> {
        if place::leads_outside(&self.root, path) {
            self.leave_link(path, &edits);
            return Ok(());
        }
        let planned = self.planned(path)?;
        let end = splice::dominant_end(planned.base.text());
        let mut splices = Vec::with_capacity(edits.len());
        for TextEdit { span, text } in edits {
            let base = &planned.base;
            let places = base.offset(span.start).zip(base.offset(span.end));
            let Some((start, end_at)) = places.filter(|(start, end)| start <= end) else {
                let (from, to) = (span.start, span.end);
                return Err(Error::internal(format!(
                    "an edit of `{path}` from {}:{} to {}:{} is outside of the file",
                    from.line, from.column, to.line, to.column
                )));
            };
            splices.push(Splice {
                range: start..end_at,
                text: splice::with_ends(&text, end),
            });
        }
        splice::add(&mut planned.edits, &splices).map_err(|mut error| {
            error.message = format!("`{path}`: {}", error.message);
            error
        })
    }

    /// Give a file a whole new text; earlier edits of it are forgotten. Lines that stay keep
    /// their line ends, new ones get those that the file has; a text with `\r` is taken as it
    /// is.
    pub fn set_text(&mut self, path: &str, text: &str) -> Result<()> {
        let planned = self.planned(path)?;
        let Some((_, content)) = &planned.origin else {
            planned.base = Source::from_text(text);
            planned.edits.clear();
            return Ok(());
        };
        let was = Source::decode(&content.bytes);
        let text = splice::adopt_ends(was.text(), text);
        planned.edits.clear();
        planned.set = (was.text() != text).then(|| super::diff::places(was.text(), &text));
        planned.base = was.with_text(&text);
        Ok(())
    }

    /// Create a file with a text, in UTF-8 or what its own coding line says.
    pub fn create(&mut self, path: &str, text: &str) -> Result<()> {
        let path = self.free(path)?;
        let base = Source::from_text(text);
        // A file that this set deletes is replaced: its mode stays.
        let origin = self.deleted.remove(&path);
        let set = origin.as_ref().map(|_| 1);
        let planned = Planned {
            origin: origin.map(|content| (path.clone(), content)),
            base,
            edits: Vec::new(),
            set,
            is_anew: true,
        };
        self.files.insert(path, planned);
        Ok(())
    }

    /// Delete a file. Folders that become empty go with it.
    pub fn delete(&mut self, path: &str) -> Result<()> {
        place::refuse_link(&self.root, &place::tidy(&self.root, path)?)?;
        let key = self.key(path)?;
        let planned = self.files.remove(&key);
        if let Some((path, content)) = planned.and_then(|planned| planned.origin) {
            self.deleted.insert(path, content);
        }
        Ok(())
    }

    /// Rename a file; edits may come before or after. A folder is renamed file by file; if it
    /// is empty then, it is removed.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        place::refuse_link(&self.root, &place::tidy(&self.root, from)?)?;
        let key = self.key(from)?;
        let to = self.free(to)?;
        if let Some(planned) = self.files.remove(&key) {
            self.files.insert(to, planned);
        }
        Ok(())
    }

    /// Say something that the caller should know.
    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    /// Name a place that may belong to the change, but was not touched.
    pub fn leave(&mut self, left: LeftAlone) {
        self.left.push(left);
    }

    fn leave_link(&mut self, path: &str, edits: &[TextEdit]) {
        let bytes = std::fs::read(self.root.join(path)).unwrap_or_default();
        let source = Source::decode(&bytes);
        for TextEdit { span, .. } in edits {
            let (start, end) = (LineColumn::from(span.start), LineColumn::from(span.end));
            self.leave(LeftAlone {
                location: Location {
                    file: path.to_owned(),
                    line: start.line,
                    column: start.column,
                    end_line: end.line,
                    end_column: end.column,
                    name: source.slice(*span).map(ToOwned::to_owned),
                    kind: None,
                    preview: preview(&source, *span),
                    external: true,
                },
                why: "the file is a link that leads out of the workspace".into(),
            });
        }
    }

    /// Whether every file stays as it is.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.changes().is_ok_and(|changes| changes.is_empty())
    }

    /// The text that a file will have; nothing if the set does not touch or deletes it.
    pub fn text_after(&self, path: &str) -> Option<String> {
        let key = self.known(&place::tidy(&self.root, path).ok()?)?;
        self.files.get(&key).map(Planned::text)
    }

    /// Every file that will be there, and the one it is made of.
    pub fn texts(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.files.iter().map(|(path, planned)| {
            let origin = planned.origin.as_ref();
            (path.as_str(), origin.map(|(path, _)| path.as_str()))
        })
    }

    /// Every path that the set names, by old and by new names.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> BTreeSet<&str> {
        let origins = self.files.values().filter_map(|file| file.origin.as_ref());
        let before = origins.map(|(path, _)| path).chain(self.deleted.keys());
        before
            .chain(self.files.keys())
            .map(String::as_str)
            .collect()
    }

    /// What is at each path before and after; paths where that is the same are left out.
    pub(super) fn changes(&self) -> Result<Vec<PathChange>> {
        let mut all: BTreeMap<&str, (Option<Content>, Option<Content>)> = BTreeMap::new();
        for (path, content) in &self.deleted {
            all.entry(path).or_default().0 = Some(content.clone());
        }
        for (path, planned) in &self.files {
            if let Some((origin, content)) = &planned.origin {
                all.entry(origin).or_default().0 = Some(content.clone());
            }
            let after = planned.content().map_err(|mut error| {
                if !error.message.contains(&**path) {
                    error.message = format!("`{path}`: {}", error.message);
                }
                error
            })?;
            all.entry(path).or_default().1 = Some(after);
        }
        let changes = all.into_iter().map(|(path, (before, after))| PathChange {
            path: path.to_owned(),
            before,
            after,
        });
        let changes = changes.filter(|change| match (&change.before, &change.after) {
            (Some(before), Some(after)) => !before.is_same(after),
            _ => true,
        });
        let changes: Vec<PathChange> = changes.collect();
        let contents = changes
            .iter()
            .flat_map(|change| [&change.before, &change.after]);
        let bytes: usize = contents.flatten().map(|content| content.bytes.len()).sum();
        match bytes > MAX_CHANGE {
            true => Err(too_large()),
            false => Ok(changes),
        }
    }

    /// The folder that its paths are relative to.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name that a file of this set will have.
    fn known(&self, tidy: &str) -> Option<String> {
        if self.files.contains_key(tidy) {
            return Some(tidy.to_owned());
        }
        let renamed = self.files.iter().find(|(_, planned)| {
            let origin = planned.origin.as_ref();
            origin.is_some_and(|(path, _)| path == tidy)
        });
        renamed.map(|(path, _)| path.clone())
    }

    /// The same; a file that the set did not know yet is read.
    fn key(&mut self, path: &str) -> Result<String> {
        let tidy = place::tidy(&self.root, path)?;
        if let Some(known) = self.known(&tidy) {
            return Ok(known);
        }
        let (found, content) = place::existing(&self.root, path)?;
        if let Some(known) = self.known(&found) {
            return Ok(known);
        }
        if self.deleted.contains_key(&found) {
            return Err(Error::new(
                Code::NotFound,
                format!("`{path}` is deleted by the same change"),
            ));
        }
        let planned = Planned {
            base: Source::decode(&content.bytes),
            origin: Some((found.clone(), content)),
            edits: Vec::new(),
            set: None,
            is_anew: false,
        };
        self.files.insert(found.clone(), planned);
        Ok(found)
    }

    fn planned(&mut self, path: &str) -> Result<&mut Planned> {
        let key = self.key(path)?;
        let planned = self.files.get_mut(&key);
        planned.ok_or_else(|| Error::internal(format!("`{key}` is not in the change set")))
    }

    /// A path where nothing will be unless it is put there now.
    fn free(&self, path: &str) -> Result<String> {
        let tidy = place::tidy(&self.root, path)?;
        let (found, in_the_way) = place::new_file(&self.root, &tidy)?;
        let leaves = |path: &str| {
            let moved = self.files.iter().any(|(now, planned)| {
                let origin = planned.origin.as_ref();
                now != path && origin.is_some_and(|(was, _)| was == path)
            });
            moved || self.deleted.contains_key(path)
        };
        let comes = |path: &str| self.files.contains_key(path);
        if comes(&found) || in_the_way.is_some_and(|path| !leaves(&path)) {
            return Err(place::exists(&tidy));
        }
        // A file cannot lie in a file.
        let mut above = super::content::folders_above(&found).into_iter();
        let below = format!("{found}/");
        if above.any(comes) || self.files.keys().any(|path| path.starts_with(&below)) {
            return Err(place::exists(&tidy));
        }
        Ok(found)
    }
}
