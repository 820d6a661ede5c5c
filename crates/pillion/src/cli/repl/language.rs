//! What a terminal knows about the language of its cells: much of Python, and little of others.

use super::python;

/// The language of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Language {
    /// Python, which is known by heart.
    #[default]
    Python,
    /// Another one. Its kernel knows it; here a line is a cell.
    Other,
}

impl Language {
    /// The language that a kernel names.
    pub(crate) fn named(name: &str) -> Self {
        match name.eq_ignore_ascii_case("python") {
            true => Self::Python,
            false => Self::Other,
        }
    }

    /// Whether what was typed can be run.
    pub(crate) fn is_whole(self, source: &str) -> bool {
        match self {
            Self::Python => python::is_whole(source),
            Self::Other => !source.ends_with('\\'),
        }
    }

    /// How far the next line is indented.
    pub(crate) fn indentation(self, before: &str) -> usize {
        match self {
            Self::Python => python::indentation(before),
            Self::Other => 0,
        }
    }

    /// The cells of a text that nobody types. Statements are told apart only in Python; of others,
    /// marks tell.
    pub(crate) fn cells(self, text: &str) -> Vec<String> {
        let is_marked = text.lines().any(|line| line.starts_with(python::MARK));
        match self {
            Self::Other if !is_marked => vec![text.to_owned()],
            Self::Other | Self::Python => python::cells(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Language::{self, Other, Python};

    #[test]
    fn another_language_is_run_line_by_line_or_as_a_whole() {
        assert!(Other.is_whole("for x in 1 2; do") && !Python.is_whole("for x in y:"));
        assert!(!Other.is_whole("echo a \\"));
        let text = "if true\nthen echo x\nfi\n";
        assert_eq!(Other.cells(text), [text]);
        assert_eq!(Other.cells("# %%\na\n# %%\nb\n"), ["a\n", "b\n"]);
        assert_eq!(Python.cells("a\nb\n"), ["a\n", "b\n"]);
    }

    #[test]
    fn python_is_known_however_it_is_written() {
        assert_eq!(Language::named("Python"), Python);
        assert_eq!(Language::named("bash"), Other);
        assert_eq!(Language::named(""), Other);
    }
}
