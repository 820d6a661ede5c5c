//! Pieces of text, laid out in the rows of a terminal.

use nu_ansi_term::Style;
use unicode_width::UnicodeWidthChar;

use super::inline::Piece;

/// Fewer columns than this are not wrapped to.
const NARROWEST: usize = 20;

/// Break pieces into rows of at most so many columns, at spaces where there are any. The first row
/// begins with `first`, the others with as many spaces as `hang` is wide.
pub(super) fn wrap(pieces: &[Piece], width: usize, first: &Piece, hang: &Piece) -> Vec<String> {
    let width = width.max(NARROWEST);
    let letters = |piece: &Piece| -> Vec<(char, Style)> {
        let letters = piece.text.chars();
        letters.map(|letter| (letter, piece.style)).collect()
    };
    // A margin that leaves no room is none.
    let margin = |piece: &Piece| match columns(&piece.text) * 2 < width {
        true => letters(piece),
        false => Vec::new(),
    };
    let mut rows = Vec::new();
    let mut row = margin(first);
    let mut begin = row.len();
    let mut used = row_width(&row);
    for (letter, style) in pieces.iter().flat_map(letters) {
        let wide = letter.width().unwrap_or(0);
        if used + wide > width && row.len() > begin {
            if letter == ' ' {
                // It is where the row ends anyway.
                rows.push(painted(&row));
                row = margin(hang);
                begin = row.len();
                used = row_width(&row);
                continue;
            }
            let rest = row.split_off(break_before(&row, begin, wide == 2));
            let end = row.iter().rposition(|(letter, _)| *letter != ' ');
            row.truncate(end.map_or(0, |end| end + 1).max(begin));
            rows.push(painted(&row));
            row = margin(hang);
            begin = row.len();
            row.extend(rest);
            used = row_width(&row);
        }
        // No row but the first begins with the space that it was broken at.
        if letter == ' ' && row.len() == begin && !rows.is_empty() {
            continue;
        }
        row.push((letter, style));
        used += wide;
    }
    rows.push(painted(&row));
    rows
}

/// Where a row is broken whose next letter does not fit.
fn break_before(row: &[(char, Style)], begin: usize, next_is_wide: bool) -> usize {
    if next_is_wide {
        // Between such letters is everywhere a good place.
        return row.len();
    }
    let fits = |at: &usize| {
        let (letter, _) = row[*at - 1];
        letter == ' ' || letter.width() == Some(2)
    };
    let places = (begin + 1..=row.len()).rev();
    places.into_iter().find(fits).unwrap_or(row.len())
}

fn row_width(row: &[(char, Style)]) -> usize {
    let widths = row.iter().map(|(letter, _)| letter.width().unwrap_or(0));
    widths.sum()
}

/// The columns that a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A row with its colours, which end with it.
fn painted(row: &[(char, Style)]) -> String {
    let mut text = String::new();
    for part in row.chunk_by(|(_, one), (_, other)| one == other) {
        let letters: String = part.iter().map(|(letter, _)| *letter).collect();
        text.push_str(&paint(&letters, part[0].1));
    }
    text
}

/// Text in a style, which ends with it.
pub(super) fn paint(text: &str, style: Style) -> String {
    style.paint(text).to_string()
}

/// How many rows of a terminal a row takes that the terminal breaks itself.
pub(super) fn height(row: &str, width: usize) -> usize {
    let width = width.max(2);
    let (mut rows, mut used, mut in_sequence) = (1, 0, false);
    for letter in row.chars() {
        match letter {
            '\u{1b}' => in_sequence = true,
            _ if in_sequence => in_sequence = letter != 'm',
            letter => {
                let wide = letter.width().unwrap_or(0);
                if used + wide > width {
                    (rows, used) = (rows + 1, 0);
                }
                used += wide;
            }
        }
    }
    rows
}

/// Whether a row ends exactly where the terminal does.
pub(super) fn fills(row: &str, width: usize) -> bool {
    let plain = plain(row);
    let wide = columns(&plain);
    wide >= width.max(2) && height(row, width) < height(&format!("{plain}x"), width)
}

/// A row without its colours.
pub(super) fn plain(row: &str) -> String {
    let mut in_sequence = false;
    let is_text = |letter: &char| {
        let is_text = !in_sequence && *letter != '\u{1b}';
        in_sequence = !is_text && *letter != 'm';
        is_text
    };
    row.chars().filter(is_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece {
            text: text.to_owned(),
            style: Style::new(),
        }
    }

    fn wrapped(text: &str, width: usize, first: &str, hang: &str) -> Vec<String> {
        wrap(&[piece(text)], width, &piece(first), &piece(hang))
    }

    #[test]
    fn rows_end_at_spaces_and_hang_below_their_begin() {
        assert_eq!(
            wrapped("one two three four five six seven", 20, "• ", "  "),
            ["• one two three four", "  five six seven"]
        );
        assert_eq!(
            wrapped("abcdefghijklmnopqrstuvwxyz", 20, "", ""),
            ["abcdefghijklmnopqrst", "uvwxyz"]
        );
        assert_eq!(
            wrapped("一二三四五六七八九十，十一", 20, "", ""),
            ["一二三四五六七八九十", "，十一"]
        );
        assert_eq!(wrapped("", 20, "> ", "> "), ["> "]);
        assert_eq!(
            wrapped("exactly twenty cols. and more", 20, "", ""),
            ["exactly twenty cols.", "and more"]
        );
    }

    #[test]
    fn rows_are_as_high_as_a_terminal_makes_them() {
        assert_eq!(height("", 10), 1);
        assert_eq!(height("0123456789", 10), 1);
        assert_eq!(height("0123456789a", 10), 2);
        assert_eq!(height("012345678二", 10), 2);
        assert_eq!(height("\u{1b}[1m0123456789\u{1b}[0m", 10), 1);
        assert!(fills("\u{1b}[1m0123456789\u{1b}[0m", 10));
        assert!(!fills("012345678", 10));
        assert!(fills("01234567890123456789", 10));
        assert_eq!(plain("\u{1b}[1mx\u{1b}[0my"), "xy");
    }
}
