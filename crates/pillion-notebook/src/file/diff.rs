//! Two notebooks, compared cell by cell.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use super::align::{align, moved};
use super::cell::{Cell, CellKind};
use super::notebook::Notebook;

/// Unchanged lines around each change.
const CONTEXT: usize = 3;
/// How long the smallest difference of two texts may be looked for.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);

/// What happened to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Nothing.
    Same,
    /// It is only in the new notebook.
    Added,
    /// It is only in the old notebook.
    Removed,
    /// It is in both, and differs.
    Changed,
}

/// What happened to a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellDiff {
    /// Whether it is in both, and differs in something. That it was moved is no difference.
    pub fate: Fate,
    /// Its number in the old notebook, from 0.
    pub old: Option<usize>,
    /// Its number in the new notebook, from 0.
    pub new: Option<usize>,
    /// Its id, in the new notebook if it is there.
    pub id: Option<String>,
    /// What it is, in the new notebook if it is there.
    pub kind: CellKind,
    /// What it was, if that was something else.
    pub kind_was: Option<CellKind>,
    /// Whether it stands elsewhere among the cells that are in both.
    pub moved: bool,
    /// The difference of the texts as hunks of a unified diff; empty if they are equal.
    pub source: String,
    /// What happened to its outputs.
    pub outputs: Fate,
    /// Whether its metadata differ.
    pub metadata: bool,
}

/// The difference of two notebooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// What differs in the metadata of the notebook: the names of values.
    pub metadata: Vec<String>,
    /// The cells that were added, removed, changed or moved, in the order of the new notebook;
    /// those that were removed stand where they were.
    pub cells: Vec<CellDiff>,
}

/// Compare two notebooks. The numbers of runs and the spelling of the files do not count.
pub fn diff(old: &Notebook, new: &Notebook) -> Diff {
    let partners = align(old.cells(), new.cells());
    let moved = moved(&partners);
    let mut cells = Vec::new();
    let mut removed: BTreeSet<usize> = (0..old.cells().len()).collect();
    let kept: BTreeSet<usize> = partners.iter().flatten().copied().collect();
    removed.retain(|at| !kept.contains(at));
    for (at, cell) in new.cells().iter().enumerate() {
        let Some(from) = partners[at] else {
            cells.push(one(None, Some((at, cell)), false));
            continue;
        };
        // What was removed before a cell that stayed in its place is told before it.
        if !moved[at] {
            let later = removed.split_off(&from);
            for gone in std::mem::replace(&mut removed, later) {
                cells.push(one(Some((gone, &old.cells()[gone])), None, false));
            }
        }
        let before = (from, &old.cells()[from]);
        cells.push(one(Some(before), Some((at, cell)), moved[at]));
    }
    for gone in removed {
        cells.push(one(Some((gone, &old.cells()[gone])), None, false));
    }
    cells.retain(|cell| cell.fate != Fate::Same || cell.moved);
    Diff {
        metadata: different(&old.metadata(), &new.metadata()),
        cells,
    }
}

/// The names of the values that differ.
fn different(old: &Value, new: &Value) -> Vec<String> {
    let names = [old, new].into_iter().filter_map(Value::as_object);
    let names: BTreeSet<_> = names.flat_map(serde_json::Map::keys).collect();
    let differ = names
        .into_iter()
        .filter(|name| old.get(name) != new.get(name));
    differ.cloned().collect()
}

/// One cell: before, after.
fn one(old: Option<(usize, &Cell)>, new: Option<(usize, &Cell)>, moved: bool) -> CellDiff {
    let (before, after) = (old.map(|(_, cell)| cell), new.map(|(_, cell)| cell));
    let text = |cell: Option<&Cell>| cell.map(Cell::source).unwrap_or_default();
    let kind = |cell: Option<&Cell>| cell.map_or(CellKind::Unknown, Cell::kind);
    let source = hunks(&text(before), &text(after));
    let outputs = outputs(before, after);
    let both = before.is_some() && after.is_some();
    let metadata = both && before.map(Cell::metadata) != after.map(Cell::metadata);
    let kind_was = (both && kind(before) != kind(after)).then(|| kind(before));
    let differs = !source.is_empty() || outputs != Fate::Same || metadata || kind_was.is_some();
    CellDiff {
        fate: match (before, after) {
            (None, _) => Fate::Added,
            (_, None) => Fate::Removed,
            _ if differs => Fate::Changed,
            _ => Fate::Same,
        },
        old: old.map(|(at, _)| at),
        new: new.map(|(at, _)| at),
        id: after.or(before).and_then(Cell::id),
        kind: kind(after.or(before)),
        kind_was,
        moved,
        source,
        outputs,
        metadata,
    }
}

fn outputs(old: Option<&Cell>, new: Option<&Cell>) -> Fate {
    let list = |cell: Option<&Cell>| {
        let mut outputs = cell.map(Cell::outputs).unwrap_or_default();
        // The number of a run says nothing about what it gave.
        for output in &mut outputs {
            if let super::output::Output::Result {
                execution_count, ..
            } = output
            {
                *execution_count = None;
            }
        }
        outputs
    };
    let (old, new) = (list(old), list(new));
    match (old.is_empty(), new.is_empty()) {
        _ if old == new => Fate::Same,
        (true, _) => Fate::Added,
        (_, true) => Fate::Removed,
        _ => Fate::Changed,
    }
}

/// A line of a text with what happened to it.
struct Line<'a> {
    fate: DiffTag,
    text: &'a str,
}

/// The difference of two texts as hunks of a unified diff; empty if they are equal.
fn hunks(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let lines = compare(&lines(old), &lines(new));
    let changed = |line: &Line<'_>| line.fate != DiffTag::Equal;
    let mut out = String::new();
    let (mut at, mut was, mut is) = (0, 0, 0);
    while at < lines.len() {
        let Some(first) = lines[at..].iter().position(changed) else {
            break;
        };
        // Lines up to the context of the first change are passed over, and are equal.
        let skip = first.saturating_sub(CONTEXT);
        (at, was, is) = (at + skip, was + skip, is + skip);
        let mut end = at;
        while let Some(next) = lines[end..].iter().position(changed) {
            if end > at && next > 2 * CONTEXT {
                break;
            }
            end += next + 1;
        }
        end = (end + CONTEXT).min(lines.len());
        let hunk = &lines[at..end];
        let count = |skipped: DiffTag| hunk.iter().filter(|line| line.fate != skipped).count();
        let (removed, added) = (count(DiffTag::Insert), count(DiffTag::Delete));
        let _ = writeln!(out, "@@ -{} +{} @@", range(was, removed), range(is, added));
        for line in hunk {
            let sign = match line.fate {
                DiffTag::Insert => '+',
                DiffTag::Delete => '-',
                _ => ' ',
            };
            out.push(sign);
            out.push_str(line.text);
            out.push('\n');
        }
        (at, was, is) = (end, was + removed, is + added);
    }
    out
}

/// The lines of a text as an editor shows them. Cells mostly end without a line end; where one
/// does, there is an empty line behind it.
fn lines(text: &str) -> Vec<&str> {
    match text.is_empty() {
        true => Vec::new(),
        false => text.split('\n').collect(),
    }
}

/// A range of lines as a hunk's head has it: one that is empty names the line before it.
fn range(at: usize, count: usize) -> String {
    match count {
        0 => format!("{at},0"),
        1 => format!("{}", at + 1),
        _ => format!("{},{count}", at + 1),
    }
}

/// All lines of both texts in order. Of the places that `similar` 2.7 gives, some are wrong, so
/// only the lengths of its operations are used, and what they lead to is looked at.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let until = Instant::now() + SEARCH_TIMEOUT;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(until));
    let mut lines = Vec::new();
    let (mut was, mut is) = (0, 0);
    let mut fits = true;
    for op in ops {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        let gone = old.get(was..was + old_range.len()).unwrap_or_default();
        let come = new.get(is..is + new_range.len()).unwrap_or_default();
        (was, is) = (was + old_range.len(), is + new_range.len());
        if tag == DiffTag::Equal {
            fits &= gone == come;
            lines.extend(tagged(DiffTag::Equal, gone));
            continue;
        }
        lines.extend(tagged(DiffTag::Delete, gone));
        lines.extend(tagged(DiffTag::Insert, come));
    }
    if fits && (was, is) == (old.len(), new.len()) {
        return lines;
    }
    let all = tagged(DiffTag::Delete, old).chain(tagged(DiffTag::Insert, new));
    all.collect()
}

fn tagged<'a>(fate: DiffTag, lines: &[&'a str]) -> impl Iterator<Item = Line<'a>> {
    lines.iter().map(move |text| Line { fate, text })
}

/// As plain text, for a terminal.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.metadata.is_empty() {
            let names = self.metadata.join(", ");
            writeln!(f, "metadata changed: {}", names.escape_debug())?;
        }
        for cell in &self.cells {
            write!(f, "{cell}")?;
        }
        Ok(())
    }
}

impl fmt::Display for CellDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = Vec::new();
        match self.fate {
            Fate::Added => said.push("added".to_owned()),
            Fate::Removed => said.push("removed".to_owned()),
            _ => {}
        }
        if let (true, Some(old)) = (self.moved, self.old) {
            said.push(format!("moved from {old}"));
        }
        if let Some(kind) = self.kind_was {
            said.push(format!("was {}", kind.as_str()));
        }
        if self.fate == Fate::Changed {
            if !self.source.is_empty() {
                said.push("source changed".to_owned());
            }
            if self.metadata {
                said.push("metadata changed".to_owned());
            }
            match self.outputs {
                Fate::Same => {}
                Fate::Added => said.push("outputs added".to_owned()),
                Fate::Removed => said.push("outputs removed".to_owned()),
                Fate::Changed => said.push("outputs changed".to_owned()),
            }
        }
        let at = self.new.or(self.old).unwrap_or_default();
        write!(f, "cell {at} [{}]", self.kind.as_str())?;
        if let Some(id) = &self.id {
            write!(f, " {}", id.escape_debug())?;
        }
        writeln!(f, ": {}", said.join(", "))?;
        // A terminal would obey some of what a cell may have in it.
        for letter in self.source.chars() {
            match letter.is_control() && !matches!(letter, '\n' | '\t') {
                true => write!(f, "{}", letter.escape_default())?,
                false => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn notebook(cells: &[Value]) -> Notebook {
        let text = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        Notebook::read(text.to_string().as_bytes()).unwrap()
    }

    fn code(id: Option<&str>, source: &str) -> Value {
        let mut cell = json!({"cell_type": "code", "metadata": {}, "source": source,
            "outputs": [], "execution_count": null});
        if let Some(id) = id {
            cell["id"] = id.into();
        }
        cell
    }

    #[test]
    fn equal_notebooks_differ_in_nothing() {
        let a = notebook(&[code(Some("a"), "1"), code(None, "2")]);
        let mut spelled = code(Some("a"), "");
        spelled["source"] = json!(["1"]);
        spelled["execution_count"] = json!(4);
        let b = notebook(&[spelled, code(None, "2")]);
        assert_eq!(diff(&a, &b).to_string(), "");
    }

    #[test]
    fn cells_are_followed_by_id() {
        let mut ran = code(Some("c"), "x");
        ran["outputs"] = json!([{"output_type": "stream", "name": "stdout", "text": "1"}]);
        let a = notebook(&[
            code(Some("a"), "one\ntwo\n"),
            code(Some("b"), "gone"),
            code(Some("c"), "x"),
            code(Some("d"), "last"),
        ]);
        let b = notebook(&[
            code(Some("d"), "last"),
            code(Some("a"), "one\n2\n"),
            ran,
            code(Some("e"), "new"),
        ]);
        let expected = "\
cell 0 [code] d: moved from 3
cell 1 [code] a: source changed
@@ -1,3 +1,3 @@
 one
-two
+2
 
cell 1 [code] b: removed
@@ -1 +0,0 @@
-gone
cell 2 [code] c: outputs added
cell 3 [code] e: added
@@ -0,0 +1 @@
+new
";
        assert_eq!(diff(&a, &b).to_string(), expected);
    }

    #[test]
    fn cells_without_ids_are_followed_by_their_text() {
        let a = notebook(&[
            code(None, "import numpy as np"),
            code(None, "data = load('a.csv', sep=',')"),
            code(None, "plot(data)"),
        ]);
        let b = notebook(&[
            code(Some("w"), "import numpy as np"),
            code(Some("x"), "entirely = different"),
            code(Some("y"), "data = load('b.csv', sep=',')"),
            code(Some("z"), "plot(data)"),
        ]);
        let found = diff(&a, &b);
        let fates: Vec<_> = found.cells.iter().map(|c| (c.fate, c.old, c.new)).collect();
        let expected = [
            (Fate::Added, None, Some(1)),
            (Fate::Changed, Some(1), Some(2)),
        ];
        assert_eq!(fates, expected);
    }

    #[test]
    fn a_cell_without_an_id_that_stands_elsewhere_was_moved() {
        let a = notebook(&[code(None, "1"), code(None, "2"), code(None, "3")]);
        let b = notebook(&[code(None, "3"), code(None, "1"), code(None, "2")]);
        assert_eq!(diff(&a, &b).to_string(), "cell 0 [code]: moved from 2\n");
    }

    #[test]
    fn far_changes_are_hunks_of_their_own_with_right_numbers() {
        let lines = |changed: &[usize]| -> String {
            let line = |at: usize| match changed.contains(&at) {
                true => format!("new {at}\n"),
                false => format!("line {at}\n"),
            };
            (1..=30).map(line).collect()
        };
        let found = hunks(&lines(&[]), &lines(&[2, 9, 25]));
        let heads: Vec<_> = found.lines().filter(|l| l.starts_with("@@")).collect();
        assert_eq!(heads, ["@@ -1,12 +1,12 @@", "@@ -22,7 +22,7 @@"]);
        assert!(found.contains("-line 25\n+new 25\n"));
    }

    #[test]
    fn metadata_and_kinds_are_told() {
        let mut a = notebook(&[code(Some("a"), "x")]);
        let b = a.clone();
        a.set_metadata("kernelspec", Some(json!({})));
        a.replace(0, "x", Some(CellKind::Markdown)).unwrap();
        a.set_cell_metadata(0, "tags", Some(json!(["t"]))).unwrap();
        let said = diff(&b, &a).to_string();
        assert_eq!(
            said,
            "metadata changed: kernelspec\ncell 0 [markdown] a: was code, metadata changed\n"
        );
    }
}
