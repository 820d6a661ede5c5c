//! The words that Python itself uses.

/// Words that can be no name; soft keywords such as `match` can.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];
/// Words that are keywords only in some places.
const SOFT_KEYWORDS: [&str; 4] = ["_", "case", "match", "type"];

/// Whether a word may be a keyword, at least in some places.
pub fn may_be_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || SOFT_KEYWORDS.contains(&word)
}
