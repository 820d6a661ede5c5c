//! From changed lines to what they say about a file, in any language with braces.

use pillion_index::language::Language;
use pillion_index::source::Source;

use super::super::changes::ChangedFile;
use super::outline::{Bound, Outline};
use super::testing::is_test_file;
use crate::git::{FileDiff, FileStatus};

/// What git says about a file, with its text and outline now.
pub fn changed(
    language: Language,
    changed: &FileDiff,
    now: Option<(&Source, &Outline)>,
) -> ChangedFile {
    let mut file = ChangedFile::whole(&changed.path);
    file.gone = match changed.status {
        FileStatus::Deleted => Some(changed.path.clone()),
        _ => changed.old_path.clone(),
    };
    let is_known = changed.status != FileStatus::Added;
    let Some((source, outline)) = now.filter(|_| is_known) else {
        return file;
    };
    let is_import = |line: u32| {
        let mut imports = outline.imports.iter();
        imports.any(|import| import.lines.0 <= line && line <= import.lines.1)
    };
    let mut lines = Vec::new();
    for hunk in &changed.hunks {
        for line in hunk.new_start..hunk.new_start.saturating_add(hunk.new_count) {
            let text = source.line(line.saturating_sub(1)).unwrap_or_default();
            if is_import(line) {
                file.imports = true;
            } else if !is_nothing(text) {
                lines.push(line);
            }
        }
        for old in hunk.removed.iter().filter(|old| !is_nothing(old)) {
            if is_old_import(old) {
                file.imports = true;
            } else if old.starts_with([' ', '\t']) {
                // The lines around the gap belong to what it was taken from.
                file.gaps
                    .extend([hunk.new_start.max(1), hunk.new_start + 1]);
            } else {
                // A definition that is gone, or code of the file itself.
                file.top = true;
            }
        }
    }
    // A test file may be nothing but code of its own; what a file passes on is what others see.
    let is_passed_on = |bound: &Bound| !matches!(bound, Bound::Nothing);
    let mut offered = outline.imports.iter().filter(|import| import.is_offered);
    let passes_on = offered.any(|import| is_passed_on(&import.bound));
    file.top |= file.imports && (passes_on || is_test_file(language, &changed.path));
    file.lines = Some(lines);
    file
}

/// Whether a line is blank, a comment, or the end of something.
fn is_nothing(line: &str) -> bool {
    let text = line.trim();
    let is_comment = ["//", "/*", "* ", "*/"]
        .iter()
        .any(|begin| text.starts_with(begin));
    is_comment
        || text == "*"
        || text
            .trim_matches(['{', '}', '(', ')', '[', ']', ',', ';'])
            .is_empty()
}

fn is_old_import(line: &str) -> bool {
    let begins = ["import ", "use ", "pub use ", "#include", "from "];
    begins.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Hunk;

    fn read(text: &str, new: (u32, u32), removed: &[&str]) -> ChangedFile {
        let hunk = Hunk {
            old_start: 1,
            old_count: 1,
            new_start: new.0,
            new_count: new.1,
            removed: removed.iter().map(|line| (*line).to_owned()).collect(),
        };
        let git = FileDiff {
            path: "a.ts".to_owned(),
            old_path: None,
            status: FileStatus::Modified,
            hunks: vec![hunk],
        };
        let source = Source::from_text(text);
        let outline = super::super::outline(Language::Typescript, "a.ts", text);
        changed(Language::Typescript, &git, Some((&source, &outline)))
    }

    #[test]
    fn comments_and_imports_are_no_code() {
        let text = "import { a } from './a';\n\n// note\nfunction f() {\n  a();\n}\n";
        let file = read(text, (1, 6), &[]);
        assert_eq!(
            (file.lines, file.imports, file.top),
            (Some(vec![4, 5]), true, false)
        );
    }

    #[test]
    fn what_was_taken_out_is_sorted() {
        let text = "function f() {\n  a();\n}\n";
        let file = read(text, (2, 0), &["  b();"]);
        assert_eq!((file.gaps, file.top), (vec![2, 3], false));
        assert!(read(text, (0, 0), &["const x = 1;"]).top);
        assert!(read(text, (0, 0), &["import './x';"]).imports);
    }
}
