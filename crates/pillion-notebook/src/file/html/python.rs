//! Python with colours: a few kinds of tokens, found without a parser.
//!
//! Cells are often no valid Python (magics, shell lines, half a statement), so nothing here
//! can fail: what is not recognised stays plain.

use super::escaped;

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class",
    "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return",
    "try", "while", "with", "yield",
];
const BUILTINS: &[&str] = &[
    "abs",
    "all",
    "any",
    "bool",
    "bytes",
    "callable",
    "dict",
    "dir",
    "display",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "hasattr",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "object",
    "open",
    "ord",
    "print",
    "property",
    "range",
    "repr",
    "reversed",
    "round",
    "self",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "vars",
    "zip",
];
/// Cell magics whose cell is Python all the same.
const PYTHON_MAGICS: &[&str] = &[
    "%%time",
    "%%timeit",
    "%%capture",
    "%%prun",
    "%%python",
    "%%python3",
];

/// What a piece of Python is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Nothing that has a colour: names, spaces, single signs.
    Plain,
    /// From a `#` to the end of its line.
    Comment,
    /// A magic, a shell line, a question or a decorator.
    Magic,
    /// A string with its prefix; one that is not closed ends with its line, or with the text if
    /// its quotes are three.
    String,
    /// A number.
    Number,
    /// The name behind `def` or `class`.
    Definition,
    /// A keyword.
    Keyword,
    /// A name that Python itself knows.
    Builtin,
}

impl TokenKind {
    /// Its class in a page's style sheet.
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Comment => "c",
            Self::Magic => "m",
            Self::String => "s",
            Self::Number => "n",
            Self::Definition => "d",
            Self::Keyword => "k",
            Self::Builtin => "b",
        }
    }
}

/// The text as HTML, with a `span` around each token that has a colour.
pub(super) fn highlighted(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    for (kind, text) in tokens(source) {
        match kind {
            TokenKind::Plain => out.push_str(&escaped(text)),
            kind => span(kind.class(), text, &mut out),
        }
    }
    out
}

/// The tokens of a cell, in their order: together they are all of its text.
pub fn tokens(source: &str) -> Vec<(TokenKind, &str)> {
    let magic = source.split_ascii_whitespace().next().unwrap_or_default();
    if magic.starts_with("%%") && !PYTHON_MAGICS.contains(&magic) {
        let (first, rest) = source.split_at(source.find('\n').unwrap_or(source.len()));
        return vec![(TokenKind::Magic, first), (TokenKind::Plain, rest)];
    }
    let mut found = Vec::new();
    let mut rest = source;
    let mut line_start = true;
    let mut before = "";
    while let Some(first) = rest.chars().next() {
        let (kind, length) = token(rest, first, line_start, before);
        let (text, behind) = rest.split_at(length);
        found.push((kind, text));
        line_start = match first {
            '\n' => true,
            _ => line_start && first.is_whitespace(),
        };
        if !first.is_whitespace() {
            before = text;
        }
        rest = behind;
    }
    found
}

fn span(class: &str, text: &str, out: &mut String) {
    out.push_str("<span class=\"");
    out.push_str(class);
    out.push_str("\">");
    out.push_str(&escaped(text));
    out.push_str("</span>");
}

/// What the token at the begin of `rest` is, and its length, which is never 0.
fn token(rest: &str, first: char, line_start: bool, before: &str) -> (TokenKind, usize) {
    let line = rest.find('\n').unwrap_or(rest.len());
    match first {
        '#' => (TokenKind::Comment, line),
        '%' | '!' | '?' if line_start => (TokenKind::Magic, line),
        '@' if line_start => {
            let end = rest[1..].find(|c: char| !(is_word(c) || c == '.'));
            (TokenKind::Magic, end.map_or(rest.len(), |end| end + 1))
        }
        '"' | '\'' => (TokenKind::String, string(rest, 0)),
        '0'..='9' => (TokenKind::Number, number(rest)),
        c if is_word(c) => {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            let is_prefix = end <= 2 && word.chars().all(|c| "rRbBuUfFtT".contains(c));
            if is_prefix && rest[end..].starts_with(['"', '\'']) {
                return (TokenKind::String, string(rest, end));
            }
            let kind = match word {
                _ if before == "def" || before == "class" => TokenKind::Definition,
                _ if before == "." => TokenKind::Plain,
                word if KEYWORDS.contains(&word) => TokenKind::Keyword,
                word if BUILTINS.contains(&word) => TokenKind::Builtin,
                _ => TokenKind::Plain,
            };
            (kind, end)
        }
        c => (TokenKind::Plain, c.len_utf8()),
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Where a number ends: `1_000`, `0xff`, `1.5e-3`, `2j`.
fn number(rest: &str) -> usize {
    let mut last = ' ';
    for (at, letter) in rest.char_indices() {
        let sign =
            matches!(letter, '+' | '-') && matches!(last, 'e' | 'E') && !rest.starts_with("0x");
        if !(letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_') || sign) {
            return at;
        }
        last = letter;
    }
    rest.len()
}

/// Where a string ends whose quote is at `quote`. One that is not closed ends with its line, or
/// with the text if its quotes are three.
fn string(rest: &str, quote: usize) -> usize {
    let body = &rest[quote..];
    let mark = &body[..1];
    let three = mark.repeat(3);
    let (close, is_long) = match body.starts_with(&three) {
        true => (three.as_str(), true),
        false => (mark, false),
    };
    let mut letters = body.char_indices().skip(close.len());
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if letter == '\n' && !is_long {
            return quote + at;
        } else if body[at..].starts_with(close) {
            return quote + at + close.len();
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens with their classes.
    fn tokens(source: &str) -> Vec<String> {
        let html = highlighted(source);
        let spans = html.split("<span class=\"").skip(1);
        let spans = spans.map(|rest| {
            rest.split_once("</span>")
                .unwrap()
                .0
                .replacen("\">", ":", 1)
        });
        spans.collect()
    }

    #[test]
    fn tokens_have_their_classes() {
        assert_eq!(
            tokens(
                "@a.b\ndef f(x):  # why\n    return x.print + 1e-3 + print(rb'\\'', f\"\"\"a\n\"\"\")"
            ),
            [
                "m:@a.b",
                "k:def",
                "d:f",
                "c:# why",
                "k:return",
                "n:1e-3",
                "b:print",
                "s:rb&#39;\\&#39;&#39;",
                "s:f&quot;&quot;&quot;a\n&quot;&quot;&quot;"
            ]
        );
        assert_eq!(
            tokens("%matplotlib inline\n!ls 'x\na % b"),
            ["m:%matplotlib inline", "m:!ls &#39;x"]
        );
        assert_eq!(tokens("%%bash\nif x"), ["m:%%bash"]);
        assert_eq!(tokens("%%time\nif x"), ["m:%%time", "k:if"]);
        assert_eq!(tokens("'open\nif"), ["s:&#39;open", "k:if"]);
    }

    #[test]
    fn no_text_is_lost_and_all_of_it_is_escaped() {
        for source in [
            "'''",
            "'",
            "\\",
            "a<b>&\"",
            "é = '\\",
            "0",
            "@",
            "f'",
            "\"\"\"\\\"\"\"",
            "№½ x",
        ] {
            let mut text = highlighted(source);
            while let Some(at) = text.find("<span") {
                let end = text[at..].find('>').unwrap() + at + 1;
                text.replace_range(at..end, "");
            }
            assert_eq!(text.replace("</span>", ""), escaped(source));
        }
    }
}
