//! From changed lines to what they say about a Python file: which functions they belong to,
//! and whether the module's own code or its imports changed.

use std::collections::HashSet;

use pillion_index::Facts;
use pillion_index::source::Source;

use crate::git::{FileDiff, FileStatus};

/// A file that changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where it is now, or was if it is gone.
    pub path: String,
    /// Where it was before, or is no more.
    pub gone: Option<String>,
    /// The lines that are new or other, from 1; all of them if it is `None`. Blank lines,
    /// comments and imports are not among them.
    pub lines: Option<Vec<u32>>,
    /// Lines behind which something was taken out.
    pub(crate) gaps: Vec<u32>,
    /// Whether code of the module itself was taken out.
    pub(crate) top: bool,
    /// Whether imports changed.
    pub imports: bool,
    /// Functions and classes of the module of which a first line was taken out.
    pub(crate) removed: Vec<String>,
}

impl ChangedFile {
    /// All of a file.
    pub fn whole(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..Self::default()
        }
    }

    /// A file that is there no more.
    pub fn gone(path: &str) -> Self {
        Self {
            gone: Some(path.to_owned()),
            ..Self::whole(path)
        }
    }

    /// What git says about a file, with its text and facts now.
    pub fn of(changed: &FileDiff, now: Option<(&Source, &Facts)>) -> Self {
        let mut file = Self::whole(&changed.path);
        file.gone = match changed.status {
            FileStatus::Deleted => Some(changed.path.clone()),
            _ => changed.old_path.clone(),
        };
        let is_known = changed.status != FileStatus::Added;
        let Some((source, facts)) = now.filter(|_| is_known) else {
            return file;
        };
        let is_package = super::modules::is_init(&changed.path);
        let spans = facts.imports.iter().map(|import| &import.span);
        let imports: HashSet<u32> = spans
            .flat_map(|span| span.start.line + 1..=span.end.line + 1)
            .collect();
        let mut lines = Vec::new();
        for hunk in &changed.hunks {
            let new = hunk.new_start..hunk.new_start.saturating_add(hunk.new_count);
            for line in new {
                let text = source.line(line.saturating_sub(1)).unwrap_or_default();
                match sort(text) {
                    Sort::Nothing => {}
                    Sort::Import => file.imports = true,
                    _ if imports.contains(&line) => file.imports = true,
                    _ => lines.push(line),
                }
            }
            // Lines before the first head belong to what still stands before them.
            let (mut is_inside, mut is_headed, mut is_decorated) = (false, false, false);
            for old in &hunk.removed {
                match sort(old) {
                    Sort::Nothing => {}
                    Sort::Import => file.imports = true,
                    Sort::Inside => is_inside |= !is_headed,
                    Sort::Decorator => is_decorated = true,
                    Sort::Code => file.top = true,
                    Sort::Definition(name) => {
                        is_headed = true;
                        file.removed.push(name.to_owned());
                    }
                }
            }
            if is_decorated && !is_headed {
                file.gaps.push(hunk.new_start + 1);
            }
            if is_inside && hunk.new_count == 0 {
                file.gaps.push(hunk.new_start.max(1));
            }
        }
        // What a package imports is what it offers.
        file.top |= is_package && file.imports;
        file.lines = Some(lines);
        file
    }
}

/// What a line is by its first word.
enum Sort<'a> {
    /// Blank, a comment, or the end of something.
    Nothing,
    Import,
    /// The head of a function or class of the module.
    Definition(&'a str),
    /// A decorator of something in the module.
    Decorator,
    /// A line of something that began before.
    Inside,
    Code,
}

fn sort(line: &str) -> Sort<'_> {
    let text = line.trim();
    if text.is_empty()
        || text.starts_with('#')
        || text.trim_matches([')', ']', '}', ',']).is_empty()
    {
        return Sort::Nothing;
    }
    if line.starts_with([' ', '\t']) {
        return Sort::Inside;
    }
    if text.starts_with("import ") || text.starts_with("from ") {
        return Sort::Import;
    }
    for head in ["def ", "async def ", "class "] {
        if let Some(rest) = text.strip_prefix(head) {
            let is_name = |c: char| c == '_' || c.is_alphanumeric();
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            return Sort::Definition(&rest[..end]);
        }
    }
    match text.starts_with('@') {
        true => Sort::Decorator,
        false => Sort::Code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Hunk;
    use pillion_index::extract_facts;

    fn read(text: &str, hunks: &[(u32, u32, &[&str])]) -> ChangedFile {
        let source = Source::from_text(text);
        let facts = extract_facts(&source, "a.py");
        let hunks = hunks.iter().map(|(new_start, new_count, removed)| Hunk {
            old_start: 1,
            old_count: 1,
            new_start: *new_start,
            new_count: *new_count,
            removed: removed.iter().map(|line| (*line).to_owned()).collect(),
        });
        let changed = FileDiff {
            path: "a.py".to_owned(),
            old_path: None,
            status: FileStatus::Modified,
            hunks: hunks.collect(),
        };
        ChangedFile::of(&changed, Some((&source, &facts)))
    }

    #[test]
    fn blank_lines_and_imports_are_no_code() {
        let text = "from a import (\n    b,\n)\n\n# note\ndef f():\n    pass\nX = 1\n";
        let file = read(text, &[(1, 5, &[])]);
        assert_eq!((file.lines, file.imports), (Some(vec![]), true));
        let file = read(text, &[(4, 5, &[])]);
        assert_eq!((file.lines, file.imports), (Some(vec![6, 7, 8]), false));
    }

    #[test]
    fn what_was_taken_out_is_sorted() {
        let text = "def f():\n    pass\n";
        let file = read(text, &[(2, 0, &["    x = 1"])]);
        assert_eq!((file.gaps, file.top), (vec![2], false));
        let file = read(text, &[(2, 0, &["", "def g():", "    x = 1"])]);
        assert_eq!((file.removed, file.top), (vec!["g".to_owned()], false));
        assert!(file.gaps.is_empty());
        assert!(read(text, &[(0, 0, &["X = 1"])]).top);
        assert!(read(text, &[(0, 0, &["import os"])]).imports);
    }
}
