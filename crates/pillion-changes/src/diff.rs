//! Unified diffs that `git apply` and `patch -p1` take.
//!
//! Each begins with git's own header. Plain headers alone cannot say that a file is renamed
//! or has no lines, and both tools take them for a part of such a patch if it comes before.
//! GNU patch knows these headers since 2.7 and renames files too; other programs called
//! `patch` skip them, and so leave out renames and files without lines.

use std::fmt::Write;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

/// Unchanged lines around each change.
const CONTEXT: usize = 3;
/// How long the smallest patch of a file may be looked for.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);
/// What git calls a file without bytes. GNU patch believes no other word for it.
const EMPTY: &str = "e69de29";

/// What happens to a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate<'a> {
    Changed,
    Created,
    /// Whether it is a program.
    Deleted {
        executable: bool,
    },
    Renamed {
        from: &'a str,
    },
}

/// The patch of one file.
pub(super) fn patch(path: &str, fate: Fate<'_>, old: &str, new: &str) -> String {
    let hunks = hunks(old, new);
    let from = match fate {
        Fate::Renamed { from } => from,
        _ => path,
    };
    let (old_name, new_name) = (in_header("a/", from), in_header("b/", path));
    let mut out = format!("diff --git {old_name} {new_name}\n");
    let is_empty = hunks.is_empty();
    match fate {
        Fate::Changed => {}
        Fate::Created => {
            out.push_str("new file mode 100644\n");
            if is_empty {
                let _ = writeln!(out, "index 0000000..{EMPTY}");
            }
        }
        Fate::Deleted { executable } => {
            let mode = if executable { "100755" } else { "100644" };
            let _ = writeln!(out, "deleted file mode {mode}");
            if is_empty {
                let _ = writeln!(out, "index {EMPTY}..0000000");
            }
        }
        Fate::Renamed { from } => {
            let (from, to) = (quoted("", from), quoted("", path));
            let _ = writeln!(out, "rename from {from}\nrename to {to}");
        }
    }
    if !hunks.is_empty() {
        let old = match fate {
            Fate::Created => "/dev/null".into(),
            _ => tabbed("a/", from),
        };
        let new = match fate {
            Fate::Deleted { .. } => "/dev/null".into(),
            _ => tabbed("b/", path),
        };
        let _ = write!(out, "--- {old}\n+++ {new}\n{hunks}");
    }
    out
}

/// What to do with the lines of one text to get those of another.
///
/// Of the places that `similar` 2.7 gives, only those on the side that an operation is about
/// are right: the others are counted anew.
pub(super) fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    // The effort grows with the square of what differs; from then on it is guessed.
    let until = Instant::now() + SEARCH_TIMEOUT;
    let mut ops = capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(until));
    let (mut was, mut is) = (0, 0);
    let mut fits = true;
    for op in &mut ops {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        let (old_len, new_len) = (old_range.len(), new_range.len());
        *op = match tag {
            DiffTag::Equal => DiffOp::Equal {
                old_index: was,
                new_index: is,
                len: old_len,
            },
            DiffTag::Delete => DiffOp::Delete {
                old_index: was,
                old_len,
                new_index: is,
            },
            DiffTag::Insert => DiffOp::Insert {
                old_index: was,
                new_index: is,
                new_len,
            },
            DiffTag::Replace => DiffOp::Replace {
                old_index: was,
                old_len,
                new_index: is,
                new_len,
            },
        };
        let (end, new_end) = (was + old_len, is + new_len);
        fits &= tag != DiffTag::Equal || old.get(was..end) == new.get(is..new_end);
        (was, is) = (end, new_end);
    }
    if fits && (was, is) == (old.len(), new.len()) {
        return ops;
    }
    // A larger patch is better than a wrong one.
    vec![DiffOp::Replace {
        old_index: 0,
        old_len: old.len(),
        new_index: 0,
        new_len: new.len(),
    }]
}

/// How many separate places differ.
pub(super) fn places(old: &str, new: &str) -> usize {
    let (old, new) = (lines(old), lines(new));
    let ops = compare(&old, &new);
    let differ = |op: &&DiffOp| !matches!(op, DiffOp::Equal { .. });
    ops.iter().filter(differ).count()
}

/// A carriage return is no line end for those who read patches.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn hunks(old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let ops = compare(&old, &new);
    let mut out = String::new();
    for group in group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let was = first.old_range().start..last.old_range().end;
        let is = first.new_range().start..last.new_range().end;
        let _ = writeln!(out, "@@ -{} +{} @@", range(&was), range(&is));
        for op in &group {
            if let DiffOp::Equal { .. } = op {
                push(&mut out, ' ', &old[op.old_range()]);
            } else {
                push(&mut out, '-', &old[op.old_range()]);
                push(&mut out, '+', &new[op.new_range()]);
            }
        }
    }
    out
}

fn push(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn range(lines: &std::ops::Range<usize>) -> String {
    match lines.len() {
        // The line before the place.
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// A path as git writes it: in quotes if it has a character that would end or hide it.
fn quoted(prefix: &str, path: &str) -> String {
    let needs = |c: char| c.is_ascii_control() || c == '"' || c == '\\';
    if !path.contains(needs) {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for c in path.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\{:03o}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The same for `---` and `+++`: a tab says where a name with spaces ends.
fn tabbed(prefix: &str, path: &str) -> String {
    let name = quoted(prefix, path);
    if name.contains(' ') && !name.starts_with('"') {
        name + "\t"
    } else {
        name
    }
}

/// The same for the first line, where GNU patch ends a name at a space.
fn in_header(prefix: &str, path: &str) -> String {
    let name = quoted(prefix, path);
    if name.contains(' ') && !name.starts_with('"') {
        format!("\"{name}\"")
    } else {
        name
    }
}
