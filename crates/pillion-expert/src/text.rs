//! Text that is cut where it is too long.

/// The beginning of `text`, of at most `most` bytes, with a word about what is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    let left = text.len() - end;
    format!("{}\n[cut here: {left} more bytes]", &text[..end])
}

/// The end of `text`, of at most `most` bytes: errors say there what they are about.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    let start = text.len().saturating_sub(most);
    &text[text.ceil_char_boundary(start)..]
}

/// `text` on one line, without control characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let joined = words.join(" ");
    match joined.len() <= most {
        true => joined,
        false => format!("{}…", &joined[..joined.floor_char_boundary(most)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("äbc", 1), "\n[cut here: 4 more bytes]");
        assert_eq!(tail("äbc", 3), "bc");
        assert_eq!(line(" a\n\tb\u{1b}[0m ", 99), "a b [0m");
    }

    proptest! {
        #[test]
        fn no_cut_falls_into_a_letter(text: String, most in 0_usize..20) {
            assert!(cut(&text, most).len() <= most + 60);
            assert!(tail(&text, most).len() <= most);
            let line = line(&text, most);
            assert!(line.len() <= most + 4 && !line.contains('\n'));
        }
    }
}
