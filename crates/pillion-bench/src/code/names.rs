//! Names in Python source, as far as a bench needs them: what stands in strings and
//! comments is none.

/// A name, and where it stands: line and column from 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    pub(super) line: u32,
    pub(super) col: u32,
}

/// All names of a file.
pub(super) fn names(source: &str) -> Vec<Name<'_>> {
    let mut found = Vec::new();
    let mut rest = source;
    let (mut line, mut col) = (1, 1);
    while let Some(first) = rest.chars().next() {
        let length = if first == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' || first == '\'' {
            string(rest, first)
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let text = &rest[..end.unwrap_or(rest.len())];
            if !first.is_numeric() {
                found.push(Name { text, line, col });
            }
            text.len()
        } else {
            first.len_utf8()
        };
        let (taken, after) = rest.split_at(length);
        for character in taken.chars() {
            if character == '\n' {
                (line, col) = (line + 1, 1);
            } else {
                col += 1;
            }
        }
        rest = after;
    }
    found
}

/// The length of the string that begins here.
fn string(rest: &str, quote: char) -> usize {
    let triple = [quote; 3].iter().collect::<String>();
    let is_long = rest.starts_with(&triple);
    let opened = if is_long { 3 } else { 1 };
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(opened) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if is_long && rest[at..].starts_with(&triple) {
            return at + 3;
        } else if !is_long && (character == quote || character == '\n') {
            return at + 1;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_hold_no_names() {
        let source = "\"\"\"a 'b\"\"\"\nx = 'it\\'s' + é.y2  # z\ndef f(): return \"\"\n";
        let all: Vec<_> = names(source)
            .iter()
            .map(|n| (n.text, n.line, n.col))
            .collect();
        assert_eq!(
            all,
            [
                ("x", 2, 1),
                ("é", 2, 15),
                ("y2", 2, 17),
                ("def", 3, 1),
                ("f", 3, 5),
                ("return", 3, 10),
            ]
        );
    }
}
