//! Cells that are being typed, read as text: what a kernel does not know because it has not run
//! it yet.
//!
//! Who reads them is another service's business ([`Reader`]). What it gets is one text: the cells
//! that ran, and behind them the one that is typed, without the lines that are no Python.

use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;

use pillion_catalogue::Result;

/// Bytes of earlier cells that are read whole; of older ones only what they import.
const MOST_PAST: usize = 64 << 10;
/// Magics whose cells are Python below the first line.
const PYTHON_MAGICS: &[&str] = &["time", "timeit", "capture", "prun"];

/// Reads code without running it.
pub trait Reader: Debug + Send + Sync {
    /// Names that could stand there.
    fn complete(&self, typed: TypedText) -> ReaderFuture<Vec<String>>;
    /// What is known about the name there, for people.
    fn describe(&self, typed: TypedText) -> ReaderFuture<Option<String>>;
}

/// What a reader finds.
pub type ReaderFuture<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// A text, and a place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedText {
    /// The Python whose packages it imports.
    pub python: Option<PathBuf>,
    /// All of it.
    pub text: String,
    /// The line, from 0.
    pub line: u32,
    /// The column in characters, from 0.
    pub column: u32,
}

/// The word before a place in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    /// Where it begins, in characters.
    pub(crate) start: usize,
    /// It follows a dot.
    pub(crate) is_member: bool,
}

impl Word {
    pub(crate) fn before(code: &str, cursor: usize) -> Self {
        let before: Vec<char> = code.chars().take(cursor).collect();
        let letters = before
            .iter()
            .rev()
            .take_while(|letter| is_of_name(**letter));
        let start = before.len() - letters.count();
        let is_member = before[..start].last() == Some(&'.');
        Self { start, is_member }
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

impl TypedText {
    /// The text of a cell behind earlier ones; nothing if the place is in a line that is no
    /// Python.
    pub(crate) fn new(
        python: Option<PathBuf>,
        past: &[String],
        code: &str,
        cursor: usize,
    ) -> Option<Self> {
        let before: String = code.chars().take(cursor).collect();
        let line = before.matches('\n').count();
        let column = before.chars().rev().take_while(|letter| *letter != '\n');
        let column = column.count();
        let lines = plain(code)?;
        // A line that was taken out is not asked about.
        if lines.get(line).map(String::as_str) != code.split('\n').nth(line) {
            return None;
        }
        let mut text = earlier(past);
        let above = text.matches('\n').count();
        text.push_str(&lines.join("\n"));
        Some(Self {
            python,
            text,
            line: u32::try_from(above + line).ok()?,
            column: u32::try_from(column).ok()?,
        })
    }
}

/// What earlier cells say.
fn earlier(past: &[String]) -> String {
    let mut kept = Vec::new();
    let mut bytes = 0;
    for code in past.iter().rev() {
        bytes += code.len();
        let lines = plain(code).unwrap_or_default().into_iter();
        let lines = lines.filter(|line| bytes <= MOST_PAST || is_import(line));
        kept.push(lines.map(|line| line + "\n").collect::<String>());
    }
    kept.reverse();
    kept.concat()
}

fn is_import(line: &str) -> bool {
    // One that goes on in the next line would be half of one.
    let is_whole = !line.contains('(') && !line.ends_with('\\');
    is_whole && (line.starts_with("import ") || line.starts_with("from "))
}

/// The lines of a cell with those taken out that are for IPython; nothing if all of them are.
fn plain(code: &str) -> Option<Vec<String>> {
    if let Some(magic) = code.trim_start().strip_prefix("%%") {
        let name = magic.split_whitespace().next().unwrap_or_default();
        if !PYTHON_MAGICS.contains(&name) {
            return None;
        }
    }
    let lines = code.split('\n').map(|line| {
        let text = line.trim();
        let is_for_ipython = text.starts_with(['%', '!', '?']) || text.ends_with('?');
        match is_for_ipython {
            // Something has to stand below an `if`.
            true => line[..line.len() - line.trim_start().len()].to_owned() + "pass",
            false => line.to_owned(),
        }
    });
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(past: &[&str], code: &str, cursor: usize) -> Option<(String, u32, u32)> {
        let past: Vec<_> = past.iter().map(|&code| code.to_owned()).collect();
        let typed = TypedText::new(None, &past, code, cursor)?;
        Some((typed.text, typed.line, typed.column))
    }

    #[test]
    fn a_cell_is_read_behind_those_that_ran() {
        let found = typed(&["import a", "x = 1\ny = 2"], "é = x\na.b", 9);
        let text = "import a\nx = 1\ny = 2\né = x\na.b";
        assert_eq!(found, Some((text.to_owned(), 4, 3)));
        assert_eq!(typed(&[], "", 0), Some((String::new(), 0, 0)));
    }

    #[test]
    fn what_is_for_ipython_is_taken_out() {
        let past = [
            "%matplotlib inline\nif x:\n    !ls\nx?",
            "%%bash\nls",
            "%%time\ny = 1",
        ];
        let (text, line, _) = typed(&past, "y", 1).unwrap();
        assert_eq!(text, "pass\nif x:\n    pass\npass\npass\ny = 1\ny");
        assert_eq!(line, 6);
        assert_eq!(typed(&[], "%ti", 3), None, "the kernel knows its magics");
        assert_eq!(typed(&[], "%%bash\nls", 9), None);
    }

    #[test]
    fn of_old_cells_only_the_imports_are_read() {
        let old = format!(
            "import a\nfrom b import (\n    c)\n{}",
            "x = 1\n".repeat(20)
        );
        let long = "y = 1\n".repeat(MOST_PAST / 6);
        let (text, ..) = typed(&[&old, &long], "z", 1).unwrap();
        assert!(text.starts_with("import a\ny = 1\n"), "{}", &text[..40]);
        assert!(text.len() < MOST_PAST + 100);
    }

    #[test]
    fn the_word_before_a_place_is_found() {
        let word = |code, cursor| {
            let word = Word::before(code, cursor);
            (word.start, word.is_member)
        };
        assert_eq!(word("x = größe", 9), (4, false));
        assert_eq!(word("a.b", 3), (2, true));
        assert_eq!(word("a.", 2), (2, true));
        assert_eq!(word("", 0), (0, false));
        assert_eq!(word("ab", 99), (0, false), "behind the end is at the end");
    }
}
