//! Escape sequences of terminals in texts: removed for models, or read as colours.

/// A colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// One of the sixteen that a theme decides.
    Named(u8),
    /// Any other.
    Rgb(u8, u8, u8),
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Look {
    pub(super) colour: Option<Colour>,
    pub(super) ground: Option<Colour>,
    pub(super) bold: bool,
    pub(super) faint: bool,
    pub(super) italic: bool,
    pub(super) underlined: bool,
    pub(super) inverse: bool,
}

/// A text without its escape sequences.
pub fn plain(text: &str) -> String {
    if !text.contains('\u{1b}') {
        return text.to_owned();
    }
    pieces(text).into_iter().map(|(_, piece)| piece).collect()
}

/// The pieces of a text with their looks, without escape sequences.
pub(super) fn pieces(text: &str) -> Vec<(Look, &str)> {
    let mut pieces = Vec::new();
    let mut look = Look::default();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        if at > 0 {
            pieces.push((look, &rest[..at]));
        }
        let (sequence, behind) = sequence(&rest[at + 1..]);
        if let Some(codes) = sequence
            .strip_prefix('[')
            .and_then(|codes| codes.strip_suffix('m'))
        {
            look.apply(codes);
        }
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push((look, rest));
    }
    pieces
}

/// The sequence that begins behind an escape character, and what follows it. One that does not
/// end is all there is.
fn sequence(text: &str) -> (&str, &str) {
    let end = match text.as_bytes().first() {
        None => 0,
        Some(b'[') => {
            let last = text[1..].find(|c: char| !matches!(c, '\u{20}'..='\u{3f}'));
            match last.map(|at| at + 1) {
                // A letter that cannot end it is no part of it.
                Some(at) if text[at..].starts_with(|c: char| matches!(c, '@'..='~')) => at + 1,
                Some(at) => at,
                None => text.len(),
            }
        }
        // A title or a link, up to a bell or an escape with a backslash.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let bell = text.find('\u{7}').map(|at| at + 1);
            let mark = text.find("\u{1b}\\").map(|at| at + 2);
            match (bell, mark) {
                (Some(bell), Some(mark)) => bell.min(mark),
                (bell, mark) => bell.or(mark).unwrap_or(text.len()),
            }
        }
        Some(0x20..0x30) => {
            let last = text.find(|c: char| !matches!(c, '\u{20}'..='\u{2f}'));
            last.map_or(text.len(), |at| (at + 1).min(text.len()))
        }
        Some(0x30..0x7f) => 1,
        Some(_) => 0,
    };
    let end = text.ceil_char_boundary(end);
    text.split_at(end)
}

impl Look {
    fn apply(&mut self, codes: &str) {
        let mut codes = codes
            .split([';', ':'])
            .map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.faint = true,
                3 => self.italic = true,
                4 => self.underlined = true,
                7 => self.inverse = true,
                22 => (self.bold, self.faint) = (false, false),
                23 => self.italic = false,
                24 => self.underlined = false,
                27 => self.inverse = false,
                30..=37 => self.colour = Some(Colour::Named(number(code - 30))),
                90..=97 => self.colour = Some(Colour::Named(number(code - 90 + 8))),
                40..=47 => self.ground = Some(Colour::Named(number(code - 40))),
                100..=107 => self.ground = Some(Colour::Named(number(code - 100 + 8))),
                39 => self.colour = None,
                49 => self.ground = None,
                38 => self.colour = extended(&mut codes),
                48 => self.ground = extended(&mut codes),
                _ => {}
            }
        }
    }
}

fn number(code: u16) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    match codes.next()? {
        5 => Some(of_256(number(codes.next()?))),
        2 => Some(Colour::Rgb(
            number(codes.next()?),
            number(codes.next()?),
            number(codes.next()?),
        )),
        _ => None,
    }
}

/// A colour of the table of 256: sixteen named ones, a cube of six steps, greys.
fn of_256(index: u8) -> Colour {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match index {
        0..16 => Colour::Named(index),
        16..232 => {
            let at = usize::from(index - 16);
            Colour::Rgb(STEPS[at / 36], STEPS[at / 6 % 6], STEPS[at % 6])
        }
        232.. => {
            let grey = 8 + (index - 232) * 10;
            Colour::Rgb(grey, grey, grey)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_removed_and_text_is_not() {
        assert_eq!(plain("a\u{1b}[0;31mb\u{1b}[0mc"), "abc");
        assert_eq!(
            plain("\u{1b}]0;title\u{7}x\u{1b}]8;;http://e\u{1b}\\y"),
            "xy"
        );
        assert_eq!(plain("\u{1b}(Ba\u{1b}=b\u{1b}[2Kc"), "abc");
        assert_eq!(plain("end\u{1b}["), "end");
        assert_eq!(plain("end\u{1b}"), "end");
        assert_eq!(plain("\u{1b}é\u{1b}[1é"), "éé");
        assert_eq!(plain("no escapes: [31m"), "no escapes: [31m");
    }

    #[test]
    fn colours_are_read_in_all_their_spellings() {
        let look = |codes: &str| {
            let text = format!("\u{1b}[{codes}mx");
            pieces(&text)[0].0
        };
        assert_eq!(look("1;31").colour, Some(Colour::Named(1)));
        assert!(look("1;31").bold);
        assert_eq!(look("95").colour, Some(Colour::Named(13)));
        assert_eq!(look("38;5;28").colour, Some(Colour::Rgb(0, 135, 0)));
        assert_eq!(look("38;5;241").colour, Some(Colour::Rgb(98, 98, 98)));
        assert_eq!(look("48;2;1;2;300").ground, Some(Colour::Rgb(1, 2, 255)));
        assert_eq!(look("31;0"), Look::default());
        assert_eq!(look("31;"), Look::default());
    }
}
