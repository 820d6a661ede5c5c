//! What a line of markdown is: a fence, a heading, an item, a rule, a part of a table.

/// How code began, and so how it ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fence {
    letter: char,
    length: usize,
    /// Spaces in front of it, which the code has, too.
    margin: usize,
    pub(super) language: String,
}

impl Fence {
    /// The fence that this line is, if it is one.
    pub(super) fn open(line: &str) -> Option<Self> {
        let body = line.trim_start_matches(' ');
        let letter = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = body.chars().take_while(|c| *c == letter).count();
        let info = body[length..].trim();
        if length < 3 || info.contains('`') {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or_default();
        Some(Self {
            letter,
            length,
            margin: line.len() - body.len(),
            language: language.to_owned(),
        })
    }

    /// Whether this line ends it.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let body = line.trim();
        body.len() >= self.length && body.chars().all(|c| c == self.letter)
    }

    /// A line of its code without the spaces that the fence has, too.
    pub(super) fn code<'a>(&self, line: &'a str) -> &'a str {
        let spaces = line.chars().take_while(|c| *c == ' ').count();
        &line[spaces.min(self.margin)..]
    }

    /// Whether its code is Python.
    pub(super) fn is_python(&self) -> bool {
        matches!(self.language.as_str(), "python" | "py" | "python3")
    }
}

/// `## Title`: its level, and its words.
pub(super) fn heading(text: &str) -> Option<(usize, &str)> {
    let level = text.chars().take_while(|c| *c == '#').count();
    let title = text[level..].strip_prefix(' ')?;
    let is_heading = (1..=6).contains(&level);
    is_heading.then(|| (level, title.trim_end_matches(['#', ' ']).trim()))
}

/// `- point` or `3. point`: its mark with the space behind it, and what it says.
pub(super) fn item(text: &str) -> Option<(&str, &str)> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let mark = match text[digits..].chars().next()? {
        '-' | '*' | '+' if digits == 0 => 1,
        '.' | ')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    text[mark..]
        .starts_with(' ')
        .then(|| text.split_at(mark + 1))
}

/// `[ ]` and `[x]` in front of what is to be done.
pub(super) fn check_box(text: &str) -> (&'static str, &str) {
    match text.get(..4) {
        Some("[ ] ") => ("☐ ", &text[4..]),
        Some("[x] " | "[X] ") => ("☑ ", &text[4..]),
        _ => ("", text),
    }
}

/// Whether a line so far may become a fence, a rule or a mark, and so is not shown yet.
pub(super) fn is_mark(line: &str) -> bool {
    let body = line.trim();
    let first = body.chars().next();
    body.len() < 3
        && first.is_some_and(|first| {
            matches!(first, '`' | '~' | '-' | '*' | '#' | '>' | '+' | '_')
                && body.chars().all(|c| c == first)
        })
}

pub(super) fn is_rule(text: &str) -> bool {
    let mut marks = text.chars().filter(|c| *c != ' ');
    let Some(first) = marks.next().filter(|c| matches!(c, '-' | '*' | '_')) else {
        return false;
    };
    let rest: Vec<char> = marks.collect();
    rest.len() >= 2 && rest.iter().all(|mark| *mark == first)
}

/// Whether this line is one of a table.
pub(super) fn is_table(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.starts_with('|')
}

/// Whether it stands between the head of a table and the rest.
pub(super) fn is_divider(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

pub(super) fn cells_of(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(str::trim).collect()
}
