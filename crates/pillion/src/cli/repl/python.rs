//! What a terminal has to know of Python: whether a cell is whole, how its next line is
//! indented, and where the cells of a text are.
//!
//! It goes by tokens and not by a parser, since cells have magics in them and are mostly not
//! finished. What is not understood counts as whole: the kernel says what is wrong with it.

use pillion_notebook::file::{TokenKind, tokens};

/// Spaces of one step.
pub(crate) const STEP: usize = 4;
/// Begins a cell in a text.
pub(crate) const MARK: &str = "# %%";

/// How the end of a text stands.
#[derive(Debug, Default)]
struct End {
    /// Brackets that are open.
    depth: usize,
    /// A long string is open.
    in_string: bool,
    /// Its last line that says something ends with a colon.
    colon: bool,
    /// Its last character continues the line.
    backslash: bool,
    /// Its last statement is a decorator.
    decorator: bool,
    /// Its last statement is part of a block.
    indented: bool,
}

fn end(source: &str) -> End {
    let mut end = End::default();
    let (mut at_start, mut margin, mut before) = (true, false, "");
    for (kind, text) in tokens(source) {
        let is_outside = end.depth == 0;
        match kind {
            TokenKind::Comment => continue,
            TokenKind::String => {
                end.in_string = is_open(text);
                end.colon = false;
            }
            TokenKind::Plain if text.trim().is_empty() => {
                margin = !text.contains('\n');
                at_start |= !margin && before != "\\";
                continue;
            }
            TokenKind::Plain => {
                match text {
                    "(" | "[" | "{" => end.depth += 1,
                    ")" | "]" | "}" => end.depth = end.depth.saturating_sub(1),
                    _ => {}
                }
                end.colon = text == ":" && end.depth == 0;
            }
            _ => end.colon = false,
        }
        if std::mem::take(&mut at_start) && is_outside {
            end.decorator = kind == TokenKind::Magic && text.starts_with('@');
            end.indented = margin;
        }
        margin = false;
        before = text;
    }
    end.backslash = source.ends_with('\\');
    end
}

/// Whether a string is long and has no end.
fn is_open(token: &str) -> bool {
    let body = token.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    ["\"\"\"", "'''"].iter().any(|quotes| {
        let Some(inner) = body.strip_prefix(quotes) else {
            return false;
        };
        let Some(inner) = inner.strip_suffix(quotes) else {
            return true;
        };
        // A backslash before the quotes may be one of the string's own.
        let slashes = inner.chars().rev().take_while(|c| *c == '\\').count();
        slashes % 2 == 1
    })
}

/// Whether a cell can be run as it is, or goes on on another line.
pub(crate) fn is_whole(source: &str) -> bool {
    if source.trim().is_empty() {
        return true;
    }
    let last = source.rsplit('\n').next().unwrap_or_default();
    let is_blank = last.trim().is_empty();
    if source.starts_with("%%") {
        return is_blank;
    }
    let end = end(source);
    if end.depth > 0 || end.in_string || end.backslash {
        return false;
    }
    if end.colon || end.decorator {
        return false;
    }
    if lacks_handler(source) {
        return false;
    }
    // A block ends with an empty line.
    is_blank || !end.indented
}

/// Whether there is a `try` that nothing follows yet.
fn lacks_handler(source: &str) -> bool {
    let words = source.lines().filter(|line| !line.starts_with([' ', '\t']));
    let mut open = false;
    for line in words {
        let word = line.split(|c: char| !c.is_alphanumeric()).next();
        match word {
            Some("try") if line.trim_end().ends_with(':') => open = true,
            Some("except" | "finally") => open = false,
            _ => {}
        }
    }
    open
}

/// Spaces at the begin of a line behind this text.
pub(crate) fn indentation(before: &str) -> usize {
    let state = end(before);
    if state.in_string {
        return 0;
    }
    let line = before.rsplit('\n').next().unwrap_or_default();
    let own = line.len() - line.trim_start_matches(' ').len();
    let first = line.split_whitespace().next().unwrap_or_default();
    if state.colon || opens(line) {
        return own + STEP;
    }
    match first.trim_end_matches([':', '(']) {
        "return" | "raise" | "pass" | "break" | "continue" if state.depth == 0 => {
            own.saturating_sub(STEP)
        }
        _ => own,
    }
}

/// Whether a line ends with a bracket that it opens.
fn opens(line: &str) -> bool {
    line.trim_end().ends_with(['(', '[', '{'])
}

/// The cells of a text that nobody types: what stands between marks, or else one statement after
/// the other, as if it were typed.
pub(crate) fn cells(text: &str) -> Vec<String> {
    if text.starts_with("%%") {
        return vec![text.to_owned()];
    }
    let marked = text.lines().any(|line| line.starts_with(MARK));
    let mut cells: Vec<String> = Vec::new();
    let mut cell = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if marked && line.starts_with(MARK) {
            cells.push(std::mem::take(&mut cell));
            continue;
        }
        cell.push_str(line);
        cell.push('\n');
        if !marked && lines.peek().is_none_or(|next| begins(next)) && is_closed(&cell) {
            cells.push(std::mem::take(&mut cell));
        }
    }
    cells.push(cell);
    cells.retain(|cell| {
        let mut lines = cell.lines().map(str::trim);
        lines.any(|line| !line.is_empty() && !line.starts_with('#'))
    });
    cells
}

/// Whether a statement can begin with this line.
fn begins(line: &str) -> bool {
    let word = line.split(|c: char| !c.is_alphanumeric()).next();
    !line.starts_with([' ', '\t', ')', ']', '}'])
        && !line.trim().is_empty()
        && !matches!(word, Some("else" | "elif" | "except" | "finally"))
}

/// Whether nothing is open at the end of a text.
fn is_closed(source: &str) -> bool {
    let source = source.trim_end_matches('\n');
    let end = end(source);
    let says_nothing = source
        .lines()
        .all(|line| line.trim().is_empty() || line.starts_with('#'));
    end.depth == 0
        && !(end.in_string || end.backslash || end.colon || end.decorator || says_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_whole_when_nothing_is_open() {
        for whole in [
            "",
            "1 + 1",
            "x = {'a': 1}",
            "if x: pass",
            "def f():\n    return 1\n",
            "def f():\n    return 1\n    ",
            "s = '''a\nb'''",
            "s = 'open",
            "%timeit x",
            "print?",
            "!ls (",
            "%%bash\nls (\n",
            "x = [1,\n     2]",
            "x = 1 + \\\n    2",
            "s = '''\n    a'''",
            "lambda: 0",
            "try:\n    x\nexcept E:\n    y\n",
            "# a comment: ",
            "x = ')'",
            ")",
        ] {
            assert!(is_whole(whole), "{whole:?}");
        }
        for open in [
            "def f():",
            "def f():  # why",
            "def f():\n    return 1",
            "def f():\n    return [\n1]",
            "print(",
            "x = [1,\n     2",
            "s = '''a",
            "s = f\"\"\"a\nb",
            "s = '''a\\'''",
            "x = 1 + \\",
            "@cache",
            "@cache(\n    1)",
            "@cache\ndef f(): pass\n@other",
            "%%bash",
            "%%bash\nls",
            "try:\n    x\n",
            "if x:\n    y\nelse:",
        ] {
            assert!(!is_whole(open), "{open:?}");
        }
    }

    #[test]
    fn a_line_is_indented_as_the_one_before_suggests() {
        for (before, expected) in [
            ("x", 0),
            ("def f():", 4),
            ("def f():  # why", 4),
            ("def f():\n    if x:", 8),
            ("def f():\n    x = 1", 4),
            ("def f():\n    return 1", 0),
            ("def f():\n        raise", 4),
            ("x = [", 4),
            ("s = '''\n    a", 0),
        ] {
            assert_eq!(indentation(before), expected, "{before:?}");
        }
    }

    #[test]
    fn a_text_is_cut_where_statements_begin() {
        let text = "import os\n\nx = [\n1,\n]\n@a\ndef f():\n    x\n\n    y\n\nif x:\n    1\nelse:\n    2\n\
                    s = '''\nnot\na cell\n'''\n# about z\nz\n";
        let expected = [
            "import os\n\n",
            "x = [\n1,\n]\n",
            "@a\ndef f():\n    x\n\n    y\n\n",
            "if x:\n    1\nelse:\n    2\n",
            "s = '''\nnot\na cell\n'''\n",
            "# about z\nz\n",
        ];
        let found = cells(text);
        assert_eq!(found.concat(), text);
        // An empty line belongs to the statement before or behind it.
        let trimmed = |cells: &[String]| cells.iter().map(|c| c.trim().to_owned()).collect();
        let found: Vec<String> = trimmed(&found);
        let expected: Vec<String> = trimmed(&expected.map(ToOwned::to_owned));
        assert_eq!(found, expected);
        assert_eq!(cells("# %% one\na\nb\n# %%\nc\n"), ["a\nb\n", "c\n"]);
        assert_eq!(cells("%%bash\nls\nls\n"), ["%%bash\nls\nls\n"]);
        assert!(cells("\n# nothing\n").is_empty());
    }
}
